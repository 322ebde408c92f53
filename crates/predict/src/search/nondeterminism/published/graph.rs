//! The partial order graph with read-couples and induced edges, as vector clocks: for each event, how many events of
//! each thread reach it. All its edges agree with the observed order, so it has no cycle.
//!
//! Between witnesses only what differs is done again: taking one couple out touches clocks from about its reader on
//! ([`Clocks::without`]), and only if some witness of it is not refuted without locks; what a witness adds is laid over
//! them (`overlay`).
//!
//! Deviations from the paper: an event may hold a lock in shared mode, and two shared scopes order nothing; a scope
//! that is never left ends with its thread; synchronization that the paper does not have (barriers, semaphores,
//! channels…) is a fixed edge in observed order, as a wait's notify is.

use std::collections::HashMap;

use reweave_model::LockMode;

use super::couples::{Couple, Couples};
use crate::feasible::Index;
use crate::history::*;

/// A locked scope: from an acquisition to the release (or wait) that ends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scope {
    pub thread: Thread,
    pub lock: Lock,
    pub mode: LockMode,
    pub acquire: Pos,
    /// `None`: it is never left.
    pub release: Option<Pos>,
    /// Places in the thread of the first and the last event.
    pub from: u32,
    pub to: u32,
}

/// A scope by number.
pub type ScopeId = u32;

/// The scopes of one lock in one thread, in order; also without the shared ones.
#[derive(Clone, Default)]
pub struct ScopesOf {
    all: Vec<ScopeId>,
    exclusive: Vec<ScopeId>,
}

impl ScopesOf {
    /// Those that a scope of this mode cannot overlap.
    pub fn against(&self, mode: LockMode) -> &[ScopeId] {
        if mode == LockMode::Exclusive { &self.all } else { &self.exclusive }
    }
}

/// What does not change from witness to witness.
pub struct Graph<'h> {
    pub history: &'h History,
    pub place: Vec<u32>,
    pub threads: usize,
    pub scopes: Vec<Scope>,
    /// By lock and thread.
    of: Vec<Vec<ScopesOf>>,
    /// For each thread and place: the scopes that are entered before that place and left at it or later; at the end of
    /// the thread, those that are never left.
    pub around: Vec<Vec<Vec<ScopeId>>>,
    /// The scope that an event enters.
    entered: Vec<Option<ScopeId>>,
    /// Sync edges into each event.
    sync: Vec<Vec<Pos>>,
    /// Read-couples into each event, those of the time before all writes left out.
    couples: Vec<Vec<Pos>>,
    /// For each event the last one up to it that no scope was open at.
    calm: Vec<Pos>,
}

impl<'h> Graph<'h> {
    pub fn new(history: &'h History, couples: &Couples) -> Self {
        let index = Index::new(history);
        let mut place = vec![0; history.steps.len()];
        for events in &history.threads {
            events.iter().zip(0..).for_each(|(pos, at)| place[pos.index()] = at);
        }
        let mut graph = Self {
            history,
            place,
            threads: history.threads.len(),
            scopes: Vec::new(),
            of: vec![vec![ScopesOf::default(); history.threads.len()]; history.locks as usize],
            around: Vec::new(),
            entered: vec![None; history.steps.len()],
            sync: history.positions().map(|pos| index.needs(pos).to_vec()).collect(),
            couples: vec![Vec::new(); history.steps.len()],
            calm: Vec::new(),
        };
        for couple in &couples.couples {
            if let Couple { writer: Some(writer), reader: Some(reader), .. } = *couple
                && history.step(writer).thread != history.step(reader).thread
            {
                graph.couples[reader.index()].push(writer);
            }
        }
        graph.find_scopes();
        graph.find_notifies();
        graph.find_calm();
        graph
    }

    pub fn thread(&self, pos: Pos) -> usize {
        self.history.step(pos).thread.index()
    }

    pub fn scopes_of(&self, lock: Lock, thread: usize) -> &ScopesOf {
        &self.of[lock.index()][thread]
    }

    /// All edges between threads but read-couples and what locks induce.
    pub fn sync_edges(&self) -> Vec<(Pos, Pos)> {
        let edges = |pos: Pos| self.sync[pos.index()].iter().map(move |&before| (before, pos));
        self.history.positions().flat_map(edges).collect()
    }

    fn find_scopes(&mut self) {
        for (thread, events) in self.history.threads.iter().enumerate() {
            let mut open: HashMap<Lock, ScopeId> = HashMap::new();
            let mut around = Vec::with_capacity(events.len() + 1);
            for (&pos, at) in events.iter().zip(0..) {
                let mut now: Vec<ScopeId> = open.values().copied().collect();
                now.sort_unstable();
                around.push(now);
                let (entered, left) = match self.history.step(pos).action {
                    Action::Acquire { lock, mode } => (Some((lock, mode)), None),
                    Action::Woken { lock, .. } => (Some((lock, LockMode::Exclusive)), None),
                    Action::Release { lock, .. } | Action::Wait { lock, .. } => (None, Some(lock)),
                    _ => (None, None),
                };
                if let Some(scope) = left.and_then(|lock| open.remove(&lock)) {
                    let scope = &mut self.scopes[scope as usize];
                    (scope.release, scope.to) = (Some(pos), at);
                }
                if let Some((lock, mode)) = entered {
                    let number = self.scopes.len() as ScopeId;
                    let (thread, to) = (Thread(thread as u32), events.len() as u32 - 1);
                    self.scopes.push(Scope { thread, lock, mode, acquire: pos, release: None, from: at, to });
                    let of = &mut self.of[lock.index()][thread.index()];
                    of.all.push(number);
                    if mode == LockMode::Exclusive {
                        of.exclusive.push(number);
                    }
                    open.insert(lock, number);
                    self.entered[pos.index()] = Some(number);
                }
            }
            let mut left_open: Vec<ScopeId> = open.values().copied().collect();
            left_open.sort_unstable();
            around.push(left_open);
            self.around.push(around);
        }
    }

    fn find_calm(&mut self) {
        let mut changes = vec![0i32; self.history.steps.len() + 1];
        for scope in &self.scopes {
            changes[scope.acquire.index() + 1] += 1;
            changes[self.last(scope).index() + 1] -= 1;
        }
        let (mut open, mut calm) = (0, Pos(0));
        for pos in self.history.positions() {
            open += changes[pos.index()];
            if open == 0 {
                calm = pos;
            }
            self.calm.push(calm);
        }
    }

    /// The last event of a scope.
    pub fn last(&self, scope: &Scope) -> Pos {
        self.history.threads[scope.thread.index()][scope.to as usize]
    }

    /// A wait, the notify that woke it as it looks (the last one before it ended), and its end follow each other; a
    /// take follows the post that has its number.
    fn find_notifies(&mut self) {
        let mut waits: HashMap<Thread, Pos> = HashMap::new();
        let mut notifies: HashMap<Condition, Pos> = HashMap::new();
        let mut posts: HashMap<Semaphore, Vec<Pos>> = HashMap::new();
        let mut takes: HashMap<Semaphore, usize> = HashMap::new();
        for pos in self.history.positions() {
            let thread = self.history.step(pos).thread;
            match self.history.step(pos).action {
                Action::Wait { .. } => drop(waits.insert(thread, pos)),
                Action::Notify { condition, .. } => drop(notifies.insert(condition, pos)),
                Action::Woken { condition, how: Waking::Notified, .. } => {
                    let wait = waits.remove(&thread);
                    if let Some((&notify, wait)) =
                        notifies.get(&condition).zip(wait).filter(|(notify, wait)| *notify > wait)
                    {
                        self.sync[pos.index()].push(notify);
                        self.sync[notify.index()].push(wait);
                    }
                }
                Action::Post { semaphore } => posts.entry(semaphore).or_default().push(pos),
                Action::Take { semaphore } => {
                    let taken = takes.entry(semaphore).or_default();
                    *taken += 1;
                    let initial = self.history.semaphores[semaphore.index()] as usize;
                    let post = taken.checked_sub(initial + 1).and_then(|at| posts.get(&semaphore)?.get(at));
                    self.sync[pos.index()].extend(post);
                }
                _ => {}
            }
        }
    }
}

/// The clocks of one graph.
#[derive(Clone)]
pub struct Clocks {
    threads: usize,
    /// For each event, thread by thread: how many events of the thread reach it, itself included.
    clocks: Vec<u32>,
    /// For each scope, thread by thread: the induced edge that leads to its acquisition, as how many events of the
    /// thread its release makes; 0: none. The last release of a thread stands for all before it.
    induced: Vec<u32>,
}

impl Clocks {
    /// With all read-couples and all that locks induce.
    pub fn new(graph: &Graph<'_>) -> Self {
        let mut clocks = Self::without_locks(graph);
        clocks.saturate(graph, None, Pos(0));
        clocks
    }

    /// With all read-couples and nothing that locks induce.
    pub fn without_locks(graph: &Graph<'_>) -> Self {
        let (threads, steps) = (graph.threads, graph.history.steps.len());
        let mut clocks =
            Self { threads, clocks: vec![0; steps * threads], induced: vec![0; graph.scopes.len() * threads] };
        clocks.pass(graph, None, Pos(0));
        clocks
    }

    /// Takes the read-couple of these two out of the graph whose clocks are `base`, with all that it induced.
    pub fn without(&mut self, base: &Clocks, graph: &Graph<'_>, writer: Pos, reader: Pos) {
        // What the couple induced orders a scope that ends after the reader, and that again scopes that end after its
        // beginning: nothing before the last calm moment changes.
        let from = graph.calm[reader.index()];
        self.clocks.copy_from_slice(&base.clocks);
        self.induced.copy_from_slice(&base.induced);
        for (edges, scope) in self.induced.chunks_exact_mut(self.threads).zip(&graph.scopes) {
            if graph.last(scope) >= from {
                edges.fill(0);
            }
        }
        self.saturate(graph, Some((writer, reader)), from);
    }

    /// How many events of each thread reach this one.
    pub fn at(&self, pos: Pos) -> &[u32] {
        &self.clocks[pos.index() * self.threads..][..self.threads]
    }

    /// Computes the clocks from an event on until no scope is left to be ordered. `out`: the couple that is not there.
    fn saturate(&mut self, graph: &Graph<'_>, out: Option<(Pos, Pos)>, from: Pos) {
        loop {
            self.pass(graph, out, from);
            if !self.induce(graph, from) {
                break;
            }
        }
    }

    fn pass(&mut self, graph: &Graph<'_>, out: Option<(Pos, Pos)>, from: Pos) {
        let threads = self.threads;
        let mut now = vec![0; threads];
        for pos in (from.0..graph.history.steps.len() as u32).map(Pos) {
            let (thread, place) = (graph.thread(pos), graph.place[pos.index()]);
            match place.checked_sub(1) {
                Some(before) => now.copy_from_slice(self.at(graph.history.threads[thread][before as usize])),
                None => now.fill(0),
            }
            let mut join = |before: Pos| {
                let other = &self.clocks[before.index() * threads..][..threads];
                now.iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
            };
            graph.sync[pos.index()].iter().for_each(|&before| join(before));
            for &writer in &graph.couples[pos.index()] {
                if out != Some((writer, pos)) {
                    join(writer);
                }
            }
            if let Some(scope) = graph.entered[pos.index()] {
                let edges = &self.induced[scope as usize * threads..][..threads];
                for (other, &count) in edges.iter().enumerate() {
                    if let Some(release) = count.checked_sub(1) {
                        join(graph.history.threads[other][release as usize]);
                    }
                }
            }
            now[thread] = place + 1;
            self.clocks[pos.index() * threads..][..threads].copy_from_slice(&now);
        }
    }

    /// Orders scopes of which one is entered before another one is left. Says whether there was something to order.
    fn induce(&mut self, graph: &Graph<'_>, from: Pos) -> bool {
        let mut changed = false;
        for (number, scope) in graph.scopes.iter().enumerate() {
            let last = graph.last(scope);
            if last < from {
                continue;
            }
            for thread in (0..self.threads).filter(|&thread| thread != scope.thread.index()) {
                // Nobody of that thread came in between.
                let entered = self.at(last)[thread];
                if entered == self.at(scope.acquire)[thread] && graph.around[thread][entered as usize].is_empty() {
                    continue;
                }
                let others = graph.scopes_of(scope.lock, thread).against(scope.mode);
                let before = others.partition_point(|&other| graph.scopes[other as usize].from < entered);
                let Some(other) = before.checked_sub(1).map(|at| &graph.scopes[others[at] as usize]) else { continue };
                // Both are in the observed order one after the other: the other one was left.
                if other.release.is_some() && other.to >= self.at(scope.acquire)[thread] {
                    self.induced[number * self.threads + thread] = other.to + 1;
                    changed = true;
                }
            }
        }
        changed
    }

    /// For each thread the place of its first event that this one reaches; its length if there is none.
    pub fn reached_from(&self, graph: &Graph<'_>, pos: Pos) -> Vec<u32> {
        let (thread, place) = (graph.thread(pos), graph.place[pos.index()]);
        let first = |(other, events): (usize, &Vec<Pos>)| {
            if other == thread {
                return place;
            }
            // Nothing before it in the trace is reached.
            events.partition_point(|&event| event < pos || self.at(event)[thread] <= place) as u32
        };
        graph.history.threads.iter().enumerate().map(first).collect()
    }

    /// Whether the first reaches the second; every event reaches itself.
    pub fn reaches(&self, graph: &Graph<'_>, first: Pos, second: Pos) -> bool {
        self.at(second)[graph.thread(first)] > graph.place[first.index()]
    }

    /// Whether a writer reaches its reader in another way than as a couple.
    pub fn reaches_otherwise(&self, graph: &Graph<'_>, writer: Pos, reader: Pos) -> bool {
        let events = &graph.history.threads[graph.thread(reader)];
        let before = graph.place[reader.index()].checked_sub(1).map(|before| events[before as usize]);
        let couples = graph.couples[reader.index()].iter().filter(|other| **other != writer);
        before.iter().chain(&graph.sync[reader.index()]).chain(couples).any(|&via| self.reaches(graph, writer, via))
    }
}

//! Every feasible reordering of a small history, by brute force: the judge of all engines.
//!
//! Source: the definition in [`history`](crate::history), clause by clause, and nothing else. Exact in all four modes.
//! Cost: one node per distinct state, so about 24 events of 4 threads; engines and the [checker](crate::witness) share
//! no code with it.
//!
//! What the definition leaves open and is settled here: a thread that waits does nothing but [`Action::Woken`]; a
//! release or a wait needs the lock to be held by its thread; the pair of a race is in no reordering, so its own reads
//! may return anything (except in [`Mode::Said`], where the pair is part of the complete reordering, and those of a
//! compare-exchange that must succeed for the pair to conflict).

pub mod atomicity;
mod deadlocks;
mod stalls;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use reweave_model::LockMode;

use crate::history::{Access, AccessKind, Action, Cell, Condition, History, Mode, Pos, Thread, Val, Waking};

/// Who holds a lock. invariant: if there is an exclusive holder, there are no shared ones
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Holders {
    pub exclusive: Option<Thread>,
    pub shared: BTreeSet<Thread>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Rounds {
    arrivals: u32,
    /// Round and size of the last arrival of each thread.
    last: BTreeMap<Thread, (u32, u32)>,
    /// Per round, how many left it as the serial one and how many otherwise.
    left: BTreeMap<u32, (u32, u32)>,
}

/// What a reordering leads to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    /// How many events each thread has done.
    pub done: Vec<u32>,
    pub valid: Vec<bool>,
    pub locks: Vec<Holders>,
    /// For each thread that waits: where, and whether it was notified.
    pub waiting: Vec<Option<(Condition, bool)>>,
    pub semaphores: Vec<u32>,
    barriers: Vec<Rounds>,
    /// What each cell holds and, where writers are tracked, who wrote it (`None`: nobody yet).
    memory: Vec<(Val, Option<Pos>)>,
}

/// A state and how it is reached.
struct Node {
    state: State,
    /// The node before and the event between: the first way that was found, a shortest one as they all are.
    from: Option<(usize, Pos)>,
    /// What can be next, and where it leads (a notify-one leads to several nodes).
    next: Vec<(Pos, usize)>,
    /// Whether all events of the history can follow.
    completable: bool,
}

/// All reachable states of one history in one mode.
pub struct Oracle<'h> {
    history: &'h History,
    mode: Mode,
    /// Whether states also tell apart who wrote what they hold.
    track_writers: bool,
    /// The place of each event in its thread.
    place: Vec<u32>,
    nodes: Vec<Node>,
}

impl<'h> Oracle<'h> {
    pub fn new(history: &'h History, mode: Mode) -> Self {
        Self::explore(history, mode, false)
    }

    fn explore(history: &'h History, mode: Mode, track_writers: bool) -> Self {
        let mut place = vec![0; history.steps.len()];
        for events in &history.threads {
            for (i, pos) in events.iter().enumerate() {
                place[pos.index()] = i as u32;
            }
        }
        let mut oracle = Oracle { history, mode, track_writers, place, nodes: Vec::new() };
        let mut known = HashMap::new();
        let start = oracle.start();
        known.insert(start.clone(), 0);
        oracle.nodes.push(Node { state: start, from: None, next: Vec::new(), completable: false });
        let mut at = 0;
        while at < oracle.nodes.len() {
            for pos in oracle.candidates(at) {
                for state in oracle.after(&oracle.nodes[at].state, pos) {
                    let fresh = oracle.nodes.len();
                    let to = *known.entry(state.clone()).or_insert(fresh);
                    if to == fresh {
                        oracle.nodes.push(Node { state, from: Some((at, pos)), next: Vec::new(), completable: false });
                    }
                    oracle.nodes[at].next.push((pos, to));
                }
            }
            at += 1;
        }
        // Every event leads to a node found later, so the reverse of the order found sees the ends first.
        for at in (0..oracle.nodes.len()).rev() {
            let ended = oracle.candidates(at).is_empty();
            let node = &oracle.nodes[at];
            let completable = ended || node.next.iter().any(|&(_, to)| oracle.nodes[to].completable);
            oracle.nodes[at].completable = completable;
        }
        oracle
    }

    /// How many distinct states there are.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// Whether `order` is a feasible reordering, and if so whether `pair` is next after it (in [`Mode::Said`]: whether
    /// the order is complete, and where the pair is in it both were next). The slow twin of the checker.
    pub fn admits(&self, order: &[Pos], pair: Option<(Pos, Pos)>) -> bool {
        let mut here = BTreeSet::from([0]);
        let mut met = false;
        for (i, &pos) in order.iter().enumerate() {
            if let Some((one, two)) = pair.filter(|_| self.mode == Mode::Said) {
                let adjacent = order.get(i..i + 2).is_some_and(|two_of| two_of == [one, two] || two_of == [two, one]);
                met |= adjacent && here.iter().any(|&at| self.pairs(at).contains(&(one.min(two), one.max(two))));
            }
            let next = here.iter().flat_map(|&at| self.nodes[at].next.iter().filter(|(next, _)| *next == pos));
            here = next.map(|&(_, to)| to).collect();
        }
        let fits = |&&at: &&usize| match (self.mode, pair) {
            (Mode::Said, _) => self.candidates(at).is_empty(),
            (_, None) => true,
            (_, Some((one, two))) => self.pairs(at).contains(&(one.min(two), one.max(two))),
        };
        here.iter().find(fits).is_some() && (met || self.mode != Mode::Said || pair.is_none())
    }

    /// Calls `visit` with every reachable state and the events that can be next there. A state where some thread has
    /// events left and nothing can be next is stuck.
    pub fn visit(&self, mut visit: impl FnMut(&State, &BTreeSet<Pos>, Reached<'_, 'h>)) {
        for (at, node) in self.nodes.iter().enumerate() {
            let next = node.next.iter().map(|&(pos, _)| pos).collect();
            visit(&node.state, &next, Reached { oracle: self, at });
        }
    }

    /// Conflicting accesses that are both next after some reordering, the earlier one first.
    pub fn races(&self) -> BTreeSet<(Pos, Pos)> {
        let mut races = BTreeSet::new();
        for at in 0..self.nodes.len() {
            for pair in self.pairs(at) {
                if !races.contains(&pair) && self.race_at(at, pair).is_some() {
                    races.insert(pair);
                }
            }
        }
        races
    }

    /// A shortest reordering after which both are next; in [`Mode::Said`] the complete one, with both in it.
    pub fn witness(&self, pair: (Pos, Pos)) -> Option<Vec<Pos>> {
        let pair = (pair.0.min(pair.1), pair.0.max(pair.1));
        (0..self.nodes.len()).filter(|&at| self.pairs(at).contains(&pair)).find_map(|at| self.race_at(at, pair))
    }

    /// For each read that is next after a reordering, and each cell of it: who wrote what it would return. The read
    /// itself is not part of the reordering, so that its own value is free, a compare-exchange's too (except in
    /// [`Mode::Said`], where it is part of the complete one).
    pub fn reads_from(&self) -> BTreeSet<(Pos, Cell, Option<Pos>)> {
        let tracking = Self::explore(self.history, self.mode, true);
        let mut found = BTreeSet::new();
        for (at, node) in tracking.nodes.iter().enumerate() {
            let next: Vec<Pos> = if self.mode == Mode::Said {
                let completable = node.next.iter().filter(|(_, to)| tracking.nodes[*to].completable);
                completable.map(|&(pos, _)| pos).collect()
            } else {
                let due = tracking.candidates(at).into_iter();
                due.filter(|&pos| tracking.may_race(&node.state, pos)).collect()
            };
            for pos in next {
                let Some(access) = self.history.step(pos).action.access() else { continue };
                for &(cell, _) in &access.reads {
                    found.insert((pos, cell, node.state.memory[cell.index()].1));
                }
            }
        }
        found
    }

    /// For each cell: who wrote what it holds when everything is over.
    pub fn ends_with(&self) -> BTreeSet<(Cell, Option<Pos>)> {
        let tracking = Self::explore(self.history, self.mode, true);
        let ended = (0..tracking.nodes.len()).filter(|&at| tracking.candidates(at).is_empty());
        let writers = ended.flat_map(|at| tracking.nodes[at].state.memory.iter().enumerate());
        writers.map(|(cell, &(_, writer))| (Cell(cell as u32), writer)).collect()
    }

    /// The reordering itself if `pair`, both next at node `at`, is a race there.
    fn race_at(&self, at: usize, pair: (Pos, Pos)) -> Option<Vec<Pos>> {
        let mut order = self.path(at);
        if self.mode != Mode::Said {
            return Some(order);
        }
        for (first, second) in [(pair.0, pair.1), (pair.1, pair.0)] {
            for &(_, between) in self.nodes[at].next.iter().filter(|(pos, _)| *pos == first) {
                let done =
                    self.nodes[between].next.iter().find(|(pos, to)| *pos == second && self.nodes[*to].completable);
                if let Some(&(_, mut to)) = done {
                    order.extend([first, second]);
                    while let Some(&(pos, next)) =
                        self.nodes[to].next.iter().find(|(_, to)| self.nodes[*to].completable)
                    {
                        order.push(pos);
                        to = next;
                    }
                    return Some(order);
                }
            }
        }
        None
    }

    /// The conflicting accesses that are both next, as the pair in question, at a node.
    fn pairs(&self, at: usize) -> Vec<(Pos, Pos)> {
        let state = &self.nodes[at].state;
        let next: Vec<Pos> = self.candidates(at).into_iter().filter(|&pos| self.may_race(state, pos)).collect();
        let pairs = next.iter().flat_map(|&one| next.iter().map(move |&two| (one, two)));
        let succeeds = |(one, two)| {
            self.history.conflict_rests_on(one, two).is_none_or(|exchange| !self.after(state, exchange).is_empty())
        };
        pairs.filter(|&pair| pair.0 < pair.1 && self.history.conflict(pair.0, pair.1) && succeeds(pair)).collect()
    }

    /// The events from the start to a node.
    fn path(&self, at: usize) -> Vec<Pos> {
        let mut path = Vec::new();
        let mut node = &self.nodes[at];
        while let Some((before, pos)) = node.from {
            path.push(pos);
            node = &self.nodes[before];
        }
        path.reverse();
        path
    }

    fn start(&self) -> State {
        let history = self.history;
        let threads = history.threads.len();
        let mut start = State {
            done: vec![0; threads],
            valid: vec![true; threads],
            locks: vec![Holders::default(); history.locks as usize],
            waiting: vec![None; threads],
            semaphores: history.semaphores.clone(),
            barriers: vec![Rounds::default(); history.barriers as usize],
            memory: history.initial.iter().map(|&val| (val, None)).collect(),
        };
        if self.mode == Mode::DataAbstract {
            // Nothing depends on what cells hold: fewer states.
            start.memory.iter_mut().for_each(|cell| cell.0 = Val::UNKNOWN);
        }
        start
    }

    /// The next event of each thread that has one.
    fn candidates(&self, at: usize) -> Vec<Pos> {
        let done = &self.nodes[at].state.done;
        let next = |(events, &done): (&Vec<Pos>, &u32)| events.get(done as usize).copied();
        self.history.threads.iter().zip(done).filter_map(next).collect()
    }

    /// Rule 1, the part beyond program order; and a thread that waits does nothing else.
    fn is_due(&self, state: &State, pos: Pos) -> bool {
        let step = self.history.step(pos);
        let has_happened = |pos: &Pos| self.place[pos.index()] < state.done[self.history.step(*pos).thread.index()];
        let waits = state.waiting[step.thread.index()].is_some();
        step.after.iter().all(has_happened) && (!waits || matches!(step.action, Action::Woken { .. }))
    }

    /// Rule 3.
    fn is_permitted(&self, state: &State, pos: Pos) -> bool {
        let step = self.history.step(pos);
        state.valid[step.thread.index()] || !(step.guarded || step.action.is_outcome())
    }

    /// Whether an access, the next of its thread, can be one of the pair in question.
    fn may_race(&self, state: &State, pos: Pos) -> bool {
        self.is_due(state, pos) && (self.history.pair_unguarded || self.is_permitted(state, pos))
    }

    /// The states that doing `pos`, the next event of its thread, can lead to: none if it cannot be next.
    fn after(&self, state: &State, pos: Pos) -> Vec<State> {
        if !self.is_due(state, pos) || !self.is_permitted(state, pos) {
            return Vec::new();
        }
        let step = self.history.step(pos);
        let me = step.thread;
        let mut to = state.clone();
        to.done[me.index()] += 1;
        let possible = match &step.action {
            Action::Nothing | Action::Fence(_) => true,
            Action::Access(access) => self.access(&mut to, me, pos, access),
            Action::Acquire { lock, mode } => acquire(&mut to.locks[lock.index()], me, *mode),
            Action::Release { lock, mode } => release(&mut to.locks[lock.index()], me, *mode),
            Action::AcquireFailed { lock, mode } => {
                let holders = &to.locks[lock.index()];
                holders.exclusive.is_some_and(|holder| holder != me)
                    || (*mode == LockMode::Exclusive && holders.shared.iter().any(|&holder| holder != me))
            }
            Action::Wait { condition, lock } => {
                to.waiting[me.index()] = Some((*condition, false));
                release(&mut to.locks[lock.index()], me, LockMode::Exclusive)
            }
            Action::Woken { condition, lock, how } => {
                let wakes = match to.waiting[me.index()].take() {
                    Some((at, notified)) if at == *condition => match how {
                        Waking::Notified => notified,
                        Waking::TimedOut => !notified,
                        Waking::Spurious => true,
                    },
                    _ => false,
                };
                wakes && acquire(&mut to.locks[lock.index()], me, LockMode::Exclusive)
            }
            Action::Notify { condition, all } => return notify(to, *condition, *all),
            Action::Arrive { barrier, count } => {
                let rounds = &mut to.barriers[barrier.index()];
                rounds.last.insert(me, (rounds.arrivals / count, *count));
                rounds.arrivals += 1;
                true
            }
            Action::Leave { barrier, serial } => leave(&mut to.barriers[barrier.index()], me, *serial),
            Action::Post { semaphore } => {
                to.semaphores[semaphore.index()] += 1;
                true
            }
            Action::Take { semaphore } => match &mut to.semaphores[semaphore.index()] {
                0 => false,
                count => {
                    *count -= 1;
                    true
                }
            },
            Action::TakeFailed { semaphore } => to.semaphores[semaphore.index()] == 0,
        };
        if possible { vec![to] } else { Vec::new() }
    }

    /// Reads, then writes. Says whether the access can be in a reordering.
    fn access(&self, to: &mut State, me: Thread, pos: Pos, access: &Access) -> bool {
        let kept = access.reads.iter().all(|&(cell, observed)| to.memory[cell.index()].0 == observed);
        let valid_before = to.valid[me.index()];
        let possible = match self.mode {
            Mode::DataAbstract => true,
            Mode::Prefix | Mode::Said => kept,
            Mode::ControlFlow => {
                to.valid[me.index()] &= kept;
                kept || !self.history.step(pos).action.is_outcome()
            }
        };
        let known = if access.kind == AccessKind::Update { to.valid[me.index()] } else { valid_before };
        for &(cell, observed) in &access.writes {
            let held = &mut to.memory[cell.index()];
            if self.mode != Mode::DataAbstract {
                held.0 = if known { observed } else { Val::UNKNOWN };
            }
            if self.track_writers {
                held.1 = Some(pos);
            }
        }
        possible
    }
}

/// Where a visitor stands.
pub struct Reached<'o, 'h> {
    oracle: &'o Oracle<'h>,
    at: usize,
}

impl Reached<'_, '_> {
    /// A shortest reordering that leads here.
    pub fn path(&self) -> Vec<Pos> {
        self.oracle.path(self.at)
    }

    /// Whether all events of the history can follow.
    pub fn completable(&self) -> bool {
        self.oracle.nodes[self.at].completable
    }
}

fn acquire(holders: &mut Holders, me: Thread, mode: LockMode) -> bool {
    match mode {
        LockMode::Exclusive => {
            let free = holders.exclusive.is_none() && holders.shared.is_empty();
            holders.exclusive = Some(me);
            free
        }
        LockMode::Shared => holders.exclusive.is_none() && holders.shared.insert(me),
    }
}

fn release(holders: &mut Holders, me: Thread, mode: LockMode) -> bool {
    match mode {
        LockMode::Exclusive => holders.exclusive.take() == Some(me),
        LockMode::Shared => holders.shared.remove(&me),
    }
}

/// One state for each waiter that a notify can choose; the same state if there is none to choose.
fn notify(state: State, condition: Condition, all: bool) -> Vec<State> {
    let waiters = (0..state.waiting.len()).filter(|&thread| state.waiting[thread] == Some((condition, false)));
    let choices: Vec<Vec<usize>> =
        if all { vec![waiters.collect()] } else { waiters.map(|thread| vec![thread]).collect() };
    if choices.is_empty() {
        return vec![state];
    }
    let mark = |chosen: Vec<usize>| {
        let mut state = state.clone();
        chosen.into_iter().for_each(|thread| state.waiting[thread] = Some((condition, true)));
        state
    };
    choices.into_iter().map(mark).collect()
}

fn leave(rounds: &mut Rounds, me: Thread, serial: bool) -> bool {
    let Some(&(round, count)) = rounds.last.get(&me) else { return false };
    let (serials, others) = rounds.left.entry(round).or_default();
    let room = if serial { *serials < 1 } else { *others + 1 < count };
    *(if serial { serials } else { others }) += 1;
    room && rounds.arrivals >= (round + 1) * count
}

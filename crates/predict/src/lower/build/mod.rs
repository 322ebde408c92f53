//! Makes a [`History`] of the kept events of a window.

mod accesses;
mod sync;

use std::collections::BTreeMap;

use reweave_model::{EventId, MemoryOrder, ObjectId, Op, OpName, Pc, StackId, ThreadId};
use reweave_trace::Symbols;

use super::buffer::{Data, Kept, What};
use super::cells::{Cells, Life, places};
use super::world::World;
use super::{Destroyed, Lowered, Origin};
use crate::history::*;
use crate::linear::{FastMap, FastSet};
use sync::Channel;

/// `initial`: what memory held before the trace; `None` if this window is not the first. `blocked`: where threads stood
/// when the trace ended.
pub(super) fn build(kept: &[Kept], blocked: &[Kept], world: &World, initial: Option<&Symbols>) -> Lowered {
    let mut builder = Builder::new(kept, blocked, world, initial);
    if let Some(symbols) = initial {
        builder.initial_values(symbols);
    }
    builder.before(world);
    for (index, event) in kept.iter().enumerate() {
        builder.event(index, event);
    }
    let start = kept.first().map_or(EventId(0), |first| first.id);
    if blocked.is_empty() {
        return builder.finish(start);
    }
    let mut more = builder.clone();
    let mut whole = builder.finish(start);
    more.blocked(blocked);
    whole.blocked = Some(Box::new(more.finish(start)));
    whole
}

/// Numbers of whatever is numbered in order of appearance.
#[derive(Clone)]
struct Numbers<K> {
    numbers: FastMap<K, u32>,
    next: u32,
}

impl<K: std::hash::Hash + Eq> Numbers<K> {
    fn get(&mut self, key: K) -> u32 {
        let next = &mut self.next;
        *self.numbers.entry(key).or_insert_with(|| {
            *next += 1;
            *next - 1
        })
    }

    /// What has this name is another thing from now on.
    fn renew(&mut self, key: K) {
        self.numbers.remove(&key);
    }
}

impl<K> Default for Numbers<K> {
    fn default() -> Self {
        Self { numbers: FastMap::default(), next: 0 }
    }
}

/// One cell while the window goes by.
#[derive(Clone, Default)]
struct CellNow {
    /// What it holds; `None`: not known yet.
    value: Option<Val>,
    /// Its number in the history; `None`: no reordering can tell it from others (private, or only read).
    number: Option<u32>,
    /// The last access of each thread, for `extern` writes, which come after all of them.
    last: Vec<(Thread, Pos)>,
    /// An `extern` write, and the threads that come after it already.
    pinned: Option<(Pos, Vec<Thread>)>,
}

#[derive(Clone)]
struct Builder {
    history: History,
    origins: Vec<Origin>,
    threads: Vec<Option<ThreadId>>,
    thread_of: FastMap<ThreadId, Thread>,
    outside: Thread,
    places: Vec<Option<(Life, std::ops::Range<u64>)>>,
    cells: Cells,
    now: Vec<CellNow>,
    words: FastMap<(u64, u64), Val>,
    texts: FastMap<Box<[u8]>, Val>,
    values: u32,
    locks: Numbers<ObjectId>,
    conditions: Numbers<ObjectId>,
    barriers: Numbers<ObjectId>,
    semaphores: FastMap<ObjectId, Semaphore>,
    known_counts: FastMap<ObjectId, u32>,
    held: FastSet<(ThreadId, ObjectId)>,
    /// Locks that somebody gave back who did not hold them: a reordering with them proves nothing.
    misused: FastSet<Lock>,
    /// Threads in a wait without a deadline.
    patient: FastSet<ThreadId>,
    /// Objects that somebody waits on as on a condition; others are raw futexes.
    real_conditions: FastSet<ObjectId>,
    /// The last event of the time before the window.
    prelude: Option<Pos>,
    begun: FastSet<Thread>,
    forks: FastMap<ThreadId, Pos>,
    ends: FastMap<ThreadId, Pos>,
    /// Ends that somebody waited for when the trace ended.
    still_to_come: FastMap<ThreadId, Pos>,
    /// Where the present life of an object began, and its last use by each thread.
    renewed: FastMap<ObjectId, (Thread, Pos)>,
    /// Those whose life was begun by a call.
    created: FastSet<ObjectId>,
    used: FastMap<ObjectId, FastMap<Thread, Pos>>,
    /// All uses in that life, and the lives that are over.
    uses: FastMap<ObjectId, Vec<Pos>>,
    destroyed: Vec<Destroyed>,
    notifies: FastMap<u32, Pos>,
    onces: FastMap<ObjectId, Pos>,
    /// Per channel: the last send and the last receive, and which bytes each send carried.
    channels: FastMap<ObjectId, Channel>,
    /// The allocation of each life, and the threads that come after it already.
    allocs: BTreeMap<Life, (Pos, Vec<Thread>)>,
    lives_that_matter: FastSet<Life>,
    /// Freed blocks by start: end, and the event. An address is given out again only after it was given back.
    freed: BTreeMap<u64, (u64, Pos)>,
}

impl Builder {
    fn new(kept: &[Kept], blocked: &[Kept], world: &World, initial: Option<&Symbols>) -> Self {
        let places = places(kept);
        let mut accesses = Vec::new();
        for (event, place) in kept.iter().zip(&places) {
            if let (What::Access { .. }, Some(place)) = (&event.what, place) {
                accesses.push(place.clone());
            }
        }
        let cells = Cells::new(accesses);
        let mut thread_of = FastMap::default();
        let mut threads = Vec::new();
        let mut number = |thread: ThreadId| {
            thread_of.entry(thread).or_insert_with(|| {
                threads.push(Some(thread));
                Thread(threads.len() as u32 - 1)
            });
        };
        kept.iter().chain(blocked).for_each(|event| number(event.thread));
        world.held.keys().for_each(|(thread, _)| number(*thread));
        world.waiting.keys().for_each(|thread| number(*thread));
        world.rounds.values().flatten().flat_map(|round| &round.arrived).for_each(|(thread, _)| number(*thread));
        let outside = Thread(threads.len() as u32);
        threads.push(None);
        let conditions = kept.iter().filter_map(|event| match event.what {
            What::Sync(Op::Wait { condition, .. }) => Some(condition),
            _ => None,
        });
        let real_conditions = conditions.chain(world.waiting.values().map(|waiting| waiting.condition)).collect();
        let history = History { threads: vec![Vec::new(); threads.len()], ..History::default() };
        let mut builder = Self {
            history,
            origins: Vec::new(),
            threads,
            thread_of,
            outside,
            now: vec![CellNow::default(); cells.len()],
            places,
            cells,
            words: FastMap::default(),
            texts: FastMap::default(),
            values: 0,
            locks: Numbers::default(),
            conditions: Numbers::default(),
            barriers: Numbers::default(),
            semaphores: FastMap::default(),
            known_counts: world.semaphores.clone(),
            held: world.held.keys().copied().collect(),
            misused: FastSet::default(),
            patient: FastSet::default(),
            real_conditions,
            prelude: None,
            begun: FastSet::default(),
            forks: FastMap::default(),
            ends: FastMap::default(),
            still_to_come: FastMap::default(),
            renewed: FastMap::default(),
            created: FastSet::default(),
            used: FastMap::default(),
            uses: FastMap::default(),
            destroyed: Vec::new(),
            notifies: FastMap::default(),
            onces: FastMap::default(),
            channels: FastMap::default(),
            allocs: BTreeMap::new(),
            lives_that_matter: FastSet::default(),
            freed: BTreeMap::new(),
        };
        builder.number_cells(kept, initial);
        builder
    }

    fn push(&mut self, thread: Thread, action: Action, mut after: Vec<Pos>, of: Option<&Kept>) -> Pos {
        let pos = Pos(self.history.steps.len() as u32);
        if self.begun.insert(thread) {
            after.extend(self.prelude);
            // Also without a begin, as in traces of other origin.
            after.extend(self.threads[thread.index()].and_then(|thread| self.forks.get(&thread)));
        }
        after.retain(|&before| self.history.step(before).thread != thread);
        after.sort_unstable();
        after.dedup();
        let (event, guarded, doubtful) =
            of.map_or((None, false, false), |kept| (Some(kept.id), kept.guarded, kept.doubtful));
        let tries = |what: &What| {
            matches!(what, What::Sync(Op::Acquire { tried: true, .. } | Op::SemaphoreTake { tried: true, .. }))
        };
        let tried = of.is_some_and(|kept| tries(&kept.what));
        self.history.threads[thread.index()].push(pos);
        self.history.steps.push(Step { thread, action, guarded, after, event, tried, doubtful });
        let nowhere = Origin { pc: Pc(0), stack: StackId(0), op: OpName::Unnamed, steps: 0 };
        self.origins.push(of.map_or(nowhere, |kept| {
            let &Kept { pc, stack, steps, .. } = kept;
            Origin { pc, stack, op: kept.called, steps }
        }));
        pos
    }

    fn event(&mut self, index: usize, kept: &Kept) {
        let thread = self.thread_of[&kept.thread];
        match &kept.what {
            What::Access { kind, order, read, written, .. } => {
                self.access(index, thread, kept, *kind, *order, read.as_ref(), written.as_ref());
            }
            What::Free { addr, size } => {
                self.access(index, thread, kept, AccessKind::Plain, MemoryOrder::Relaxed, None, Some(&Data::Unknown));
                if let Some(&last) = self.history.threads[thread.index()].last() {
                    self.freed.insert(*addr, (addr.saturating_add(*size), last));
                }
            }
            What::Alloc { addr, size } => {
                let Some((life, _)) = self.places[index].clone() else { return };
                let end = addr.saturating_add(*size);
                let before = self.freed.range(..end).rev().take_while(|(_, (to, _))| to > addr);
                let after: Vec<Pos> = before.map(|(_, (_, pos))| *pos).collect();
                if self.lives_that_matter.contains(&life) || kept.guarded || kept.doubtful {
                    let pos = self.push(thread, Action::Nothing, after, Some(kept));
                    self.allocs.insert(life, (pos, vec![thread]));
                }
            }
            What::Sync(op) => self.sync(thread, kept, op),
        }
    }

    fn finish(mut self, start: EventId) -> Lowered {
        // Who wrote it unseen may have done so elsewhere in another order: no read of such a cell proves anything.
        let pinned = self.now.iter().filter(|now| now.pinned.is_some()).filter_map(|now| now.number);
        let pinned: FastSet<Cell> = pinned.map(Cell).collect();
        if !pinned.is_empty() {
            for step in &mut self.history.steps {
                step.doubtful |= step
                    .action
                    .access()
                    .is_some_and(|access| access.reads.iter().any(|(cell, _)| pinned.contains(cell)));
            }
        }
        if !self.misused.is_empty() {
            for step in &mut self.history.steps {
                step.doubtful |= match step.action {
                    Action::Acquire { lock, .. } | Action::Release { lock, .. } => self.misused.contains(&lock),
                    Action::Wait { lock, .. } | Action::Woken { lock, .. } => self.misused.contains(&lock),
                    _ => false,
                };
            }
        }
        self.history.locks = self.locks.next;
        self.history.conditions = self.conditions.next;
        self.history.barriers = self.barriers.next;
        let ends = |thread: &Option<ThreadId>| thread.is_none_or(|thread| self.ends.contains_key(&thread));
        let ended = self.threads.iter().map(ends).collect();
        let mut words = vec![None; self.values as usize];
        for ((_, word), value) in self.words {
            words[value.index()] = Some(word);
        }
        let Self { history, origins, threads, destroyed, .. } = self;
        Lowered { history, origins, threads, ended, start, first: false, last: false, words, destroyed, blocked: None }
    }
}

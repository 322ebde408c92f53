//! Races by memory order: a feasible reordering in which C11 does not order two conflicting accesses that both happen.
//!
//! Source: C11 §5.1.2.4. What happens after the first access is followed through the order as a mark: threads, locks,
//! messages and so on either carry it or do not. Where C11 leaves the partner open, every candidate counts, so that an
//! accepted order is a race under any reading: a take follows all earlier posts, the end of a wait all earlier notifies
//! of its condition; relaxed stores of the same thread go on with its release sequence (C11, no longer C++20); consume
//! is acquire.

use std::collections::HashMap;

use reweave_model::{LockMode, MemoryOrder};

use super::replay::Replay;
use super::{Rejection, Why, check_conflict};
use crate::history::{Access, AccessKind, Action, Barrier, History, Lock, Mode, Pos, Thread, Waking};

/// Whether `order` is a feasible reordering with both accesses in it, the earlier of which does not happen before the
/// other.
pub fn check_weak_order(
    history: &History,
    mode: Mode,
    order: &[Pos],
    first: Pos,
    second: Pos,
) -> Result<(), Rejection> {
    check_conflict(history, first, second)?;
    let replay = Replay::run(history, mode, order)?;
    replay.check_complete()?;
    for at in [first, second] {
        if !replay.contains(at) {
            return Err(Rejection { at, why: Why::NotInOrder });
        }
    }
    let earlier_first = replay.place_in_order(first) < replay.place_in_order(second);
    let (earlier, later) = if earlier_first { (first, second) } else { (second, first) };
    let mut marks = Marks::new(history, earlier);
    for &pos in order {
        let marked = marks.step(pos);
        if pos == later {
            return if marked { Err(Rejection { at: later, why: Why::HappensAfter(earlier) }) } else { Ok(()) };
        }
    }
    unreachable!("both are in the order")
}

#[derive(Clone, Copy, Default)]
struct ThreadMarks {
    now: bool,
    /// As of its last release fence: what its relaxed stores publish.
    release_fence: bool,
    /// Read by relaxed loads: what its next acquire fence takes.
    seen_relaxed: bool,
}

#[derive(Clone, Copy, Default)]
struct LockMarks {
    released: bool,
    shared_released: bool,
}

/// What happens after the source, as far as the order has been run.
struct Marks<'h> {
    history: &'h History,
    source: Pos,
    events: Vec<bool>,
    threads: Vec<ThreadMarks>,
    locks: Vec<LockMarks>,
    conditions: Vec<bool>,
    semaphores: Vec<bool>,
    arrivals: Vec<u32>,
    /// The round of each thread's last arrival.
    arrived: HashMap<(Barrier, Thread), u32>,
    rounds: HashMap<(Barrier, u32), bool>,
    /// For each cell, the threads whose marked release heads a release sequence that has not been broken.
    messages: Vec<Vec<Thread>>,
}

impl<'h> Marks<'h> {
    fn new(history: &'h History, source: Pos) -> Self {
        Marks {
            history,
            source,
            events: vec![false; history.steps.len()],
            threads: vec![ThreadMarks::default(); history.threads.len()],
            locks: vec![LockMarks::default(); history.locks as usize],
            conditions: vec![false; history.conditions as usize],
            semaphores: vec![false; history.semaphores.len()],
            arrivals: vec![0; history.barriers as usize],
            arrived: HashMap::new(),
            rounds: HashMap::new(),
            messages: vec![Vec::new(); history.initial.len()],
        }
    }

    /// Runs one event. Says whether the source happens before it (or is it).
    fn step(&mut self, pos: Pos) -> bool {
        let history = self.history;
        let step = history.step(pos);
        let me = step.thread;
        self.threads[me.index()].now |= step.after.iter().any(|before| self.events[before.index()]);
        self.threads[me.index()].now |= pos == self.source;
        self.synchronise(me, &step.action);
        self.events[pos.index()] = self.threads[me.index()].now;
        self.events[pos.index()]
    }

    fn synchronise(&mut self, me: Thread, action: &Action) {
        let now = self.threads[me.index()].now;
        let mine = &mut self.threads[me.index()].now;
        match action {
            Action::Nothing | Action::AcquireFailed { .. } | Action::TakeFailed { .. } => {}
            Action::Access(access) if access.kind == AccessKind::Plain => {
                access.writes.iter().for_each(|(cell, _)| self.messages[cell.index()].clear());
            }
            Action::Access(access) => self.atomic(me, access),
            Action::Fence(order) => self.fence(me, *order),
            Action::Acquire { lock, mode } => self.acquire(me, *lock, *mode),
            Action::Release { lock, mode: LockMode::Exclusive } | Action::Wait { lock, .. } => {
                self.locks[lock.index()].released |= now;
            }
            Action::Release { lock, mode: LockMode::Shared } => self.locks[lock.index()].shared_released |= now,
            Action::Woken { condition, lock, how } => {
                *mine |= *how != Waking::TimedOut && self.conditions[condition.index()];
                self.acquire(me, *lock, LockMode::Exclusive);
            }
            Action::Notify { condition, .. } => self.conditions[condition.index()] |= now,
            Action::Arrive { barrier, count } => {
                let arrivals = &mut self.arrivals[barrier.index()];
                let round = *arrivals / count;
                *arrivals += 1;
                self.arrived.insert((*barrier, me), round);
                *self.rounds.entry((*barrier, round)).or_default() |= now;
            }
            Action::Leave { barrier, .. } => *mine |= self.rounds[&(*barrier, self.arrived[&(*barrier, me)])],
            Action::Post { semaphore } => self.semaphores[semaphore.index()] |= now,
            Action::Take { semaphore } => *mine |= self.semaphores[semaphore.index()],
        }
    }

    fn acquire(&mut self, me: Thread, lock: Lock, mode: LockMode) {
        let lock = self.locks[lock.index()];
        self.threads[me.index()].now |= lock.released || (mode == LockMode::Exclusive && lock.shared_released);
    }

    fn fence(&mut self, me: Thread, order: MemoryOrder) {
        let marks = &mut self.threads[me.index()];
        marks.now |= order.acquires() && marks.seen_relaxed;
        if order.releases() {
            marks.release_fence = marks.now;
        }
    }

    fn atomic(&mut self, me: Thread, access: &Access) {
        let marks = &mut self.threads[me.index()];
        let seen = access.reads.iter().any(|(cell, _)| !self.messages[cell.index()].is_empty());
        match access.order.acquires() {
            true => marks.now |= seen,
            false => marks.seen_relaxed |= seen,
        }
        let published = if access.order.releases() { marks.now } else { marks.release_fence };
        for (cell, _) in &access.writes {
            let heads = &mut self.messages[cell.index()];
            if access.kind == AccessKind::Store {
                heads.retain(|&head| head == me);
            }
            if published && !heads.contains(&me) {
                heads.push(me);
            }
        }
    }
}

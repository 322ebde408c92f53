//! Happens-before over every kind of synchronization that a trace knows (Lamport 1978), kept while the events stream by.
//!
//! Edges are in observed order. Deviations, all towards more order (races are missed, never invented): a semaphore take
//! follows all earlier posts, a receive all earlier sends, a refused try the acquisition that refused it.

use std::collections::HashMap;

use reweave_model::{AtomicKind, BlockedOn, Event, EventId, LockMode, MemoryOrder, ObjectId, Op, ThreadId};

use crate::Clock;

#[derive(Default)]
struct Lock {
    /// Of the last exclusive release, and of all shared ones since.
    released: Clock,
    shared_released: Clock,
    /// Of the last acquisition: what a refused try has seen.
    acquired: Clock,
}

#[derive(Default)]
struct Barrier {
    arrived: Vec<ThreadId>,
    gathering: Clock,
    /// For those who have not left yet: the clock of their own round.
    leaving: HashMap<ThreadId, Clock>,
}

#[derive(Default)]
struct Row {
    clock: Clock,
    held: Vec<(ObjectId, EventId)>,
    /// C11 fences: what a relaxed store publishes, and what an acquire fence takes from earlier relaxed loads.
    release_fence: Option<Clock>,
    seen_relaxed: Clock,
}

#[derive(Default)]
pub struct HappensBefore {
    threads: Vec<Row>,
    locks: HashMap<ObjectId, Lock>,
    barriers: HashMap<ObjectId, Barrier>,
    /// Semaphores, onces, channels: one clock that grows.
    objects: HashMap<ObjectId, Clock>,
    /// Notifies that have waiters still to come back, and how many.
    notifies: HashMap<u32, (Clock, u32)>,
    atomics: HashMap<u64, Clock>,
}

impl HappensBefore {
    /// Takes one event; afterwards the clock of its thread includes the event itself.
    pub fn see(&mut self, event: &Event<'_>) {
        if !event.op.is_step() {
            return;
        }
        let thread = event.thread;
        let row = self.row(thread);
        let step = row.clock.get(thread) + 1;
        row.clock.set(thread, step);
        self.synchronise(event);
    }

    pub fn clock(&self, thread: ThreadId) -> Option<&Clock> {
        self.threads.get(thread.index()).map(|row| &row.clock)
    }

    /// Where the locks that a thread holds were acquired.
    pub fn held(&self, thread: ThreadId) -> Vec<EventId> {
        let row = self.threads.get(thread.index());
        row.map_or_else(Vec::new, |row| row.held.iter().map(|(_, event)| *event).collect())
    }

    fn row(&mut self, thread: ThreadId) -> &mut Row {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, Row::default);
        }
        &mut self.threads[thread.index()]
    }

    fn join(&mut self, thread: ThreadId, clock: &Clock) {
        self.row(thread).clock.join(clock);
    }

    fn synchronise(&mut self, event: &Event<'_>) {
        let thread = event.thread;
        match event.op {
            Op::Fork { child, .. } => {
                let clock = self.row(thread).clock.clone();
                self.join(child, &clock);
            }
            Op::Join { child } => {
                let clock = self.row(child).clock.clone();
                self.join(thread, &clock);
            }
            Op::Acquire { object, mode, .. } => self.acquire(thread, object, mode, event.id),
            Op::Release { object, mode } => self.release(thread, object, mode),
            Op::Refused { object, on: BlockedOn::LockExclusive | BlockedOn::LockShared, .. } => {
                let row = &mut self.threads[thread.index()];
                row.clock.join(&self.locks.entry(object).or_default().acquired);
            }
            Op::Wait { mutex, .. } => self.release(thread, mutex, LockMode::Exclusive),
            Op::Woken { mutex, notify, .. } => {
                if let Some((clock, left)) = self.notifies.get_mut(&notify) {
                    self.threads[thread.index()].clock.join(clock);
                    *left -= 1;
                    if *left == 0 {
                        self.notifies.remove(&notify);
                    }
                }
                self.acquire(thread, mutex, LockMode::Exclusive, event.id);
            }
            Op::Notify { notify, woken, .. } if woken > 0 => {
                let clock = self.row(thread).clock.clone();
                self.notifies.insert(notify, (clock, woken));
            }
            Op::BarrierArrive { barrier, count } => {
                let barrier = self.barriers.entry(barrier).or_default();
                barrier.gathering.join(&self.threads[thread.index()].clock);
                barrier.arrived.push(thread);
                if barrier.arrived.len() >= count as usize {
                    let round = std::mem::take(&mut barrier.gathering);
                    for other in std::mem::take(&mut barrier.arrived) {
                        barrier.leaving.insert(other, round.clone());
                    }
                }
            }
            Op::BarrierLeave { barrier, .. } => {
                if let Some(round) = self.barriers.entry(barrier).or_default().leaving.remove(&thread) {
                    self.join(thread, &round);
                }
            }
            Op::SemaphorePost { semaphore: object, .. } | Op::OnceEnd { object } | Op::Send { channel: object, .. } => {
                self.objects.entry(object).or_default().join(&self.threads[thread.index()].clock);
            }
            Op::SemaphoreTake { semaphore: object, .. }
            | Op::OnceBegin { object }
            | Op::OnceDone { object }
            | Op::Receive { channel: object, .. } => {
                if let Some(clock) = self.objects.get(&object) {
                    self.threads[thread.index()].clock.join(clock);
                }
            }
            Op::Destroy { object, .. } => {
                self.locks.remove(&object);
                self.barriers.remove(&object);
                self.objects.remove(&object);
            }
            Op::Atomic { kind, order, addr, .. } => self.atomic(thread, kind, order, addr.0),
            Op::Fence { order } => {
                let row = self.row(thread);
                if order.acquires() {
                    let seen = std::mem::take(&mut row.seen_relaxed);
                    row.clock.join(&seen);
                }
                if order.releases() {
                    row.release_fence = Some(row.clock.clone());
                }
            }
            _ => {}
        }
    }

    fn acquire(&mut self, thread: ThreadId, object: ObjectId, mode: LockMode, event: EventId) {
        let lock = self.locks.entry(object).or_default();
        let row = &mut self.threads[thread.index()];
        row.clock.join(&lock.released);
        if mode == LockMode::Exclusive {
            row.clock.join(&lock.shared_released);
        }
        lock.acquired.join(&row.clock);
        row.held.push((object, event));
    }

    fn release(&mut self, thread: ThreadId, object: ObjectId, mode: LockMode) {
        let lock = self.locks.entry(object).or_default();
        let row = &mut self.threads[thread.index()];
        match mode {
            LockMode::Exclusive => {
                lock.released = row.clock.clone();
                lock.shared_released = Clock::default();
            }
            LockMode::Shared => lock.shared_released.join(&row.clock),
        }
        if let Some(at) = row.held.iter().rposition(|(held, _)| *held == object) {
            row.held.remove(at);
        }
    }

    fn atomic(&mut self, thread: ThreadId, kind: AtomicKind, order: MemoryOrder, addr: u64) {
        let row = &mut self.threads[thread.index()];
        if kind.reads()
            && let Some(published) = self.atomics.get(&addr)
        {
            if order.acquires() {
                row.clock.join(published);
            } else {
                row.seen_relaxed.join(published);
            }
        }
        if kind.writes() {
            let mine = if order.releases() { Some(&row.clock) } else { row.release_fence.as_ref() };
            // An exchange or update goes on with the release sequence that it read from; a plain store starts anew.
            match (mine, kind) {
                (Some(mine), AtomicKind::Store) => drop(self.atomics.insert(addr, mine.clone())),
                (Some(mine), _) => self.atomics.entry(addr).or_default().join(mine),
                (None, AtomicKind::Store) => drop(self.atomics.remove(&addr)),
                (None, _) => {}
            }
        }
    }
}

//! Recording: lock events to their threads, and what precedes what.

use std::collections::VecDeque;

use reweave_model::{EventId, LockMode, ObjectId};

use super::Limits;
use super::thread::{LockEvent, ThreadHistory, Time};
use crate::linear::{Edges, FastMap, Lock, Meeting, Order, Sync, Thread, VectorClock};

/// Objects whose operations keep their order; beyond this all of them count as one, which only adds order.
const MAX_OBJECTS: usize = 1 << 16;
/// Between two lock events so far apart there is a snapshot, whatever happens.
const SNAPSHOT_EVERY: u32 = 256;

/// The state of the whole program after an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Snapshot {
    pub event: EventId,
    pub time: Time,
}

#[derive(Default)]
struct Object {
    clock: VectorClock,
    last: Option<Thread>,
}

/// The lock histories of all threads.
pub struct Record {
    threads: Vec<ThreadHistory>,
    /// Clocks whose entries are times.
    firm: Order,
    /// As `firm`, and operations on one object other than a lock stay in their order.
    kept: Order,
    objects: FastMap<ObjectId, Object>,
    /// All objects there were before there were too many.
    everything: Object,
    /// By lock: refused tries that its holders must let happen before they release it.
    refusals: FastMap<u32, VectorClock>,
    now: Time,
    // invariant: ascending
    snapshots: VecDeque<Snapshot>,
    limits: Limits,
    /// Lock events that are kept no more.
    pub dropped: u64,
}

impl Record {
    pub fn new(limits: Limits) -> Self {
        Self {
            threads: Vec::new(),
            firm: Order::along(Edges::Firm),
            kept: Order::along(Edges::Firm),
            objects: FastMap::default(),
            everything: Object::default(),
            refusals: FastMap::default(),
            now: Time(0),
            snapshots: VecDeque::new(),
            limits,
            dropped: 0,
        }
    }

    pub fn threads(&self) -> &[ThreadHistory] {
        &self.threads
    }

    pub fn thread(&self, thread: Thread) -> Option<&ThreadHistory> {
        self.threads.get(thread.index())
    }

    /// The latest snapshot before an event.
    pub fn snapshot_before(&self, event: EventId) -> Option<Snapshot> {
        let before = self.snapshots.partition_point(|snapshot| snapshot.event < event);
        self.snapshots.get(before.checked_sub(1)?).copied()
    }

    /// Makes the histories ready for questions.
    pub fn catch_up(&mut self, threads: [Thread; 2]) {
        let count = threads.iter().map(|thread| thread.index() + 1).max().unwrap_or(0).max(self.threads.len());
        self.threads.resize_with(count, ThreadHistory::default);
        self.threads.iter_mut().for_each(ThreadHistory::catch_up);
    }

    #[inline]
    pub fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        match sync {
            Sync::Acquire { lock, mode } => self.lock_event(event, thread, lock, mode, false),
            Sync::Release { lock, mode } => {
                if !self.refusals.is_empty() {
                    self.after_refusals(event, thread, lock, mode);
                }
                self.lock_event(event, thread, lock, mode, true);
            }
            Sync::Publish { firm: false, .. } | Sync::Observe { firm: false, .. } | Sync::Copy { .. } => {}
            _ => self.edge(event, thread, sync),
        }
    }

    #[inline]
    fn lock_event(&mut self, event: EventId, thread: Thread, lock: Lock, mode: LockMode, release: bool) {
        self.now.0 = self.now.0.wrapping_add(1);
        if self.now.0.is_multiple_of(SNAPSHOT_EVERY) {
            self.now_and_then(event);
        }
        let new = LockEvent::new(event, self.now, lock, mode, release);
        match self.threads.get_mut(thread.index()) {
            Some(history) if history.len() < self.limits.history => history.push(new),
            _ => self.make_room(thread, new),
        }
    }

    #[cold]
    fn now_and_then(&mut self, event: EventId) {
        if self.now.0 == 0 {
            self.start_again();
        }
        self.snapshot(event);
    }

    #[cold]
    fn make_room(&mut self, thread: Thread, new: LockEvent) {
        let limit = self.limits.history;
        let history = self.history(thread);
        let dropped = if history.len() >= limit { history.drop_older_half() } else { 0 };
        history.push(new);
        self.dropped += dropped as u64;
    }

    /// Times have run out: what came before is as if it had never been recorded.
    fn start_again(&mut self) {
        self.dropped += self.threads.iter().map(|history| history.len() as u64).sum::<u64>();
        let last = self.snapshots.back().map_or(EventId(0), |snapshot| snapshot.event);
        self.threads.iter_mut().for_each(|history| history.drop_all(last));
        (self.firm, self.kept) = (Order::along(Edges::Firm), Order::along(Edges::Firm));
        self.objects.clear();
        self.everything = Object::default();
        self.refusals.clear();
        self.snapshots.clear();
        self.now = Time(1);
    }

    fn history(&mut self, thread: Thread) -> &mut ThreadHistory {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, ThreadHistory::default);
        }
        &mut self.threads[thread.index()]
    }

    fn tick(&mut self) {
        if self.now.0 == u32::MAX {
            self.start_again();
        }
        self.now.0 += 1;
    }

    /// Others may learn of the thread up to here.
    fn publishes(&mut self, event: EventId, thread: Thread) {
        let now = self.now;
        self.firm.thread(thread).set(thread, now.0);
        self.kept.thread(thread).set(thread, now.0);
        let limit = self.limits.history;
        let history = self.history(thread);
        history.publishes(event, now);
        if history.is_fuller_than(limit) {
            let dropped = history.drop_older_half();
            self.dropped += dropped as u64;
        }
    }

    /// The thread may have learnt of others.
    fn learns(&mut self, event: EventId, thread: Thread, firm: bool) {
        let limit = self.limits.history;
        self.history(thread);
        let history = &mut self.threads[thread.index()];
        if firm {
            history.firm.push(event, self.firm.thread(thread));
        }
        history.kept.push(event, self.kept.thread(thread));
        if history.is_fuller_than(limit) {
            self.dropped += history.drop_older_half() as u64;
        }
    }

    fn snapshot(&mut self, event: EventId) {
        let new = Snapshot { event, time: self.now };
        match self.snapshots.back_mut() {
            // In the middle of an event nobody can stop.
            Some(last) if last.event == event => *last = new,
            _ => self.snapshots.push_back(new),
        }
        if self.snapshots.len() > self.limits.history {
            self.snapshots.pop_front();
        }
    }

    #[inline(never)]
    fn edge(&mut self, event: EventId, thread: Thread, sync: Sync) {
        self.tick();
        match sync {
            Sync::Fork { .. } | Sync::Publish { .. } => self.publishes(event, thread),
            // It has ended: all it did is known.
            Sync::Join { child } => self.publishes(event, child),
            _ => {}
        }
        self.firm.sync(thread, sync);
        self.kept.sync(thread, sync);
        match sync {
            Sync::Fork { child } => {
                let history = self.history(child);
                history.forked |= history.is_new();
                self.learns(event, child, true);
                self.snapshot(event);
            }
            Sync::Join { .. } | Sync::Observe { .. } => {
                self.learns(event, thread, true);
                self.snapshot(event);
            }
            _ => {}
        }
    }

    /// An operation that rests on the order of what was done to its object.
    pub fn meet(&mut self, event: EventId, thread: Thread, meeting: Meeting) {
        self.tick();
        let object = match meeting {
            Meeting::Object(object) => object,
            Meeting::Refused(lock) => return self.refused(event, thread, lock),
        };
        self.publishes(event, thread);
        if self.objects.len() >= MAX_OBJECTS {
            self.everything.last = None;
            for (_, old) in self.objects.drain() {
                self.everything.clock.join(&old.clock);
            }
        }
        let (everything, kept) = (&self.everything, &mut self.kept);
        let start = || Object { clock: everything.clock.clone(), last: None };
        let object = self.objects.entry(object).or_insert_with(start);
        let clock = kept.thread(thread);
        let new = object.last != Some(thread);
        clock.join(&object.clock);
        object.clock.copy_from(clock);
        object.last = Some(thread);
        if new {
            self.learns(event, thread, false);
        }
        self.snapshot(event);
    }

    /// A try that failed follows all that its lock's holders have done, and they release it later.
    fn refused(&mut self, event: EventId, thread: Thread, lock: Lock) {
        let holds = |history: &mut ThreadHistory| {
            history.catch_up();
            history.held(history.end()).iter().any(|(held, _)| *held == lock)
        };
        let holders: Vec<Thread> =
            (0..self.threads.len()).filter(|&at| holds(&mut self.threads[at])).map(|at| Thread(at as u32)).collect();
        for holder in holders.into_iter().filter(|holder| *holder != thread) {
            self.publishes(event, holder);
            let clock = self.kept.thread(holder).clone();
            self.kept.thread(thread).join(&clock);
        }
        self.publishes(event, thread);
        self.refusals.entry(lock.0).or_default().join(self.kept.thread(thread));
        self.learns(event, thread, false);
        self.snapshot(event);
    }

    /// No snapshot here: the release itself is yet to come.
    #[inline(never)]
    fn after_refusals(&mut self, event: EventId, thread: Thread, lock: Lock, mode: LockMode) {
        if let Some(clock) = self.refusals.get(&lock.0) {
            self.kept.thread(thread).join(clock);
            if mode == LockMode::Exclusive {
                self.refusals.remove(&lock.0);
            }
            self.learns(event, thread, false);
        }
    }
}

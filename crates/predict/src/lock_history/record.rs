//! Recording: lock events to their threads, and what precedes what.
//!
//! Firm order is followed as it comes. What strategy II keeps beyond it (operations on one object in their order) is
//! only written down, and worked out when a question comes. If none came for long, it is given up: what it ordered then
//! lies before every start there still is.

use std::collections::VecDeque;

use reweave_model::{EventId, LockMode, ObjectId};

use super::HistoryLimits;
use super::thread::{LockEvent, ThreadHistory, Time};
use super::versions::Versions;
use crate::linear::{Edges, FastMap, Gone, Lock, Meeting, Order, Sync, Thread, VectorClock};

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

/// Something that orders, yet to be worked out for strategy II. The moment after it is a snapshot.
#[derive(Clone, Copy)]
struct Pending {
    event: EventId,
    time: Time,
    thread: Thread,
    what: What,
}

#[derive(Clone, Copy)]
enum What {
    Edge(Sync),
    Meeting(ObjectId),
    /// Nothing that orders.
    Moment,
}

/// The lock histories of all threads.
pub struct Record {
    threads: Vec<ThreadHistory>,
    /// Clocks whose entries are times.
    firm: Order,
    /// As `firm`, and operations on one object other than a lock stay in their order.
    kept: Order,
    pending: Vec<Pending>,
    /// `kept` is only known from this event on.
    kept_since: Option<EventId>,
    objects: FastMap<ObjectId, Object>,
    /// All objects there were before there were too many.
    everything: VectorClock,
    now: Time,
    // invariant: ascending
    snapshots: VecDeque<Snapshot>,
    limits: HistoryLimits,
    /// Lock events that are kept no more.
    pub dropped: u64,
}

impl Record {
    pub fn new(limits: HistoryLimits) -> Self {
        Self {
            threads: Vec::new(),
            firm: Order::along(Edges::Firm),
            kept: Order::along(Edges::Firm),
            pending: Vec::new(),
            kept_since: None,
            objects: FastMap::default(),
            everything: VectorClock::default(),
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

    /// The latest snapshot before an event, if the order since then is known.
    pub fn snapshot_before(&self, event: EventId) -> Option<Snapshot> {
        let before = self.snapshots.partition_point(|snapshot| snapshot.event < event);
        let snapshot = self.snapshots.get(before.checked_sub(1)?).copied()?;
        self.kept_since.is_none_or(|since| since <= snapshot.event).then_some(snapshot)
    }

    /// Whether what strategy II keeps is known from the beginning.
    pub fn keeps_all_order(&self) -> bool {
        self.kept_since.is_none()
    }

    /// Makes the histories ready for questions.
    pub fn catch_up(&mut self, threads: [Thread; 2]) {
        let count = threads.iter().map(|thread| thread.index() + 1).max().unwrap_or(0).max(self.threads.len());
        self.threads.resize_with(count, ThreadHistory::default);
        for pending in std::mem::take(&mut self.pending) {
            self.work_out(pending);
        }
        let limit = self.limits.history;
        for history in &mut self.threads {
            if history.is_fuller_than(limit) {
                self.dropped += history.drop_older_half() as u64;
            }
            history.catch_up();
        }
    }

    #[inline]
    pub fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        match sync {
            Sync::Acquire { lock, mode } => self.lock_event(event, thread, lock, mode, false),
            Sync::Release { lock, mode } => self.lock_event(event, thread, lock, mode, true),
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
            Some(history) if history.kept_events() < self.limits.history => history.push(new),
            _ => self.make_room(thread, new),
        }
    }

    #[cold]
    fn now_and_then(&mut self, event: EventId) {
        if self.now.0 == 0 {
            self.start_again();
        }
        self.postpone(event, Thread(0), What::Moment);
    }

    #[cold]
    fn make_room(&mut self, thread: Thread, new: LockEvent) {
        let limit = self.limits.history;
        let history = self.history(thread);
        let dropped = if history.kept_events() >= limit { history.drop_older_half() } else { 0 };
        history.push(new);
        self.dropped += dropped as u64;
    }

    /// Times have run out: what came before is as if it had never been recorded.
    fn start_again(&mut self) {
        self.dropped += self.threads.iter().map(|history| history.kept_events() as u64).sum::<u64>();
        let worked_out = self.snapshots.back().map(|snapshot| snapshot.event);
        let last = self.pending.last().map(|pending| pending.event).or(worked_out).unwrap_or(EventId(0));
        self.threads.iter_mut().for_each(|history| history.drop_all(last));
        self.firm = Order::along(Edges::Firm);
        self.give_up_kept(last);
        self.now = Time(1);
    }

    /// From this event on strategy II starts anew.
    fn give_up_kept(&mut self, since: EventId) {
        self.kept = Order::along(Edges::Firm);
        self.pending.clear();
        self.objects.clear();
        self.everything.clear();
        self.snapshots.clear();
        self.threads.iter_mut().for_each(|history| history.kept = Versions::default());
        self.kept_since = Some(since);
    }

    /// As [`super::LockHistories::retire`].
    pub fn retire(&mut self, gone: Gone<'_>) -> u64 {
        self.threads.iter_mut().map(|history| history.retire(gone) as u64).sum()
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

    fn snapshot(&mut self, new: Snapshot) {
        match self.snapshots.back_mut() {
            // In the middle of an event nobody can stop.
            Some(last) if last.event == new.event => *last = new,
            _ => self.snapshots.push_back(new),
        }
        if self.snapshots.len() > self.limits.history {
            self.snapshots.pop_front();
        }
    }

    #[inline]
    fn postpone(&mut self, event: EventId, thread: Thread, what: What) {
        self.pending.push(Pending { event, time: self.now, thread, what });
        if self.pending.len() > self.limits.history {
            self.give_up_kept(event);
            self.snapshot(Snapshot { event, time: self.now });
        }
    }

    #[inline(never)]
    fn edge(&mut self, event: EventId, thread: Thread, sync: Sync) {
        self.tick();
        if let Sync::Fork { child } = sync {
            let history = self.history(child);
            history.forked |= history.is_new();
        }
        follow(&mut self.firm, &mut self.threads, |history| &mut history.firm, (event, self.now, thread), sync);
        let limit = self.limits.history;
        let history = self.history(thread);
        let dropped = if history.is_fuller_than(limit) { history.drop_older_half() } else { 0 };
        self.dropped += dropped as u64;
        self.postpone(event, thread, What::Edge(sync));
    }

    /// An operation that rests on the order of what was done to its object.
    #[inline]
    pub fn meet(&mut self, event: EventId, thread: Thread, meeting: Meeting) {
        self.tick();
        match meeting {
            Meeting::Object(object) => self.postpone(event, thread, What::Meeting(object)),
            Meeting::Refused(_) => {
                self.history(thread).refuses(event);
                self.postpone(event, thread, What::Moment);
            }
        }
    }

    fn work_out(&mut self, Pending { event, time, thread, what }: Pending) {
        self.snapshot(Snapshot { event, time });
        let object = match what {
            What::Edge(sync) => {
                let when = (event, time, thread);
                return follow(&mut self.kept, &mut self.threads, |history| &mut history.kept, when, sync);
            }
            What::Meeting(object) => object,
            What::Moment => return,
        };
        if self.objects.len() >= MAX_OBJECTS {
            for (_, old) in self.objects.drain() {
                self.everything.join(&old.clock);
            }
        }
        let (everything, kept) = (&self.everything, &mut self.kept);
        let object = self.objects.entry(object).or_insert_with(|| Object { clock: everything.clone(), last: None });
        let clock = kept.thread(thread);
        clock.set(thread, time.0);
        clock.join(&object.clock);
        object.clock.copy_from(clock);
        let is_new = object.last.replace(thread) != Some(thread);
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, ThreadHistory::default);
        }
        let history = &mut self.threads[thread.index()];
        history.kept.publishes(event, time);
        if is_new {
            history.kept.learns(event, clock);
        }
    }
}

/// Lets clocks travel along an edge, and tells the histories.
fn follow(
    order: &mut Order,
    threads: &mut Vec<ThreadHistory>,
    versions: fn(&mut ThreadHistory) -> &mut Versions,
    (event, time, thread): (EventId, Time, Thread),
    sync: Sync,
) {
    let publisher = match sync {
        Sync::Fork { .. } | Sync::Publish { .. } => Some(thread),
        // It has ended: all it did is known.
        Sync::Join { child } => Some(child),
        _ => None,
    };
    let learner = match sync {
        Sync::Fork { child } => Some(child),
        Sync::Join { .. } | Sync::Observe { .. } => Some(thread),
        _ => None,
    };
    let last = [publisher, learner].into_iter().flatten().map(|thread| thread.index() + 1).max().unwrap_or(0);
    if threads.len() < last {
        threads.resize_with(last, ThreadHistory::default);
    }
    if let Some(publisher) = publisher {
        order.thread(publisher).set(publisher, time.0);
        versions(&mut threads[publisher.index()]).publishes(event, time);
    }
    order.sync(thread, sync);
    if let Some(learner) = learner {
        versions(&mut threads[learner.index()]).learns(event, order.thread(learner));
    }
}

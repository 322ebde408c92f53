//! Who waits for what, while the events of a run go by.

use std::collections::BTreeMap;

use reweave_model::{BlockedOn, Event, EventId, HeldLocks, ObjectId, Op, Pc, StackId, ThreadId};

/// A wait that has begun and is not over, with a note of whoever reads the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait<N> {
    pub on: BlockedOn,
    pub object: ObjectId,
    /// Only what another thread does ends it: no deadline, nothing from outside.
    pub helpless: bool,
    pub event: EventId,
    pub thread: ThreadId,
    pub pc: Pc,
    pub stack: StackId,
    /// Steps of the run before it.
    pub step: u64,
    pub note: N,
}

impl<N> Wait<N> {
    /// Whether it is for a lock.
    pub const fn is_for_lock(&self) -> bool {
        matches!(self.on, BlockedOn::LockExclusive | BlockedOn::LockShared)
    }
}

/// Whether any of these threads but `thread` itself holds the lock.
pub fn is_held_by_other<N: Clone>(
    held: &HeldLocks<N>,
    threads: impl IntoIterator<Item = ThreadId>,
    thread: ThreadId,
    lock: ObjectId,
) -> bool {
    let holds = |other| held.of(other).iter().any(|(own, _)| *own == lock);
    threads.into_iter().any(|other| other != thread && holds(other))
}

/// Every thread that has not ended, with what it waits for. A signal handler runs in the middle of a wait, which is not
/// over for that: each handler is a level of its own.
#[derive(Clone, Debug)]
pub struct Waits<N> {
    // invariant: at least one level per thread, the innermost handler last
    threads: BTreeMap<ThreadId, Vec<Option<Wait<N>>>>,
    steps: u64,
}

impl<N> Default for Waits<N> {
    fn default() -> Self {
        Self { threads: BTreeMap::new(), steps: 0 }
    }
}

impl<N> Waits<N> {
    /// `note` is asked if the event begins a wait.
    pub fn see(&mut self, event: &Event<'_>, note: impl FnOnce() -> N) {
        if !event.op.is_step() {
            return;
        }
        let levels = self.threads.entry(event.thread).or_insert_with(|| Vec::from([None]));
        match event.op {
            Op::Signal { .. } => levels.push(None),
            Op::SignalReturn { .. } => levels.truncate((levels.len() - 1).max(1)),
            _ => {
                let wait = event.op.begins_wait().map(|(on, object)| {
                    let from_outside = matches!(on, BlockedOn::Sleep | BlockedOn::Descriptor | BlockedOn::Signal);
                    let helpless = !from_outside && !matches!(event.op, Op::Wait { timed: true, .. });
                    let &Event { id, thread, pc, stack, .. } = event;
                    Wait { on, object, helpless, event: id, thread, pc, stack, step: self.steps, note: note() }
                });
                if let Some(innermost) = levels.last_mut() {
                    *innermost = wait;
                }
            }
        }
        match event.op {
            Op::Fork { child, .. } => drop(self.threads.insert(child, Vec::from([None]))),
            Op::End => drop(self.threads.remove(&event.thread)),
            _ => {}
        }
        self.steps += 1;
    }

    /// The threads that have not ended.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> {
        self.threads.keys().copied()
    }

    /// Whether the thread has begun, or was created, and has not ended.
    pub fn is_alive(&self, thread: ThreadId) -> bool {
        self.threads.contains_key(&thread)
    }

    /// What a thread waits for right now; in a handler, what the handler waits for.
    pub fn now(&self, thread: ThreadId) -> Option<&Wait<N>> {
        self.threads.get(&thread)?.last()?.as_ref()
    }

    /// What a thread waits for right now or, if a handler that waits for nothing runs, what that interrupts.
    pub fn innermost(&self, thread: ThreadId) -> Option<&Wait<N>> {
        self.threads.get(&thread)?.iter().rev().find_map(Option::as_ref)
    }

    /// Whether any thread is in a signal handler.
    pub fn is_in_handler(&self) -> bool {
        self.threads.values().any(|levels| levels.len() > 1)
    }
}

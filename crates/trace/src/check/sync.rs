//! Locks, conditions, barriers, semaphores, onces, channels: who may do what next.

use std::collections::{HashMap, HashSet};

use reweave_model::{BlockedOn, Event, LockMode, Misuse, ObjectId, ObjectKind, Op, RefusedWhy, ThreadId, WakeReason};

use super::Report;

#[derive(Default)]
struct Lock {
    owner: Option<ThreadId>,
    readers: Vec<ThreadId>,
}

#[derive(Default)]
struct Barrier {
    /// Of the round that is filling.
    arrived: u32,
    /// Threads of full rounds that have not left.
    may_leave: Vec<ThreadId>,
    waiting: Vec<ThreadId>,
}

#[derive(Default)]
struct Once {
    runner: Option<ThreadId>,
    ended: bool,
    /// Begun in the trace: otherwise it was done before.
    begun: bool,
}

/// A notify as far as it can still wake somebody.
struct Notify {
    object: ObjectId,
    left: u32,
}

#[derive(Default)]
pub(super) struct Sync {
    locks: HashMap<ObjectId, Lock>,
    /// Locks whose holder may have lost them by another thread's unlock.
    doubtful: HashSet<ObjectId>,
    /// What each thread waits on: the condition and, unless a futex, its mutex.
    waits: HashMap<ThreadId, (ObjectId, Option<ObjectId>)>,
    notifies: HashMap<u32, Notify>,
    last_notify: u32,
    semaphores: HashMap<ObjectId, u32>,
    barriers: HashMap<ObjectId, Barrier>,
    onces: HashMap<ObjectId, Once>,
    /// Bytes sent.
    channels: HashMap<ObjectId, u64>,
    atomic_depth: HashMap<ThreadId, u32>,
    /// Events were lost before: what is not known may be anything.
    gap: bool,
}

impl Sync {
    pub fn after_gap() -> Self {
        Self { gap: true, ..Self::default() }
    }

    /// What is wrong with the event, if anything.
    pub fn event(&mut self, event: &Event<'_>, report: &mut Report) -> Option<String> {
        let thread = event.thread;
        match event.op {
            Op::Acquire { object, mode, .. } => self.acquire(thread, object, mode),
            Op::Release { object, mode } => self.release(thread, object, mode),
            Op::Wait { condition, mutex, .. } => {
                let wrong = self.release(thread, mutex, LockMode::Exclusive);
                self.waits.insert(thread, (condition, Some(mutex)));
                wrong
            }
            Op::Blocked { on: BlockedOn::Futex, object } => {
                self.waits.insert(thread, (object, None));
                None
            }
            Op::Woken { condition, mutex, reason, notify } => self.woken(thread, condition, mutex, reason, notify),
            Op::Notify { condition, notify, woken, .. } => {
                let wrong = (notify <= self.last_notify)
                    .then(|| format!("notify {notify} follows notify {}", self.last_notify));
                self.last_notify = notify;
                if woken > 0 {
                    self.notifies.insert(notify, Notify { object: condition, left: woken });
                }
                let waiting = self.waits.values().filter(|(on, _)| *on == condition).count();
                wrong.or((woken as usize > waiting && !self.gap)
                    .then(|| format!("a notify on {:#x} wakes {woken} but only {waiting} wait", condition.0)))
            }
            Op::Refused { object, on, why } => self.refused(thread, object, on, why),
            Op::SemaphorePost { semaphore, value } => self.semaphore(semaphore, value, 1),
            Op::SemaphoreTake { semaphore, value, .. } => self.semaphore(semaphore, value, -1),
            Op::BarrierArrive { barrier, count } => {
                let state = self.barriers.entry(barrier).or_default();
                let wrong = state.waiting.contains(&thread).then(|| "arrives at a barrier twice".to_owned());
                state.arrived += 1;
                state.waiting.push(thread);
                if state.arrived >= count {
                    state.arrived = 0;
                    let mut full = std::mem::take(&mut state.waiting);
                    state.may_leave.append(&mut full);
                }
                wrong
            }
            Op::BarrierLeave { barrier, .. } => {
                let state = self.barriers.entry(barrier).or_default();
                match state.may_leave.iter().position(|&t| t == thread) {
                    Some(i) => {
                        state.may_leave.swap_remove(i);
                        None
                    }
                    None if self.gap => None,
                    None => Some(format!("leaves barrier {:#x} before it is full", barrier.0)),
                }
            }
            Op::OnceBegin { object } => {
                let once = self.onces.entry(object).or_default();
                let running = once.runner.replace(thread);
                once.begun = true;
                running.map(|other| format!("runs once {:#x} while thread {other} does", object.0))
            }
            Op::OnceEnd { object } => {
                let once = self.onces.entry(object).or_default();
                once.ended = true;
                match once.runner.take() {
                    Some(runner) if runner == thread => None,
                    None if self.gap => None,
                    _ => Some(format!("ends once {:#x}, which it did not begin", object.0)),
                }
            }
            Op::OnceDone { object } => {
                let once = self.onces.entry(object).or_default();
                // Done before the trace began (or in a library) is fine: then nobody begins it in the trace.
                (once.begun && !once.ended).then(|| format!("finds once {:#x} done before it is", object.0))
            }
            Op::Send { channel, position, size } => {
                let sent = self.channels.entry(channel).or_default();
                let wrong = (position > *sent && !self.gap)
                    .then(|| format!("sends at {position} of channel {:#x}, which is at {sent}", channel.0));
                *sent = (*sent).max(position.saturating_add(size));
                wrong
            }
            Op::Receive { channel, position, size } => match self.channels.get(&channel) {
                Some(&sent) => (position.saturating_add(size) > sent).then(|| {
                    let end = position.saturating_add(size);
                    format!("receives up to {end} of channel {:#x}, which is at {sent}", channel.0)
                }),
                None => {
                    report.outside_receives += u64::from(size > 0);
                    None
                }
            },
            Op::Create { object, kind, value } => {
                self.forget(object, kind);
                if kind == ObjectKind::Semaphore {
                    self.semaphores.insert(object, value);
                }
                None
            }
            Op::Destroy { object, kind } => {
                let is_lock = matches!(kind, ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock);
                let lock = self.locks.get(&object).filter(|_| is_lock);
                let held = lock.is_some_and(|lock| lock.owner.is_some() || !lock.readers.is_empty());
                self.forget(object, kind);
                held.then(|| format!("destroys lock {:#x}, which is held", object.0))
            }
            Op::Misused { what: Misuse::UnlockByNonOwner | Misuse::UnlockUnlocked, object } => {
                // The library goes ahead and unlocks it, or refuses, depending on the kind of mutex.
                self.locks.remove(&object);
                self.doubtful.insert(object);
                None
            }
            Op::AtomicEnter { .. } => {
                *self.atomic_depth.entry(thread).or_default() += 1;
                None
            }
            Op::AtomicExit => {
                let depth = self.atomic_depth.entry(thread).or_default();
                let wrong = (*depth == 0 && !self.gap).then(|| "leaves an atomic block it is not in".to_owned());
                *depth = depth.saturating_sub(1);
                wrong
            }
            _ => None,
        }
    }

    fn acquire(&mut self, thread: ThreadId, object: ObjectId, mode: LockMode) -> Option<String> {
        self.doubtful.remove(&object);
        let lock = self.locks.entry(object).or_default();
        let mut wrong = None;
        if let Some(owner) = lock.owner {
            wrong = Some(format!("acquires lock {:#x}, which thread {owner} holds", object.0));
        }
        match mode {
            LockMode::Exclusive => {
                if let Some(reader) = lock.readers.first() {
                    wrong = Some(format!("acquires lock {:#x}, which thread {reader} shares", object.0));
                }
                lock.owner = Some(thread);
            }
            LockMode::Shared => {
                if lock.readers.contains(&thread) {
                    wrong = Some(format!("acquires lock {:#x} shared, which it shares already", object.0));
                }
                lock.readers.push(thread);
            }
        }
        wrong
    }

    fn release(&mut self, thread: ThreadId, object: ObjectId, mode: LockMode) -> Option<String> {
        if self.gap && !self.locks.contains_key(&object) {
            return None;
        }
        let lock = self.locks.entry(object).or_default();
        let held = match mode {
            LockMode::Exclusive => lock.owner.take() == Some(thread),
            LockMode::Shared => {
                let at = lock.readers.iter().position(|&t| t == thread);
                at.map(|i| lock.readers.swap_remove(i)).is_some()
            }
        };
        (!held && !self.doubtful.remove(&object))
            .then(|| format!("releases lock {:#x}, which it does not hold so", object.0))
    }

    fn woken(
        &mut self,
        thread: ThreadId,
        condition: ObjectId,
        mutex: ObjectId,
        reason: WakeReason,
        notify: u32,
    ) -> Option<String> {
        let futex = mutex == ObjectId(0);
        let waits = self.waits.remove(&thread);
        let mut wrong = match waits {
            Some((on, with)) if on == condition && with == (!futex).then_some(mutex) => None,
            Some(_) => Some("is woken from something else than it waits on".to_owned()),
            None if self.gap => None,
            None => Some("is woken but does not wait".to_owned()),
        };
        if reason == WakeReason::Notified {
            match self.notifies.get_mut(&notify) {
                Some(by) if by.object == condition && by.left > 0 => by.left -= 1,
                Some(_) => wrong = Some(format!("is woken by notify {notify}, which cannot wake it")),
                None if self.gap => {}
                None => wrong = Some(format!("is woken by notify {notify}, which did not happen or woke no thread")),
            }
            if self.notifies.get(&notify).is_some_and(|by| by.left == 0) {
                self.notifies.remove(&notify);
            }
        }
        if futex { wrong } else { wrong.or(self.acquire(thread, mutex, LockMode::Exclusive)) }
    }

    fn refused(&mut self, thread: ThreadId, object: ObjectId, on: BlockedOn, why: RefusedWhy) -> Option<String> {
        let lock = self.locks.get(&object);
        if on == BlockedOn::Futex {
            self.waits.remove(&thread);
        }
        if why != RefusedWhy::Busy || self.gap {
            return None;
        }
        match on {
            BlockedOn::LockExclusive | BlockedOn::LockShared => {
                let held = lock.is_some_and(|lock| lock.owner.is_some() || !lock.readers.is_empty());
                (!held).then(|| format!("is refused lock {:#x}, which is free", object.0))
            }
            BlockedOn::Semaphore => {
                let value = self.semaphores.get(&object).copied().unwrap_or(0);
                (value > 0).then(|| format!("is refused semaphore {:#x}, which is at {value}", object.0))
            }
            _ => None,
        }
    }

    fn semaphore(&mut self, object: ObjectId, value: u32, change: i32) -> Option<String> {
        let before = self.semaphores.insert(object, value)?;
        let expected = before.checked_add_signed(change);
        (expected != Some(value))
            .then(|| format!("semaphore {:#x} goes from {before} to {value} by {change:+}", object.0))
    }

    fn forget(&mut self, object: ObjectId, kind: ObjectKind) {
        match kind {
            ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock => drop(self.locks.remove(&object)),
            ObjectKind::Barrier => {
                // Whoever is through may destroy it; the others of that round leave later.
                if let Some(barrier) = self.barriers.get_mut(&object) {
                    barrier.arrived = 0;
                    barrier.waiting.clear();
                }
            }
            ObjectKind::Semaphore => drop(self.semaphores.remove(&object)),
            ObjectKind::Once => drop(self.onces.remove(&object)),
            ObjectKind::Channel => drop(self.channels.remove(&object)),
            ObjectKind::Condition => {}
        }
    }
}

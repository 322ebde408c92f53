//! Synchronization: what the primitives do, and what was so before the window.

use reweave_model::{BlockedOn, LockChange, LockMode, ObjectId, ObjectKind, Op, ThreadId, WakeReason};

use super::super::Destroyed;
use super::super::buffer::{Kept, What};
use super::super::world::World;
use super::Builder;
use crate::history::*;

#[derive(Clone, Default)]
pub(super) struct Channel {
    sends: Vec<(u64, u64, Pos)>,
    last_receive: Option<Pos>,
}

impl Builder {
    /// What was so before the window, as events of its threads, one after the other.
    pub(super) fn before(&mut self, world: &World) {
        let mut actions: Vec<(Thread, Action)> = Vec::new();
        for notified in [true, false] {
            for (thread, waiting) in world.waiting.iter().filter(|(_, waiting)| waiting.notified.is_some() == notified)
            {
                let (condition, lock) =
                    (Condition(self.conditions.get(waiting.condition)), Lock(self.locks.get(waiting.mutex)));
                let thread = self.thread_of[thread];
                actions.push((thread, Action::Acquire { lock, mode: LockMode::Exclusive }));
                actions.push((thread, Action::Wait { condition, lock }));
            }
            if notified {
                let mut conditions: Vec<_> = world
                    .waiting
                    .values()
                    .filter(|waiting| waiting.notified.is_some())
                    .map(|waiting| waiting.condition)
                    .collect();
                conditions.sort_unstable();
                conditions.dedup();
                for condition in conditions {
                    let condition = Condition(self.conditions.get(condition));
                    actions.push((self.outside, Action::Notify { condition, all: true }));
                }
            }
        }
        for (&(thread, object), &mode) in &world.held {
            actions.push((self.thread_of[&thread], Action::Acquire { lock: Lock(self.locks.get(object)), mode }));
        }
        for (&object, rounds) in &world.rounds {
            let barrier = Barrier(self.barriers.get(object));
            for round in rounds {
                for (thread, _) in &round.arrived {
                    actions.push((self.thread_of[thread], Action::Arrive { barrier, count: round.count }));
                }
                for (thread, left) in &round.arrived {
                    if let Some(serial) = *left {
                        actions.push((self.thread_of[thread], Action::Leave { barrier, serial }));
                    }
                }
            }
        }
        for (thread, action) in actions {
            let before = self.prelude.into_iter().collect();
            self.prelude = Some(self.push(thread, action, before, None));
        }
        self.begun.clear();
    }

    pub(super) fn sync(&mut self, thread: Thread, kept: &Kept, op: &Op<'static>) {
        let first = self.history.steps.len();
        self.lower(thread, kept, op);
        // What is done to an object belongs to this life of it: after its beginning, and before its end.
        let pos = Pos(first as u32);
        if let Op::Create { object, .. } | Op::Destroy { object, .. } = *op {
            let used = self.used.remove(&object).unwrap_or_default();
            let others = used.into_iter().filter(|(other, _)| *other != thread).map(|(_, last)| last);
            let mut follows: Vec<Pos> = others.collect();
            follows.sort_unstable();
            self.history.steps[pos.index()].after.extend(&follows);
            let born = self.renewed.insert(object, (thread, pos));
            let uses = self.uses.remove(&object).unwrap_or_default();
            let created = self.created.remove(&object);
            if matches!(op, Op::Destroy { .. }) {
                let born = born.filter(|(other, _)| *other != thread).map(|(_, pos)| pos);
                self.destroyed.push(Destroyed { pos, object, created, uses, born, follows });
            } else {
                self.created.insert(object);
            }
        }
        for object in objects(op).into_iter().flatten() {
            if let Some(&(_, life)) = self.renewed.get(&object).filter(|(other, _)| *other != thread) {
                self.history.steps[pos.index()].after.push(life);
            }
            self.used.entry(object).or_default().insert(thread, pos);
            // Who was woken, or passed a barrier, needs it no more.
            if !matches!(op, Op::Woken { .. } | Op::BarrierLeave { .. }) {
                self.uses.entry(object).or_default().push(pos);
            }
        }
    }

    /// Exactly one step.
    fn lower(&mut self, thread: Thread, kept: &Kept, op: &Op<'static>) {
        let mut after = Vec::new();
        let changed = match op.lock_change() {
            Some(LockChange::Acquired { lock, .. }) => self.held.insert((kept.thread, lock)),
            Some(LockChange::Released { lock, .. }) => self.held.remove(&(kept.thread, lock)),
            None => false,
        };
        let action = match *op {
            Op::Fork { child, .. } => {
                let pos = self.push(thread, Action::Nothing, after, Some(kept));
                self.forks.insert(child, pos);
                return;
            }
            Op::End => {
                let pos = self.push(thread, Action::Nothing, after, Some(kept));
                self.ends.insert(kept.thread, pos);
                return;
            }
            Op::Join { child } => {
                // A trace of another origin has no ends: then the last event counts.
                let last = self.thread_of.get(&child).and_then(|child| self.history.threads[child.index()].last());
                after.extend(self.ends.get(&child).or(last));
                Action::Nothing
            }
            Op::Fence { order } => Action::Fence(order),
            Op::Acquire { object, mode, .. } => Action::Acquire { lock: Lock(self.locks.get(object)), mode },
            // An unlock by somebody who does not hold it is a misuse, and releases nothing.
            Op::Release { .. } if !changed => Action::Nothing,
            // Who holds the lock after it is not known.
            Op::Misused { object, .. } => {
                self.misused.insert(Lock(self.locks.get(object)));
                Action::Nothing
            }
            Op::Release { object, mode } => Action::Release { lock: Lock(self.locks.get(object)), mode },
            Op::Refused { object, on: BlockedOn::Semaphore, .. } => {
                Action::TakeFailed { semaphore: self.semaphore(object, 0) }
            }
            // Refused to the holder itself: so it is in every reordering.
            Op::Refused { object, .. } if self.held.contains(&(kept.thread, object)) => Action::Nothing,
            Op::Refused { object, on, .. } => {
                let mode = if on == BlockedOn::LockShared { LockMode::Shared } else { LockMode::Exclusive };
                Action::AcquireFailed { lock: Lock(self.locks.get(object)), mode }
            }
            Op::Wait { condition, mutex, timed } => {
                if !timed {
                    self.patient.insert(kept.thread);
                }
                let lock = Lock(self.locks.get(mutex));
                Action::Wait { condition: Condition(self.conditions.get(condition)), lock }
            }
            Op::Woken { condition, mutex, reason, notify } => {
                if mutex.0 == 0 {
                    after.extend(self.notifies.get(&notify));
                    Action::Nothing
                } else {
                    let how = match reason {
                        WakeReason::Notified => Waking::Notified,
                        WakeReason::TimedOut => Waking::TimedOut,
                        WakeReason::Spurious | WakeReason::Cancelled => Waking::Spurious,
                    };
                    let lock = Lock(self.locks.get(mutex));
                    let action = Action::Woken { condition: Condition(self.conditions.get(condition)), lock, how };
                    let pos = self.push(thread, action, after, Some(kept));
                    // Of a wait that began before the window nobody knows.
                    self.history.steps[pos.index()].tried = !self.patient.remove(&kept.thread);
                    return;
                }
            }
            Op::Notify { condition, all, notify, .. } => {
                let action = if self.real_conditions.contains(&condition) {
                    Action::Notify { condition: Condition(self.conditions.get(condition)), all }
                } else {
                    Action::Nothing
                };
                let pos = self.push(thread, action, after, Some(kept));
                self.notifies.insert(notify, pos);
                return;
            }
            Op::BarrierArrive { barrier, count } => {
                Action::Arrive { barrier: Barrier(self.barriers.get(barrier)), count: count.max(1) }
            }
            Op::BarrierLeave { barrier, serial } => {
                Action::Leave { barrier: Barrier(self.barriers.get(barrier)), serial }
            }
            Op::SemaphorePost { semaphore, value } => {
                Action::Post { semaphore: self.semaphore(semaphore, value.saturating_sub(1)) }
            }
            Op::SemaphoreTake { semaphore, value, .. } => {
                Action::Take { semaphore: self.semaphore(semaphore, value.saturating_add(1)) }
            }
            Op::Create { object, value, .. } => {
                self.known_counts.insert(object, value);
                // Used before: the same address is another object now, and counts anew.
                self.semaphores.remove(&object);
                self.barriers.renew(object);
                self.renew_lock(object);
                Action::Nothing
            }
            Op::Destroy { object, kind: ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock } => {
                self.renew_lock(object);
                Action::Nothing
            }
            Op::OnceBegin { object } | Op::OnceDone { object } => {
                after.extend(self.onces.get(&object));
                Action::Nothing
            }
            Op::OnceEnd { object } => {
                let pos = self.push(thread, Action::Nothing, after, Some(kept));
                self.onces.insert(object, pos);
                return;
            }
            Op::Send { channel, position, size } => {
                if let Some(channel) = self.channels.get(&channel) {
                    after.extend(channel.sends.last().map(|(_, _, pos)| *pos));
                    // How much there was to receive is an outcome.
                    after.extend(channel.last_receive);
                }
                let pos = self.push(thread, Action::Nothing, after, Some(kept));
                self.channels.entry(channel).or_default().sends.push((
                    position,
                    position.saturating_add(size.max(1)),
                    pos,
                ));
                return;
            }
            Op::Receive { channel, position, size } => {
                let end = position.saturating_add(size.max(1));
                let channel_now = self.channels.entry(channel).or_default();
                after.extend(channel_now.last_receive);
                // Sends follow each other: the last that carried some of it stands for all.
                let mut sends = channel_now.sends.iter().rev();
                after.extend(sends.find(|(from, to, _)| *from < end && *to > position).map(|(_, _, pos)| *pos));
                let pos = self.push(thread, Action::Nothing, after, Some(kept));
                self.channels.entry(channel).or_default().last_receive = Some(pos);
                return;
            }
            _ => Action::Nothing,
        };
        self.push(thread, action, after, Some(kept));
    }

    /// The next lock at this address is another one, unless somebody still holds this one.
    fn renew_lock(&mut self, object: ObjectId) {
        if !self.held.iter().any(|(_, held)| *held == object) {
            self.locks.renew(object);
        }
    }

    /// What threads were blocked at when the trace ended, as events that never happened. A thread that is not over has
    /// its end still to come, or nobody could stand before joining it.
    pub(super) fn blocked(&mut self, blocked: &[Kept]) {
        for kept in blocked {
            let What::Sync(Op::Blocked { on, object }) = kept.what else { continue };
            let action = match on {
                BlockedOn::LockExclusive | BlockedOn::LockShared => {
                    let mode = if on == BlockedOn::LockShared { LockMode::Shared } else { LockMode::Exclusive };
                    Action::Acquire { lock: Lock(self.locks.get(object)), mode }
                }
                BlockedOn::Semaphore => Action::Take { semaphore: self.semaphore(object, 0) },
                _ => continue,
            };
            self.push(self.thread_of[&kept.thread], action, Vec::new(), Some(kept));
        }
        for kept in blocked {
            let What::Sync(Op::Blocked { on: BlockedOn::Join, object }) = kept.what else { continue };
            let child = ThreadId(object.0 as u32);
            let Some(&thread) = self.thread_of.get(&child) else { continue };
            let end = match self.ends.get(&child).or(self.still_to_come.get(&child)) {
                Some(&end) => end,
                None => self.push(thread, Action::Nothing, Vec::new(), None),
            };
            self.still_to_come.insert(child, end);
            self.push(self.thread_of[&kept.thread], Action::Nothing, vec![end], Some(kept));
        }
    }

    /// `count`: what it was before this event, by the event's own account.
    pub(super) fn semaphore(&mut self, object: ObjectId, count: u32) -> Semaphore {
        let count = self.known_counts.get(&object).copied().unwrap_or(count);
        let (semaphores, counts) = (&mut self.semaphores, &mut self.history.semaphores);
        *semaphores.entry(object).or_insert_with(|| {
            counts.push(count);
            Semaphore(counts.len() as u32 - 1)
        })
    }
}

/// The objects that an operation uses, as long as their lives go.
fn objects(op: &Op<'_>) -> [Option<ObjectId>; 2] {
    match *op {
        Op::Acquire { object, .. } | Op::Release { object, .. } | Op::Refused { object, .. } => [Some(object), None],
        Op::Wait { condition, mutex, .. } | Op::Woken { condition, mutex, .. } => [Some(condition), Some(mutex)],
        Op::Notify { condition, .. } => [Some(condition), None],
        Op::BarrierArrive { barrier, .. } | Op::BarrierLeave { barrier, .. } => [Some(barrier), None],
        Op::SemaphorePost { semaphore, .. } | Op::SemaphoreTake { semaphore, .. } => [Some(semaphore), None],
        _ => [None, None],
    }
}

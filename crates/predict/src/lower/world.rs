//! What was so before a window: who holds which lock, who waits, who has arrived at a barrier, what semaphores count.

use std::collections::BTreeMap;

use reweave_model::{BlockedOn, LockChange, LockMode, ObjectId, ObjectKind, Op, ThreadId};

use super::buffer::{Kept, What};
use crate::linear::FastMap;

/// A wait that has begun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Waiting {
    pub condition: ObjectId,
    pub mutex: ObjectId,
    /// The notify that was taken to have chosen it.
    pub notified: Option<u32>,
}

/// The arrivals of one round of a barrier, and how each left (`None`: not yet).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Round {
    pub count: u32,
    pub arrived: Vec<(ThreadId, Option<bool>)>,
}

#[derive(Clone, Default)]
pub(super) struct World {
    pub held: BTreeMap<(ThreadId, ObjectId), LockMode>,
    pub waiting: BTreeMap<ThreadId, Waiting>,
    /// Rounds that are not over, in order.
    pub rounds: BTreeMap<ObjectId, Vec<Round>>,
    pub semaphores: FastMap<ObjectId, u32>,
}

impl World {
    pub fn event(&mut self, kept: &Kept) {
        let What::Sync(op) = &kept.what else { return };
        let thread = kept.thread;
        // A wait that began before the window is over by itself.
        let is_wait_over = |op: &Op<'_>| matches!(op, Op::Woken { .. }) && !self.waiting.contains_key(&thread);
        match op.lock_change() {
            Some(_) if is_wait_over(op) => return,
            Some(LockChange::Acquired { lock, mode }) => drop(self.held.insert((thread, lock), mode)),
            Some(LockChange::Released { lock, .. }) => drop(self.held.remove(&(thread, lock))),
            None => {}
        }
        match *op {
            Op::Wait { condition, mutex, .. } => {
                self.waiting.insert(thread, Waiting { condition, mutex, notified: None });
            }
            // A wait without a mutex is none on a condition.
            Op::Woken { mutex, notify, .. } if mutex.0 != 0 => {
                let Some(woken) = self.waiting.remove(&thread) else { return };
                // It was this one that the notify chose: whoever was taken for it has what this one had.
                if notify != 0
                    && woken.notified != Some(notify)
                    && let Some(other) = self.waiting.values_mut().find(|other| other.notified == Some(notify))
                {
                    other.notified = woken.notified;
                }
            }
            Op::Notify { condition, all, woken, notify } => {
                // Which waiter a single notify chose shows only when it wakes: until then any will do, as for the
                // primitive.
                let left = if all { usize::MAX } else { woken as usize };
                let waiting = self.waiting.values_mut().filter(|w| w.condition == condition && w.notified.is_none());
                waiting.take(left).for_each(|waiting| waiting.notified = Some(notify));
            }
            Op::BarrierArrive { barrier, count } => {
                let rounds = self.rounds.entry(barrier).or_default();
                match rounds.last_mut().filter(|round| (round.arrived.len() as u32) < round.count) {
                    Some(round) => round.arrived.push((thread, None)),
                    None => rounds.push(Round { count: count.max(1), arrived: vec![(thread, None)] }),
                }
            }
            Op::BarrierLeave { barrier, serial } => {
                if let Some(rounds) = self.rounds.get_mut(&barrier) {
                    let inside = rounds.iter_mut().flat_map(|round| &mut round.arrived);
                    if let Some(arrival) = inside.into_iter().find(|(who, left)| *who == thread && left.is_none()) {
                        arrival.1 = Some(serial);
                    }
                    rounds.retain(|round| {
                        (round.arrived.len() as u32) < round.count
                            || round.arrived.iter().any(|(_, left)| left.is_none())
                    });
                }
            }
            Op::SemaphorePost { semaphore, value } | Op::SemaphoreTake { semaphore, value, .. } => {
                self.semaphores.insert(semaphore, value);
            }
            Op::Create { object, kind: ObjectKind::Barrier, .. } => {
                self.rounds.remove(&object);
            }
            Op::Create { object, kind: ObjectKind::Semaphore, value } => {
                self.semaphores.insert(object, value);
            }
            Op::Refused { object, on: BlockedOn::Semaphore, .. } => {
                self.semaphores.insert(object, 0);
            }
            _ => {}
        }
    }
}

//! Learns synchronization: which request an operation is, and how it ended.

use reweave_model::{BlockedOn, LockMode, Misuse, ObjectId, Op, RefusedWhy, ThreadId, WakeReason};
use reweave_predict::analyses::destroyed;

use super::super::tree::{Request, StepResult, Thing};
use super::Learning;
use crate::names::Code;

impl Learning<'_> {
    pub(super) fn object(&mut self, thread: ThreadId, object: ObjectId) -> Thing {
        let (base, at) = self.base(thread, object.0);
        self.tree.thing(base, at, true)
    }

    /// A synchronization operation and how it ended.
    pub(super) fn sync(&mut self, thread: ThreadId, op: &Op<'_>) -> Option<(Request, StepResult)> {
        let done = StepResult::Done;
        Some(match *op {
            Op::End => (Request::End, done),
            Op::Join { child } => (Request::Join { child: self.cursors.get(&child)?.who, tried: false }, done),
            Op::Acquire { object, mode, tried } => {
                (Request::Acquire { lock: self.object(thread, object), mode, tried }, done)
            }
            Op::Release { object, mode } => (Request::Release { lock: self.object(thread, object), mode }, done),
            Op::Refused { object, on, why } => return self.refused(thread, object, on, why),
            Op::Wait { condition, mutex, .. } if mutex.0 != 0 => {
                (Request::Wait { condition: self.object(thread, condition), lock: self.object(thread, mutex) }, done)
            }
            Op::Woken { condition, mutex, reason, .. } if mutex.0 != 0 => {
                let answer = match reason {
                    WakeReason::Notified => StepResult::Notified,
                    WakeReason::TimedOut => StepResult::TimedOut,
                    WakeReason::Spurious | WakeReason::Cancelled => {
                        self.tree.doubts.outside = true;
                        StepResult::Refused
                    }
                };
                let (condition, lock) = (self.object(thread, condition), self.object(thread, mutex));
                let cursor = self.cursors.get(&thread)?;
                let timed = matches!(self.tree.node(cursor.node).ask, Some(Request::Wake { timed: true, .. }));
                (Request::Wake { condition, lock, timed }, answer)
            }
            Op::Notify { condition, all, .. } => {
                (Request::Notify { condition: self.object(thread, condition), all }, done)
            }
            Op::BarrierArrive { barrier, count } => {
                (Request::Arrive { barrier: self.object(thread, barrier), count: count.max(1) }, done)
            }
            Op::BarrierLeave { barrier, serial } => {
                (Request::Leave { barrier: self.object(thread, barrier) }, StepResult::Serial(serial))
            }
            Op::SemaphorePost { semaphore, value } => {
                let semaphore = self.object(thread, semaphore);
                self.tree.counts.entry(semaphore).or_insert(value.saturating_sub(1));
                (Request::Post { semaphore }, done)
            }
            Op::SemaphoreTake { semaphore, value, tried } => {
                let semaphore = self.object(thread, semaphore);
                self.tree.counts.entry(semaphore).or_insert(value + 1);
                (Request::Take { semaphore, tried }, done)
            }
            Op::Create { object, value, .. } => {
                let object = self.object(thread, object);
                self.tree.counts.entry(object).or_insert(value);
                (Request::Create { object, value }, done)
            }
            Op::Destroy { object, kind } => {
                let object = self.object(thread, object);
                self.tree.object_bytes.insert(object, destroyed::bytes(kind) as i64);
                (Request::Destroy { object }, done)
            }
            Op::Misused { what: Misuse::DestroyHeld, object } => {
                (Request::Destroy { object: self.object(thread, object) }, StepResult::Refused)
            }
            Op::OnceBegin { object } => {
                (Request::Once { object: self.object(thread, object) }, StepResult::First(true))
            }
            Op::OnceDone { object } => {
                (Request::Once { object: self.object(thread, object) }, StepResult::First(false))
            }
            Op::OnceEnd { object } => (Request::OnceEnd { object: self.object(thread, object) }, done),
            Op::Wait { .. } | Op::Woken { .. } | Op::Send { .. } | Op::Receive { .. } => {
                self.tree.doubts.outside = true;
                return None;
            }
            _ => return None,
        })
    }

    /// An operation that was refused.
    fn refused(
        &mut self,
        thread: ThreadId,
        object: ObjectId,
        on: BlockedOn,
        why: RefusedWhy,
    ) -> Option<(Request, StepResult)> {
        let request = match on {
            _ if why == RefusedWhy::Error => return None,
            BlockedOn::Semaphore if why != RefusedWhy::Interrupted => {
                let semaphore = self.object(thread, object);
                self.tree.counts.entry(semaphore).or_insert(0);
                Request::Take { semaphore, tried: true }
            }
            BlockedOn::Join if why != RefusedWhy::Interrupted => {
                Request::Join { child: self.cursors.get(&ThreadId(object.0 as u32))?.who, tried: true }
            }
            BlockedOn::LockExclusive | BlockedOn::LockShared if why != RefusedWhy::Interrupted => {
                let mode = if on == BlockedOn::LockShared { LockMode::Shared } else { LockMode::Exclusive };
                Request::Acquire { lock: self.object(thread, object), mode, tried: true }
            }
            _ => {
                self.tree.doubts.outside = true;
                return None;
            }
        };
        Some((request, StepResult::Refused))
    }

    /// What a thread stands before once it has begun to wait.
    pub(super) fn prepare(&mut self, thread: ThreadId, code: Code, op: &Op<'_>) {
        let ask = match *op {
            Op::Wait { condition, mutex, timed } => {
                Request::Wake { condition: self.object(thread, condition), lock: self.object(thread, mutex), timed }
            }
            Op::BarrierArrive { barrier, .. } => Request::Leave { barrier: self.object(thread, barrier) },
            _ => return,
        };
        let Some(cursor) = self.cursors.get(&thread).filter(|cursor| !cursor.lost) else { return };
        let node = &mut self.tree.nodes[cursor.node as usize];
        node.code = code;
        node.ask.get_or_insert(ask);
    }

    pub(super) fn blocked(&mut self, thread: ThreadId, code: Code, on: BlockedOn, object: ObjectId) {
        let ask = match on {
            BlockedOn::LockExclusive | BlockedOn::LockShared => {
                let mode = if on == BlockedOn::LockShared { LockMode::Shared } else { LockMode::Exclusive };
                Request::Acquire { lock: self.object(thread, object), mode, tried: false }
            }
            BlockedOn::Semaphore => Request::Take { semaphore: self.object(thread, object), tried: false },
            BlockedOn::Join => match self.cursors.get(&ThreadId(object.0 as u32)) {
                Some(child) => Request::Join { child: child.who, tried: false },
                None => return,
            },
            BlockedOn::Once => Request::Once { object: self.object(thread, object) },
            BlockedOn::Sleep => return self.local(thread),
            BlockedOn::Notify | BlockedOn::Barrier => return,
            BlockedOn::Futex | BlockedOn::Descriptor | BlockedOn::Signal => {
                self.tree.doubts.outside = true;
                return self.local(thread);
            }
        };
        if let Some(cursor) = self.cursors.get_mut(&thread) {
            cursor.blocked = Some((ask, code));
        }
    }
}

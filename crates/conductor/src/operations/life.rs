//! The life of threads and objects: joining, creating, destroying.

use super::{Deadline, Wakeup};
use crate::token::Token;
use crate::world::World;
use reweave_model::{BlockedOn, Misuse, ObjectId, ObjectKind, Op, RefusedWhy, ThreadId};

impl<W: World> Token<'_, W> {
    /// Waits for the end of another thread.
    pub fn join(&mut self, pc: u64, child: u32, deadline: Deadline) -> Wakeup {
        self.sync_point();
        let (object, on) = (ObjectId(child.into()), BlockedOn::Join);
        let mut said = false;
        loop {
            if !self.is_alive(child) {
                if self.is_interrupted() {
                    return Wakeup::Interrupted;
                }
                break;
            }
            if deadline == Deadline::Now {
                self.refuse(pc, on, object, RefusedWhy::Busy);
                return Wakeup::TimedOut;
            }
            self.say_blocked(&mut said, pc, on, object);
            let wakeup = self.block_interruptibly(on, child.into(), deadline);
            if wakeup != Wakeup::Granted {
                if wakeup == Wakeup::TimedOut {
                    self.refuse_late(pc, on, object, wakeup);
                }
                return wakeup;
            }
        }
        self.point();
        self.step(pc, Op::Join { child: ThreadId(child) });
        Wakeup::Granted
    }

    pub fn is_alive(&self, id: u32) -> bool {
        self.conductor().is_alive(id)
    }

    pub fn create(&mut self, pc: u64, object: u64, kind: ObjectKind, value: u32) {
        self.sync_point();
        self.forget(object, kind);
        match kind {
            ObjectKind::Barrier => self.objects().barriers.entry(object).or_default().count = value,
            ObjectKind::Semaphore => self.objects().semaphores.entry(object).or_default().value = value,
            _ => {}
        }
        self.step(pc, Op::Create { object: ObjectId(object), kind, value });
        let (_, state, me) = self.parts();
        state.policy.creates(me.into(), object);
    }

    /// Destroys an object; one that is still held or waited on is misuse and stays. Barriers and semaphores go on as
    /// they were for whoever uses them all the same, until their memory is something else.
    pub fn destroy(&mut self, pc: u64, object: u64, kind: ObjectKind) -> Result<(), Misuse> {
        self.object_point(pc, object);
        if self.is_in_use(object, kind) {
            let what = Misuse::DestroyHeld;
            self.step(pc, Op::Misused { what, object: ObjectId(object) });
            return Err(what);
        }
        if !matches!(kind, ObjectKind::Barrier | ObjectKind::Semaphore) {
            self.forget(object, kind);
        }
        self.step(pc, Op::Destroy { object: ObjectId(object), kind });
        Ok(())
    }

    /// Whether somebody holds it, or waits and nobody has woken him yet.
    fn is_in_use(&mut self, object: u64, kind: ObjectKind) -> bool {
        let (conductor, state, _) = self.parts();
        let objects = &state.objects;
        match kind {
            ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock => {
                objects.locks.get(object).is_some_and(|lock| lock.held())
            }
            ObjectKind::Condition => {
                let waiters = objects.conditions.get(object).map_or(&[][..], |condition| &condition.waiters);
                let threads = conductor.threads.lock();
                // One that was cancelled in the middle of its wait may be gone.
                waiters.iter().any(|&waiter| threads.get(waiter).is_some_and(|waiter| !waiter.wait.woken.get()))
            }
            ObjectKind::Barrier => objects.barriers.get(&object).is_some_and(|barrier| !barrier.arrived.is_empty()),
            ObjectKind::Semaphore | ObjectKind::Once | ObjectKind::Channel => false,
        }
    }

    fn forget(&mut self, object: u64, kind: ObjectKind) {
        let objects = self.objects();
        match kind {
            ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock => objects.locks.remove(object),
            ObjectKind::Condition => objects.conditions.remove(object),
            ObjectKind::Barrier => drop(objects.barriers.remove(&object)),
            ObjectKind::Semaphore => drop(objects.semaphores.remove(&object)),
            ObjectKind::Once => drop(objects.onces.remove(&object)),
            ObjectKind::Channel => drop(objects.channels.remove(&object)),
        }
    }
}

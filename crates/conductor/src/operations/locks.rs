//! Locks: exclusive and shared, and what is wrong with how they are used.

use super::{Deadline, Wakeup};
use crate::objects::Taken;
use crate::policy::Runner;
use crate::thread::NO_THREAD;
use crate::token::Token;
use crate::world::World;
use reweave_model::{BlockedOn, LockMode, Misuse, ObjectId, Op, RefusedWhy};

impl<W: World> Token<'_, W> {
    /// Takes a lock. Interruptions that come meanwhile are delivered; the wait then goes on.
    pub fn acquire(&mut self, pc: u64, lock: u64, mode: LockMode, deadline: Deadline) -> Result<(), RefusedWhy> {
        self.object_point(pc, lock);
        let object = ObjectId(lock);
        let on = if mode == LockMode::Exclusive { BlockedOn::LockExclusive } else { BlockedOn::LockShared };
        let tried = deadline != Deadline::Never;
        let mut said = false;
        loop {
            // Interruptions are rare: otherwise the lock is looked up once.
            if self.may_be_interrupted() && self.objects().locks.at(lock).is_free(mode) && self.is_interrupted() {
                W::deliver(self);
                continue;
            }
            let id = self.id();
            match self.objects().locks.at(lock).take(mode, id) {
                Taken::Yes => {
                    self.step(pc, Op::Acquire { object, mode, tried });
                    let (_, state, me) = self.parts();
                    state.policy.takes(me.into(), lock, pc);
                    return Ok(());
                }
                Taken::OnceMore => return Ok(()),
                Taken::No => {}
            }
            if deadline == Deadline::Now {
                self.refuse(pc, on, object, RefusedWhy::Busy);
                return Err(RefusedWhy::Busy);
            }
            self.say_blocked(&mut said, pc, on, object);
            self.me().wait.interruptible.set(false);
            match self.block(on, lock, deadline) {
                Wakeup::Granted | Wakeup::Cancelled => {}
                Wakeup::Interrupted => W::deliver(self),
                Wakeup::TimedOut => {
                    self.refuse_late(pc, on, object, Wakeup::TimedOut);
                    return Err(RefusedWhy::TimedOut);
                }
            }
        }
    }

    /// Takes a lock that nobody holds, without asking anybody. `tried`: it would not have waited for ever.
    pub fn seize(&mut self, pc: u64, lock: u64, tried: bool) {
        let id = self.id();
        let state = self.objects().locks.at(lock);
        (state.owner, state.depth) = (id, 1);
        self.step(pc, Op::Acquire { object: ObjectId(lock), mode: LockMode::Exclusive, tried });
    }

    /// Who holds the lock exclusively.
    pub fn owner(&self, lock: u64) -> u32 {
        self.state().objects.locks.get(lock).map_or(NO_THREAD, |l| l.owner)
    }

    /// One more level of a recursive lock the thread already holds; only the outermost is recorded.
    pub fn reenter(&mut self, lock: u64) {
        if let Some(state) = self.objects().locks.get_mut(lock) {
            state.depth += 1;
        }
    }

    /// Gives a lock back. Unlocking what one does not hold is recorded as misuse and returned.
    pub fn release(&mut self, pc: u64, lock: u64) -> Result<(), Misuse> {
        let id = self.id();
        let Some(state) = self.objects().locks.get_mut(lock) else {
            return Err(self.misused(pc, Misuse::UnlockUnlocked, lock));
        };
        let mode = if state.owner == id {
            if state.depth > 1 {
                state.depth -= 1;
                return Ok(());
            }
            LockMode::Exclusive
        } else if let Some(i) = state.readers.iter().position(|(reader, _)| *reader == id) {
            if state.readers[i].1 > 1 {
                state.readers[i].1 -= 1;
                return Ok(());
            }
            LockMode::Shared
        } else {
            let what = if state.held() { Misuse::UnlockByNonOwner } else { Misuse::UnlockUnlocked };
            return Err(self.misused(pc, what, lock));
        };
        self.object_point(pc, lock);
        self.free_lock(lock, mode);
        let (_, state, me) = self.parts();
        state.policy.gives(Runner::from(me), lock);
        self.step(pc, Op::Release { object: ObjectId(lock), mode });
        Ok(())
    }

    /// Frees a lock that this thread holds, without recording it.
    pub(super) fn free_lock(&mut self, lock: u64, mode: LockMode) {
        let id = self.id();
        let Some(state) = self.objects().locks.get_mut(lock) else { return };
        match mode {
            LockMode::Exclusive => (state.owner, state.depth) = (NO_THREAD, 0),
            LockMode::Shared => state.readers.retain(|(reader, _)| *reader != id),
        }
    }

    /// Frees a lock whoever holds it: what some libraries do when another thread unlocks it.
    pub fn force_release(&mut self, lock: u64) {
        self.objects().locks.remove(lock);
    }

    pub fn misused(&mut self, pc: u64, what: Misuse, object: u64) -> Misuse {
        self.sync_point();
        self.step(pc, Op::Misused { what, object: ObjectId(object) });
        what
    }
}

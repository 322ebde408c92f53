//! Conditions, barriers, semaphores, one-time initialisation, and sleeps.

use super::{Deadline, Wakeup};
use crate::conductor::Conductor;
use crate::table::Threads;
use crate::token::Token;
use crate::world::World;
use reweave_model::{BlockedOn, LockMode, ObjectId, Op, RefusedWhy, WakeReason};

impl<W: World> Token<'_, W> {
    /// Releases `mutex`, waits on `condition`, takes `mutex` back.
    pub fn wait(&mut self, pc: u64, condition: u64, mutex: u64, deadline: Deadline) -> WakeReason {
        self.wait_letting_go(pc, condition, mutex, deadline, |_| ())
    }

    /// As [`Token::wait`]; `let_go` runs when others have had their turn before this wait, and nobody comes between it
    /// and the wait.
    pub fn wait_letting_go(
        &mut self,
        pc: u64,
        condition: u64,
        mutex: u64,
        deadline: Deadline,
        let_go: impl FnOnce(&mut Self),
    ) -> WakeReason {
        self.object_point(pc, condition);
        let_go(self);
        let depth = self.objects().locks.get(mutex).map_or(1, |l| l.depth);
        self.free_lock(mutex, LockMode::Exclusive);
        let id = self.id();
        self.objects().conditions.at(condition).waiters.push(id);
        let (condition_id, mutex_id) = (ObjectId(condition), ObjectId(mutex));
        let timed = deadline != Deadline::Never;
        self.step(pc, Op::Wait { condition: condition_id, mutex: mutex_id, timed });
        self.expect_notify();
        self.me().wait.second.set(mutex);
        self.me().wait.interruptible.set(true);
        let reason = loop {
            match self.block(BlockedOn::Notify, condition, deadline) {
                Wakeup::Granted => break WakeReason::Notified,
                Wakeup::TimedOut => break WakeReason::TimedOut,
                Wakeup::Cancelled => break WakeReason::Cancelled,
                Wakeup::Interrupted => W::deliver(self),
            }
        };
        self.me().wait.interruptible.set(false);
        self.me().wait.second.set(0);
        if let Some(condition) = self.objects().conditions.get_mut(condition) {
            condition.waiters.retain(|&waiter| waiter != id);
        }
        let state = self.objects().locks.at(mutex);
        (state.owner, state.depth) = (id, depth.max(1));
        let notify = self.me().wait.notify.get();
        self.step(pc, Op::Woken { condition: condition_id, mutex: mutex_id, reason, notify });
        reason
    }

    /// Before a wait that a notify ends.
    pub fn expect_notify(&mut self) {
        self.me().wait.woken.set(false);
        self.me().wait.notify.set(0);
    }

    /// Wakes one waiter (the longest waiting) or all.
    pub fn notify(&mut self, pc: u64, condition: u64, all: bool) {
        self.object_point(pc, condition);
        let (conductor, state, _) = self.parts();
        let waiters = state.objects.conditions.get_mut(condition).map(|condition| &mut condition.waiters);
        let most = if all { u32::MAX } else { 1 };
        let (notify, woken) = wake_some(&conductor.threads.lock(), &mut state.notifies, waiters, most);
        self.step(pc, Op::Notify { condition: ObjectId(condition), all, notify, woken });
    }

    /// Wakes up to `most` of the threads in a list of the front end's own, those first that came first, and takes them
    /// out of it; returns the number of this notify and how many it woke.
    pub fn wake_waiters(&mut self, waiters: Option<&mut Vec<u32>>, most: u32) -> (u32, u32) {
        let (conductor, state, _) = self.parts();
        wake_some(&conductor.threads.lock(), &mut state.notifies, waiters, most)
    }

    /// Returns whether this thread is the one that gets the serial return.
    pub fn barrier(&mut self, pc: u64, barrier: u64) -> bool {
        self.object_point(pc, barrier);
        let id = ObjectId(barrier);
        let (conductor, state, me) = self.parts();
        let row = state.objects.barriers.entry(barrier).or_default();
        let count = row.count;
        row.arrived.push(me.id);
        let full = row.arrived.len() as u32 >= count;
        me.wait.woken.set(false);
        if full {
            wake_all(conductor, std::mem::take(&mut row.arrived));
        }
        self.step(pc, Op::BarrierArrive { barrier: id, count });
        while !self.me().wait.woken.get() {
            self.me().wait.interruptible.set(false);
            if self.block(BlockedOn::Barrier, barrier, Deadline::Never) == Wakeup::Interrupted {
                W::deliver(self);
            }
        }
        self.point();
        self.step(pc, Op::BarrierLeave { barrier: id, serial: full });
        full
    }

    pub fn semaphore_post(&mut self, pc: u64, semaphore: u64) {
        self.object_point(pc, semaphore);
        let state = self.objects().semaphores.entry(semaphore).or_default();
        state.value += 1;
        let value = state.value;
        self.step(pc, Op::SemaphorePost { semaphore: ObjectId(semaphore), value });
    }

    /// Takes one, or says why not. Interrupted and cancelled waits return to the caller.
    pub fn semaphore_take(&mut self, pc: u64, semaphore: u64, deadline: Deadline) -> Wakeup {
        self.object_point(pc, semaphore);
        let (object, on) = (ObjectId(semaphore), BlockedOn::Semaphore);
        let mut said = false;
        loop {
            let state = self.objects().semaphores.entry(semaphore).or_default();
            if state.value > 0 {
                state.value -= 1;
                let (value, tried) = (state.value, deadline != Deadline::Never);
                self.step(pc, Op::SemaphoreTake { semaphore: object, value, tried });
                return Wakeup::Granted;
            }
            if deadline == Deadline::Now {
                self.refuse(pc, on, object, RefusedWhy::Busy);
                return Wakeup::TimedOut;
            }
            self.say_blocked(&mut said, pc, on, object);
            let wakeup = self.block_interruptibly(on, semaphore, deadline);
            if wakeup != Wakeup::Granted {
                self.refuse_late(pc, on, object, wakeup);
                return wakeup;
            }
        }
    }

    /// True: this thread must run the initialiser and call [`Self::once_end`]. False: it is done.
    pub fn once_begin(&mut self, pc: u64, once: u64) -> bool {
        self.sync_point();
        let (object, id) = (ObjectId(once), self.id());
        let mut said = false;
        loop {
            let state = self.objects().onces.entry(once).or_default();
            if state.done {
                self.step(pc, Op::OnceDone { object });
                return false;
            }
            if state.runner.is_none() {
                state.runner = Some(id);
                self.step(pc, Op::OnceBegin { object });
                return true;
            }
            self.say_blocked(&mut said, pc, BlockedOn::Once, object);
            if self.block(BlockedOn::Once, once, Deadline::Never) == Wakeup::Interrupted {
                W::deliver(self);
            }
        }
    }

    /// `done`: the initialiser returned; otherwise it was left by an exception and another thread may try.
    pub fn once_end(&mut self, pc: u64, once: u64, done: bool) {
        self.sync_point();
        let state = self.objects().onces.entry(once).or_default();
        (state.done, state.runner) = (done, None);
        self.step(pc, Op::OnceEnd { object: ObjectId(once) });
    }

    /// Sleeps in virtual time.
    pub fn sleep(&mut self, pc: u64, until: u64) -> Wakeup {
        self.sync_point();
        self.step(pc, Op::Blocked { on: BlockedOn::Sleep, object: ObjectId(0) });
        self.block_interruptibly(BlockedOn::Sleep, 0, Deadline::At(until))
    }

    /// Waits for an interruption that is handled; never granted. What came before the wait began does not end it;
    /// `let_in` runs right before, and what it lets in does.
    pub fn await_interrupt(&mut self, pc: u64, let_in: impl FnOnce()) -> Wakeup {
        self.sync_point();
        if !self.me().interrupts.is_empty() {
            W::deliver(self);
        }
        let_in();
        self.step(pc, Op::Blocked { on: BlockedOn::Signal, object: ObjectId(0) });
        self.block_interruptibly(BlockedOn::Signal, 0, Deadline::Never)
    }
}

fn wake_all<W: World>(conductor: &Conductor<W>, waiters: Vec<u32>) {
    let threads = conductor.threads.lock();
    waiters.into_iter().filter_map(|id| threads.get(id)).for_each(|waiter| waiter.wait.woken.set(true));
}

fn wake_some<R>(threads: &Threads<R>, notifies: &mut u32, waiters: Option<&mut Vec<u32>>, most: u32) -> (u32, u32) {
    // 0 says that nobody known did it.
    *notifies = notifies.wrapping_add(1).max(1);
    let mut woken = 0;
    if let Some(waiters) = waiters {
        waiters.retain(|&id| {
            // One that was cancelled in the middle of its wait may be gone.
            let Some(waiter) = threads.get(id) else { return false };
            let wakes = woken < most && !waiter.wait.woken.get();
            if wakes {
                waiter.wait.woken.set(true);
                waiter.wait.notify.set(*notifies);
                woken += 1;
            }
            !wakes
        });
    }
    (*notifies, woken)
}

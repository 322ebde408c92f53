//! What threads do to objects. Every function is called by the holder of the token and returns with it; each records
//! the steps it takes.

use crate::conductor::{Conductor, Pause};
use crate::policy::replay::Waited;
use crate::policy::{Next, Runner};
use crate::table::Threads;
use crate::thread::{NEVER, NO_THREAD, Status, Thread};
use reweave_model::{
    BlockedOn, InputSource, LockMode, Misuse, ObjectId, ObjectKind, Op, RefusedWhy, ThreadId, WakeReason,
};

/// How long an operation may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deadline {
    Never,
    /// Not at all: a try.
    Now,
    /// Until this virtual time.
    At(u64),
}

impl Deadline {
    const fn time(self) -> u64 {
        if let Self::At(time) = self { time } else { NEVER }
    }
}

/// Why a blocked thread runs again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wakeup {
    Granted,
    TimedOut,
    /// A signal is to be delivered; wait again afterwards or give up, as the operation wants.
    Signalled,
    Cancelled,
}

impl Conductor {
    /// Blocks until the wait is over, one way or another. Records nothing.
    pub fn block(&mut self, thread: &mut Thread, on: BlockedOn, object: u64, deadline: Deadline) -> Wakeup {
        thread.on = on;
        thread.object = object;
        thread.deadline = deadline.time();
        thread.status = Status::Blocked;
        self.pause(thread, Pause::Stop);
        // `grant` made it Ready; ask again what it was.
        let wakeup = if thread.signals.bits() & thread.ordered != 0 {
            // Even if what it waits for has come as well.
            Wakeup::Signalled
        } else if self.granted(thread) {
            Wakeup::Granted
        } else if !thread.signals.is_empty() {
            Wakeup::Signalled
        } else if thread.cancellable() {
            Wakeup::Cancelled
        } else {
            Wakeup::TimedOut
        };
        thread.deadline = NEVER;
        if wakeup != Wakeup::Signalled {
            self.timers.idle = 0;
        }
        wakeup
    }

    /// Takes a lock. `on_signal` runs pending handlers; the wait then goes on.
    pub fn acquire(
        &mut self,
        thread: &mut Thread,
        pc: u64,
        lock: u64,
        mode: LockMode,
        deadline: Deadline,
        on_signal: fn(&mut Thread),
    ) -> Result<(), RefusedWhy> {
        thread.next = Next::object(pc, lock);
        self.sync_point(thread);
        let object = ObjectId(lock);
        let on = if mode == LockMode::Exclusive { BlockedOn::LockExclusive } else { BlockedOn::LockShared };
        let tried = deadline != Deadline::Never;
        let mut said = false;
        loop {
            let state = self.objects.locks.at(lock);
            let free = if mode == LockMode::Exclusive { state.free_for_writer() } else { state.free_for_reader() };
            if free && self.is_interrupted(thread) {
                on_signal(thread);
                continue;
            }
            if free {
                let state = self.objects.locks.at(lock);
                match mode {
                    LockMode::Exclusive => (state.owner, state.depth) = (thread.id, 1),
                    LockMode::Shared => match state.readers.iter_mut().find(|(id, _)| *id == thread.id) {
                        Some((_, times)) => {
                            *times += 1;
                            return Ok(());
                        }
                        None => state.readers.push((thread.id, 1)),
                    },
                }
                self.step(thread, pc, Op::Acquire { object, mode, tried });
                self.policy.takes(thread.into(), lock, pc);
                return Ok(());
            }
            if deadline == Deadline::Now {
                self.step(thread, pc, Op::Refused { object, on, why: RefusedWhy::Busy });
                return Err(RefusedWhy::Busy);
            }
            if !said {
                said = true;
                self.step(thread, pc, Op::Blocked { on, object });
            }
            thread.interruptible = false;
            match self.block(thread, on, lock, deadline) {
                Wakeup::Granted | Wakeup::Cancelled => {}
                Wakeup::Signalled => on_signal(thread),
                Wakeup::TimedOut => {
                    self.point(thread);
                    self.step(thread, pc, Op::Refused { object, on, why: RefusedWhy::TimedOut });
                    return Err(RefusedWhy::TimedOut);
                }
            }
        }
    }

    /// Takes a lock that nobody holds, without asking anybody.
    pub fn seize(&mut self, thread: &mut Thread, pc: u64, lock: u64) {
        let state = self.objects.locks.at(lock);
        (state.owner, state.depth) = (thread.id, 1);
        self.step(thread, pc, Op::Acquire { object: ObjectId(lock), mode: LockMode::Exclusive, tried: false });
    }

    /// Who holds the lock exclusively.
    pub fn owner(&self, lock: u64) -> u32 {
        self.objects.locks.get(lock).map_or(NO_THREAD, |l| l.owner)
    }

    /// One more level of a recursive lock the thread already holds; only the outermost is recorded.
    pub fn reenter(&mut self, lock: u64) {
        if let Some(state) = self.objects.locks.get_mut(lock) {
            state.depth += 1;
        }
    }

    /// Gives a lock back. Unlocking what one does not hold is recorded as misuse and returned.
    pub fn release(&mut self, thread: &mut Thread, pc: u64, lock: u64) -> Result<(), Misuse> {
        let id = thread.id;
        let Some(state) = self.objects.locks.get_mut(lock) else {
            return Err(self.misused(thread, pc, Misuse::UnlockUnlocked, lock));
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
            return Err(self.misused(thread, pc, what, lock));
        };
        thread.next = Next::object(pc, lock);
        self.sync_point(thread);
        self.free_lock(lock, id, mode);
        self.policy.gives(Runner::from(&mut *thread), lock);
        self.step(thread, pc, Op::Release { object: ObjectId(lock), mode });
        Ok(())
    }

    fn free_lock(&mut self, lock: u64, id: u32, mode: LockMode) {
        let Some(state) = self.objects.locks.get_mut(lock) else { return };
        match mode {
            LockMode::Exclusive => (state.owner, state.depth) = (NO_THREAD, 0),
            LockMode::Shared => state.readers.retain(|(reader, _)| *reader != id),
        }
    }

    /// Frees a lock whoever holds it: what libc does when another thread unlocks a normal mutex.
    pub fn force_release(&mut self, lock: u64) {
        self.objects.locks.remove(lock);
    }

    pub fn misused(&mut self, thread: &mut Thread, pc: u64, what: Misuse, object: u64) -> Misuse {
        self.sync_point(thread);
        self.step(thread, pc, Op::Misused { what, object: ObjectId(object) });
        what
    }

    /// Releases `mutex`, waits on `condition`, takes `mutex` back.
    pub fn wait(
        &mut self,
        thread: &mut Thread,
        pc: u64,
        condition: u64,
        mutex: u64,
        deadline: Deadline,
        on_signal: fn(&mut Thread),
    ) -> WakeReason {
        thread.next = Next::object(pc, condition);
        self.sync_point(thread);
        let depth = self.objects.locks.get(mutex).map_or(1, |l| l.depth);
        self.free_lock(mutex, thread.id, LockMode::Exclusive);
        self.objects.conditions.at(condition).waiters.push(thread.id);
        let (condition_id, mutex_id) = (ObjectId(condition), ObjectId(mutex));
        let timed = deadline != Deadline::Never;
        self.step(thread, pc, Op::Wait { condition: condition_id, mutex: mutex_id, timed });
        thread.woken = false;
        thread.notify = 0;
        thread.second = mutex;
        thread.interruptible = true;
        let reason = loop {
            match self.block(thread, BlockedOn::Notify, condition, deadline) {
                Wakeup::Granted => break WakeReason::Notified,
                Wakeup::TimedOut => break WakeReason::TimedOut,
                Wakeup::Cancelled => break WakeReason::Cancelled,
                Wakeup::Signalled => on_signal(thread),
            }
        };
        thread.interruptible = false;
        thread.second = 0;
        if let Some(condition) = self.objects.conditions.get_mut(condition) {
            condition.waiters.retain(|&id| id != thread.id);
        }
        let state = self.objects.locks.at(mutex);
        (state.owner, state.depth) = (thread.id, depth.max(1));
        let notify = thread.notify;
        self.step(thread, pc, Op::Woken { condition: condition_id, mutex: mutex_id, reason, notify });
        reason
    }

    /// Wakes one waiter (the longest waiting) or all.
    pub fn notify(&mut self, thread: &mut Thread, pc: u64, condition: u64, all: bool) {
        thread.next = Next::object(pc, condition);
        self.sync_point(thread);
        let waiters = self.objects.conditions.get_mut(condition).map(|condition| &mut condition.waiters);
        let (notify, woken) = wake_some(&self.threads, &mut self.notifies, waiters, if all { u32::MAX } else { 1 });
        self.step(thread, pc, Op::Notify { condition: ObjectId(condition), all, notify, woken });
    }

    /// Returns whether this thread is the one that gets the serial return.
    pub fn barrier(&mut self, thread: &mut Thread, pc: u64, barrier: u64, on_signal: fn(&mut Thread)) -> bool {
        thread.next = Next::object(pc, barrier);
        self.sync_point(thread);
        let id = ObjectId(barrier);
        let state = self.objects.barriers.entry(barrier).or_default();
        let count = state.count;
        state.arrived.push(thread.id);
        let full = state.arrived.len() as u32 >= count;
        thread.woken = false;
        if full {
            for other in std::mem::take(&mut state.arrived) {
                self.threads.get(other).into_iter().for_each(|other| other.woken = true);
            }
        }
        self.step(thread, pc, Op::BarrierArrive { barrier: id, count });
        while !thread.woken {
            thread.interruptible = false;
            if self.block(thread, BlockedOn::Barrier, barrier, Deadline::Never) == Wakeup::Signalled {
                on_signal(thread);
            }
        }
        self.point(thread);
        self.step(thread, pc, Op::BarrierLeave { barrier: id, serial: full });
        full
    }

    pub fn semaphore_post(&mut self, thread: &mut Thread, pc: u64, semaphore: u64) {
        thread.next = Next::object(pc, semaphore);
        self.sync_point(thread);
        let state = self.objects.semaphores.entry(semaphore).or_default();
        state.value += 1;
        let value = state.value;
        self.step(thread, pc, Op::SemaphorePost { semaphore: ObjectId(semaphore), value });
    }

    /// Takes one, or says why not. Interrupted and cancelled waits return to the caller.
    pub fn semaphore_take(&mut self, thread: &mut Thread, pc: u64, semaphore: u64, deadline: Deadline) -> Wakeup {
        thread.next = Next::object(pc, semaphore);
        self.sync_point(thread);
        let (object, on) = (ObjectId(semaphore), BlockedOn::Semaphore);
        let mut said = false;
        loop {
            let state = self.objects.semaphores.entry(semaphore).or_default();
            if state.value > 0 {
                state.value -= 1;
                let value = state.value;
                self.step(
                    thread,
                    pc,
                    Op::SemaphoreTake { semaphore: object, value, tried: deadline != Deadline::Never },
                );
                return Wakeup::Granted;
            }
            if deadline == Deadline::Now {
                self.step(thread, pc, Op::Refused { object, on, why: RefusedWhy::Busy });
                return Wakeup::TimedOut;
            }
            if !said {
                said = true;
                self.step(thread, pc, Op::Blocked { on, object });
            }
            thread.interruptible = true;
            let wakeup = self.block(thread, on, semaphore, deadline);
            thread.interruptible = false;
            if wakeup != Wakeup::Granted {
                self.point(thread);
                let why = if wakeup == Wakeup::TimedOut { RefusedWhy::TimedOut } else { RefusedWhy::Interrupted };
                self.step(thread, pc, Op::Refused { object, on, why });
                return wakeup;
            }
        }
    }

    /// True: this thread must run the initialiser and call [`Self::once_end`]. False: it is done.
    pub fn once_begin(&mut self, thread: &mut Thread, pc: u64, once: u64, on_signal: fn(&mut Thread)) -> bool {
        self.sync_point(thread);
        let object = ObjectId(once);
        let mut said = false;
        loop {
            let state = self.objects.onces.entry(once).or_default();
            if state.done {
                self.step(thread, pc, Op::OnceDone { object });
                return false;
            }
            if state.runner.is_none() {
                state.runner = Some(thread.id);
                self.step(thread, pc, Op::OnceBegin { object });
                return true;
            }
            if !said {
                said = true;
                self.step(thread, pc, Op::Blocked { on: BlockedOn::Once, object });
            }
            if self.block(thread, BlockedOn::Once, once, Deadline::Never) == Wakeup::Signalled {
                on_signal(thread);
            }
        }
    }

    /// `done`: the initialiser returned; otherwise it was left by an exception and another thread may try.
    pub fn once_end(&mut self, thread: &mut Thread, pc: u64, once: u64, done: bool) {
        self.sync_point(thread);
        let state = self.objects.onces.entry(once).or_default();
        (state.done, state.runner) = (done, None);
        self.step(thread, pc, Op::OnceEnd { object: ObjectId(once) });
    }

    /// Waits on a futex word that the caller has just seen to hold `value`.
    pub fn futex_wait(&mut self, thread: &mut Thread, pc: u64, word: u64, value: u32, deadline: Deadline) -> Wakeup {
        let object = ObjectId(word);
        thread.woken = false;
        thread.second = value.into();
        self.objects.futexes.at(word).waiters.push(thread.id);
        self.step(thread, pc, Op::Blocked { on: BlockedOn::Futex, object });
        thread.interruptible = true;
        let wakeup = self.block(thread, BlockedOn::Futex, word, deadline);
        thread.interruptible = false;
        if let Some(word) = self.objects.futexes.get_mut(word) {
            word.waiters.retain(|&id| id != thread.id);
        }
        self.point(thread);
        if wakeup == Wakeup::Granted {
            let notify = thread.notify;
            // Without a number: a stranger or the kernel woke it.
            let reason = if notify == 0 { WakeReason::Spurious } else { WakeReason::Notified };
            self.step(thread, pc, Op::Woken { condition: object, mutex: ObjectId(0), reason, notify });
        } else {
            let why = if wakeup == Wakeup::TimedOut { RefusedWhy::TimedOut } else { RefusedWhy::Interrupted };
            self.step(thread, pc, Op::Refused { object, on: BlockedOn::Futex, why });
        }
        wakeup
    }

    /// Wakes up to `count` threads that wait on a futex word; returns how many.
    pub fn futex_wake(&mut self, thread: &mut Thread, pc: u64, word: u64, count: u32) -> u32 {
        self.sync_point(thread);
        let waiters = self.objects.futexes.get_mut(word).map(|word| &mut word.waiters);
        let (notify, woken) = wake_some(&self.threads, &mut self.notifies, waiters, count);
        self.step(thread, pc, Op::Notify { condition: ObjectId(word), all: count > 1, notify, woken });
        woken
    }

    /// Waits for the end of another thread.
    pub fn join(&mut self, thread: &mut Thread, pc: u64, child: u32, deadline: Deadline) -> Wakeup {
        self.sync_point(thread);
        let mut said = false;
        loop {
            if !self.is_alive(child) {
                if self.is_interrupted(thread) {
                    return Wakeup::Signalled;
                }
                break;
            }
            if deadline == Deadline::Now {
                let (object, on, why) = (ObjectId(child.into()), BlockedOn::Join, RefusedWhy::Busy);
                self.step(thread, pc, Op::Refused { object, on, why });
                return Wakeup::TimedOut;
            }
            if !said {
                said = true;
                self.step(thread, pc, Op::Blocked { on: BlockedOn::Join, object: ObjectId(child.into()) });
            }
            thread.interruptible = true;
            let wakeup = self.block(thread, BlockedOn::Join, child.into(), deadline);
            thread.interruptible = false;
            if wakeup != Wakeup::Granted {
                if wakeup == Wakeup::TimedOut {
                    self.point(thread);
                    let (object, on, why) = (ObjectId(child.into()), BlockedOn::Join, RefusedWhy::TimedOut);
                    self.step(thread, pc, Op::Refused { object, on, why });
                }
                return wakeup;
            }
        }
        self.point(thread);
        self.step(thread, pc, Op::Join { child: ThreadId(child) });
        Wakeup::Granted
    }

    /// Sleeps in virtual time.
    pub fn sleep(&mut self, thread: &mut Thread, pc: u64, until: u64) -> Wakeup {
        self.sync_point(thread);
        self.step(thread, pc, Op::Blocked { on: BlockedOn::Sleep, object: ObjectId(0) });
        thread.interruptible = true;
        let wakeup = self.block(thread, BlockedOn::Sleep, 0, Deadline::At(until));
        thread.interruptible = false;
        wakeup
    }

    /// Waits for a signal that is handled; never granted.
    pub fn await_signal(&mut self, thread: &mut Thread, pc: u64) -> Wakeup {
        self.sync_point(thread);
        self.step(thread, pc, Op::Blocked { on: BlockedOn::Signal, object: ObjectId(0) });
        thread.interruptible = true;
        let wakeup = self.block(thread, BlockedOn::Signal, 0, Deadline::Never);
        thread.interruptible = false;
        wakeup
    }

    pub fn create(&mut self, thread: &mut Thread, pc: u64, object: u64, kind: ObjectKind, value: u32) {
        self.sync_point(thread);
        self.forget(object, kind);
        match kind {
            ObjectKind::Barrier => self.objects.barriers.entry(object).or_default().count = value,
            ObjectKind::Semaphore => self.objects.semaphores.entry(object).or_default().value = value,
            _ => {}
        }
        self.step(thread, pc, Op::Create { object: ObjectId(object), kind, value });
        self.policy.creates(thread.into(), object);
    }

    /// Destroys an object; one that is still held or waited on is misuse and stays. Barriers and semaphores go on as they were
    /// for whoever uses them all the same, as libc's do, until their memory is something else.
    pub fn destroy(&mut self, thread: &mut Thread, pc: u64, object: u64, kind: ObjectKind) -> Result<(), Misuse> {
        thread.next = Next::object(pc, object);
        self.sync_point(thread);
        if self.is_in_use(object, kind) {
            let what = Misuse::DestroyHeld;
            self.step(thread, pc, Op::Misused { what, object: ObjectId(object) });
            return Err(what);
        }
        if !matches!(kind, ObjectKind::Barrier | ObjectKind::Semaphore) {
            self.forget(object, kind);
        }
        self.step(thread, pc, Op::Destroy { object: ObjectId(object), kind });
        Ok(())
    }

    /// Whether somebody holds it, or waits and nobody has woken him yet.
    fn is_in_use(&self, object: u64, kind: ObjectKind) -> bool {
        match kind {
            ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock => {
                self.objects.locks.get(object).is_some_and(|lock| lock.held())
            }
            ObjectKind::Condition => {
                let waiters = self.objects.conditions.get(object).map_or(&[][..], |condition| &condition.waiters);
                // One that was cancelled in the middle of its wait may be gone.
                waiters.iter().any(|&waiter| self.threads.get(waiter).is_some_and(|waiter| !waiter.woken))
            }
            ObjectKind::Barrier => {
                self.objects.barriers.get(&object).is_some_and(|barrier| !barrier.arrived.is_empty())
            }
            ObjectKind::Semaphore | ObjectKind::Once | ObjectKind::Channel => false,
        }
    }

    fn forget(&mut self, object: u64, kind: ObjectKind) {
        match kind {
            ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock => self.objects.locks.remove(object),
            ObjectKind::Condition => self.objects.conditions.remove(object),
            ObjectKind::Barrier => drop(self.objects.barriers.remove(&object)),
            ObjectKind::Semaphore => drop(self.objects.semaphores.remove(&object)),
            ObjectKind::Once => drop(self.objects.onces.remove(&object)),
            ObjectKind::Channel => drop(self.objects.channels.remove(&object)),
        }
    }

    pub fn send(&mut self, thread: &mut Thread, pc: u64, channel: u64, size: u64) {
        self.sync_point(thread);
        let (sent, _) = self.objects.channels.entry(channel).or_default();
        let position = *sent;
        *sent += size;
        self.step(thread, pc, Op::Send { channel: ObjectId(channel), position, size });
    }

    /// Receives `size` bytes, or everything sent so far if that is `None` (an annotation, not a stream).
    pub fn receive(&mut self, thread: &mut Thread, pc: u64, channel: u64, size: Option<u64>) {
        self.sync_point(thread);
        let (sent, received) = self.objects.channels.entry(channel).or_default();
        let (position, size) = match size {
            Some(size) => (*received, size),
            None => (0, *sent),
        };
        *received = position + size;
        self.step(thread, pc, Op::Receive { channel: ObjectId(channel), position, size });
    }

    /// While a recorded run is replayed: the input that this thread got at this point.
    pub fn recorded_input(&mut self, thread: &Thread, source: InputSource) -> Option<(i64, &'static [u8])> {
        self.policy.replay()?.input(thread.scheduled_as, source as u8)
    }

    /// Likewise whether it had to wait for a descriptor.
    pub fn recorded_wait(&mut self, thread: &Thread) -> Option<Waited> {
        self.policy.replay()?.waited(thread.scheduled_as)
    }
}

/// Wakes up to `most` of the threads that wait, those first that came first; returns the number of this notify and how many
/// it woke.
fn wake_some(threads: &Threads, notifies: &mut u32, waiters: Option<&mut Vec<u32>>, most: u32) -> (u32, u32) {
    // 0 says that nobody known did it.
    *notifies = notifies.wrapping_add(1).max(1);
    let mut woken = 0;
    if let Some(waiters) = waiters {
        waiters.retain(|&id| {
            // One that was cancelled in the middle of its wait may be gone.
            let Some(waiter) = threads.get(id) else { return false };
            let wakes = woken < most && !waiter.woken;
            if wakes {
                (waiter.woken, waiter.notify) = (true, *notifies);
                woken += 1;
            }
            !wakes
        });
    }
    (*notifies, woken)
}

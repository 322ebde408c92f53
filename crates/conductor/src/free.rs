//! Threads that run free: for programs that one thread at a time would make too slow.
//!
//! Only synchronization is serialized. A thread takes the token for each operation on an object, for each call that the
//! front end replaces and for each atomic access, and gives it back when the program goes on: from then on it runs
//! [outside](crate::Status::Outside), in parallel with others, and its front end keeps what it accesses in a buffer of
//! its own. With the next token those accesses are recorded first ([`World::catch_up`]), and then the operation.
//!
//! So the trace is a linearisation: operations stand in the order in which they took place, since the token is what
//! numbers them, and the accesses of a thread between two of its operations stand together before the second one. What
//! happens-before, locksets, lock histories and goodlock use, the order within threads and that of synchronization, is
//! exact. Accesses that race may stand in another order than they had: a read is then explained by whatever write of
//! its value stands before it, or by none (an *extern* write, with which nothing is more than potential).
//!
//! Waiting, hangs, interruptions and forks are what they are otherwise. Nothing is decided between two operations of a
//! thread, so a free run has no schedule: the linearisation is one, and the replay says how far it can be followed.

use crate::conductor::Conductor;
use crate::sys;
use crate::thread::{NO_THREAD, Status, Thread};
use crate::token::{Pause, Token};
use crate::world::World;
use std::sync::atomic::Ordering;

/// The token is held for about a microsecond: so often it is worth to look again before sleeping.
const LOOKS: u32 = 200;

impl<W: World> Token<'_, W> {
    /// The program goes on. Where threads run free it does without the token, which must be taken again before anything
    /// else is done with this; otherwise nothing happens.
    #[inline(always)]
    pub fn run_free(&mut self) {
        if self.conductor().is_free() && self.conductor().holder() == self.id() {
            self.step_aside();
        }
    }

    /// Leaves the token to whoever takes it first: to hand it to somebody who sleeps would keep everybody else waiting
    /// until he has woken up.
    pub(crate) fn step_aside(&mut self) {
        self.me().scheduling.status.set(Status::Outside);
        if self.conductor().ticking.load(Ordering::Relaxed) {
            // Somebody has to look after timers.
            return self.pause(Pause::Stop);
        }
        if !self.comes_to_rest(Pause::Stop) {
            return;
        }
        let (conductor, state, me) = self.parts();
        let threads = conductor.threads.lock();
        let header = conductor.header();
        if header.holder.load(Ordering::Acquire) != me.id {
            // The watchdog was faster.
            return;
        }
        let could_go = |thread: &&Thread<W::Row>| thread.id != me.id && state.can_go(&threads, thread);
        // In turn: whoever is woken in vain comes first the next time.
        let later = threads.iter().filter(|thread| thread.id > me.id).find(could_go);
        let next = later.or_else(|| threads.iter().find(could_go)).map(|thread| thread.slot);
        header.waiting.store(next.is_some().into(), Ordering::Relaxed);
        header.holder_os.store(0, Ordering::Relaxed);
        header.holder.store(NO_THREAD, Ordering::Release);
        drop(threads);
        conductor.wake(next);
    }
}

impl<W: World> Conductor<W> {
    /// Takes the token for the calling thread if nobody has it, where threads run free.
    pub(crate) fn barges_in(&self, thread: &Thread<W::Row>) -> bool {
        if !self.is_free() {
            return false;
        }
        let header = self.header();
        for _ in 0..LOOKS {
            if header.holder.load(Ordering::Acquire) != NO_THREAD {
                std::hint::spin_loop();
                continue;
            }
            let threads = self.threads.lock();
            if header.holder.load(Ordering::Acquire) == NO_THREAD {
                if thread.scheduling.os.get() == 0 {
                    thread.scheduling.os.set(sys::thread_id());
                }
                // SAFETY: nobody has the token, whoever had it last has let go of the state before saying so, and
                // nobody can get it while the table is locked.
                unsafe { &mut *self.state.get() }.grant(self, thread, header.quantum.max(1), None);
                header.holder_os.store(thread.scheduling.os.get(), Ordering::Relaxed);
                header.holder.store(thread.id, Ordering::Release);
                drop(threads);
                return true;
            }
        }
        false
    }

    /// Nanoseconds after which a thread that waits looks by itself whether it can go on. Whoever leaves the token wakes
    /// one that can, but nobody is woken for time that passes, and for what the world outside does.
    pub(crate) fn look_again_after(&self, thread: &Thread<W::Row>) -> u64 {
        const MILLISECOND: u64 = 1_000_000;
        if thread.looks_outside() || self.ticking.load(Ordering::Relaxed) {
            MILLISECOND
        } else if self.world.had_unmanaged_threads() {
            50 * MILLISECOND
        } else {
            // Each look costs as much as there are threads.
            2000 * MILLISECOND
        }
    }
}

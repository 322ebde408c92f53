//! Handing the token over: pausing, leaving, ending, and waiting for one's turn.

use crate::conductor::{Conductor, NewThread};
use crate::election::{Elected, Election};
use crate::sys;
use crate::thread::{NO_THREAD, Status, Thread};
use crate::token::{Pause, Token};
use crate::world::World;
use std::sync::atomic::Ordering;

impl<W: World> Token<'_, W> {
    #[cold]
    pub(crate) fn rejoin(&mut self) {
        if !self.conductor().barges_in(self.me()) {
            self.conductor().announce_arrival(self.me());
            self.conductor().await_turn(self.me());
        }
        self.begin_slice();
    }

    /// Lets the scheduler decide; returns when this thread holds the token again, or, if it leaves, at once.
    pub fn pause(&mut self, why: Pause) {
        if !self.comes_to_rest(why) {
            return;
        }
        // A thread that leaves must not stay to wait for others.
        let status = self.me().status();
        let stays = status == Status::Ready || status == Status::Blocked;
        self.pass_on(status, why == Pause::Yield, stays);
        if stays {
            self.conductor().await_turn(self.me());
            self.begin_slice();
        }
    }

    /// Ends the slice, unless the thread is to go on without asking the scheduler.
    pub(crate) fn comes_to_rest(&mut self, why: Pause) -> bool {
        self.fill_pending_write();
        let (conductor, state, me) = self.parts();
        if state.stops_here(me) {
            conductor.world.stop_for_debugger();
        }
        let (budget, after_stop) = (&me.own.budget, &me.slice.after_stop);
        if after_stop.get() > 0 && budget.get() == 0 && why != Pause::Stop {
            // The rest of the slice it was given.
            state.account(me);
            let rest = after_stop.replace(0);
            state.grant(conductor, me, rest, Some(me));
            if why == Pause::Slice {
                return false;
            }
        }
        if let Some(replay) = state.policy.replay() {
            if why == Pause::Yield && replay.following() && budget.get() > 0 {
                // The recorded run decided otherwise.
                return false;
            }
            if why == Pause::Stop {
                replay.stopped_short(me.id, budget.get() + after_stop.replace(0));
            }
            state.note_replay(conductor);
        }
        if why == Pause::Slice && me.scheduling.no_preempt.get() > 0 {
            self.go_on();
            return false;
        }
        self.end_slice();
        let (_, state, me) = self.parts();
        state.account(me);
        true
    }

    /// Elects the next holder and gives it the token. `may_wait`: this thread can wait for the world outside.
    fn pass_on(&mut self, status: Status, yielded: bool, may_wait: bool) {
        let (conductor, id) = (self.conductor(), self.id());
        let mut passed = 0;
        loop {
            let threads = conductor.threads.lock();
            if conductor.header().holder.load(Ordering::Acquire) != id {
                // The watchdog was faster: the token is not ours to give, and whoever took it has said Outside.
                self.me().scheduling.status.set(status);
                conductor.header().waiting.fetch_add(u32::from(status == Status::Ready), Ordering::Relaxed);
                return;
            }
            // SAFETY: this thread holds the token, and no reference into the state is in use.
            let mut election = unsafe { Election::new(conductor, threads) };
            election.time_passes(passed, id);
            let wake = match election.elect(id, yielded, may_wait) {
                Elected::Run(next) => {
                    if next != id && self.me().slice.at_once.get() {
                        election.note_stop(id);
                    }
                    election.hand(Some(next))
                }
                Elected::Nobody => election.hand(None),
                Elected::LookOutside(mut look) => {
                    drop(election);
                    passed = look.wait(conductor);
                    continue;
                }
            };
            drop(election);
            return conductor.wake(wake);
        }
    }

    /// Leaves control: the token goes to another, the thread runs on.
    pub fn leave(mut self) {
        self.step_out();
    }

    pub(crate) fn step_out(&mut self) {
        if self.conductor().is_free() {
            return self.step_aside();
        }
        self.me().scheduling.status.set(Status::Outside);
        self.pause(Pause::Stop);
    }

    /// Runs code without the token; it may block. It gets the front end's part of this thread's row. The token is back
    /// when it returns, or unwinds.
    pub fn outside<T>(&mut self, code: impl FnOnce(&W::Row) -> T) -> T {
        self.step_out();
        let outside = Outside(self);
        code(&outside.0.me().row)
    }

    /// A row for a thread that this one makes. It cannot be chosen before [`Self::make_ready`].
    pub fn register_child(&mut self) -> NewThread<W> {
        let (conductor, state, me) = self.parts();
        let nth = me.scheduling.children.get();
        me.scheduling.children.set(nth + 1);
        let mut threads = conductor.threads.lock();
        let child = NewThread::of(threads.add(conductor.header(), (me.id, nth), W::Row::default()));
        // Not even if the watchdog takes the token from its parent meanwhile.
        child.row().scheduling.status.set(Status::Outside);
        drop(threads);
        if let Some(replay) = state.policy.replay() {
            child.row().replay.scheduled_as.set(replay.index_of(me.replay.scheduled_as.get(), nth));
        }
        // The watchdog must know at once that somebody waits, not only after the next decision.
        conductor.header().waiting.fetch_add(1, Ordering::Relaxed);
        state.timers.idle = 0;
        child
    }

    /// Takes back the row of a child that could not be made. Whoever has the `NewThread` is the only one to begin it,
    /// so nobody will.
    ///
    /// # Panics
    /// If it was registered with another conductor.
    pub fn unregister_child(&mut self, child: NewThread<W>) {
        let id = child.id();
        let mut threads = self.conductor().threads.lock();
        assert_eq!(threads.pointer(id), Some(child.pointer()), "thread {id} is another conductor's");
        let row = threads.strike_off(id);
        drop(threads);
        drop(row);
        let children = &self.me().scheduling.children;
        children.set(children.get() - 1);
    }

    /// From here on a registered child can be chosen.
    pub fn make_ready(&mut self, child: u32) {
        let threads = self.conductor().threads.lock();
        if let Some(child) = threads.get(child) {
            child.scheduling.status.set(Status::Ready);
        }
    }

    /// The last thing a thread does: its row goes with it. What still names it, a join or a handle, needs its number
    /// only.
    pub fn retire(mut self) {
        self.me().scheduling.status.set(Status::Ended);
        self.timers().idle = 0;
        self.comes_to_rest(Pause::Stop);
        let (conductor, id) = (self.conductor(), self.id());
        let mut threads = conductor.threads.lock();
        // In one go: who holds the token is in the table.
        let row = threads.strike_off(id);
        let mut wake = None;
        if conductor.header().holder.load(Ordering::Acquire) == id {
            // SAFETY: this thread holds the token, and no reference into the state is in use.
            let mut election = unsafe { Election::new(conductor, threads) };
            let next = election.elect(id, false, false);
            wake = election.hand(if let Elected::Run(next) = next { Some(next) } else { None });
        } else {
            drop(threads);
        }
        conductor.wake(wake);
        drop(row);
    }
}

impl<W: World> Conductor<W> {
    /// A thread that ran outside says that it wants the token.
    pub(crate) fn announce_arrival(&self, thread: &Thread<W::Row>) {
        let threads = self.threads.lock();
        thread.scheduling.status.set(Status::Ready);
        thread.scheduling.os.set(sys::thread_id());
        self.header().waiting.fetch_add(1, Ordering::Relaxed);
        drop(threads);
        self.kick();
    }

    /// Waits until `thread`, the caller, holds the token. Looks at words that others write, and at nothing else of
    /// theirs.
    pub(crate) fn await_turn(&self, thread: &Thread<W::Row>) {
        let header = self.header();
        let word = &header.wake[thread.slot as usize];
        let mut kicked = false;
        loop {
            let seen = word.load(Ordering::Acquire);
            let holder = header.holder.load(Ordering::Acquire);
            if holder == thread.id {
                return;
            }
            let idle = holder == NO_THREAD;
            if idle && thread.status() == Status::Ready && self.barges_in(thread) {
                return;
            }
            if !thread.interrupts.is_empty() && !kicked {
                kicked = true;
                self.kick();
            } else if header.revoke.load(Ordering::Acquire) != NO_THREAD {
                self.revoke();
            } else if idle || header.give_up.load(Ordering::Relaxed) != 0 {
                // Nobody runs: threads outside may come back, the world outside may change, deadlines pass.
                self.kick();
            } else {
                let look = if self.is_free() { Some(self.look_again_after(thread)) } else { None };
                sys::futex_wait(word, seen, look);
                continue;
            }
            if header.holder.load(Ordering::Acquire) != thread.id {
                let often = thread.looks_outside() || self.ticking.load(Ordering::Relaxed) || !idle;
                let look = match self.is_free() {
                    true => self.look_again_after(thread),
                    false if often => 1_000_000,
                    false => 50_000_000,
                };
                sys::futex_wait(word, seen, Some(look));
            }
        }
    }
}

/// A thread without its token. Dropping it waits for the token.
struct Outside<'t, 'a, W: World>(&'t mut Token<'a, W>);

impl<W: World> Drop for Outside<'_, '_, W> {
    fn drop(&mut self) {
        self.0.rejoin();
    }
}

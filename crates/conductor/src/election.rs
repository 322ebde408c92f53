//! Elections: who runs next, and how the token is handed over, taken from free, or taken away.

use crate::conductor::{Conductor, State};
use crate::policy::{Candidate, Choice, View};
use crate::spin::SpinGuard;
use crate::sys;
use crate::table::Threads;
use crate::thread::{NEVER, NO_THREAD, RecordedWait, Status, Thread};
use crate::timers::IDLE_TICKS;
use crate::world::{ExternalWait, World};
use reweave_model::{BlockedOn, Op};
use std::sync::atomic::Ordering;

/// How long an exact replay waits for a thread that ran on when it was recorded, in nanoseconds.
const PATIENCE: u64 = 1_000_000_000;
/// Real time passes in pieces, so that arrivals are seen: short ones while somebody may come from outside.
const SHORT_LOOK: u64 = 2_000_000;
const LONG_LOOK: u64 = 50_000_000;

/// Whoever decides who runs next: has the table's lock, and holds the token or has found it free.
pub(crate) struct Election<'a, W: World> {
    conductor: &'a Conductor<W>,
    threads: SpinGuard<'a, Threads<W::Row>>,
    state: &'a mut State<W>,
}

pub(crate) enum Elected {
    Run(u32),
    Nobody,
    /// Nobody yet: real time has to pass, without the lock.
    LookOutside(Look),
}

/// What to wait for, and how long.
pub(crate) struct Look {
    waits: Vec<ExternalWait>,
    piece: u64,
    left: u64,
}

impl Look {
    /// Returns how much time has passed, in nanoseconds.
    pub(crate) fn wait<W: World>(&mut self, conductor: &Conductor<W>) -> u64 {
        let before = sys::monotonic_now();
        if self.waits.is_empty() {
            conductor.nap(self.piece);
        } else {
            conductor.world.poll(&mut self.waits, self.piece);
        }
        (sys::monotonic_now() - before).min(self.left)
    }
}

impl<'a, W: World> Election<'a, W> {
    /// # Safety
    /// The caller holds the token, or nobody does, or the holder is stopped where it does not touch the state; and no
    /// other reference into the state is in use.
    pub(crate) unsafe fn new(conductor: &'a Conductor<W>, threads: SpinGuard<'a, Threads<W::Row>>) -> Self {
        // SAFETY: by the contract. Nobody else can get the token while the table is locked.
        Self { conductor, threads, state: unsafe { &mut *conductor.state.get() } }
    }

    /// Real time has passed while the holder looked outside.
    pub(crate) fn time_passes(&mut self, nanoseconds: u64, current: u32) {
        if self.state.clock.is_real() {
            return;
        }
        let now = self.state.decision_time();
        self.state.jump(now + nanoseconds, self.threads.get(current));
    }

    /// The thread makes way right after its last step.
    pub(crate) fn note_stop(&mut self, id: u32) {
        if let Some(thread) = self.threads.get(id) {
            self.state.recorder.event(thread, 0, Op::Stopped);
        }
    }

    /// Real time has passed while nobody held the token.
    fn idle_time_passes(&mut self) {
        let now = sys::monotonic_now();
        let passed = now - self.threads.idle_since.min(now);
        self.threads.idle_since = now;
        self.time_passes(passed, NO_THREAD);
    }

    /// Picks the next holder. `may_wait`: the caller is the outgoing holder and can wait for the world outside.
    pub(crate) fn elect(&mut self, current: u32, yielded: bool, may_wait: bool) -> Elected {
        let world = &self.conductor.world;
        loop {
            self.look_up_newcomers();
            self.answer_external_waits();
            if world.had_unmanaged_threads() {
                world.end_waits_unseen(&self.threads);
            }
            let now = self.state.decision_time();
            self.state.fire_timers(self.conductor, &self.threads, now);
            match self.choose(current, yielded) {
                Choice::Run { thread, steps } => {
                    if self.let_run(thread, steps, current) {
                        return Elected::Run(thread);
                    }
                }
                Choice::WaitFor { thread } => {
                    if let Some(row) = self.threads.get(thread)
                        && row.status() == Status::Outside
                        && row.replay.interrupt_at.get() != NEVER
                    {
                        self.state.bring(self.conductor, row, true, self.threads.get(current));
                    }
                    return Elected::Nobody;
                }
                Choice::Nobody => {
                    if let Some(elected) = self.pass_time(current, may_wait) {
                        return elected;
                    }
                }
            }
        }
    }

    /// Threads that entered themselves without the token are looked up in the schedule that is followed.
    fn look_up_newcomers(&mut self) {
        for id in std::mem::take(&mut self.threads.newcomers) {
            self.state.timers.idle = 0;
            if let (Some(replay), Some(row)) = (self.state.policy.replay(), self.threads.get(id)) {
                row.replay.scheduled_as.set(replay.index_of(0, row.nth));
            }
        }
    }

    /// Gives the chosen thread its slice. False: it was due by a schedule that the run has just left.
    fn let_run(&mut self, thread: u32, steps: u32, current: u32) -> bool {
        let Some(row) = self.threads.get(thread) else { panic!("thread {thread} is gone") };
        if !self.state.can_go(&self.threads, row) && !self.state.is_due(self.conductor, row) {
            let deadline = row.wait.deadline.get();
            if deadline == NEVER {
                return false;
            }
            let early = self.state.jump(deadline, self.threads.get(current));
            self.state.timers.put_back(early);
        }
        let holder = self.threads.get(self.conductor.holder());
        self.state.grant(self.conductor, row, steps, holder);
        true
    }

    /// Nobody can be chosen: the clock jumps to a deadline, the world outside is waited for, or it is a hang. `None`:
    /// choose again.
    fn pass_time(&mut self, current: u32, may_wait: bool) -> Option<Elected> {
        let world = &self.conductor.world;
        let unmanaged = world.had_unmanaged_threads();
        let outside = self.state.candidates.iter().any(|c| c.outside) || world.others_work();
        let blocked = self.threads.iter().filter(|thread| thread.is_blocked());
        let sleeping = blocked.map(|thread| thread.wait.deadline.get()).min().unwrap_or(NEVER);
        let timer = self.state.timers.next();
        let deadline = sleeping.min(timer);
        let idles = timer < sleeping && self.state.timers.idle >= IDLE_TICKS;
        let external = self.threads.iter().any(Thread::waits_outside);
        // Nobody says when an unmanaged thread, or the system for it, ends a wait: look again and again.
        let look_again = may_wait && unmanaged && world.has_unmanaged_threads(&self.threads);
        if deadline != NEVER && !outside && !external && !look_again && !idles {
            self.state.jump(deadline, self.threads.get(current));
            return None;
        }
        let stuck = self.threads.all_wait_for_each_other();
        if !external && (deadline == NEVER || idles && stuck) && !look_again {
            let helped = if stuck {
                world.has_unmanaged_threads(&self.threads)
            } else {
                let interrupted = || self.threads.any_awaits_interrupt() && world.may_be_interrupted();
                self.threads.is_empty() || interrupted() || world.may_be_woken(&self.threads)
            };
            if !outside && !helped {
                // An unmanaged thread may have ended a wait after we looked, and ended before we counted.
                if unmanaged && world.end_waits_unseen(&self.threads) {
                    return None;
                }
                self.hang(current);
            }
            return Some(Elected::Nobody);
        }
        if !may_wait {
            return Some(Elected::Nobody);
        }
        let now = self.state.decision_time();
        let left = if deadline == NEVER { u64::MAX } else { deadline.saturating_sub(now) };
        let piece = left.min(if outside || look_again { SHORT_LOOK } else { LONG_LOOK });
        Some(Elected::LookOutside(Look { waits: self.external_waits(), piece, left }))
    }

    /// No thread can make progress.
    fn hang(&mut self, current: u32) {
        let header = self.conductor.header();
        if header.hang.load(Ordering::Relaxed) == 0 {
            if let Some(witness) = self.threads.get(current).or_else(|| self.threads.iter().next()) {
                self.state.recorder.event(witness, 0, Op::Hang);
            }
            header.hang.store(1, Ordering::Release);
            sys::futex_wake(&header.filled);
        }
    }

    /// The waits that the world has to be asked about.
    fn external_waits(&self) -> Vec<ExternalWait> {
        let asked =
            |thread: &&Thread<W::Row>| thread.waits_outside() && thread.replay.recorded.get() == RecordedWait::Unknown;
        self.threads.iter().filter(asked).map(ExternalWait::of).collect()
    }

    /// Whether waits for the world outside could go on: as the recorded run says, or as the world does. Once the
    /// schedule has no more to say, they are ready when they are.
    fn answer_external_waits(&mut self) {
        if self.state.policy.replay().is_some_and(|replay| !replay.is_due()) {
            let known = |thread: &&Thread<W::Row>| thread.replay.recorded.get() != RecordedWait::Unknown;
            for thread in self.threads.iter().filter(known) {
                thread.replay.recorded.set(RecordedWait::Unknown);
                thread.wait.ready.set(false);
            }
        }
        let mut waits = Vec::new();
        for thread in self.threads.iter().filter(|thread| thread.waits_outside()) {
            match thread.replay.recorded.get() {
                RecordedWait::Unknown => waits.push(ExternalWait::of(thread)),
                recorded => thread.wait.ready.set(recorded == RecordedWait::Ready),
            }
        }
        if !waits.is_empty() {
            self.conductor.world.poll(&mut waits, 0);
            for wait in waits {
                if let Some(thread) = self.threads.get(wait.thread) {
                    thread.wait.ready.set(wait.ready);
                }
            }
        }
    }

    /// Asks the policy.
    pub(crate) fn choose(&mut self, current: u32, yielded: bool) -> Choice {
        let (conductor, state) = (self.conductor, &mut *self.state);
        if state.policy.replay().is_some_and(|replay| !replay.following()) {
            for thread in self.threads.iter().filter(|thread| thread.replay.put_aside.get() != NEVER) {
                thread.wait.deadline.set(thread.replay.put_aside.replace(NEVER));
            }
        }
        let mut candidates = std::mem::take(&mut state.candidates);
        candidates.clear();
        candidates.extend(self.threads.iter().map(|thread| Candidate {
            id: thread.id,
            enabled: state.can_go(&self.threads, thread),
            timed: thread.is_blocked() && thread.wait.deadline.get() != NEVER && state.after_deadline(thread),
            outside: thread.status() == Status::Outside || thread.waits_outside(),
            exiting: thread.scheduling.exiting.get(),
            scheduled_as: thread.replay.scheduled_as.get(),
        }));
        self.threads.keep_patience(&mut candidates, state.steps_before);
        if state.policy.replay().is_some_and(|replay| replay.is_due()) {
            for candidate in candidates.iter_mut().filter(|c| !c.enabled) {
                let thread = self.threads.get(candidate.id);
                candidate.enabled = thread.is_some_and(|thread| thread.is_blocked() && state.is_due(conductor, thread));
            }
        }
        let waiting = candidates.iter().filter(|c| c.enabled && c.id != current).count();
        conductor.header().waiting.store(waiting as u32, Ordering::Relaxed);
        let quiet = self.threads.get(current).is_some_and(|thread| thread.slice.quiet.get());
        let view = View { candidates: &candidates, current, yielded, quiet, steps: state.steps_before };
        let choice = state.policy.pick(&view);
        state.candidates = candidates;
        state.note_replay(conductor);
        choice
    }

    /// Gives the token to `next`, or frees it. Under the lock, so that nobody who comes back in the meantime is
    /// overlooked. Returns the slot to wake once the lock is free. The state is not the caller's any more.
    pub(crate) fn hand(&mut self, next: Option<u32>) -> Option<u32> {
        let header = self.conductor.header();
        let row = match next {
            Some(next) => self.threads.get(next).map(|row| (row.slot, row.scheduling.os.get())),
            // Somebody must look after the world outside, best one who waits for it.
            None => {
                self.threads.idle_since = sys::monotonic_now();
                let waiting = || self.threads.iter().filter(|thread| thread.is_blocked());
                let row = waiting().find(|thread| thread.looks_outside()).or_else(|| waiting().next());
                let scheduled = self.state.policy.replay().is_some_and(|replay| replay.is_due());
                if row.is_none() && self.conductor.ticking.load(Ordering::Relaxed) && !scheduled {
                    let now = self.state.decision_time();
                    self.conductor.world.hand_over(&mut self.state.timers, now);
                }
                row.map(|row| (row.slot, 0))
            }
        };
        header.holder_os.store(row.map_or(0, |(_, os)| os), Ordering::Relaxed);
        header.holder.store(next.unwrap_or(NO_THREAD), Ordering::Release);
        row.map(|(slot, _)| slot)
    }

    /// Whether an exact replay should keep waiting for a thread that the recorded run did not take the token from: on a
    /// busy machine it may just not have had its turn.
    fn should_keep_waiting(&mut self) -> bool {
        if !self.state.policy.replay().is_some_and(|replay| replay.repeats() && !replay.is_revoked()) {
            return false;
        }
        if self.conductor.awaits_outside.get() {
            return true;
        }
        let (position, now) = (self.state.recorder.position(), sys::monotonic_now());
        if self.threads.stuck_since.0 != position {
            self.threads.stuck_since = (position, now);
        }
        now - self.threads.stuck_since.1 < PATIENCE
    }

    /// Takes the token from the holder, if anybody else can use it. Returns the slot to wake.
    fn take_from(&mut self, id: u32) -> Option<u32> {
        let is_ready = |holder: &Thread<W::Row>| holder.status() == Status::Ready;
        // One that is in the scheduler itself, to wait or to end, gives the token away by itself.
        if self.should_keep_waiting() || !self.threads.get(id).is_some_and(is_ready) {
            return None;
        }
        let say = |threads: &Threads<W::Row>, status| {
            if let Some(holder) = threads.get(id) {
                holder.scheduling.status.set(status);
            }
        };
        say(&self.threads, Status::Outside);
        let Elected::Run(next) = self.elect(id, false, false) else {
            say(&self.threads, Status::Ready);
            return None;
        };
        if let Some(holder) = self.threads.get(id) {
            self.state.recorder.event(holder, 0, Op::Revoked);
            self.state.account(holder);
        }
        self.hand(Some(next))
    }
}

impl<W: World> Conductor<W> {
    /// If nobody holds the token, somebody may be able to take it now.
    pub fn kick(&self) {
        let threads = self.threads.lock();
        if self.header().holder.load(Ordering::Acquire) != NO_THREAD {
            return;
        }
        // SAFETY: nobody has the token, whoever had it last has let go of the state before saying so, and nobody can
        // get it while the table is locked.
        let mut election = unsafe { Election::new(self, threads) };
        election.idle_time_passes();
        let mut wake = None;
        if let Elected::Run(next) = election.elect(NO_THREAD, false, false) {
            wake = election.hand(Some(next));
        }
        drop(election);
        self.wake(wake);
    }

    /// Does what the watchdog asked for, if the holder still has not moved: takes the token away from it.
    pub(crate) fn revoke(&self) {
        let threads = self.threads.lock();
        let header = self.header();
        let id = header.revoke.swap(NO_THREAD, Ordering::AcqRel);
        let stuck = id != NO_THREAD
            && header.holder.load(Ordering::Acquire) == id
            && crate::recorder::position(&self.region()) == header.revoke_at.load(Ordering::Acquire);
        if !stuck {
            return;
        }
        // SAFETY: this cannot be checked from here. The watchdog has seen for a while that the holder recorded nothing,
        // and that it is in a system call or in code without hooks: it does not touch the state there, and the trace
        // has not moved since. When it comes back, its first look is at the holder word (`Token::keep`, and every
        // hook).
        let mut election = unsafe { Election::new(self, threads) };
        let wake = election.take_from(id);
        drop(election);
        self.wake(wake);
    }
}

impl ExternalWait {
    /// What a thread waits for.
    pub fn of<R>(thread: &Thread<R>) -> Self {
        let wait = &thread.wait;
        Self { thread: thread.id, object: wait.object.get(), second: wait.second.get(), ready: false }
    }
}

impl<W: World> State<W> {
    /// Whether the thread could go on if its deadline had passed.
    fn after_deadline(&self, thread: &Thread<W::Row>) -> bool {
        thread.wait.on.get() != BlockedOn::Notify || self.lock_free(thread.wait.second.get())
    }

    fn lock_free(&self, lock: u64) -> bool {
        lock == 0 || self.objects.locks.get(lock).is_none_or(|lock| lock.free_for_writer())
    }

    /// Whether the thread can go on now.
    pub(crate) fn can_go(&self, threads: &Threads<W::Row>, thread: &Thread<W::Row>) -> bool {
        match thread.status() {
            Status::Ready => true,
            Status::Outside | Status::Ended => false,
            Status::Blocked => {
                self.granted(threads, thread)
                    || (thread.wait.deadline.get() <= self.decision_time() && self.after_deadline(thread))
                    || !thread.interrupts.is_empty()
                    || (thread.wait.is_cancelled() && self.after_deadline(thread))
            }
        }
    }

    /// Whether what the thread waits for has come.
    pub(crate) fn granted(&self, threads: &Threads<W::Row>, thread: &Thread<W::Row>) -> bool {
        let (objects, wait) = (&self.objects, &thread.wait);
        let object = wait.object.get();
        match wait.on.get() {
            BlockedOn::LockExclusive => self.lock_free(object),
            BlockedOn::LockShared => objects.locks.get(object).is_none_or(|l| l.free_for_reader()),
            BlockedOn::Notify => wait.woken.get() && self.lock_free(wait.second.get()),
            BlockedOn::Join => !threads.contains(object as u32),
            BlockedOn::Barrier | BlockedOn::Futex => wait.woken.get(),
            BlockedOn::Semaphore => objects.semaphores.get(&object).is_some_and(|s| s.value > 0),
            BlockedOn::Once => objects.onces.get(&object).is_none_or(|o| o.runner.is_none()),
            BlockedOn::Descriptor => wait.ready.get(),
            BlockedOn::Signal | BlockedOn::Sleep => false,
        }
    }
}

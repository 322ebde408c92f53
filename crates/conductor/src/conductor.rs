//! The token: who holds it, how it is handed over, how it is taken away.

use crate::clock::Clock;
use crate::objects::Objects;
use crate::policy::{self, Candidate, Choice, Next, Policy, Runner, View};
use crate::recorder::Recorder;
use crate::shared::Region;
use crate::sys::{self, Spin};
use crate::table::Threads;
use crate::thread::{Foretold, NEVER, NO_THREAD, Status, Thread};
use crate::timers::{IDLE_TICKS, Timer, Timers};
use reweave_model::{BlockedOn, Op, ThreadName};
use std::sync::atomic::Ordering;

/// For a thread in a system call that did not take long when it was recorded, in nanoseconds.
const PATIENCE: u64 = 1_000_000_000;

/// What the core needs from the front end.
pub trait World {
    /// Asks which of the descriptor waits could go on, waiting at most `timeout` nanoseconds of real time. Sets
    /// [`Thread::descriptor_ready`].
    fn poll(&self, waiters: &mut [&mut Thread], timeout: u64);

    /// Whether something outside the model (a timer, a signal) may still wake a blocked thread.
    fn may_be_woken(&self) -> bool;

    /// Whether other processes work for this one (its children): then sleeps last real time.
    fn others_work(&self) -> bool;

    /// Whether threads were ever made behind our back. They, and the kernel for them, can change a futex word and wake its
    /// waiters without our seeing it.
    fn had_strangers(&self) -> bool;

    /// Whether such threads are there now.
    fn has_strangers(&self) -> bool;

    /// Whether the program handles this signal, and this thread does not block it.
    fn takes(&self, thread: &Thread, number: u32) -> bool;

    /// Gives a thread a signal, of this timer or from outside: sets [`Thread::signals`], or sends it if the thread is outside.
    fn signal(&self, thread: &mut Thread, number: u32, timer: Option<&Timer>);

    /// Everybody is outside: timers are the kernel's from here on.
    fn hand_over(&self, timers: &mut Timers, now: u64);
}

/// Why the thread comes to the scheduler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pause {
    /// Its slice is used up.
    Slice,
    /// It lets others go first.
    Yield,
    /// It cannot go on, or has ended, or leaves.
    Stop,
}

pub struct Conductor {
    pub recorder: Recorder,
    pub objects: Objects,
    pub clock: Clock,
    pub timers: Timers,
    pub policy: Box<dyn Policy>,
    pub world: Box<dyn World>,
    /// Guards the thread table against threads that do not hold the token.
    pub spin: Spin,
    pub threads: Threads,
    /// Steps of the run up to the start of the holder's slice.
    pub steps_before: u64,
    pub notifies: u32,
    pub foreign: u32,
    candidates: Vec<Candidate>,
    stop_at: u64,
    /// Real time at which the token was last found free, while it is.
    idle_since: u64,
    /// Where the watchdog first wished for the token of a thread that a replay waits for, and when.
    stuck_since: (u64, u64),
    /// The holder waits for somebody outside to follow a replay.
    pub patient: bool,
}

impl Conductor {
    pub fn new(region: Region, world: Box<dyn World>) -> Self {
        Self {
            recorder: Recorder::new(region),
            objects: Objects::default(),
            clock: Clock::default(),
            timers: Timers::default(),
            policy: policy::configured(region),
            world,
            spin: Spin::new(),
            threads: Threads::default(),
            steps_before: 0,
            notifies: 0,
            foreign: 0,
            candidates: Vec::new(),
            stop_at: region.header().stop_at,
            idle_since: 0,
            stuck_since: (u64::MAX, 0),
            patient: false,
        }
    }

    pub fn region(&self) -> Region {
        self.recorder.region
    }

    pub fn thread(&self, id: u32) -> &'static mut Thread {
        self.threads.get(id).unwrap_or_else(|| panic!("thread {id} is gone"))
    }

    pub fn is_alive(&self, id: u32) -> bool {
        self.threads.contains(id)
    }

    /// Takes back the row that was registered for a thread that could not be made.
    pub fn unregister(&mut self, id: u32) {
        self.spin.lock();
        let row = self.threads.strike_off(id);
        self.spin.unlock();
        drop(row);
    }

    /// Steps of the whole run, as seen by the holder.
    pub fn steps(&self, holder: &Thread) -> u64 {
        self.steps_before + u64::from(holder.slice - holder.budget.min(holder.slice))
    }

    pub fn now(&self, holder: &Thread) -> u64 {
        self.clock.now(self.steps(holder))
    }

    /// A new row. Call with the token, or (a foreign thread) under the spin lock.
    pub fn register(&mut self, parent: Option<&mut Thread>) -> &'static mut Thread {
        let (parent_id, nth, parent_as) = match parent {
            None if self.threads.next_id() == 0 => (NO_THREAD, 0, NO_THREAD),
            None => {
                self.foreign += 1;
                (0, ThreadName::FOREIGN | (self.foreign - 1), 0)
            }
            Some(parent) => {
                parent.children += 1;
                (parent.id, parent.children - 1, parent.scheduled_as)
            }
        };
        let row = self.threads.add(self.recorder.region.header(), |id, slot| Thread::new(id, slot, parent_id, nth));
        if let Some(replay) = self.policy.replay() {
            row.scheduled_as = replay.index_of(parent_as, nth);
        }
        // The watchdog must know at once that somebody waits, not only after the next decision.
        self.region().header().waiting.fetch_add(1, Ordering::Relaxed);
        self.timers.idle = 0;
        row
    }

    /// Gives the token to the first thread.
    pub fn start(&mut self, main: &mut Thread) {
        main.os = sys::thread_id();
        self.region().header().holder.store(main.id, Ordering::Release);
        self.region().header().holder_os.store(main.os, Ordering::Release);
        let choice = self.choose(main.id, false);
        self.grant(main, if let Choice::Run { steps, .. } = choice { steps } else { u32::MAX });
    }

    fn grant(&mut self, thread: &mut Thread, steps: u32) {
        let mut slice = steps;
        if self.stop_at != 0 {
            let left = self.stop_at.saturating_sub(self.steps_before);
            slice = slice.min(u32::try_from(left.max(1)).unwrap_or(u32::MAX));
        }
        self.look_ahead(thread);
        if thread.signal_at != NEVER {
            let waiting = thread.status == Status::Blocked;
            self.bring(thread, waiting, self.region().header().holder.load(Ordering::Relaxed));
            // The slice is interrupted where the next one comes.
            let left = thread.signal_at.saturating_sub(thread.position());
            slice = slice.min(u32::try_from(left).ok().filter(|left| *left > 0).unwrap_or(u32::MAX));
        }
        (thread.slice, thread.budget, thread.after_stop) = (slice, slice, steps - slice);
        thread.status = Status::Ready;
    }

    /// One step of `thread` is about to be recorded; see [`Op::is_step`].
    pub fn step(&mut self, thread: &mut Thread, pc: u64, op: Op<'_>) {
        debug_assert!(op.is_step());
        self.keep(thread);
        self.count(thread);
        thread.waits += u64::from(matches!(op, Op::Blocked { .. }));
        self.recorder.event(thread, pc, op);
    }

    /// Counts a step. One that nobody was asked about may go beyond the slice; a schedule that is followed makes up for it.
    pub fn count(&mut self, thread: &mut Thread) {
        self.go_on(thread);
        thread.budget -= 1;
    }

    /// The watchdog may have taken the token while the thread was in a real call: nothing is recorded without it.
    pub fn keep(&mut self, thread: &mut Thread) {
        if self.region().header().holder.load(Ordering::Relaxed) != thread.id {
            self.arrive(thread);
        }
    }

    /// The moment before a synchronisation step: the scheduler may put another thread first.
    pub fn sync_point(&mut self, thread: &mut Thread) {
        // invariant: `next` says what comes, or that it is not known
        if thread.after_stop == 0 && self.policy.preempt_at_sync() && thread.no_preempt == 0 {
            self.slice_over(thread);
            self.pause(thread, Pause::Slice);
        } else {
            self.point(thread);
        }
    }

    /// The moment before any step.
    pub fn point(&mut self, thread: &mut Thread) {
        if thread.budget == 0 {
            if thread.after_stop == 0 && self.policy.passes(Runner::from(&mut *thread), &thread.next) {
                thread.slice += 1;
                thread.budget = 1;
            } else {
                self.pause(thread, Pause::Slice);
            }
        }
        thread.next = Next::UNKNOWN;
    }

    /// The slice must not end here: it takes one step more if need be.
    pub fn go_on(&mut self, thread: &mut Thread) {
        if thread.budget == 0 {
            thread.slice += 1;
            thread.budget = 1;
            if thread.after_stop > 0 {
                thread.after_stop -= 1;
            } else if let Some(replay) = self.policy.replay() {
                replay.ran_ahead(thread.scheduled_as);
            }
        }
    }

    /// Ends the slice early by decision of the policy: what is left does not count.
    fn slice_over(&mut self, thread: &mut Thread) {
        thread.slice -= thread.budget;
        thread.budget = 0;
    }

    /// Lets the scheduler decide; returns when `thread` holds the token again.
    pub fn pause(&mut self, thread: &mut Thread, why: Pause) {
        if !self.comes_to_rest(thread, why) {
            return;
        }
        // A thread that leaves must not stay to wait for others.
        let status = thread.status;
        let stays = status == Status::Ready || status == Status::Blocked;
        self.spin.lock();
        let passed = self.pass_on(thread.id, why == Pause::Yield, stays);
        if passed.is_none() {
            // Whoever took the token has said Outside.
            thread.status = status;
            self.region().header().waiting.fetch_add(u32::from(status == Status::Ready), Ordering::Relaxed);
        }
        self.spin.unlock();
        self.wake(passed.flatten());
        if stays {
            self.await_token(thread);
        }
    }

    /// Ends the slice, unless the thread is to go on without asking the scheduler.
    fn comes_to_rest(&mut self, thread: &mut Thread, why: Pause) -> bool {
        self.recorder.settle(thread);
        self.stop_for_debugger(thread);
        if thread.after_stop > 0 && thread.budget == 0 && why != Pause::Stop {
            // The rest of the slice it was given.
            self.account(thread);
            let rest = std::mem::take(&mut thread.after_stop);
            self.grant(thread, rest);
            if why == Pause::Slice {
                return false;
            }
        }
        if let Some(replay) = self.policy.replay() {
            if why == Pause::Yield && replay.following() && thread.budget > 0 {
                // The recorded run decided otherwise.
                return false;
            }
            if why == Pause::Stop {
                replay.stopped_short(thread.id, thread.budget + std::mem::take(&mut thread.after_stop));
            }
        }
        if why == Pause::Slice && thread.no_preempt > 0 {
            self.go_on(thread);
            return false;
        }
        self.slice_over(thread);
        self.account(thread);
        true
    }

    /// Elects the next holder and gives it the token, under the spin lock. `None`: the watchdog was faster, the token is no longer
    /// `current`'s to give. Otherwise the slot to wake.
    fn pass_on(&mut self, current: u32, yielded: bool, may_wait: bool) -> Option<Option<u32>> {
        let header = self.region().header();
        if header.holder.load(Ordering::Acquire) != current {
            return None;
        }
        let next = self.elect_locked(current, yielded, may_wait);
        Some(self.hand(next))
    }

    fn account(&mut self, thread: &mut Thread) {
        let steps = u64::from(thread.slice - thread.budget);
        self.steps_before += steps;
        thread.done += steps;
        thread.slice = 0;
        thread.budget = 0;
    }

    fn stop_for_debugger(&mut self, thread: &Thread) {
        let stop = self.stop_at != 0 && self.steps(thread) >= self.stop_at;
        if stop {
            self.stop_at = 0;
            // SAFETY: tkill of ourselves with SIGTRAP, which is what the debugger waits for.
            unsafe { sys::syscall(200, [thread.os as usize, 5, 0, 0, 0, 0]) };
        }
    }

    /// Gives the token to `next`, or frees it. Under the spin lock, so that nobody who comes back in the meantime is
    /// overlooked. Returns the slot to wake once the lock is free.
    fn hand(&mut self, next: Option<u32>) -> Option<u32> {
        let header = self.region().header();
        let row = match next {
            Some(next) => Some(self.thread(next)),
            // Somebody must look after the outside world, best one who waits for it.
            None => {
                self.idle_since = sys::monotonic_now();
                let waiting = || self.threads.iter().filter(|t| t.status == Status::Blocked);
                let row = waiting().find(|t| self.looks_outside(t)).or_else(|| waiting().next());
                let scheduled = self.policy.replay().is_some_and(|replay| replay.is_due());
                if row.is_none() && self.timers.is_ticking() && !scheduled {
                    self.world.hand_over(&mut self.timers, self.clock.now(self.steps_before));
                }
                row
            }
        };
        header.holder_os.store(next.map_or(0, |next| self.thread(next).os), Ordering::Relaxed);
        header.holder.store(next.unwrap_or(NO_THREAD), Ordering::Release);
        row.map(|row| row.slot)
    }

    /// Outside the spin lock: a woken thread would run into it at once.
    fn wake(&self, slot: Option<u32>) {
        if let Some(slot) = slot {
            let word = &self.region().header().wake[slot as usize];
            word.fetch_add(1, Ordering::Release);
            sys::futex_wake(word);
        }
    }

    /// Whether real time or a descriptor can end this thread's wait.
    fn looks_outside(&self, thread: &Thread) -> bool {
        thread.status == Status::Blocked && (thread.on == BlockedOn::Descriptor || thread.deadline != NEVER)
    }

    /// Waits until `thread` holds the token.
    pub fn await_token(&mut self, thread: &mut Thread) {
        let header = self.region().header();
        let word = &header.wake[thread.slot as usize];
        let mut kicked = false;
        loop {
            let seen = word.load(Ordering::Acquire);
            if header.holder.load(Ordering::Acquire) == thread.id {
                break;
            }
            let idle = header.holder.load(Ordering::Acquire) == NO_THREAD;
            if !thread.signals.is_empty() && !kicked {
                kicked = true;
                self.kick();
            } else if header.revoke.load(Ordering::Acquire) != NO_THREAD {
                self.revoke();
            } else if idle || header.give_up.load(Ordering::Relaxed) != 0 {
                // Nobody runs: threads outside may come back, descriptors may become ready, deadlines pass.
                self.kick();
            } else {
                sys::futex_wait(word, seen, None);
                continue;
            }
            if header.holder.load(Ordering::Acquire) != thread.id {
                let often = self.looks_outside(thread) || self.timers.is_ticking() || !idle;
                sys::futex_wait(word, seen, Some(if often { 1_000_000 } else { 50_000_000 }));
            }
        }
        if thread.budget == 0 {
            // Passed on without a slice of its own (after a kick).
            self.grant(thread, 1);
        }
        // A new thread had no id yet when the token was passed to it.
        header.holder_os.store(thread.os, Ordering::Relaxed);
        // Its next record is preceded by who it is.
        thread.stack_said = u64::MAX;
    }

    /// If nobody holds the token, somebody may be able to take it now.
    pub fn kick(&mut self) {
        self.spin.lock();
        let free = self.region().header().holder.load(Ordering::Acquire) == NO_THREAD;
        if free {
            let now = sys::monotonic_now();
            let passed = now - self.idle_since.min(now);
            self.idle_since = now;
            let virtual_now = self.clock.now(self.steps_before);
            self.clock.jump_to(virtual_now + passed, self.steps_before);
        }
        let next = if free { self.elect_locked(NO_THREAD, false, false) } else { None };
        let wake = next.and_then(|next| self.hand(Some(next)));
        self.spin.unlock();
        self.wake(wake);
    }

    /// A thread that ran outside wants back in.
    pub fn arrive(&mut self, thread: &mut Thread) {
        self.spin.lock();
        thread.status = Status::Ready;
        thread.os = sys::thread_id();
        self.region().header().waiting.fetch_add(1, Ordering::Relaxed);
        self.spin.unlock();
        self.kick();
        self.await_token(thread);
    }

    /// Leaves control: the token goes to another, the thread runs on.
    pub fn leave(&mut self, thread: &mut Thread) {
        thread.status = Status::Outside;
        self.pause(thread, Pause::Stop);
    }

    /// The last thing a thread does: its row goes with it. What still names it, a join or a handle, needs its number only.
    pub fn retire(&mut self, id: u32) {
        let thread = self.thread(id);
        thread.status = Status::Ended;
        self.timers.idle = 0;
        self.comes_to_rest(thread, Pause::Stop);
        self.spin.lock();
        // In one go: who holds the token is in the table.
        let row = self.threads.strike_off(id);
        let passed = self.pass_on(id, false, false);
        self.spin.unlock();
        self.wake(passed.flatten());
        drop(row);
    }

    /// Whether an exact replay waits a little longer for a thread that the recorded run did not lose the token of: on a busy machine
    /// it may just not have had its turn.
    fn is_hasty(&mut self) -> bool {
        if !self.policy.replay().is_some_and(|replay| replay.repeats() && !replay.is_revoked()) {
            return false;
        }
        if self.patient {
            return true;
        }
        let (position, now) = (self.recorder.position(), sys::monotonic_now());
        if self.stuck_since.0 != position {
            self.stuck_since = (position, now);
        }
        now - self.stuck_since.1 < PATIENCE
    }

    /// Carries out the watchdog's wish if the holder still has not moved.
    pub(crate) fn revoke(&mut self) {
        self.spin.lock();
        let header = self.region().header();
        let id = header.revoke.swap(NO_THREAD, Ordering::AcqRel);
        let stuck = id != NO_THREAD
            && header.holder.load(Ordering::Acquire) == id
            && self.recorder.position() == header.revoke_at.load(Ordering::Acquire);
        let mut wake = None;
        // One that is in the scheduler itself, to wait or to end, gives the token away by itself.
        if stuck
            && !self.is_hasty()
            && let Some(holder) = self.threads.get(id)
            && holder.status == Status::Ready
        {
            holder.status = Status::Outside;
            match self.elect_locked(id, false, false) {
                None => holder.status = Status::Ready,
                next => {
                    self.recorder.event(holder, 0, Op::Revoked);
                    self.account(holder);
                    wake = self.hand(next);
                }
            }
        }
        self.spin.unlock();
        self.wake(wake);
    }

    /// Picks the next holder. `may_wait`: the caller is the outgoing holder and can wait for the outside world.
    fn elect_locked(&mut self, current: u32, yielded: bool, may_wait: bool) -> Option<u32> {
        let strangers = self.world.had_strangers();
        loop {
            self.see_for_itself();
            let mut waiters = self.descriptor_waiters();
            if !waiters.is_empty() {
                self.world.poll(&mut waiters, 0);
            }
            if strangers {
                self.wake_changed_futexes();
            }
            self.fire_timers(self.clock.now(self.steps_before));
            match self.choose(current, yielded) {
                Choice::Run { thread, steps } => {
                    let row = self.thread(thread);
                    if !self.can_go(row) && !self.is_due(row) {
                        if row.deadline == NEVER {
                            // It was due by a schedule that the run has just left.
                            continue;
                        }
                        let early = self.jump(row.deadline, current);
                        self.timers.put_back(early);
                    }
                    self.grant(row, steps);
                    return Some(thread);
                }
                Choice::WaitFor { thread } => {
                    let row = self.thread(thread);
                    if row.status == Status::Outside && row.signal_at != NEVER {
                        self.bring(row, true, current);
                    }
                    return None;
                }
                Choice::Nobody => {}
            }
            let outside = self.candidates.iter().any(|c| c.outside) || self.world.others_work();
            let blocked = self.threads.iter().filter(|t| t.status == Status::Blocked);
            let sleeping = blocked.map(|t| t.deadline).min().unwrap_or(NEVER);
            let timer = self.timers.next();
            let deadline = sleeping.min(timer);
            let idles = timer < sleeping && self.timers.idle >= IDLE_TICKS;
            let mut waiters = self.descriptor_waiters();
            let descriptors = !waiters.is_empty();
            // Nobody tells us when a stranger, or the kernel for it, wakes a futex: look again and again.
            let look_again = may_wait && strangers && self.world.has_strangers();
            if deadline != NEVER && !outside && !descriptors && !look_again && !idles {
                self.jump(deadline, current);
                continue;
            }
            let stuck = self.waits_for_itself();
            if !descriptors && (deadline == NEVER || idles && stuck) && !look_again {
                let helped = if stuck {
                    self.world.has_strangers()
                } else {
                    self.threads.is_empty() || self.awaits_signal() || self.world.may_be_woken()
                };
                if !outside && !helped {
                    // A stranger may have written its last word after we looked, and ended before we counted.
                    if strangers && self.wake_changed_futexes() {
                        continue;
                    }
                    self.hang(current);
                }
                return None;
            }
            if !may_wait {
                return None;
            }
            // The outside world is in play: real time passes, in pieces so that arrivals are seen.
            let now = self.clock.now(self.steps_before);
            let left = if deadline == NEVER { u64::MAX } else { deadline.saturating_sub(now) };
            let piece = left.min(if outside || look_again { 2_000_000 } else { 50_000_000 });
            let before = sys::monotonic_now();
            self.spin.unlock();
            if descriptors {
                // Their rows stay: who waits cannot end without the token.
                self.world.poll(&mut waiters, piece);
            } else {
                let word = &self.region().header().give_up;
                sys::futex_wait(word, word.load(Ordering::Relaxed), Some(piece));
            }
            self.spin.lock();
            let passed = sys::monotonic_now() - before;
            let now = self.clock.now(self.steps_before);
            self.jump(now + passed.min(left), current);
        }
    }

    /// Ends waits whose futex word no longer holds what the waiter expected. Only while strangers may have
    /// changed it: among known threads a change without a wake is a bug of the program and must stay one. True: there were any.
    fn wake_changed_futexes(&mut self) -> bool {
        let mut any = false;
        for thread in self.threads.iter() {
            if thread.status == Status::Blocked
                && thread.on == BlockedOn::Futex
                && !thread.woken
                && crate::recorder::load(thread.object, 4) != thread.second
            {
                (thread.woken, thread.notify) = (true, 0);
                any = true;
            }
        }
        any
    }

    pub(crate) fn jump(&mut self, deadline: u64, current: u32) -> u64 {
        let nanoseconds = self.clock.jump_to(deadline, self.steps_before);
        if nanoseconds > 0
            && let Some(current) = self.threads.get(current)
        {
            self.recorder.event(current, 0, Op::ClockJump { nanoseconds });
        }
        nanoseconds
    }

    fn hang(&mut self, current: u32) {
        let header = self.region().header();
        if header.hang.load(Ordering::Relaxed) == 0 {
            if let Some(witness) = self.threads.get(current).or_else(|| self.threads.iter().next()) {
                self.recorder.event(witness, 0, Op::Hang);
            }
            header.hang.store(1, Ordering::Release);
            sys::futex_wake(&header.filled);
        }
    }

    fn waits_for_descriptor(&self, thread: &Thread) -> bool {
        thread.status == Status::Blocked && thread.on == BlockedOn::Descriptor
    }

    fn descriptor_waiters(&self) -> Vec<&'static mut Thread> {
        self.threads.iter().filter(|thread| self.waits_for_descriptor(thread)).collect()
    }

    /// Once the schedule has no more to say, descriptors are ready when they are.
    fn see_for_itself(&mut self) {
        if self.policy.replay().is_some_and(|replay| !replay.is_due()) {
            for thread in self.threads.iter().filter(|thread| thread.foretold != Foretold::Nothing) {
                thread.foretold = Foretold::Nothing;
                thread.descriptor_ready = false;
            }
        }
    }

    fn choose(&mut self, current: u32, yielded: bool) -> Choice {
        if self.policy.replay().is_some_and(|replay| !replay.following()) {
            for thread in self.threads.iter().filter(|thread| thread.put_aside != NEVER) {
                thread.deadline = std::mem::replace(&mut thread.put_aside, NEVER);
            }
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        candidates.clear();
        for thread in self.threads.iter() {
            candidates.push(Candidate {
                id: thread.id,
                enabled: self.can_go(thread),
                timed: thread.status == Status::Blocked && thread.deadline != NEVER && self.after_deadline(thread),
                outside: thread.status == Status::Outside || self.waits_for_descriptor(thread),
                exiting: thread.exiting,
                scheduled_as: thread.scheduled_as,
            });
        }
        if self.policy.replay().is_some_and(|replay| replay.is_due()) {
            for candidate in candidates.iter_mut().filter(|c| !c.enabled) {
                let thread = self.thread(candidate.id);
                candidate.enabled = thread.status == Status::Blocked && self.is_due(thread);
            }
        }
        let waiting = candidates.iter().filter(|c| c.enabled && c.id != current).count();
        self.region().header().waiting.store(waiting as u32, Ordering::Relaxed);
        let view = View { candidates: &candidates, current, yielded, steps: self.steps_before };
        let choice = self.policy.pick(&view);
        self.candidates = candidates;
        choice
    }

    /// Whether the thread could go on if its deadline had passed.
    fn after_deadline(&self, thread: &Thread) -> bool {
        thread.on != BlockedOn::Notify || self.lock_free(thread.second)
    }

    fn lock_free(&self, lock: u64) -> bool {
        lock == 0 || self.objects.locks.get(lock).is_none_or(|lock| lock.free_for_writer())
    }

    /// Whether the thread can go on now.
    pub fn can_go(&self, thread: &Thread) -> bool {
        match thread.status {
            Status::Ready => true,
            Status::Outside | Status::Ended => false,
            Status::Blocked => {
                self.granted(thread)
                    || (thread.deadline <= self.clock.now(self.steps_before) && self.after_deadline(thread))
                    || !thread.signals.is_empty()
                    || (thread.cancellable() && self.after_deadline(thread))
            }
        }
    }

    /// Whether what the thread waits for has come.
    pub fn granted(&self, thread: &Thread) -> bool {
        let objects = &self.objects;
        match thread.on {
            BlockedOn::LockExclusive => self.lock_free(thread.object),
            BlockedOn::LockShared => objects.locks.get(thread.object).is_none_or(|l| l.free_for_reader()),
            BlockedOn::Notify => thread.woken && self.lock_free(thread.second),
            BlockedOn::Join => !self.is_alive(thread.object as u32),
            BlockedOn::Barrier | BlockedOn::Futex => thread.woken,
            BlockedOn::Semaphore => objects.semaphores.get(&thread.object).is_some_and(|s| s.value > 0),
            BlockedOn::Once => objects.onces.get(&thread.object).is_none_or(|o| o.runner.is_none()),
            BlockedOn::Descriptor => thread.descriptor_ready,
            BlockedOn::Signal | BlockedOn::Sleep => false,
        }
    }
}

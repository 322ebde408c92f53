//! Timers of the program whose interruptions it handles: they live on the virtual clock, so that they fire at the same
//! place in every run of a schedule. A timer fires at a scheduling decision once the clock has passed its deadline; the
//! clock jumps there only when nobody can run, as it does for sleeps. No policy fires one early: a program that gives
//! itself a minute must not fail to keep it because somebody else's sleep was cut short ([`Timers::put_back`]).
//!
//! While a schedule is followed, expired timers wait until the schedule brings their interruption
//! ([`crate::interrupts`]).

use crate::conductor::{Conductor, State};
use crate::policy::Candidate;
use crate::table::Threads;
use crate::thread::{NEVER, Thread};
use crate::world::World;
use reweave_model::BlockedOn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Ticks in a row that find their threads waiting and end no wait, after which time passes for real: timers alone are
/// no progress, and must not fill a trace. If nothing that a handler does can help
/// ([`Threads::all_wait_for_each_other`]) that is a hang; otherwise it may go on some day.
pub const IDLE_TICKS: u32 = 1000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timer {
    /// The front end's name for it.
    pub key: u64,
    pub number: u32,
    /// What the handler gets.
    pub value: u64,
    /// The system's number of the only thread that is meant; 0: whoever takes it.
    pub target: u32,
    /// Virtual time, [`NEVER`] if it is not armed.
    pub deadline: u64,
    /// 0: fires once.
    pub period: u64,
    /// Expirations that were not delivered one by one.
    pub overruns: u32,
    /// The system has it: nobody handles its interruption, or everybody is outside.
    // invariant: then it is never expired here
    pub real: bool,
}

impl Timer {
    /// Moves on to the next deadline.
    fn expire(&mut self, now: u64) {
        let late = now.saturating_sub(self.deadline).checked_div(self.period).unwrap_or(0);
        self.overruns = u32::try_from(late).unwrap_or(u32::MAX);
        self.deadline = match self.period {
            0 => NEVER,
            period => self.deadline.saturating_add(period.saturating_mul(late + 1)),
        };
    }

    /// As if what was due before had been delivered.
    pub fn skip(&mut self, now: u64) {
        if self.deadline <= now {
            self.expire(now);
        }
    }

    pub const fn is_armed(&self) -> bool {
        self.deadline != NEVER
    }
}

#[derive(Default)]
pub struct Timers {
    rows: Vec<Timer>,
    /// Expired, not yet with a thread: everybody blocks it, or a schedule says when it comes.
    // invariant: one for each timer at most
    pending: Vec<Timer>,
    /// For threads without the token: whether somebody must look after the clock.
    pub(crate) ticking: Arc<AtomicBool>,
    /// See [`IDLE_TICKS`].
    pub(crate) idle: u32,
}

impl Timers {
    pub fn get(&mut self, key: u64) -> Option<&mut Timer> {
        self.rows.iter_mut().find(|timer| timer.key == key)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Timer> {
        self.rows.iter_mut()
    }

    /// Takes the place of the timer of the same key.
    pub fn set(&mut self, timer: Timer) {
        match self.get(timer.key) {
            Some(row) => *row = timer,
            None => self.rows.push(timer),
        }
        self.changed();
    }

    pub fn remove(&mut self, key: u64) {
        self.rows.retain(|timer| timer.key != key);
        self.pending.retain(|timer| timer.key != key);
        self.changed();
    }

    /// After rows were changed in place.
    pub fn changed(&mut self) {
        self.ticking.store(self.next() != NEVER, Ordering::Relaxed);
    }

    #[cfg(test)]
    fn is_ticking(&self) -> bool {
        self.ticking.load(Ordering::Relaxed)
    }

    /// The earliest deadline.
    pub fn next(&self) -> u64 {
        self.rows.iter().filter(|timer| !timer.real).map(|timer| timer.deadline).min().unwrap_or(NEVER)
    }

    pub fn any_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    fn expire(&mut self, now: u64) {
        if self.next() > now {
            return;
        }
        for timer in self.rows.iter_mut().filter(|timer| !timer.real && timer.deadline <= now) {
            timer.expire(now);
            match self.pending.iter_mut().find(|pending| pending.key == timer.key) {
                Some(pending) => {
                    pending.overruns = pending.overruns.saturating_add(timer.overruns).saturating_add(1);
                    timer.overruns = pending.overruns;
                }
                None => self.pending.push(*timer),
            }
        }
        self.changed();
    }

    /// A thread is given a timer's interruption. `waits`: it is blocked.
    pub(crate) fn ticked(&mut self, waits: bool) {
        self.idle += u32::from(waits);
    }

    /// A policy let a sleep end early: for timers that time has not passed.
    pub(crate) fn put_back(&mut self, nanoseconds: u64) {
        for timer in self.rows.iter_mut().filter(|timer| !timer.real) {
            timer.deadline = timer.deadline.saturating_add(nanoseconds);
        }
    }

    /// Whether a timer of this number can fire. One of the system's may have fired already, which is not known.
    pub(crate) fn may_fire(&self, number: u32) -> bool {
        let armed = self.rows.iter().filter(|timer| timer.is_armed());
        self.pending.iter().chain(armed).any(|timer| timer.number == number)
    }

    /// The timer whose interruption a schedule brings now: one that waits for it, or the next to fire; and its
    /// deadline.
    pub(crate) fn take(&mut self, number: u32) -> Option<(Timer, u64)> {
        if let Some(at) = self.pending.iter().position(|timer| timer.number == number) {
            return Some((self.pending.remove(at), 0));
        }
        let armed = self.rows.iter_mut().filter(|timer| timer.number == number && timer.is_armed());
        let timer = armed.min_by_key(|timer| (timer.real, timer.deadline))?;
        let deadline = timer.deadline;
        if timer.real {
            return Some((*timer, 0));
        }
        timer.expire(deadline);
        let taken = *timer;
        self.changed();
        Some((taken, deadline))
    }
}

impl<W: World> State<W> {
    /// Timers whose time has come: their interruptions go to threads that take them.
    pub(crate) fn fire_timers(&mut self, conductor: &Conductor<W>, threads: &Threads<W::Row>, now: u64) {
        if conductor.region().header().hang.load(Ordering::Relaxed) != 0 {
            // That is the end of the run, as soon as it is noticed.
            return;
        }
        self.timers.expire(now);
        if !self.timers.any_pending() || self.policy.replay().is_some_and(|replay| replay.is_due()) {
            return;
        }
        for timer in std::mem::take(&mut self.timers.pending) {
            // One interruption of a number at a time: another would take its place, and what it has to say.
            let waiting = threads.iter().any(|thread| thread.interrupts.contains(timer.number));
            // The first that does not block it.
            let meant = |thread: &&Thread<W::Row>| timer.target == 0 || thread.scheduling.os.get() == timer.target;
            let taker = threads.iter().filter(meant).find(|thread| conductor.world.takes(thread, timer.number));
            match taker.filter(|_| !waiting) {
                Some(thread) => {
                    self.timers.ticked(thread.is_blocked());
                    conductor.world.interrupt(thread, timer.number, Some(&timer));
                }
                None => self.timers.pending.push(timer),
            }
        }
    }
}

impl<R> Threads<R> {
    /// Whether all threads wait for what only other threads do: of all that ends a wait, a handler may only post
    /// semaphores and do something to the world outside.
    pub(crate) fn all_wait_for_each_other(&self) -> bool {
        let on_another = |thread: &Thread<R>| {
            let only_threads = match thread.wait.on.get() {
                BlockedOn::LockExclusive | BlockedOn::LockShared | BlockedOn::Join => true,
                BlockedOn::Notify | BlockedOn::Barrier | BlockedOn::Once => true,
                BlockedOn::Semaphore | BlockedOn::Futex | BlockedOn::Descriptor => false,
                BlockedOn::Signal | BlockedOn::Sleep => false,
            };
            only_threads && thread.is_blocked() && thread.wait.deadline.get() == NEVER
        };
        !self.is_empty() && self.iter().all(on_another)
    }

    /// Time limits that nobody expects to pass do so only when nobody can run, and after all that come before them.
    pub(crate) fn keep_patience(&self, candidates: &mut [Candidate], steps: u64) {
        let is_patient = |thread: &Thread<R>| thread.wait.patient.get() > steps;
        if !self.iter().any(is_patient) {
            return;
        }
        let anybody = candidates.iter().any(|c| c.enabled);
        let deadline = |c: &Candidate| self.get(c.id).map_or(NEVER, |thread| thread.wait.deadline.get());
        let first = candidates.iter().filter(|c| c.timed).map(deadline).min().unwrap_or(NEVER);
        for candidate in candidates.iter_mut().filter(|c| c.timed) {
            let patient = self.get(candidate.id).is_some_and(is_patient);
            candidate.timed = !patient || !anybody && deadline(candidate) == first;
        }
    }

    /// Whether somebody waits for any interruption at all: then everything may yet go on.
    pub(crate) fn any_awaits_interrupt(&self) -> bool {
        self.iter().any(|thread| thread.is_blocked() && thread.wait.on.get() == BlockedOn::Signal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(key: u64, deadline: u64, period: u64) -> Timer {
        Timer { key, number: 14, value: 0, target: 0, deadline, period, overruns: 0, real: false }
    }

    #[test]
    fn a_period_that_is_over_several_times_is_delivered_once() {
        let mut timers = Timers::default();
        timers.set(timer(1, 100, 10));
        timers.expire(99);
        assert!(!timers.any_pending());
        timers.expire(135);
        assert_eq!((timers.pending.len(), timers.pending[0].overruns, timers.next()), (1, 3, 140));
        timers.expire(140);
        assert_eq!((timers.pending.len(), timers.pending[0].overruns, timers.next()), (1, 4, 150));
    }

    #[test]
    fn a_timer_fires_once_and_not_for_time_that_others_skip() {
        let mut timers = Timers::default();
        timers.set(timer(1, 100, 0));
        timers.put_back(1000);
        timers.expire(1099);
        assert!(!timers.any_pending() && timers.is_ticking());
        timers.expire(1100);
        assert!(timers.any_pending() && !timers.is_ticking() && timers.may_fire(14));
        assert_eq!(timers.take(14).map(|(timer, _)| timer.key), Some(1));
        assert!(timers.take(14).is_none() && !timers.may_fire(14));
    }

    #[test]
    fn a_schedule_takes_the_next_timer_of_that_number() {
        let mut timers = Timers::default();
        timers.set(timer(1, 300, 0));
        timers.set(timer(2, 200, 50));
        timers.set(Timer { number: 10, ..timer(3, 100, 0) });
        timers.set(Timer { real: true, ..timer(4, 0, 0) });
        assert_eq!(timers.take(14).map(|(timer, deadline)| (timer.key, deadline)), Some((2, 200)));
        assert_eq!(timers.next(), 100);
        timers.remove(1);
        timers.remove(2);
        assert!(timers.may_fire(14), "the system's may");
        timers.remove(4);
        assert!(!timers.may_fire(14) && timers.may_fire(10));
    }
}

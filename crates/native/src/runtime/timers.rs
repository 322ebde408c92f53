//! Timers: `alarm`, `setitimer`, `timer_create`. One whose signal the program handles lives on the virtual clock
//! ([`reweave_conductor::timers`]); the kernel's own is then never armed. All others are the kernel's: those whose
//! signal kills the process or is ignored (a watchdog must not bark because virtual time jumped), those that count
//! processor time, those that make a thread, and those that `sigwait` waits for. One changes sides when the program
//! changes what it does with the signal.
//!
//! When every thread is in a call outside, nobody is left to look at the clock: then they all go to the kernel, and
//! stay there until they are armed again.

use super::signals::has_handler;
use super::{Inside, Token, alone, enter, ranges, time};
use libc::{c_int, c_uint, c_void, clockid_t, itimerspec, itimerval, timespec, timeval};
use reweave_conductor::interrupts::timer_channel;
use reweave_conductor::{Deadline, NEVER, Timer, Timers};
use reweave_guest::Guarded;
use std::sync::atomic::{AtomicBool, Ordering};
use time::SECOND;

/// The key of `alarm` and ITIMER_REAL, which are one, and of those that count processor time. Others go by their
/// `timer_t`.
const INTERVAL: u64 = u64::MAX;
const VIRTUAL: u64 = u64::MAX - 1;
const PROFILE: u64 = u64::MAX - 2;

/// A timer of the kernel's was armed: a process in which everybody waits may yet go on.
static REAL: AtomicBool = AtomicBool::new(false);

pub fn any_real() -> bool {
    REAL.load(Ordering::Relaxed)
}

/// A child has no timers.
pub fn forget() {
    REAL.store(false, Ordering::Relaxed);
}

pub const fn is_interval(timer: &Timer) -> bool {
    timer.key >= PROFILE
}

/// Whether it counts time that we keep.
fn is_ours(timer: &Timer, clocks: &[(u64, clockid_t)]) -> bool {
    timer.key == INTERVAL || clocks.iter().any(|(key, clock)| *key == timer.key && KEPT.contains(clock))
}

type SetInterval = unsafe extern "C-unwind" fn(c_int, *const itimerval, *mut itimerval) -> c_int;
type GetInterval = unsafe extern "C-unwind" fn(c_int, *mut itimerval) -> c_int;
type SetTime = unsafe extern "C-unwind" fn(*mut c_void, c_int, *const itimerspec, *mut itimerspec) -> c_int;
type GetTime = unsafe extern "C-unwind" fn(*mut c_void, *mut itimerspec) -> c_int;
type OfTimer = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

const fn spec(nanoseconds: u64) -> timespec {
    timespec { tv_sec: (nanoseconds / SECOND) as i64, tv_nsec: (nanoseconds % SECOND) as i64 }
}

const fn val(nanoseconds: u64) -> timeval {
    // What is left of a microsecond is one: 0 would mean that it is not armed.
    let up = nanoseconds.div_ceil(1000);
    timeval { tv_sec: (up / 1_000_000) as i64, tv_usec: (up % 1_000_000) as i64 }
}

const fn of_val(time: timeval) -> u64 {
    time.tv_sec as u64 * SECOND + time.tv_usec as u64 * 1000
}

/// What is left until the deadline of an armed timer, at least something; 0: not armed.
fn left(timer: &Timer, now: u64) -> u64 {
    if timer.is_armed() { timer.deadline.saturating_sub(now).max(1) } else { 0 }
}

/// Arms the kernel's timer, or stops it.
fn set_kernel_timer(timer: &Timer, span: u64) {
    let period = if span == 0 { 0 } else { timer.period };
    // SAFETY: local structures; the timer exists.
    unsafe {
        if is_interval(timer) {
            let time = itimerval { it_interval: val(period), it_value: val(span) };
            real!(setitimer: SetInterval)(libc::ITIMER_REAL, &raw const time, std::ptr::null_mut());
        } else {
            let time = itimerspec { it_interval: spec(period), it_value: spec(span) };
            let key = std::ptr::without_provenance_mut(timer.key as usize);
            real!(timer_settime: SetTime)(key, 0, &raw const time, std::ptr::null_mut());
        }
    }
    if span > 0 {
        REAL.store(true, Ordering::Relaxed);
    }
}

/// Gives the armed timers of these signals to the kernel.
pub fn hand_over(timers: &mut Timers, now: u64, signals: u64) {
    let meant = |timer: &&mut Timer| !timer.real && timer.is_armed() && signals & 1 << (timer.number - 1) != 0;
    for timer in timers.iter_mut().filter(meant) {
        timer.real = true;
        set_kernel_timer(timer, left(timer, now));
    }
    timers.changed();
}

/// Somebody waits for these signals in the kernel.
pub fn make_real(token: &mut Token<'_>, signals: u64) {
    let now = token.decision_time();
    hand_over(token.timers(), now, signals);
}

/// The program's alarm, if it is armed and virtual.
fn virtual_alarm(token: &mut Token<'_>) -> Option<Timer> {
    token.timers().get(INTERVAL).copied().filter(|timer| !timer.real && timer.is_armed())
}

/// The program is replaced: its alarm stays.
pub fn survive(token: &mut Token<'_>) {
    if let Some(timer) = virtual_alarm(token) {
        set_kernel_timer(&timer, left(&timer, token.decision_time()));
    }
}

/// It was not replaced after all.
pub fn stay(token: &mut Token<'_>) {
    if let Some(timer) = virtual_alarm(token) {
        set_kernel_timer(&timer, 0);
    }
}

/// What the program does with a signal has changed: its timers change sides.
pub fn action_changed(token: &mut Token<'_>, number: c_int) {
    let now = token.decision_time();
    let handled = has_handler(number).is_some();
    let clocks = CLOCKS.get(token).clone();
    let timers = token.timers();
    let meant =
        |timer: &&mut Timer| timer.number as c_int == number && timer.real == handled && is_ours(timer, &clocks);
    for timer in timers.iter_mut().filter(meant) {
        timer.real = !handled;
        if handled {
            set_kernel_timer(timer, 0);
            // What was due before was the kernel's, and is gone.
            timer.skip(now);
        } else if timer.is_armed() {
            set_kernel_timer(timer, left(timer, now));
        }
    }
    timers.changed();
}

/// Arms or stops a timer; returns what was left of it, and its period before.
fn arm(inside: &mut Inside, pc: u64, mut timer: Timer) -> (u64, u64) {
    let asked = inside.now();
    // What is due by now comes first, as from a system call.
    inside.fire_timers(asked);
    if timer.is_armed() {
        inside.send(pc, timer_channel(timer.number), 1);
    }
    let now = inside.now();
    // Others may have come in between, and cut a sleep short: the timer is not to fire early for it.
    timer.deadline = timer.deadline.saturating_add(now - asked);
    let before = inside.timers().get(timer.key).copied();
    timer.real = has_handler(timer.number as c_int).is_none() || !is_ours(&timer, CLOCKS.get(inside));
    if timer.real {
        set_kernel_timer(&timer, left(&timer, now));
    } else if before.is_some_and(|before| before.real) {
        set_kernel_timer(&timer, 0);
    }
    inside.timers().set(timer);
    before.map_or((0, 0), |before| (left(&before, now), before.period))
}

/// The same for the interval timer. What was left of one that the kernel had, it says itself.
fn set_interval(inside: &mut Inside, pc: u64, span: u64, period: u64) -> (u64, u64) {
    let real = interval_left(inside);
    let deadline = if span == 0 { NEVER } else { inside.now().saturating_add(span) };
    let number = libc::SIGALRM as u32;
    let timer = Timer { key: INTERVAL, number, value: 0, target: 0, deadline, period, overruns: 0, real: false };
    let before = arm(inside, pc, timer);
    real.unwrap_or(before)
}

/// An interval timer that is always the kernel's is armed or stopped.
fn counts_processor_time(inside: &mut Inside, pc: u64, which: c_int, armed: bool) {
    let (key, number) = match which {
        libc::ITIMER_VIRTUAL => (VIRTUAL, libc::SIGVTALRM as u32),
        libc::ITIMER_PROF => (PROFILE, libc::SIGPROF as u32),
        _ => return,
    };
    let deadline = if armed { 0 } else { NEVER };
    if armed {
        REAL.store(true, Ordering::Relaxed);
        inside.send(pc, timer_channel(number), 1);
    }
    inside.timers().set(Timer { key, number, value: 0, target: 0, deadline, period: 0, overruns: 0, real: true });
}

/// Of an interval timer that is the kernel's.
fn interval_left(token: &mut Token<'_>) -> Option<(u64, u64)> {
    if token.timers().get(INTERVAL).is_some_and(|timer| !timer.real) {
        return None;
    }
    let mut time = itimerval { it_interval: val(0), it_value: val(0) };
    // SAFETY: fills the structure.
    unsafe { real!(getitimer: GetInterval)(libc::ITIMER_REAL, &raw mut time) };
    Some((of_val(time.it_value), of_val(time.it_interval)))
}

/// The virtual timer of this key, and the time.
fn virtual_timer(key: u64, token: &mut Token<'_>) -> Option<(Timer, u64)> {
    let timer = token.timers().get(key).copied().filter(|timer| !timer.real)?;
    Some((timer, token.now()))
}

/// The beginning of glibc's sigevent.
#[repr(C)]
struct Event {
    value: u64,
    number: c_int,
    notify: c_int,
    target: u32,
}

/// Of a timer that sends a signal: which, what the handler gets, and the thread that is meant.
unsafe fn signal_of(event: *const Event, key: u64) -> Option<(u32, u64, u32)> {
    // SAFETY: the program's own argument.
    match unsafe { event.as_ref() } {
        None => Some((libc::SIGALRM as u32, key, 0)),
        Some(event) if !(1..=64).contains(&event.number) => None,
        Some(event) if event.notify == libc::SIGEV_SIGNAL => Some((event.number as u32, event.value, 0)),
        Some(event) if event.notify == libc::SIGEV_THREAD_ID => Some((event.number as u32, event.value, event.target)),
        Some(_) => None,
    }
}

/// Clocks whose time we keep.
const KEPT: [clockid_t; 4] = [libc::CLOCK_REALTIME, libc::CLOCK_MONOTONIC, libc::CLOCK_BOOTTIME, libc::CLOCK_TAI];

/// Clocks of timers by their keys: deadlines may be given as their time.
// SAFETY: for the holder of the token of the one conductor.
static CLOCKS: Guarded<Vec<(u64, clockid_t)>> = unsafe { Guarded::new(Vec::new()) };

interpose! {
    fn alarm(seconds: c_uint; pc) -> c_uint {
        let alarm = real!(alarm: unsafe extern "C-unwind" fn(c_uint) -> c_uint);
        let Some(mut inside) = enter() else { return alarm(seconds) };
        let (left, _) = set_interval(&mut inside, pc, u64::from(seconds) * SECOND, 0);
        // Rounded, but 0 only if it was not armed.
        if left == 0 { 0 } else { ((left + SECOND / 2) / SECOND).max(1) as c_uint }
    }

    fn ualarm(span: c_uint, period: c_uint; pc) -> c_uint {
        let alarm = real!(ualarm: unsafe extern "C-unwind" fn(c_uint, c_uint) -> c_uint);
        let Some(mut inside) = enter() else { return alarm(span, period) };
        let (left, _) = set_interval(&mut inside, pc, u64::from(span) * 1000, u64::from(period) * 1000);
        left.div_ceil(1000) as c_uint
    }

    fn setitimer(which: c_int, new: *const itimerval, old: *mut itimerval; pc) -> c_int {
        let set = real!(setitimer: SetInterval);
        let valid = |time: &timeval| time.tv_sec >= 0 && (0..1_000_000).contains(&time.tv_usec);
        match (enter(), new.as_ref()) {
            (Some(mut inside), Some(new)) if which == libc::ITIMER_REAL && valid(&new.it_value) && valid(&new.it_interval) => {
                let (left, period) = set_interval(&mut inside, pc, of_val(new.it_value), of_val(new.it_interval));
                if !old.is_null() {
                    *old = itimerval { it_interval: val(period), it_value: val(left) };
                    ranges::wrote(&mut inside, old.cast(), size_of::<itimerval>(), pc);
                }
                0
            }
            (inside, _) => {
                if let (Some(mut inside), Some(new)) = (inside, new.as_ref()) {
                    counts_processor_time(&mut inside, pc, which, of_val(new.it_value) > 0);
                }
                set(which, new, old)
            }
        }
    }

    fn getitimer(which: c_int, out: *mut itimerval; pc) -> c_int {
        let get = real!(getitimer: GetInterval);
        let Some(mut inside) = enter() else { return get(which, out) };
        match virtual_timer(INTERVAL, &mut inside) {
            Some((timer, now)) if which == libc::ITIMER_REAL && !out.is_null() => {
                *out = itimerval { it_interval: val(timer.period), it_value: val(left(&timer, now)) };
                ranges::wrote(&mut inside, out.cast(), size_of::<itimerval>(), pc);
                0
            }
            _ => get(which, out),
        }
    }

    fn timer_create(clock: clockid_t, event: *mut c_void, timer: *mut c_void; pc) -> c_int {
        let create = real!(timer_create: unsafe extern "C-unwind" fn(clockid_t, *mut c_void, *mut c_void) -> c_int);
        let Some(mut inside) = enter() else { return create(clock, event, timer) };
        // SIGEV_THREAD makes a thread.
        let status = alone::no_longer_alone(&mut inside, pc, || create(clock, event, timer));
        if status == 0 {
            ranges::wrote(&mut inside, timer.cast(), size_of::<*mut c_void>(), pc);
            let key = *timer.cast::<u64>();
            match signal_of(event.cast(), key) {
                Some((number, value, target)) => {
                    let deadline = NEVER;
                    inside.timers().set(Timer { key, number, value, target, deadline, period: 0, overruns: 0, real: true });
                    CLOCKS.get(&mut inside).push((key, clock));
                }
                None => REAL.store(true, Ordering::Relaxed),
            }
        }
        status
    }

    fn timer_settime(timer: *mut c_void, flags: c_int, new: *const itimerspec, old: *mut itimerspec; pc) -> c_int {
        let set = real!(timer_settime: SetTime);
        let valid = |time: &timespec| time.tv_sec >= 0 && (0..SECOND as i64).contains(&time.tv_nsec);
        let (Some(mut inside), Some(new)) = (enter(), new.as_ref()) else { return set(timer, flags, new, old) };
        let Some(&mut row) = inside.timers().get(timer as u64) else { return set(timer, flags, new, old) };
        if !valid(&new.it_value) || !valid(&new.it_interval) {
            return set(timer, flags, new, old);
        }
        let mut before = itimerspec { it_interval: spec(0), it_value: spec(0) };
        if row.real {
            real!(timer_gettime: GetTime)(timer, &raw mut before);
        }
        let now = inside.now();
        let span = time::nanoseconds(&new.it_value);
        let deadline = match CLOCKS.get(&mut inside).iter().find(|(key, _)| *key == timer as u64) {
            _ if span == 0 => NEVER,
            Some((_, clock)) if flags & libc::TIMER_ABSTIME != 0 => match time::deadline(*clock, &raw const new.it_value) {
                // Not before now: a time long ago is no reason to make up for all periods since.
                Deadline::At(at) => at.max(now),
                _ => now,
            },
            _ => now.saturating_add(span),
        };
        let period = time::nanoseconds(&new.it_interval);
        let (left, period) = arm(&mut inside, pc, Timer { deadline, period, overruns: 0, ..row });
        if !old.is_null() {
            *old = if row.real { before } else { itimerspec { it_interval: spec(period), it_value: spec(left) } };
            ranges::wrote(&mut inside, old.cast(), size_of::<itimerspec>(), pc);
        }
        0
    }

    fn timer_gettime(timer: *mut c_void, out: *mut itimerspec; pc) -> c_int {
        let get = real!(timer_gettime: GetTime);
        let Some(mut inside) = enter() else { return get(timer, out) };
        match virtual_timer(timer as u64, &mut inside) {
            Some((timer, now)) if !out.is_null() => {
                *out = itimerspec { it_interval: spec(timer.period), it_value: spec(left(&timer, now)) };
                ranges::wrote(&mut inside, out.cast(), size_of::<itimerspec>(), pc);
                0
            }
            _ => get(timer, out),
        }
    }

    fn timer_getoverrun(timer: *mut c_void; pc) -> c_int {
        let get = real!(timer_getoverrun: OfTimer);
        let Some(mut inside) = enter() else { return get(timer) };
        virtual_timer(timer as u64, &mut inside).map_or_else(|| get(timer), |(timer, _)| timer.overruns as c_int)
    }

    fn timer_delete(timer: *mut c_void; pc) -> c_int {
        let delete = real!(timer_delete: OfTimer);
        if let Some(mut inside) = enter() {
            let now = inside.now();
            inside.fire_timers(now);
            inside.timers().remove(timer as u64);
            CLOCKS.get(&mut inside).retain(|(key, _)| *key != timer as u64);
        }
        delete(timer)
    }
}

//! The virtual clock behind all clock calls, and sleeps.

use super::{Inside, Token, conductor, enter, signals, system, threads};
use libc::{c_int, c_uint, clockid_t, time_t, timespec, timeval};
use reweave_conductor::{Deadline, Pause, Wakeup};
use reweave_model::{InputSource, Op};

pub const SECOND: u64 = 1_000_000_000;

/// Virtual monotonic time starts where a freshly booted machine might be: never zero, which programs take for "unset".
const BOOT: u64 = 1_000 * SECOND;

/// What a clock shows at virtual time `now`.
fn shows(clock: clockid_t, now: u64) -> u64 {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => {
            conductor().map_or(0, |conductor| conductor.region().header().start_realtime) + now
        }
        libc::CLOCK_MONOTONIC | libc::CLOCK_MONOTONIC_RAW | libc::CLOCK_MONOTONIC_COARSE | libc::CLOCK_BOOTTIME => {
            BOOT + now
        }
        _ => now,
    }
}

pub fn nanoseconds(time: &timespec) -> u64 {
    (time.tv_sec.max(0) as u64).saturating_mul(SECOND).saturating_add(time.tv_nsec.max(0) as u64)
}

/// An absolute time of the program as virtual time.
pub fn deadline(clock: clockid_t, until: *const timespec) -> Deadline {
    // SAFETY: the program's own argument.
    match unsafe { until.as_ref() } {
        None => Deadline::Never,
        Some(until) => Deadline::At(nanoseconds(until).saturating_sub(shows(clock, 0))),
    }
}

/// A time span of the program as a virtual time to wake at.
pub fn after(token: &Token<'_>, span: u64) -> Deadline {
    Deadline::At(token.now().saturating_add(span))
}

/// Looks at a clock: an outside input, played back on replay.
fn look(inside: &mut Inside, pc: u64, clock: clockid_t) -> u64 {
    inside.point();
    let steps = inside.steps();
    let mut value = match clock {
        // A loop that computes for so many seconds of CPU must end.
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID => cpu_time(clock),
        _ => shows(clock, inside.clock().look(steps)) as i64,
    };
    if let Some((recorded, _)) = inside.recorded_input(InputSource::Clock) {
        value = recorded;
    }
    inside.step(pc, Op::Input { source: InputSource::Clock, value, bytes: &[] });
    value as u64
}

fn cpu_time(clock: clockid_t) -> i64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the struct.
    unsafe { system::raw(228, [clock as usize, &raw mut time as usize, 0, 0, 0, 0]) };
    nanoseconds(&time) as i64
}

/// Lets others run: what a yield or a zero sleep asks for.
pub fn give_way(token: &mut Token<'_>) {
    token.pause(Pause::Yield);
    token.deliver();
}

/// Sleeps; false if a signal cut it short.
fn sleep(inside: &mut Inside, pc: u64, until: u64) -> bool {
    match inside.sleep(pc, until) {
        Wakeup::Interrupted => {
            signals::deliver(inside);
            false
        }
        Wakeup::Cancelled => {
            inside.call_back(threads::cancel_point);
            false
        }
        _ => true,
    }
}

fn sleep_for(inside: &mut Inside, pc: u64, span: u64) -> bool {
    let until = inside.now().saturating_add(span);
    sleep(inside, pc, until)
}

interpose! {
    fn clock_gettime(clock: clockid_t, out: *mut timespec; pc) -> c_int {
        match enter() {
            Some(mut inside) if (0..=11).contains(&clock) && !out.is_null() => {
                let now = look(&mut inside, pc, clock);
                *out = timespec { tv_sec: (now / SECOND) as time_t, tv_nsec: (now % SECOND) as i64 };
                super::super::ranges::wrote(&mut inside, out.cast(), size_of::<timespec>(), pc);
                0
            }
            _ => real!(clock_gettime: unsafe extern "C-unwind" fn(clockid_t, *mut timespec) -> c_int)(clock, out),
        }
    }

    fn timespec_get(out: *mut timespec, base: c_int; pc) -> c_int {
        if base == 1 && clock_gettime::body(libc::CLOCK_REALTIME, out, pc) == 0 { base } else { 0 }
    }

    fn gettimeofday(out: *mut timeval, zone: *mut libc::c_void; pc) -> c_int {
        match enter() {
            Some(mut inside) if !out.is_null() => {
                let now = look(&mut inside, pc, libc::CLOCK_REALTIME);
                *out = timeval { tv_sec: (now / SECOND) as time_t, tv_usec: (now % SECOND / 1000) as i64 };
                super::super::ranges::wrote(&mut inside, out.cast(), size_of::<timeval>(), pc);
                0
            }
            _ => real!(gettimeofday: unsafe extern "C-unwind" fn(*mut timeval, *mut libc::c_void) -> c_int)(out, zone),
        }
    }

    fn time(out: *mut time_t; pc) -> time_t {
        match enter() {
            Some(mut inside) => {
                let now = (look(&mut inside, pc, libc::CLOCK_REALTIME) / SECOND) as time_t;
                if !out.is_null() {
                    *out = now;
                    super::super::ranges::wrote(&mut inside, out.cast(), size_of::<time_t>(), pc);
                }
                now
            }
            None => real!(time: unsafe extern "C-unwind" fn(*mut time_t) -> time_t)(out),
        }
    }

    fn clock(; pc) -> libc::clock_t {
        match enter() {
            Some(mut inside) => (look(&mut inside, pc, libc::CLOCK_PROCESS_CPUTIME_ID) / 1000) as libc::clock_t,
            None => real!(clock: unsafe extern "C-unwind" fn() -> libc::clock_t)(),
        }
    }

    fn nanosleep(span: *const timespec, left: *mut timespec; pc) -> c_int {
        match enter() {
            Some(mut inside) if !span.is_null() => {
                if sleep_for(&mut inside, pc, nanoseconds(&*span)) {
                    return 0;
                }
                if !left.is_null() {
                    *left = timespec { tv_sec: 0, tv_nsec: 0 };
                }
                system::set_errno(libc::EINTR);
                -1
            }
            _ => real!(nanosleep: unsafe extern "C-unwind" fn(*const timespec, *mut timespec) -> c_int)(span, left),
        }
    }

    fn clock_nanosleep(clock: clockid_t, flags: c_int, span: *const timespec, left: *mut timespec; pc) -> c_int {
        type Sleep = unsafe extern "C-unwind" fn(clockid_t, c_int, *const timespec, *mut timespec) -> c_int;
        match enter() {
            Some(mut inside) if !span.is_null() => {
                let woke = if flags & libc::TIMER_ABSTIME != 0 {
                    let Deadline::At(until) = deadline(clock, span) else { return 0 };
                    sleep(&mut inside, pc, until)
                } else {
                    sleep_for(&mut inside, pc, nanoseconds(&*span))
                };
                if woke { 0 } else { libc::EINTR }
            }
            _ => real!(clock_nanosleep: Sleep)(clock, flags, span, left),
        }
    }

    fn usleep(span: c_uint; pc) -> c_int {
        match enter() {
            Some(mut inside) => {
                if sleep_for(&mut inside, pc, u64::from(span) * 1000) { return 0; }
                system::set_errno(libc::EINTR);
                -1
            }
            None => real!(usleep: unsafe extern "C-unwind" fn(c_uint) -> c_int)(span),
        }
    }

    fn sleep(span: c_uint; pc) -> c_uint {
        match enter() {
            Some(mut inside) => if sleep_for(&mut inside, pc, u64::from(span) * SECOND) { 0 } else { 1 },
            None => real!(sleep: unsafe extern "C-unwind" fn(c_uint) -> c_uint)(span),
        }
    }
}

//! Where a thread gives up: SIGABRT comes from inside libc, what is of interest is who called `abort` or failed an
//! assertion.

use super::{Thread, own_row};
use libc::{c_char, c_int, c_uint};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The thread that gave up last, and where.
static DYING: AtomicU32 = AtomicU32::new(u32::MAX);
static DIES_AT: AtomicU64 = AtomicU64::new(0);

fn gives_up(pc: u64) {
    // SAFETY: the number never changes.
    if let Some(thread) = unsafe { own_row() } {
        DIES_AT.store(pc, Ordering::Relaxed);
        DYING.store(thread.id, Ordering::Relaxed);
    }
}

interpose! {
    fn abort(; pc) {
        gives_up(pc);
        real!(abort: unsafe extern "C-unwind" fn() -> !)()
    }

    fn __assert_fail(what: *const c_char, file: *const c_char, line: c_uint, function: *const c_char; pc) {
        gives_up(pc);
        real!(__assert_fail: unsafe extern "C-unwind" fn(*const c_char, *const c_char, c_uint, *const c_char) -> !)(
            what, file, line, function
        )
    }

    fn __assert_perror_fail(error: c_int, file: *const c_char, line: c_uint, function: *const c_char; pc) {
        gives_up(pc);
        real!(__assert_perror_fail: unsafe extern "C-unwind" fn(c_int, *const c_char, c_uint, *const c_char) -> !)(
            error, file, line, function
        )
    }
}

/// Where this thread gave up; 0 if it did not.
pub fn place(thread: &Thread) -> u64 {
    if DYING.load(Ordering::Relaxed) == thread.id { DIES_AT.load(Ordering::Relaxed) } else { 0 }
}

//! The runtime inside the target: compiler hooks and interposers on top of the conductor.
//!
//! Rules of the house: a hook never allocates or locks through the target's libc (allocations go to [`alloc`]), uses no
//! std thread-locals (see [`tls`]), and user code is only called back with the thread marked as outside the runtime.

#![expect(
    clippy::allow_attributes,
    reason = "macros that expand to many bodies cannot expect what only some of them need"
)]

#[macro_use]
mod interpose;

mod aborts;
mod access;
mod alloc;
mod annotations;
mod atomics;
mod c11;
mod calls;
mod channels;
mod connect;
mod descriptors;
mod glib;
mod guarded;
mod locks;
mod mappings;
mod memory;
mod modules;
mod once;
mod openmp;
mod playback;
mod polls;
mod process;
mod ranges;
mod real;
mod register;
mod signal_calls;
mod signals;
mod stacks;
mod strings;
mod sync;
mod system;
mod threads;
mod time;
mod timers;
mod tls;
mod trees;

use reweave_conductor::{Conductor, Thread};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The one conductor of the process; null while the process is not recorded.
static CONDUCTOR: AtomicPtr<Conductor> = AtomicPtr::new(std::ptr::null_mut());

/// The conductor, for the holder of the token.
#[inline(always)]
fn conductor() -> &'static mut Conductor {
    // SAFETY: callers have seen `active()`; the token makes the access exclusive, and what threads without the token
    // touch is guarded by the conductor's spin lock.
    unsafe { &mut *CONDUCTOR.load(Ordering::Relaxed) }
}

#[inline(always)]
fn active() -> bool {
    !CONDUCTOR.load(Ordering::Relaxed).is_null()
}

/// The thread is in the runtime and holds the token. Dropping it runs signal handlers that came meanwhile.
struct Inside {
    thread: &'static mut Thread,
}

impl Inside {
    /// Runs user code from within an interposer.
    fn outside<R>(&mut self, code: impl FnOnce() -> R) -> R {
        conductor().recorder.settle(self.thread);
        self.thread.inside = 0;
        let result = code();
        // It comes back with or without the token.
        hold(self.thread);
        self.thread.inside = 1;
        result
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        // Not if user code is left by unwinding: then it is 0 already.
        if self.thread.inside == 1 {
            conductor().meet_signal(self.thread);
            while !self.thread.signals.is_empty() {
                signals::deliver(self.thread);
                conductor().meet_signal(self.thread);
            }
        }
        self.thread.inside = 0;
    }
}

/// Makes sure that `thread` holds the token: the watchdog may have taken it.
#[inline(always)]
fn hold(thread: &mut Thread) {
    if conductor().region().header().holder.load(Ordering::Relaxed) != thread.id {
        come_back(thread);
    }
}

#[cold]
fn come_back(thread: &mut Thread) {
    let inside = std::mem::replace(&mut thread.inside, 1);
    conductor().arrive(thread);
    if thread.user.is_null() {
        // A pool thread that comes under control for the first time.
        threads::begin(thread, 0);
    }
    thread.inside = inside;
}

/// Enters the runtime from an interposer. `None`: call the real function and record nothing (not recorded at all, or
/// called by the runtime itself).
#[inline(always)]
fn enter() -> Option<Inside> {
    if !active() {
        return None;
    }
    let thread = tls::thread();
    if thread.is_null() {
        return enter_foreign();
    }
    // SAFETY: the row of this very thread.
    let thread = unsafe { &mut *thread };
    if thread.inside != 0 {
        return None;
    }
    thread.inside = 1;
    hold(thread);
    conductor().recorder.settle(thread);
    Some(Inside { thread })
}

#[cold]
fn enter_foreign() -> Option<Inside> {
    let thread = threads::adopt()?;
    thread.inside = 1;
    Some(Inside { thread })
}

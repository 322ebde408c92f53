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
mod alone;
mod annotations;
mod atomics;
mod c11;
mod calls;
mod channels;
mod copies;
mod descriptors;
mod free;
mod futexes;
mod glib;
mod handed_on;
mod lists;
mod load;
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
mod slot;
mod stacks;
mod streams;
mod strings;
mod sync;
mod system;
mod threads;
mod time;
mod timers;
mod tls;
mod transfers;
mod trees;
mod world;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};
use world::{Native, Row};

/// What the core and the other front ends have, for this world.
type Conductor = reweave_conductor::Conductor<Native>;
type Thread = reweave_conductor::Thread<Row>;
type Threads = reweave_conductor::Threads<Row>;
type Token<'a> = reweave_conductor::Token<'a, Native>;
/// The thread is in the runtime and holds the token. Dropping it runs signal handlers that came meanwhile.
type Inside = reweave_guest::Inside<'static, Native>;

/// The one conductor of the process; null while the process is not recorded.
// invariant: null or a box that is never freed
static CONDUCTOR: AtomicPtr<Conductor> = AtomicPtr::new(std::ptr::null_mut());

/// The conductor, if the process is recorded.
#[inline(always)]
fn conductor() -> Option<&'static Conductor> {
    // SAFETY: null, or a conductor that stays.
    unsafe { CONDUCTOR.load(Ordering::Relaxed).as_ref() }
}

#[inline(always)]
fn active() -> bool {
    !CONDUCTOR.load(Ordering::Relaxed).is_null()
}

/// The conductor, for a thread that has a row.
///
/// # Safety
/// The process is recorded: [`tls::thread`] is not null.
#[inline(always)]
unsafe fn conductor_of_thread() -> &'static Conductor {
    // SAFETY: rows are made by a conductor, and it stays.
    unsafe { &*CONDUCTOR.load(Ordering::Relaxed) }
}

/// This thread's row, if it has one.
///
/// # Safety
/// Whoever does not hold the token touches only words of the row, and whoever does, no more than its token would give.
#[inline(always)]
unsafe fn own_row() -> Option<&'static Thread> {
    // SAFETY: the slot holds null or the row of this very thread, which stays until the thread ends.
    unsafe { tls::thread().as_ref() }
}

/// Whether this thread is inside the runtime.
#[inline(always)]
fn is_inside() -> bool {
    // SAFETY: looks at a word.
    unsafe { own_row() }.is_some_and(|thread| thread.own.inside.get() != 0)
}

/// This thread's token, taken if need be. `None`: it is not under control.
///
/// # Safety
/// No reference that was reached through another token of this thread is in use.
#[inline(always)]
unsafe fn hold() -> Option<Token<'static>> {
    let row = NonNull::new(tls::thread())?;
    // SAFETY: the row of this very thread, so there is a conductor; the rest by the contract.
    Some(unsafe { reweave_guest::hold(conductor_of_thread(), row) })
}

/// Enters the runtime from an interposer. `None`: call the real function and record nothing (not recorded at all, or
/// called by the runtime itself).
#[inline(always)]
fn enter() -> Option<Inside> {
    let conductor = conductor()?;
    let Some(row) = NonNull::new(tls::thread()) else {
        return enter_unannounced();
    };
    // SAFETY: the row of this very thread. A token further down its stack is in the middle of calling the program:
    // otherwise the thread would be inside, and this is refused.
    unsafe { Inside::enter(conductor, row) }
}

#[cold]
fn enter_unannounced() -> Option<Inside> {
    threads::adopt().map(Inside::with)
}

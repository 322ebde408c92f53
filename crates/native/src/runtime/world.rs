//! What the core asks of the system, and the runtime's part of a thread's row.

use super::{
    Thread, Threads, Token, descriptors, free, futexes, load, process, register, signals, stacks, system, threads,
    timers,
};
use libc::c_int;
use reweave_conductor::words::Flag;
use reweave_conductor::{ExternalWait, InterruptSet, Timer, Timers, World};
use std::sync::atomic::{AtomicPtr, Ordering};

/// The runtime's part of a thread's row.
pub struct Row {
    /// Signals that the scheduler has sent for real, because the thread is in a call.
    pub expected: InterruptSet,
    /// Outside in a call that may block: a signal handler may take the token in place. Set without the token.
    pub in_call: Flag,
    /// Somebody has cancelled the thread; the program has turned that off for it.
    pub cancelled: Flag,
    pub cancel_off: Flag,
    /// Null until the thread begins. Touched by the thread itself.
    pub shadow: AtomicPtr<stacks::Shadow>,
    /// Null unless threads run free, and until the thread begins. Touched by the thread itself, and by whoever ends the
    /// process.
    pub buffer: AtomicPtr<free::Buffer>,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            expected: InterruptSet::new(),
            in_call: Flag::new(false),
            cancelled: Flag::new(false),
            cancel_off: Flag::new(false),
            shadow: AtomicPtr::new(std::ptr::null_mut()),
            buffer: AtomicPtr::new(std::ptr::null_mut()),
        }
    }
}

/// What is known about the system.
pub struct Native;

impl World for Native {
    type Row = Row;

    #[inline(always)]
    fn load(addr: u64, size: u32) -> u64 {
        load::load(addr, size)
    }

    fn foresee(on: bool) {
        register::foresee(on);
    }

    fn deliver(token: &mut Token<'_>) {
        signals::deliver(token);
    }

    fn came_back(token: &mut Token<'_>) {
        if token.me().row.shadow.load(Ordering::Relaxed).is_null() {
            // A pool thread that comes under control for the first time.
            threads::begin(token, 0);
        }
    }

    fn catch_up(token: &mut Token<'_>) {
        free::catch_up(token);
    }

    fn poll(&self, waits: &mut [ExternalWait], timeout: u64) {
        descriptors::poll_waits(waits, timeout);
    }

    fn may_be_interrupted(&self) -> bool {
        signals::may_come_from_outside()
    }

    fn may_be_woken(&self, threads: &Threads) -> bool {
        let interrupted = || signals::any_handler() && signals::may_come_from_outside();
        timers::any_real() || interrupted() || process::unknown_threads(threads)
    }

    fn others_work(&self) -> bool {
        process::has_children()
    }

    fn had_unmanaged_threads(&self) -> bool {
        process::had_unmanaged_threads()
    }

    fn has_unmanaged_threads(&self, threads: &Threads) -> bool {
        process::unknown_threads(threads)
    }

    fn end_waits_unseen(&self, threads: &Threads) -> bool {
        futexes::end_changed(threads)
    }

    fn takes(&self, thread: &Thread, number: u32) -> bool {
        signals::takes(thread, number as c_int)
    }

    fn interrupt(&self, thread: &Thread, number: u32, timer: Option<&Timer>) {
        signals::bring(thread, number as c_int, timer);
    }

    fn hand_over(&self, timers: &mut Timers, now: u64) {
        timers::hand_over(timers, now, u64::MAX);
    }

    fn stop_for_debugger(&self) {
        let thread = reweave_conductor::sys::thread_id() as usize;
        // SAFETY: tkill of this thread itself with SIGTRAP, which is what the debugger waits for.
        unsafe { system::raw(libc::SYS_tkill as usize, [thread, libc::SIGTRAP as usize, 0, 0, 0, 0]) };
    }
}

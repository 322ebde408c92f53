//! What the core asks of a front end. Everything here is about the world outside the model: memory of the program,
//! interruptions, waits that only the system can answer, and threads that the core does not manage.

use crate::table::Threads;
use crate::thread::Thread;
use crate::timers::{Timer, Timers};
use crate::token::Token;

/// A wait whose end the world decides, as the thread that waits has described it in its [`Wait`](crate::thread::Wait).
#[derive(Clone, Copy, Debug)]
pub struct ExternalWait {
    pub thread: u32,
    pub object: u64,
    pub second: u64,
    /// The answer.
    pub ready: bool,
}

/// The services of a front end. Those with a default are for front ends that have more than threads and objects.
///
/// [`deliver`](Self::deliver), [`came_back`](Self::came_back), [`catch_up`](Self::catch_up) and
/// [`stop_for_debugger`](Self::stop_for_debugger) are called by the holder of the token, without the lock of the thread
/// table. All others may be called with that spin lock held, and by a thread that does not hold the token: they must not
/// wait (except [`poll`](Self::poll), as long as its `timeout` says), and must not call what takes the lock again, which
/// would never return: anything of a [`Token`], and of the [`Conductor`](crate::Conductor) `kick`, `adopt`, `start` and
/// `is_alive`. The table that they are given is the locked one.
pub trait World: Sized + 'static {
    /// The front end's part of a thread's row. `Sync`: the thread itself has it when it runs without the token, too.
    type Row: Default + Send + Sync;

    /// Reads up to eight bytes of the program's memory, also where nothing is mapped (that reads as 0). For writes
    /// whose value is taken after they have happened: see the recorder.
    fn load(addr: u64, size: u32) -> u64 {
        let _ = (addr, size);
        0
    }

    /// Delivers the pending interruptions of the thread that holds the token: runs their handlers.
    fn deliver(token: &mut Token<'_, Self>) {
        let _ = token;
    }

    /// A thread that entered the runtime without the token has it again, perhaps for the first time. Called once per
    /// return, before anything else is done with the token; not by [`Token::keep`] and [`Token::outside`], whose thread
    /// has had it before.
    fn came_back(token: &mut Token<'_, Self>) {
        let _ = token;
    }

    /// Code of the program has run on this thread, and perhaps without the token: what it did comes first. Only asked
    /// where threads run free (see [`free`](crate::free)).
    fn catch_up(token: &mut Token<'_, Self>) {
        let _ = token;
    }

    /// From now on accesses are (not) offered to [`Recorder::goes_on`](crate::recorder::Recorder::goes_on). Called by the
    /// holder of the token, also in the middle of an access.
    fn foresee(on: bool) {
        let _ = on;
    }

    /// Asks which of these waits could go on, waiting at most `timeout` nanoseconds of real time. That
    /// is 0 if the table is locked.
    fn poll(&self, waits: &mut [ExternalWait], timeout: u64) {
        let _ = (waits, timeout);
    }

    /// Whether an interruption that a thread waits for may come from outside of the program.
    fn may_be_interrupted(&self) -> bool {
        true
    }

    /// Whether something outside the model may still wake a blocked thread.
    fn may_be_woken(&self, threads: &Threads<Self::Row>) -> bool {
        let _ = threads;
        false
    }

    /// Whether other processes work for this one (its children): then sleeps last real time.
    fn others_work(&self) -> bool {
        false
    }

    /// Whether there were ever threads that the core does not manage. They, and the system for them, can end waits
    /// unseen.
    fn had_unmanaged_threads(&self) -> bool {
        false
    }

    /// Whether such threads are there now.
    fn has_unmanaged_threads(&self, threads: &Threads<Self::Row>) -> bool {
        let _ = threads;
        false
    }

    /// Ends waits that unmanaged threads have ended unseen; true if there were any.
    fn end_waits_unseen(&self, threads: &Threads<Self::Row>) -> bool {
        let _ = threads;
        false
    }

    /// Whether the program handles this interruption, and this thread does not block it.
    fn takes(&self, thread: &Thread<Self::Row>, number: u32) -> bool {
        let _ = (thread, number);
        false
    }

    /// Gives a thread an interruption, of this timer or from outside: sets [`Thread::interrupts`], or brings it about
    /// if the thread is outside.
    fn interrupt(&self, thread: &Thread<Self::Row>, number: u32, timer: Option<&Timer>) {
        let _ = timer;
        thread.interrupts.insert(number);
    }

    /// Everybody is outside: timers are the system's from here on.
    fn hand_over(&self, timers: &mut Timers, now: u64) {
        let _ = (timers, now);
    }

    /// Stops this thread for a debugger that waits for it.
    fn stop_for_debugger(&self) {}
}

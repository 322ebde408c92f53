//! Work that may take too long: somebody waits for it beside it, and goes on without it when time, memory or patience
//! are over. What is left running ends with the process.

use std::panic::{self, UnwindSafe};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use reweave_launch::{interrupt, memory};

/// How often it is looked whether there is enough.
const EVERY: Duration = Duration::from_millis(20);
/// Deep recursion is no reason to fail.
const STACK: usize = 256 << 20;

/// What became of the work.
pub enum TimedResult<T> {
    Answer(T),
    Panicked,
    /// Why it was given up.
    Unfinished(String),
}

/// Does it, at most for this long.
pub fn answer<T: Send + 'static>(
    most: Duration,
    work: impl FnOnce() -> T + Send + UnwindSafe + 'static,
) -> TimedResult<T> {
    let (send, receive) = mpsc::channel();
    let worker = thread::Builder::new().name("analysis".to_owned()).stack_size(STACK).spawn(move || {
        // Nobody may be waiting any more.
        let _ = send.send(panic::catch_unwind(work));
    });
    if worker.is_err() {
        return TimedResult::Unfinished("no thread could be started".to_owned());
    }
    let stop = interrupt::asked_to_stop();
    let began = Instant::now();
    loop {
        match receive.recv_timeout(EVERY) {
            Ok(Ok(answer)) => return TimedResult::Answer(answer),
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return TimedResult::Panicked,
            Err(RecvTimeoutError::Timeout) => {}
        }
        let why = match () {
            () if stop.load(Ordering::SeqCst) => "it was interrupted".to_owned(),
            () if memory::is_over() => "it needs more memory than it is allowed (--max-memory)".to_owned(),
            () if began.elapsed() > most => format!("it ran out of time after {} s (--budget)", most.as_secs_f64()),
            () => continue,
        };
        return TimedResult::Unfinished(why);
    }
}

//! What every runtime inside a program shares, whatever it is linked into: the [connection](connection) to the
//! launcher, entering and leaving ([`Inside`]), the [tree of call stacks](stacks), state that belongs to the token
//! ([`Guarded`]); and, for a process of ordinary threads that makes its own calls at each operation (an interpreter,
//! say), all of it in one: [`Process`].
//!
//! The operations themselves are those of [`Token`]: locks, conditions, barriers, semaphores, accesses, threads. Each
//! takes the code position (`pc`) that the trace shows, asks the scheduler, and records its steps.
//!
//! ```no_run
//! use reweave_guest::{Deadline, Performed, Process};
//! use reweave_guest::model::{AtomicKind, LockMode, MemoryOrder};
//! use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
//!
//! static SHARED: AtomicU64 = AtomicU64::new(0);
//! const LOCK: u64 = 0x1000;        // objects and memory go by addresses of the program's choice
//! const COUNTER: (u64, u32) = (0x2000, 8);
//!
//! // Without a launcher the program runs as it does otherwise.
//! let Some(process) = Process::connect() else { return };
//! let mut main = process.start(0);
//! main.enter().module(0x10_0000, 0x1000, 0x10_0000, b"/path/of/the/program");
//! let child = main
//!     .spawn(0x10_0010, 0x10_0100, |thread| {
//!         let mut token = thread.enter();
//!         token.acquire(0x10_0104, LOCK, LockMode::Exclusive, Deadline::Never).expect("no deadline");
//!         let value = token.read(0x10_0108, COUNTER, || SHARED.load(Relaxed));
//!         token.write(0x10_010c, COUNTER, || {
//!             SHARED.store(value + 1, Relaxed);
//!             value + 1
//!         });
//!         token.release(0x10_0110, LOCK).expect("it is held");
//!     })
//!     .expect("a thread");
//! main.enter().atomic(0x10_0014, (0x3000, 4), true, || Performed {
//!     kind: AtomicKind::Store,
//!     order: MemoryOrder::Release,
//!     read: 0,
//!     written: 1,
//! });
//! main.join(0x10_0018, child);
//! main.exit(0x10_001c, 0);
//! ```

pub mod connection;
mod guarded;
mod inside;
mod process;
pub mod restart;
pub mod stacks;
#[cfg(test)]
mod tests;

pub use guarded::Guarded;
pub use inside::{Inside, hold};
pub use process::{Child, Entered, Guest, NewGuest, Process, ThreadsOnlyWorld};
pub use reweave_conductor::policy::Next;
pub use reweave_conductor::shared::POLICY_REPLAY;
pub use reweave_conductor::words;
pub use reweave_conductor::{Conductor, Deadline, NewThread, Pause, Performed, Thread, Token, Wakeup, World};
/// The types of what is recorded.
pub use reweave_model as model;

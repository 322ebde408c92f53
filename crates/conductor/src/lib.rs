//! The scheduling core: one thread of the target at a time holds the token and runs; everything it does is
//! recorded, and every hand-over is a decision of a policy. Because of the token the trace is exact.
//!
//! The core knows no operating system and no language: a front end's runtime calls it from its hooks and gives it the
//! services of [`World`]. The token is a type: [`Token`].

pub mod aliases;
pub mod clock;
pub mod conductor;
mod election;
mod foreseen;
pub mod free;
mod handover;
pub mod interrupts;
pub mod objects;
pub mod operations;
pub mod policy;
pub mod recorder;
pub mod repeats;
pub mod shared;
pub mod spin;
pub mod sys;
pub mod table;
#[cfg(test)]
mod tests;
pub mod thread;
pub mod timers;
pub mod token;
pub mod words;
pub mod world;

pub use conductor::{Conductor, NewThread};
pub use interrupts::InterruptSet;
pub use operations::{Deadline, Performed, Wakeup};
pub use shared::{Header, Region};
pub use table::Threads;
pub use thread::{NEVER, NO_THREAD, Status, Thread};
pub use timers::{Timer, Timers};
pub use token::{Pause, Token};
pub use world::{ExternalWait, World};

//! The scheduling core: one thread of the target at a time holds the token and runs; everything it does is
//! recorded, and every hand-over is a decision of a policy. Because of the token the trace is exact.
//!
//! The core knows neither libc nor the JVM: a front end (the native runtime, later an agent) calls it from its
//! hooks and gives it the few services of [`World`].

pub mod aliases;
pub mod arrivals;
pub mod clock;
pub mod conductor;
pub mod objects;
pub mod operations;
pub mod policy;
pub mod recorder;
pub mod shared;
pub mod sys;
pub mod table;
#[cfg(test)]
mod tests;
pub mod thread;
pub mod timers;

pub use conductor::{Conductor, Pause, World};
pub use operations::{Deadline, Wakeup};
pub use shared::{Header, Region};
pub use thread::{NEVER, NO_THREAD, SignalSet, Status, Thread};
pub use timers::{Timer, Timers};

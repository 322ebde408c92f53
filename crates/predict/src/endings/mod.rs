//! What the end of a run shows: memory that was used after it had been freed, threads that wait or spin for ever, and
//! where each one was last. These look at one run as it happened; they predict nothing, and say nothing about other
//! runs.

mod freed;
mod last_places;
mod spinning;
mod stuck;
mod turn;
mod waits;

pub use freed::Freed;
pub use last_places::{LastAct, LastPlace, SignalKinds, circle, last_places};
pub use spinning::{Spinning, spinning};
pub use stuck::{StuckAt, stuck};
pub use turn::turn;
pub use waits::{Wait, Waits};

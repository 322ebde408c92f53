//! What the front end and everything behind it are tested with: random programs, and all that their schedules can do.

pub mod enumerate;
pub mod random;
pub mod shrink;
mod write;

pub use write::write;

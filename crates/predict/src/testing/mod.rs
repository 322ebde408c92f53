//! What the tests of every engine need: histories written by hand, histories at random, and small ones that still fail.
//!
//! Guarantee: whatever comes from here is a history by the [definition](crate::history): its observed order is
//! feasible, as the [checker](crate::witness) confirms.

mod blocks;
mod constructs;
mod draft;
mod generate;
mod locking;
mod random;
mod shrink;
mod trace;

pub use blocks::blocks;
pub use constructs::Construct;
pub use draft::Draft;
pub use generate::{generate, generate_aimed};
pub use locking::generate_locking;
pub use random::Random;
pub use shrink::{is_history, shrink};
pub use trace::{FIRST_PC, trace_of};

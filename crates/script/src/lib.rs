//! The smallest front end: an interpreter for `.rwi` programs, and the language itself.

pub mod language;
#[cfg(feature = "testing")]
pub mod testing;

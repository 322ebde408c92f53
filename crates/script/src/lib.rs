//! The smallest front end: an interpreter for `.rwi` programs, and the language itself.
//!
//! [`language`] stands alone. The rest is what every front end consists of: [`Script`] tells the launcher about
//! programs, [`symbols`] says what their code addresses mean, [`interpret`] runs them.

mod front_end;
pub mod interpret;
pub mod language;
mod layout;
mod symbols;
#[cfg(feature = "testing")]
pub mod testing;

pub use front_end::{COMMAND, Script};

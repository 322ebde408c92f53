//! What other interleavings would do, predicted from one trace.
//!
//! An analysis is one file in [`analyses`] and one line in [`ANALYSES`]. The streaming ones read events in one pass
//! ([`linear`]) and list candidates; the engine ([`feasible`]) answers questions about a stretch of the trace ([`lower`] makes a
//! [`history`] of it), and [`witness`] judges its answers. Analyses do no I/O but read the trace, and print nothing.

/// A number of something, as a type of its own.
macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
        pub struct $name(pub u32);

        impl $name {
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

pub mod abstraction;
pub mod analyses;
mod analysis;
pub mod endings;
pub mod feasible;
pub mod history;
pub mod linear;
pub mod live;
pub mod lock_history;
pub mod lower;
#[cfg(any(test, feature = "testing"))]
pub mod oracle;
mod prediction;
pub mod search;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod witness;

pub use analyses::{ANALYSES, find};
pub use analysis::{Analysis, AnalysisRef, Guarantee, Questions, Watching};
pub use prediction::{Answer, Options, Prediction, accessors, predict};
pub use search::Limits;

//! What other interleavings would do, predicted from one trace.
//!
//! An analysis is one file in [`analyses`] and one line in [`ANALYSES`]. The streaming ones read events in one pass
//! ([`linear`]) and list candidates; the engine ([`feasible`]) answers questions about a stretch of the trace
//! ([`lower`] makes a [`history`] of it), and [`witness`] judges its answers. Analyses do no I/O but read the trace,
//! and print nothing.

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

// Tests look into more than others may use: see the feature `testing`.
pub mod abstraction;
pub mod analyses;
mod analysis;
pub mod endings;
#[cfg(not(feature = "testing"))]
mod feasible;
#[cfg(feature = "testing")]
pub mod feasible;
#[cfg(not(feature = "testing"))]
mod history;
#[cfg(feature = "testing")]
pub mod history;
pub mod linear;
pub mod live;
#[cfg(not(feature = "testing"))]
mod lock_history;
#[cfg(feature = "testing")]
pub mod lock_history;
#[cfg(not(feature = "testing"))]
mod lower;
#[cfg(feature = "testing")]
pub mod lower;
#[cfg(feature = "testing")]
pub mod oracle;
mod prediction;
pub mod search;
pub mod share;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(not(feature = "testing"))]
mod witness;
#[cfg(feature = "testing")]
pub mod witness;

pub use analyses::{ANALYSES, find};
pub use analysis::{About, Analysis, AnalysisRef, Guarantee, Questions, Watching};
pub use history::Mode;
pub use prediction::{Early, Options, Prediction, PredictionResult, accessors, open, predict, predict_from};
pub use search::{SearchLimits, Stage, Stages};

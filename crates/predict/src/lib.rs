//! What other interleavings would do, predicted from one trace.
//!
//! An analysis is one file in [`analyses`] behind the [`Analysis`] trait and one line in [`all`]. Analyses read traces and
//! return findings with witnesses; they do no other I/O and print nothing.

pub mod analyses;
mod clock;
mod happens_before;
pub mod history;

pub use clock::Clock;
pub use happens_before::HappensBefore;

use reweave_model::Finding;
use reweave_trace::{Result, Trace};

/// What an analysis has to say.
#[derive(Debug, Default)]
pub struct Answer {
    pub findings: Vec<Finding>,
    pub events: u64,
}

pub trait Analysis {
    fn name(&self) -> &'static str;

    /// Reads the trace, as often as it needs to. `progress` hears from 0 to 1 how far it is.
    fn run(&self, trace: &Trace, progress: &mut dyn FnMut(f64)) -> Result<Answer>;
}

/// Every analysis there is, cheapest first.
pub fn all() -> Vec<Box<dyn Analysis>> {
    vec![Box::new(analyses::hb::Hb)]
}

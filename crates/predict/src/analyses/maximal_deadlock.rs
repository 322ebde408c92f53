//! Deadlocks by questions to the [engine](crate::feasible): window by window, cycle by cycle, each answer judged by the
//! [checker](crate::witness) before it becomes a finding.
//!
//! A deadlock is a feasible reordering after which threads are next at requests for locks that they hold against each
//! other in a circle. The question is whether these requests can be next together: who holds what then follows from how
//! far the threads are. What is held against a try, or an acquisition with a deadline, is not waited for.

use reweave_model::Kind;
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee, Questions};
use crate::prediction::Prediction;
use crate::search::SearchLimits;

/// The analysis `maximal-deadlock`.
pub struct MaximalDeadlock;

impl Analysis for MaximalDeadlock {
    fn about(&self) -> About {
        let summary = "every deadlock that some feasible reordering of the trace shows";
        About::new("maximal-deadlock", Kind::Deadlock, Guarantee::SoundAndComplete, summary).by_default()
    }

    fn asks(&self, _: &SearchLimits<'_>) -> Option<Questions> {
        Some(Questions::Deadlocks)
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.deadlocks(self.id())
    }
}

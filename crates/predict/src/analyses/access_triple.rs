//! Atomicity violations.
//!
//! **Definition.** The events of a thread fall into *transactions*: each atomic block is one, and each event outside blocks is
//! one by itself. Of two events of different threads in a reordering, the later one *depends* on the earlier one if they access
//! a common cell and one of them writes it, if the earlier one gives up a lock and the later one gets it (not both shared),
//! or if the earlier one stands in the later one's [`Step::after`](crate::history::Step::after) (fork, join, send…). The graph over
//! transactions has program order and these dependences as edges. A block is **violated** by a reordering if a way along the
//! edges leaves it at one of its events, goes through other threads, through none of them twice, and comes back at a later
//! event. A graph has a cycle (every cycle goes through a block) if and only if some block is violated: of a shortest cycle each
//! thread has one transaction or two that follow each other, and somewhere it comes back later than it left.
//!
//! [`serializability`](crate::search::atomicity::serializability) asks the [engine](crate::feasible) for a reordering that violates a block; [`blocks`](crate::search::atomicity::blocks) says where blocks
//! are; `analyses::serializability` looks at the observed order alone.
use reweave_model::{AnalysisId, Claim, Kind};
use reweave_trace::Result;

use crate::analysis::{Analysis, Guarantee, Questions};
use crate::prediction::{Leaves, Prediction};
use crate::search::Limits;
use crate::search::atomicity::serializability::Pattern;

/// The analysis `access-triple`.
pub struct AccessTriple;

impl Analysis for AccessTriple {
    fn id(&self) -> AnalysisId {
        AnalysisId::new("access-triple", Claim::Other)
    }
    fn summary(&self) -> &'static str {
        "the same by accesses of one other thread to one or two locations"
    }
    fn module(&self) -> &'static str {
        "access_triple"
    }
    fn finds(&self) -> Kind {
        Kind::Atomicity
    }
    fn guarantee(&self) -> Guarantee {
        Guarantee::Sound
    }
    fn asks(&self, _: &Limits<'_>) -> Option<Questions> {
        Some(Questions::Blocks(Pattern::Triple))
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.blocks(self.id(), Leaves::Everything)
    }
}

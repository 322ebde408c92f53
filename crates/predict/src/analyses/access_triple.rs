//! Atomicity violations.
//!
//! **Definition.** The events of a thread fall into *transactions*: each atomic block is one, and each event outside
//! blocks is one by itself. Of two events of different threads in a reordering, the later one *depends* on the earlier
//! one if they access a common cell and one of them writes it, if the earlier one gives up a lock and the later one
//! gets it (not both shared), or if the earlier one stands in the later one's
//! [`Step::after`](crate::history::Step::after) (fork, join, send…). The graph over transactions has program order and
//! these dependences as edges. A block is **violated** by a reordering if a way along the edges leaves it at one of its
//! events, goes through other threads, through none of them twice, and comes back at a later event. A graph has a cycle
//! (every cycle goes through a block) if and only if some block is violated: of a shortest cycle each thread has one
//! transaction or two that follow each other, and somewhere it comes back later than it left.
//!
//! [`serializability`](crate::search::atomicity::serializability) asks the [engine](crate::feasible) for a reordering
//! that violates a block; [`blocks`](crate::search::atomicity::blocks) says where blocks are;
//! `analyses::serializability` looks at the observed order alone.

use reweave_model::Kind;
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee, Questions};
use crate::prediction::{Leaves, Prediction};
use crate::search::SearchLimits;
use crate::search::atomicity::serializability::Pattern;

/// The analysis `access-triple`.
pub struct AccessTriple;

impl Analysis for AccessTriple {
    fn about(&self) -> About {
        let summary = "the same by accesses of one other thread to one or two locations";
        About::new("access-triple", Kind::Atomicity, Guarantee::Sound, summary)
    }

    fn asks(&self, _: &SearchLimits<'_>) -> Option<Questions> {
        Some(Questions::Blocks(Pattern::Triple))
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.blocks(self.id(), Leaves::Everything)
    }
}

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
//! [`serializability`] asks the [engine](crate::feasible) for a reordering that violates a block; [`blocks`] says where blocks
//! are; `analyses::serializability` looks at the observed order alone.

pub mod blocks;
mod cycles;
mod depend;
pub mod serializability;

use reweave_model::Op;

use crate::history::{History, Pos};

pub use cycles::{Bounds, Cycle, Cycles};
pub use serializability::ask;

index!(
    /// An atomic block of a history.
    Block
);

/// Which block each event of a history is in.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Transactions {
    // invariant: the events of a block are of one thread, one after the other
    of: Vec<Option<Block>>,
    /// First and last event of each block.
    ends: Vec<(Pos, Pos)>,
}

impl Transactions {
    /// `block` says by any number which block an event is in; it is asked once for each, in the order of each thread.
    pub fn new(history: &History, mut block: impl FnMut(Pos) -> Option<u64>) -> Self {
        let mut of = vec![None; history.steps.len()];
        let mut ends: Vec<(Pos, Pos)> = Vec::new();
        for events in &history.threads {
            let mut last = None;
            for &pos in events {
                let now = block(pos);
                if now.is_some() && now != last {
                    ends.push((pos, pos));
                }
                if now.is_some() {
                    let at = ends.len() - 1;
                    of[pos.index()] = Some(Block(at as u32));
                    ends[at].1 = pos;
                }
                last = now;
            }
        }
        Self { of, ends }
    }

    pub fn block(&self, pos: Pos) -> Option<Block> {
        self.of[pos.index()]
    }

    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = Block> + use<> {
        (0..self.ends.len() as u32).map(Block)
    }

    /// First and last event of a block.
    pub fn ends(&self, block: Block) -> (Pos, Pos) {
        self.ends[block.index()]
    }

    /// The first event of the transaction that an event is in.
    pub fn start(&self, pos: Pos) -> Pos {
        self.block(pos).map_or(pos, |block| self.ends(block).0)
    }
}

/// Whether a thread waits for others to do something by this operation: a block that does is not atomic. Waiting for a lock
/// does not count.
pub fn waits(op: &Op<'_>) -> bool {
    matches!(
        op,
        Op::Wait { .. }
            | Op::Woken { .. }
            | Op::BarrierArrive { .. }
            | Op::Join { .. }
            | Op::SemaphoreTake { .. }
            | Op::Receive { .. }
    )
}

//! The search for atomicity violations. What a violation is stands in
//! [`analyses::access_triple`](crate::analyses::access_triple); `blocks` finds blocks in a trace, `cycles` and `depend`
//! list the ways out of a block and back, [`serializability`] asks the [engine](crate::feasible) about them.

pub mod blocks;
mod cycles;
mod depend;
mod sections;
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

/// Whether a thread waits for others to do something by this operation: a block that does is not atomic. Waiting for a
/// lock does not count.
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

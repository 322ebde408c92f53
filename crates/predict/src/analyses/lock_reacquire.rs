//! A block that acquires a lock again after it gave it up (AtomFuzzer's pattern: Park and Sen, FSE 2008, Algorithm
//! 4.7). Another thread can take the lock in between. A pattern: whether any thread ever does is not asked.
//!
//! Deviation from the paper: a block that waits is not atomic. The paper takes every synchronized block for atomic and
//! names waits as a source of false warnings.

use reweave_model::{Claim, EventId, Kind, Pc};
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee};
use crate::linear::{Access, BlockEdge, Candidates, Linear, Lock, OpenBlocks, Sync, Thread, Touch, Word};
use crate::prediction::{Leaves, Prediction};

/// The analysis `lock-reacquire`.
pub struct Reacquire;

impl Analysis for Reacquire {
    fn about(&self) -> About {
        let summary = "atomic blocks that take a lock again (AtomFuzzer): patterns, may be false";
        About::new("lock-reacquire", Kind::Atomicity, Guarantee::Pattern, summary).claiming(Claim::LockTakenAgain)
    }

    fn pass(&self) -> Option<Box<dyn Linear>> {
        Some(Box::<LockReacquire>::default())
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.blocks(self.id(), Leaves::Everything)
    }
}

/// In one pass; keeps of each open block the locks that it gave up.
#[derive(Default)]
pub struct LockReacquire {
    blocks: OpenBlocks<Vec<Lock>>,
}

impl Linear for LockReacquire {
    fn access(&mut self, _: &Access, _: &[Touch]) {}
    fn accesses(&mut self, _: &[(Access, Touch)]) {}
    fn left_out(&mut self, _: u64) {}
    fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        for block in self.blocks.of(thread) {
            match sync {
                Sync::Acquire { lock, .. } if block.state.contains(&lock) => block.warn(event),
                Sync::Release { lock, .. } if !block.state.contains(&lock) => block.state.push(lock),
                _ => {}
            }
        }
    }
    fn block(&mut self, event: EventId, thread: Thread, pc: Pc, edge: BlockEdge) {
        self.blocks.edge(event, thread, pc, edge);
    }
    fn forget(&mut self, _: Word) {}
    fn finish(&mut self) -> Candidates {
        self.blocks.finish(0)
    }
}

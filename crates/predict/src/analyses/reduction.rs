//! Blocks that Lipton's reduction does not show to be atomic (Atomizer: Flanagan and Freund, POPL 2004).
//!
//! A block is atomic if it is any number of right movers (acquisitions), at most one non-mover, and any number of left
//! movers (releases, forks), with both-movers anywhere. Both-movers are accesses to memory that one thread alone uses,
//! that nobody writes once it is shared, or that a common lock protects (Eraser's states and locksets, Savage et al.
//! 1997). Other accesses, and atomic ones, are non-movers. A pattern: a block that this cannot show to be atomic may
//! well be.
//!
//! Deviations: words of eight bytes, so neighbours count as one; no special case for locks that one thread alone uses,
//! as in AtomFuzzer's evaluation, whose Program 6.2 is such a warning.

use reweave_model::{Claim, EventId, Kind, Pc};
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee};
use crate::linear::{
    Access, BlockEdge, Candidates, Linear, LocksetId, Locksets, OpenBlocks, Sync, Thread, Touch, Word, at,
};
use crate::prediction::{Leaves, Prediction};

/// The analysis `reduction`.
pub struct LiptonReduction;

impl Analysis for LiptonReduction {
    fn about(&self) -> About {
        let summary = "atomic blocks that Lipton's reduction does not show atomic: patterns, may be false";
        About::new("reduction", Kind::Atomicity, Guarantee::Pattern, summary).claiming(Claim::NotReducible)
    }

    fn pass(&self) -> Option<Box<dyn Linear>> {
        Some(Box::<Reduction>::default())
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.blocks(self.id(), Leaves::Everything)
    }
}

/// Eraser's state of a word.
#[derive(Clone, Copy, Default)]
enum Users {
    #[default]
    Nobody,
    One(Thread),
    Several {
        /// Held at every access since it is shared.
        locks: LocksetId,
        written: bool,
    },
}

/// A block on its way from right movers to left movers.
#[derive(Default)]
struct Phase {
    committed: bool,
}

/// In one pass; keeps a few bytes per word.
#[derive(Default)]
pub struct Reduction {
    blocks: OpenBlocks<Phase>,
    locksets: Locksets,
    words: Vec<Users>,
    dropped: u64,
}

impl Reduction {
    /// Whether an access commutes with whatever other threads do.
    #[inline]
    fn is_mover(&mut self, access: &Access, word: Word) -> bool {
        let held = self.locksets.held(access.thread);
        let users = at(&mut self.words, word.index());
        let writes = access.kind.writes();
        *users = match *users {
            Users::Nobody => Users::One(access.thread),
            Users::One(thread) if thread == access.thread => return true,
            Users::One(_) => Users::Several { locks: held, written: writes },
            Users::Several { locks, written } => {
                Users::Several { locks: self.locksets.common(locks, held), written: written | writes }
            }
        };
        match *users {
            Users::Several { locks, written } => !written || locks != LocksetId::default(),
            _ => true,
        }
    }
}

impl Linear for Reduction {
    #[inline]
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        let mut mover = access.kind.0 & crate::linear::AccessKind::ATOMIC == 0;
        for touch in touched {
            mover &= self.is_mover(access, touch.word);
        }
        if !mover {
            for block in self.blocks.of(access.thread) {
                if std::mem::replace(&mut block.state.committed, true) {
                    block.warn(access.event);
                }
            }
        }
    }

    fn left_out(&mut self, words: u64) {
        self.dropped += words;
    }

    fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        for block in self.blocks.of(thread) {
            match sync {
                Sync::Acquire { .. } if block.state.committed => block.warn(event),
                Sync::Release { .. } | Sync::Fork { .. } => block.state.committed = true,
                _ => {}
            }
        }
        self.locksets.sync(thread, sync);
    }

    fn block(&mut self, event: EventId, thread: Thread, pc: Pc, edge: BlockEdge) {
        self.blocks.edge(event, thread, pc, edge);
    }

    fn forget(&mut self, word: Word) {
        *at(&mut self.words, word.index()) = Users::Nobody;
    }

    fn finish(&mut self) -> Candidates {
        self.blocks.finish(self.dropped)
    }
}

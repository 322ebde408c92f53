//! Which blocks each thread is in, for analyses that look at one block at a time: the outermost declared one, and the
//! outermost critical section, which is taken for one that should be atomic.

use reweave_model::{EventId, Pc};

use super::hash::FastMap;
use super::order::at;
use super::{BlockEdge, Candidate, Candidates, Thread};

/// A block that has begun, and what an analysis keeps of it.
pub struct OpenBlock<S> {
    enter: EventId,
    pc: Pc,
    /// What is wrong with it: the first thing.
    warning: Option<EventId>,
    pub state: S,
}

impl<S> OpenBlock<S> {
    pub fn warn(&mut self, event: EventId) {
        self.warning.get_or_insert(event);
    }
}

struct Row<S> {
    depth: u32,
    declared: Option<OpenBlock<S>>,
    section: Option<OpenBlock<S>>,
}

impl<S> Default for Row<S> {
    fn default() -> Self {
        Self { depth: 0, declared: None, section: None }
    }
}

/// The open blocks of all threads, and the warnings of those that have ended, one for each place where blocks begin.
pub struct OpenBlocks<S> {
    rows: Vec<Row<S>>,
    found: FastMap<u64, Candidate>,
}

impl<S> Default for OpenBlocks<S> {
    fn default() -> Self {
        Self { rows: Vec::new(), found: FastMap::default() }
    }
}

impl<S: Default> OpenBlocks<S> {
    /// A block that waits is not atomic: it is dropped, and its warnings with it.
    pub fn edge(&mut self, event: EventId, thread: Thread, pc: Pc, edge: BlockEdge) {
        let row = at(&mut self.rows, thread.index());
        let fresh = || Some(OpenBlock { enter: event, pc, warning: None, state: S::default() });
        let ended = match edge {
            BlockEdge::Enter => {
                row.depth += 1;
                if row.depth == 1 {
                    row.declared = fresh();
                }
                None
            }
            BlockEdge::Exit => {
                row.depth = row.depth.saturating_sub(1);
                row.declared.take_if(|_| row.depth == 0)
            }
            BlockEdge::Lock => {
                row.section = fresh();
                None
            }
            BlockEdge::Unlock => row.section.take(),
            BlockEdge::Wait => {
                (row.declared, row.section) = (None, None);
                None
            }
        };
        if let Some(OpenBlock { enter, pc, warning: Some(second), .. }) = ended {
            let candidate = Candidate { first: enter, second, first_pc: pc, second_pc: Pc(0) };
            self.found.entry(pc.0).or_insert(candidate);
        }
    }

    /// The blocks that a thread is in.
    #[inline]
    pub fn of(&mut self, thread: Thread) -> impl Iterator<Item = &mut OpenBlock<S>> {
        self.rows.get_mut(thread.index()).into_iter().flat_map(|row| row.declared.iter_mut().chain(&mut row.section))
    }

    /// First the event that enters a block, then the one that the warning is about.
    pub fn finish(&mut self, dropped: u64) -> Candidates {
        let mut pairs: Vec<Candidate> = self.found.values().copied().collect();
        pairs.sort_unstable_by_key(|c| (c.second, c.first));
        Candidates { pairs, dropped, ..Candidates::default() }
    }
}

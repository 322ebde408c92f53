//! One prediction made by several processes that have the same trace: each runs a part of the streaming analyses, and asks
//! the engine about a part of the pairs. Chapter 7 of *Active Testing* (Park, 2012) splits a program's accesses over the
//! ranks that own the memory; a trace of threads has no owners, so here pairs of code positions are dealt out.
//!
//! Guarantee: the first process has the findings that one alone would have, as long as no time or memory runs out. What
//! others found it asks about again, to have the order that shows it: there are far more pairs than races.
//!
//! Everything that is told is a list of numbers; how they travel is somebody else's business.

use reweave_model::{EventId, Pc};

use crate::linear::{Candidate, FastSet};

/// The processes. Everybody calls [`Share::gather`] equally often.
pub trait Share: Sync + std::fmt::Debug {
    /// Which of them this is.
    fn me(&self) -> usize;
    fn everybody(&self) -> usize;
    /// Gives everybody the numbers of everybody, by process.
    fn gather(&self, numbers: Vec<u64>) -> Vec<Vec<u64>>;
}

/// The first process tells what was found.
pub(crate) fn is_first(share: Option<&dyn Share>) -> bool {
    share.is_none_or(|share| share.me() == 0)
}

/// Which process asks about a pair of code positions.
pub(crate) fn is_mine(share: &dyn Share, (first, second): (Pc, Pc)) -> bool {
    let mixed = (first.0 ^ second.0.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize % share.everybody() == share.me()
}

/// Numbers that are taken apart again in the order in which they were put together.
pub(crate) struct Numbers<'a>(std::slice::Iter<'a, u64>);

impl<'a> Numbers<'a> {
    pub fn new(numbers: &'a [u64]) -> Self {
        Self(numbers.iter())
    }

    pub fn next(&mut self) -> u64 {
        self.0.next().copied().unwrap_or(0)
    }

    /// A list, behind its length.
    pub fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let len = self.next().min(self.0.len() as u64);
        (0..len).map(|_| one(self)).collect()
    }

    pub fn events(&mut self) -> (EventId, EventId) {
        (EventId(self.next()), EventId(self.next()))
    }

    pub fn pcs(&mut self) -> (Pc, Pc) {
        (Pc(self.next()), Pc(self.next()))
    }

    pub fn candidate(&mut self) -> Candidate {
        let ((first, second), (first_pc, second_pc)) = (self.events(), self.pcs());
        Candidate { first, second, first_pc, second_pc }
    }
}

pub(crate) fn put_candidates(out: &mut Vec<u64>, all: &[Candidate]) {
    out.push(all.len() as u64);
    for Candidate { first, second, first_pc, second_pc } in all {
        out.extend([first.0, second.0, first_pc.0, second_pc.0]);
    }
}

pub(crate) fn put_pcs(out: &mut Vec<u64>, all: &FastSet<(Pc, Pc)>) {
    out.push(all.len() as u64);
    out.extend(all.iter().flat_map(|(first, second)| [first.0, second.0]));
}

//! Clocks of transactions. Entry `t` of a clock says up to which block of thread `t` is known.
//!
//! What remembers a transaction (a word, a lock) remembers the number of its clock. The clock of a block grows until
//! the block ends, for all who remember it; that of events outside blocks is copied before it grows. Clocks that nobody
//! remembers are collected now and then, so that there are never more than twice as many as are needed.

use crate::linear::Thread;

/// The number of a clock.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Slot(pub u32);

impl Slot {
    pub const NONE: Self = Self(u32::MAX);

    fn index(self) -> usize {
        self.0 as usize
    }
}

pub struct Clocks {
    /// Entries per clock.
    // invariant: more than the number of every thread seen
    stride: usize,
    entries: Vec<u32>,
    owners: Vec<Thread>,
    /// Somebody else than its owner remembers it.
    remembered: Vec<bool>,
    /// Clocks until the next collection, and at least so many.
    limit: usize,
    least: usize,
}

const LEAST: usize = 1 << 12;

impl Default for Clocks {
    fn default() -> Self {
        Self::with_least(LEAST)
    }
}

impl Clocks {
    pub fn with_least(least: usize) -> Self {
        let (entries, owners, remembered) = Default::default();
        Self { stride: 4, entries, owners, remembered, limit: least, least }
    }

    pub fn owner(&self, slot: Slot) -> Thread {
        self.owners[slot.index()]
    }

    #[inline]
    pub fn get(&self, slot: Slot, thread: Thread) -> u32 {
        self.entries[slot.index() * self.stride + thread.index()]
    }

    pub fn set(&mut self, slot: Slot, thread: Thread, number: u32) {
        self.entries[slot.index() * self.stride + thread.index()] = number;
    }

    #[inline]
    pub fn remember(&mut self, slot: Slot) {
        self.remembered[slot.index()] = true;
    }

    pub fn is_remembered(&self, slot: Slot) -> bool {
        self.remembered[slot.index()]
    }

    /// Makes room for a thread.
    pub fn admit(&mut self, thread: Thread) {
        if thread.index() < self.stride {
            return;
        }
        let wider = (thread.index() + 1).next_power_of_two();
        let mut entries = vec![0; self.owners.len() * wider];
        for (to, from) in entries.chunks_exact_mut(wider).zip(self.entries.chunks_exact(self.stride)) {
            to[..self.stride].copy_from_slice(from);
        }
        (self.entries, self.stride) = (entries, wider);
    }

    /// A copy of a clock, or a clock that knows nothing.
    pub fn make(&mut self, owner: Thread, from: Slot) -> Slot {
        let slot = Slot(self.owners.len() as u32);
        self.owners.push(owner);
        self.remembered.push(false);
        if from == Slot::NONE {
            self.entries.resize(self.entries.len() + self.stride, 0);
        } else {
            let at = from.index() * self.stride;
            self.entries.extend_from_within(at..at + self.stride);
        }
        slot
    }

    /// Whether the second knows all that the first knows.
    #[inline]
    pub fn is_known(&self, slot: Slot, to: Slot) -> bool {
        let clock = |slot: Slot| &self.entries[slot.index() * self.stride..][..self.stride];
        clock(slot).iter().zip(clock(to)).all(|(theirs, mine)| theirs <= mine)
    }

    pub fn join(&mut self, into: Slot, from: Slot) {
        for i in 0..self.stride {
            let theirs = self.entries[from.index() * self.stride + i];
            let mine = &mut self.entries[into.index() * self.stride + i];
            *mine = (*mine).max(theirs);
        }
    }

    pub fn is_crowded(&self) -> bool {
        self.owners.len() > self.limit
    }

    /// Keeps those that `each` names to its visitor, and renumbers them there.
    pub fn collect(&mut self, mut each: impl FnMut(&mut dyn FnMut(&mut Slot))) {
        let mut new = vec![Slot::NONE; self.owners.len()];
        let mut kept = Vec::new();
        each(&mut |slot| {
            if *slot == Slot::NONE {
                return;
            }
            let to = &mut new[slot.index()];
            if *to == Slot::NONE {
                *to = Slot(kept.len() as u32);
                kept.push(*slot);
            }
            *slot = *to;
        });
        let mut entries = Vec::with_capacity(kept.len() * self.stride);
        for old in &kept {
            entries.extend_from_slice(&self.entries[old.index() * self.stride..][..self.stride]);
        }
        self.entries = entries;
        self.owners = kept.iter().map(|old| self.owners[old.index()]).collect();
        self.remembered = kept.iter().map(|old| self.remembered[old.index()]).collect();
        self.limit = self.least.max(2 * kept.len());
    }
}

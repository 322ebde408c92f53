//! Finds the accesses of a word that a partial order leaves unordered with a new one, for any order with epochs.
//!
//! As in FastTrack (Flanagan, Freund 2009), an epoch of a thread ends where others can learn of it, so that knowing an
//! epoch is knowing all accesses in it. Unlike there, every pair of code positions is found, not only the first race of
//! a location: the last access of each thread, code position, kind and set of bytes is kept (an earlier one is unordered
//! only if the last one is).
//!
//! Memory: words × threads that touch them × code positions; independent of the length of the trace.

use reweave_model::EventId;

use super::order::at;
use super::{Access, AccessKind, PcId, Pcs, Thread, Touch, VectorClock, Word};

/// Accesses of one thread kept per word; of more code positions the oldest is forgotten and counted.
const MAX_KEPT: usize = 256;

/// The last access of its kind.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub event: EventId,
    pub pc: PcId,
    pub epoch: u32,
    pub mask: u8,
    pub kind: AccessKind,
}

/// What a thread did with a word.
struct Slot {
    thread: Thread,
    /// The epoch of the last access.
    last: u32,
    one: Kept,
    more: Vec<Kept>,
}

#[derive(Default)]
struct State {
    // invariant: the first `fresh` are those with accesses since `gate`, which is ordered after all of the others
    slots: Vec<Slot>,
    fresh: u32,
    /// The last access that was ordered after everything at this word. Who knows it knows all before it.
    gate: (Thread, u32),
}

#[derive(Default)]
pub struct Races {
    words: Vec<State>,
    pub pcs: Pcs,
}

impl Races {
    /// Takes an access at the given epoch of a thread whose clock is given; the pairs go to `pcs`.
    #[inline]
    pub fn access(&mut self, access: &Access, touched: &[Touch], epoch: u32, clock: &VectorClock) {
        let pc = self.pcs.id(access.pc);
        for touch in touched {
            let new = Kept { event: access.event, pc, epoch, mask: touch.mask, kind: access.kind };
            let state = at(&mut self.words, touch.word.index());
            state.access(access.thread, new, clock, &mut self.pcs);
        }
    }

    pub fn forget(&mut self, word: Word) {
        if let Some(state) = self.words.get_mut(word.index()) {
            *state = State::default();
        }
    }
}

impl State {
    #[inline]
    fn access(&mut self, thread: Thread, new: Kept, clock: &VectorClock, pcs: &mut Pcs) {
        let mut mine = self.slots.iter().position(|slot| slot.thread == thread);
        if let Some(at) = mine
            && self.slots[at].has(&new)
        {
            // Whoever came in between did not know this epoch: the pair has been found there.
            return;
        }
        let (gate, gate_epoch) = self.gate;
        // Who knows the gate need not look at what is older.
        let to_check = if gate_epoch <= clock.get(gate) { self.fresh as usize } else { self.slots.len() };
        let mut ordered = true;
        for slot in &self.slots[..to_check] {
            if slot.last > clock.get(slot.thread) && slot.thread != thread {
                ordered = false;
                slot.unordered(&new, clock.get(slot.thread), pcs);
            }
        }
        match mine {
            Some(at) => self.slots[at].put(new, &mut pcs.dropped),
            None => {
                self.slots.push(Slot { thread, last: new.epoch, one: new, more: Vec::new() });
                mine = Some(self.slots.len() - 1);
            }
        }
        let at = mine.unwrap_or_default();
        if ordered {
            self.gate = (thread, new.epoch);
            self.slots.swap(at, 0);
            self.fresh = 1;
        } else if at >= self.fresh as usize {
            self.slots.swap(at, self.fresh as usize);
            self.fresh += 1;
        }
    }
}

impl Slot {
    /// Whether the same was done in the same epoch.
    #[inline]
    fn has(&self, new: &Kept) -> bool {
        let same = |kept: &Kept| {
            kept.epoch == new.epoch && kept.pc == new.pc && kept.mask == new.mask && kept.kind == new.kind
        };
        self.last == new.epoch && (same(&self.one) || self.more.iter().any(same))
    }

    fn put(&mut self, new: Kept, dropped: &mut u64) {
        self.last = new.epoch;
        let same = |kept: &Kept| kept.pc == new.pc && kept.mask == new.mask && kept.kind == new.kind;
        if same(&self.one) {
            self.one = new;
        } else if let Some(kept) = self.more.iter_mut().find(|kept| same(kept)) {
            *kept = new;
        } else if self.more.len() < MAX_KEPT {
            self.more.push(new);
        } else {
            *dropped += 1;
            self.more.remove(0);
            self.more.push(new);
        }
    }

    /// Reports what is in a later epoch than the known one and conflicts.
    fn unordered(&self, new: &Kept, known: u32, pcs: &mut Pcs) {
        for old in std::iter::once(&self.one).chain(&self.more) {
            if old.epoch > known && old.mask & new.mask != 0 && old.kind.conflicts(new.kind) {
                pcs.add((old.event, old.pc), (new.event, new.pc));
            }
        }
    }
}

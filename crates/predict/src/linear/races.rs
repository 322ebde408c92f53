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
    /// The event, then eight bits of mask and eight of kind: a quarter of a cache line in all.
    event_mask_kind: u64,
    pc: PcId,
    epoch: u32,
}

const _: () = assert!(size_of::<Kept>() == 16);

impl Kept {
    fn new(event: EventId, mask: u8, kind: AccessKind, pc: PcId, epoch: u32) -> Self {
        Self { event_mask_kind: event.0 << 16 | u64::from(mask) << 8 | u64::from(kind.0), pc, epoch }
    }
    /// No access at all: it has no bytes.
    const NOTHING: Self = Self { event_mask_kind: 0, pc: PcId(u32::MAX), epoch: 0 };

    fn event(&self) -> EventId {
        EventId(self.event_mask_kind >> 16)
    }
    fn mask(&self) -> u8 {
        (self.event_mask_kind >> 8) as u8
    }
    fn kind(&self) -> AccessKind {
        AccessKind(self.event_mask_kind as u8)
    }
    #[inline]
    fn same(&self, other: &Self) -> bool {
        self.pc == other.pc && (self.event_mask_kind ^ other.event_mask_kind) as u16 == 0
    }
}

/// What a thread did with a word.
struct Slot {
    /// Nearly always enough.
    two: [Kept; 2],
    more: Vec<Kept>,
}

/// A thread that touched a word, and the epoch of its last access: all that is needed to see that it is ordered.
#[derive(Clone, Copy)]
struct Head {
    thread: Thread,
    last: u32,
    /// Where its slot is: slots stay where they are.
    slot: u32,
}

#[derive(Default)]
struct State {
    // invariant: the first `fresh` are those with accesses since `gate`, which is ordered after all of the others
    heads: Vec<Head>,
    // invariant: as long as `heads`
    slots: Vec<Slot>,
    fresh: u32,
    /// Thread and epoch of the last access that was ordered after everything at this word: who knows it knows all before.
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
            let new = Kept::new(access.event, touch.mask, access.kind, pc, epoch);
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
        let mine = self.heads.iter().position(|head| head.thread == thread);
        if let Some(at) = mine
            && self.heads[at].last == new.epoch
            && self.slots[self.heads[at].slot as usize].has(&new)
        {
            // Whoever came in between did not know this epoch: the pair has been found there.
            return;
        }
        // Who knows the gate need not look at what is older.
        let (gate, gate_epoch) = self.gate;
        let to_check = if gate_epoch <= clock.get(gate) { self.fresh as usize } else { self.heads.len() };
        let mut ordered = true;
        for head in &self.heads[..to_check] {
            let known = clock.get(head.thread);
            if head.last > known && head.thread != thread {
                ordered = false;
                self.slots[head.slot as usize].unordered(&new, known, pcs);
            }
        }
        let at = match mine {
            Some(at) => {
                let head = &mut self.heads[at];
                head.last = new.epoch;
                self.slots[head.slot as usize].put(new, &mut pcs.dropped);
                at
            }
            None => {
                self.heads.push(Head { thread, last: new.epoch, slot: self.slots.len() as u32 });
                self.slots.push(Slot { two: [new, Kept::NOTHING], more: Vec::new() });
                self.heads.len() - 1
            }
        };
        if ordered {
            self.gate = (thread, new.epoch);
            self.heads.swap(at, 0);
            self.fresh = 1;
        } else if at >= self.fresh as usize {
            self.heads.swap(at, self.fresh as usize);
            self.fresh += 1;
        }
    }
}

impl Slot {
    /// Whether the same was done in the same epoch.
    #[inline]
    fn has(&self, new: &Kept) -> bool {
        self.two.iter().chain(&self.more).any(|kept| kept.epoch == new.epoch && kept.same(new))
    }

    #[inline]
    fn put(&mut self, new: Kept, dropped: &mut u64) {
        let free = |kept: &Kept| kept.same(&new) || kept.mask() == 0;
        match self.two.iter_mut().find(|kept| free(kept)) {
            Some(kept) => *kept = new,
            None => self.put_more(new, dropped),
        }
    }

    fn put_more(&mut self, new: Kept, dropped: &mut u64) {
        if let Some(kept) = self.more.iter_mut().find(|kept| kept.same(&new)) {
            *kept = new;
            return;
        }
        if self.more.len() >= MAX_KEPT {
            *dropped += 1;
            self.more.remove(0);
        }
        self.more.push(new);
    }

    /// Reports what is in a later epoch than the known one and conflicts.
    fn unordered(&self, new: &Kept, known: u32, pcs: &mut Pcs) {
        for old in self.two.iter().chain(&self.more) {
            if old.epoch > known && old.mask() & new.mask() != 0 && old.kind().conflicts(new.kind()) {
                pcs.add((old.event(), old.pc), (new.event(), new.pc));
            }
        }
    }
}

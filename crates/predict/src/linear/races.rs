//! Finds the accesses of a word that a partial order leaves unordered with a new one, for any order with epochs.
//!
//! As in FastTrack (Flanagan, Freund 2009), an epoch of a thread ends where others can learn of it, so that knowing an
//! epoch is knowing all accesses in it. Unlike there, every pair of code positions is found, not only the first race of
//! a location: the last access of each thread, code position, kind and set of bytes is kept (an earlier one is
//! unordered only if the last one is).
//!
//! Memory: words × threads that touch them × code positions; independent of the length of the trace.

use std::collections::hash_map::Entry;

use reweave_model::EventId;

use super::hash::FastMap;
use super::order::at;
use super::{Access, AccessKind, PcId, Pcs, Thread, Touch, VectorClock, Word};

/// Places for accesses of one thread to a word, at first and at most; of more code positions another one is forgotten
/// and counted.
const FIRST_TABLE: usize = 4;
const LAST_TABLE: usize = 512;
/// Places that are looked at for an access.
const PROBES: usize = 8;

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
    /// Where the table of a slot has it first.
    #[inline]
    fn hash(&self) -> usize {
        let mixed = (self.pc.0 ^ (self.event_mask_kind as u16 as u32) << 16).wrapping_mul(0x9e37_79b9);
        (mixed >> 16) as usize
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

/// What a thread did with a word: one cache line.
#[repr(align(64))]
struct Slot {
    thread: Thread,
    /// The epoch of its last access: all that is needed to see that it is ordered.
    last: u32,
    /// Nearly always enough.
    two: [Kept; 2],
    /// A hash table; its free places hold [`Kept::NOTHING`].
    // invariant: its length is 0 or a power of two of at least FIRST_TABLE
    more: Vec<Kept>,
}

/// Threads below this find their slot without searching: as many as the cache line has room for.
const NEAR: usize = 23;

/// A word: one cache line.
#[derive(Default)]
#[repr(align(64))]
struct State {
    /// One for each thread, in the order of their first accesses.
    slots: Vec<Slot>,
    /// The last access that was ordered after everything at this word: who knows it knows all before.
    gate: Moment,
    /// The last write, if it was ordered after everything before: who knows it knows all writes.
    write_gate: Moment,
    /// There are accesses since `gate`.
    contended: bool,
    /// One more than the place of the slot of each low thread; 0 if it has none or it is in [`Races::far`].
    near: [u8; NEAR],
}

const _: () = assert!(size_of::<Slot>() == 64 && size_of::<State>() == 64);

#[derive(Clone, Copy, Default)]
struct Moment {
    thread: Thread,
    epoch: u32,
}

impl Moment {
    /// Nobody knows it.
    const NEVER: Self = Self { thread: Thread(0), epoch: u32::MAX };

    #[inline]
    fn is_known(self, clock: &VectorClock) -> bool {
        self.epoch <= clock.get(self.thread)
    }
}

#[derive(Default)]
pub struct Races {
    words: Vec<State>,
    /// The places of slots that are not in [`State::near`].
    far: FastMap<(Word, Thread), u32>,
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
            let place = match state.near.get(access.thread.index()) {
                Some(&near) if near != 0 => near as usize - 1,
                _ => place_of(state, &mut self.far, touch.word, access.thread),
            };
            state.access(place, access.thread, new, clock, &mut self.pcs);
        }
    }

    /// Fetches what the access of a thread to a word will look at.
    #[inline]
    pub fn expect(&self, thread: Thread, word: Word) {
        if let Some(state) = self.words.get(word.index()) {
            // Of a thread without a slot any line will do: a branch here would wait for memory.
            let place = state.near.get(thread.index()).map_or(0, |near| near.wrapping_sub(1));
            prefetch(state.slots.as_ptr().wrapping_add(place as usize));
        }
    }

    /// As [`Races::expect`], when what that fetched is there.
    #[inline]
    pub fn expect_more(&self, access: &Access, touch: Touch) {
        let Some(state) = self.words.get(touch.word.index()) else { return };
        let near = state.near.get(access.thread.index()).map_or(0, |near| *near);
        let Some(slot) = state.slots.get(near.wrapping_sub(1) as usize) else { return };
        if !slot.more.is_empty()
            && let Some(pc) = self.pcs.recent(access.pc)
        {
            let place = Kept::new(access.event, touch.mask, access.kind, pc, 0).hash() & (slot.more.len() - 1);
            prefetch(&raw const slot.more[place]);
        }
    }

    pub fn forget(&mut self, word: Word) {
        if let Some(state) = self.words.get_mut(word.index()) {
            for slot in &state.slots {
                self.far.remove(&(word, slot.thread));
            }
            *state = State::default();
        }
    }
}

/// Asks for a cache line. The address need not be a valid one.
#[inline]
fn prefetch<T>(address: *const T) {
    // SAFETY: a prefetch never faults and changes nothing but caches.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Finds or makes the slot of a thread that is not in the table of near ones.
#[inline(never)]
fn place_of(state: &mut State, far: &mut FastMap<(Word, Thread), u32>, word: Word, thread: Thread) -> usize {
    let next = state.slots.len();
    match state.near.get_mut(thread.index()) {
        Some(near) if next < u8::MAX as usize => *near = next as u8 + 1,
        _ => match far.entry((word, thread)) {
            Entry::Occupied(place) => return *place.get() as usize,
            Entry::Vacant(place) => drop(place.insert(next as u32)),
        },
    }
    if next < 3 {
        // Most words belong to one thread, nearly all others to two.
        state.slots.reserve_exact(1);
    }
    state.slots.push(Slot { thread, last: 0, two: [Kept::NOTHING; 2], more: Vec::new() });
    next
}

impl State {
    #[inline]
    fn access(&mut self, place: usize, thread: Thread, new: Kept, clock: &VectorClock, pcs: &mut Pcs) {
        if self.slots[place].has(&new) {
            // Whoever came in between did not know this epoch: the pair has been found there.
            return;
        }
        let ordered = !self.contended && self.gate.is_known(clock) || self.compare(thread, &new, clock, pcs);
        let slot = &mut self.slots[place];
        slot.last = new.epoch;
        slot.put(new, &mut pcs.dropped);
        self.contended = !ordered;
        let now = Moment { thread, epoch: new.epoch };
        if ordered {
            self.gate = now;
        }
        if new.kind().writes() {
            self.write_gate = if ordered { now } else { Moment::NEVER };
        }
    }

    /// Reports what is unordered with the new access and conflicts. Returns whether it is known to be after everything.
    #[inline(never)]
    fn compare(&self, thread: Thread, new: &Kept, clock: &VectorClock, pcs: &mut Pcs) -> bool {
        // What many threads read need not be looked through by each of them.
        if !new.kind().writes() && self.write_gate.is_known(clock) {
            return false;
        }
        let mut ordered = true;
        for slot in &self.slots {
            let known = clock.get(slot.thread);
            if slot.last > known && slot.thread != thread {
                ordered = false;
                slot.unordered(new, known, pcs);
            }
        }
        ordered
    }
}

impl Slot {
    /// The one of the two that is for such an access, if either is. Chosen without a branch: nobody could predict it.
    #[inline]
    fn one_of_two(&mut self, new: &Kept) -> &mut Kept {
        let second = !self.two[0].same(new) && self.two[0].mask() != 0;
        &mut self.two[usize::from(second)]
    }

    /// Whether the same was done in the same epoch.
    #[inline]
    fn has(&mut self, new: &Kept) -> bool {
        // Epochs grow: what is kept is of the last one or of earlier ones.
        if self.last != new.epoch {
            return false;
        }
        let is = |kept: &Kept| kept.epoch == new.epoch && kept.same(new);
        is(self.one_of_two(new)) || !self.more.is_empty() && self.place_in_table(new).is_some_and(|place| is(place))
    }

    #[inline]
    fn put(&mut self, new: Kept, dropped: &mut u64) {
        let one = self.one_of_two(&new);
        if one.same(&new) || one.mask() == 0 {
            *one = new;
        } else {
            self.put_more(new, dropped);
        }
    }

    /// The place for such an access in the table: its own, or a free one.
    #[inline]
    fn place_in_table(&mut self, new: &Kept) -> Option<&mut Kept> {
        let (places, first) = (self.more.len(), new.hash());
        let place = (first..first + PROBES.min(places)).map(|place| place & (places - 1));
        let is_it = |place: &usize| self.more[*place].mask() == 0 || self.more[*place].same(new);
        let place = place.into_iter().find(is_it)?;
        Some(&mut self.more[place])
    }

    #[inline(never)]
    fn put_more(&mut self, new: Kept, dropped: &mut u64) {
        if self.more.is_empty() {
            self.more = vec![Kept::NOTHING; FIRST_TABLE];
        }
        loop {
            if let Some(place) = self.place_in_table(&new) {
                *place = new;
                return;
            }
            if self.more.len() >= LAST_TABLE {
                *dropped += 1;
                let place = new.hash() & (self.more.len() - 1);
                self.more[place] = new;
                return;
            }
            self.grow(dropped);
        }
    }

    /// Doubles the table.
    fn grow(&mut self, dropped: &mut u64) {
        let old = std::mem::take(&mut self.more);
        self.more = vec![Kept::NOTHING; 2 * old.len()];
        for kept in old.into_iter().filter(|kept| kept.mask() != 0) {
            match self.place_in_table(&kept) {
                Some(place) => *place = kept,
                None => *dropped += 1,
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::Pc;

    #[test]
    fn a_word_that_two_threads_use_takes_room_for_two() {
        let (mut races, clock) = (Races::default(), VectorClock::default());
        let touched = [Touch { word: Word(0), mask: 0xff }];
        for (event, (thread, place)) in (0..2).flat_map(|thread| (0..5).map(move |place| (thread, place))).enumerate() {
            let (event, thread) = (EventId(event as u64), Thread(thread));
            let access = Access { event, thread, pc: Pc(place), kind: AccessKind::READ };
            races.access(&access, &touched, 1, &clock);
        }
        let slots = &races.words[0].slots;
        assert_eq!((slots.len(), slots.capacity()), (2, 2));
        let tables: Vec<usize> = slots.iter().map(|slot| slot.more.len()).collect();
        assert_eq!(tables, [4, 4], "two of the five places lie in the slot");
    }
}

//! The quick check: locksets and weak happens-before (O'Callahan and Choi's hybrid detection, PPoPP 2003; Eraser's
//! locksets).
//!
//! Candidates are conflicting pairs that no common lock keeps apart (exclusive on at least one side) and that no chain
//! of *firm* edges orders: program order, fork, join, send to receive, barriers with as many users as they count.
//! Neither locks nor notifies nor semaphores order anything, since another interleaving may turn them round.
//!
//! Complete, not sound: every race of every feasible reordering is among the candidates, as long as nothing was
//! dropped.
//!
//! Memory: for each word one entry per thread, code position, lockset, kind and bytes. Of two entries that differ only
//! in their epoch the later one is unordered with all that the earlier one is, so that the earlier one goes.

use reweave_model::{Claim, EventId, Kind, Pc};
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee, Watching};
use crate::linear::{
    Access, AccessKind, Candidates, Edges, FastMap, Gone, Linear, LocksetId, Locksets, Order, PcId, Pcs, Sync, Thread,
    Touch, Word,
};
use crate::prediction::{Prediction, Shows};

/// The analysis `lockset`.
pub struct Lockset;

impl Analysis for Lockset {
    fn about(&self) -> About {
        let summary = "no common lock and no order that every run keeps: patterns, may be false";
        About::new("lockset", Kind::Race, Guarantee::Complete, summary).claiming(Claim::NoCommonLock).listing_only()
    }

    fn pass(&self) -> Option<Box<dyn Linear>> {
        Some(Box::<LocksetRaces>::default())
    }
    fn watching(&self) -> Option<Watching> {
        Some(Watching { is_default: false, ..Watching::new(|| Box::<LocksetRaces>::default()) })
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.races(self.id(), Shows::ByName)
    }
}

/// Entries per word and thread; beyond this they are not kept, and counted.
const MAX_KEPT: usize = 1024;

#[derive(Clone, Copy)]
struct Kept {
    event: EventId,
    epoch: u32,
    key: Key,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    pc: PcId,
    locks: LocksetId,
    mask: u8,
    kind: AccessKind,
    /// It held locks that are gone, so that it was compared with less than a new access under the others would be.
    held_more: bool,
}

struct Slot {
    thread: Thread,
    // invariant: without locks
    bare: Vec<Kept>,
    // invariant: each with locks
    locked: Vec<Kept>,
    /// The locks that all of `locked` were under: whoever is kept apart by these need not look at them.
    common: LocksetId,
}

impl Slot {
    const fn new(thread: Thread) -> Self {
        Self { thread, bare: Vec::new(), locked: Vec::new(), common: NONE }
    }

    /// Where an access under these locks is kept.
    const fn list(&mut self, locks: LocksetId) -> &mut Vec<Kept> {
        if locks.0 == NONE.0 { &mut self.bare } else { &mut self.locked }
    }
}

const NONE: LocksetId = LocksetId(0);

/// A pair that was found, the earlier access first.
#[derive(Clone, Copy)]
pub(super) struct UnlockedPair {
    pub first: (Thread, EventId, PcId),
    pub second: (Thread, EventId, PcId),
}

pub struct LocksetRaces {
    order: Order,
    locksets: Locksets,
    words: Vec<Vec<Slot>>,
    pub(super) pcs: Pcs,
    /// Pairs that are new, if somebody wants to know.
    pub(super) found: Option<Vec<UnlockedPair>>,
    /// Pairs of code positions that a common lock keeps apart, the smaller number first, if somebody wants to know.
    pub(super) protected: Option<FastMap<(u32, u32), ()>>,
}

impl Default for LocksetRaces {
    fn default() -> Self {
        Self {
            order: Order::along(Edges::Firm),
            locksets: Locksets::default(),
            words: Vec::new(),
            pcs: Pcs::default(),
            found: None,
            protected: None,
        }
    }
}

impl LocksetRaces {
    // Always: what runs this inside itself is to cost what this costs.
    #[inline(always)]
    fn touch(&mut self, thread: Thread, word: Word, new: Kept) {
        if self.words.len() <= word.index() {
            self.words.resize_with(word.index() + 1, Vec::new);
        }
        let slots = &mut self.words[word.index()];
        let mine = match slots.iter().position(|slot| slot.thread == thread) {
            Some(place) => place,
            None => {
                slots.push(Slot::new(thread));
                slots.len() - 1
            }
        };
        let own = slots[mine].list(new.key.locks);
        let same = own.iter().position(|kept| kept.key == new.key);
        if let Some(place) = same
            && own[place].epoch == new.epoch
        {
            // Whoever came in between did not know this epoch: the pair has been found there.
            return;
        }
        let clock = self.order.clock(thread);
        for slot in slots.iter().filter(|slot| slot.thread != thread) {
            let known = clock.get(slot.thread);
            let is_apart = self.protected.is_none() && self.locksets.exclude(slot.common, new.key.locks);
            let locked = if is_apart { &[] } else { &slot.locked[..] };
            for old in slot.bare.iter().chain(locked) {
                if old.epoch > known && old.key.mask & new.key.mask != 0 && old.key.kind.conflicts(new.key.kind) {
                    let (first, second) = ((old.event, old.key.pc), (new.event, new.key.pc));
                    if self.locksets.exclude(old.key.locks, new.key.locks) {
                        if let Some(protected) = &mut self.protected {
                            let (one, two) = (old.key.pc.0, new.key.pc.0);
                            protected.insert((one.min(two), one.max(two)), ());
                        }
                    } else if self.pcs.add(first, second)
                        && let Some(found) = &mut self.found
                    {
                        let first = (slot.thread, old.event, old.key.pc);
                        found.push(UnlockedPair { first, second: (thread, new.event, new.key.pc) });
                    }
                }
            }
        }
        let mine = &mut slots[mine];
        let full = mine.bare.len() + mine.locked.len() >= MAX_KEPT;
        let is_first = mine.locked.is_empty();
        let kept = mine.list(new.key.locks);
        match same {
            Some(place) => {
                kept[place] = new;
                // Loops come back to the same few: keep them where the search begins.
                kept.swap(place, 0);
            }
            None if full => self.pcs.dropped += 1,
            None => {
                kept.push(new);
                if new.key.locks != NONE {
                    let locks = new.key.locks;
                    mine.common = if is_first { locks } else { self.locksets.common(mine.common, locks) };
                }
            }
        }
    }

    /// Accesses that come from now on are compared even if the like of them were.
    pub(super) fn compare_again(&mut self) {
        self.order.tick_all();
    }

    fn kept(&mut self, event: EventId, thread: Thread, pc: Pc, kind: AccessKind) -> Kept {
        let key = Key { pc: self.pcs.id(pc), locks: self.locksets.held(thread), mask: 0, kind, held_more: false };
        Kept { event, epoch: self.order.epoch(thread), key }
    }
}

/// What differed only in locks that are gone is the same now: the later one stays.
fn only_latest(all: &mut Vec<Kept>) {
    all.sort_by_key(|kept| std::cmp::Reverse((kept.epoch, kept.event)));
    let mut seen: Vec<Key> = Vec::new();
    all.retain(|kept| !seen.contains(&kept.key) && (seen.push(kept.key), true).1);
}

impl Linear for LocksetRaces {
    #[inline]
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        let kept = self.kept(access.event, access.thread, access.pc, access.kind);
        for touch in touched {
            let key = Key { mask: touch.mask, ..kept.key };
            self.touch(access.thread, touch.word, Kept { key, ..kept });
        }
    }

    #[inline(never)]
    fn accesses(&mut self, batch: &[(Access, Touch)]) {
        for (access, touch) in batch {
            let kept = self.kept(access.event, access.thread, access.pc, access.kind);
            let key = Key { mask: touch.mask, ..kept.key };
            self.touch(access.thread, touch.word, Kept { key, ..kept });
        }
    }

    fn left_out(&mut self, words: u64) {
        self.pcs.dropped += words;
    }

    // Part of what runs this inside itself: a call for every operation on a lock is a third of what that adds.
    #[inline(always)]
    fn sync(&mut self, _: EventId, thread: Thread, sync: Sync) {
        self.order.epoch(thread);
        self.order.sync(thread, sync);
        self.locksets.sync(thread, sync);
        if matches!(sync, Sync::Fork { .. } | Sync::Join { .. } | Sync::Publish { firm: true, .. }) {
            self.order.end_epochs(thread, sync);
        }
    }

    fn forget(&mut self, word: Word) {
        if let Some(slots) = self.words.get_mut(word.index()) {
            slots.clear();
        }
    }

    fn retire(&mut self, gone: Gone<'_>) -> bool {
        self.order.retire(gone);
        let mut renumbered = std::mem::take(&mut self.locksets).without(gone);
        for slot in self.words.iter_mut().flatten() {
            let mut changed = false;
            for kept in &mut slot.locked {
                let (locks, lost) = renumbered.id(kept.key.locks);
                kept.key = Key { locks, held_more: kept.key.held_more || lost, ..kept.key };
                changed |= lost;
            }
            if changed {
                slot.bare.extend(slot.locked.extract_if(.., |kept| kept.key.locks == NONE));
                only_latest(&mut slot.bare);
                only_latest(&mut slot.locked);
            }
            // A lock that is gone excludes nobody any more.
            slot.common = renumbered.id(slot.common).0;
        }
        self.locksets = renumbered.done();
        true
    }

    fn news(&mut self) -> Candidates {
        self.pcs.news()
    }

    fn finish(&mut self) -> Candidates {
        self.pcs.finish()
    }
}

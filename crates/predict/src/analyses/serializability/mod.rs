//! Conflict serializability of the observed order in linear time (AeroDrome: Mathur and Viswanathan, ASPLOS 2020).
//!
//! Finds a violated block if and only if the graph over transactions of the trace has a cycle, at the latest when a
//! block of the cycle ends. What it names is true of the recorded run; what other orders of the same events do,
//! [`atomicity`](crate::search::atomicity) asks. After the first one the offending dependence is left out and the
//! search goes on: later blocks are found as far as the rest shows them.
//!
//! A clock per transaction says which blocks come before it. A block comes after itself if it takes over a clock that
//! knows it, or if a block ends and what it knows is passed on to all who know that block. Deviations from the paper:
//! words and locks refer to the clock of their last transaction instead of having copies, so a block that ends touches
//! only those that heard of it while it was open; events outside blocks need no number of their own. Edges are data
//! conflicts byte by byte (atomics included), release to acquire, and what every reordering keeps (fork, join, send,
//! full barriers). A block that waits (for a notify, a barrier, a thread…) is not atomic: it ends there and nothing is
//! said of it.

mod clocks;

use reweave_model::{EventId, Kind, LockMode, Pc};
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee, Questions};
use crate::linear::{Access, BlockEdge, Candidate, Candidates, FastMap, Linear, Sync, Thread, Touch, Word, at};
use crate::prediction::{Leaves, Prediction};
use crate::search::SearchLimits;
use crate::search::atomicity::serializability::Pattern;
use clocks::{Clocks, Slot};

/// The analysis `serializability`: looks at the observed order, and asks about all others.
pub struct ConflictSerializability;

impl Analysis for ConflictSerializability {
    fn about(&self) -> About {
        let summary = "every order of the trace in which an atomic block could not have run in one go";
        About::new("serializability", Kind::Atomicity, Guarantee::SoundAndComplete, summary).by_default()
    }

    fn asks(&self, _: &SearchLimits<'_>) -> Option<Questions> {
        Some(Questions::Blocks(Pattern::Any))
    }
    fn pass(&self) -> Option<Box<dyn Linear>> {
        Some(Box::<Serializability>::default())
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.blocks(self.id(), Leaves::Unviolated)
    }
}

/// Who was at some bytes of a word.
#[derive(Clone, Copy)]
struct Entry {
    slot: Slot,
    thread: Thread,
    mask: u8,
    writes: bool,
}

/// A block that has begun.
struct Open {
    number: u32,
    enter: EventId,
    pc: Pc,
    /// Where it was found to come after itself.
    violated: Option<(EventId, Pc)>,
    /// Clocks that heard of it.
    knowers: Vec<Slot>,
}

struct Row {
    slot: Slot,
    open: Option<Open>,
    /// Blocks within each other.
    depth: u32,
    /// The last clock of each other thread that it took over.
    seen: Vec<Slot>,
}

impl Default for Row {
    fn default() -> Self {
        Self { slot: Slot::NONE, open: None, depth: 0, seen: Vec::new() }
    }
}

#[derive(Clone)]
struct LockSlots {
    exclusive: Slot,
    /// Shared releases since, the last of each thread.
    shared: Vec<(Thread, Slot)>,
}

impl Default for LockSlots {
    fn default() -> Self {
        Self { exclusive: Slot::NONE, shared: Vec::new() }
    }
}

/// The analysis.
#[derive(Default)]
pub struct Serializability {
    clocks: Clocks,
    rows: Vec<Row>,
    /// Threads in a block.
    open: Vec<Thread>,
    words: Vec<Vec<Entry>>,
    locks: Vec<LockSlots>,
    channels: Vec<Vec<(Thread, Slot)>>,
    found: FastMap<u64, Candidate>,
    dropped: u64,
}

/// Where something happens.
#[derive(Clone, Copy)]
struct Here {
    event: EventId,
    pc: Pc,
}

fn put(list: &mut Vec<(Thread, Slot)>, thread: Thread, slot: Slot) {
    match list.iter_mut().find(|(other, _)| *other == thread) {
        Some(entry) => entry.1 = slot,
        None => list.push((thread, slot)),
    }
}

impl Serializability {
    /// Collects clocks from this number on, for tests.
    pub fn collecting_from(clocks: usize) -> Self {
        Self { clocks: Clocks::with_least(clocks), ..Self::default() }
    }

    /// The clock of a thread's transaction.
    #[inline]
    fn slot(&mut self, thread: Thread) -> Slot {
        match self.rows.get(thread.index()) {
            Some(row) if row.slot != Slot::NONE => row.slot,
            _ => {
                self.clocks.admit(thread);
                let slot = self.clocks.make(thread, Slot::NONE);
                at(&mut self.rows, thread.index()).slot = slot;
                slot
            }
        }
    }

    fn remembered(&mut self, thread: Thread) -> Slot {
        let slot = self.slot(thread);
        self.clocks.remember(slot);
        slot
    }

    /// The thread's transaction comes after the one of this clock.
    #[inline]
    fn follow(&mut self, thread: Thread, other: Slot, here: Here) {
        let mine = self.slot(thread);
        if other == Slot::NONE || other == mine {
            return;
        }
        let owner = self.clocks.owner(other);
        let seen = &self.rows[thread.index()].seen;
        if owner == thread || seen.get(owner.index()) == Some(&other) || !self.take_over(thread, other, here) {
            return;
        }
        let seen = &mut self.rows[thread.index()].seen;
        if seen.len() <= owner.index() {
            seen.resize(owner.index() + 1, Slot::NONE);
        }
        seen[owner.index()] = other;
    }

    /// Says no, and leaves it, if that makes the thread's block come after itself.
    fn take_over(&mut self, thread: Thread, other: Slot, here: Here) -> bool {
        let row = &mut self.rows[thread.index()];
        if let Some(open) = &mut row.open
            && self.clocks.get(other, thread) >= open.number
        {
            open.violated.get_or_insert((here.event, here.pc));
            return false;
        }
        if self.clocks.is_known(other, row.slot) {
            return true;
        }
        if row.open.is_none() && self.clocks.is_remembered(row.slot) {
            let copy = self.clocks.make(thread, row.slot);
            row.slot = copy;
            self.hear(copy, Slot::NONE);
        }
        let mine = self.rows[thread.index()].slot;
        self.hear(mine, other);
        self.clocks.join(mine, other);
        true
    }

    /// Tells open blocks who will know of them: `slot`, a new clock, or one that is about to take over another.
    fn hear(&mut self, slot: Slot, other: Slot) {
        let owner = self.clocks.owner(slot);
        for &thread in &self.open {
            let Some(open) = self.rows[thread.index()].open.as_mut().filter(|_| thread != owner) else { continue };
            let knows = self.clocks.get(slot, thread) >= open.number;
            let fresh =
                if other == Slot::NONE { knows } else { !knows && self.clocks.get(other, thread) >= open.number };
            if fresh {
                open.knowers.push(slot);
            }
        }
    }

    fn begin(&mut self, event: EventId, thread: Thread, pc: Pc) {
        let before = self.slot(thread);
        let slot = self.clocks.make(thread, before);
        let number = self.clocks.get(before, thread).checked_add(1).expect("a thread has fewer than 2^32 blocks");
        self.clocks.set(slot, thread, number);
        self.hear(slot, Slot::NONE);
        let row = &mut self.rows[thread.index()];
        row.slot = slot;
        row.open = Some(Open { number, enter: event, pc, violated: None, knowers: Vec::new() });
        self.open.push(thread);
    }

    /// All who know the block know all that it knows.
    fn end(&mut self, event: EventId, thread: Thread, counts: bool) {
        let slot = self.rows[thread.index()].slot;
        let Some(open) = self.rows[thread.index()].open.take() else { return };
        self.open.retain(|other| *other != thread);
        // What follows the block may learn what the block does not know.
        self.clocks.remember(slot);
        let mut knowers = open.knowers;
        knowers.sort_unstable();
        knowers.dedup();
        for knower in knowers {
            let owner = self.clocks.owner(knower);
            let row = &mut self.rows[owner.index()];
            if let Some(other) = row.open.as_mut().filter(|_| row.slot == knower)
                && self.clocks.get(slot, owner) >= other.number
            {
                other.violated.get_or_insert((event, Pc(0)));
                continue;
            }
            if !self.clocks.is_known(slot, knower) {
                self.hear(knower, slot);
                self.clocks.join(knower, slot);
            }
        }
        if let Some((second, second_pc)) = open.violated.filter(|_| counts) {
            let candidate = Candidate { first: open.enter, second, first_pc: open.pc, second_pc };
            self.found.entry(open.pc.0).or_insert(candidate);
        }
    }

    fn collect(&mut self) {
        let Self { clocks, rows, words, locks, channels, .. } = self;
        // Numbers change: what was seen last is not known any more.
        rows.iter_mut().for_each(|row| row.seen.clear());
        let mut knowers: Vec<(usize, Vec<Slot>)> = Vec::new();
        for (i, row) in rows.iter_mut().enumerate() {
            knowers.extend(row.open.as_mut().map(|open| (i, std::mem::take(&mut open.knowers))));
        }
        let mut alive: FastMap<u32, Slot> = FastMap::default();
        clocks.collect(|visit| {
            let mut visit = |slot: &mut Slot| {
                let old = slot.0;
                visit(slot);
                alive.insert(old, *slot);
            };
            rows.iter_mut().for_each(|row| visit(&mut row.slot));
            words.iter_mut().flatten().for_each(|entry| visit(&mut entry.slot));
            for lock in locks.iter_mut() {
                visit(&mut lock.exclusive);
                lock.shared.iter_mut().for_each(|(_, slot)| visit(slot));
            }
            channels.iter_mut().flatten().for_each(|(_, slot)| visit(slot));
        });
        for (row, mut list) in knowers {
            list.sort_unstable();
            list.dedup();
            if let Some(open) = &mut self.rows[row].open {
                open.knowers.extend(list.iter().filter_map(|old| alive.get(&old.0).copied()));
            }
        }
    }

    /// The access comes after those it conflicts with.
    #[inline]
    fn follow_word(&mut self, access: &Access, Touch { word, mask }: Touch) {
        let (thread, writes) = (access.thread, access.kind.writes());
        let here = Here { event: access.event, pc: access.pc };
        let entries = std::mem::take(at(&mut self.words, word.index()));
        for entry in &entries {
            if entry.mask & mask != 0 && (writes || entry.writes) && entry.thread != thread {
                self.follow(thread, entry.slot, here);
            }
        }
        self.words[word.index()] = entries;
    }

    /// Later ones come after the access.
    #[inline]
    fn enter_word(&mut self, access: &Access, Touch { word, mask }: Touch) {
        let (thread, writes) = (access.thread, access.kind.writes());
        let slot = self.remembered(thread);
        let entries = &mut self.words[word.index()];
        let entry = Entry { slot, thread, mask, writes };
        if writes {
            if entries.len() == 1 && entries[0].mask & !mask == 0 {
                entries[0] = entry;
            } else {
                entries.iter_mut().for_each(|entry| entry.mask &= !mask);
                entries.retain(|entry| entry.mask != 0);
                entries.push(entry);
            }
        } else if !entries.iter().any(|entry| entry.slot == slot && entry.mask & mask == mask) {
            let mine = |entry: &&mut Entry| !entry.writes && entry.thread == thread;
            match entries.iter_mut().filter(mine).find(|entry| entry.mask & !mask == 0 || entry.slot == slot) {
                Some(own) if own.slot == slot => own.mask |= mask,
                Some(own) => *own = entry,
                None => entries.push(entry),
            }
        }
    }
}

impl Linear for Serializability {
    #[inline]
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        if self.clocks.is_crowded() {
            self.collect();
        }
        // Whoever meets one of the words must know what came before all of them.
        touched.iter().for_each(|&touch| self.follow_word(access, touch));
        touched.iter().for_each(|&touch| self.enter_word(access, touch));
    }

    fn left_out(&mut self, words: u64) {
        self.dropped += words;
    }

    fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        let here = Here { event, pc: Pc(0) };
        match sync {
            Sync::Fork { child } => {
                let slot = self.remembered(thread);
                self.follow(child, slot, here);
            }
            Sync::Join { child } => {
                let slot = self.remembered(child);
                self.follow(thread, slot, here);
            }
            Sync::Acquire { lock, mode } => {
                let LockSlots { exclusive, shared } = std::mem::take(at(&mut self.locks, lock.index()));
                self.follow(thread, exclusive, here);
                if mode == LockMode::Exclusive {
                    shared.iter().for_each(|(_, slot)| self.follow(thread, *slot, here));
                }
                self.locks[lock.index()] = LockSlots { exclusive, shared };
            }
            Sync::Release { lock, mode } => {
                let slot = self.remembered(thread);
                let lock = at(&mut self.locks, lock.index());
                match mode {
                    LockMode::Exclusive => {
                        lock.exclusive = slot;
                        lock.shared.clear();
                    }
                    LockMode::Shared => put(&mut lock.shared, thread, slot),
                }
            }
            Sync::Publish { channel, fresh, firm: true } => {
                let slot = self.remembered(thread);
                let list = at(&mut self.channels, channel.index());
                if fresh {
                    list.clear();
                }
                put(list, thread, slot);
            }
            Sync::Observe { channel, firm: true } => {
                let list = std::mem::take(at(&mut self.channels, channel.index()));
                list.iter().for_each(|(_, slot)| self.follow(thread, *slot, here));
                self.channels[channel.index()] = list;
            }
            Sync::Clear { channel } => at(&mut self.channels, channel.index()).clear(),
            Sync::Publish { .. } | Sync::Observe { .. } | Sync::Copy { .. } => {}
        }
    }

    fn block(&mut self, event: EventId, thread: Thread, pc: Pc, edge: BlockEdge) {
        if self.clocks.is_crowded() {
            self.collect();
        }
        let row = at(&mut self.rows, thread.index());
        match edge {
            BlockEdge::Enter => {
                row.depth += 1;
                if row.depth == 1 {
                    self.begin(event, thread, pc);
                }
            }
            BlockEdge::Exit => {
                row.depth = row.depth.saturating_sub(1);
                if row.depth == 0 {
                    self.end(event, thread, true);
                }
            }
            BlockEdge::Wait => self.end(event, thread, false),
            BlockEdge::Lock | BlockEdge::Unlock => {}
        }
    }

    fn forget(&mut self, word: Word) {
        at(&mut self.words, word.index()).clear();
    }

    /// First the event that enters the block, then the one that shows the violation.
    fn finish(&mut self) -> Candidates {
        for thread in self.open.clone() {
            self.end(EventId(u64::MAX), thread, true);
        }
        let mut pairs: Vec<Candidate> = self.found.values().copied().collect();
        pairs.sort_unstable_by_key(|c| (c.second, c.first));
        Candidates { pairs, dropped: self.dropped, ..Candidates::default() }
    }
}

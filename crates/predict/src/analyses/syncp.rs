//! Sync-preserving races (Mathur, Pavlogiannis, Viswanathan: Optimal Prediction of Synchronization-Preserving Races,
//! POPL 2021). Sound; misses races that need critical sections of one lock reversed.
//!
//! The ideal of a pair is the least set of events that holds what precedes the two in their threads and is closed under
//! program order, hard edges (all synchronization but locks, as observed), the writes that its reads return, and: of two
//! acquisitions in it that exclude each other, the release of the earlier one. The pair is a race if neither of it is in
//! its ideal; the witness is the ideal in trace order, then the two.
//!
//! The accesses of a word are listed by thread, code position, locks, kind and bytes. Two lists are searched with one pass
//! over both, since ideals only grow along them: an access that is in the ideal of a pair is in those of all later pairs. Lists
//! whose locks exclude each other, or whose pair of code positions is a race already, are not searched.
//!
//! Deviations: a read of bytes of several writes has all of them as sources; shared locks; hard edges. The paper reports
//! every second access with a race; this, every pair of code positions. Memory is linear in the trace.
//!
//! Known wrong: beside a wait that timed out while a notify chose another waiter, a candidate may be none, because its witness
//! leaves the timed-out one as the only choice. The engine refutes it.

use reweave_model::{EventId, LockMode};

use crate::linear::{
    Access, AccessKind, Candidates, Edges, FastMap, LastWrites, Linear, Lock, LocksetId, Locksets, Order, PcId, Pcs,
    Sync, Thread, Touch, VectorClock, Word,
};

/// A prefix of every thread: the ideal of an event together with the event's own position in its thread.
#[derive(Clone, Copy)]
struct Stamp {
    thread: Thread,
    /// How many events of its thread there are up to here.
    count: u32,
    /// Where the clock of the thread stands in the arena; its own entry is not up to date.
    past: u32,
}

#[derive(Clone, Copy)]
struct Point {
    event: EventId,
    /// Of what precedes it: `count` does not include the access itself.
    before: Stamp,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    thread: Thread,
    pc: PcId,
    locks: LocksetId,
    mask: u8,
    kind: AccessKind,
}

struct List {
    key: Key,
    // invariant: ascending
    points: Vec<Point>,
}

struct Section {
    /// The position of the acquisition in its thread (from 1) and in the trace.
    acquired: u32,
    event: EventId,
    released: Option<Stamp>,
}

/// The sections of one thread on one lock in one mode.
struct OnLock {
    lock: Lock,
    mode: LockMode,
    // invariant: ascending
    sections: Vec<Section>,
}

/// The sections of one thread.
#[derive(Default)]
struct Sections {
    locks: Vec<OnLock>,
    places: FastMap<(Lock, bool), u32>,
    acquisitions: Vec<Acquisition>,
}

impl Sections {
    fn on(&mut self, lock: Lock, mode: LockMode) -> (u32, &mut Vec<Section>) {
        let locks = &mut self.locks;
        let place = *self.places.entry((lock, mode == LockMode::Shared)).or_insert_with(|| {
            locks.push(OnLock { lock, mode, sections: Vec::new() });
            locks.len() as u32 - 1
        });
        (place, &mut self.locks[place as usize].sections)
    }
}

/// A section by its position and its places in [`Sections::locks`] and there.
#[derive(Clone, Copy)]
struct Acquisition {
    position: u32,
    lock: u32,
    section: u32,
}

pub struct SyncpRaces {
    order: Order,
    locksets: Locksets,
    counts: Vec<u32>,
    /// The start of the last clock in the arena, by thread; `u32::MAX` if the clock has grown since.
    pasts: Vec<u32>,
    arena: Vec<Box<[u32]>>,
    writes: LastWrites<Stamp>,
    words: Vec<Vec<List>>,
    /// Lists of words whose life is over.
    old: Vec<Vec<List>>,
    /// By thread.
    sections: Vec<Sections>,
    pcs: Pcs,
}

impl Default for SyncpRaces {
    fn default() -> Self {
        Self {
            order: Order::along(Edges::NoLocks),
            locksets: Locksets::default(),
            counts: Vec::new(),
            pasts: Vec::new(),
            arena: Vec::new(),
            writes: LastWrites::default(),
            words: Vec::new(),
            old: Vec::new(),
            sections: Vec::new(),
            pcs: Pcs::default(),
        }
    }
}

const CHANGED: u32 = u32::MAX;

fn grow<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

impl SyncpRaces {
    fn changed(&mut self, thread: Thread) {
        if self.pasts.len() <= thread.index() {
            self.pasts.resize(thread.index() + 1, CHANGED);
        }
        self.pasts[thread.index()] = CHANGED;
    }

    /// Where the thread stands.
    fn stamp(&mut self, thread: Thread) -> Stamp {
        if self.pasts.get(thread.index()).is_none_or(|&past| past == CHANGED) {
            self.changed(thread);
            self.pasts[thread.index()] = self.arena.len() as u32;
            self.arena.push(self.order.thread(thread).as_slice().into());
        }
        Stamp { thread, count: *grow(&mut self.counts, thread.index()), past: self.pasts[thread.index()] }
    }

    /// One more event of the thread.
    fn step(&mut self, thread: Thread) {
        let count = grow(&mut self.counts, thread.index());
        *count = count.checked_add(1).expect("a thread has fewer than 2^32 events");
        let count = *count;
        self.order.thread(thread).set(thread, count);
    }

    fn read(&mut self, thread: Thread, touched: &[Touch]) {
        let mut changed = false;
        for &touch in touched {
            for source in self.writes.sources(touch) {
                let clock = self.order.thread(thread);
                if source.thread != thread && source.count > clock.get(source.thread) {
                    clock.join_slice(&self.arena[source.past as usize]);
                    clock.set(source.thread, source.count);
                    changed = true;
                }
            }
        }
        if changed {
            self.changed(thread);
        }
    }

    fn list(&mut self, access: &Access, touch: Touch, pc: PcId, before: Stamp) {
        let key = Key {
            thread: access.thread,
            pc,
            locks: self.locksets.held(access.thread),
            mask: touch.mask,
            kind: access.kind,
        };
        let point = Point { event: access.event, before };
        let lists = grow(&mut self.words, touch.word.index());
        match lists.iter_mut().find(|list| list.key == key) {
            Some(list) => list.points.push(point),
            None => lists.push(List { key, points: vec![point] }),
        }
    }

    fn acquire(&mut self, event: EventId, thread: Thread, lock: Lock, mode: LockMode) {
        let position = self.counts[thread.index()];
        let of_thread = grow(&mut self.sections, thread.index());
        let (place, sections) = of_thread.on(lock, mode);
        sections.push(Section { acquired: position, event, released: None });
        let section = sections.len() as u32 - 1;
        of_thread.acquisitions.push(Acquisition { position, lock: place, section });
    }

    fn release(&mut self, thread: Thread, lock: Lock, mode: LockMode) {
        let stamp = self.stamp(thread);
        let (_, sections) = grow(&mut self.sections, thread.index()).on(lock, mode);
        // Nearly always the last one.
        if let Some(open) = sections.iter_mut().rev().find(|section| section.released.is_none()) {
            open.released = Some(stamp);
        }
    }

    /// Searches the lists of one word.
    fn search(&mut self, lists: &[List]) {
        for (i, one) in lists.iter().enumerate() {
            for two in &lists[i + 1..] {
                if one.key.thread == two.key.thread
                    || one.key.mask & two.key.mask == 0
                    || !one.key.kind.conflicts(two.key.kind)
                    || self.pcs.has(one.key.pc, two.key.pc)
                    || self.locksets.exclude(one.key.locks, two.key.locks)
                {
                    continue;
                }
                for (firsts, seconds) in [(one, two), (two, one)] {
                    if let Some((first, second)) = self.pair(firsts, seconds) {
                        self.pcs.add((first.event, firsts.key.pc), (second.event, seconds.key.pc));
                        break;
                    }
                }
            }
        }
    }

    /// A race of an access in `firsts` with a later one in `seconds`.
    fn pair(&self, firsts: &List, seconds: &List) -> Option<(Point, Point)> {
        let mut ideal = Ideal::new(&self.sections, &self.arena);
        let mut at = 0;
        for second in &seconds.points {
            while let Some(first) = firsts.points.get(at).filter(|first| first.event < second.event) {
                ideal.add(first.before);
                ideal.add(second.before);
                if !ideal.close() {
                    return None;
                }
                if ideal.has(second.before) {
                    break;
                }
                if !ideal.has(first.before) {
                    return Some((*first, *second));
                }
                at += 1;
                // All that are in the ideal already are out for good.
                let known = ideal.prefix.get(firsts.key.thread);
                at += firsts.points[at..].partition_point(|point| point.before.count < known);
            }
        }
        None
    }
}

/// What an ideal has of one lock.
#[derive(Default)]
struct AtLock {
    /// Acquisitions in the ideal whose release may not be: thread, place of the lock there, section.
    open: Vec<(Thread, u32, u32)>,
    last_exclusive: Option<EventId>,
    last: Option<EventId>,
    dirty: bool,
}

/// An ideal that grows.
struct Ideal<'a> {
    sections: &'a [Sections],
    arena: &'a [Box<[u32]>],
    prefix: VectorClock,
    /// By thread: how many of its acquisitions have been looked at.
    seen: Vec<usize>,
    locks: FastMap<Lock, AtLock>,
    dirty: Vec<Lock>,
}

impl<'a> Ideal<'a> {
    fn new(sections: &'a [Sections], arena: &'a [Box<[u32]>]) -> Self {
        Self {
            sections,
            arena,
            prefix: VectorClock::default(),
            seen: vec![0; sections.len()],
            locks: FastMap::default(),
            dirty: Vec::new(),
        }
    }

    fn has(&self, before: Stamp) -> bool {
        self.prefix.get(before.thread) > before.count
    }

    fn add(&mut self, stamp: Stamp) {
        add(&mut self.prefix, self.arena, stamp);
    }

    /// Adds the releases that are needed. `false` if one of them is not in the trace: then no later pair has an ideal.
    fn close(&mut self) -> bool {
        loop {
            self.take_acquisitions();
            let Some(lock) = self.dirty.pop() else { return true };
            let Some(at) = self.locks.get_mut(&lock) else { continue };
            at.dirty = false;
            let (last, last_exclusive) = (at.last, at.last_exclusive);
            let mut complete = true;
            at.open.retain(|&(thread, place, section)| {
                let on = &self.sections[thread.index()].locks[place as usize];
                let section = &on.sections[section as usize];
                if section.released.is_some_and(|released| released.count <= self.prefix.get(thread)) {
                    return false;
                }
                let later = if on.mode == LockMode::Exclusive { last } else { last_exclusive };
                if later <= Some(section.event) {
                    return true;
                }
                match section.released {
                    Some(released) => add(&mut self.prefix, self.arena, released),
                    None => complete = false,
                }
                false
            });
            if !complete {
                return false;
            }
        }
    }

    /// Looks at the acquisitions that have come in.
    fn take_acquisitions(&mut self) {
        for (index, sections) in self.sections.iter().enumerate() {
            let from = self.seen[index];
            let thread = Thread(index as u32);
            let prefix = self.prefix.get(thread);
            let all = &sections.acquisitions;
            if all.get(from).is_none_or(|next| next.position > prefix) {
                continue;
            }
            let until = from + all[from..].partition_point(|acquisition| acquisition.position <= prefix);
            self.seen[index] = until;
            if until - from <= 8 * sections.locks.len() {
                for acquisition in &all[from..until] {
                    self.take(thread, acquisition.lock, acquisition.section);
                }
            } else {
                // A long way: of each lock only the last section can be open.
                for (place, on) in sections.locks.iter().enumerate() {
                    let count = on.sections.partition_point(|section| section.acquired <= prefix);
                    if count > 0 {
                        self.take(thread, place as u32, count as u32 - 1);
                    }
                }
            }
        }
    }

    fn take(&mut self, thread: Thread, place: u32, index: u32) {
        let on = &self.sections[thread.index()].locks[place as usize];
        let section = &on.sections[index as usize];
        let at = self.locks.entry(on.lock).or_default();
        at.last = at.last.max(Some(section.event));
        if on.mode == LockMode::Exclusive {
            at.last_exclusive = at.last_exclusive.max(Some(section.event));
        }
        if section.released.is_none_or(|released| released.count > self.prefix.get(thread)) {
            at.open.push((thread, place, index));
        }
        if !at.open.is_empty() && !at.dirty {
            at.dirty = true;
            self.dirty.push(on.lock);
        }
    }
}

fn add(prefix: &mut VectorClock, arena: &[Box<[u32]>], stamp: Stamp) {
    prefix.join_slice(&arena[stamp.past as usize]);
    prefix.set(stamp.thread, prefix.get(stamp.thread).max(stamp.count));
}

impl Linear for SyncpRaces {
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        let thread = access.thread;
        let before = self.stamp(thread);
        let pc = self.pcs.id(access.pc);
        for &touch in touched {
            self.list(access, touch, pc, before);
        }
        self.step(thread);
        if access.kind.reads() {
            self.read(thread, touched);
        }
        if access.kind.writes() {
            let stamp = self.stamp(thread);
            touched.iter().for_each(|&touch| self.writes.write(touch, stamp));
        }
    }

    fn left_out(&mut self, words: u64) {
        self.pcs.dropped += words;
    }

    fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        self.step(thread);
        self.order.sync(thread, sync);
        self.locksets.sync(thread, sync);
        match sync {
            Sync::Acquire { lock, mode } => self.acquire(event, thread, lock, mode),
            Sync::Release { lock, mode } => self.release(thread, lock, mode),
            Sync::Fork { child } => self.changed(child),
            Sync::Join { .. } | Sync::Observe { .. } => self.changed(thread),
            Sync::Publish { .. } | Sync::Copy { .. } | Sync::Clear { .. } => {}
        }
    }

    fn forget(&mut self, word: Word) {
        self.writes.forget(word);
        if let Some(lists) = self.words.get_mut(word.index()).filter(|lists| lists.len() > 1) {
            self.old.push(std::mem::take(lists));
        }
        if let Some(lists) = self.words.get_mut(word.index()) {
            lists.clear();
        }
    }

    fn finish(&mut self) -> Candidates {
        let words = std::mem::take(&mut self.words);
        let old = std::mem::take(&mut self.old);
        words.iter().chain(&old).for_each(|lists| self.search(lists));
        self.pcs.finish()
    }
}

//! Ideals of a trace: what must come along when some prefixes of threads are to happen and critical sections keep their
//! order (Mathur, Pavlogiannis, Viswanathan, POPL 2021). Races and deadlocks that preserve synchronization are both
//! questions about them.
//!
//! The ideal of some events is the least set that holds what precedes them in their threads and is closed under program
//! order, hard edges (all synchronization but locks, as observed), the writes that its reads return, and: of two
//! acquisitions in it that exclude each other, the release of the earlier one. Memory is linear in the trace.

use reweave_model::{EventId, LockMode};

use crate::linear::{Access, Edges, FastMap, LastWrites, Lock, Order, Sync, Thread, Touch, VectorClock, Word};

/// A prefix of every thread: the ideal of an event together with the event's own position in its thread.
#[derive(Clone, Copy)]
pub(crate) struct Stamp {
    pub thread: Thread,
    /// How many events of its thread there are up to here.
    pub count: u32,
    /// Where the clock of the thread stands in the arena; its own entry is not up to date.
    past: u32,
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

const CHANGED: u32 = u32::MAX;

pub(crate) fn grow<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

/// What ideals are made of, as the trace goes by.
pub(crate) struct Recorder {
    order: Order,
    counts: Vec<u32>,
    /// The start of the last clock in the arena, by thread; `u32::MAX` if the clock has grown since.
    pasts: Vec<u32>,
    arena: Vec<Box<[u32]>>,
    writes: LastWrites<Stamp>,
    /// By thread.
    sections: Vec<Sections>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self {
            order: Order::along(Edges::NoLocks),
            counts: Vec::new(),
            pasts: Vec::new(),
            arena: Vec::new(),
            writes: LastWrites::default(),
            sections: Vec::new(),
        }
    }
}

impl Recorder {
    fn changed(&mut self, thread: Thread) {
        if self.pasts.len() <= thread.index() {
            self.pasts.resize(thread.index() + 1, CHANGED);
        }
        self.pasts[thread.index()] = CHANGED;
    }

    /// Where the thread stands.
    pub fn stamp(&mut self, thread: Thread) -> Stamp {
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

    /// An access, as one more event of its thread.
    pub fn access(&mut self, access: &Access, touched: &[Touch]) {
        self.step(access.thread);
        if access.kind.reads() {
            self.read(access.thread, touched);
        }
        if access.kind.writes() {
            let stamp = self.stamp(access.thread);
            touched.iter().for_each(|&touch| self.writes.write(touch, stamp));
        }
    }

    /// Synchronization, as one more event of the thread.
    pub fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        self.step(thread);
        self.order.sync(thread, sync);
        match sync {
            Sync::Acquire { lock, mode } => self.acquire(event, thread, lock, mode),
            Sync::Release { lock, mode } => self.release(thread, lock, mode),
            Sync::Fork { child } => self.changed(child),
            Sync::Join { .. } | Sync::Observe { .. } => self.changed(thread),
            Sync::Publish { .. } | Sync::Copy { .. } | Sync::Clear { .. } => {}
        }
    }

    pub fn forget(&mut self, word: Word) {
        self.writes.forget(word);
    }

    /// An ideal of nothing.
    pub fn ideal(&self) -> Ideal<'_> {
        Ideal::new(&self.sections, &self.arena)
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
pub(crate) struct Ideal<'a> {
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

    pub fn has(&self, before: Stamp) -> bool {
        self.prefix.get(before.thread) > before.count
    }

    /// How many events of a thread are in it.
    pub fn known(&self, thread: Thread) -> u32 {
        self.prefix.get(thread)
    }

    pub fn add(&mut self, stamp: Stamp) {
        add(&mut self.prefix, self.arena, stamp);
    }

    /// Adds the releases that are needed. `false` if one of them is not in the trace: then no later pair has an ideal.
    pub fn close(&mut self) -> bool {
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

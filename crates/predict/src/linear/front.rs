//! From events to the dense form, and the refusal of traces that cannot have happened.

use reweave_model::{AccessFlags, Event, EventId, LockChange, LockMode, Misuse, ObjectId, Op, ThreadId};
use reweave_trace::{Error, Result, Trace, WordAccess};
use std::path::PathBuf;

use super::channels::{Channels, Hints, To};
use super::locks::{Locks, State};
use super::order::at;
use super::threads::{Known, Life, Threads};
use super::words::Words;
use super::{Access, AccessKind, BlockEdge, Linear, Meeting, Sync, Thread, Touch, Word};

/// Of a longer access only the words that are known already are looked at; the others are counted.
const LONG_ACCESS: u64 = 1 << 20;
/// Accesses given to the analysis at once: enough to hide the latency of memory.
const BATCH: usize = 16;

/// When a pass without end forgets what is over.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Locks whose life is over before their numbers are used again.
    pub retired: usize,
    /// Pipes and the like that are told apart.
    pub streams: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { retired: 4096, streams: 4096 }
    }
}

pub struct Front {
    path: PathBuf,
    threads: Threads,
    /// A thread that may act: found right at its last event.
    running: Option<(ThreadId, Thread)>,
    /// Some thread has a begin: then all have.
    began: bool,
    locks: Locks,
    words: Words,
    has_atomics: Vec<bool>,
    channels: Channels,
    touched: Vec<Touch>,
    /// Accesses that the analysis has not got yet.
    // invariant: fewer than `BATCH` between two events
    batch: Vec<(Access, Touch)>,
    next: EventId,
    /// Events were lost: what is not known may be anything.
    gap: bool,
    /// Words of very long accesses that were not looked at.
    skipped_words: u64,
}

impl Front {
    /// For events that come from elsewhere than a trace file; `path` is for messages.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::with(path.into(), Hints::unknown())
    }

    /// For events that never end: memory follows what is alive rather than what has been.
    pub fn bounded(path: impl Into<PathBuf>, bounds: Bounds) -> Self {
        let mut front = Self::new(path);
        front.locks.max_over = Some(bounds.retired);
        front.threads.bounded = true;
        front.channels.bound_streams(bounds.streams);
        front
    }

    pub fn of(trace: &Trace) -> Result<Self> {
        Ok(Self::with(trace.path().to_owned(), Hints::of(trace)?))
    }

    /// For a text that is being converted.
    pub fn of_text(path: impl Into<PathBuf>) -> Self {
        Self::with(path.into(), Hints::of_text())
    }

    fn with(path: PathBuf, hints: Hints) -> Self {
        Self {
            path,
            threads: Threads::default(),
            running: None,
            began: false,
            locks: Locks::default(),
            words: Words::default(),
            has_atomics: Vec::new(),
            channels: Channels::new(hints),
            touched: Vec::new(),
            batch: Vec::with_capacity(BATCH),
            next: EventId(0),
            gap: false,
            skipped_words: 0,
        }
    }

    #[cold]
    fn refuse(&self, event: &Event<'_>, what: impl std::fmt::Display) -> Error {
        let what = format!(
            "event {}: {what}: this cannot have happened; `reweave inspect` lists everything that is wrong",
            event.id
        );
        Error::Unsupported { path: self.path.clone(), what }
    }

    /// Takes one event. The analysis gets it at once or with later ones; see [`Front::finish`].
    #[inline]
    pub fn event<L: Linear + ?Sized>(&mut self, event: &Event<'_>, out: &mut L) -> Result<()> {
        if event.id != self.next {
            self.after_gap();
        }
        self.next = EventId(event.id.0 + 1);
        let thread = match self.running {
            Some((id, thread)) if id == event.thread => thread,
            _ => match self.thread(event)? {
                Some(thread) => thread,
                None => return Ok(()),
            },
        };
        let (addr, size, kind, flags) = match event.op {
            Op::Read { addr, size, flags, .. } => (addr.0, size, AccessKind::READ, flags),
            Op::Write { addr, size, flags, .. } => (addr.0, size, AccessKind::WRITE, flags),
            _ => return self.other(event, thread, out),
        };
        let access = Access { event: event.id, thread, pc: event.pc, kind };
        let first = addr & 7;
        if size != 0 && first + u64::from(size) <= 8 && !flags.has(AccessFlags::FREE) {
            self.one_word(access, addr, size, out);
        } else {
            self.flush(out);
            self.range(&access, addr, u64::from(size), flags.has(AccessFlags::FREE), out);
        }
        Ok(())
    }

    /// As [`Front::event`], without the detour for the most frequent case: a running thread accesses a single word.
    #[inline]
    pub fn access<L: Linear + ?Sized>(&mut self, access: &WordAccess, out: &mut L) -> Result<()> {
        let thread = match self.running {
            Some((id, thread)) if id == access.thread => Some(thread),
            _ => None,
        };
        let (addr, size) = (access.addr.0, access.size());
        let one_word = (addr & 7) + u64::from(size) <= 8 && !access.flags().has(AccessFlags::FREE);
        let Some(thread) = thread.filter(|_| access.id == self.next && one_word) else {
            return self.event(&access.event(), out);
        };
        self.next = EventId(access.id.0 + 1);
        let kind = if access.is_write() { AccessKind::WRITE } else { AccessKind::READ };
        self.one_word(Access { event: access.id, thread, pc: access.pc(), kind }, addr, size, out);
        Ok(())
    }

    #[inline]
    fn one_word<L: Linear + ?Sized>(&mut self, access: Access, addr: u64, size: u32, out: &mut L) {
        let touch = Touch { word: self.words.at(addr), mask: (0xffu32 >> (8 - size) << (addr & 7)) as u8 };
        self.batch.push((access, touch));
        if self.batch.len() == BATCH {
            self.flush(out);
        }
    }

    #[inline]
    fn flush<L: Linear + ?Sized>(&mut self, out: &mut L) {
        if !self.batch.is_empty() {
            out.accesses(&self.batch);
            self.batch.clear();
        }
    }

    /// The event is left out: the next one has the next id.
    #[inline]
    pub fn pass_over(&mut self, access: &WordAccess) {
        self.next = EventId(access.id.0 + 1);
    }

    /// Threads taken for the continuation of others that ended long ago.
    pub fn recycled_threads(&self) -> u64 {
        self.threads.recycled
    }

    /// Gives the analysis what it has not got yet, so that it can be asked for news.
    pub fn catch_up<L: Linear + ?Sized>(&mut self, out: &mut L) {
        self.flush(out);
    }

    /// Goes on with a fresh analysis, which has not seen what was before: memory is new to it, and whoever holds a lock
    /// takes it now. Two events from here on are ordered as they would have been, because a chain between them lies
    /// between them.
    pub fn start_over<L: Linear + ?Sized>(&mut self, out: &mut L) {
        self.batch.clear();
        self.words = Words::default();
        self.has_atomics = Vec::new();
        self.channels.forget_all_atomics();
        self.locks.retire_all(self.threads.held());
        let before = EventId(self.next.0.saturating_sub(1));
        for (index, row) in self.threads.rows.iter().enumerate() {
            for &(lock, mode) in &row.held {
                out.sync(before, Thread(index as u32), Sync::Acquire { lock, mode });
            }
        }
    }

    /// To be called after the last event.
    pub fn finish<L: Linear + ?Sized>(&mut self, out: &mut L) {
        self.flush(out);
        out.left_out(std::mem::take(&mut self.skipped_words));
    }

    fn range<L: Linear + ?Sized>(&mut self, access: &Access, addr: u64, size: u64, free: bool, out: &mut L) {
        if size == 0 {
            return;
        }
        let last = addr.saturating_add(size - 1);
        let mask = |base: u64| {
            let (from, to) = (addr.max(base) - base, last.min(base + 7) - base);
            (0xffu32 >> (7 - (to - from)) << from) as u8
        };
        let mut touched = std::mem::take(&mut self.touched);
        touched.clear();
        if free || size > LONG_ACCESS {
            // Memory nobody touched cannot race with its release; going through it all would take forever.
            self.words.touched(addr, size, |base, word| touched.push(Touch { word, mask: mask(base) }));
            if !free {
                self.skipped_words += (last / 8 - addr / 8 + 1).saturating_sub(touched.len() as u64);
            }
        } else {
            let bases = (addr / 8..=last / 8).map(|word| word * 8);
            touched.extend(bases.map(|base| Touch { word: self.words.at(base), mask: mask(base) }));
        }
        out.access(access, &touched);
        self.touched = touched;
    }

    #[inline(never)]
    fn other<L: Linear + ?Sized>(&mut self, event: &Event<'_>, thread: Thread, out: &mut L) -> Result<()> {
        self.flush(out);
        out.event(event, thread);
        match event.op {
            Op::AtomicEnter { .. } => out.block(event.id, thread, event.pc, BlockEdge::Enter),
            Op::AtomicExit => out.block(event.id, thread, event.pc, BlockEdge::Exit),
            ref op if crate::search::atomicity::waits(op) => out.block(event.id, thread, event.pc, BlockEdge::Wait),
            _ => {}
        }
        let mut to = To { event: event.id, thread, out };
        match event.op {
            Op::Acquire { .. } | Op::Release { .. } => self.change_lock(event, &mut to)?,
            Op::Wait { condition, .. } => {
                self.change_lock(event, &mut to)?;
                to.meet(Meeting::Object(condition));
            }
            Op::Woken { condition, notify, .. } => {
                self.channels.woken(notify, &mut to);
                self.change_lock(event, &mut to)?;
                to.meet(Meeting::Object(condition));
            }
            Op::Refused { object, .. } => {
                self.channels.event(&event.op, &mut to);
                let lock = self.locks.known(object).map(Meeting::Refused);
                to.meet(lock.unwrap_or(Meeting::Object(object)));
            }
            Op::Fork { child, .. } => {
                if self.threads.get(child).life != Life::Unseen && !self.gap {
                    return Err(self.refuse(event, format_args!("thread {child} is forked but exists already")));
                }
                let number = self.threads.number_for(child, thread);
                self.threads.set(child, Known { life: Life::Forked, thread: number });
                to.send(Sync::Fork { child: number });
            }
            Op::Join { child } => {
                let known = self.threads.get(child);
                match known.life {
                    Life::Ended | Life::Recycled => {}
                    Life::Forked | Life::Running if !self.began => {}
                    _ if self.gap => {}
                    Life::Unseen => {
                        return Err(self.refuse(event, format_args!("thread {child} is joined but was never forked")));
                    }
                    Life::Joined => {
                        return Err(self.refuse(event, format_args!("thread {child} is joined a second time")));
                    }
                    Life::Forked | Life::Running => {
                        return Err(self.refuse(event, format_args!("thread {child} is joined but has not ended")));
                    }
                }
                let unknown = matches!(known.life, Life::Unseen | Life::Recycled | Life::Joined);
                if !unknown && known.thread != thread {
                    to.send(Sync::Join { child: known.thread });
                    self.threads.joined(thread, child, known.thread);
                }
                self.threads.set(child, Known { life: Life::Joined, ..known });
                self.running = None;
            }
            Op::End => {
                self.threads.set(event.thread, Known { life: Life::Ended, thread });
                self.running = None;
            }
            Op::Atomic { kind, order, addr, size, .. } => {
                let bits = AccessKind::ATOMIC | u8::from(kind.reads()) | u8::from(kind.writes()) << 1;
                self.channels.before_atomic(kind, order, addr.0, &mut to);
                let access = Access { event: event.id, thread, pc: event.pc, kind: AccessKind(bits) };
                self.range(&access, addr.0, size.into(), false, to.out);
                if self.channels.after_atomic(kind, order, addr.0, &mut to) {
                    let word = self.words.at(addr.0);
                    *at(&mut self.has_atomics, word.index()) = true;
                }
            }
            // Writes its whole block.
            Op::Free { addr, size } => {
                let access = Access { event: event.id, thread, pc: event.pc, kind: AccessKind::WRITE };
                self.range(&access, addr.0, size, true, to.out);
            }
            Op::Alloc { addr, size } => {
                let Self { words, has_atomics, channels, .. } = self;
                words.forget(addr.0, size, |base, word: Word| {
                    if let Some(has) = has_atomics.get_mut(word.index()).filter(|has| **has) {
                        *has = false;
                        channels.forget_atomics(base, &mut to);
                    }
                    to.out.forget(word);
                });
            }
            Op::Create { object, .. } | Op::Destroy { object, .. } => {
                self.locks.end(object);
                self.channels.event(&event.op, &mut to);
                if self.locks.is_time(self.words.len()) {
                    self.locks.retire(self.threads.held(), |gone| out.retire(gone));
                }
            }
            Op::Misused { what: Misuse::UnlockByNonOwner | Misuse::UnlockUnlocked, object } => {
                self.unlocked_by_others(object, &mut to);
            }
            _ => self.channels.event(&event.op, &mut to),
        }
        Ok(())
    }

    /// The dense number of the thread that acts, if it may; `None` for what is no action of a thread.
    #[inline(never)]
    fn thread(&mut self, event: &Event<'_>) -> Result<Option<Thread>> {
        let id = event.thread;
        let known = self.threads.get(id);
        let wrong = match (event.op, known.life) {
            (Op::Begin, Life::Unseen | Life::Forked) => None,
            // The last thread of a process ends it.
            (op, _) if !op.is_step() || matches!(op, Op::Exit { .. }) => return Ok(None),
            _ if self.gap => None,
            (Op::Begin, _) => Some("begins a second time"),
            (_, Life::Running) => None,
            (_, Life::Forked) if self.began => Some("acts before its begin"),
            (_, Life::Unseen) if self.began => Some("was neither forked nor begun"),
            (_, Life::Forked | Life::Unseen) => None,
            (_, Life::Ended | Life::Recycled) => Some("acts after its end"),
            (_, Life::Joined) => Some("acts after it was joined"),
        };
        if let Some(wrong) = wrong {
            return Err(self.refuse(event, format_args!("thread {id} {wrong}")));
        }
        self.began |= event.op == Op::Begin;
        let thread = if known.life == Life::Unseen { self.threads.adopt(id) } else { known.thread };
        self.threads.set(id, Known { life: Life::Running, thread });
        self.running = Some((id, thread));
        Ok(Some(thread))
    }

    #[inline]
    fn change_lock<L: Linear + ?Sized>(&mut self, event: &Event<'_>, to: &mut To<'_, L>) -> Result<()> {
        match event.op.lock_change() {
            Some(LockChange::Acquired { lock, mode }) => self.acquire(event, lock, mode, to),
            Some(LockChange::Released { lock, mode }) => self.release(event, lock, mode, to),
            None => Ok(()),
        }
    }

    fn acquire<L: Linear + ?Sized>(
        &mut self,
        event: &Event<'_>,
        object: ObjectId,
        mode: LockMode,
        to: &mut To<'_, L>,
    ) -> Result<()> {
        let lock = self.locks.at(object);
        let state = *self.locks.state(lock);
        let held_against = state.owner.is_some() || mode == LockMode::Exclusive && state.readers > 0;
        if held_against && !self.gap && !state.doubtful {
            let thread = event.thread;
            return Err(self.refuse(
                event,
                format_args!("thread {thread} acquires lock {:#x}, which is held against it", object.0),
            ));
        }
        let state = self.locks.state(lock);
        match mode {
            LockMode::Exclusive => state.owner = Some(to.thread),
            LockMode::Shared => state.readers += 1,
        }
        let held = &mut self.threads.rows[to.thread.index()].held;
        if held.is_empty() {
            to.out.block(to.event, to.thread, event.pc, BlockEdge::Lock);
        }
        held.push((lock, mode));
        to.send(Sync::Acquire { lock, mode });
        self.channels.taken(object, to);
        Ok(())
    }

    fn release<L: Linear + ?Sized>(
        &mut self,
        event: &Event<'_>,
        object: ObjectId,
        mode: LockMode,
        to: &mut To<'_, L>,
    ) -> Result<()> {
        let lock = self.locks.at(object);
        let held = &mut self.threads.rows[to.thread.index()].held;
        let Some(place) = held.iter().rposition(|&entry| entry == (lock, mode)) else {
            if self.gap || self.locks.state(lock).doubtful {
                return Ok(());
            }
            let thread = event.thread;
            let what = format!("thread {thread} releases lock {:#x}, which it does not hold", object.0);
            return Err(self.refuse(event, what));
        };
        held.remove(place);
        let is_last = held.is_empty();
        let state = self.locks.state(lock);
        match mode {
            LockMode::Exclusive => state.owner = None,
            LockMode::Shared => state.readers = state.readers.saturating_sub(1),
        }
        to.send(Sync::Release { lock, mode });
        if is_last {
            to.out.block(to.event, to.thread, event.pc, BlockEdge::Unlock);
        }
        Ok(())
    }

    /// The lock is free although its holder did not release it: as if it had.
    fn unlocked_by_others<L: Linear + ?Sized>(&mut self, object: ObjectId, to: &mut To<'_, L>) {
        let lock = self.locks.at(object);
        *self.locks.state(lock) = State { doubtful: true, ..State::default() };
        for (index, row) in self.threads.rows.iter_mut().enumerate() {
            for (_, mode) in row.held.extract_if(.., |(held, _)| *held == lock) {
                to.out.sync(to.event, Thread(index as u32), Sync::Release { lock, mode });
            }
        }
    }

    #[cold]
    fn after_gap(&mut self) {
        self.gap = true;
        self.running = None;
        self.locks.doubt_all();
    }
}

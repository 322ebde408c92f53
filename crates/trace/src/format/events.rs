//! Streams the events of a trace. One chunk is unpacked at a time; an event borrows from it until the next one.

use std::sync::Arc;
use std::thread::Scope;

use reweave_model::wire::{self, Record, kind as k};
use reweave_model::{AccessFlags, Addr, Event, EventId, Op, Pc, StackId, ThreadId, Value};

use super::ahead::ReadAhead;
use super::excerpt::KeptEvent;
use super::growing::{Growing, Grown};
use super::pack::Unpacker;
use super::reader::Trace;
use super::v1::ChunkHeader;
use crate::Result;

/// Thread numbers beyond this are damage: they would make us allocate without bound.
pub(crate) const MAX_THREADS: u64 = 1 << 22;

/// A lending iterator over events, which keeps track of the current thread and each thread's stack.
pub struct Events<'t> {
    from: Origin<'t>,
    next_chunk: usize,
    unpacker: Unpacker,
    /// The words of the current chunk, if it had to be unpacked.
    own: Vec<u64>,
    /// Those of one that had not.
    lent: Lent<'t>,
    /// The next record to look at.
    at: usize,
    /// The id of the next event.
    next_id: u64,
    thread: ThreadId,
    stack: StackId,
    /// Stacks of the threads that are not current.
    stacks: Vec<StackId>,
}

/// Where chunks come from.
enum Origin<'t> {
    Trace {
        trace: &'t Trace,
        /// Who unpacks the chunks, if it is not done here.
        ahead: Option<ReadAhead>,
    },
    /// A text that is being converted, and how far that was at the last chunk.
    Text { text: Growing, progress: f64 },
}

impl<'t> Origin<'t> {
    const fn trace(&self) -> Option<&'t Trace> {
        match self {
            Self::Trace { trace, .. } => Some(trace),
            Self::Text { .. } => None,
        }
    }
}

/// The words of a chunk that needs no unpacking.
enum Lent<'t> {
    No,
    Trace(&'t [u64]),
    Text(Arc<Vec<u64>>),
}

impl Lent<'_> {
    #[inline(always)]
    fn or<'a>(&'a self, own: &'a [u64]) -> &'a [u64] {
        match self {
            Self::No => own,
            Self::Trace(words) => words,
            Self::Text(words) => words,
        }
    }
}

/// An access of up to eight bytes, as it stands in the chunk: small enough for registers, which an [`Event`] is not.
#[derive(Clone, Copy)]
pub struct WordAccess {
    pub id: EventId,
    pub thread: ThreadId,
    pub stack: StackId,
    pub addr: Addr,
    pub(super) head: u64,
    pub(super) value: u64,
}

impl WordAccess {
    #[inline(always)]
    pub const fn pc(&self) -> Pc {
        Pc(self.head >> 16)
    }
    #[inline(always)]
    pub const fn is_write(&self) -> bool {
        self.head as u8 == k::WRITE
    }
    #[inline(always)]
    pub const fn size(&self) -> u32 {
        (self.head >> 8 & 15) as u32
    }
    #[inline(always)]
    pub const fn flags(&self) -> AccessFlags {
        AccessFlags((self.head >> 12 & 15) as u8)
    }
    #[inline(always)]
    pub const fn value(&self) -> u64 {
        self.value
    }
    #[inline(always)]
    pub const fn event(&self) -> Event<'static> {
        let (addr, size, value, flags) = (self.addr, self.size(), Value::Word(self.value), self.flags());
        let op = if self.is_write() {
            Op::Write { addr, size, value, flags }
        } else {
            Op::Read { addr, size, value, flags }
        };
        Event { id: self.id, thread: self.thread, pc: self.pc(), stack: self.stack, op }
    }
}

/// The records of one chunk, as the program wrote them.
pub struct RawChunk<'a> {
    pub first_event: EventId,
    /// The thread that performs the first records. All stacks are empty at the start of a chunk.
    pub thread: ThreadId,
    pub words: &'a [u64],
}

impl<'t> Events<'t> {
    pub(super) fn new(trace: &'t Trace, chunk: usize) -> Self {
        Self::from(Origin::Trace { trace, ahead: None }, chunk)
    }

    /// Those of a text, while it is converted.
    pub fn of_text(text: Growing) -> Self {
        Self::from(Origin::Text { text, progress: 0.0 }, 0)
    }

    fn from(from: Origin<'t>, chunk: usize) -> Self {
        Self {
            from,
            next_chunk: chunk,
            unpacker: Unpacker::default(),
            own: Vec::new(),
            lent: Lent::No,
            at: 0,
            next_id: 0,
            thread: ThreadId(0),
            stack: StackId(0),
            stacks: Vec::new(),
        }
    }

    pub(super) fn ahead<'scope>(trace: &'t Trace, scope: &'scope Scope<'scope, '_>) -> Self
    where
        't: 'scope,
    {
        Self::from(Origin::Trace { trace, ahead: ReadAhead::start(trace, scope) }, 0)
    }

    #[inline(always)]
    fn words(&self) -> &[u64] {
        self.lent.or(&self.own)
    }

    /// The next event, or `None` after the last. Damaged chunks are skipped; see [`Trace::damage`].
    #[expect(clippy::should_implement_trait, reason = "lends from itself, which Iterator cannot")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Event<'_>>> {
        match self.next_access() {
            Some(access) => Ok(Some(access.event())),
            None => self.next_other(),
        }
    }

    /// The next event if it is an access of up to eight bytes, as nearly all are. `None` says nothing about what
    /// follows: ask [`Events::next`].
    #[inline(always)]
    pub fn next_access(&mut self) -> Option<WordAccess> {
        loop {
            let &[head, addr, value] = self.words().get(self.at..)?.first_chunk()?;
            if matches!(head as u8, k::READ | k::WRITE) && valid_size(head) {
                self.at += wire::ACCESS_WORDS;
                let id = EventId(self.next_id);
                self.next_id += 1;
                return Some(WordAccess { id, thread: self.thread, stack: self.stack, head, addr: Addr(addr), value });
            }
            if head as u8 != k::SWITCH {
                return None;
            }
            self.switch(head >> 16);
        }
    }

    #[inline(never)]
    fn next_other(&mut self) -> Result<Option<Event<'_>>> {
        if !self.advance() {
            return Ok(None);
        }
        let id = EventId(self.next_id);
        self.next_id += 1;
        let (thread, stack) = (self.thread, self.stack);
        // Only this one field may be borrowed.
        let words = self.lent.or(&self.own);
        match wire::decode(&words[self.at..]) {
            Ok((Record::Event { pc, op }, len)) => {
                self.at += len;
                Ok(Some(Event { id, thread, pc, stack, op }))
            }
            _ => unreachable!("advance stops at whole events only"),
        }
    }

    /// Moves to the next whole event.
    #[inline]
    fn advance(&mut self) -> bool {
        loop {
            let Some(&head) = self.words().get(self.at) else {
                if self.load() {
                    continue;
                }
                return false;
            };
            match head as u8 {
                k::READ | k::WRITE if self.at + wire::ACCESS_WORDS <= self.words().len() && valid_size(head) => {
                    return true;
                }
                k::SWITCH => self.switch(head >> 16),
                k::STACK => {
                    self.stack = StackId((head >> 16) as u32);
                    self.at += 1;
                }
                k::PAD => self.at += 1,
                k::STACK_DEF => self.at += 2,
                // No operand can be bad: being there is enough.
                k::ACQUIRE | k::RELEASE | k::ATOMIC | k::ALLOC | k::FREE if self.at + 4 <= self.words().len() => {
                    return true;
                }
                _ => {
                    if self.is_whole() {
                        return true;
                    }
                }
            }
        }
    }

    /// Whether the event here can be decoded; if not, moves past it.
    #[inline(never)]
    fn is_whole(&mut self) -> bool {
        match wire::decode(&self.words()[self.at..]) {
            Ok(_) => true,
            Err(why) => {
                self.report(format!("event {} of the chunk starting here: {why}", self.next_id));
                match wire::length(&self.words()[self.at..]) {
                    // Only the operand is bad: the records after it are still there.
                    Ok(len) => {
                        self.at += len;
                        self.next_id += 1;
                    }
                    Err(_) => self.at = self.words().len(),
                }
                false
            }
        }
    }

    #[inline]
    fn switch(&mut self, thread: u64) {
        let (old, new) = (self.thread.index(), thread as usize);
        if old.max(new) >= self.stacks.len() {
            return self.first_switch(thread);
        }
        self.at += 1;
        self.stacks[old] = self.stack;
        self.stack = self.stacks[new];
        self.thread = ThreadId(thread as u32);
    }

    /// To a thread that has no place for its stack yet, or cannot exist.
    #[cold]
    fn first_switch(&mut self, thread: u64) {
        if thread >= MAX_THREADS {
            self.report(format!("thread {thread} in the chunk starting here is impossible"));
            self.at = self.words().len();
            return;
        }
        self.stacks.resize(self.thread.index().max(thread as usize) + 1, StackId(0));
        self.switch(thread);
    }

    /// Unpacks the next chunk that has anything in it.
    fn load(&mut self) -> bool {
        loop {
            self.lent = Lent::No;
            let Some(header) = self.next_words() else { return false };
            self.next_chunk += 1;
            self.at = 0;
            self.next_id = header.first_event;
            self.stack = StackId(0);
            self.stacks.fill(StackId(0));
            self.thread = ThreadId(header.thread);
            if u64::from(header.thread) >= MAX_THREADS {
                self.report(format!("thread {} is impossible", header.thread));
                self.pass_over();
            }
            if !self.words().is_empty() {
                return true;
            }
        }
    }

    /// The words of the next chunk.
    fn next_words(&mut self) -> Option<ChunkHeader> {
        match &mut self.from {
            Origin::Text { text, progress } => {
                let Grown { header, words, progress: now } = text.next()?;
                (self.lent, *progress) = (Lent::Text(words), now);
                Some(header)
            }
            Origin::Trace { trace, ahead } => match (trace.at_hand(self.next_chunk), ahead) {
                (Some((header, words)), _) => {
                    self.lent = Lent::Trace(words);
                    Some(header)
                }
                (None, Some(ahead)) => ahead.next(&mut self.own),
                (None, None) => trace.unpack(self.next_chunk, &mut self.unpacker, &mut self.own),
            },
        }
    }

    /// Something is wrong with the current chunk. A text that was just converted has no damage.
    fn report(&self, what: String) {
        if let Some(trace) = self.from.trace() {
            trace.report(trace.chunk_position(self.next_chunk - 1), what);
        }
    }

    /// Leaves what is left of the current chunk.
    fn pass_over(&mut self) {
        self.lent = Lent::No;
        self.own.clear();
    }

    /// The records of the next chunk that is readable, whole. What is left of the current one is passed over.
    pub fn next_chunk(&mut self) -> Option<RawChunk<'_>> {
        self.pass_over();
        self.load().then(|| {
            self.at = self.words().len();
            RawChunk { first_event: EventId(self.next_id), thread: self.thread, words: self.words() }
        })
    }

    /// Passes over the events before `first`.
    pub fn skip_to(&mut self, first: EventId) -> Result<()> {
        while self.advance() && self.next_id < first.0 {
            self.next()?;
        }
        Ok(())
    }

    /// The record of this event, if it can be read. Chunks between here and there are not unpacked.
    pub(super) fn kept(&mut self, id: EventId) -> Result<Option<KeptEvent>> {
        let Some(chunk) = self.from.trace().map(|trace| trace.chunk_of(id)) else { return Ok(None) };
        if chunk >= self.next_chunk {
            self.pass_over();
            (self.next_chunk, self.at) = (chunk, 0);
        }
        self.skip_to(id)?;
        if !self.advance() || self.next_id != id.0 {
            return Ok(None);
        }
        let record = &self.words()[self.at..];
        let words = wire::length(record).ok().and_then(|len| record.get(..len));
        Ok(words.map(|words| KeptEvent { thread: self.thread, stack: self.stack, words: words.into() }))
    }

    /// How much of the trace has been unpacked, from 0 to 1.
    pub fn progress(&self) -> f64 {
        match &self.from {
            Origin::Trace { trace, .. } => self.next_chunk as f64 / trace.chunk_count().max(1) as f64,
            Origin::Text { progress, .. } => *progress,
        }
    }
}

pub(super) const fn valid_size(head: u64) -> bool {
    matches!(head >> 8 & 15, 1..=8)
}

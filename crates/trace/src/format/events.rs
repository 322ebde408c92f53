//! Streams the events of a trace. One chunk is unpacked at a time; an event borrows from it until the next one.

use reweave_model::wire::{self, Record, kind as k};
use reweave_model::{AccessFlags, Addr, Event, EventId, Op, Pc, StackId, ThreadId, Value};

use super::pack::Unpacker;
use super::reader::Trace;
use super::record;
use crate::Result;

/// Thread numbers beyond this are damage: they would make us allocate without bound.
pub(crate) const MAX_THREADS: u64 = 1 << 22;

/// A lending iterator over events, which keeps track of the current thread and each thread's stack.
pub struct Events<'t> {
    trace: &'t Trace,
    next_chunk: usize,
    unpacker: Unpacker,
    words: Vec<u64>,
    /// The next record to look at.
    at: usize,
    /// The id of the next event.
    next_id: u64,
    thread: ThreadId,
    stack: StackId,
    /// Stacks of the threads that are not current.
    stacks: Vec<StackId>,
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
        Self {
            trace,
            next_chunk: chunk,
            unpacker: Unpacker::default(),
            words: Vec::new(),
            at: 0,
            next_id: 0,
            thread: ThreadId(0),
            stack: StackId(0),
            stacks: Vec::new(),
        }
    }

    /// The next event, or `None` after the last. Damaged chunks are skipped; see [`Trace::damage`].
    #[expect(clippy::should_implement_trait, reason = "lends from itself, which Iterator cannot")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Event<'_>>> {
        if !self.advance() {
            return Ok(None);
        }
        let words = &self.words[self.at..];
        let id = EventId(self.next_id);
        self.next_id += 1;
        let (thread, stack) = (self.thread, self.stack);
        let head = words[0];
        let pc = Pc(head >> 16);
        // Accesses are nearly everything: decode them here rather than through the general decoder.
        if matches!(head as u8, k::READ | k::WRITE) && words.len() >= wire::ACCESS_WORDS {
            self.at += wire::ACCESS_WORDS;
            let (addr, value) = (Addr(words[1]), Value::Word(words[2]));
            let (size, flags) = ((head >> 8 & 15) as u32, AccessFlags((head >> 12 & 15) as u8));
            let op = if head as u8 == k::READ {
                Op::Read { addr, size, value, flags }
            } else {
                Op::Write { addr, size, value, flags }
            };
            return Ok(Some(Event { id, thread, pc, stack, op }));
        }
        match wire::decode(words) {
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
            let Some(&head) = self.words.get(self.at) else {
                if self.load() {
                    continue;
                }
                return false;
            };
            match head as u8 {
                k::READ | k::WRITE if self.at + wire::ACCESS_WORDS <= self.words.len() && valid_size(head) => {
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
                k::ACQUIRE | k::RELEASE | k::ATOMIC | k::ALLOC | k::FREE if self.at + 4 <= self.words.len() => {
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
        match wire::decode(&self.words[self.at..]) {
            Ok(_) => true,
            Err(why) => {
                let position = self.trace.chunk_position(self.next_chunk - 1);
                self.trace.report(position, format!("event {} of the chunk starting here: {why}", self.next_id));
                match record::length(&self.words[self.at..]) {
                    // Only the operand is bad: the records after it are still there.
                    Ok(len) => {
                        self.at += len;
                        self.next_id += 1;
                    }
                    Err(_) => self.at = self.words.len(),
                }
                false
            }
        }
    }

    fn switch(&mut self, thread: u64) {
        self.at += 1;
        if thread >= MAX_THREADS {
            let position = self.trace.chunk_position(self.next_chunk - 1);
            self.trace.report(position, format!("thread {thread} in the chunk starting here is impossible"));
            self.at = self.words.len();
            return;
        }
        let (old, new) = (self.thread.index(), thread as usize);
        let needed = old.max(new) + 1;
        if self.stacks.len() < needed {
            self.stacks.resize(needed, StackId(0));
        }
        self.stacks[old] = self.stack;
        self.stack = self.stacks[new];
        self.thread = ThreadId(thread as u32);
    }

    /// Unpacks the next chunk that has anything in it.
    fn load(&mut self) -> bool {
        loop {
            let Some(header) = self.trace.unpack(self.next_chunk, &mut self.unpacker, &mut self.words) else {
                return false;
            };
            self.next_chunk += 1;
            self.at = 0;
            self.next_id = header.first_event;
            self.stack = StackId(0);
            self.stacks.fill(StackId(0));
            self.thread = ThreadId(header.thread);
            if u64::from(header.thread) >= MAX_THREADS {
                let position = self.trace.chunk_position(self.next_chunk - 1);
                self.trace.report(position, format!("thread {} is impossible", header.thread));
                self.words.clear();
            }
            if !self.words.is_empty() {
                return true;
            }
        }
    }

    /// The records of the next chunk that is readable, whole. What is left of the current one is passed over.
    pub fn next_chunk(&mut self) -> Option<RawChunk<'_>> {
        self.words.clear();
        self.load().then(|| {
            self.at = self.words.len();
            RawChunk { first_event: EventId(self.next_id), thread: self.thread, words: &self.words }
        })
    }

    /// Passes over the events before `first`.
    pub fn skip_to(&mut self, first: EventId) -> Result<()> {
        while self.advance() && self.next_id < first.0 {
            self.next()?;
        }
        Ok(())
    }

    /// How much of the trace has been unpacked, from 0 to 1.
    pub fn progress(&self) -> f64 {
        self.next_chunk as f64 / self.trace.chunk_count().max(1) as f64
    }
}

const fn valid_size(head: u64) -> bool {
    matches!(head >> 8 & 15, 1..=8)
}

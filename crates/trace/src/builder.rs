//! Makes traces by hand: for tests and for importers.

use std::path::Path;

use reweave_model::wire::{Record, append};
use reweave_model::{EventId, Op, Pc, StackId, ThreadId};

use crate::{Footer, Meta, Result, Symbols, Trace, Writer};

/// Chunks are handed over once they reach this many words: small enough to stream, large enough to pack well.
const CHUNK_WORDS: usize = 128 << 10;

/// Takes events one after the other and writes the context records (thread switches, stacks) between them.
pub struct TraceBuilder {
    writer: Writer,
    chunk: Vec<u64>,
    chunk_words: usize,
    thread_at_start: ThreadId,
    thread: ThreadId,
    stacks: Vec<ThreadStack>,
    chunks: u32,
    next_event: u64,
}

#[derive(Clone, Copy, Default)]
struct ThreadStack {
    wanted: StackId,
    /// What the last `Stack` record said, and in which chunk: every chunk starts with all stacks empty.
    shown: StackId,
    chunk: u32,
}

impl Default for TraceBuilder {
    fn default() -> Self {
        Self::new(&Meta { tool: env!("CARGO_PKG_VERSION").into(), instrumented: true, ..Meta::default() })
    }
}

impl TraceBuilder {
    /// Builds in memory.
    pub fn new(meta: &Meta) -> Self {
        Self::with_writer(Writer::in_memory(meta))
    }

    /// Builds into a file.
    pub fn create(path: impl AsRef<Path>, meta: &Meta) -> Result<Self> {
        Ok(Self::with_writer(Writer::create(path, meta)?))
    }

    fn with_writer(writer: Writer) -> Self {
        Self {
            writer,
            chunk: Vec::new(),
            chunk_words: CHUNK_WORDS,
            thread_at_start: ThreadId(0),
            thread: ThreadId(0),
            stacks: Vec::new(),
            chunks: 1,
            next_event: 0,
        }
    }

    /// Makes chunks of about this many words, for tests that need several.
    pub fn chunk_words(mut self, words: usize) -> Self {
        self.chunk_words = words;
        self
    }

    /// Appends an event.
    pub fn push(&mut self, thread: ThreadId, pc: Pc, op: Op<'_>) -> Result<()> {
        if self.chunk.len() >= self.chunk_words {
            self.flush()?;
        }
        if self.chunk.is_empty() {
            self.thread_at_start = thread;
            self.thread = thread;
        } else if thread != self.thread {
            self.thread = thread;
            self.record(&Record::Switch { thread });
        }
        if let Some(known) = self.stacks.get_mut(thread.index()) {
            let shown = if known.chunk == self.chunks { known.shown } else { StackId(0) };
            let stack = known.wanted;
            *known = ThreadStack { wanted: stack, shown: stack, chunk: self.chunks };
            if stack != shown {
                self.record(&Record::Stack { stack });
            }
        }
        self.record(&Record::Event { pc, op });
        self.next_event += 1;
        Ok(())
    }

    /// An event without a code address; for tests. Panics where [`Self::push`] fails, which in memory it never does.
    pub fn op(&mut self, thread: u32, op: Op<'_>) -> &mut Self {
        self.push(ThreadId(thread), Pc(0), op).expect("memory takes every write");
        self
    }

    pub fn define_stack(&mut self, stack: StackId, parent: StackId, pc: Pc) -> Result<()> {
        if self.chunk.len() >= self.chunk_words {
            self.flush()?;
        }
        if self.chunk.is_empty() {
            self.thread_at_start = self.thread;
        }
        self.record(&Record::StackDef { stack, parent, pc });
        Ok(())
    }

    /// Replaces what is known about the run.
    pub fn set_meta(&mut self, meta: &Meta) -> Result<()> {
        self.writer.meta(meta)
    }

    /// Gives the next event this id: the ones before it are lost. Smaller ids than the next one change nothing.
    pub fn skip_to(&mut self, next: EventId) -> Result<()> {
        if next.0 > self.next_event {
            self.flush()?;
            self.writer.skip_to(next);
            self.next_event = next.0;
        }
        Ok(())
    }

    /// The stack of a thread from its next event on.
    pub fn set_stack(&mut self, thread: ThreadId, stack: StackId) {
        if self.stacks.len() <= thread.index() {
            self.stacks.resize(thread.index() + 1, ThreadStack::default());
        }
        self.stacks[thread.index()].wanted = stack;
    }

    /// The id of the next event.
    pub fn next_event(&self) -> EventId {
        EventId(self.next_event)
    }

    fn record(&mut self, record: &Record<'_>) {
        append(&mut self.chunk, record);
    }

    fn flush(&mut self) -> Result<()> {
        if !self.chunk.is_empty() {
            self.writer.event_words(&self.chunk, self.thread_at_start)?;
            self.chunk.clear();
            self.chunks += 1;
        }
        Ok(())
    }

    /// Writes the end of the trace.
    pub fn finish(mut self, footer: Footer, symbols: Option<&Symbols>) -> Result<Writer> {
        self.flush()?;
        self.writer.finish(footer, symbols)?;
        Ok(self.writer)
    }

    /// The bytes of the file, for a trace built in memory.
    pub fn into_bytes(self) -> Result<Vec<u8>> {
        Ok(self.finish(Footer::default(), None)?.into_bytes())
    }

    /// The trace, for one built in memory.
    pub fn into_trace(self) -> Result<Trace> {
        Trace::from_bytes(self.into_bytes()?)
    }
}

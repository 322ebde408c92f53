//! Makes traces by hand: for tests and for importers.

use std::path::Path;
use std::sync::Arc;

use reweave_model::wire::{Record, access_word, append, kind};
use reweave_model::{Addr, EventId, Op, Pc, StackId, ThreadId};

use crate::format::growing::Readers;
use crate::format::narrow::{Narrow, Unpacked, UnpackedChunk};
use crate::{Footer, Meta, Result, Symbols, Trace, Writer};

/// Chunks are handed over once they reach this many words: small enough to stream, large enough to pack well.
const CHUNK_WORDS: usize = 128 << 10;
/// Words of a trace made in memory that stay as they are, for it may be read several times: 32 MB are about a million
/// events. The rest takes half the room.
const WIDE_WORDS: usize = 4 << 20;
/// A chunk is handed over with the event that makes it long enough.
const SLACK: usize = 64;

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
    /// All chunks of a trace that is read at once, and how many words more of it may stay as they are.
    unpacked: Option<Vec<UnpackedChunk>>,
    room: usize,
    /// Who reads such a trace while it is made, and how far its making is, from 0 to 1.
    readers: Readers,
    progress: f64,
}

/// An access to eight aligned bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WholeWord {
    pub is_write: bool,
    pub addr: Addr,
    pub value: u64,
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
            unpacked: None,
            room: 0,
            readers: Readers::default(),
            progress: 0.0,
        }
    }

    /// Packs nothing: for a trace that is read at once, by [`Self::open`] or, while it is made, by these readers.
    pub(crate) fn unpacked(self, readers: Readers) -> Self {
        Self { unpacked: Some(Vec::new()), room: WIDE_WORDS, readers, ..self }
    }

    /// For those who read it meanwhile.
    pub(crate) fn set_progress(&mut self, progress: f64) {
        self.progress = progress;
    }

    /// Makes chunks of about this many words, for tests that need several.
    pub fn chunk_words(mut self, words: usize) -> Self {
        self.chunk_words = words;
        self
    }

    /// Appends an event.
    pub fn push(&mut self, thread: ThreadId, pc: Pc, op: Op<'_>) -> Result<()> {
        self.context(thread)?;
        self.record(&Record::Event { pc, op });
        self.next_event += 1;
        Ok(())
    }

    /// Appends an access to a whole word: as [`Self::push`], without the detour.
    #[inline]
    pub(crate) fn push_word(&mut self, thread: ThreadId, pc: Pc, access: WholeWord) -> Result<()> {
        if self.chunk.len() >= self.chunk_words || thread != self.thread || !self.stacks.is_empty() {
            self.context(thread)?;
        } else if self.chunk.is_empty() {
            self.thread_at_start = thread;
        }
        let kind = if access.is_write { kind::WRITE } else { kind::READ };
        self.chunk.extend_from_slice(&[access_word(kind, 8, 0, pc.0), access.addr.0, access.value]);
        self.next_event += 1;
        Ok(())
    }

    /// Says who acts, where that is not known yet.
    fn context(&mut self, thread: ThreadId) -> Result<()> {
        if self.chunk.len() >= self.chunk_words {
            self.flush()?;
        }
        if self.chunk.is_empty() {
            self.thread_at_start = thread;
            self.thread = thread;
        } else if thread != self.thread {
            self.thread = thread;
            self.chunk.push(access_word(kind::SWITCH, 0, 0, u64::from(thread.0)));
        }
        if let Some(known) = self.stacks.get_mut(thread.index()) {
            let shown = if known.chunk == self.chunks { known.shown } else { StackId(0) };
            let stack = known.wanted;
            *known = ThreadStack { wanted: stack, shown: stack, chunk: self.chunks };
            if stack != shown {
                self.record(&Record::Stack { stack });
            }
        }
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
        if self.chunk.is_empty() {
            return Ok(());
        }
        let Some(unpacked) = &mut self.unpacked else {
            self.writer.event_words(&self.chunk, self.thread_at_start)?;
            self.chunk.clear();
            self.chunks += 1;
            return Ok(());
        };
        let header = self.writer.keep_unpacked(&self.chunk, self.thread_at_start);
        let whole = Arc::new(std::mem::take(&mut self.chunk));
        self.readers.give(header, &whole, self.progress);
        let words = if self.room >= whole.len() {
            self.room -= whole.len();
            Unpacked::Wide(whole)
        } else {
            // What is wide comes first.
            self.room = 0;
            let narrow = Narrow::new(&whole);
            self.chunk = Arc::into_inner(whole).unwrap_or_default();
            self.chunk.clear();
            Unpacked::Narrow(narrow)
        };
        self.chunk.reserve(self.chunk_words + SLACK);
        unpacked.push(UnpackedChunk { header, words });
        self.chunks += 1;
        Ok(())
    }

    /// The trace, for one built in memory, with its end.
    pub(crate) fn open(mut self, footer: Footer, symbols: &Symbols) -> Result<Trace> {
        self.flush()?;
        self.writer.finish(footer, Some(symbols))?;
        Trace::made(self.writer.into_bytes(), self.unpacked.unwrap_or_default())
    }

    /// Writes the end of the trace.
    pub fn finish(mut self, footer: Footer, symbols: Option<&Symbols>) -> Result<Writer> {
        debug_assert!(self.unpacked.is_none(), "such a trace is opened, not written");
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

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::{AccessFlags, Addr, Value};

    #[test]
    fn unpacked_chunks_and_packed_ones_read_as_one_trace() {
        let write = |n: u64| Op::Write { addr: Addr(8 * n), size: 8, value: Value::Word(n), flags: AccessFlags(0) };
        let fill = |builder: &mut TraceBuilder| {
            builder.define_stack(StackId(1), StackId(0), Pc(7)).expect("memory takes every write");
            for n in 0..60 {
                let thread = ThreadId(n as u32 / 5 % 3);
                builder.set_stack(thread, StackId(n as u32 % 2));
                let op = if n % 7 == 0 { Op::Detach { child: ThreadId(n as u32) } } else { write(n) };
                builder.push(thread, Pc(n), op).expect("memory takes every write");
            }
        };
        let read = |trace: &Trace| {
            let (mut all, mut events) = (Vec::new(), trace.events());
            while let Some(event) = events.next().expect("in memory") {
                all.push(format!("{event:?}"));
            }
            std::thread::scope(|scope| {
                let mut events = trace.events_ahead(scope);
                let ahead = std::iter::from_fn(|| Some(format!("{:?}", events.next().expect("in memory")?)));
                assert!(ahead.eq(all.iter().cloned()));
            });
            all
        };
        let mut packed = TraceBuilder::default().chunk_words(16);
        fill(&mut packed);
        let packed = packed.into_trace().expect("in memory");
        for room in [0, 40, 100, 1000] {
            let mut builder =
                TraceBuilder { room, ..TraceBuilder::default().chunk_words(16).unpacked(Readers::default()) };
            fill(&mut builder);
            let trace = builder.open(Footer::default(), &Symbols::default()).expect("in memory");
            assert_eq!(trace.packed_chunks().start == 0, room == 0);
            assert_eq!(read(&trace), read(&packed));
            assert_eq!(trace.footer().map(|footer| &footer.kinds), packed.footer().map(|footer| &footer.kinds));
            assert_eq!(trace.event_count(), 60);
            assert_eq!(trace.stacks().resolve(StackId(1)), [Pc(7)]);
            assert!(trace.damage().is_empty(), "{:?}", trace.damage());
            let one = trace.look_at(EventId(33), |event| event.pc).expect("in memory");
            assert_eq!(one, Some(Pc(33)));
        }
    }
}

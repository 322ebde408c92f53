//! Where the records of a process go: into a trace file, or into an analysis while the program runs.

use std::fmt::Debug;
use std::path::Path;

use reweave_model::ThreadId;
use reweave_model::wire::kind;
use reweave_trace::{Footer, Meta, Outcome, PARTIAL, Writer};

use crate::Result;
use crate::collector::human_size;
use crate::front_end::FrontEnd;
use crate::symbols::symbols;

/// What taking a chunk came to, if not just done.
#[derive(Debug)]
pub enum SinkProblem {
    /// Something is missing; the rest goes on.
    Warning(String),
    /// Nothing more can be taken, and why.
    Stop(String),
}

/// One end of a recording. It lives in the thread that collects.
pub trait Sink {
    /// The records of one chunk, the first ones performed by `thread`, and how much the program waited for us so far.
    fn take(&mut self, words: &[u64], thread: ThreadId, stalls: Stalls) -> std::result::Result<(), SinkProblem>;

    /// Whether it takes a chunk in pieces, while it is being filled: then [`Sink::more`] brings the later ones.
    fn takes_pieces(&self) -> bool {
        false
    }

    /// Further records of the chunk taken last.
    fn more(&mut self, words: &[u64], stalls: Stalls) -> std::result::Result<(), SinkProblem> {
        let _ = (words, stalls);
        Ok(())
    }

    /// Whether the process has said how it ends: only then are chunks searched for it.
    fn has_last_words(&self) -> bool;

    /// Whether earlier accesses were forgotten since this was asked last.
    fn has_forgotten(&mut self) -> bool {
        false
    }

    /// The last call. Returns what went wrong at the end.
    fn finish(&mut self, end: &End<'_>) -> Vec<String>;

    fn totals(&self) -> Totals;
}

/// How the process ended, as far as it is known.
pub struct End<'a> {
    pub outcome: &'a Outcome,
    pub warnings: &'a [String],
    /// Recording ended before the process did.
    pub cut: bool,
    /// How often and for how long the process waited for us.
    pub stalls: Stalls,
}

/// The program slows down rather than losing events.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Stalls {
    pub times: u64,
    pub nanoseconds: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    pub events: u64,
    pub threads: u64,
    pub bytes: u64,
}

/// Opens a sink in the thread that collects.
pub type OpenSink = Box<dyn FnOnce() -> Box<dyn Sink> + Send>;

/// Who wants the records of a run, if they do not go into traces.
pub trait Watcher: Debug + Send + Sync {
    /// Whether accesses that only repeat what their thread did are nothing new to it.
    fn allows_skipping_repeats(&self) -> bool {
        false
    }

    /// A process of the program joins in.
    fn admit(&self, process: &Meta, front_end: &'static dyn FrontEnd) -> OpenSink;
}

/// How much of a process is recorded: it goes on without us beyond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    pub bytes: u64,
    pub events: u64,
}

/// Into a trace file.
pub struct ToTrace {
    writer: Writer,
    limits: Limits,
    front_end: &'static dyn FrontEnd,
}

impl ToTrace {
    pub fn open(path: &Path, meta: &Meta, limits: Limits, front_end: &'static dyn FrontEnd) -> Result<OpenSink> {
        let writer = Writer::create(path, meta)?;
        Ok(Box::new(move || Box::new(Self { writer, limits, front_end })))
    }
}

impl Sink for ToTrace {
    fn take(&mut self, words: &[u64], thread: ThreadId, _: Stalls) -> std::result::Result<(), SinkProblem> {
        let taken = self.writer.event_words(words, thread);
        if let Err(error) = taken {
            if let reweave_trace::Error::BadRecord { .. } = error {
                return Err(SinkProblem::Warning(error.to_string()));
            }
            let next = if error.is_disk_full() { ": make room, or record elsewhere with -o" } else { "" };
            return Err(SinkProblem::Stop(format!("{error}{next}")));
        }
        if self.writer.bytes_written() > self.limits.bytes {
            let size = human_size(self.limits.bytes);
            return Err(SinkProblem::Stop(format!("the trace reached its limit of {size}: raise it with --max-trace")));
        }
        if self.writer.event_count() >= self.limits.events {
            let count = self.limits.events;
            return Err(SinkProblem::Stop(format!(
                "the trace reached its limit of {count} events: raise it with --max-events"
            )));
        }
        Ok(())
    }

    fn has_last_words(&self) -> bool {
        self.writer.count_of(kind::EXIT) + self.writer.count_of(kind::FATAL) > 0
    }

    fn finish(&mut self, end: &End<'_>) -> Vec<String> {
        let symbols = symbols(self.front_end, self.writer.modules(), &self.writer.pcs());
        let mut footer = Footer { outcome: end.outcome.clone(), warnings: end.warnings.to_vec(), ..Footer::default() };
        if end.cut {
            footer.other.insert(PARTIAL.into(), true.into());
        }
        match self.writer.finish(footer, Some(&symbols)) {
            Err(error) if !end.cut => vec![format!("{error}: the trace has no symbols")],
            _ => Vec::new(),
        }
    }

    fn totals(&self) -> Totals {
        Totals {
            events: self.writer.event_count(),
            threads: self.writer.count_of(kind::BEGIN),
            bytes: self.writer.bytes_written(),
        }
    }
}

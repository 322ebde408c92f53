//! The recorder's half in the `reweave` process: one thread per process of the target takes full chunks out of the
//! shared region and gives them to a sink (a trace, or a live analysis), and takes what is left when the process is
//! gone, however it went. A sink that is slow slows the program down: the ring of chunks fills, and the program waits.

use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use reweave_conductor::aliases::Aliases;
use reweave_conductor::shared::{self, CHUNK_BYTES, CHUNKS, Region};
use reweave_conductor::sys;
use reweave_model::wire::{self, Record};
use reweave_model::{Op, ThreadId};
use reweave_trace::format::foreseen;
use reweave_trace::{Outcome, ProcessTrace};

use crate::pidfd::PidFd;
use crate::region::Mapping;
use crate::registry::lock;
use crate::sink::{End, OpenSink, Sink, SinkProblem, Stalls, Totals};
use crate::watchdog::{TICK, Watchdog};

/// A process that hangs gets this long to be looked at before it is ended.
const HANG_GRACE: Duration = Duration::from_millis(10);

/// Where a replay left its schedule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Divergence {
    /// One of `shared::DIVERGED_*`.
    pub why: u32,
    pub segment: u32,
    pub thread: u32,
}

/// What the session and the collector of one process share.
pub struct Signals {
    pub mapping: Mapping,
    /// The process goes on as another program, or the session ends: finish this trace now.
    pub finish: AtomicBool,
    /// The session's last word: nothing more is waited for.
    pub abandon: AtomicBool,
    pub status: Mutex<Option<ExitStatus>>,
    pub status_known: Condvar,
}

impl Signals {
    pub const fn new(mapping: Mapping) -> Self {
        Self {
            mapping,
            finish: AtomicBool::new(false),
            abandon: AtomicBool::new(false),
            status: Mutex::new(None),
            status_known: Condvar::new(),
        }
    }

    pub fn set_status(&self, status: ExitStatus) {
        *lock(&self.status) = Some(status);
        self.status_known.notify_all();
        // It would look by itself at its next tick; but runs are many and short.
        sys::futex_wake(&self.mapping.region().header().filled);
    }
}

/// One process being recorded.
pub struct Job {
    pub pid: u32,
    pub process: PidFd,
    pub sink: OpenSink,
    pub path: PathBuf,
    pub replaying: bool,
    /// A debugger is in charge: neither take the token away nor end a hanging process.
    pub under_debugger: bool,
    /// Its exit status will be known to the session.
    pub is_root: bool,
    pub instrumented: bool,
    pub max_events: u64,
    /// What it is among the processes of its run.
    pub about: ProcessTrace,
    pub signals: Arc<Signals>,
}

/// What became of it.
#[derive(Clone, Debug)]
pub struct Collected {
    pub path: PathBuf,
    pub pid: u32,
    /// What it is among the processes of its run, its file apart.
    pub about: ProcessTrace,
    pub is_root: bool,
    pub instrumented: bool,
    pub outcome: Outcome,
    pub events: u64,
    pub threads: u64,
    pub bytes: u64,
    pub stalls: Stalls,
    pub diverged: Option<Divergence>,
    /// Active testing: threads paused, and let go in vain.
    pub pauses: u32,
    pub thrashes: u32,
    /// Threads came to stand where active testing wanted them.
    pub met: bool,
    /// It was ended because it had recorded so much.
    pub too_long: bool,
    pub warnings: Vec<String>,
}

struct Collector {
    pid: u32,
    process: PidFd,
    sink: Box<dyn Sink>,
    path: PathBuf,
    replaying: bool,
    under_debugger: bool,
    is_root: bool,
    instrumented: bool,
    about: ProcessTrace,
    max_events: u64,
    too_long: bool,
    /// Memory that is mapped twice is taken for two places: there is synchronization in it.
    apart: bool,
    signals: Arc<Signals>,
    drained: u32,
    /// Bytes of the next chunk that the sink has got already.
    taken: usize,
    /// Recording ended early, and why.
    stopped: Option<String>,
    warnings: Vec<String>,
    last_words: Outcome,
}

/// Runs until the process is gone; returns when its trace is complete.
pub fn run(job: Job) -> Collected {
    let Job { pid, process, sink, path, replaying, under_debugger, is_root, instrumented, max_events, about, signals } =
        job;
    let mut collector = Collector {
        pid,
        process,
        sink: sink(),
        path,
        replaying,
        under_debugger,
        is_root,
        instrumented,
        about,
        max_events,
        too_long: false,
        apart: false,
        signals,
        drained: 0,
        taken: 0,
        stopped: None,
        warnings: Vec::new(),
        last_words: Outcome::Unknown,
    };
    collector.follow();
    collector.finish()
}

impl Collector {
    fn region(&self) -> Region {
        *self.signals.mapping.region()
    }

    fn follow(&mut self) {
        let region = self.region();
        let header = region.header();
        let mut watchdog = Watchdog::new(self.pid, self.replaying);
        let mut hanging: Option<Instant> = None;
        loop {
            self.drain();
            if self.sink.totals().events > self.max_events && !self.process.has_ended() {
                self.too_long = true;
                self.process.kill(libc::SIGKILL);
            }
            let signals = &self.signals;
            if self.process.has_ended() || signals.finish.load(Ordering::Acquire) {
                break;
            }
            if header.hang.load(Ordering::Acquire) != 0 && !self.under_debugger {
                let since = *hanging.get_or_insert_with(Instant::now);
                if since.elapsed() >= HANG_GRACE {
                    self.process.kill(libc::SIGKILL);
                }
            } else if !self.under_debugger {
                watchdog.tick(&region);
            }
            let filled = header.filled.load(Ordering::Acquire);
            if filled == self.drained {
                sys::futex_wait(&header.filled, filled, Some(TICK.as_nanos() as u64));
                if self.sink.takes_pieces() && header.filled.load(Ordering::Acquire) == filled {
                    self.drain_open_chunk();
                }
            }
        }
        self.drain();
        self.drain_open_chunk();
    }

    /// Takes the chunks that are full.
    fn drain(&mut self) {
        let region = self.region();
        let header = region.header();
        loop {
            let filled = header.filled.load(Ordering::Acquire);
            if self.drained == filled {
                return;
            }
            let len = header.chunk_len[self.drained as usize % CHUNKS].load(Ordering::Acquire) as usize;
            self.take(len, None);
            self.taken = 0;
            self.drained = self.drained.wrapping_add(1);
            header.drained.store(self.drained, Ordering::Release);
            sys::futex_wake(&header.drained);
        }
    }

    /// What stands in the chunk that is being filled, up to a write whose value has not come yet.
    fn drain_open_chunk(&mut self) {
        let region = self.region();
        let header = region.header();
        let mut len = header.cursor.load(Ordering::Acquire) as usize;
        let pending = header.pending.load(Ordering::Acquire) as usize;
        if pending != 0 {
            len = len.min(pending - 1);
        }
        let run = header.run.load(Ordering::Acquire) as usize;
        // If it has been handed over meanwhile, the length may be that of the next one. Once the target discards, the
        // open chunk is a continuation of something that was not taken.
        if header.filled.load(Ordering::Acquire) == self.drained && header.discard.load(Ordering::Acquire) == 0 {
            self.take(len, run.checked_sub(1));
        }
    }

    /// Gives the sink the next chunk up to `len` bytes. `run`: where a run of foreseen accesses begins whose record is
    /// not complete.
    fn take(&mut self, len: usize, run: Option<usize>) {
        let region = self.region();
        let len = len.min(CHUNK_BYTES) / 8 * 8;
        if self.stopped.is_some() || len <= self.taken {
            return;
        }
        let sequence = self.drained;
        let thread = region.header().chunk_thread[sequence as usize % CHUNKS].load(Ordering::Acquire);
        let thread = if thread == reweave_conductor::NO_THREAD { 0 } else { thread };
        let (from, until) = (self.taken / 8, len / 8);
        // SAFETY: inside the mapping, page aligned, and no longer written by the target.
        let words = unsafe { std::slice::from_raw_parts(region.chunk(sequence).cast::<u64>().add(from), until - from) };
        self.taken = len;
        let (expanded, translated);
        let aliases = &region.header().aliases;
        let words = match run.filter(|&run| run < len) {
            None if aliases.is_empty() => words,
            None => {
                expanded = foreseen::expanded(words);
                &expanded
            }
            Some(run) => {
                let mut words = words.to_vec();
                foreseen::complete(&mut words, run / 8);
                expanded = foreseen::expanded(&words);
                &expanded
            }
        };
        self.apart |= !aliases.is_empty() && synchronises(words, aliases, sequence);
        let words = if aliases.is_empty() || self.apart {
            words
        } else {
            translated = at_first_addresses(words, aliases, sequence);
            &translated
        };
        let stalls = stalls(&region);
        // A panic here would leave the program waiting for us for ever.
        let taken = panic::catch_unwind(AssertUnwindSafe(|| match from {
            0 => self.sink.take(words, ThreadId(thread), stalls),
            _ => self.sink.more(words, stalls),
        }));
        let taken = taken.unwrap_or_else(|_| Err(SinkProblem::Stop("an internal error: please report it".into())));
        if self.sink.has_forgotten() {
            region.header().forgot.fetch_add(1, Ordering::Relaxed);
        }
        self.remember_last_words(words);
        match taken {
            Ok(()) => {}
            Err(SinkProblem::Warning(warning)) => self.warnings.push(warning),
            Err(SinkProblem::Stop(why)) => self.stop(why),
        }
    }

    /// The program runs on without being recorded.
    fn stop(&mut self, why: String) {
        let region = self.region();
        let header = region.header();
        header.discard.store(1, Ordering::Release);
        header.drained.store(header.filled.load(Ordering::Acquire), Ordering::Release);
        sys::futex_wake(&header.drained);
        self.stopped = Some(why);
    }

    /// How the process says it ends, for those whose status the kernel does not tell us. Events of that kind are rare
    /// and last, so only chunks that hold one are searched.
    fn remember_last_words(&mut self, mut words: &[u64]) {
        if !self.sink.has_last_words() {
            return;
        }
        while let Ok(len) = wire::length(words) {
            match wire::decode(words).map(|(record, _)| record) {
                Ok(Record::Event { op: Op::Exit { status }, .. }) => self.last_words = Outcome::Exited { status },
                Ok(Record::Event { op: Op::Fatal { number, .. }, .. }) if number != 0 => {
                    self.last_words = Outcome::Signalled { signal: number as i32, core: false };
                }
                _ => {}
            }
            words = &words[len..];
        }
    }

    fn outcome(&self) -> Outcome {
        let header = self.region().header();
        if header.hang.load(Ordering::Acquire) != 0 {
            return Outcome::Hung;
        }
        let signals = &self.signals;
        if signals.finish.load(Ordering::Acquire) && !signals.abandon.load(Ordering::Acquire) {
            return Outcome::Exec;
        }
        if signals.abandon.load(Ordering::Acquire) {
            return Outcome::Stopped { why: "the process continued after the program had ended".into() };
        }
        if !self.is_root {
            return self.last_words.clone();
        }
        let status = signals.status.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (status, _) = signals
            .status_known
            .wait_timeout_while(status, Duration::from_secs(5), |status| status.is_none())
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        status.map_or_else(|| self.last_words.clone(), outcome_of)
    }

    fn finish(mut self) -> Collected {
        let header = self.region().header();
        let outcome = self.outcome();
        if let Some(why) = &self.stopped {
            self.warnings.push(format!("recording stopped, and the program continued without it: {why}"));
        }
        let why = header.diverged.load(Ordering::Acquire);
        let diverged = (why != shared::DIVERGED_NO).then(|| Divergence {
            why,
            segment: header.diverged_segment.load(Ordering::Relaxed),
            thread: header.diverged_thread.load(Ordering::Relaxed),
        });
        let stalls = stalls(&self.region());
        let end = End { outcome: &outcome, warnings: &self.warnings, cut: self.stopped.is_some(), stalls };
        let last = self.sink.finish(&end);
        self.warnings.extend(last);
        let Totals { events, threads, bytes } = self.sink.totals();
        Collected {
            path: self.path,
            pid: self.pid,
            about: self.about,
            is_root: self.is_root,
            instrumented: self.instrumented,
            outcome,
            events,
            threads,
            bytes,
            stalls,
            diverged,
            pauses: header.pauses.load(Ordering::Relaxed),
            thrashes: header.thrashes.load(Ordering::Relaxed),
            met: header.met.load(Ordering::Relaxed) > 0,
            too_long: self.too_long,
            warnings: self.warnings,
        }
    }
}

fn stalls(region: &Region) -> Stalls {
    let header = region.header();
    let times = header.stalls.load(Ordering::Relaxed).into();
    Stalls { times, nanoseconds: header.stalled.load(Ordering::Relaxed) }
}

pub fn outcome_of(status: ExitStatus) -> Outcome {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(status), _) => Outcome::Exited { status },
        (None, Some(signal)) => Outcome::Signalled { signal, core: status.core_dumped() },
        (None, None) => Outcome::Unknown,
    }
}

/// Bytes for people: `1.5 MB`.
pub fn human_size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KB", "MB", "GB", "TB"];
    let mut size = bytes as f64;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    if size.fract() < 0.05 { format!("{size:.0} {}", UNITS[unit]) } else { format!("{size:.1} {}", UNITS[unit]) }
}

/// Whether threads synchronize by something in memory that is mapped a second time. Objects keep their own addresses,
/// so that accesses they order would look unordered if only these were put together.
fn synchronises(words: &[u64], aliases: &Aliases, sequence: u32) -> bool {
    let mut at = 0;
    while let Ok((record, len)) = wire::decode(&words[at..]) {
        let object = match record {
            Record::Event { op: Op::Acquire { object, .. } | Op::Release { object, .. }, .. }
            | Record::Event { op: Op::Blocked { object, .. } | Op::Refused { object, .. }, .. } => object,
            Record::Event { op: Op::Send { channel, .. } | Op::Receive { channel, .. }, .. } => channel,
            Record::Event { op: Op::SemaphorePost { semaphore, .. } | Op::SemaphoreTake { semaphore, .. }, .. } => {
                semaphore
            }
            Record::Event { op: Op::BarrierArrive { barrier, .. }, .. } => barrier,
            Record::Event { op: Op::Wait { condition, .. } | Op::Notify { condition, .. }, .. } => condition,
            _ => reweave_model::ObjectId(0),
        };
        if aliases.first_address(object.0, sequence) != object.0 {
            return true;
        }
        at += len;
    }
    false
}

/// Records with their accesses where the trace knows the memory.
fn at_first_addresses(words: &[u64], aliases: &Aliases, sequence: u32) -> Vec<u64> {
    const ADDRESS: u64 = (1 << 56) - 1;
    let mut words = words.to_vec();
    let mut at = 0;
    while let Ok((record, len)) = wire::decode(&words[at..]) {
        if let Record::Event { op: Op::Read { addr, .. } | Op::Write { addr, .. } | Op::Atomic { addr, .. }, .. } =
            record
        {
            // The record's second word; that of an atomic has its size on top.
            let first = aliases.first_address(addr.0, sequence);
            words[at + 1] = words[at + 1] & !ADDRESS | first & ADDRESS;
        }
        at += len;
    }
    words
}

//! The trace checker: does what was recorded hang together?
//!
//! A trace is consistent if every read returns what the last recorded write left there, locks exclude each other,
//! waits, notifies, barriers, semaphores and onces keep their counts, and threads are forked before they begin and end
//! before they are joined. A read that no recorded write explains is not an inconsistency: libraries write memory
//! unseen. It is counted apart, and stands for a synthetic *extern* write at that point.
//!
//! Memory that one thread alone accesses during its whole life needs no explanation: whatever changed it (a register
//! spilled into a frame, a by-value argument, a library on the thread's behalf) is part of what the thread does by
//! itself, so in every reordering it reads there what it read in the trace, as long as its reads of shared memory do.
//! Such reads are counted as `private_reads`.
//!
//! Where events were lost (a damaged chunk), everything known before is forgotten: no false alarm follows from a gap.

mod memory;
mod sync;
mod threads;

use std::collections::{BTreeMap, HashMap};

use reweave_model::{Addr, Event, EventId, Op, Pc, ThreadId, Value};

use crate::{Result, Trace};
use memory::{Memory, ReadCheck};
use sync::Sync;
use threads::Threads;

/// More than this many are counted but not kept.
const MAX_KEPT: usize = 1000;

/// Something that cannot have happened as recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inconsistency {
    pub event: EventId,
    pub thread: ThreadId,
    pub pc: Pc,
    pub what: String,
}

/// Reads at one code address that returned something else than what was last recorded there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unexplained {
    pub count: u64,
    /// The first such read, the first byte that differs, and what was expected and found there.
    pub first: EventId,
    pub addr: Addr,
    pub expected: u8,
    pub found: u8,
}

#[derive(Clone, PartialEq, Default, Debug)]
pub struct Report {
    pub events: u64,
    /// Events that the trace had but that could not be read.
    pub lost: u64,
    pub reads: u64,
    pub writes: u64,
    /// Reads of bytes that nothing in the trace wrote before: initial values.
    pub initial_reads: u64,
    /// Reads that no recorded write explains, of memory that no other thread accessed.
    pub private_reads: u64,
    /// Reads that no recorded write explains, of memory that several threads accessed, by code address.
    pub unexplained: BTreeMap<Pc, Unexplained>,
    /// Threads nobody was seen to create.
    pub foreign_threads: u64,
    /// Receives on channels that nobody in the trace sends on: the outside world does.
    pub outside_receives: u64,
    /// In order; at most a thousand.
    pub inconsistencies: Vec<Inconsistency>,
    /// All of them, also those not kept.
    pub inconsistency_count: u64,
}

impl Report {
    pub fn is_consistent(&self) -> bool {
        self.inconsistency_count == 0
    }

    pub fn unexplained_reads(&self) -> u64 {
        self.unexplained.values().map(|at| at.count).sum()
    }
}

/// Checks a whole trace.
pub fn check(trace: &Trace) -> Result<Report> {
    let mut checker = Checker::default();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        checker.event(&event);
    }
    Ok(checker.finish())
}

/// Checks events as they come.
#[derive(Default)]
pub struct Checker {
    report: Report,
    memory: Memory,
    sync: Sync,
    threads: Threads,
    /// A thread that may act: found right at its last event.
    running: Option<ThreadId>,
    /// Unexplained reads of memory that is private so far, by the word (address / 8) that differed.
    private: HashMap<u64, Vec<(Pc, Unexplained)>>,
    next: u64,
}

impl Checker {
    pub fn event(&mut self, event: &Event<'_>) {
        if event.id.0 != self.next {
            self.report.lost += event.id.0.saturating_sub(self.next);
            self.memory = Memory::default();
            self.sync = Sync::after_gap();
            self.threads = Threads::after_gap();
            self.running = None;
        }
        self.next = event.id.0 + 1;
        self.report.events += 1;
        // Nearly all events are accesses of the thread that acted before.
        let access = matches!(event.op, Op::Read { .. } | Op::Write { .. } | Op::Atomic { .. });
        if !access || self.running != Some(event.thread) {
            match self.threads.event(event, &mut self.report) {
                Some(what) => {
                    self.running = None;
                    self.complain(event, what);
                }
                None => self.running = (event.op != Op::End).then_some(event.thread),
            }
        }
        match event.op {
            Op::Read { addr, size, value, .. } => self.read(event, addr, size, value),
            Op::Write { addr, size, value, .. } => self.write(event, addr, size, value),
            Op::Atomic { kind, addr, size, read, written, .. } => {
                if !(1..=16).contains(&size) || !size.is_power_of_two() {
                    self.complain(event, format!("an atomic access of {size} bytes"));
                    return;
                }
                if kind.reads() {
                    self.read(event, addr, size, read);
                }
                if kind.writes() {
                    self.write(event, addr, size, written);
                }
            }
            Op::Alloc { addr, size } | Op::Free { addr, size } => self.new_life(addr, size),
            _ => {
                if let Some(what) = self.sync.event(event, &mut self.report) {
                    self.complain(event, what);
                }
            }
        }
    }

    pub fn finish(mut self) -> Report {
        self.report.private_reads += self.private.drain().map(|(_, reads)| reads.len() as u64).sum::<u64>();
        self.report
    }

    /// The block is another location from here on.
    fn new_life(&mut self, addr: Addr, size: u64) {
        self.memory.forget(addr, size);
        let words = addr.0 / 8..addr.0.saturating_add(size).div_ceil(8);
        let mut settled = 0;
        if words.end - words.start < self.private.len() as u64 {
            words.for_each(|word| settled += self.private.remove(&word).map_or(0, |reads| reads.len()));
        } else {
            let ended = self.private.extract_if(|word, _| words.contains(word));
            settled = ended.map(|(_, reads)| reads.len()).sum();
        }
        self.report.private_reads += settled as u64;
    }

    /// The thread accesses memory: what was private to another no longer is.
    fn touch(&mut self, thread: ThreadId, addr: Addr, size: u32) {
        let Self { memory, private, report, .. } = self;
        memory.owned_by(thread, addr.0, size as usize, |word| {
            for (pc, at) in private.remove(&word).into_iter().flatten() {
                report.unexplained.entry(pc).or_insert(Unexplained { count: 0, ..at }).count += 1;
            }
        });
    }

    fn read(&mut self, event: &Event<'_>, addr: Addr, size: u32, value: Value<'_>) {
        self.report.reads += 1;
        self.touch(event.thread, addr, size);
        let mut word = [0; 8];
        let bytes = match bytes_of(value, size, &mut word) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return,
            Err(what) => return self.complain(event, what),
        };
        match self.memory.read(addr.0, bytes) {
            ReadCheck::Same => {}
            ReadCheck::Initial => self.report.initial_reads += 1,
            ReadCheck::Other { at, expected, found } => {
                let one = Unexplained { count: 1, first: event.id, addr: Addr(at), expected, found };
                if self.memory.is_private(addr.0, bytes.len()) {
                    self.private.entry(at / 8).or_default().push((event.pc, one));
                } else {
                    self.report.unexplained.entry(event.pc).or_insert(Unexplained { count: 0, ..one }).count += 1;
                }
            }
        }
    }

    fn write(&mut self, event: &Event<'_>, addr: Addr, size: u32, value: Value<'_>) {
        self.report.writes += 1;
        self.touch(event.thread, addr, size);
        let mut word = [0; 8];
        match bytes_of(value, size, &mut word) {
            Ok(Some(bytes)) => self.memory.write(addr.0, bytes),
            _ => self.memory.forget(addr, size.into()),
        }
    }

    fn complain(&mut self, event: &Event<'_>, what: String) {
        self.report.inconsistency_count += 1;
        if self.report.inconsistencies.len() < MAX_KEPT {
            let &Event { id, thread, pc, .. } = event;
            self.report.inconsistencies.push(Inconsistency { event: id, thread, pc, what });
        }
    }
}

/// The bytes of a value; `None` if they were not captured.
fn bytes_of<'a>(value: Value<'a>, size: u32, word: &'a mut [u8; 8]) -> Result<Option<&'a [u8]>, String> {
    match value {
        Value::Unknown => Ok(None),
        Value::Bytes(bytes) if bytes.len() == size as usize => Ok(Some(bytes)),
        Value::Bytes(bytes) => Err(format!("{} bytes of value for an access of {size}", bytes.len())),
        Value::Word(value) if size <= 8 => {
            *word = value.to_le_bytes();
            if word[size as usize..].iter().any(|&byte| byte != 0) {
                return Err(format!("the value {value:#x} does not fit into {size} bytes"));
            }
            Ok(Some(&word[..size as usize]))
        }
        Value::Word(_) => Err(format!("a word as the value of {size} bytes")),
    }
}

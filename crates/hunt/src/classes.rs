//! Which runs did the same: two runs are of one class if every thread read the same values at the same places, outcomes
//! of synchronization included, and where it waits if nobody can go on. Who ran when does not matter beyond that.

use std::collections::BTreeMap;

use reweave_model::{AtomicKind, Descent, Event, Op, ThreadId, ThreadName, Value};
use reweave_trace::{Result, Trace};

use crate::names::{Code, Names};

/// A hash of what every thread of a run read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Class(u64);

impl Class {
    /// Threads by name, in no order, and what each was told. One that was told nothing does not matter.
    pub fn of(threads: impl Iterator<Item = (u64, Digest)>) -> Self {
        let told = threads.filter(|(_, digest)| *digest != Digest::NEW);
        Self(told.fold(0, |sum, (name, digest)| {
            let mut own = Digest(name);
            own.word(digest.0);
            sum.wrapping_add(own.0)
        }))
    }
}

/// Stands for "waits here for ever" in what a thread was told.
pub const STUCK: u64 = 13;

/// FNV-1a, a word at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digest(u64);

impl Digest {
    pub const NEW: Self = Self(0xcbf2_9ce4_8422_2325);

    pub const fn number(self) -> u64 {
        self.0
    }

    /// A thread was told something at some place.
    pub fn add(&mut self, kind: u64, code: Code, value: u64) {
        self.word(kind);
        self.word(code.module);
        self.word(code.offset);
        self.word(value);
    }

    pub fn word(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn value(&mut self, value: Value<'_>) {
        match value {
            Value::Word(word) => self.word(word),
            Value::Bytes(bytes) => bytes.iter().for_each(|&byte| self.word(byte.into())),
            Value::Unknown => self.word(u64::MAX),
        }
    }
}

/// Threads by descent, each as one number.
#[derive(Debug, Default)]
pub struct Descents {
    descent: Descent,
    /// By index of the descent; 1 for those that nobody was seen to create.
    digests: Vec<u64>,
}

impl Descents {
    pub fn see(&mut self, event: &Event<'_>) {
        self.descent.see(event);
        for name in &self.descent.names()[self.digests.len()..] {
            self.digests.push(match *name {
                ThreadName::MAIN => 0,
                ThreadName { nth, .. } if nth & ThreadName::FOREIGN != 0 => 1,
                ThreadName { parent, nth } => {
                    let mut own = Digest(self.digests[parent as usize]);
                    own.word(u64::from(nth) + 1);
                    own.0
                }
            });
        }
    }

    pub fn name(&self, thread: ThreadId) -> u64 {
        let known = self.descent.index(thread).and_then(|index| self.digests.get(index.index()).copied());
        let unknown = if thread == ThreadId(0) { 0 } else { u64::from(thread.0) << 32 };
        known.filter(|&digest| digest != 1).unwrap_or(unknown)
    }
}

/// The class of a run.
pub fn class_of(trace: &Trace) -> Result<Class> {
    let mut names = Names::default();
    let mut threads: BTreeMap<ThreadId, Digest> = BTreeMap::new();
    let mut descents = Descents::default();
    let mut waits: BTreeMap<ThreadId, Code> = BTreeMap::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        names.see(&event);
        descents.see(&event);
        let code = names.code(event.pc);
        match event.op {
            Op::Blocked { .. } | Op::Wait { .. } | Op::BarrierArrive { .. } => drop(waits.insert(event.thread, code)),
            Op::Hang => {
                for (thread, code) in &waits {
                    threads.entry(*thread).or_insert(Digest::NEW).add(STUCK, *code, 0);
                }
            }
            op if op.is_step() => drop(waits.remove(&event.thread)),
            _ => {}
        }
        let digest = threads.entry(event.thread).or_insert(Digest::NEW);
        let read = match event.op {
            Op::Read { value, .. } => Some((1, value)),
            Op::Atomic { kind, read, .. } if kind.reads() => Some((2 + u64::from(kind == AtomicKind::CasFailed), read)),
            Op::Refused { why, .. } => Some((4, Value::Word(why as u64))),
            Op::Acquire { tried: true, .. } => Some((5, Value::Word(0))),
            Op::Woken { reason, .. } => Some((6, Value::Word(reason as u64))),
            Op::BarrierLeave { serial, .. } => Some((7, Value::Word(serial.into()))),
            Op::OnceBegin { .. } => Some((8, Value::Word(0))),
            Op::OnceDone { .. } => Some((8, Value::Word(1))),
            Op::Input { value, .. } => Some((9, Value::Word(value as u64))),
            Op::Fatal { number, .. } => Some((10, Value::Word(number.into()))),
            Op::Misused { what, .. } => Some((12, Value::Word(what as u64))),
            Op::Exit { status } => Some((11, Value::Word(status as u64))),
            _ => None,
        };
        if let Some((kind, value)) = read {
            digest.word(kind);
            digest.word(code.module);
            digest.word(code.offset);
            digest.value(value);
        }
    }
    Ok(Class::of(threads.iter().map(|(thread, digest)| (descents.name(*thread), *digest))))
}

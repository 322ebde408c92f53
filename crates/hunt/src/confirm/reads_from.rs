//! What a run must show for a nondeterministic read to be confirmed: the same read takes its value from that other
//! write.
//!
//! Reads and writes of another run are recognised by name: the thread by its descent, and which time it makes an access
//! at that place. A read that takes some bytes from here and some from there is judged by those that came from
//! elsewhere in the recorded run.

use std::collections::{BTreeMap, HashMap};

use reweave_model::{Event, EventId, Finding, Op, ThreadId, Value};
use reweave_trace::Trace;
use serde::{Deserialize, Serialize};

use super::Occurrence;
use crate::classes::Descents;
use crate::names::{Code, Names};
use reweave_launch::Result;

/// Bytes of one read that are looked at.
const BYTES: u64 = 64;

/// An access that other runs have too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Instance {
    /// By descent.
    thread: u64,
    code: Code,
    /// Accesses of the thread at this place before it.
    nth: u64,
}

/// A read, and the write that it is to see.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ReadsFrom {
    read: Instance,
    /// `None`: the initial value.
    other: Option<Instance>,
    /// All accesses of the finding: these, and what the read saw in the recorded run.
    #[serde(default)]
    accesses: Vec<Option<Instance>>,
    /// Bytes of the read that came from elsewhere in the recorded run.
    bytes: Vec<u64>,
}

impl ReadsFrom {
    /// `None`: the finding is not about a read, or what it says is so in the recorded run.
    pub fn of(trace: &Trace, finding: &Finding) -> Result<Option<Self>> {
        let Some((view, read)) = finding.view.and_then(|view| Some((view, view.read?))) else { return Ok(None) };
        let read = finding.accesses()[read].event;
        let other = view.other.map(|other| finding.accesses()[other].event);
        let mut accesses = Accesses::default();
        let (mut found, mut instance, mut span) = (None, None, None);
        let mut all = vec![None; finding.accesses().len()];
        let last = finding.accesses().iter().map(|access| access.event).max();
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            if Some(event.id) > last {
                break;
            }
            let Some(access) = accesses.see(&event) else { continue };
            if let Some(at) = finding.accesses().iter().position(|access| access.event == event.id) {
                all[at] = Some(access.instance);
            }
            if Some(event.id) == other {
                instance = Some(access.instance);
                span = Some((access.addr, access.size));
            }
            if event.id == read {
                found = Some((access.instance, access.addr, access.size));
            }
        }
        let Some((read_instance, addr, size)) = found else { return Ok(None) };
        let writers = writers(trace, read, addr, size)?;
        let covered = |byte: u64| span.is_none_or(|(at, size)| (at..at.saturating_add(size)).contains(&byte));
        let elsewhere =
            |(offset, writer): (u64, &Option<EventId>)| (*writer != other && covered(addr + offset)).then_some(offset);
        let bytes: Vec<u64> = (0..).zip(&writers).filter_map(elsewhere).collect();
        Ok((!bytes.is_empty()).then_some(Self { read: read_instance, other: instance, accesses: all, bytes }))
    }

    /// Where the read saw the other write, if it did.
    pub fn occurrence(&self, trace: &Trace) -> Result<Option<Occurrence>> {
        let mut accesses = Accesses::default();
        // There may be several: an address is used again.
        let mut other = None;
        let mut steps = 0u64;
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            steps += u64::from(event.op.is_step());
            let Some(access) = accesses.see(&event) else { continue };
            if Some(access.instance) == self.other {
                other = Some(event.id);
            }
            if access.instance != self.read {
                continue;
            }
            if self.other.is_some() && other.is_none() {
                return Ok(None);
            }
            let writers = writers(trace, event.id, access.addr, access.size)?;
            let sees = |byte: &u64| writers.get(*byte as usize).is_some_and(|writer| *writer == other);
            if !self.bytes.iter().any(sees) {
                return Ok(None);
            }
            let (first, steps_before) = (access.instance.code, steps.saturating_sub(1));
            return Ok(Some(Occurrence { first, steps_before, events: self.events(trace)? }));
        }
        Ok(None)
    }

    /// The accesses of the finding in another run, as far as it has them.
    fn events(&self, trace: &Trace) -> Result<Vec<Option<EventId>>> {
        let mut accesses = Accesses::default();
        let mut found = vec![None; self.accesses.len()];
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            let Some(access) = accesses.see(&event) else { continue };
            if let Some(at) = self.accesses.iter().position(|instance| *instance == Some(access.instance)) {
                found[at] = Some(event.id);
            }
        }
        Ok(found)
    }
}

/// A read that two runs took from different writes; the events are those of the first run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OtherSource {
    pub read: EventId,
    pub seen: Option<EventId>,
    pub other: Option<EventId>,
    /// What was read, in the first run and in the other one.
    pub values: [Option<u64>; 2],
    /// Steps of the other run before the read.
    pub steps_before: u64,
}

/// What a read took its first byte from.
struct ReadOccurrence {
    event: EventId,
    from: Option<Instance>,
    value: Option<u64>,
    steps_before: u64,
}

/// The reads of a run, and its writes, by name.
pub struct RunReads {
    reads: HashMap<Instance, ReadOccurrence>,
    writes: HashMap<Instance, EventId>,
}

impl RunReads {
    pub fn of(trace: &Trace) -> Result<Self> {
        let mut sights = Self { reads: HashMap::new(), writes: HashMap::new() };
        let mut accesses = Accesses::default();
        let mut last: BTreeMap<u64, Instance> = BTreeMap::new();
        let mut steps = 0;
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            let steps_before = steps;
            steps += u64::from(event.op.is_step());
            if let Op::Alloc { addr, size } = event.op {
                while let Some((&byte, _)) = last.range(addr.0..addr.0.saturating_add(size)).next() {
                    last.remove(&byte);
                }
            }
            let Some(access) = accesses.see(&event) else { continue };
            let (read, writes) = match event.op {
                Op::Read { value, .. } => (Some(value), false),
                Op::Atomic { kind, read, .. } => (kind.reads().then_some(read), kind.writes()),
                _ => (None, true),
            };
            if let Some(value) = read {
                let value = if let Value::Word(word) = value { Some(word) } else { None };
                let from = last.get(&access.addr).copied();
                sights.reads.insert(access.instance, ReadOccurrence { event: event.id, from, value, steps_before });
            }
            if writes {
                sights.writes.insert(access.instance, event.id);
                for byte in access.addr..access.addr.saturating_add(access.size.min(BYTES)) {
                    last.insert(byte, access.instance);
                }
            }
        }
        Ok(sights)
    }

    /// Reads that another run took from another place or thread than this one did, where another thread has to do with
    /// it.
    pub fn others(&self, run: &Self) -> Vec<OtherSource> {
        let place = |from: &Option<Instance>| from.map(|from| (from.thread, from.code));
        let mut found = Vec::new();
        for (instance, here) in &self.reads {
            let Some(there) = run.reads.get(instance) else { continue };
            let foreign = |from: &Option<Instance>| from.is_some_and(|from| from.thread != instance.thread);
            if place(&here.from) == place(&there.from) || !foreign(&here.from) && !foreign(&there.from) {
                continue;
            }
            let event = |from: Option<Instance>| from.map(|from| self.writes.get(&from).copied());
            // A write that this run has not cannot be named.
            let (None | Some(Some(_)), seen) = (event(there.from), event(here.from).flatten()) else { continue };
            found.push(OtherSource {
                read: here.event,
                seen,
                other: event(there.from).flatten(),
                values: [here.value, there.value],
                steps_before: there.steps_before,
            });
        }
        found.sort_by_key(|source| source.read);
        found
    }
}

/// Names the accesses of a run, one after the other.
#[derive(Default)]
struct Accesses {
    names: Names,
    descents: Descents,
    passed: HashMap<(ThreadId, Code), u64>,
}

struct NamedAccess {
    instance: Instance,
    addr: u64,
    size: u64,
}

impl Accesses {
    fn see(&mut self, event: &Event<'_>) -> Option<NamedAccess> {
        if matches!(event.op, Op::Module { .. }) {
            self.names.see(event);
        }
        self.descents.see(event);
        let (addr, size) = match event.op {
            Op::Read { addr, size, .. } | Op::Write { addr, size, .. } | Op::Atomic { addr, size, .. } => {
                (addr.0, u64::from(size))
            }
            Op::Free { addr, size } => (addr.0, size),
            _ => return None,
        };
        let code = self.names.code(event.pc);
        let passed = self.passed.entry((event.thread, code)).or_default();
        let instance = Instance { thread: self.descents.name(event.thread), code, nth: *passed };
        *passed += 1;
        Some(NamedAccess { instance, addr, size })
    }
}

/// Who wrote each of these bytes last before an event; `None`: nobody since the memory was given out.
fn writers(trace: &Trace, before: EventId, addr: u64, size: u64) -> Result<Vec<Option<EventId>>> {
    let mut writers = vec![None; size.min(BYTES) as usize];
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if event.id >= before {
            break;
        }
        let (start, length, writer) = match event.op {
            Op::Write { addr, size, .. } => (addr.0, u64::from(size), Some(event.id)),
            Op::Atomic { addr, size, kind, .. } if kind.writes() => (addr.0, u64::from(size), Some(event.id)),
            Op::Free { addr, size } => (addr.0, size, Some(event.id)),
            Op::Alloc { addr, size } => (addr.0, size, None),
            _ => continue,
        };
        let from = start.max(addr);
        let to = start.saturating_add(length).min(addr.saturating_add(writers.len() as u64));
        for byte in from..to {
            writers[(byte - addr) as usize] = writer;
        }
    }
    Ok(writers)
}

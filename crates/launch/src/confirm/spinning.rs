//! Runs that do not end because their threads go round loops for something that nobody is left to do: hangs without a wait.
//!
//! A run counts if it had to be ended and the last part of it changes nothing: threads read the same values again and again, try
//! locks in vain, take them and give them back, yield or sleep. Whoever could do something else would have had its turn in that
//! time. Not exact: a loop that gives up after very many rounds looks the same. Runs that look at the time, or at anything outside,
//! are left alone.

use std::collections::{BTreeMap, HashMap, HashSet};

use reweave_model::{Accessor, BlockedOn, Event, EventId, ObjectId, Op, ThreadId, Value};
use reweave_report::Describer;
use reweave_trace::Trace;

use crate::Result;

/// Events at the end that must change nothing.
const TAIL: u64 = 200_000;
/// Values that a thread's own variable takes on in a loop.
const VALUES: usize = 4;
/// A run with fewer events had no time.
const LONG: u64 = 2 * TAIL;

/// Where the threads of a run spin at its end, if that is all they do.
pub fn spinning(trace: &Trace) -> Result<Option<Vec<Accessor>>> {
    let count = trace.event_count();
    if count < LONG {
        return Ok(None);
    }
    let describer = Describer { symbols: trace.symbols() };
    let mut threads: BTreeMap<ThreadId, Accessor> = BTreeMap::new();
    let mut places: HashMap<u64, Place> = HashMap::new();
    let starving = lock_waiters(trace)?;
    let mut events = trace.events_from(EventId(count - TAIL))?;
    while let Some(event) = events.next()? {
        let awaited = match event.op {
            Op::Read { addr, .. } => Some(addr),
            Op::Atomic { addr, kind, .. } if !kind.writes() => Some(addr),
            Op::Write { .. } | Op::Atomic { .. } => None,
            Op::Refused { .. } | Op::Acquire { .. } | Op::Release { .. } => None,
            Op::Blocked { on: BlockedOn::Sleep | BlockedOn::LockExclusive | BlockedOn::LockShared, .. } => None,
            ref op if !op.is_step() => None,
            _ => return Ok(None),
        };
        // Whoever waits for that lock could have had it.
        if let Op::Release { object, .. } = event.op
            && starving.contains(&object)
        {
            return Ok(None);
        }
        let (addr, written) = match event.op {
            Op::Read { addr, .. } => (Some(addr), None),
            Op::Write { addr, value, .. } => (Some(addr), Some(value)),
            Op::Atomic { addr, kind, written, .. } => (Some(addr), kind.writes().then_some(written)),
            _ => (None, None),
        };
        if let Some(addr) = addr
            && !places.entry(addr.0).or_insert_with(|| Place::of(event.thread)).is_steady(event.thread, written)
        {
            return Ok(None);
        }
        if let Some(addr) = awaited {
            let op = format!("wait for a change of {}", describer.address(addr));
            threads.insert(event.thread, accessor(&event, op));
        }
    }
    if places.values().any(|place| place.shared && place.values.len() > 1) {
        return Ok(None);
    }
    let places: Vec<Accessor> = threads.into_values().collect();
    Ok(Some(places).filter(|places| !places.is_empty()))
}

/// The locks that threads wait for when a run is over.
fn lock_waiters(trace: &Trace) -> Result<HashSet<ObjectId>> {
    let mut waiting: HashMap<ThreadId, Option<ObjectId>> = HashMap::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        let lock = match event.op {
            Op::Blocked { object, on: BlockedOn::LockExclusive | BlockedOn::LockShared } => Some(object),
            _ => None,
        };
        waiting.insert(event.thread, lock);
    }
    Ok(waiting.into_values().flatten().collect())
}

/// A place in memory, in the last part of a run.
struct Place {
    first: ThreadId,
    /// Others use it, too.
    shared: bool,
    /// What is written there.
    values: Vec<Vec<u8>>,
}

impl Place {
    const fn of(first: ThreadId) -> Self {
        Self { first, shared: false, values: Vec::new() }
    }

    /// False: its values never come back, like those of a counter.
    fn is_steady(&mut self, thread: ThreadId, written: Option<Value<'_>>) -> bool {
        self.shared |= thread != self.first;
        if let Some(bytes) = written.map(bytes)
            && !self.values.contains(&bytes)
        {
            self.values.push(bytes);
        }
        self.values.len() <= VALUES
    }
}

fn accessor(event: &Event<'_>, op: String) -> Accessor {
    let Event { id, thread, pc, stack, .. } = *event;
    Accessor { event: id, thread, pc, stack, op, locks_held: Vec::new() }
}

fn bytes(value: Value<'_>) -> Vec<u8> {
    match value {
        Value::Word(word) => word.to_le_bytes().to_vec(),
        Value::Bytes(bytes) => bytes.to_vec(),
        Value::Unknown => Vec::new(),
    }
}

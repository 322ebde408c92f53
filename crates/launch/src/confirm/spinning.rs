//! Runs that do not end because their threads go round loops for something that nobody is left to do: hangs without a wait.
//!
//! A run counts if it had to be ended and the last part of it changes nothing: threads read the same values again and again, try
//! locks in vain, take them and give them back, yield or sleep. Whoever could do something else would have had its turn in that
//! time. Not exact: a loop that gives up after very many rounds looks the same. Runs that look at the time, or at anything outside,
//! are left alone.

use std::collections::BTreeMap;

use reweave_model::{Accessor, BlockedOn, Event, EventId, Op, ThreadId, Value};
use reweave_report::Describer;
use reweave_trace::Trace;

use crate::Result;

/// Events at the end that must change nothing.
const TAIL: u64 = 200_000;
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
    let mut written: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let mut events = trace.events_from(EventId(count - TAIL))?;
    while let Some(event) = events.next()? {
        let awaited = match event.op {
            Op::Read { addr, .. } => Some(addr),
            Op::Atomic { addr, kind, .. } if !kind.writes() => Some(addr),
            Op::Write { addr, value, .. } | Op::Atomic { addr, written: value, .. } => {
                let bytes = bytes(value);
                if written.entry(addr.0).or_insert_with(|| bytes.clone()) != &bytes {
                    return Ok(None);
                }
                None
            }
            Op::Refused { .. } | Op::Acquire { .. } | Op::Release { .. } => None,
            Op::Blocked { on: BlockedOn::Sleep | BlockedOn::LockExclusive | BlockedOn::LockShared, .. } => None,
            ref op if !op.is_step() => None,
            _ => return Ok(None),
        };
        if let Some(addr) = awaited {
            let op = format!("wait for a change of {}", describer.address(addr));
            threads.insert(event.thread, accessor(&event, op));
        }
    }
    let places: Vec<Accessor> = threads.into_values().collect();
    Ok(Some(places).filter(|places| !places.is_empty()))
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

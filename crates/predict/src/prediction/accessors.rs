//! Events as findings have them.

use std::collections::{HashMap, HashSet};

use reweave_model::{Accessor, EventId, Op, ThreadId};
use reweave_trace::{Result, Trace};

use crate::lower::called;

/// These events as findings have them.
pub fn accessors(trace: &Trace, wanted: HashSet<EventId>) -> Result<HashMap<EventId, Accessor>> {
    let mut found: HashMap<EventId, Accessor> = HashMap::new();
    let mut held: HashMap<ThreadId, Vec<(reweave_model::ObjectId, EventId)>> = HashMap::new();
    let mut events = trace.events();
    while found.len() < wanted.len() {
        let Some(event) = events.next()? else { break };
        let locks = held.entry(event.thread).or_default();
        // Whoever waits has given the mutex up.
        if let Op::Wait { mutex, .. } = event.op {
            locks.retain(|(other, _)| *other != mutex);
        }
        if wanted.contains(&event.id) {
            let (thread, pc, stack) = (event.thread, event.pc, event.stack);
            let op = called(&event.op).to_owned();
            let locks_held = locks.iter().map(|(_, event)| *event).collect();
            found.insert(event.id, Accessor { event: event.id, thread, pc, stack, op, locks_held });
        }
        match event.op {
            Op::Acquire { object, .. } | Op::Woken { mutex: object, .. } => locks.push((object, event.id)),
            Op::Release { object, .. } => locks.retain(|(other, _)| *other != object),
            _ => {}
        }
    }
    Ok(found)
}

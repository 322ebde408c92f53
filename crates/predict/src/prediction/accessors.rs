//! Events as findings have them.

use std::collections::{HashMap, HashSet};

use reweave_model::{Accessor, EventId, HeldLocks, Op, OpName};
use reweave_trace::{Result, Trace};

/// These events as findings have them.
pub fn accessors(trace: &Trace, wanted: HashSet<EventId>) -> Result<HashMap<EventId, Accessor>> {
    let mut found: HashMap<EventId, Accessor> = HashMap::new();
    let mut held: HeldLocks<EventId> = HeldLocks::default();
    let mut events = trace.events();
    while found.len() < wanted.len() {
        let Some(event) = events.next()? else { break };
        // Whoever waits has given the mutex up; what else releases a lock still holds it.
        let waits = matches!(event.op, Op::Wait { .. });
        if waits {
            held.follow(event.thread, &event.op, event.id);
        }
        if wanted.contains(&event.id) {
            let (thread, pc, stack) = (event.thread, event.pc, event.stack);
            let op = OpName::of(&event.op).into();
            let locks_held = held.of(thread).iter().map(|(_, event)| *event).collect();
            found.insert(event.id, Accessor { event: event.id, process: None, thread, pc, stack, op, locks_held });
        }
        if !waits {
            held.follow(event.thread, &event.op, event.id);
        }
    }
    Ok(found)
}

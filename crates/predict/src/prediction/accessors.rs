//! Events as findings have them.

use std::collections::{HashMap, HashSet};

use reweave_model::{Accessor, Event, EventId, HeldLocks, Op, OpName};
use reweave_trace::{Result, Trace};

/// These events as findings have them.
pub fn accessors(trace: &Trace, wanted: HashSet<EventId>) -> Result<HashMap<EventId, Accessor>> {
    let mut found: HashMap<EventId, Accessor> = HashMap::new();
    let mut held: HeldLocks<EventId> = HeldLocks::default();
    let mut events = trace.events();
    let mut wanted: Vec<EventId> = wanted.into_iter().collect();
    wanted.sort_unstable_by(|one, other| other.cmp(one));
    while let Some(&next) = wanted.last() {
        // Accesses change no lock.
        if let Some(access) = events.next_access() {
            if access.id >= next {
                wanted.pop();
            }
            if access.id == next {
                found.insert(next, accessor(&access.event(), &held));
            }
            continue;
        }
        let Some(event) = events.next()? else { break };
        // Whoever waits has given the mutex up; what else releases a lock still holds it.
        let waits = matches!(event.op, Op::Wait { .. });
        if waits {
            held.follow(event.thread, &event.op, event.id);
        }
        if event.id >= next {
            wanted.pop();
        }
        if event.id == next {
            found.insert(next, accessor(&event, &held));
        }
        if !waits {
            held.follow(event.thread, &event.op, event.id);
        }
    }
    Ok(found)
}

fn accessor(event: &Event<'_>, held: &HeldLocks<EventId>) -> Accessor {
    let &Event { id, thread, pc, stack, ref op } = event;
    let locks_held = held.of(thread).iter().map(|(_, taken)| *taken).collect();
    Accessor { event: id, process: None, thread, pc, stack, op: OpName::of(op).into(), locks_held }
}

//! Where a failed run ended.

use std::collections::BTreeMap;

use reweave_model::{AccessOp, Accessor, Awaited, BlockedOn, EventId, ObjectId, Op, OpName, ThreadId};
use reweave_trace::{Outcome, Trace};

use crate::replay::is_forked;
use reweave_launch::Result;

/// Signals that a thread causes itself, and that are recorded if it holds the token.
const DYING: [i32; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, libc::SIGSYS, libc::SIGTRAP];

/// Where a failed run ended: the fatal signal, or what each thread waits for.
pub fn last_places(trace: &Trace, outcome: &Outcome) -> Result<Vec<Accessor>> {
    let has_source = |pc| trace.symbols().frames(pc).next().is_some_and(|frame| frame.line != 0);
    let mut fatal = None;
    let mut waits: BTreeMap<ThreadId, Accessor> = BTreeMap::new();
    let mut held: BTreeMap<ThreadId, Vec<(ObjectId, EventId)>> = BTreeMap::new();
    // Locks that threads wait for.
    let mut wants: BTreeMap<ThreadId, ObjectId> = BTreeMap::new();
    let mut last_access: BTreeMap<ThreadId, Accessor> = BTreeMap::new();
    let mut last_thread = ThreadId(0);
    let mut outside: BTreeMap<ThreadId, Accessor> = BTreeMap::new();
    // What threads waited for when a handler began to run, which they go on with behind it.
    let mut interrupted: BTreeMap<ThreadId, Vec<Option<Accessor>>> = BTreeMap::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        let thread = event.thread;
        let locks = held.entry(thread).or_default();
        let place = |op: AccessOp, locks: &[(ObjectId, EventId)]| Accessor {
            event: event.id,
            process: None,
            thread,
            pc: event.pc,
            stack: event.stack,
            op,
            locks_held: locks.iter().map(|(_, event)| *event).collect(),
        };
        let wait = |on, object| AccessOp::WaitsFor(Awaited::Object { on, object, orphaned: false });
        if let Op::Blocked { on: BlockedOn::LockExclusive | BlockedOn::LockShared, object } = event.op {
            wants.insert(thread, object);
        } else if event.op.is_step() {
            wants.remove(&thread);
        }
        let waiting = match event.op {
            Op::Blocked { on, object } => Some(place(wait(on, object), locks)),
            Op::Wait { condition, mutex, .. } => {
                locks.retain(|(held, _)| *held != mutex);
                Some(place(wait(BlockedOn::Notify, condition), locks))
            }
            Op::BarrierArrive { barrier, .. } => Some(place(wait(BlockedOn::Barrier, barrier), locks)),
            Op::Acquire { object, .. } | Op::Woken { mutex: object, .. } => {
                locks.push((object, event.id));
                None
            }
            Op::Release { object, .. } => {
                locks.retain(|(held, _)| *held != object);
                None
            }
            Op::Fatal { number, .. } => {
                let mut at = place(AccessOp::Signal(number as i32), locks);
                // Where the program itself was last says more than a place in a library without source.
                if let Some(access) = last_access.get(&thread).filter(|_| !has_source(event.pc)) {
                    (at.pc, at.stack) = (access.pc, access.stack);
                }
                fatal = Some(at);
                None
            }
            op if !op.is_step() => continue,
            _ => None,
        };
        last_thread = thread;
        if matches!(event.op, Op::Leave { .. }) && has_source(event.pc) {
            outside.insert(thread, place(OpName::Unnamed.into(), locks));
        } else {
            outside.remove(&thread);
        }
        if has_source(event.pc) {
            last_access.insert(thread, place(OpName::Unnamed.into(), locks));
        }
        let before = match waiting {
            Some(at) => waits.insert(thread, at),
            None => waits.remove(&thread),
        };
        match event.op {
            Op::Signal { .. } => interrupted.entry(thread).or_default().push(before),
            Op::SignalReturn { .. } => {
                let wait = interrupted.get_mut(&thread).and_then(Vec::pop).flatten();
                waits.extend(wait.map(|wait| (thread, wait)));
            }
            _ => {}
        }
    }
    let forked = is_forked(trace.meta());
    Ok(match outcome {
        Outcome::Hung => {
            for (thread, at) in &mut waits {
                let lock = wants.get(thread).filter(|_| forked);
                if lock.is_some_and(|lock| !held.values().flatten().any(|(held, _)| held == lock))
                    && let AccessOp::WaitsFor(Awaited::Object { orphaned, .. }) = &mut at.op
                {
                    *orphaned = true;
                }
            }
            waits.into_values().collect()
        }
        Outcome::Signalled { signal, .. } => {
            // Whoever dies holding the token says so. Otherwise it was in a call, or is known for nothing but what it
            // did last; one that had ended already has no place at all.
            let outside = outside.into_values().next_back();
            let sent = || last_access.remove(&last_thread).filter(|_| !DYING.contains(signal));
            let last = outside.or_else(sent).map(|at| Accessor { op: AccessOp::Signal(*signal), ..at });
            fatal.or(last).into_iter().collect()
        }
        _ => Vec::new(),
    })
}

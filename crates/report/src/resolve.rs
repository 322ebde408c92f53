//! From findings (ids and addresses of one trace) to items of a report (names and lines).

use reweave_model::{Accessor, BlockedOn, EventId, Finding, Kind, LockMode, ObjectId, Op, Pc, StackId, Strength};
use reweave_trace::Trace;

use crate::data::{AccessItem, Item, Location};
use crate::describe::Describer;

pub const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Race => "race",
        Kind::Deadlock => "deadlock",
        Kind::Atomicity => "atomicity",
        Kind::Nondeterminism => "nondeterminism",
        Kind::Failure => "failure",
        Kind::Misuse => "misuse",
    }
}

pub const fn strength_name(strength: Strength) -> &'static str {
    match strength {
        Strength::Potential => "potential",
        Strength::Predicted => "predicted",
        Strength::Confirmed => "confirmed",
    }
}

/// Makes an item; what only the pipeline knows (files, outcome) is left empty.
pub fn item(id: u32, finding: &Finding, trace: &Trace) -> Item {
    let mut accesses: Vec<AccessItem> = finding.accesses.iter().map(|access| access_item(access, trace)).collect();
    // Before objects are named: an address says nothing in another run.
    let fingerprint = fingerprint(kind_name(finding.kind), &accesses);
    if finding.kind == Kind::Deadlock {
        for (item, access) in accesses.iter_mut().zip(&finding.accesses) {
            item.op = awaited(access, trace).map_or(access.op.clone(), |what| format!("wait for {what}"));
        }
    }
    let summary = summary(finding, &accesses, trace);
    Item {
        id,
        fingerprint,
        kind: kind_name(finding.kind).into(),
        strength: strength_name(finding.strength).into(),
        analysis: finding.analysis.into(),
        summary,
        block: None,
        accesses,
        witness: None,
        schedule: None,
        outcome: None,
        why_unconfirmed: None,
    }
}

fn access_item(access: &Accessor, trace: &Trace) -> AccessItem {
    let mut frames = frames(access.pc, trace);
    let location = if frames.is_empty() { Location::default() } else { frames.remove(0) };
    frames.extend(stack(access.stack, trace));
    let locks_held = access.locks_held.iter().filter_map(|event| lock_name(*event, trace)).collect();
    AccessItem { thread: access.thread.0, op: access.op.clone(), location, stack: frames, locks_held }
}

fn frames(pc: Pc, trace: &Trace) -> Vec<Location> {
    let frames = trace.symbols().frames(pc);
    frames.map(|f| Location { file: f.file.into(), line: f.line, function: f.function.into() }).collect()
}

fn stack(stack: StackId, trace: &Trace) -> Vec<Location> {
    // Our runtime starts every thread, but is no part of the program.
    let symbols = trace.symbols();
    let ours = |pc: &Pc| symbols.module_of(pc.0).is_some_and(|module| module.name() == "libreweave_runtime.so");
    trace.stacks().walk(stack).filter(|pc| !ours(pc)).take(32).flat_map(|pc| frames(pc, trace)).collect()
}

/// `account (taken at bank.c:21)`
fn lock_name(event: EventId, trace: &Trace) -> Option<String> {
    let mut events = trace.events_from(event).ok()?;
    let event = events.next().ok()??;
    let describer = Describer { symbols: trace.symbols() };
    let (Op::Acquire { object, .. } | Op::Woken { mutex: object, .. }) = event.op else { return None };
    Some(format!("{} (taken at {})", describer.object(object), describer.place(event.pc)))
}

fn summary(finding: &Finding, accesses: &[AccessItem], trace: &Trace) -> String {
    match finding.kind {
        Kind::Race => {
            let variable = finding.accesses.first().and_then(|access| address_of(access.event, trace));
            let ops = accesses.iter().map(|access| access.op.as_str()).collect::<Vec<_>>().join(" and ");
            let on = variable.map_or(String::new(), |name| format!(" on {name}"));
            if finding.weak_order {
                format!("data race{on} (memory-order): only atomics too weak to order them stand between {ops}")
            } else {
                format!("data race{on}: {ops} are not ordered")
            }
        }
        Kind::Deadlock => {
            let names: Vec<String> = finding.accesses.iter().filter_map(|access| awaited(access, trace)).collect();
            let threads = finding.accesses.len();
            if finding.analysis == "stall" {
                format!("nobody is left to go on: {}", names.join(", "))
            } else {
                format!("{threads} threads wait for each other: {}", names.join(", "))
            }
        }
        Kind::Misuse => {
            let event = finding.accesses.first().and_then(|access| operation(access.event, trace, misused));
            event.unwrap_or_else(|| "misuse".into())
        }
        kind => kind_name(kind).into(),
    }
}

/// What the operation of an event gives.
fn operation<R>(event: EventId, trace: &Trace, give: impl Fn(&Op<'_>, Describer<'_>) -> Option<R>) -> Option<R> {
    let mut events = trace.events_from(event).ok()?;
    let event = events.next().ok()??;
    give(&event.op, Describer { symbols: trace.symbols() })
}

/// What a thread waits for at this event: `lock account`.
fn awaited(access: &Accessor, trace: &Trace) -> Option<String> {
    operation(access.event, trace, |op, describer| {
        let (on, object) = match *op {
            Op::Acquire { object, mode: LockMode::Shared, .. } => (BlockedOn::LockShared, object),
            Op::Acquire { object, .. } => (BlockedOn::LockExclusive, object),
            Op::Woken { condition, .. } | Op::Wait { condition, .. } if access.op == "wait" => {
                (BlockedOn::Notify, condition)
            }
            Op::Woken { mutex, .. } => (BlockedOn::LockExclusive, mutex),
            Op::Blocked { on, object } => (on, object),
            Op::SemaphoreTake { semaphore, .. } => (BlockedOn::Semaphore, semaphore),
            Op::BarrierArrive { barrier, .. } | Op::BarrierLeave { barrier, .. } => (BlockedOn::Barrier, barrier),
            Op::Join { child } => (BlockedOn::Join, ObjectId(child.0.into())),
            _ => return None,
        };
        Some(describer.blocked_on(on, object))
    })
}

fn misused(op: &Op<'_>, describer: Describer<'_>) -> Option<String> {
    match *op {
        Op::Misused { what, object } => {
            Some(format!("{} {}", crate::describe::misuse_name(what), describer.object(object)))
        }
        Op::Fork { child, .. } => Some(format!("thread {child} ends, but is neither joined nor detached")),
        _ => None,
    }
}

fn address_of(event: EventId, trace: &Trace) -> Option<String> {
    let mut events = trace.events_from(event).ok()?;
    let event = events.next().ok()??;
    let (Op::Read { addr, .. } | Op::Write { addr, .. } | Op::Atomic { addr, .. } | Op::Free { addr, .. }) = event.op
    else {
        return None;
    };
    Some(Describer { symbols: trace.symbols() }.address(addr))
}

/// From kind, functions and lines, not from addresses; in no order of the accesses.
pub fn fingerprint(kind: &str, accesses: &[AccessItem]) -> String {
    let mut parts: Vec<String> = accesses
        .iter()
        .map(|access| {
            let Location { file, line, function } = &access.location;
            format!("{}:{line}:{function}:{}", crate::describe::file_name(file), access.op)
        })
        .collect();
    parts.sort();
    let text = format!("{kind}|{}", parts.join("|"));
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{hash:016x}")
}

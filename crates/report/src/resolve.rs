//! From findings (ids and addresses of one trace) to items of a report (names and lines).

use reweave_model::{Accessor, AtomicBlock, BlockedOn, Claim, EventId, Finding, Kind, ObjectId, Op, Pc, Strength};
use reweave_trace::{Symbols, Trace};

use crate::data::{AccessItem, BlockItem, Item, Location};
use crate::describe::Describer;
use crate::fingerprint::fingerprint;
use crate::place::{Placed, frames, is_library};
use crate::reads;

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
        // One that says what it waits for knows more than its event.
        let unnamed = |access: &&mut AccessItem| !access.op.starts_with("wait for ");
        for (item, access) in accesses.iter_mut().zip(&finding.accesses).filter(|(item, _)| unnamed(item)) {
            item.op = awaited(access, trace).map_or(access.op.clone(), |what| format!("wait for {what}"));
        }
    }
    let view = reads::view_item(finding, trace);
    let summary = match &view {
        Some(view) => reads::summary(view, &accesses),
        None => summary(finding, &accesses, trace),
    };
    Item {
        id,
        fingerprint,
        kind: kind_name(finding.kind).into(),
        strength: strength_name(finding.strength).into(),
        analysis: finding.analysis.name().into(),
        summary,
        block: finding.block.as_ref().map(|block| if block.declared { "declared" } else { "inferred" }.into()),
        block_at: finding.block.as_ref().map(|block| block_item(block, &finding.accesses, trace)),
        accesses,
        view,
        ..Item::default()
    }
}

/// Where a block is: in the innermost call that has both its ends. What it calls, or the compiler put into it, is part of it.
fn block_item(block: &AtomicBlock, accesses: &[Accessor], trace: &Trace) -> BlockItem {
    let (enter, exit) = (block_frames(block.enter, accesses, trace), block_frames(block.exit, accesses, trace));
    let pairs = enter.iter().rev().zip(exit.iter().rev());
    // From the outermost call on: further only through the same call.
    let mut common = None;
    for (enter, exit) in
        pairs.take_while(|(enter, exit)| (&enter.file, &enter.function) == (&exit.file, &exit.function))
    {
        common = Some((enter, exit));
        if enter.line != exit.line {
            break;
        }
    }
    let label = block.label.clone();
    // The function that the user named.
    let named = |frames: &[Location]| frames.iter().find(|frame| Some(&frame.function) == label.as_ref()).cloned();
    let first = |frames: &[Location]| frames.first().cloned().unwrap_or_default();
    let (enter, exit) = match (named(&enter).zip(named(&exit)), common) {
        (Some(named), _) => named,
        (None, Some((enter, exit))) => (enter.clone(), exit.clone()),
        (None, None) => (first(&enter), first(&exit)),
    };
    BlockItem { label, enter, exit }
}

/// The program's own frames at one end of a block, innermost first. Who called is known of accesses in the same function.
fn block_frames(pc: Pc, accesses: &[Accessor], trace: &Trace) -> Vec<Location> {
    let inlined = |pc| frames(pc, trace.symbols());
    let function = |pc| inlined(pc).pop().map(|frame| frame.function);
    let own = accesses.first().map(|access| access.thread);
    let mut own = accesses.iter().filter(|access| Some(access.thread) == own);
    let same =
        own.clone().find(|access| access.pc == pc).or_else(|| own.find(|access| function(access.pc) == function(pc)));
    let mut all = inlined(pc);
    if let Some(access) = same {
        all.extend(Placed::callers(trace.stacks().walk(access.stack), trace.symbols()));
    }
    all.retain(|frame| frame.line != 0 && !frame.file.ends_with("reweave.h") && !is_library(&frame.file));
    all
}

/// `atomic block "transfer" in transfer (bank.c:12-18)`
fn block_name(block: &AtomicBlock, accesses: &[Accessor], trace: &Trace) -> String {
    let BlockItem { label, enter, exit } = block_item(block, accesses, trace);
    let mut name = if block.declared { "atomic block".to_owned() } else { "inferred atomic block".to_owned() };
    if let Some(label) = label.filter(|label| *label != enter.function) {
        name += &format!(" \"{label}\"");
    }
    if !enter.function.is_empty() {
        name += &format!(" in {}", enter.function);
    }
    if enter.line != 0 {
        name += &format!(" ({}:{}", crate::describe::file_name(&enter.file), enter.line);
        name +=
            &if exit.file == enter.file && exit.line > enter.line { format!("-{})", exit.line) } else { ")".into() };
    }
    name
}

/// What is wrong with a block. With a witness the accesses are in the order in which they happen.
fn atomicity(finding: &Finding, block: &AtomicBlock, trace: &Trace) -> String {
    let name = block_name(block, &finding.accesses, trace);
    if finding.witness.is_none() {
        let what = match finding.analysis.claim() {
            Claim::LockTakenAgain => "takes a lock again that it gave up: another thread may come in between",
            Claim::NotReducible => "may not be atomic: (2) and what precedes it cannot be moved past other threads",
            _ => "did not run as if in one step",
        };
        return format!("{name} {what}");
    }
    let own = finding.accesses.first().map(|access| access.thread);
    let numbers = |mine: bool| {
        let all = finding.accesses.iter().enumerate().filter(|(_, access)| (Some(access.thread) == own) == mine);
        all.map(|(i, _)| format!("({})", i + 1)).collect::<Vec<_>>().join(", ")
    };
    format!(
        "{name} is not atomic: no order of whole blocks explains {} with {} of other threads",
        numbers(true),
        numbers(false)
    )
}

fn access_item(access: &Accessor, trace: &Trace) -> AccessItem {
    let Placed { at, through, stack } = Placed::new(access.pc, trace.stacks().walk(access.stack), trace.symbols());
    let locks_held = access.locks_held.iter().filter_map(|event| lock_name(*event, trace)).collect();
    // What prediction had to invent is no event.
    let event = (access.event != EventId::default()).then_some(access.event.0);
    AccessItem { thread: access.thread.0, op: access.op.clone(), location: at, through, stack, locks_held, event }
}

/// `account (taken at bank.c:21)`
fn lock_name(event: EventId, trace: &Trace) -> Option<String> {
    let mut events = trace.events_from(event).ok()?;
    let event = events.next().ok()??;
    let (Op::Acquire { object, .. } | Op::Woken { mutex: object, .. }) = event.op else { return None };
    let at = Placed::new(event.pc, trace.stacks().walk(event.stack), trace.symbols()).at;
    Some(taken_lock(object, &at, trace.symbols()))
}

pub(crate) fn taken_lock(object: ObjectId, at: &Location, symbols: &Symbols) -> String {
    format!("{} (taken at {})", Describer { symbols }.object(object), at.short())
}

fn summary(finding: &Finding, accesses: &[AccessItem], trace: &Trace) -> String {
    match finding.kind {
        Kind::Race => {
            let variable = finding.accesses.first().and_then(|access| address_of(access.event, trace));
            let ops = accesses.iter().map(|access| access.op.as_str()).collect::<Vec<_>>().join(" and ");
            let on = variable.map_or(String::new(), |name| format!(" on {name}"));
            if finding.weak_order {
                format!("data race{on} (memory-order): what stands between {ops} does not order them")
            } else {
                format!("data race{on}: {ops} are not ordered")
            }
        }
        Kind::Deadlock => {
            let names: Vec<String> = finding.accesses.iter().filter_map(|access| awaited(access, trace)).collect();
            deadlock(finding.analysis.claim(), &names)
        }
        Kind::Misuse if accesses.len() == 2 => {
            let last = finding.accesses.last();
            if let Some(text) = last.and_then(|access| operation(access.event, trace, misused)) {
                return text;
            }
            let object = last.and_then(|access| operation(access.event, trace, ended));
            let (object, how) = object.unwrap_or_else(|| ("something".into(), "destroyed"));
            format!("use of {object} after it was {how}: {} and {}", accesses[1].op, accesses[0].op)
        }
        Kind::Misuse => {
            let event = finding.accesses.first().and_then(|access| operation(access.event, trace, misused));
            event.unwrap_or_else(|| "misuse".into())
        }
        Kind::Atomicity if finding.block.is_some() => {
            finding.block.as_ref().map(|block| atomicity(finding, block, trace)).unwrap_or_default()
        }
        kind => kind_name(kind).into(),
    }
}

/// What is wrong with threads that wait, by what they do and what they wait for.
pub(crate) fn deadlock(claim: Claim, awaited: &[String]) -> String {
    match claim {
        Claim::NeverHappens => format!("nobody is left to go on: {}", awaited.join(", ")),
        _ => format!("{} threads wait for each other: {}", awaited.len(), awaited.join(", ")),
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
            Op::Woken { condition, .. } | Op::Wait { condition, .. } if access.op == "wait" => {
                (BlockedOn::Notify, condition)
            }
            ref op => op.awaits()?,
        };
        Some(describer.blocked_on(on, object))
    })
}

fn misused(op: &Op<'_>, describer: Describer<'_>) -> Option<String> {
    match *op {
        Op::Misused { what, object } => Some(describer.misuse(what, object)),
        Op::Fork { child, .. } => Some(format!("thread {child} ends, but is neither joined nor detached")),
        _ => None,
    }
}

/// What an operation ends, and how.
fn ended(op: &Op<'_>, describer: Describer<'_>) -> Option<(String, &'static str)> {
    match *op {
        Op::Destroy { object, .. } => Some((describer.object(object), "destroyed")),
        Op::Free { addr, .. } => Some((describer.address(addr), "freed")),
        _ => None,
    }
}

pub(crate) fn address_of(event: EventId, trace: &Trace) -> Option<String> {
    let mut events = trace.events_from(event).ok()?;
    let event = events.next().ok()??;
    let (Op::Read { addr, .. } | Op::Write { addr, .. } | Op::Atomic { addr, .. } | Op::Free { addr, .. }) = event.op
    else {
        return None;
    };
    Some(Describer { symbols: trace.symbols() }.address(addr))
}

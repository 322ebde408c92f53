//! A finding in one line.

use reweave_model::{Addr, AtomicBlock, Claim, Evidence, Finding, Kind, Op, Pc};

use super::block::block_name;
use super::source::{Source, operation};
use crate::data::{AccessItem, MEMORY_ORDER, RACE_ON, UNJOINED};
use crate::describe::Describer;

pub fn summary(finding: &Finding, raced: Option<Addr>, accesses: &[AccessItem], source: &dyn Source) -> String {
    let describer = match finding.accesses() {
        [] => source.describer(),
        // Of memory that was used after it was freed, the use comes first or last.
        accesses => source.describer().at(accesses.iter().map(|access| access.event).max().unwrap_or_default()),
    };
    match finding.kind {
        Kind::Race => {
            let ops = accesses.iter().map(|access| access.op.to_string()).collect::<Vec<_>>().join(" and ");
            let race = match raced {
                Some(addr) => {
                    let by_code = describer.by_code(addr, first_pc(finding));
                    format!("{RACE_ON}{}", by_code.unwrap_or_else(|| describer.in_full(addr)))
                }
                None => RACE_ON.trim_end_matches(" on ").to_owned(),
            };
            if finding.weak_order {
                format!("{race} {MEMORY_ORDER}: the synchronization between {ops} does not order them")
            } else {
                format!("{race}: {ops} are not ordered")
            }
        }
        Kind::Deadlock if matches!(finding.evidence, Evidence::Static { .. }) => {
            format!("{} threads may wait for each other", accesses.len())
        }
        Kind::Deadlock => {
            let awaited = finding.accesses().iter().filter_map(|access| source.awaited(access));
            let names: Vec<String> = awaited.map(|(on, object)| describer.blocked_on(on, object)).collect();
            match finding.analysis.claim() {
                Claim::NeverHappens => format!("no thread can make progress: {}", crate::describe::some(names)),
                _ => format!("{} threads wait for each other: {}", names.len(), crate::describe::some(names.clone())),
            }
        }
        Kind::Misuse if accesses.len() == 2 => {
            let last = finding.accesses().last();
            if let Some(text) = last.and_then(|access| operation(access.event, source, |op| misused(op, describer))) {
                return text;
            }
            let object = last.and_then(|access| operation(access.event, source, |op| ended(op, describer)));
            let (object, how) = object.unwrap_or_else(|| ("something".into(), "destroyed"));
            format!("use of {object} after it was {how}: {} and {}", accesses[1].op, accesses[0].op)
        }
        Kind::Misuse => {
            let event = finding.accesses().first().map(|access| access.event);
            let misused = event.and_then(|event| operation(event, source, |op| misused(op, describer)));
            misused.unwrap_or_else(|| Kind::Misuse.name().into())
        }
        kind => match &finding.block {
            Some(block) if kind == Kind::Atomicity => atomicity(finding, block, source),
            _ => kind.name().into(),
        },
    }
}

/// Where the first of its accesses is.
pub fn first_pc(finding: &Finding) -> Option<Pc> {
    finding.accesses().first().map(|access| access.pc)
}

/// What is wrong with a block. With a witness the accesses are in the order in which they happen.
fn atomicity(finding: &Finding, block: &AtomicBlock, source: &dyn Source) -> String {
    let accesses = finding.accesses();
    let name = block_name(block, accesses, source);
    if finding.witness().is_none() {
        let what = match finding.analysis.claim() {
            Claim::LockTakenAgain => "takes a lock again that it had released: another thread may run in between",
            Claim::NotReducible => "may not be atomic: (2) and what precedes it cannot be moved past other threads",
            _ => "did not run as if in one step",
        };
        return format!("{name} {what}");
    }
    let own = accesses.first().map(|access| access.thread);
    let numbers = |mine: bool| {
        let all = accesses.iter().enumerate().filter(|(_, access)| (Some(access.thread) == own) == mine);
        all.map(|(i, _)| format!("({})", i + 1)).collect::<Vec<_>>().join(", ")
    };
    format!(
        "{name} is not atomic: no order of whole blocks explains {} with {} of other threads",
        numbers(true),
        numbers(false)
    )
}

fn misused(op: &Op<'_>, describer: Describer<'_>) -> Option<String> {
    match *op {
        Op::Misused { what, object } => Some(describer.misuse(what, object)),
        Op::Fork { child, .. } => Some(format!("thread {child} ends, but is {UNJOINED}")),
        _ => None,
    }
}

/// Whether it is about a thread that is neither joined nor detached.
pub fn is_unjoined(finding: &Finding, source: &dyn Source) -> bool {
    let access = if finding.accesses().len() == 2 { finding.accesses().last() } else { finding.accesses().first() };
    let forked = |op: &Op<'_>| matches!(op, Op::Fork { .. }).then_some(());
    access.is_some_and(|access| operation(access.event, source, forked).is_some())
}

/// What an operation ends, and how.
fn ended(op: &Op<'_>, describer: Describer<'_>) -> Option<(String, &'static str)> {
    match *op {
        Op::Destroy { object, .. } => Some((describer.object(object), "destroyed")),
        Op::Free { addr, .. } => Some((describer.address(addr), "freed")),
        _ => None,
    }
}

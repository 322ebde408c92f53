//! From sightings (findings made while the program runs) to items of a report.

use reweave_model::{Claim, Kind, Pc, Sighted, Sighting};
use reweave_trace::Symbols;

use crate::data::{AccessItem, Item};
use crate::describe::Describer;
use crate::fingerprint::fingerprint;
use crate::place::Placed;
use crate::resolve::{deadlock, kind_name, strength_name, taken_lock};

/// Every code address that an item of it names.
pub fn addresses(sighting: &Sighting) -> impl Iterator<Item = Pc> {
    sighting.accesses.iter().flat_map(|access| {
        let taken = access.locks_held.iter().map(|(_, pc)| *pc);
        std::iter::once(access.pc).chain(access.stack.iter().copied()).chain(taken)
    })
}

/// Makes an item; the symbols know at least its [`addresses`].
pub fn item(id: u32, sighting: &Sighting, symbols: &Symbols) -> Item {
    let mut accesses: Vec<AccessItem> = sighting.accesses.iter().map(|access| access_item(access, symbols)).collect();
    let kind = kind_name(sighting.kind);
    // Before objects are named: an address says nothing in another run.
    let fingerprint = fingerprint(kind, &accesses);
    if sighting.kind == Kind::Deadlock {
        for (item, access) in accesses.iter_mut().zip(&sighting.accesses) {
            if let Some(what) = awaited(access, symbols) {
                item.op = format!("wait for {what}");
            }
        }
    }
    Item {
        id,
        fingerprint,
        kind: kind.into(),
        strength: strength_name(sighting.strength).into(),
        analysis: sighting.analysis.name().into(),
        summary: summary(sighting, &accesses, symbols),
        accesses,
        why_unconfirmed: Some(worth(sighting)),
        ..Item::default()
    }
}

fn access_item(access: &Sighted, symbols: &Symbols) -> AccessItem {
    let Placed { at, through, stack } = Placed::new(access.pc, access.stack.iter().copied(), symbols);
    let taken = |pc| Placed::new(pc, std::iter::empty(), symbols).at;
    let locks_held = access.locks_held.iter().map(|&(object, pc)| taken_lock(object, &taken(pc), symbols)).collect();
    AccessItem { thread: access.thread.0, op: access.op.into(), location: at, through, stack, locks_held, event: None }
}

fn summary(sighting: &Sighting, accesses: &[AccessItem], symbols: &Symbols) -> String {
    if sighting.kind == Kind::Deadlock {
        let names: Vec<String> = sighting.accesses.iter().filter_map(|access| awaited(access, symbols)).collect();
        return deadlock(sighting.analysis.claim(), &names);
    }
    let variable = sighting.accesses.iter().rev().find_map(|access| access.addr);
    let on = variable.map_or(String::new(), |addr| format!(" on {}", Describer { symbols }.address(addr)));
    let ops = accesses.iter().map(|access| access.op.as_str()).collect::<Vec<_>>().join(" and ");
    format!("data race{on}: {ops} are not ordered")
}

fn awaited(access: &Sighted, symbols: &Symbols) -> Option<String> {
    access.awaits.map(|(on, object)| Describer { symbols }.blocked_on(on, object))
}

/// What the analysis can say without a witness.
fn worth(sighting: &Sighting) -> String {
    let test = "`reweave test` runs it again";
    let text = match (sighting.analysis.claim(), sighting.certain) {
        (Claim::LocksAllowIt, _) if sighting.kind == Kind::Deadlock => {
            format!("the locks let the threads come there, but what they read may not; {test} to settle it")
        }
        (_, _) if sighting.kind == Kind::Deadlock => {
            format!("each takes what the next one holds, but something else may keep them apart; {test} to settle it")
        }
        (Claim::LocksAllowIt, _) => {
            format!("neither locks nor their order keep the two apart, but something else may; {test} to settle it")
        }
        (Claim::UnorderedUnlessRaced, true) => {
            format!("the first two that nothing ordered in this run, so a race; {test} to make it happen")
        }
        (_, true) => format!("nothing ordered the two in this run, so a race; {test} to make it happen"),
        (Claim::UnorderedUnlessRaced, false) => {
            format!("nothing ordered the two in this run, unless an earlier race is why; {test} to settle it")
        }
        (Claim::NoCommonLock, _) => {
            format!("no common lock keeps the two apart, but something else may; {test} to settle it")
        }
        _ => format!("a pattern seen while the program ran; {test} to settle it"),
    };
    let old: Vec<String> = sighting
        .accesses
        .iter()
        .zip(1..)
        .filter(|(access, _)| !access.exact)
        .map(|(_, number)| {
            format!("; ({number}) was long ago, its thread, stack and locks are of the last one known there")
        })
        .collect();
    text + &old.concat()
}

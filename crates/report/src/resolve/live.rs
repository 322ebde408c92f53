//! From sightings (findings made while the program runs) to items of a report.

use reweave_model::{Claim, Kind, Pc, Sighting};
use reweave_trace::{Language, Symbols};

use super::source::Watched;
use crate::data::Item;
use crate::describe::Describer;

/// Every code address that an item of it names.
pub fn addresses(sighting: &Sighting) -> impl Iterator<Item = Pc> {
    sighting.accesses.iter().flat_map(|access| {
        let taken = access.locks_held.iter().map(|(_, pc)| *pc);
        std::iter::once(access.pc).chain(access.stack.iter().copied()).chain(taken)
    })
}

/// Makes an item; the symbols know at least its [`addresses`].
pub fn item(id: u32, sighting: &Sighting, symbols: &Symbols, language: &Language) -> Item {
    let source = Watched { sighting, describer: Describer::new(symbols, language) };
    let item = super::item(id, &sighting.finding(), &source);
    Item { why_unconfirmed: Some(worth(sighting)), ..item }
}

/// What a finding is about: whoever hears of one knows of the others. A variable, locks, or, of memory without a name,
/// the functions that use it.
pub fn subject(item: &Item) -> String {
    let functions = || {
        let mut all: Vec<&str> = item.accesses.iter().map(|access| access.location.function.as_str()).collect();
        all.sort_unstable();
        all.dedup();
        all.join(", ")
    };
    match (item.kind, &item.facts.variable) {
        (Kind::Race, Some(variable)) if !variable.starts_with("0x") => format!("{} {variable}", item.kind),
        (Kind::Deadlock, _) => {
            let mut locks: Vec<String> = item.accesses.iter().filter_map(|access| access.op.awaited()).collect();
            locks.sort_unstable();
            format!("{} {}", item.kind, locks.join(", "))
        }
        _ => format!("{} {}", item.kind, functions()),
    }
}

/// What the analysis can say without a witness.
fn worth(sighting: &Sighting) -> String {
    let test = "`reweave test` runs it again";
    let text = match (sighting.analysis.claim(), sighting.certain) {
        (Claim::LocksAllowIt, _) if sighting.kind == Kind::Deadlock => {
            format!("the locks allow it, but the values that the threads read may not; {test} to find out")
        }
        (_, _) if sighting.kind == Kind::Deadlock => {
            format!("each takes what the next one holds, but something else may keep them apart; {test} to find out")
        }
        (Claim::LocksAllowIt, _) => {
            format!("neither locks nor their order keep the two apart, but something else may; {test} to find out")
        }
        (Claim::UnorderedUnlessRaced, true) => {
            format!("the first two that nothing ordered in this run, so a race; {test} to make it happen")
        }
        (_, true) => format!("nothing ordered the two in this run, so a race; {test} to make it happen"),
        (Claim::UnorderedUnlessRaced, false) => {
            format!("nothing ordered the two in this run, unless an earlier race is why; {test} to find out")
        }
        (Claim::NoCommonLock, _) => {
            format!("no common lock keeps the two apart, but something else may; {test} to find out")
        }
        _ => format!("a pattern seen while the program ran; {test} to find out"),
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

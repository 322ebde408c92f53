//! The whole analysis on complete logs, in one process.

use std::collections::BTreeMap;

use crate::event::Logs;
use crate::ids::Rank;
use crate::logfile::Notes;
use crate::look::Owners;
use crate::lower::{Lowered, Lowering};
use crate::order::Order;
use crate::owner::{self, Findings, Found, Placed, Statement};
use crate::rules::{Known, Verdict, Why};
use crate::values;
use crate::witness::{self, Checker, Witness};

/// The races of a run.
pub struct Races {
    pub found: Vec<Found>,
    /// Beside each: the witness that the checker accepted, if it is to be called a race.
    pub witnesses: Vec<Option<Witness>>,
    /// Times that the logs contradicted themselves.
    pub incomplete: usize,
    /// Pairs of strided accesses that met too often to look at every meeting.
    pub given_up: usize,
    /// Waits that several updates could have satisfied (R17).
    pub ambiguous_waits: usize,
    /// Accesses that were looked at.
    pub accesses: usize,
}

impl Races {
    /// What ranks found while they ran: the strongest of each pair of statements. Nothing has a witness, as there are no
    /// logs to make one from.
    pub fn told(found: &[Found], notes: &Notes) -> Races {
        let mut strongest: BTreeMap<(Statement, Statement), &Found> = BTreeMap::new();
        for found in found {
            let known = strongest.entry(found.statements()).or_insert(found);
            if known.verdict < found.verdict {
                *known = found;
            }
        }
        Races {
            witnesses: vec![None; strongest.len()],
            found: strongest.into_values().cloned().collect(),
            incomplete: 0,
            given_up: notes.judged.iter().map(|(_, given_up)| *given_up as usize).sum(),
            ambiguous_waits: 0,
            accesses: notes.judged.iter().map(|(counts, _)| counts.accesses as usize).sum(),
        }
    }
}

/// Judges the logs of all ranks. `strict`: what only practice keeps apart is a race too (R2, R10, R18). `owners`: whose
/// memory is looked at.
pub fn analyse(logs: &Logs, strict: bool, owners: &Owners) -> Races {
    let mut lowerings = Vec::new();
    let mut parts = Vec::new();
    for (rank, log) in logs.iter().enumerate() {
        let mut lowering = Lowering::new(Rank(rank as u32));
        log.iter().for_each(|logged| lowering.take(logged));
        parts.push(lowering.cut());
        lowerings.push(lowering);
    }
    let syncs: Vec<_> = parts.iter().flat_map(|part| &part.syncs).collect();
    let links = values::links(
        &Order::new(syncs.iter().copied()),
        parts.iter().flat_map(|part| &part.written),
        parts.iter().flat_map(|part| &part.seen),
    );
    let ambiguous_waits = links.ambiguous_waits;
    let known = Known::new(&syncs, links);
    let mut races = Races {
        found: Vec::new(),
        witnesses: Vec::new(),
        incomplete: known.incomplete(),
        given_up: 0,
        ambiguous_waits,
        accesses: parts.iter().map(|part| part.accesses.len()).sum(),
    };
    let checker = Checker::new(logs);
    for (rank, lowering) in lowerings.iter().enumerate().filter(|(rank, _)| owners.has(*rank as u32)) {
        let findings = of_owner(rank, lowering, &parts, &known);
        races.given_up += findings.given_up;
        let Findings { pairs, mut others, .. } = findings;
        for (statements, found) in pairs {
            let accepted = |found: &Found| {
                let all = witness::candidates(logs, known.order(), &parts[rank].owned, found);
                all.into_iter().find(|witness| checker.check(witness, strict).is_ok())
            };
            let judged = |found: Found| accepted(&found).map(|witness| (found, witness));
            let others = others.remove(&statements).into_iter().flatten();
            let shown = (is_race(found.verdict, strict))
                .then(|| std::iter::once(found.clone()).chain(others).find_map(judged))
                .flatten();
            let (found, witness) = shown.map_or((found, None), |(found, witness)| (found, Some(witness)));
            races.found.push(found);
            races.witnesses.push(witness);
        }
    }
    races
}

/// Is the pair a race, by the rules that were asked for?
fn is_race(verdict: Verdict, strict: bool) -> bool {
    match verdict {
        Verdict::Race => true,
        Verdict::Potential(Why::OverByPractice | Why::MixedOperations | Why::FlagByPut) => strict,
        Verdict::Potential(Why::SeveralWriters) | Verdict::Apart => false,
    }
}

fn of_owner(rank: usize, lowering: &Lowering, parts: &[Lowered], known: &Known) -> Findings {
    let mut accesses: Vec<Placed<'_>> = (parts.iter())
        .flat_map(|part| &part.accesses)
        .filter(|access| access.owner == Rank(rank as u32))
        .filter_map(|access| Some((owner::span(lowering, access)?, access)))
        .collect();
    owner::check(&mut accesses, known, &parts[rank].owned)
}

//! The whole analysis on complete logs, in one process: what `predict` does with a set of traces.

use crate::event::Logs;
use crate::ids::Rank;
use crate::lower::{Lowered, Lowering};
use crate::order::Order;
use crate::owner::{self, Findings, Found, Placed};
use crate::rules::Known;
use crate::values;

/// The races of a run.
pub struct Races {
    pub found: Vec<Found>,
    /// Times that the logs contradicted themselves.
    pub incomplete: usize,
    /// Pairs of strided accesses that met too often to look at every meeting.
    pub given_up: usize,
    /// Waits that several updates could have satisfied (R17).
    pub ambiguous_waits: usize,
}

/// Judges the logs of all ranks.
pub fn analyse(logs: &Logs) -> Races {
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
    let mut races = Races { found: Vec::new(), incomplete: known.incomplete(), given_up: 0, ambiguous_waits };
    for (rank, lowering) in lowerings.iter().enumerate() {
        let findings = of_owner(rank, lowering, &parts, &known);
        races.given_up += findings.given_up;
        races.found.extend(findings.pairs.into_values());
    }
    races
}

fn of_owner(rank: usize, lowering: &Lowering, parts: &[Lowered], known: &Known) -> Findings {
    let mut accesses: Vec<Placed> = (parts.iter())
        .flat_map(|part| &part.accesses)
        .filter(|access| access.owner == Rank(rank as u32))
        .filter_map(|access| Some((owner::span(lowering, access)?, access.clone())))
        .collect();
    owner::check(&mut accesses, known, &parts[rank].owned)
}

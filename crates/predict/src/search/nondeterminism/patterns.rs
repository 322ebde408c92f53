//! What the [published] rule finds in a trace, by pair of lines. No order is made and none is checked: patterns.

use std::collections::BTreeMap;

use reweave_model::{AnalysisId, Finding, Kind, Strength};
use reweave_trace::{Result, Trace};

use super::feeds;
use super::groups::{Candidate, Lines};
use super::published::{self, Witness};
use super::view;
use crate::history::Pos;
use crate::lower::Lowered;
use crate::search::{self, SearchLimits};

pub struct Patterns {
    pub findings: Vec<Finding>,
    pub stats: published::Stats,
}

/// How many witnesses are looked at between two looks at the clock.
const NOW_AND_THEN: u64 = 1024;

pub fn patterns(
    trace: &Trace,
    analysis: AnalysisId,
    limits: &SearchLimits<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<Patterns> {
    let mut stats = published::Stats::default();
    let mut found: BTreeMap<Lines, Finding> = BTreeMap::new();
    search::each_window(trace, limits, progress, &mut |window, _| {
        let mut looked_at = 0u64;
        published::witnesses(&window.history, &mut stats, &mut |witness, verdict| {
            looked_at += 1;
            if verdict.is_feasible()
                && let Some(lines) = lines(window, witness)
            {
                found.entry(lines).or_insert_with(|| finding(window, analysis, witness));
            }
            !looked_at.is_multiple_of(NOW_AND_THEN) || !limits.is_over()
        });
    })?;
    let mut findings: Vec<Finding> = found.into_values().collect();
    let mut fed = feeds::Known::default();
    for finding in &mut findings {
        if let Some(read) = finding.view.and_then(|view| view.read) {
            let feeds = fed.of(trace, &finding.accesses()[read])?;
            finding.view = finding.view.map(|view| reweave_model::View { feeds, ..view });
        }
    }
    Ok(Patterns { findings, stats })
}

/// The lines of a witness; `None` if one of its events is no line of the program, or what it means depends on another
/// window.
fn lines(window: &Lowered, Witness { couple, challenger, .. }: Witness) -> Option<Lines> {
    let line = |pos: Pos| window.history.step(pos).event.map(|_| window.origin(pos).pc);
    let reader = match couple.reader {
        Some(reader) => Some(line(reader)?),
        None if window.last => None,
        None => return None,
    };
    let writer = match challenger {
        Some(challenger) => Some(line(challenger)?),
        None if window.first => None,
        None => return None,
    };
    Some((reader, writer))
}

fn finding(window: &Lowered, analysis: AnalysisId, Witness { couple, challenger, .. }: Witness) -> Finding {
    let candidate = Candidate { read: couple.reader, cell: couple.cell, writer: challenger };
    let (accesses, view) = view(window, candidate, couple.writer, None);
    Finding { view: Some(view), ..Finding::new(Kind::Nondeterminism, Strength::Potential, analysis, accesses) }
}

//! Holds what is called proved against all executions of one input.

use std::collections::BTreeSet;

use reweave_statics::Program;
use reweave_statics::frames::Point;
use reweave_statics::values::locations::LocationId;
use reweave_statics::verdict::{Kind, ReadVerdict, Verdict, Verdicts, races};

use crate::observe::{Observed, Returned, Wrong};

/// How often the analysis was right to say that something can differ, and how often it was only careful.
#[derive(Default, Debug)]
pub struct Precision {
    /// Reads that are choices, by the analysis and in fact.
    pub choices: usize,
    pub true_choices: usize,
    /// Reads that are fixed or return the same value, in fact and by the analysis.
    pub same: usize,
    pub proved: usize,
    pub order_free: usize,
    pub outputs: usize,
}

pub fn hold(
    program: &Program<'_>,
    verdicts: &Verdicts,
    observed: &Observed,
    precision: &mut Precision,
) -> Result<(), Wrong> {
    let line = |at: Point| program.skeleton.statement(at.statement).position.line;
    for (instance, returned) in &observed.reads {
        let at = instance.point;
        let kinds: Vec<&Kind> =
            returned.locations.iter().map(|location| kind_of(verdicts, at, *location)).collect::<Result<_, _>>()?;
        for kind in &kinds {
            holds_of(kind, returned, observed)
                .map_err(|wrong| format!("line {}: {kind:?}, but {wrong}: {returned:?}", line(at)))?;
        }
        let can_differ = kinds.iter().any(|kind| matches!(kind, Kind::Choice(_)));
        precision.choices += usize::from(can_differ);
        precision.true_choices += usize::from(can_differ && returned.sources.len() > 1);
        let same = returned.values.len() == 1;
        precision.same += usize::from(same);
        precision.proved += usize::from(kinds.iter().all(|kind| kind.verdict() == Verdict::Proved));
    }
    for (cell, returned) in &observed.last {
        for location in &returned.locations {
            let all = verdicts.last.get(location).into_iter().flatten();
            for ReadVerdict { kind, .. } in all {
                precision.order_free += usize::from(matches!(kind, Kind::SameValue(_)) && returned.sources.len() > 1);
                let apart_from_order = Returned { complete: observed.complete, ..returned.clone() };
                holds_of(kind, &apart_from_order, observed)
                    .map_err(|wrong| format!("{cell:?} at the end: {kind:?}, but {wrong}: {returned:?}"))?;
            }
        }
    }
    if verdicts.output() == Verdict::Proved {
        precision.outputs += 1;
        let texts: BTreeSet<Vec<&String>> =
            observed.outputs.iter().map(|all| all.iter().map(|(_, text)| text).collect()).collect();
        if texts.len() > 1 {
            return Err(format!("the output is proved the same, but {texts:?}"));
        }
    }
    if verdicts.status == Verdict::Proved && observed.statuses.len() > 1 {
        return Err(format!("the exit status is proved the same, but {:?}", observed.statuses));
    }
    let known: BTreeSet<(Point, Point)> = races(program).into_iter().map(|(_, pair)| pair).collect();
    match observed.races.iter().find(|pair| !known.contains(pair)) {
        Some((one, other)) => Err(format!("lines {} and {} race, which is not known", line(*one), line(*other))),
        None => Ok(()),
    }
}

fn kind_of(verdicts: &Verdicts, at: Point, location: LocationId) -> Result<&Kind, Wrong> {
    let all = verdicts.reads.get(&location).into_iter().flatten();
    let found = all.filter(|read| read.at == at).map(|read| &read.kind).next();
    found.ok_or_else(|| format!("{at:?} reads {location:?}, of which nothing is said"))
}

fn holds_of(kind: &Kind, returned: &Returned, observed: &Observed) -> Result<(), Wrong> {
    let always = returned.complete == 0 || returned.complete == observed.complete;
    match kind {
        Kind::Fixed if returned.sources.len() > 1 => Err("it has two sources".into()),
        Kind::Fixed | Kind::SameValue(_) if returned.values.len() > 1 => Err("it returns two values".into()),
        Kind::Fixed | Kind::SameValue(_) | Kind::PartOfUpdate if !always => {
            Err(format!("it is executed in {} of {} executions", returned.complete, observed.complete))
        }
        _ => Ok(()),
    }
}

//! Tries to make one finding happen, and decides what it is worth.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use reweave_model::wire::kind;
use reweave_model::{Finding, Kind, Strength};
use reweave_report::data;
use reweave_trace::Trace;

use super::candidate::{Candidate, Confirmed, State, Unconfirmed};
use super::own_runs::recorded;
use super::{RECORDING, WITNESS};
use crate::budget;
use crate::confirm::{self, Confirmation, Ending, Goal, RunSettings};
use crate::replay::{Recording, Repeats, family_of, happens_again};
use reweave_launch::Result;
use reweave_launch::interrupt;

/// Where a finding comes from, and where it goes.
#[derive(Clone, Copy)]
pub struct FindingOrigin<'a> {
    pub trace: &'a Trace,
    /// Whether the run it was found in does the same again.
    pub own_run: Repeats,
    /// Of the test.
    pub folder: &'a Path,
}

/// Tries to confirm one finding.
pub fn try_confirm(
    id: u32,
    found: FindingOrigin<'_>,
    finding: &Finding,
    settings: &RunSettings<'_>,
    left: Duration,
) -> Result<Candidate> {
    let FindingOrigin { trace, own_run, folder } = found;
    if finding.strength == Strength::Confirmed {
        // The recorded run did it.
        let outcome = trace.footer().map(|footer| footer.outcome.clone()).unwrap_or_default();
        return recorded(id, trace, finding, &outcome, own_run, folder);
    }
    let mut candidate = Candidate::found_in(trace, id, finding, folder);
    let witness = || keep_witness(id, trace, finding, folder);
    if left.is_zero() {
        let why = if interrupt::asked() { Unconfirmed::Interrupted } else { Unconfirmed::OutOfTime };
        return Ok(candidate.open(why, witness()?));
    }
    let own = candidate.folder(folder);
    let deadline = Instant::now() + left;
    let (confirmation, tries) = confirm::confirm(trace, finding, &own, settings, deadline)?;
    let tries = data::AttemptCounts {
        attempts: tries.attempts,
        first: tries.first,
        confirmations: tries.confirmations,
        pauses: tries.pauses,
        thrashes: tries.thrashes,
    };
    match confirmation {
        Confirmation::Confirmed(goal) => {
            let found = candidate.clone();
            candidate.tries = Some(tries);
            let judged = judge(&mut candidate, *goal, &own, settings, deadline)?;
            let Some(why) = judged else { return Ok(candidate) };
            let _ = fs::remove_dir_all(&own);
            let witness = if why == Unconfirmed::NotReplayed { witness()? } else { None };
            Ok(found.open(why, witness))
        }
        Confirmation::Unconfirmed { why } => {
            let _ = fs::remove_dir_all(&own);
            candidate.tries = Some(tries);
            Ok(candidate.open(Unconfirmed::Missed(why), witness()?))
        }
    }
}

/// Looks at the run that did it. Returns why it does not count, if it does not.
fn judge(
    candidate: &mut Candidate,
    mut goal: Goal,
    own: &Path,
    settings: &RunSettings<'_>,
    deadline: Instant,
) -> Result<Option<Unconfirmed>> {
    let finding = &candidate.finding;
    let is_information = finding.kind == Kind::Nondeterminism;
    let most = if is_information { budget::SHRINKING_INFORMATION } else { budget::SHRINKING };
    let until = deadline.min(Instant::now() + most.min(settings.share.unwrap_or(most)));
    let preemptions = Some(confirm::minimise(own, &mut goal, settings, until)?.after);
    let is_guessed = finding.block.as_ref().is_some_and(|block| !block.declared);
    let run = Trace::open(own.join(&goal.trace))?;
    let events = goal.occurrence(&run)?.map(|occurrence| occurrence.events).unwrap_or_default();
    candidate.restate_from(&run, events)?;
    let ending = Ending::of(&run, &goal.outcome, &own.join(confirm::OUTPUT), settings.normal)?;
    let repeats = repeats(&Recording::open(settings.front_ends, own)?, settings, deadline)?;
    if repeats == Repeats::No {
        return Ok(Some(Unconfirmed::NotReplayed));
    }
    // A block that nobody declared may be as it should be, unless something comes of it.
    if is_guessed && ending.is_harmless() {
        return Ok(Some(Unconfirmed::Harmless));
    }
    if is_guessed && settings.normal.is_some_and(|normal| ending.is_as_ever(normal)) {
        return Ok(Some(Unconfirmed::AsEver));
    }
    candidate.state = State::Confirmed(Box::new(Confirmed { goal, ending, preemptions, repeats }));
    Ok(None)
}

/// Whether a run, and what it is to show, is the same every time: once, or several times if others come in at a time of
/// their own.
pub fn repeats(recording: &Recording, settings: &RunSettings<'_>, until: Instant) -> Result<Repeats> {
    let came = |kind: u8| recording.trace.count_of(kind).is_some_and(|count| count > 0);
    let from_outside = [kind::SIGNAL, kind::INPUT, kind::LEAVE].into_iter().any(came);
    let outside = from_outside || family_of(&recording.path).len() > 1;
    let times = if outside { budget::REPLAYS_WITH_OTHERS } else { budget::REPLAYS };
    happens_again(recording, times, settings, until)
}

/// The predicted order of the recorded run; that of another run says nothing without it.
fn keep_witness(id: u32, trace: &Trace, finding: &Finding, folder: &Path) -> Result<Option<String>> {
    let Some(witness) = finding.witness().filter(|_| trace.path() == folder.join(RECORDING)) else {
        return Ok(None);
    };
    let name = format!("{WITNESS}{id}.rws");
    reweave_trace::schedule::save(&witness.schedule(), folder.join(&name))?;
    Ok(Some(name))
}

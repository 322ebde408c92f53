//! What a run did by itself, without being steered to it: it failed, hung, went round loops for ever or used freed
//! memory. Its own schedule repeats it.

use std::fs;
use std::path::Path;
use std::time::Instant;

use reweave_model::{Accessor, AnalysisId, Finding, Harm, Kind, OpName, Strength};
use reweave_predict::endings::Freed;
use reweave_report::resolve;
use reweave_trace::{Outcome, RunSet, Trace, schedule_of};

use super::candidate::{Candidate, Confirmed, State, WhichRun, Wording};
use crate::budget;
use crate::confirm::{self, Ending, Goal, RunSettings, last_places};
use crate::replay::Repeats;
use reweave_launch::{Error, Result};

/// A run that failed is a finding: it happened.
pub fn failure(id: u32, trace: &Trace, outcome: &Outcome, folder: &Path) -> Result<Candidate> {
    let finding = ended(trace, outcome)?;
    let candidate = recorded(id, trace, &finding, outcome, Repeats::Untried, folder)?;
    let is_recorded = trace.path().parent() == Some(folder);
    let run = if is_recorded { WhichRun::Recorded } else { WhichRun::OtherSchedule };
    let account = match finding.kind {
        Kind::Deadlock => Wording::Hang { run },
        _ => Wording::Failure { run, outcome: outcome.clone() },
    };
    Ok(Candidate { account, ..candidate })
}

/// A run in which threads wait for locks of each other: the program ended all the same.
pub fn knotted(id: u32, trace: &Trace, places: Vec<Accessor>, outcome: &Outcome, folder: &Path) -> Result<Candidate> {
    let finding = Finding::new(Kind::Deadlock, Strength::Confirmed, AnalysisId::RECORDING, places);
    recorded(id, trace, &finding, outcome, Repeats::Untried, folder)
}

/// A run that had to be ended because its threads spin for ever.
pub fn endless(id: u32, trace: &Trace, places: Vec<Accessor>, folder: &Path) -> Result<Candidate> {
    let finding = Finding::new(Kind::Deadlock, Strength::Confirmed, AnalysisId::RECORDING, places);
    let mut candidate = recorded(id, trace, &finding, &Outcome::Unknown, Repeats::Untried, folder)?;
    if let State::Confirmed(done) = &mut candidate.state {
        let text = "did not end: its threads run in loops, and nothing changes any more".into();
        done.ending = Ending { harm: Harm::Hang, text, outcome: Outcome::Unknown, turn: None };
    }
    Ok(Candidate { account: Wording::Endless, ..candidate })
}

/// A run that used memory after it was freed.
pub fn freed(id: u32, trace: &Trace, freed: Freed, outcome: &Outcome, folder: &Path) -> Result<Candidate> {
    let finding = freed_memory(trace, freed)?;
    let candidate = recorded(id, trace, &finding, outcome, Repeats::Untried, folder)?;
    Ok(Candidate { account: Wording::FreedMemory { twice: freed.twice }, ..candidate })
}

/// How a run ended, as a finding. One that hung is a deadlock, whatever its threads wait for.
fn ended(trace: &Trace, outcome: &Outcome) -> Result<Finding> {
    let places = last_places(trace, outcome)?;
    let hung = *outcome == Outcome::Hung && !places.is_empty();
    let kind = if hung { Kind::Deadlock } else { Kind::Failure };
    Ok(Finding::new(kind, Strength::Confirmed, AnalysisId::RECORDING, places))
}

/// Memory used after it was freed, as a finding.
fn freed_memory(trace: &Trace, freed: Freed) -> Result<Finding> {
    let mut places = Vec::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if event.id == freed.free || event.id == freed.used {
            let op = if freed.twice { OpName::Free } else { OpName::exactly(&event.op) };
            places.push(Accessor {
                event: event.id,
                process: None,
                thread: event.thread,
                pc: event.pc,
                stack: event.stack,
                op: op.into(),
                locks_held: Vec::new(),
            });
        }
        if event.id >= freed.used {
            break;
        }
    }
    Ok(Finding::new(Kind::Failure, Strength::Confirmed, AnalysisId::RECORDING, places))
}

/// Whether that is what a finding is about.
fn uses_freed(trace: &Trace, finding: &Finding) -> Result<bool> {
    let last = finding.accesses().last().map(|last| last.event);
    Ok(Freed::of(trace)?.is_some_and(|freed| last == Some(freed.used)))
}

/// Puts the traces of a run into a folder: what a process does may depend on where the others stand. Returns the name
/// of its own one there, if it is one of them.
pub fn link_run(trace: &Trace, folder: &Path) -> Result<Option<String>> {
    let run = RunSet::of(trace.path());
    let copies = run.put_at(&folder.join(confirm::TRACE), |from, to| {
        fs::hard_link(from, to).or_else(|_| fs::copy(from, to).map(drop))
    })?;
    Ok(run.place_of(trace.path()).map(|place| copies.processes()[place].file.clone()))
}

/// What a run did: its traces, schedule and goal become the folder of the candidate.
pub fn recorded(
    id: u32,
    trace: &Trace,
    finding: &Finding,
    outcome: &Outcome,
    repeats: Repeats,
    folder: &Path,
) -> Result<Candidate> {
    let mut candidate = Candidate::found_in(trace, id, finding, folder);
    let own = candidate.folder(folder);
    fs::create_dir_all(&own).map_err(Error::output("create", &own))?;
    let own_name = link_run(trace, &own)?;
    // The output of a run of another schedule lies beside its trace; that of the recorded run went to the terminal.
    let printed = trace.path().with_file_name(confirm::OUTPUT);
    let _ = fs::copy(&printed, own.join(confirm::OUTPUT));
    reweave_trace::schedule::save(&schedule_of(trace)?, own.join(confirm::SCHEDULE))?;
    let mut goal = Goal { outcome: outcome.clone(), ..Goal::of(trace, finding)? };
    goal.trace = own_name.unwrap_or(goal.trace);
    goal.spins = finding.kind == Kind::Deadlock && *outcome == Outcome::Unknown;
    if finding.kind == Kind::Failure {
        // Where it comes to light may differ.
        goal.accesses.clear();
        goal.threads.clear();
    }
    goal.freed = finding.kind == Kind::Failure && *outcome != Outcome::Unknown && uses_freed(trace, finding)?;
    goal.save(&own.join(confirm::COMMAND))?;
    let ending = Ending::of(trace, outcome, &printed, None)?;
    candidate.state = State::Confirmed(Box::new(Confirmed { goal, ending, preemptions: None, repeats }));
    Ok(candidate)
}

/// Shrinks the schedule of what a run did by itself.
pub fn minimise(candidate: &mut Candidate, own: &Path, settings: &RunSettings<'_>, deadline: Instant) -> Result<()> {
    let State::Confirmed(done) = &mut candidate.state else { return Ok(()) };
    let deadline = deadline.min(Instant::now() + budget::SHRINKING);
    done.preemptions = Some(confirm::minimise(own, &mut done.goal, settings, deadline)?.after);
    let run = Trace::open(own.join(&done.goal.trace))?;
    let ended = match Freed::of(&run)? {
        Some(freed) if done.goal.freed => freed_memory(&run, freed)?,
        _ => ended(&run, &done.goal.outcome)?,
    };
    candidate.restate(resolve::describe(&ended, &run).accesses);
    Ok(())
}

//! Findings as items of the report, each with the folder that replays it: what was confirmed, and what a run did by itself.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use reweave_model::{Accessor, EventId, Finding, Kind, Strength};
use reweave_report::{Item, data, describe, resolve};
use reweave_trace::{Outcome, Trace, schedule_of};

use super::{RECORDING, WITNESS};
use crate::confirm::{self, Confirmation, Ending, Freed, Goal, Harm, Plain, last_places};
use crate::replay::{Again, Recording, family_of, happens_again};
use reweave_launch::interrupt;
use reweave_launch::{Error, Result};

/// For one finding, and for one that is mere information.
const MINIMISING: Duration = Duration::from_secs(5);
const BRIEFLY: Duration = Duration::from_millis(300);
/// Replays before something is called confirmed: of runs that depend on nothing but their schedule, and of those into which
/// others come, at a time of their own.
const ONCE: u32 = 1;
const AGAIN: u32 = 5;
/// Why something is not called confirmed.
const NOT_REPLAYED: &str =
    "a run did it, but it is not the same every time it is replayed: what comes from outside decides, too";
const NO_TIME_TO_REPLAY: &str = "a run did it, and no time was left to replay it (see --budget)";

/// Tries to confirm one finding and makes an item of it. `own_run`: whether the run it was found in does the same again.
pub fn settle(
    id: u32,
    (trace, own_run): (&Trace, Again),
    finding: &Finding,
    folder: &Path,
    plain: &Plain<'_>,
    left: Duration,
) -> Result<Item> {
    if finding.strength == Strength::Confirmed {
        // The recorded run did it.
        let outcome = trace.footer().map(|footer| footer.outcome.clone()).unwrap_or_default();
        let mut item = recorded(id, trace, finding, &outcome, folder)?;
        mark(&mut item, own_run);
        return Ok(item);
    }
    let found = || found_in(id, finding, trace, folder);
    let mut item = found();
    if left.is_zero() {
        let why =
            if interrupt::asked() { "it was interrupted" } else { "the time was used up: raise it with --budget" };
        item.why_unconfirmed = Some(why.into());
        item.witness = keep_witness(id, trace, finding, folder)?;
        return Ok(item);
    }
    let own = folder.join(id.to_string());
    let deadline = Instant::now() + left;
    let until = deadline;
    let (confirmation, tries) = confirm::confirm(trace, finding, &own, plain, deadline)?;
    item.tries = Some(data::Tries {
        attempts: tries.attempts,
        first: tries.first,
        confirmations: tries.confirmations,
        pauses: tries.pauses,
        thrashes: tries.thrashes,
    });
    match confirmation {
        Confirmation::Confirmed(mut goal) => {
            item.strength = resolve::strength_name(Strength::Confirmed).into();
            item.schedule = Some(format!("{id}/{}", confirm::SCHEDULE));
            let most = if finding.kind == Kind::Nondeterminism { BRIEFLY } else { MINIMISING };
            let deadline = deadline.min(Instant::now() + most.min(plain.share.unwrap_or(most)));
            item.preemptions = Some(confirm::minimise(&own, &mut goal, plain, deadline)?.after);
            let run = Trace::open(own.join(&goal.trace))?;
            as_done(&mut item, finding, &run, goal.shown(&run)?.map(|shown| shown.events).unwrap_or_default())?;
            let ending = Ending::of(&run, &goal.outcome, &own.join(confirm::OUTPUT), plain.usual)?;
            let again = replays(&Recording::open(plain.front_ends, &own)?, plain, until)?;
            if again == Again::No {
                let _ = fs::remove_dir_all(&own);
                item = found();
                item.why_unconfirmed = Some(NOT_REPLAYED.into());
                item.witness = keep_witness(id, trace, finding, folder)?;
                return Ok(item);
            }
            // A block that nobody declared may be as it should be, unless something comes of it.
            if finding.block.as_ref().is_some_and(|block| !block.declared) && ending.harm == Harm::Nothing {
                let _ = fs::remove_dir_all(&own);
                item = found();
                item.why_unconfirmed = Some("a run did it, and nothing came of it".into());
                return Ok(item);
            }
            item.harm = Some(ending.harm.name().into());
            item.outcome = Some(ending.text);
            mark(&mut item, again);
            if again == Again::Untried {
                item.strength = resolve::strength_name(finding.strength).into();
            }
        }
        Confirmation::Unconfirmed { why } => {
            let _ = fs::remove_dir_all(&own);
            item.why_unconfirmed = Some(why);
            item.witness = keep_witness(id, trace, finding, folder)?;
        }
    }
    Ok(item)
}

/// A finding as the run has it that it was found in. Only of the recorded one are events told: no other is kept as it was.
fn found_in(id: u32, finding: &Finding, trace: &Trace, folder: &Path) -> Item {
    let mut item = resolve::item(id, finding, trace);
    if trace.path().parent() != Some(folder) {
        item.accesses.iter_mut().for_each(|access| access.event = None);
    }
    item
}

/// Tells a finding as the run has it that did it: who, where and holding what.
fn as_done(item: &mut Item, finding: &Finding, run: &Trace, events: Vec<Option<EventId>>) -> Result<()> {
    let Some(events) = events.into_iter().collect::<Option<Vec<EventId>>>() else { return Ok(()) };
    // What a read can see instead is told of the run in which it saw something else.
    if finding.kind == Kind::Nondeterminism || events.len() != finding.accesses.len() {
        return Ok(());
    }
    let found = reweave_predict::accessors(run, events.iter().copied().collect())?;
    let accesses = events.iter().filter_map(|event| found.get(event).cloned()).collect();
    let done = resolve::item(item.id, &Finding { accesses, ..finding.clone() }, run);
    // A block is the same in every run, and is named by addresses of the other one.
    if finding.block.is_none() {
        item.summary = done.summary;
    }
    restate(item, done.accesses);
    Ok(())
}

/// Puts the accesses of another run in the place of those of the recorded one, whose events stay known where the same thread
/// did the same.
fn restate(item: &mut Item, mut accesses: Vec<data::AccessItem>) {
    for (at, new) in accesses.iter_mut().enumerate() {
        let same =
            |old: &&data::AccessItem| (old.thread, &old.op, &old.location) == (new.thread, &new.op, &new.location);
        let same_place = item.accesses.get(at).filter(same);
        new.event = same_place.or_else(|| item.accesses.iter().find(same)).and_then(|old| old.event);
    }
    item.accesses = accesses;
}

/// Whether a run, and what it is to show, is the same every time: once, or several times if others come in at a time of their own.
pub fn replays(recording: &Recording, plain: &Plain<'_>, until: Instant) -> Result<Again> {
    let footer = recording.trace.footer();
    let came = |kind: &str| footer.is_some_and(|footer| footer.kinds.get(kind).is_some_and(|&n| n > 0));
    let outside = ["signal", "input", "leave"].into_iter().any(came) || family_of(&recording.path).len() > 1;
    happens_again(recording, if outside { AGAIN } else { ONCE }, plain, until)
}

/// What a run did is called confirmed if it is seen to do it again. Otherwise its trace shows it, and that is all there is.
pub fn mark(item: &mut Item, again: Again) {
    let why = match again {
        Again::Yes => return,
        Again::No => NOT_REPLAYED,
        Again::Untried => NO_TIME_TO_REPLAY,
    };
    item.strength = resolve::strength_name(Strength::Predicted).into();
    item.schedule = None;
    item.why_unconfirmed = Some(format!("{why}; its trace is kept in folder {}", item.id));
}

/// The predicted order of the recorded run; that of another run says nothing without it.
fn keep_witness(id: u32, trace: &Trace, finding: &Finding, folder: &Path) -> Result<Option<String>> {
    let Some(witness) = finding.witness.as_ref().filter(|_| trace.path() == folder.join(RECORDING)) else {
        return Ok(None);
    };
    let name = format!("{WITNESS}{id}.rws");
    reweave_trace::schedule::save(&witness.schedule, folder.join(&name))?;
    Ok(Some(name))
}

/// Shrinks the schedule of what a run did by itself.
pub fn minimise(item: &mut Item, own: &Path, plain: &Plain<'_>, deadline: Instant) -> Result<()> {
    if let Some(mut goal) = Goal::load(&own.join(confirm::COMMAND)) {
        let deadline = deadline.min(Instant::now() + MINIMISING);
        item.preemptions = Some(confirm::minimise(own, &mut goal, plain, deadline)?.after);
        let run = Trace::open(own.join(&goal.trace))?;
        let ended = match Freed::of(&run)? {
            Some(freed) if goal.freed => freed_memory(&run, freed)?,
            _ => ended(&run, &goal.outcome)?,
        };
        restate(item, resolve::item(item.id, &ended, &run).accesses);
        if let Some((which, _)) = item.summary.split_once(HUNG) {
            item.summary = hung(which, item);
        }
    }
    Ok(())
}

/// What joins which run hung and what its threads wait for.
const HUNG: &str = " hung: ";

fn hung(which: &str, item: &Item) -> String {
    let waits = |at: &data::AccessItem| format!("T{} has to {}", at.thread, at.op);
    format!("{which}{HUNG}{}", item.accesses.iter().map(waits).collect::<Vec<_>>().join(", "))
}

/// How a run ended, as a finding. One that hung is a deadlock, whatever its threads wait for.
fn ended(trace: &Trace, outcome: &Outcome) -> Result<Finding> {
    let places = last_places(trace, outcome)?;
    let hung = *outcome == Outcome::Hung && !places.is_empty();
    let kind = if hung { Kind::Deadlock } else { Kind::Failure };
    Ok(Finding::new(kind, Strength::Confirmed, "recording", places))
}

/// How a failure of the recorded run is told.
const RECORDED: &str = "the recorded run";

pub fn failed_as_recorded(item: &Item) -> bool {
    item.kind == "failure" && item.summary.starts_with(RECORDED)
}

/// A run that failed is a finding: it happened, and its own schedule repeats it.
pub fn failure(id: u32, trace: &Trace, outcome: &Outcome, folder: &Path) -> Result<Item> {
    let finding = ended(trace, outcome)?;
    let mut item = recorded(id, trace, &finding, outcome, folder)?;
    let which = if trace.path().parent() == Some(folder) { RECORDED } else { "a run under another schedule" };
    item.summary = match finding.kind {
        Kind::Deadlock => hung(which, &item),
        _ => format!("{which} {}", describe::outcome(outcome).unwrap_or_default()),
    };
    Ok(item)
}

/// A run that had to be ended because its threads spin for ever.
pub fn endless(id: u32, trace: &Trace, places: Vec<Accessor>, folder: &Path) -> Result<Item> {
    let finding = Finding::new(Kind::Deadlock, Strength::Confirmed, "recording", places);
    let mut item = recorded(id, trace, &finding, &Outcome::Unknown, folder)?;
    let waits = |at: &data::AccessItem| format!("T{} has to {}", at.thread, at.op);
    let waits: Vec<String> = item.accesses.iter().map(waits).collect();
    item.summary = format!("a run does not end: {}", waits.join(", "));
    item.harm = Some(Harm::Hang.name().into());
    item.outcome = Some("did not end: its threads go round loops, and nothing changes any more".into());
    Ok(item)
}

/// Memory used after it was freed, as a finding.
pub fn freed_memory(trace: &Trace, freed: Freed) -> Result<Finding> {
    let mut places = Vec::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if event.id == freed.free || event.id == freed.used {
            places.push(Accessor {
                event: event.id,
                thread: event.thread,
                pc: event.pc,
                stack: event.stack,
                op: if freed.twice { "free".into() } else { describe::kind(&event.op).replace('_', " ") },
                locks_held: Vec::new(),
            });
        }
        if event.id >= freed.used {
            break;
        }
    }
    Ok(Finding::new(Kind::Failure, Strength::Confirmed, "recording", places))
}

/// Whether that is what a finding is about.
fn uses_freed(trace: &Trace, finding: &Finding) -> Result<bool> {
    Ok(Freed::of(trace)?.is_some_and(|freed| finding.accesses.last().is_some_and(|last| last.event == freed.used)))
}

/// What the recorded run did itself: its own schedule repeats it.
pub fn recorded(id: u32, trace: &Trace, finding: &Finding, outcome: &Outcome, folder: &Path) -> Result<Item> {
    let own = folder.join(id.to_string());
    fs::create_dir_all(&own).map_err(Error::output("create", &own))?;
    // What a process does may depend on where the others stand.
    let mut copies = Vec::new();
    for (number, path) in (1..).zip(family_of(trace.path())) {
        let name = if number == 1 { confirm::TRACE.to_owned() } else { format!("{}.{number}", confirm::TRACE) };
        let copy = own.join(&name);
        fs::hard_link(&path, &copy)
            .or_else(|_| fs::copy(&path, &copy).map(drop))
            .map_err(Error::output("write", &copy))?;
        copies.push((path, name));
    }
    // The output of a run of another schedule lies beside its trace; that of the recorded run went to the terminal.
    let printed = trace.path().with_file_name(confirm::OUTPUT);
    let _ = fs::copy(&printed, own.join(confirm::OUTPUT));
    reweave_trace::schedule::save(&schedule_of(trace)?, own.join(confirm::SCHEDULE))?;
    let own_name = copies.into_iter().find(|(path, _)| path == trace.path()).map(|(_, name)| name);
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
    let mut item = found_in(id, finding, trace, folder);
    item.schedule = Some(format!("{id}/{}", confirm::SCHEDULE));
    let ending = Ending::of(trace, outcome, &printed, None)?;
    item.harm = Some(ending.harm.name().into());
    item.outcome = Some(ending.text);
    Ok(item)
}

//! Confirms findings: runs the program again so that the bug happens, and keeps the trace and the schedule that replay
//! it.
//!
//! First along the witness, for a race in both orders. Where that does not lead to it (there is no witness, or the run
//! leaves it) by active testing: the same places, other schedules ([`reweave_conductor::policy::active`]). Of several
//! runs that show it, the one that fails is kept: it tells more.

pub mod active;
mod breakpoints;
mod ending;
mod ends;
mod goal;
mod interleaved;
mod minimise;
mod missed;
mod reads_from;
mod spinning;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reweave_conductor::policy::meeting::MeetingPlan;
use reweave_model::{Finding, InputSource, Kind, OpName, Schedule, ThreadId};
use reweave_predict::endings::Freed;
use reweave_trace::{Meta, Outcome, Trace, schedule_of};

use crate::budget::{self, Bounds};
use crate::replay::{self, base_options, exact_script, family_of, script};
pub use breakpoints::{BreakpointResult, Line, break_at};
pub use ending::{Ending, NormalBehaviour, freed_text};
pub use ends::{circle, last_places};
pub use goal::{Breakpoint, Goal, GoalKind, Occurrence};
pub use minimise::{Minimised, minimise, preemptions};
pub use missed::{Missed, divergence_text};
pub use reads_from::{OtherSource, ReadsFrom, RunReads};
use reweave_launch::collector::Collected;
use reweave_launch::interrupt;
use reweave_launch::session::{self, Options, Run};
use reweave_launch::target::Output;
use reweave_launch::{Error, FrontEnds, Result};
pub use spinning::spinning;

// Files in the folder of a finding.
pub const TRACE: &str = "trace.rwt";
pub const SCHEDULE: &str = "schedule.rws";
pub const COMMAND: &str = "command.json";
pub const OUTPUT: &str = "output.txt";

#[derive(Debug)]
pub enum Confirmation {
    Confirmed(Box<Goal>),
    Unconfirmed { why: Missed },
}

/// How hard it was.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AttemptCounts {
    pub attempts: u32,
    /// The first attempt that did it.
    pub first: Option<u32>,
    pub confirmations: u32,
    /// Threads paused by active testing, and let go in vain.
    pub pauses: u32,
    pub thrashes: u32,
}

/// An attempt that did not do it.
struct FailedAttempt {
    why: Missed,
    /// It had to be ended.
    endless: bool,
}

/// One way to try.
struct Attempt {
    schedule: Schedule,
    plan: Option<MeetingPlan>,
    seed: u64,
}

/// What every run of a confirmation has in common.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunSettings<'a> {
    pub front_ends: FrontEnds,
    /// Instead of the recorded one.
    pub command: Option<&'a [OsString]>,
    /// For one run.
    pub bounds: Option<Bounds>,
    /// What a run does in which nothing goes wrong.
    pub normal: Option<&'a NormalBehaviour>,
    /// In a copy of its folder.
    pub isolate: bool,
    /// After so long no other attempt at the same finding begins, the first excepted: others want to be tried, too.
    pub share: Option<Duration>,
}

impl RunSettings<'_> {
    pub(crate) fn bound(&self, options: &mut Options, left: Duration) {
        self.bounds.unwrap_or(Bounds { time: left, events: u64::MAX }).set(options, left);
    }
}

/// Tries to make a finding happen. On success the folder holds its trace, schedule and command.
pub fn confirm(
    trace: &Trace,
    finding: &Finding,
    folder: &Path,
    settings: &RunSettings<'_>,
    deadline: Instant,
) -> Result<(Confirmation, AttemptCounts)> {
    let mut tries = AttemptCounts::default();
    let mut goal = Goal::of(trace, finding)?;
    if let Some(command) = settings.command {
        goal.command = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    }
    let mut best: Option<(PathBuf, Goal)> = None;
    let mut why: Option<Missed> = None;
    let recorded = trace.footer().map(|footer| footer.outcome.clone()).unwrap_or_default();
    // Used first it is as it should be, freed first it is not.
    let frees = finding.kind == Kind::Race && finding.accesses().iter().any(|access| access.op.is(OpName::Free));
    let along = along(finding);
    let followed = along.len();
    let mut endless = 0;
    let began = Instant::now();
    // What that takes is asked of the recorded run only if the witness did not do.
    let active = std::iter::once_with(|| active::attempts(trace, finding, &goal, deadline));
    let active = active.flat_map(|attempts| match attempts {
        Ok(attempts) => attempts.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(error)],
    });
    for (number, attempt) in along.into_iter().map(Ok).chain(active).enumerate() {
        let attempt = attempt?;
        // Active testing only if the witness did not do.
        let left = deadline.saturating_duration_since(Instant::now());
        let has_had_its_share = tries.attempts > 0 && settings.share.is_some_and(|share| began.elapsed() > share);
        let done = number >= followed && best.is_some();
        if left.is_zero() || interrupt::asked() || endless == budget::ENDLESS_ATTEMPTS || done || has_had_its_share {
            break;
        }
        let own = folder.with_extension(format!("try{number}"));
        fs::create_dir_all(&own).map_err(Error::output("create", &own))?;
        tries.attempts += 1;
        match run(trace, &attempt, &goal, &own, settings, left, &mut tries)? {
            Ok(done) => {
                tries.confirmations += 1;
                tries.first.get_or_insert(tries.attempts);
                let failed = replay::is_failure(&done.outcome) && !replay::same_outcome(&done.outcome, &recorded);
                let telling = failed || frees && Freed::of(&Trace::open(own.join(&done.trace))?)?.is_some();
                let worse = if telling || best.is_none() {
                    best.replace((own, done)).map(|(worse, _)| worse)
                } else {
                    Some(own)
                };
                worse.into_iter().for_each(|worse| drop(fs::remove_dir_all(worse)));
                if telling {
                    break;
                }
            }
            Err(failed) => {
                endless += u32::from(failed.endless);
                // What the witness met with says most.
                why.get_or_insert(failed.why);
                let _ = fs::remove_dir_all(&own);
            }
        }
    }
    let Some((kept, goal)) = best else {
        let why = why.unwrap_or(Missed::NothingToSteerBy);
        return Ok((Confirmation::Unconfirmed { why }, tries));
    };
    let _ = fs::remove_dir_all(folder);
    fs::rename(&kept, folder).map_err(Error::output("create", folder))?;
    Ok((Confirmation::Confirmed(Box::new(goal)), tries))
}

/// Along the witness; a race also the other way round.
fn along(finding: &Finding) -> Vec<Attempt> {
    let Some(witness) = finding.witness() else { return Vec::new() };
    let mut schedules = vec![witness.schedule()];
    if finding.kind == Kind::Race && !finding.weak_order {
        schedules.extend(swapped(&schedules[0]));
    }
    schedules.into_iter().map(|schedule| Attempt { schedule, plan: None, seed: 0 }).collect()
}

/// One run. If it shows the goal, the folder gets trace, schedule and command; if not, the reason.
fn run(
    trace: &Trace,
    attempt: &Attempt,
    goal: &Goal,
    folder: &Path,
    settings: &RunSettings<'_>,
    left: Duration,
    tries: &mut AttemptCounts,
) -> Result<std::result::Result<Goal, FailedAttempt>> {
    let schedule = &attempt.schedule;
    let lengths = schedule.lengths();
    let within = |thread: ThreadId, step, source| {
        source != InputSource::Clock && lengths.get(thread.index()).is_some_and(|length| step <= *length)
    };
    let mut options = base_options(settings.front_ends, trace.meta(), folder.join(TRACE));
    for path in family_of(trace.path()) {
        if path == trace.path() {
            options.scripts.push(script(trace, schedule.clone(), attempt.plan.as_ref(), within)?);
        } else if let Ok(relative) = Trace::open(&path) {
            // The other processes do what they did, as long as they are told the same.
            options.scripts.push(exact_script(&relative, false)?);
        }
    }
    if let Some(command) = settings.command {
        options.command = command.to_vec();
    }
    options.seed = attempt.seed;
    options.isolate = settings.isolate;
    options.output = Output::File(folder.join(OUTPUT));
    settings.bound(&mut options, left);
    let run = session::run(&options)?;
    let missed = |why| Ok(Err(FailedAttempt { why, endless: run.timed_out }));
    if interrupt::asked() {
        return missed(Missed::Interrupted);
    }
    let Some((process, new)) = same_program(&run, trace)? else {
        return missed(Missed::NotRecorded);
    };
    tries.pauses += process.pauses;
    tries.thrashes += process.thrashes;
    if goal.occurrence(&new)?.is_none() {
        return missed(match &process.diverged {
            Some(divergence) => Missed::Diverged(*divergence),
            None if run.timed_out => Missed::TookTooLong,
            None => Missed::DidNotHappen,
        });
    }
    reweave_trace::schedule::save(&schedule_of(&new)?, folder.join(SCHEDULE))?;
    // How we ended it ourselves says nothing.
    let outcome = if run.timed_out { Outcome::Unknown } else { process.outcome.clone() };
    let goal = Goal {
        outcome,
        trace: process.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        ..goal.clone()
    };
    goal.save(&folder.join(COMMAND))?;
    Ok(Ok(goal))
}

/// The process of a run that corresponds to that of a trace: the same program, in the same place among the processes if
/// it can be, otherwise the first.
pub(crate) fn same_program<'a>(run: &'a Run, trace: &Trace) -> Result<Option<(&'a Collected, Trace)>> {
    let identity = |meta: &Meta| [meta.other.get("executable").cloned(), meta.other.get("forked").cloned()];
    let place = family_of(trace.path()).iter().position(|path| path == trace.path()).unwrap_or(0);
    for process in run.processes.get(place).into_iter().chain(&run.processes) {
        let new = Trace::open(&process.path)?;
        if identity(new.meta()) == identity(trace.meta()) {
            return Ok(Some((process, new)));
        }
    }
    // Another build or another command: the first process must do.
    match run.processes.first() {
        Some(process) => Ok(Some((process, Trace::open(&process.path)?))),
        None => Ok(None),
    }
}

/// The witness with its last two steps the other way round.
fn swapped(schedule: &Schedule) -> Option<Schedule> {
    let mut schedule = schedule.clone();
    let second = schedule.segments.pop()?;
    let first = schedule.segments.last_mut()?;
    if second.steps != 1 || first.thread == second.thread || first.steps == 0 {
        return None;
    }
    let thread = first.thread;
    first.steps -= 1;
    if first.steps == 0 {
        schedule.segments.pop();
    }
    schedule.push(second.thread, 1);
    schedule.push(thread, 1);
    Some(schedule)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::{Segment, ThreadName};

    #[test]
    fn swapping_moves_only_the_last_two_steps() {
        let segment = |thread, steps| Segment { thread: ThreadId(thread), steps, revoked: false, at_once: false };
        let threads = vec![ThreadName::MAIN, ThreadName { parent: 0, nth: 0 }];
        let schedule = Schedule { threads, segments: vec![segment(0, 5), segment(1, 3), segment(0, 1)] };
        let swapped = swapped(&schedule).expect("two threads at the end");
        assert_eq!(swapped.segments, [segment(0, 5), segment(1, 2), segment(0, 1), segment(1, 1)]);
    }
}

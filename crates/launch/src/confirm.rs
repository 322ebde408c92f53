//! Confirms a predicted race: steers a run along its witness and looks whether the two accesses really come one right after
//! the other. Both orders are tried. What was confirmed is kept as a trace and a schedule that replay it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reweave_conductor::shared;
use reweave_model::{EventId, Finding, Kind, Op, Schedule, ThreadId};
use reweave_trace::{Meta, Outcome, Trace, schedule_of};
use serde::{Deserialize, Serialize};

use crate::collector::{Collected, Divergence};
use crate::names::{Code, Names};
use crate::replay::{self, base_options, script};
use crate::session::{self, Run};
use crate::target::Output;
use crate::{Error, Result};

// Files in the folder of a finding.
pub const TRACE: &str = "trace.rwt";
pub const SCHEDULE: &str = "schedule.rws";
pub const COMMAND: &str = "command.json";
pub const OUTPUT: &str = "output.txt";

/// What a replay looks for, kept in the finding's folder.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Goal {
    /// As in the report.
    pub kind: String,
    pub command: Vec<String>,
    pub cwd: String,
    /// Code positions of the accesses.
    pub accesses: Vec<Code>,
    pub outcome: Outcome,
    /// File name of the trace in the same folder: that of a child process has a number.
    pub trace: String,
}

impl Goal {
    pub fn load(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    pub fn save(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default();
        fs::write(path, text + "\n").map_err(Error::output("write", path))
    }

    /// Whether a run did it.
    pub fn reached(&self, trace: &Trace, outcome: &Outcome) -> Result<bool> {
        match self.accesses[..] {
            [one, two] => Ok(adjacent(trace, one, two)?.is_some()),
            _ => Ok(replay::same_outcome(&self.outcome, outcome)),
        }
    }

    /// The number of steps of this trace before the bug.
    pub fn steps_before(&self, trace: &Trace) -> Result<Option<u64>> {
        match self.accesses[..] {
            [one, two] => Ok(adjacent(trace, one, two)?.map(|found| found.steps_before)),
            _ => Ok(None),
        }
    }
}

/// Two accesses that a run made one right after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Adjacent {
    pub first: EventId,
    pub second: EventId,
    pub first_code: Code,
    pub steps_before: u64,
}

#[derive(Clone, Copy)]
struct Access {
    event: EventId,
    thread: ThreadId,
    code: Code,
    addr: u64,
    size: u64,
    write: bool,
    atomic: bool,
}

/// The first place in a trace where accesses at the two code positions, by different threads, to overlapping bytes, at
/// least one writing and one not atomic, are consecutive steps.
pub fn adjacent(trace: &Trace, one: Code, two: Code) -> Result<Option<Adjacent>> {
    let mut names = Names::default();
    let mut previous: Option<Access> = None;
    let mut steps = 0u64;
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if matches!(event.op, Op::Module { .. }) {
            names.see(&event);
        }
        if !event.op.is_step() {
            continue;
        }
        steps += 1;
        let (addr, size, write, atomic) = match event.op {
            Op::Read { addr, size, .. } => (addr, size, false, false),
            Op::Write { addr, size, .. } => (addr, size, true, false),
            Op::Atomic { addr, size, kind, .. } => (addr, size, kind.writes(), true),
            Op::Free { addr, size } => (addr, u32::try_from(size).unwrap_or(u32::MAX), true, false),
            _ => {
                previous = None;
                continue;
            }
        };
        let (event, thread, code) = (event.id, event.thread, names.code(event.pc));
        let access = Access { event, thread, code, addr: addr.0, size: size.into(), write, atomic };
        if let Some(before) = previous
            && before.thread != access.thread
            && (before.write || access.write)
            && !(before.atomic && access.atomic)
            && ((before.code, access.code) == (one, two) || (before.code, access.code) == (two, one))
            && before.addr < access.addr + access.size
            && access.addr < before.addr + before.size
        {
            let (first, second, first_code) = (before.event, access.event, before.code);
            return Ok(Some(Adjacent { first, second, first_code, steps_before: steps - 2 }));
        }
        previous = Some(access);
    }
    Ok(None)
}

/// The code positions of a finding's accesses.
pub fn codes(trace: &Trace, finding: &Finding) -> Result<Vec<Code>> {
    let mut names = Names::default();
    let last = finding.accesses.iter().map(|access| access.event).max().unwrap_or_default();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if event.id > last {
            break;
        }
        if matches!(event.op, Op::Module { .. }) {
            names.see(&event);
        }
    }
    Ok(finding.accesses.iter().map(|access| names.code(access.pc)).collect())
}

#[derive(Debug)]
pub enum Confirmation {
    /// `swapped`: the second access of the finding came first.
    Confirmed {
        outcome: Outcome,
        swapped: bool,
    },
    Unconfirmed {
        why: String,
    },
}

/// Tries to make a predicted race happen, in `command` if that is given instead of the recorded one. On success the folder
/// holds its trace, schedule and command.
pub fn confirm(
    trace: &Trace,
    finding: &Finding,
    folder: &Path,
    limit: Duration,
    command: Option<&[OsString]>,
) -> Result<Confirmation> {
    let Some(witness) = &finding.witness else {
        return Ok(Confirmation::Unconfirmed { why: "there is no witness to follow".into() });
    };
    if finding.kind != Kind::Race {
        return Ok(Confirmation::Unconfirmed { why: "runs are steered into races only, so far".into() });
    }
    let codes = codes(trace, finding)?;
    let [one, two] = codes[..] else {
        return Ok(Confirmation::Unconfirmed { why: "not a pair of accesses".into() });
    };
    let mut best: Option<(PathBuf, Outcome, bool)> = None;
    let mut why = String::new();
    let recorded = trace.footer().map(|footer| footer.outcome.clone()).unwrap_or_default();
    for (number, schedule) in
        [Some(witness.schedule.clone()), swapped(&witness.schedule)].into_iter().flatten().enumerate()
    {
        let attempt = folder.with_extension(format!("try{number}"));
        fs::create_dir_all(&attempt).map_err(Error::output("create", &attempt))?;
        match steer(trace, schedule, (one, two), &attempt, limit, command)? {
            Ok((outcome, swapped)) => {
                // A run that fails tells more than one in which the accesses merely met.
                let telling = replay::is_failure(&outcome) && !replay::same_outcome(&outcome, &recorded);
                if telling || best.is_none() {
                    if let Some((worse, ..)) = best.replace((attempt, outcome, swapped)) {
                        let _ = fs::remove_dir_all(worse);
                    }
                } else {
                    let _ = fs::remove_dir_all(&attempt);
                }
                if telling {
                    break;
                }
            }
            Err(reason) => {
                why = reason;
                let _ = fs::remove_dir_all(&attempt);
            }
        }
    }
    let Some((attempt, outcome, swapped)) = best else { return Ok(Confirmation::Unconfirmed { why }) };
    let _ = fs::remove_dir_all(folder);
    fs::rename(&attempt, folder).map_err(Error::output("create", folder))?;
    Ok(Confirmation::Confirmed { outcome, swapped })
}

/// One run along a schedule. If the two accesses meet, the folder gets trace, schedule and command; if not, the reason.
fn steer(
    trace: &Trace,
    schedule: Schedule,
    (one, two): (Code, Code),
    folder: &Path,
    limit: Duration,
    command: Option<&[OsString]>,
) -> Result<Result<(Outcome, bool), String>> {
    let mut lengths = vec![0u64; schedule.threads.len()];
    for segment in &schedule.segments {
        lengths[segment.thread.index()] += u64::from(segment.steps);
    }
    let within = |thread: ThreadId, step| lengths.get(thread.index()).is_some_and(|length| step <= *length);
    let mut options = base_options(trace.meta(), folder.join(TRACE));
    options.scripts.push(script(trace, schedule, within)?);
    if let Some(command) = command {
        options.command = command.to_vec();
    }
    options.output = Output::File(folder.join(OUTPUT));
    options.timeout = Some(limit);
    let run = session::run(&options)?;
    let Some((process, new)) = same_program(&run, trace.meta())? else {
        return Ok(Err("the program could not be recorded again".into()));
    };
    let Some(met) = adjacent(&new, one, two)? else {
        return Ok(Err(match &process.diverged {
            Some(divergence) => divergence_text(divergence),
            None if run.timed_out => "the run took too long".into(),
            None => "the accesses did not meet".into(),
        }));
    };
    reweave_trace::schedule::save(&schedule_of(&new)?, folder.join(SCHEDULE))?;
    let goal = Goal {
        kind: "race".into(),
        command: options.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        cwd: trace.meta().cwd.clone(),
        accesses: vec![one, two],
        outcome: process.outcome.clone(),
        trace: process.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    };
    goal.save(&folder.join(COMMAND))?;
    Ok(Ok((process.outcome.clone(), met.first_code != one)))
}

/// The process of a run that follows the script: the first of the same program.
fn same_program<'a>(run: &'a Run, meta: &Meta) -> Result<Option<(&'a Collected, Trace)>> {
    let identity = |meta: &Meta| [meta.other.get("executable").cloned(), meta.other.get("forked").cloned()];
    for process in &run.processes {
        let trace = Trace::open(&process.path)?;
        if identity(trace.meta()) == identity(meta) {
            return Ok(Some((process, trace)));
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

pub fn divergence_text(divergence: &Divergence) -> String {
    let Divergence { why, segment, thread } = divergence;
    match *why {
        shared::DIVERGED_NOT_ENABLED => {
            format!("at segment {segment} of the schedule thread {thread} was due but could not run")
        }
        shared::DIVERGED_SHORT => {
            format!("in segment {segment} of the schedule thread {thread} stopped before its steps were done")
        }
        shared::DIVERGED_INPUT => {
            format!(
                "in segment {segment} of the schedule thread {thread} asked for an input that was not recorded there"
            )
        }
        other => format!("the schedule was left at segment {segment} (reason {other})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::{Segment, ThreadName};

    #[test]
    fn swapping_moves_only_the_last_two_steps() {
        let segment = |thread, steps| Segment { thread: ThreadId(thread), steps, revoked: false };
        let threads = vec![ThreadName::MAIN, ThreadName { parent: 0, nth: 0 }];
        let schedule = Schedule { threads, segments: vec![segment(0, 5), segment(1, 3), segment(0, 1)] };
        let swapped = swapped(&schedule).expect("two threads at the end");
        assert_eq!(swapped.segments, [segment(0, 5), segment(1, 2), segment(0, 1), segment(1, 1)]);
    }
}

//! Concurrent breakpoints (Park and Sen, PPoPP 2012): a run in which two threads stand at two lines at once.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::Instant;

use reweave_conductor::policy::meeting::{Meeting, MeetingPlan, Target};
use reweave_model::{InputSource, Schedule};
use reweave_trace::{Outcome, Trace, schedule_of};

use super::{
    AttemptCounts, Breakpoint, COMMAND, Ending, Goal, GoalKind, OUTPUT, RunSettings, SCHEDULE, TRACE, same_program,
};
use crate::budget;
use crate::names::{Code, Names};
use crate::replay::{base_options, command_of, script};
use reweave_launch::session;
use reweave_launch::target::Output;
use reweave_launch::{Error, Result};

/// A line of a source file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// Its path or the end of it.
    pub file: String,
    pub line: u32,
}

impl FromStr for Line {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let wrong = || format!("`{text}` is not of the form FILE:LINE, such as bank.c:21");
        let (file, line) = text.rsplit_once(':').ok_or_else(wrong)?;
        let line = line.parse().ok().filter(|line| *line > 0).ok_or_else(wrong)?;
        if file.is_empty() {
            return Err(wrong());
        }
        Ok(Self { file: file.into(), line })
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Line {
    fn is(&self, file: &str, line: u32) -> bool {
        self.line == line && Path::new(file).ends_with(&self.file)
    }
}

/// How it went.
#[derive(Debug)]
pub enum BreakpointResult {
    /// They did, and the run went on to this.
    Reached {
        ending: Ending,
        tries: AttemptCounts,
    },
    NotReached {
        tries: AttemptCounts,
    },
}

/// Tries to bring two threads to two lines at once. The run that does it is kept in `folder`.
pub fn break_at(
    trace: &Trace,
    lines: [&Line; 2],
    folder: &Path,
    settings: &RunSettings<'_>,
    deadline: Instant,
) -> Result<BreakpointResult> {
    let mut targets = Vec::new();
    for (place, line) in lines.into_iter().enumerate() {
        let codes = codes_of(trace, line)?;
        if codes.is_empty() {
            return Err(Error::NoSuchLine { line: line.to_string(), trace: trace.path().to_owned() });
        }
        let target = |code: Code| Target::anyone(code, place as u32);
        targets.extend(codes.into_iter().map(target));
    }
    let plan = MeetingPlan { meeting: Meeting::Together, targets };
    let mut tries = AttemptCounts::default();
    for seed in 1..=budget::BREAKPOINT_RUNS {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).map_err(Error::output("create", folder))?;
        let mut options = base_options(settings.front_ends, trace.meta(), folder.join(TRACE));
        options
            .scripts
            .push(script(trace, Schedule::default(), Some(&plan), |_, _, source| source != InputSource::Clock)?);
        options.command = settings.command.map_or(options.command, <[_]>::to_vec);
        options.seed = seed;
        options.isolate = settings.isolate;
        options.output = Output::File(folder.join(OUTPUT));
        settings.bound(&mut options, left);
        let run = session::run(&options)?;
        tries.attempts += 1;
        let Some((process, new)) = same_program(&run, trace)? else { continue };
        tries.pauses += process.pauses;
        tries.thrashes += process.thrashes;
        if !process.met {
            continue;
        }
        (tries.confirmations, tries.first) = (1, Some(tries.attempts));
        reweave_trace::schedule::save(&schedule_of(&new)?, folder.join(SCHEDULE))?;
        let command = command_of(new.meta()).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        let outcome = if run.timed_out { Outcome::Unknown } else { process.outcome.clone() };
        let ending = Ending::of(&new, &outcome, &folder.join(OUTPUT), None)?;
        let goal = Goal {
            kind: GoalKind::Breakpoint(Breakpoint::Breakpoint),
            memory_order: false,
            command,
            cwd: new.meta().cwd.clone(),
            block: None,
            inferred: false,
            spins: false,
            threads: Vec::new(),
            memory: Vec::new(),
            freed: false,
            reads_from: None,
            accesses: Vec::new(),
            outcome,
            trace: process.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        };
        goal.save(&folder.join(COMMAND))?;
        return Ok(BreakpointResult::Reached { ending, tries });
    }
    let _ = fs::remove_dir_all(folder);
    Ok(BreakpointResult::NotReached { tries })
}

/// The code of a line, as far as the trace came to it.
fn codes_of(trace: &Trace, line: &Line) -> Result<BTreeSet<Code>> {
    let mut names = Names::default();
    let mut codes = BTreeSet::new();
    let mut asked = BTreeSet::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        names.see(&event);
        if event.op.is_step() && asked.insert(event.pc) {
            let mut frames = trace.symbols().frames(event.pc);
            if frames.any(|frame| line.is(frame.file, frame.line)) {
                codes.insert(names.code(event.pc));
            }
        }
    }
    Ok(codes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_named_by_the_end_of_their_path() {
        let line: Line = "src/bank.c:21".parse().expect("a line");
        assert!(line.is("/home/me/src/bank.c", 21));
        assert!(!line.is("/home/me/other/bank.c", 21));
        assert!(!line.is("/home/me/src/bank.c", 22));
        assert!("bank.c".parse::<Line>().is_err());
        assert!(":3".parse::<Line>().is_err());
        assert!("bank.c:0".parse::<Line>().is_err());
    }
}

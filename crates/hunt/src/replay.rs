//! Runs a recorded program again along its schedule, with its recorded inputs, and compares what happens.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reweave_conductor::policy::meeting::MeetingPlan;
use reweave_conductor::policy::replay::{Inputs, encode};
use reweave_model::{InputSource, Schedule, Segment, ThreadId};
use reweave_trace::{Meta, Outcome, PARTIAL, RunSet, Trace, schedule_of};

use crate::budget;
use crate::compare::{Comparison, compare};
use crate::confirm::{self, Goal, RunSettings};
use crate::outside::from_outside;
use reweave_launch::collector::Collected;
use reweave_launch::folder::PrivateFolder;
use reweave_launch::identity::{self, Rebuilt};
use reweave_launch::interrupt;
use reweave_launch::session::{self, Options, Run, Script};
use reweave_launch::target::{DESCRIPTORS, Input, Output};
use reweave_launch::{Error, FrontEnds, Result};

/// The longest segment that can be encoded.
const MAX_SEGMENT: u32 = (1 << 30) - 1;

/// The trace of a replay.
const AGAIN: &str = "again.rwt";

/// A recording and everything needed to run it again.
pub struct Recording {
    pub path: PathBuf,
    pub trace: Trace,
    front_ends: FrontEnds,
    /// Traces of all processes of the run, this one included.
    all: Vec<PathBuf>,
    /// What to look for, if this is a finding.
    pub goal: Option<Goal>,
    /// A schedule that takes the place of the trace's own.
    schedule: Option<Schedule>,
}

/// What a replay came to.
#[derive(Debug)]
pub struct Replayed {
    pub run: Run,
    pub comparison: Comparison,
    /// Where the run left the schedule, in words.
    pub diverged: Option<String>,
    pub outcome: Outcome,
    pub expected: Outcome,
    /// Another build of the program than the recorded one.
    pub rebuilt: Option<Rebuilt>,
    /// The bug happened again. Without a bug to look for: the program failed as it did before.
    pub happened: bool,
    /// Threads ran free when it was recorded: the schedule is one that it could have had.
    pub free: bool,
}

impl Replayed {
    /// It did the same operations, step by step.
    pub fn is_exact(&self) -> bool {
        self.diverged.is_none() && self.comparison.difference.is_none()
    }
}

impl Recording {
    /// A run that had to be ended would not end now either.
    fn is_endless(&self) -> bool {
        self.goal.as_ref().is_some_and(|goal| goal.outcome == Outcome::Unknown)
    }

    /// Such a run is ended where the recorded one was.
    fn bound_endless(&self, options: &mut Options) {
        if self.is_endless() {
            options.timeout = Some(budget::ENDLESS_REPLAY);
            options.max_events = self.trace.event_count();
        }
    }

    /// A trace, the manifest of a run, a schedule file beside a trace, or the folder of a finding.
    pub fn open(front_ends: FrontEnds, path: &Path) -> Result<Self> {
        let not = |why: &str| Error::NotReplayable { path: path.to_owned(), why: why.to_owned() };
        if !path.exists() {
            return Err(not(&why_missing(path)));
        }
        if path.is_dir() {
            let goal = Goal::load(&path.join(confirm::COMMAND));
            let trace = path.join(goal.as_ref().map_or(confirm::TRACE, |goal| &goal.trace));
            if !trace.exists() {
                let why = "not the folder of a finding (no trace.rwt in it): name one like reweave-out/1, or a trace";
                return Err(not(why));
            }
            let mut recording = Self::of_trace(front_ends, &trace)?;
            recording.goal = goal;
            return Ok(recording);
        }
        if RunSet::is_manifest(path)
            && let Some(first) = family_of(path).first()
        {
            return Self::of_trace(front_ends, first);
        }
        let is_schedule = fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"reweave schedule"));
        if !is_schedule {
            return Self::of_trace(front_ends, path);
        }
        let schedule = reweave_trace::schedule::load(path)?;
        let beside_it = [path.with_file_name(confirm::TRACE), path.with_extension("rwt")];
        let Some(trace) = beside_it.iter().find(|trace| trace.exists()) else {
            return Err(not("a schedule needs its trace beside it (trace.rwt): replay the folder it came from"));
        };
        let mut recording = Self::of_trace(front_ends, trace)?;
        recording.schedule = Some(schedule);
        recording.goal = Goal::load(&path.with_file_name(confirm::COMMAND));
        Ok(recording)
    }

    pub fn of_trace(front_ends: FrontEnds, path: &Path) -> Result<Self> {
        let trace = Trace::open(path)?;
        let not = |why: &str| Error::NotReplayable { path: path.to_owned(), why: why.to_owned() };
        if trace.meta().abstract_values {
            return Err(not("an imported trace has no program to run"));
        }
        if command_of(trace.meta()).is_empty() {
            return Err(not("the trace does not say which program it came from: record it again"));
        }
        Ok(Self { path: path.to_owned(), trace, front_ends, all: family_of(path), goal: None, schedule: None })
    }

    pub fn schedule(&self) -> Result<Schedule> {
        match &self.schedule {
            Some(schedule) => Ok(schedule.clone()),
            None => Ok(schedule_of(&self.trace)?),
        }
    }

    /// Options that run the program as it was run, with the schedules of all its processes.
    pub fn options(&self, output: PathBuf) -> Result<Options> {
        let mut options = base_options(self.front_ends, self.trace.meta(), output);
        for path in &self.all {
            if *path == self.path && self.schedule.is_some() {
                options.scripts.push(script(&self.trace, self.schedule()?, None, |_, _, _| true)?);
            } else if let Ok(trace) = Trace::open(path) {
                options.scripts.push(exact_script(&trace, self.schedule.is_none())?);
            }
        }
        Ok(options)
    }
}

/// Why the folder of a finding is not there.
fn why_missing(path: &Path) -> String {
    let Some(report) = path.parent().and_then(|folder| crate::pipeline::load_report(folder).ok()) else {
        return "there is no such file or folder: name a finding like reweave-out/1, or a trace".into();
    };
    let number = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
    let lists = "`reweave report` on the folder lists the findings";
    match report.findings.iter().find(|item| Some(item.id) == number) {
        // A run did it, and its folder was kept.
        Some(item) if item.schedule.is_some() => "the folder of this finding is gone: run `reweave test` again".into(),
        Some(_) => format!("no run did it, so there is none to replay: {lists}"),
        None => format!("there is no finding of this number: {lists}"),
    }
}

/// The traces of all processes of the run that this one is from, in the order in which they began.
pub fn family_of(path: &Path) -> Vec<PathBuf> {
    RunSet::of(path).paths().collect()
}

/// Whether a process began as a copy of its parent.
pub fn is_forked(meta: &Meta) -> bool {
    meta.other.get("forked").and_then(serde_json::Value::as_bool).unwrap_or(false)
}

pub fn command_of(meta: &Meta) -> Vec<OsString> {
    let command = meta.other.get("command").and_then(|value| value.as_array());
    match command {
        Some(words) => words.iter().filter_map(|word| word.as_str()).map(OsString::from).collect(),
        None => meta.program.iter().map(OsString::from).collect(),
    }
}

/// How to run the program of a trace again.
pub fn base_options(front_ends: FrontEnds, meta: &Meta, trace: PathBuf) -> Options {
    let mut options = Options::new(front_ends, command_of(meta), trace);
    if !meta.cwd.is_empty() {
        options.cwd = PathBuf::from(&meta.cwd);
    }
    options.env = meta.env.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    options.seed = meta.seed;
    let numbers = meta.other.get(DESCRIPTORS).and_then(serde_json::Value::as_array);
    let numbers = numbers.map(|numbers| numbers.iter().filter_map(|number| i32::try_from(number.as_i64()?).ok()));
    options.descriptors = numbers.map(Iterator::collect);
    options.input = match &meta.stdin {
        Some(path) if Path::new(path).exists() => Input::File(path.into()),
        Some(_) => Input::Nothing,
        None => Input::Ours { copy: None },
    };
    options
}

/// A schedule, with the inputs of those steps of a thread that `wanted` accepts (its index, and the number of the
/// step), and what to try after it. What the clock said belongs to the trace's own schedule: in another it might go
/// backwards.
pub fn script(
    trace: &Trace,
    mut schedule: Schedule,
    plan: Option<&MeetingPlan>,
    wanted: impl Fn(ThreadId, u64, InputSource) -> bool,
) -> Result<Script> {
    let (inputs, mut signals) = from_outside(trace, wanted, false)?;
    // What made somebody outside send one may not have happened yet.
    signals.retain(|signal| signal.timer);
    split_long_segments(&mut schedule);
    Ok(encoded(trace, encode(&schedule, &inputs, &signals, Inputs::Others, plan)))
}

/// The schedule of a trace with all its inputs, and where it had to wait for descriptors: what other processes do takes
/// another time in every run. `played`: all of them do what they did, so that what they send is played back.
pub fn exact_script(trace: &Trace, played: bool) -> Result<Script> {
    let mut schedule = schedule_of(trace)?;
    split_long_segments(&mut schedule);
    let (inputs, signals) = from_outside(trace, |_, _, _| true, true)?;
    let whose = if played { Inputs::OwnPlayedBack } else { Inputs::Own };
    Ok(encoded(trace, encode(&schedule, &inputs, &signals, whose, None)))
}

fn encoded(trace: &Trace, schedule: Vec<u8>) -> Script {
    let meta = trace.meta();
    let text = |name: &str| meta.other.get(name).and_then(|value| value.as_str()).unwrap_or_default().to_owned();
    Script {
        executable: text("executable"),
        forked: is_forked(meta),
        schedule,
        start_realtime: meta.other.get("start_realtime").and_then(serde_json::Value::as_u64).unwrap_or(0),
        stop_at: 0,
    }
}

fn split_long_segments(schedule: &mut Schedule) {
    if schedule.segments.iter().all(|segment| segment.steps <= MAX_SEGMENT) {
        return;
    }
    let mut out = Vec::new();
    for mut segment in std::mem::take(&mut schedule.segments) {
        while segment.steps > MAX_SEGMENT {
            out.push(Segment { steps: MAX_SEGMENT, revoked: false, at_once: false, ..segment });
            segment.steps -= MAX_SEGMENT;
        }
        out.push(segment);
    }
    schedule.segments = out;
}

/// Runs the recording again and compares. The program's output is its own, as when it was recorded.
pub fn replay(recording: &Recording) -> Result<Replayed> {
    let folder = PrivateFolder::new()?;
    let mut options = recording.options(folder.path().join(AGAIN))?;
    options.output = Output::Ours;
    recording.bound_endless(&mut options);
    replay_with(recording, &options)
}

/// Whether a run does the same again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeats {
    Yes,
    /// It went another way, or did not do it.
    No,
    /// There was no time to find out.
    Untried,
}

/// Whether a recording, and what it is to show, is the same every time, so often as there is time for. Nothing is
/// printed.
pub fn happens_again(
    recording: &Recording,
    times: u32,
    settings: &RunSettings<'_>,
    deadline: Instant,
) -> Result<Repeats> {
    let mut again = Repeats::Untried;
    for time in 0..times {
        let least = if time == 0 { budget::FIRST_REPLAY } else { Duration::ZERO };
        let left = deadline.saturating_duration_since(Instant::now()).max(least);
        if left.is_zero() || interrupt::asked() {
            break;
        }
        let replayed = replay_quietly(recording, |options| {
            options.isolate = settings.isolate;
            if recording.is_endless() {
                options.timeout = options.timeout.map(|limit| limit.min(left));
            } else {
                settings.bound(options, left);
            }
        });
        // Ended before a script had started the program: there was too little time.
        let replayed = match replayed {
            Err(Error::NothingRecorded { .. }) => break,
            replayed => replayed?,
        };
        // One that we ended shows nothing, as far as it came.
        if replayed.run.timed_out && !recording.is_endless() && replayed.is_exact() {
            break;
        }
        let happened = replayed.happened || recording.goal.is_none();
        if !replayed.is_exact() || !happened {
            return Ok(if replayed.run.timed_out && replayed.is_exact() { again } else { Repeats::No });
        }
        again = Repeats::Yes;
    }
    Ok(again)
}

/// What came of many replays.
#[derive(Debug, Default)]
pub struct Repeated {
    pub done: u32,
    pub happened: u32,
    /// In how many of them something was read or written that is another value than in the recording …
    pub other_values: u32,
    /// … and the first such, in words.
    pub first_value: Option<String>,
    /// Another build of the program than the recorded one.
    pub rebuilt: Option<Rebuilt>,
    /// The one that did something else: no other came after it.
    pub diverged: Option<Box<Replayed>>,
}

/// Replays so often, until one diverges or somebody asks to end. `watch` hears how many are through.
pub fn repeat(recording: &Recording, times: u32, watch: &mut dyn FnMut(u32)) -> Result<Repeated> {
    let _guard = interrupt::Guard::around();
    let mut repeated = Repeated::default();
    while repeated.done < times && repeated.diverged.is_none() {
        let replayed = replay_quietly(recording, |_| {})?;
        if interrupt::asked() {
            break;
        }
        repeated.done += 1;
        repeated.happened += u32::from(replayed.happened);
        repeated.other_values += u32::from(replayed.comparison.other_values > 0);
        if repeated.first_value.is_none() {
            repeated.first_value.clone_from(&replayed.comparison.first_value);
        }
        repeated.rebuilt.clone_from(&replayed.rebuilt);
        watch(repeated.done);
        repeated.diverged = Some(replayed).filter(|replayed| !replayed.is_exact()).map(Box::new);
    }
    Ok(repeated)
}

/// Replays without the program's output: its traces and what it prints are gone with the run.
fn replay_quietly(recording: &Recording, bound: impl FnOnce(&mut Options)) -> Result<Replayed> {
    let folder = PrivateFolder::new()?;
    let mut options = recording.options(folder.path().join(AGAIN))?;
    options.output = Output::File(folder.path().join(confirm::OUTPUT));
    recording.bound_endless(&mut options);
    bound(&mut options);
    replay_with(recording, &options)
}

fn replay_with(recording: &Recording, options: &Options) -> Result<Replayed> {
    let endless = recording.is_endless();
    let run = session::run(options)?;
    let again = same_process(&run, recording)?;
    let new = Trace::open(&again.path)?;
    let expected = recording.trace.footer().map(|footer| footer.outcome.clone()).unwrap_or_default();
    let stopped = recording.trace.footer().is_none_or(|footer| footer.other.contains_key(PARTIAL));
    // While a process dies by a signal, other threads may come a few steps further.
    let cut_off = matches!(expected, Outcome::Stopped { .. } | Outcome::Signalled { .. });
    let partial = recording.schedule.is_some() || stopped || cut_off || endless;
    let mut comparison = compare(&recording.trace, &new, partial)?;
    // Ended before the recorded one was, by us or while other threads were on their way: as far as it came, it is the
    // same.
    let ended = run.timed_out || cut_off;
    comparison.difference = comparison.difference.filter(|difference| !(ended && difference.got.is_none()));
    let happened = match &recording.goal {
        Some(goal) => goal.reached(&new, &again.outcome)?,
        None => is_failure(&expected) && same_outcome(&expected, &again.outcome),
    };
    let diverged = again.diverged.map(|divergence| confirm::divergence_text(&divergence));
    let outcome = again.outcome.clone();
    let rebuilt = Rebuilt::between(identity::of_trace(recording.trace.meta()), identity::of_trace(new.meta()));
    let free = recording.trace.meta().policy == reweave_launch::FREE;
    Ok(Replayed { comparison, diverged, outcome, expected, rebuilt, happened, free, run })
}

/// The process of the new run that corresponds to the recording: the same program, and as many of it before.
fn same_process<'a>(run: &'a Run, recording: &Recording) -> Result<&'a Collected> {
    let place = recording.all.iter().position(|path| *path == recording.path).unwrap_or(0);
    let missing = || Error::NothingRecorded {
        program: recording.trace.meta().program.join(" "),
        why: run.shortcoming().unwrap_or_else(|| "this process did not start again".into()),
    };
    run.processes.get(place).or_else(|| run.processes.first()).ok_or_else(missing)
}

/// A run that ended in a failure by itself.
pub const fn is_failure(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Exited { status } => *status != 0,
        Outcome::Signalled { .. } | Outcome::Hung => true,
        Outcome::Stopped { .. } | Outcome::Exec | Outcome::Unknown => false,
    }
}

pub fn same_outcome(one: &Outcome, two: &Outcome) -> bool {
    match (one, two) {
        // Whether a core was written depends on limits, not on the program.
        (Outcome::Signalled { signal: one, .. }, Outcome::Signalled { signal: two, .. }) => one == two,
        _ => one == two,
    }
}

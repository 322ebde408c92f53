//! `reweave test`: record, predict, confirm, report. Everything ends up in one folder:
//!
//! ```text
//! reweave-out/report.json      what was found
//! reweave-out/recording.rwt    the recorded run
//! reweave-out/1/               a finding: trace.rwt, schedule.rws, command.json, output.txt
//! reweave-out/witness-2.rws    the predicted order of a finding that no run did
//! reweave-out/verify/          the same for the program that is there now, if somebody asked whether it is fixed
//! ```

mod alternatives;
mod candidate;
mod confirm_again;
mod exploring;
mod folder;
mod hunt;
mod judging;
mod normal;
mod observed;
mod own_runs;
mod reads;
mod schedules;
mod stopping;
mod try_confirm;
mod trying;
mod verify;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use reweave_predict::SearchLimits;
use reweave_report::{Item, Report};
use reweave_trace::Trace;

use crate::budget;
use crate::confirm::{self, BreakpointResult, Line, RunSettings};
use crate::explore::Explored;
use crate::known::KnownReads;
pub use confirm_again::{ConfirmRequest, confirm_again};
pub use folder::{load_report, save_report};
use hunt::{Hunt, RunScrutiny};
pub use reweave_launch::folder::RECORDING;
use reweave_launch::session::{self, Options, Run};
use reweave_launch::target::Program;
use reweave_launch::{Error, FrontEnds, Result, interrupt, memory};
pub use stopping::{StopReason, StopRule};
pub use verify::{Verdict, Verification, Verified, VerifyAttempts, VerifyRequest, rebuilt, verify};

pub const REPORT: &str = "report.json";
/// Begins the name of a file with the predicted order of a finding that no run did.
const WITNESS: &str = "witness-";
/// What `reweave verify` found out about the program that is there now.
pub const VERIFIED: &str = "verify";
/// The run of a concurrent breakpoint.
pub const BREAKPOINT: &str = "breakpoint";

#[derive(Clone, Debug)]
pub struct Plan {
    pub options: Options,
    pub folder: PathBuf,
    /// Wall time for everything; a run that has begun is let finish.
    pub budget: Duration,
    /// Functions that are to be atomic.
    pub atomic: Vec<String>,
    /// All the time that is left goes to exploration, not only a share.
    pub explore: bool,
    /// What ends it before its time is over.
    pub ends: StopRule,
    /// Runs at a time, once the program is recorded.
    pub jobs: usize,
    /// … also of a program that deals with files, sockets or other processes, where runs can get into each other's way.
    pub jobs_asked_for: bool,
    /// What is known of reads without running the program.
    pub known: KnownReads,
}

impl Plan {
    pub fn new(front_ends: FrontEnds, command: Vec<OsString>, folder: PathBuf) -> Self {
        let options = Options::new(front_ends, command, folder.join(RECORDING));
        Self {
            options,
            folder,
            budget: Duration::from_secs(60),
            atomic: Vec::new(),
            explore: false,
            ends: StopRule::WhenQuiet,
            jobs: 1,
            jobs_asked_for: false,
            known: KnownReads::default(),
        }
    }

    /// A program that does not end by itself is looked at as far as it came, and no further than it can be read.
    fn recording_options(&self) -> Options {
        let most = (self.budget.as_millis() as u64).saturating_mul(budget::RECORDED_EVENTS_PER_MS);
        Options {
            timeout: Some(self.options.timeout.unwrap_or(self.budget / 4)),
            max_events: self.options.max_events.min(most),
            ..self.options.clone()
        }
    }
}

pub struct Tested {
    pub report: Report,
    pub run: Run,
    /// How far exploration came, if it was begun.
    pub explored: Option<Explored>,
    /// Why it ended before its time was over, if it did so because of what it had found.
    pub ended_early: Option<StopReason>,
    pub took: Duration,
    /// After how long the last finding was confirmed.
    pub last_found: Option<Duration>,
}

/// What the pipeline is doing, for somebody who watches.
pub enum Stage<'a> {
    Recorded(&'a Run),
    /// From 0 to 1.
    Predicting(f64),
    Confirming {
        done: usize,
        total: usize,
    },
    /// No further schedules, because of this.
    Stopped(&'a Error),
    /// Other schedules.
    Trying {
        done: Duration,
        total: Duration,
    },
    Exploring(&'a Explored),
    /// A run did it, or had done it already.
    NewFinding(&'a Item),
}

pub fn test(plan: &Plan, watch: &mut dyn FnMut(Stage<'_>)) -> Result<Tested> {
    // A program that is not there must not cost the findings of an earlier test.
    Program::find(plan.options.front_ends, &plan.options.command, &plan.options.cwd)?;
    let taken = folder::prepare(&plan.folder)?;
    let _guard = interrupt::Guard::around();
    let end = Instant::now() + plan.budget;
    let mut hunt = Hunt::new(plan, Instant::now() + reads::without_reads(plan.budget), taken);
    let run = session::run(&plan.recording_options())?;
    // A Ctrl-C until here was for the program; from here on it ends the search, and what is known by then is reported.
    let ended_by_hand = interrupt::asked() || run.timed_out;
    interrupt::forget();
    watch(Stage::Recorded(&run));
    hunt.recorded(&run, ended_by_hand)?;
    // Half of the time for the first run: what it shows is surest.
    hunt.look_at(&run, RunScrutiny::Close, watch)?;
    hunt.first_run_is_done();
    let mut explored = None;
    if run.processes.iter().any(|process| process.instrumented) {
        // What is known by then is worth more than nothing.
        if let Err(error) = hunt.first_schedules(&run, watch) {
            watch(Stage::Stopped(&error));
        }
        match hunt.explore(&run, watch) {
            Ok(done) => explored = done,
            Err(error) => watch(Stage::Stopped(&error)),
        }
        if let Err(error) = hunt.catch_up(watch) {
            watch(Stage::Stopped(&error));
        }
        if !explored.as_ref().is_some_and(|explored| explored.complete)
            && let Err(error) = hunt.alternatives(&run, watch).and_then(|()| hunt.other_schedules(&run, watch))
        {
            watch(Stage::Stopped(&error));
        }
        if let Err(error) = hunt.catch_up(watch) {
            watch(Stage::Stopped(&error));
        }
        hunt.ended_early = hunt.reason_to_stop();
        if !run.timed_out
            && hunt.ended_early != Some(StopReason::FirstFailure)
            && let Err(error) = hunt.reads(&run, end, watch)
        {
            watch(Stage::Stopped(&error));
        }
    }
    let ended_early = hunt.ended_early.or(hunt.in_vain.map(|schedules| StopReason::NothingNew { schedules }));
    let (took, last_found) = (hunt.idle.began.elapsed(), hunt.idle.last_found());
    Ok(Tested { report: hunt.save()?, run, explored, ended_early, took, last_found })
}

/// None once somebody has asked to end.
fn left(deadline: Instant) -> Duration {
    if interrupt::asked() { Duration::ZERO } else { deadline.saturating_duration_since(Instant::now()) }
}

/// The default analyses over one trace.
pub fn predict(
    trace: &Trace,
    deadline: Instant,
    atomic: &[String],
    watch: &mut dyn FnMut(Stage<'_>),
) -> Result<reweave_predict::PredictionResult> {
    let (interrupt, memory) = (Some(interrupt::flag()), Some(memory::flag()));
    let limits = SearchLimits { deadline: Some(deadline), interrupt, memory, ..SearchLimits::default() };
    let options = reweave_predict::Options {
        limits,
        atomic: atomic.to_vec(),
        for_trial: true,
        ..reweave_predict::Options::default()
    };
    Ok(reweave_predict::predict(trace, &options, &mut |_, done| watch(Stage::Predicting(done)))?)
}

/// Brings two threads to two lines at once, in the program of an earlier test; the run that does it is kept beside the
/// findings.
pub fn break_at(
    front_ends: FrontEnds,
    folder: &Path,
    lines: [&Line; 2],
    command: Option<&[OsString]>,
    budget: Duration,
) -> Result<(BreakpointResult, PathBuf)> {
    let trace = Trace::open(folder.join(RECORDING))?;
    let own = folder.join(BREAKPOINT);
    let settings = RunSettings { front_ends, command, ..RunSettings::default() };
    Ok((confirm::break_at(&trace, lines, &own, &settings, Instant::now() + budget)?, own))
}

//! `reweave test`

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use reweave_hunt::explore::Explored;
use reweave_hunt::pipeline::{self, Plan};
use reweave_launch::exit;
use reweave_report::{Style, text};

use super::predict::Deny;
use super::record::Scheduling;
use super::report::Verbosity;
use crate::front_ends::FRONT_ENDS;
use crate::output;
use crate::size::parse_time;
use crate::triage::{Judge, Triage};
use crate::watcher::Watcher;

/// Record a run, predict what other interleavings would do, confirm it, and report
///
/// Findings go to stderr and to DIR: report.json, and one folder per finding that `reweave replay` takes.
#[derive(clap::Args)]
#[command(
    override_usage = "reweave test [OPTIONS] -- PROG [ARGS]...",
    after_help = "Examples:\n  \
        reweave test -- ./bank\n  \
        reweave test -o out --budget 5m -- ctest\n  \
        reweave test --explore --budget 10m -- ./queue_test\n  \
        reweave test --seed 3 -- ./server --self-test"
)]
pub struct Args {
    /// Where the report and the findings go
    #[arg(short, long, value_name = "DIR", default_value = "reweave-out")]
    output: PathBuf,
    /// Wall time for everything (ms, s, m, h)
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    budget: Duration,
    /// Spend all the time that is left on exploring what other schedules can do, until nothing new is to be expected
    #[arg(long)]
    explore: bool,
    /// Runs of the program at a time, once it is recorded [default: one for each core, or 1 if the program deals with
    /// files, sockets or other processes, where runs get in each other's way]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Run the program in a copy of the current folder each time
    #[arg(long)]
    isolate: bool,
    /// Functions that should be atomic: a file with one name per line (# begins a comment)
    #[arg(long, value_name = "FILE")]
    atomic: Option<PathBuf>,
    /// Also fail (exit code 1) if there are findings of this kind
    #[arg(long, value_enum, value_name = "KIND")]
    deny: Option<Deny>,
    #[command(flatten)]
    triage: Triage,
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(flatten)]
    scheduling: Scheduling,
    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "PROG")]
    command: Vec<OsString>,
}

pub fn run(args: Args) -> i32 {
    let mut plan = Plan::new(FRONT_ENDS, args.command, args.output);
    plan.budget = args.budget;
    plan.explore = args.explore;
    plan.jobs = args.jobs.unwrap_or_else(cores).into();
    plan.jobs_asked_for = args.jobs.is_some();
    plan.options.isolate = args.isolate;
    match args.atomic.as_deref().map(crate::atomic::function_names).transpose() {
        Ok(names) => plan.atomic = names.unwrap_or_default(),
        Err(error) => return output::fail(&error),
    }
    args.scheduling.apply(&mut plan.options);
    match args.triage.judge() {
        Ok(judge) => test(&plan, &judge, args.verbosity.detail(), args.deny),
        Err(error) => output::fail(&error),
    }
}

pub fn cores() -> u16 {
    std::thread::available_parallelism().map_or(1, |cores| u16::try_from(cores.get()).unwrap_or(256).min(256))
}

/// Runs the pipeline and tells what it found.
pub fn test(plan: &Plan, judge: &Judge, detail: text::Detail, deny: Option<Deny>) -> i32 {
    let mut watcher = Watcher::new(plan, judge, detail);
    let tested = pipeline::test(plan, &mut |stage| watcher.see(stage));
    watcher.done();
    match tested {
        Ok(mut tested) => {
            // Known ones are failures all the same.
            let failed = tested.report.has_findings();
            if judge.apply(&mut tested.report)
                && let Err(error) = pipeline::save_report(&tested.report, &plan.folder)
            {
                return output::fail(&error);
            }
            let folder = plan.folder.display().to_string();
            eprintln!();
            let interrupted = reweave_launch::interrupt::asked();
            if interrupted {
                eprintln!("reweave: interrupted: this is what was known by then, not all that was asked for");
            }
            if let Some(explored) = &tested.explored {
                eprintln!("reweave: {}", exploration(explored, plan.explore, failed));
            }
            let style = Style::for_stderr().with_detail(detail);
            let _ = text::write(&tested.report, &folder, style, &mut io::stderr().lock());
            match () {
                () if tested.report.has_findings() => exit::FINDINGS,
                () if deny == Some(Deny::Nondeterminism) && tested.report.has_nondeterminism() => exit::FINDINGS,
                // Nothing could be looked at: that is not a clean bill.
                () if tested.run.processes.is_empty() => exit::CANNOT_RUN,
                // Neither is what was not looked at to its end.
                () if interrupted => exit::USAGE,
                () => exit::CLEAN,
            }
        }
        Err(error) => output::fail(&error),
    }
}

/// How far exploration came, in words.
fn exploration(explored: &Explored, asked: bool, findings: bool) -> String {
    let runs = output::counted(explored.runs, "run", "runs");
    let classes = output::counted(explored.classes, "class of executions", "classes of executions");
    let failure = if findings { "" } else { ", no failure" };
    match explored.why_not {
        None if explored.classes == 1 => format!("explored: the only class of executions covered in {runs}{failure}"),
        None => format!("explored: all {classes} covered in {runs}{failure}"),
        Some(why) if asked => format!("explored: {classes} in {runs}; not all: {why}"),
        Some(why) => format!("explored: {classes} in {runs}; not all: {why} (--explore takes longer)"),
    }
}

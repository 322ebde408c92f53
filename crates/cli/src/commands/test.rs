//! `reweave test`

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use reweave_hunt::explore::{Explored, Incomplete};
use reweave_hunt::pipeline::{self, Plan, StopReason, StopRule, Tested};
use reweave_launch::{exit, memory};
use reweave_report::{Style, text};

use super::predict::Deny;
use super::record::{LeavingOut, Scheduling};
use super::report::Verbosity;
use crate::classes::{Classes, Tests};
use crate::front_ends::FRONT_ENDS;
use crate::output;
use crate::ranks::Looking;
use crate::size::{parse_size, parse_time};
use crate::triage::{Triage, TriageFiles};
use crate::watcher::Watcher;

/// The share of the budget that nobody calls less than all of it.
const NEARLY: f64 = 0.8;

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
        reweave test -- mpirun -n 4 ./halo\n  \
        reweave test --junit com.shop.CartTest#adds -cp build/classes:libs/junit.jar\n  \
        reweave test --seed 3 -- ./server --self-test"
)]
pub struct Args {
    /// Where the report and the findings go
    #[arg(short, long, value_name = "DIR", default_value = "reweave-out")]
    output: PathBuf,
    /// Wall time for everything (ms, s, m, h)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_time, default_value = "60s")]
    budget: Duration,
    /// Spend the remaining time on exploring what other schedules can do, until nothing new can be expected
    #[arg(long)]
    explore: bool,
    /// Stop at the first confirmed finding
    #[arg(long, conflicts_with = "explore")]
    fail_fast: bool,
    /// Memory that `reweave` itself may use; what does not fit is left out and counted [default: a
    /// quarter of the machine's, at most 4G]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_memory: Option<u64>,
    /// Runs of the program at the same time, once it is recorded [default: one for each core, or 1 if the program uses
    /// files, sockets or other processes, where runs would disturb each other]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Run the program in a copy of the current folder each time
    #[arg(long)]
    isolate: bool,
    /// Functions that should be atomic: a file with one name per line (# begins a comment)
    #[arg(long, value_name = "FILE")]
    atomic: Option<PathBuf>,
    /// First try reads that can differ according to this file of `reweave determinism --facts`
    #[arg(long, value_name = "FILE")]
    hints: Option<PathBuf>,
    /// Skip reads that cannot differ according to this file of `reweave determinism --facts`
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
    /// Findings of this kind count as failures, too (exit code 1)
    #[arg(long, value_enum, value_name = "KIND")]
    deny: Option<Deny>,
    /// Programs of many ranks (MPI, OpenSHMEM): report what the standard forbids even where every implementation allows
    /// it
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    looking: Looking,
    /// Exit with code 0 even if the program could not be checked completely, as long as nothing was found
    #[arg(long)]
    allow_unchecked: bool,
    #[command(flatten)]
    triage: Triage,
    #[command(flatten)]
    verbosity: Verbosity,
    #[command(flatten)]
    leaving_out: LeavingOut,
    #[command(flatten)]
    scheduling: Scheduling,
    #[command(flatten)]
    classes: Classes,
    #[command(flatten)]
    tests: Tests,
    /// The program and its arguments
    #[arg(required_unless_present = "junit", last = true, value_name = "PROG")]
    command: Vec<OsString>,
}

pub fn run(mut args: Args) -> i32 {
    args.command = match args.tests.command(args.command) {
        Ok(command) => command,
        Err(code) => return code,
    };
    let cwd = std::env::current_dir().unwrap_or_default();
    if reweave_spmd::host::is_spmd(&args.command, &cwd) {
        return test_ranks(args, cwd);
    }
    if let Some(code) = args.looking.refused() {
        return code;
    }
    let mut plan = Plan::new(FRONT_ENDS, args.command, args.output);
    plan.budget = args.budget;
    plan.explore = args.explore;
    if args.fail_fast {
        plan.ends = StopRule::AtFirstFailure;
    }
    let _memory = memory::limit(args.max_memory.unwrap_or_else(memory::default_limit));
    plan.jobs = args.jobs.unwrap_or_else(cores).into();
    plan.jobs_asked_for = args.jobs.is_some();
    plan.options.isolate = args.isolate;
    match args.atomic.as_deref().map(crate::atomic::function_names).transpose() {
        Ok(names) => plan.atomic = names.unwrap_or_default(),
        Err(error) => return output::fail(&error),
    }
    match crate::facts::read(args.hints.as_deref(), args.facts.as_deref()) {
        Ok(known) => plan.known = known,
        Err(error) => return output::fail(&error),
    }
    args.scheduling.apply(&mut plan.options);
    args.classes.apply(&mut plan.options);
    args.leaving_out.apply(&mut plan.options);
    match args.triage.judge() {
        Ok(judge) => {
            let passing = ExitRule { deny: args.deny, allow_unchecked: args.allow_unchecked };
            test(&plan, &judge, args.verbosity.detail(), passing)
        }
        Err(error) => output::fail(&error),
    }
}

/// Many ranks are not run one after the other: their tests are other ones.
fn test_ranks(args: Args, cwd: PathBuf) -> i32 {
    let _memory = memory::limit(args.max_memory.unwrap_or_else(memory::default_limit));
    let judge = match args.triage.judge() {
        Ok(judge) => judge,
        Err(error) => return output::fail(&error),
    };
    let look = match args.looking.look(None) {
        Ok(look) => look,
        Err(why) => {
            eprintln!("reweave: {why}");
            return exit::USAGE;
        }
    };
    let request = reweave_spmd::host::Request {
        front_ends: FRONT_ENDS,
        command: args.command,
        cwd,
        folder: args.output,
        budget: args.budget,
        strict: args.strict,
        fail_fast: args.fail_fast,
        look,
    };
    let passing = ExitRule { deny: args.deny, allow_unchecked: args.allow_unchecked };
    crate::ranks::test(&request, &judge, args.verbosity.detail(), passing)
}

pub fn cores() -> u16 {
    std::thread::available_parallelism().map_or(1, |cores| u16::try_from(cores.get()).unwrap_or(256).min(256))
}

/// What passes that would not, or does not that would.
#[derive(Clone, Copy, Default)]
pub struct ExitRule {
    pub deny: Option<Deny>,
    pub allow_unchecked: bool,
}

/// Runs the pipeline and tells what it found.
pub fn test(plan: &Plan, judge: &TriageFiles, detail: text::Detail, passing: ExitRule) -> i32 {
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
            let interrupted = reweave_launch::interrupt::asked();
            if interrupted {
                eprintln!("reweave: interrupted: these are the results so far, not all that was asked for");
            }
            if let Some(why) =
                why_it_ended(&tested, plan.budget).filter(|_| detail > text::Detail::Quiet && !interrupted)
            {
                eprintln!("reweave: {why}");
            }
            if let Some(explored) = tested.explored.as_ref().filter(|_| detail > text::Detail::Quiet) {
                eprintln!("reweave: {}", exploration(explored, plan.explore, failed));
            }
            let style = Style::for_stderr().with_detail(detail);
            // Blocks stand apart from the lines that came while it ran.
            if detail > text::Detail::Quiet && tested.report.has_findings() {
                eprintln!();
            }
            let _ = text::write(&tested.report, &folder, style, &mut io::stderr().lock());
            let denied = passing.deny == Some(Deny::Nondeterminism) && tested.report.has_nondeterminism();
            if denied {
                let _ = text::write_denied(&tested.report, &folder, style, &mut io::stderr().lock());
            }
            match () {
                () if tested.report.has_findings() => exit::FINDINGS,
                () if denied => exit::FINDINGS,
                // What was not looked at to its end is no clean bill.
                () if interrupted => exit::USAGE,
                () if !passing.allow_unchecked && tested.report.unchecked.is_some() => exit::USAGE,
                () => exit::CLEAN,
            }
        }
        Err(error) => output::fail(&error),
    }
}

/// Why it ended when it did; `None`: there was no more to try.
fn why_it_ended(tested: &Tested, budget: Duration) -> Option<String> {
    let (took, budget) = (tested.took.as_secs_f64(), budget.as_secs_f64());
    match tested.ended_early {
        Some(StopReason::FirstFailure) => {
            Some(format!("stopped after {took:.1} s, at the first failure (--fail-fast)"))
        }
        Some(StopReason::Quiet(quiet)) => Some(format!(
            "stopped after {took:.0} s of {budget:.0} s: nothing else was found for {:.0} s (--explore continues)",
            quiet.as_secs_f64()
        )),
        Some(StopReason::NothingNew { schedules }) => Some(format!(
            "stopped after {took:.0} s of {budget:.0} s: the last {schedules} schedules showed nothing new"
        )),
        None if took < budget * NEARLY || tested.explored.as_ref().is_some_and(|explored| explored.complete) => None,
        None => Some(match tested.last_found {
            Some(after) => format!(
                "used all of its {budget:.0} s: there was more to try, and the last finding was confirmed after {:.0} s",
                after.as_secs_f64()
            ),
            None => format!("used all of its {budget:.0} s: there was more to try (--budget gives it more time)"),
        }),
    }
}

/// How far exploration came, in words.
fn exploration(explored: &Explored, asked: bool, findings: bool) -> String {
    let runs = output::counted(explored.runs, "run", "runs");
    let classes = output::counted(explored.classes, "class of executions", "classes of executions");
    let failure = if findings { "" } else { ", no failure" };
    // Runs teach what threads do; which classes that makes possible follows.
    let how = if explored.runs < explored.classes { " (the others follow from what these showed)" } else { "" };
    let would_help = !asked && explored.why_not.is_some_and(Incomplete::is_for_lack_of_time);
    let longer = if would_help { " (--explore takes longer)" } else { "" };
    let beyond =
        if explored.weak_orders { "; what its weaker memory orders allow beyond schedules is not run" } else { "" };
    match explored.why_not {
        None if explored.classes == 1 => {
            format!("explored: the only class of executions covered in {runs}{failure}{beyond}")
        }
        None => format!("explored: all {classes} covered in {runs}{how}{failure}{beyond}"),
        Some(why) if explored.classes == 0 => {
            format!("explored: {runs}, and how many classes of executions there are is not known: {why}{longer}")
        }
        Some(why) => format!("explored: {classes} in {runs}; not all: {why}{longer}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_exploration_is_so() {
        let of = |runs, classes, why_not: Option<Incomplete>| {
            let complete = why_not.is_none();
            exploration(&Explored { runs, classes, states: 0, complete, why_not, weak_orders: false }, false, true)
        };
        assert_eq!(of(5, 3, None), "explored: all 3 classes of executions covered in 5 runs");
        let fewer =
            "explored: all 4 classes of executions covered in 2 runs (the others follow from what these showed)";
        assert_eq!(of(2, 4, None), fewer);
        let threads = of(257, 0, Some(Incomplete::Threads));
        assert!(
            !threads.contains("0 classes") && !threads.contains("takes longer"),
            "more time does not help: {threads}"
        );
        assert!(of(9, 3, Some(Incomplete::MoreToRun)).ends_with("more runs are needed (--explore takes longer)"));
    }
}

//! `reweave verify`

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use reweave_hunt::pipeline::{self, Stage, Verdict, Verification, Verified, VerifyAttempts, VerifyRequest};
use reweave_launch::{exit, memory};
use reweave_report::text;

use super::test::cores;
use crate::front_ends::FRONT_ENDS;
use crate::output::{self, counted};
use crate::progress::Bar;
use crate::size::{parse_size, parse_time};

/// Check whether the findings of an earlier test are fixed
///
/// Looks for each confirmed or predicted finding of DIR in the program as it is now: along the recorded schedule,
/// carried over to the new build by name, then by bringing threads to the same places, then by prediction from new
/// recordings. Each is `gone`, `still there` (with a new schedule to replay) or `unclear` (with the reason). Exit
/// codes: 0 all
/// are gone, 1 something is still there or new, 2 something is unclear.
#[derive(clap::Args)]
#[command(
    override_usage = "reweave verify [OPTIONS] DIR [-- PROG [ARGS]...]",
    after_help = "Examples:\n  \
        reweave verify reweave-out             after the program was fixed and built again\n  \
        reweave verify reweave-out -- ./bank_fixed\n  \
        reweave verify reweave-out --budget 5m && git commit"
)]
pub struct Args {
    /// The folder of an earlier `reweave test`
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Wall time for everything (ms, s, m, h)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_time, default_value = "60s")]
    pub budget: Duration,
    /// What `reweave` itself may take of the memory [default: a quarter of the machine's, at most 4G]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub max_memory: Option<u64>,
    /// The program to run instead of the recorded command
    #[arg(last = true, value_name = "PROG")]
    pub command: Vec<OsString>,
}

pub fn run(args: &Args) -> i32 {
    if let Some(code) = crate::ranks::refused(&args.folder, "verify") {
        return code;
    }
    let _memory = memory::limit(args.max_memory.unwrap_or_else(memory::default_limit));
    let command = (!args.command.is_empty()).then_some(&args.command[..]);
    let request = VerifyRequest { front_ends: FRONT_ENDS, command, budget: args.budget, jobs: cores().into() };
    let bar = Bar::new("verifying", args.budget.as_millis() as u64);
    let began = std::time::Instant::now();
    let verified = pipeline::verify(&args.folder, &request, &mut |stage| {
        if !matches!(stage, Stage::Recorded(_)) {
            bar.at(began.elapsed().as_millis() as u64);
        }
    });
    bar.done();
    match verified {
        Ok(verification) => print_verification(&verification),
        Err(error) => output::fail(&error),
    }
}

/// Says what became of each finding, and gives the exit code.
pub fn print_verification(verification: &Verification) -> i32 {
    match &verification.rebuilt {
        Some(rebuilt) => eprintln!("reweave: {rebuilt}"),
        None => eprintln!("reweave: the program is the one that was recorded"),
    }
    for verified in &verification.findings {
        print_verdict(verified, verification);
    }
    for item in &verification.new {
        eprintln!("new: {}", text::headline(item));
        if item.schedule.is_some() {
            eprintln!("    replay: reweave replay {}", verification.folder.join(item.id.to_string()).display());
        }
    }
    let gone = verification.count(|verdict| *verdict == Verdict::Gone);
    let there = verification.count(|verdict| matches!(verdict, Verdict::StillThere { .. }));
    let open = verification.count(|verdict| matches!(verdict, Verdict::Undecided { .. }));
    let new = match verification.new.len() {
        0 => String::new(),
        new => format!(", {new} new"),
    };
    let left_out = match verification.left_out {
        0 => String::new(),
        some => format!(" (not checked: {some} that are potential, suppressed or information)"),
    };
    if verification.findings.is_empty() {
        eprintln!("reweave: nothing to verify: the folder has no confirmed or predicted finding{left_out}");
        return exit::USAGE;
    }
    eprintln!("{gone} gone, {there} still there, {open} unclear{new}{left_out}");
    match () {
        () if there > 0 || !verification.new.is_empty() => exit::FINDINGS,
        () if open > 0 => exit::USAGE,
        () => exit::CLEAN,
    }
}

fn print_verdict(verified: &Verified, verification: &Verification) {
    let headline = text::headline(&verified.item);
    match &verified.verdict {
        Verdict::Gone => {
            eprintln!("gone: {headline}");
            eprintln!("    {}", tried(&verified.tried, verification));
        }
        Verdict::StillThere { now, folder } => {
            eprintln!("still there: {headline}");
            if now.summary != verified.item.summary {
                eprintln!("    now: {}", now.summary);
            }
            if let Some(outcome) = &now.outcome {
                eprintln!("    the run {outcome}");
            }
            match folder {
                Some(folder) => eprintln!("    replay: reweave replay {}", folder.display()),
                None => eprintln!("    predicted; no run did it"),
            }
        }
        Verdict::Undecided { why } => {
            eprintln!("unclear: {headline}");
            eprintln!("    {why}");
        }
    }
}

/// What stands behind `gone`.
fn tried(tried: &VerifyAttempts, verification: &Verification) -> String {
    let mut parts = Vec::new();
    if let Some(schedule) = &tried.schedule {
        parts.push(format!("the recorded schedule, by name: {schedule}"));
    }
    if tried.steered > 0 {
        parts.push(format!("{} to the same places", counted(tried.steered.into(), "run steered", "runs steered")));
    }
    let runs = counted(verification.runs, "different run", "different runs");
    parts.push(format!("not predicted from {runs}"));
    if let Some(explored) = verification.explored.as_ref().filter(|explored| explored.complete) {
        let classes = counted(explored.classes, "class of executions", "classes of executions");
        parts.push(format!("all of its {classes} were explored"));
    }
    parts.join("; ")
}

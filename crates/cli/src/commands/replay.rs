//! `reweave replay`

use std::ffi::OsString;
use std::path::PathBuf;

use reweave_hunt::compare::Difference;
use reweave_hunt::debugger;
use reweave_hunt::replay::{Recording, Repeated, Replayed, repeat, replay};
use reweave_launch::exit;
use reweave_report::describe;
use reweave_spmd::host::Again;

use crate::front_ends::FRONT_ENDS;
use crate::output::{self, counted, grouped};
use crate::progress::Bar;

/// Run a recorded program again, exactly as it ran
///
/// Follows the recorded schedule and feeds the recorded inputs, then compares event by event, values and the build of
/// the
/// program included. Exit codes: 1 the bug (or the failure) happened again, 0 it did not, 2 the run diverged.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    reweave replay reweave-out/1           a finding\n  \
    reweave replay reweave.rwt             a recording\n  \
    reweave replay reweave-out/1 --times 100\n  \
    \u{20}                                      how often it happens; the program's output is not shown\n  \
    reweave replay reweave-out/1 --gdb     stop in the debugger right before the bug
    reweave replay reweave-out/1 --gdb --rank 1
    \u{20}                                      the same of one of many ranks")]
pub struct Args {
    /// A trace, a schedule beside its trace, or the folder of a finding
    #[arg(value_name = "TRACE|DIR/ID")]
    what: PathBuf,
    /// Replay this many times, and count how often it happens
    #[arg(long, value_name = "N", conflicts_with = "gdb", value_parser = clap::value_parser!(u32).range(1..))]
    times: Option<u32>,
    /// Run under gdb, stopping right before the bug (or the end)
    #[arg(long)]
    gdb: bool,
    /// Of a finding of many ranks: the rank that gdb looks at [default: that of (1)]
    #[arg(long, value_name = "RANK", requires = "gdb")]
    rank: Option<u32>,
    /// Further arguments for gdb
    #[arg(last = true, requires = "gdb", value_name = "GDB-ARGS")]
    gdb_args: Vec<OsString>,
}

pub fn run(args: Args) -> i32 {
    if let Some(again) = Again::open(&args.what) {
        if args.gdb {
            return again.debug(args.rank, &args.gdb_args).unwrap_or_else(|error| output::fail(&error));
        }
        return crate::ranks::replay(&again, args.times.unwrap_or(1));
    }
    if reweave_spmd::host::Recording::is_in(&args.what) {
        let folder = args.what.display();
        eprintln!(
            "reweave: {folder}: a run of many ranks is not replayed as a whole: `reweave confirm {folder}`, then \
             replay a finding"
        );
        return exit::USAGE;
    }
    let recording = match Recording::open(FRONT_ENDS, &args.what) {
        Ok(recording) => recording,
        Err(error) => return output::fail(&error),
    };
    if args.gdb {
        return debugger::debug(&recording, &args.gdb_args).unwrap_or_else(|error| output::fail(&error));
    }
    if let Some(times) = args.times {
        return count(&recording, times).unwrap_or_else(|error| output::fail(&error));
    }
    match replay(&recording) {
        Ok(replayed) => print_replay(&replayed),
        Err(error) => output::fail(&error),
    }
}

/// Many replays: 1 if it happened every time, 0 if it did not, 2 if a replay diverged, which is reported in full.
fn count(recording: &Recording, times: u32) -> reweave_launch::Result<i32> {
    let bar = Bar::new("replaying", times.into());
    let repeated = repeat(recording, times, &mut |done| bar.at(done.into()))?;
    bar.done();
    let Repeated { done, happened, .. } = repeated;
    // One that diverged says so itself.
    if let Some(rebuilt) = repeated.rebuilt.as_ref().filter(|_| repeated.diverged.is_none()) {
        eprintln!("reweave: {rebuilt}");
    }
    eprintln!("reweave: it happened again in {happened} of {done} replays");
    if let Some(first) = &repeated.first_value {
        eprintln!("reweave: in {} of them some values were not those of the recording", repeated.other_values);
        eprintln!("  {first}");
        eprintln!("  next: {}", next_step(repeated.rebuilt.is_some()));
    }
    Ok(match repeated.diverged {
        Some(replayed) => print_replay(&replayed),
        None if done > 0 && happened == done => exit::FINDINGS,
        None => exit::CLEAN,
    })
}

/// Says how a replay went and gives the exit code for it.
pub fn print_replay(replayed: &Replayed) -> i32 {
    for warning in &replayed.run.warnings {
        eprintln!("reweave: warning: {warning}");
    }
    let same = grouped(replayed.comparison.same);
    if let Some(rebuilt) = &replayed.rebuilt {
        eprintln!("reweave: {rebuilt}");
    }
    if let Some(difference) = &replayed.comparison.difference {
        let same = counted(replayed.comparison.same, "identical event", "identical events");
        eprintln!("reweave: the replay diverged after {same}");
        print_difference(difference);
        if let Some(why) = &replayed.diverged {
            eprintln!("  {why}");
        }
        if replayed.free {
            eprintln!(
                "  next: nothing is wrong: in a recording made with --free, threads that race did not take turns as it \
                 says; `reweave test` makes recordings that replay to their end"
            );
        } else {
            eprintln!("  next: {}", next_step(replayed.rebuilt.is_some()));
        }
        return exit::USAGE;
    }
    match &replayed.comparison.first_value {
        None if replayed.rebuilt.is_none() => eprintln!("reweave: replayed {same} events identically"),
        None => {
            eprintln!("reweave: replayed {same} events: the same operations with the same values, by another build")
        }
        Some(first) => {
            let others = counted(replayed.comparison.other_values, "has another value", "have other values");
            eprintln!("reweave: replayed {same} events: the same operations, but {others}");
            eprintln!("  {first}");
            eprintln!("  next: {}", next_step(replayed.rebuilt.is_some()));
        }
    }
    if replayed.happened {
        let how = describe::outcome(&replayed.outcome).unwrap_or_else(|| "ended normally".into());
        eprintln!("reweave: it happened again; the program {how}");
        return exit::FINDINGS;
    }
    exit::CLEAN
}

/// Two lines, or one where they would be the same, and then what it is that differs.
fn print_difference(difference: &Difference) {
    let text = |line: &Option<String>| line.clone().unwrap_or_else(|| "the end of the run".into());
    let (expected, got) = (text(&difference.expected), text(&difference.got));
    if expected == got {
        eprintln!("  at:       {expected}");
        eprintln!("  differs:  {}", difference.what.join("; "));
    } else {
        eprintln!("  expected: {expected}");
        eprintln!("  got:      {got}");
    }
}

const fn next_step(rebuilt: bool) -> &'static str {
    if rebuilt {
        "`reweave verify` shows whether the rebuilt program still has the findings of a folder"
    } else {
        "does the program depend on time, files or other processes?"
    }
}

//! `reweave replay`

use std::ffi::OsString;
use std::path::PathBuf;

use reweave_launch::replay::{Recording, Replayed, replay};
use reweave_launch::{exit, gdb};
use reweave_report::describe;

use crate::output::{self, grouped};

/// Run a recorded program again, exactly as it ran
///
/// Follows the recorded schedule and feeds the recorded inputs, then compares event by event. Exit codes: 1 the bug (or
/// the failure) happened again, 0 it did not, 2 the run diverged.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    reweave replay reweave-out/1           a finding\n  \
    reweave replay reweave.rwt             a recording\n  \
    reweave replay reweave-out/1 --gdb     stop in the debugger right before the bug")]
pub struct Args {
    /// A trace, a schedule beside its trace, or the folder of a finding
    #[arg(value_name = "TRACE|DIR/ID")]
    what: PathBuf,
    /// Run under gdb, stopping right before the bug (or the end)
    #[arg(long)]
    gdb: bool,
    /// Further arguments for gdb
    #[arg(last = true, requires = "gdb", value_name = "GDB-ARGS")]
    gdb_args: Vec<OsString>,
}

pub fn run(args: Args) -> i32 {
    let recording = match Recording::open(&args.what) {
        Ok(recording) => recording,
        Err(error) => return output::fail(&error),
    };
    if args.gdb {
        return gdb::debug(&recording, &args.gdb_args).unwrap_or_else(|error| output::fail(&error));
    }
    match replay(&recording) {
        Ok(replayed) => tell(&replayed),
        Err(error) => output::fail(&error),
    }
}

/// Says how a replay went and gives the exit code for it.
pub fn tell(replayed: &Replayed) -> i32 {
    for warning in &replayed.run.warnings {
        eprintln!("reweave: warning: {warning}");
    }
    let same = grouped(replayed.comparison.same);
    if let Some(difference) = &replayed.comparison.difference {
        eprintln!("reweave: the replay diverged after {same} identical events");
        eprintln!("  expected: {}", difference.expected.as_deref().unwrap_or("the end of the run"));
        eprintln!("  got:      {}", difference.got.as_deref().unwrap_or("the end of the run"));
        if let Some(why) = &replayed.diverged {
            eprintln!("  {why}");
        }
        eprintln!("  next: was the program rebuilt, or does it depend on time, files or other processes?");
        return exit::USAGE;
    }
    eprintln!("reweave: replayed {same} events identically");
    if replayed.happened {
        let how = describe::outcome(&replayed.outcome).unwrap_or_else(|| "ended normally".into());
        eprintln!("reweave: it happened again; the program {how}");
        return exit::FINDINGS;
    }
    exit::CLEAN
}

//! `reweave confirm`

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use reweave_hunt::confirm::{BreakpointResult, Line};
use reweave_hunt::pipeline;
use reweave_hunt::pipeline::ConfirmRequest;
use reweave_launch::identity::Rebuilt;
use reweave_launch::{exit, memory};
use reweave_report::{Style, text};

use super::predict::by_names;
use super::verify;
use crate::front_ends::FRONT_ENDS;
use crate::output;
use crate::size::{parse_size, parse_time};

/// Try to make predicted findings happen
///
/// DIR is the folder of an earlier `reweave test`, or one with a recording (`reweave record -o DIR/recording.rwt`).
/// Its recording is analysed again, runs of the program are steered to each finding, and the report is rewritten. If the
/// program was rebuilt since, the findings are looked for in the new build, as `reweave verify` does. With `--analysis lock-history` the numbers (`--stats`) say how many of the pairs of
/// places that it shows to be reachable (pred) a run did (true), and how many it cannot refute (upper).
#[derive(clap::Args)]
#[command(
    override_usage = "reweave confirm [OPTIONS] DIR [-- PROG [ARGS]...]",
    after_help = "Examples:\n  \
        reweave confirm reweave-out\n  \
        reweave confirm reweave-out --budget 10m -- ./bank --slow\n  \
        reweave confirm reweave-out --analysis lock-history --stats\n  \
        reweave confirm reweave-out --pause bank.c:21 --with bank.c:25   # two threads at two lines at once"
)]
pub struct Args {
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Wall time for everything (ms, s, m, h)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_time, default_value = "60s")]
    budget: Duration,
    /// Memory that `reweave` itself may use [default: a quarter of the machine's, at most 4G]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_memory: Option<u64>,
    /// Only what these analyses find, `reweave predict --help` lists them [default: as `reweave test`]
    #[arg(long, value_name = "NAME", value_delimiter = ',', conflicts_with = "pause")]
    analysis: Vec<String>,
    /// Also print the numbers of the report
    #[arg(long, conflicts_with = "pause")]
    stats: bool,
    /// Programs of many ranks: also what the standard forbids but every implementation allows
    #[arg(long)]
    strict: bool,
    /// Bring one thread to this line while another is at the line of `--with`
    #[arg(long, value_name = "FILE:LINE", requires = "with")]
    pause: Option<Line>,
    /// The other line; it may be the same
    #[arg(long, value_name = "FILE:LINE", requires = "pause")]
    with: Option<Line>,
    /// The program to run instead of the recorded command
    #[arg(last = true, value_name = "PROG")]
    command: Vec<OsString>,
}

pub fn run(args: Args) -> i32 {
    if reweave_spmd::host::Recording::is_in(&args.folder) {
        if args.pause.is_some() {
            eprintln!("reweave: --pause and --with are for threads of one process, not for many ranks");
            return exit::USAGE;
        }
        return crate::ranks::confirm(&args.folder, &args.command, args.budget, args.strict);
    }
    let command = (!args.command.is_empty()).then_some(&args.command[..]);
    if let (Some(pause), Some(with)) = (&args.pause, &args.with) {
        return break_at(&args, [pause, with], command);
    }
    let analyses = match by_names(&args.analysis) {
        Ok(analyses) => analyses,
        Err(why) => {
            eprintln!("reweave: {why}");
            return exit::USAGE;
        }
    };
    // What the folder says is about the recorded build: of another one nothing of it is known to be true.
    match pipeline::rebuilt(FRONT_ENDS, &args.folder, command) {
        Ok(Some(rebuilt)) => return confirm_rebuilt(args, &rebuilt),
        Ok(None) => {}
        Err(error) => return output::fail(&error),
    }
    let _memory = memory::limit(args.max_memory.unwrap_or_else(memory::default_limit));
    let request = ConfirmRequest { front_ends: FRONT_ENDS, command, budget: args.budget, analyses: &analyses };
    match pipeline::confirm_again(&args.folder, &request) {
        Ok(report) => {
            let folder = args.folder.display().to_string();
            let _ = text::write(&report, &folder, Style::for_stderr(), &mut io::stderr().lock());
            if args.stats {
                let _ = text::write_stats(&report, &mut io::stderr().lock());
            }
            if report.has_findings() { exit::FINDINGS } else { exit::CLEAN }
        }
        Err(error) => output::fail(&error),
    }
}

/// What is left of the findings in the program that is there now.
fn confirm_rebuilt(args: Args, rebuilt: &Rebuilt) -> i32 {
    if !args.analysis.is_empty() {
        eprintln!("reweave: {rebuilt}: its recording says nothing about it: run `reweave test` again");
        return exit::USAGE;
    }
    eprintln!("reweave: the findings are looked for in the new build, as `reweave verify` does");
    verify::run(&verify::Args {
        folder: args.folder,
        budget: args.budget,
        max_memory: args.max_memory,
        command: args.command,
    })
}

fn break_at(args: &Args, lines: [&Line; 2], command: Option<&[OsString]>) -> i32 {
    let [one, two] = lines;
    // Lines of the recording are lines of the recorded build.
    if let Ok(Some(rebuilt)) = pipeline::rebuilt(FRONT_ENDS, &args.folder, command) {
        eprintln!("reweave: {rebuilt}: run `reweave test` again, then name lines of its source");
        return exit::USAGE;
    }
    match pipeline::break_at(FRONT_ENDS, &args.folder, lines, command, args.budget) {
        Ok((BreakpointResult::Reached { ending, tries }, folder)) => {
            eprintln!("reweave: two threads were at {one} and {two} at the same time, in run {}", tries.attempts);
            eprintln!("  the run {}", ending.text);
            eprintln!("  replay: reweave replay {}", folder.display());
            exit::FINDINGS
        }
        Ok((BreakpointResult::NotReached { tries }, _)) => {
            eprintln!(
                "reweave: in {} runs no two threads were at {one} and {two} at the same time ({} pauses, {} without \
                 effect)",
                tries.attempts, tries.pauses, tries.thrashes
            );
            exit::CLEAN
        }
        Err(error) => output::fail(&error),
    }
}

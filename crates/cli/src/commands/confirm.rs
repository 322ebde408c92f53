//! `reweave confirm`

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use reweave_launch::{exit, pipeline};
use reweave_report::{Style, text};

use crate::output;
use crate::size::parse_time;

/// Try to make predicted findings happen
///
/// DIR is the folder of an earlier `reweave test`. Its recording is analysed again and every finding is steered to in a
/// run of the program; the report is written anew.
#[derive(clap::Args)]
#[command(
    override_usage = "reweave confirm [OPTIONS] DIR [-- PROG [ARGS]...]",
    after_help = "Examples:\n  \
        reweave confirm reweave-out\n  \
        reweave confirm reweave-out --budget 10m -- ./bank --slow"
)]
pub struct Args {
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Wall time for everything (ms, s, m, h)
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "60s")]
    budget: Duration,
    /// The program to run instead of the recorded command
    #[arg(last = true, value_name = "PROG")]
    command: Vec<OsString>,
}

pub fn run(args: Args) -> i32 {
    let command = (!args.command.is_empty()).then_some(&args.command[..]);
    match pipeline::confirm_again(&args.folder, command, args.budget) {
        Ok(report) => {
            let folder = args.folder.display().to_string();
            let _ = text::write(&report, &folder, Style::for_stderr(), &mut io::stderr().lock());
            if report.has_findings() { exit::FINDINGS } else { exit::CLEAN }
        }
        Err(error) => output::fail(&error),
    }
}

//! `reweave report`

use std::path::PathBuf;

use reweave_launch::{exit, pipeline};
use reweave_report::{Style, text};

use crate::output;

/// Show the findings of an earlier test again
#[derive(clap::Args)]
#[command(after_help = "Example:\n  reweave report reweave-out")]
pub struct Args {
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub fn run(args: Args) -> i32 {
    match pipeline::load_report(&args.folder) {
        Ok(report) => {
            let folder = args.folder.display().to_string();
            let code = output::print(|out| text::write(&report, &folder, Style::for_stdout(), out));
            if code == exit::CLEAN && report.has_findings() { exit::FINDINGS } else { code }
        }
        Err(error) => output::fail(&error),
    }
}

//! `reweave explain`

use std::path::PathBuf;

use reweave_launch::replay::Recording;
use reweave_launch::{Error, exit, pipeline};
use reweave_report::{Style, explain, text};

use crate::output;

/// Tell the story of a finding: who ran when, step by step, up to the bug
#[derive(clap::Args)]
#[command(after_help = "Example:\n  reweave explain reweave-out/1")]
pub struct Args {
    #[arg(value_name = "DIR/ID")]
    finding: PathBuf,
    /// How many steps before the bug to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    steps: u64,
}

pub fn run(args: Args) -> i32 {
    match story(&args) {
        Ok(story) => output::print(|out| out.write_all(&story)),
        Err(error) => output::fail(&error),
    }
}

fn story(args: &Args) -> Result<Vec<u8>, Error> {
    let mut out = Vec::new();
    let folder = args.finding.parent().filter(|folder| !folder.as_os_str().is_empty());
    let id = args.finding.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok());
    if let (Some(folder), Some(id)) = (folder, id) {
        let report = pipeline::load_report(folder)?;
        if let Some(item) = report.findings.iter().find(|item| item.id == id) {
            // Writing to memory cannot fail.
            let _ = text::write_item(item, &folder.display().to_string(), Style { colour: false }, &mut out);
        }
    }
    let recording = Recording::open(&args.finding)?;
    let bug = match &recording.goal {
        Some(goal) => goal.steps_before(&recording.trace)?,
        None => None,
    };
    let _ = explain::write(&recording.trace, bug, args.steps, &mut out).map_err(|_| exit::INTERNAL);
    Ok(out)
}

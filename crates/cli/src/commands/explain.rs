//! `reweave explain`

use std::path::PathBuf;

use reweave_hunt::pipeline;
use reweave_launch::Error;
use reweave_report::view::ViewLimits;
use reweave_report::{Sources, Style, story, text};

use crate::front_ends::FRONT_ENDS;
use crate::{evidence, output};

/// Explain a finding: what happens, why it is possible, and what the recorded run did instead
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  reweave explain reweave-out/1\n  reweave explain reweave-out/1 --steps 40")]
pub struct Args {
    #[arg(value_name = "DIR/ID")]
    finding: PathBuf,
    /// Also list the steps of the run, from this many before the bug
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
}

pub fn run(args: Args) -> i32 {
    match explain(&args) {
        Ok(story) => output::print(|out| out.write_all(&story)),
        Err(error) => output::fail(&error),
    }
}

fn explain(args: &Args) -> Result<Vec<u8>, Error> {
    let not = |why: String| Error::NotReplayable { path: args.finding.clone(), why };
    let id = args.finding.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse::<u32>().ok());
    let Some(id) = id else { return Err(not("not a finding: name one like reweave-out/1".into())) };
    let folder = args.finding.parent().unwrap_or(std::path::Path::new(""));
    let report = pipeline::load_report(folder)?;
    let Some(item) = report.findings.iter().find(|item| item.id == id) else {
        let known: Vec<String> = report.findings.iter().map(|item| item.id.to_string()).collect();
        let known = if known.is_empty() { "there are none".into() } else { format!("there are {}", known.join(", ")) };
        return Err(not(format!("the report has no finding {id}: {known}")));
    };
    let evidence = evidence::of(item, folder, ViewLimits::default())?;
    if let Ok(Some(rebuilt)) = pipeline::rebuilt(FRONT_ENDS, folder, None) {
        eprintln!("reweave: {rebuilt}: this is about the recorded one; `reweave verify` tells what is left of it");
    }
    let mut out = Vec::new();
    // Writing to memory cannot fail.
    let page = text::Page {
        folder: &folder.display().to_string(),
        style: Style::for_stdout().with_detail(text::Detail::Full),
        sources: &Sources::default(),
        language: &report.language,
        findings: &report.findings,
    };
    let _ = page.write_item(item, &mut out);
    let _ = story::of_item(item, &evidence).write(&mut out);
    if let (Some(steps), Some(run)) = (args.steps, evidence.happening().or(evidence.observed.as_ref())) {
        let _ = story::write_steps(run, steps, &mut out);
    }
    Ok(out)
}

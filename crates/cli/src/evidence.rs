//! The runs behind findings, opened from the folder of a test.

use std::collections::BTreeMap;
use std::path::Path;

use reweave_launch::pipeline::RECORDING;
use reweave_launch::replay::Recording;
use reweave_launch::{Error, beside};
use reweave_report::view::{Evidence, Limits};
use reweave_report::{Item, Report};
use reweave_trace::Trace;

/// Rows of all views together: what a browser takes without complaint.
const ROWS: usize = 400_000;
const FEWEST: usize = 400;

/// What the runs show of one finding. A finding without a run of its own has only the recorded one.
pub fn of(item: &Item, folder: &Path, limits: Limits) -> Result<Evidence, Error> {
    let own = folder.join(item.id.to_string());
    let recording = if own.is_dir() { Some(Recording::open(&own)?) } else { None };
    let bug = match recording.as_ref().and_then(|recording| recording.goal.as_ref().zip(Some(recording))) {
        Some((goal, recording)) => goal.steps_before(&recording.trace)?,
        None => None,
    };
    let observed = observed(folder, recording.as_ref());
    let failing = recording.as_ref().map(|recording| (&recording.trace, bug));
    Ok(Evidence::of(item, failing, observed.as_ref(), limits)?)
}

/// The recorded run of the same process.
fn observed(folder: &Path, recording: Option<&Recording>) -> Option<Trace> {
    let root = folder.join(RECORDING);
    // `trace.rwt.2` is of the second process.
    let process = recording.and_then(|recording| recording.path.extension()?.to_str()?.parse::<u32>().ok());
    let path = process.map_or_else(|| root.clone(), |process| beside(&root, &process.to_string()));
    Trace::open(path).ok()
}

/// What the runs show of all findings. A run that cannot be read is left out, and said.
pub fn of_all(report: &Report, folder: &Path) -> BTreeMap<u32, Evidence> {
    let rows = (ROWS / (2 * report.findings.len()).max(1)).clamp(FEWEST, Limits::default().rows);
    let mut all = BTreeMap::new();
    for item in &report.findings {
        match of(item, folder, Limits { rows }) {
            Ok(evidence) => drop(all.insert(item.id, evidence)),
            Err(error) => eprintln!("reweave: warning: no view of finding {}: {error}", item.id),
        }
    }
    all
}

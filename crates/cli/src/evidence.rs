//! The runs behind findings, opened from the folder of a test.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use reweave_launch::confirm::OUTPUT;
use reweave_launch::pipeline::RECORDING;
use reweave_launch::replay::Recording;
use reweave_launch::{Error, beside};
use reweave_report::view::{Evidence, Limits};
use reweave_report::{Item, Report};
use reweave_trace::{Trace, reorder, schedule};

/// Rows of all views together: what a browser takes without complaint.
const ROWS: usize = 400_000;
const FEWEST: usize = 400;
/// Of what a program printed, its end says most: bytes that are looked at, and lines and columns that are shown.
const PRINTED: u64 = 4096;
const LINES: usize = 4;
const LONGEST_LINE: usize = 200;

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
    let mut evidence = Evidence::of(item, failing, observed.as_ref(), limits)?;
    evidence.printed = last_lines(&own.join(OUTPUT));
    if let (Some(witness), Some(observed)) = (&item.witness, &observed) {
        let schedule = schedule::load(folder.join(witness))?;
        if let Some(reordered) = reorder::along(observed, &schedule)? {
            evidence.predict(item, &reordered, limits)?;
        }
    }
    Ok(evidence)
}

/// The end of what a run printed, as text.
fn last_lines(path: &Path) -> Vec<String> {
    let mut printed = Vec::new();
    if let Ok(mut file) = File::open(path) {
        let length = file.metadata().map_or(0, |meta| meta.len());
        let _ = file.seek(SeekFrom::Start(length.saturating_sub(PRINTED)));
        let _ = file.take(PRINTED).read_to_end(&mut printed);
    }
    let text = String::from_utf8_lossy(&printed);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let shown = |line: &&str| line.chars().take(LONGEST_LINE).collect();
    lines[lines.len().saturating_sub(LINES)..].iter().map(shown).collect()
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

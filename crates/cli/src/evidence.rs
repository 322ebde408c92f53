//! The runs behind findings, opened from the folder of a test.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use reweave_hunt::confirm::OUTPUT;
use reweave_hunt::pipeline::RECORDING;
use reweave_hunt::replay::Recording;
use reweave_launch::Error;
use reweave_model::EventId;
use reweave_report::view::{Evidence, ViewLimits, build, marks};
use reweave_report::{Item, Report};
use reweave_spmd::host::{self, RANKS};
use reweave_trace::reorder::{self, Reordered};
use reweave_trace::{RunSet, Trace, schedule};

use crate::front_ends::FRONT_ENDS;

/// Rows of all views together: what a browser takes without complaint.
const ROWS: usize = 400_000;
const FEWEST: usize = 400;
/// Of what a program printed, its end says most: bytes that are looked at, and lines and columns that are shown.
const PRINTED: u64 = 4096;
const LINES: usize = 4;
const LONGEST_LINE: usize = 200;

/// What the runs show of one finding. A finding without a run of its own has only the recorded one.
pub fn of(item: &Item, folder: &Path, limits: ViewLimits) -> Result<Evidence, Error> {
    let own = folder.join(item.id.to_string());
    if folder.join(RANKS).is_dir() {
        // Ranks leave logs, not traces.
        let recording = host::Recording::open(folder)?;
        let observed = host::lanes(FRONT_ENDS, &recording, item, limits);
        let printed = last_lines(&own.join(OUTPUT));
        return Ok(Evidence { observed, observed_did_it: true, printed, ..Evidence::default() });
    }
    let recording = if own.is_dir() { Some(Recording::open(FRONT_ENDS, &own)?) } else { None };
    let goal = recording.as_ref().and_then(|recording| recording.goal.as_ref());
    // The accesses of the finding in a run that did it.
    let done = |run: &Trace| match goal {
        Some(goal) => Ok::<_, Error>(goal.occurrence(run)?.map(|occurrence| marks(occurrence.events))),
        None => Ok(None),
    };
    let mut evidence = Evidence { printed: last_lines(&own.join(OUTPUT)), ..Evidence::default() };
    if let Some(recording) = &recording {
        let marks = done(&recording.trace)?.unwrap_or_default();
        evidence.failing = Some(build(&recording.trace, &marks, limits)?);
    }
    let Some(observed) = observed(folder, recording.as_ref()) else { return Ok(evidence) };
    let found = || item.accesses.iter().map(|access| access.event.map(EventId));
    let did_it = done(&observed)?;
    evidence.observed_did_it = did_it.is_some();
    evidence.observed = Some(build(&observed, &did_it.unwrap_or_else(|| marks(found())), limits)?);
    if let Some(witness) = &item.witness {
        let schedule = schedule::load(folder.join(witness))?;
        if let Some(Reordered { trace, events }) = reorder::along(&observed, &schedule)? {
            let there = found().map(|event| events.get(&event?).copied());
            evidence.predict(&trace, &marks(there), limits)?;
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
    let place = recording.and_then(|recording| RunSet::of(&recording.path).place_of(&recording.path));
    let path = RunSet::of(&folder.join(RECORDING)).paths().nth(place.unwrap_or(0))?;
    Trace::open(path).ok()
}

/// What the runs show of all findings. A run that cannot be read is left out, and said.
pub fn of_all(report: &Report, folder: &Path) -> BTreeMap<u32, Evidence> {
    let rows = (ROWS / (2 * report.findings.len()).max(1)).clamp(FEWEST, ViewLimits::default().rows);
    let mut all = BTreeMap::new();
    for item in &report.findings {
        match of(item, folder, ViewLimits { rows }) {
            Ok(evidence) => drop(all.insert(item.id, evidence)),
            Err(error) => eprintln!("reweave: warning: no view of finding {}: {error}", item.id),
        }
    }
    all
}

//! The folder of a test.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use reweave_report::Report;
use reweave_trace::{Language, Trace};

use super::{RECORDING, REPORT, VERIFIED, WITNESS};
use crate::confirm;
use reweave_launch::{Error, Result};

/// Makes the folder, or empties one of an earlier run: only what such a run makes is removed. Returns the largest
/// number that is the name of something else in it.
pub fn prepare(folder: &Path) -> Result<u32> {
    if folder.exists() && !folder.is_dir() {
        let source = std::io::Error::other("it is a file, and a folder is needed");
        return Err(Error::Output { action: "use", path: folder.to_owned(), source });
    }
    fs::create_dir_all(folder).map_err(Error::output("create", folder))?;
    let entries = fs::read_dir(folder).map_err(Error::output("read", folder))?;
    let mut taken = 0;
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        let is_number = !name.is_empty() && name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        if is_number && path.join(confirm::COMMAND).exists() && path.join(confirm::SCHEDULE).exists() {
            fs::remove_dir_all(&path).map_err(Error::output("empty", &path))?;
        } else if let Some(number) = name.to_str().and_then(|name| name.parse().ok()) {
            taken = taken.max(number);
        } else if name.to_str().is_some_and(|name| name.starts_with(WITNESS) && name.ends_with(".rws")) {
            let _ = fs::remove_file(&path);
        }
    }
    let _ = fs::remove_file(folder.join(REPORT));
    let verified = folder.join(VERIFIED);
    if verified.join(RECORDING).exists() {
        let _ = fs::remove_dir_all(verified);
    }
    Ok(taken)
}

/// What the program of a test is written in: its recording says it.
pub fn language(folder: &Path) -> Arc<Language> {
    let recording = Trace::open(folder.join(RECORDING));
    Arc::new(recording.map_or_else(|_| Language::of_older_traces(), |trace| trace.language().clone()))
}

/// The report of an earlier test.
pub fn load_report(folder: &Path) -> Result<Report> {
    let path = folder.join(REPORT);
    let text = fs::read_to_string(&path).map_err(|source| Error::NotReplayable {
        path: path.clone(),
        why: format!("{source}: name the folder of a `reweave test`"),
    })?;
    let report = Report::from_json(&text).map_err(|why| Error::NotReplayable { path, why })?;
    Ok(Report { language: language(folder), ..report })
}

/// Writes the report into the folder of its test.
pub fn save_report(report: &Report, folder: &Path) -> Result<()> {
    let path = folder.join(REPORT);
    fs::write(&path, report.to_json()).map_err(Error::output("write", &path))
}

//! Everything that is known about the findings of a report: what the richer forms (HTML, SARIF, the trace view) are
//! made from.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::data::{Item, Report};
use crate::source::Sources;
use crate::view::Evidence;

#[derive(Debug)]
pub struct Dossier<'a> {
    pub report: &'a Report,
    /// Where the findings are, as the user names it: part of the commands that are shown.
    pub folder: String,
    /// The runs, by finding.
    pub evidence: BTreeMap<u32, Evidence>,
    pub sources: &'a Sources,
    /// Paths are shown as seen from here.
    pub root: PathBuf,
}

impl Dossier<'_> {
    pub fn evidence(&self, item: &Item) -> Evidence {
        self.evidence.get(&item.id).cloned().unwrap_or_default()
    }

    /// A path as seen from the root, or as it is.
    pub fn shown_path(&self, path: &str) -> String {
        let inside = std::path::Path::new(path).strip_prefix(&self.root);
        let shown = inside.map_or_else(|_| path.to_owned(), |inside| inside.display().to_string());
        shown.strip_prefix("./").map(str::to_owned).unwrap_or(shown)
    }

    /// The command that makes it happen again.
    pub fn replay_command(&self, item: &Item) -> Option<String> {
        item.schedule.as_ref().map(|_| format!("reweave replay {}/{}", self.folder, item.id))
    }
}

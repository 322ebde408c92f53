//! The report as data: the JSON of `report.json` and `--json`, field by field as the command line contract has it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Grows when a field changes its meaning or goes; new fields do not count.
pub const SCHEMA: u32 = 1;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Version of the tool.
    pub reweave: String,
    pub schema: u32,
    pub program: Vec<String>,
    pub findings: Vec<Item>,
    pub stats: BTreeMap<String, u64>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Item {
    pub id: u32,
    /// The same for the same bug in another run or build.
    pub fingerprint: String,
    pub kind: String,
    pub strength: String,
    pub analysis: String,
    pub summary: String,
    /// `declared`, `inferred`, or none.
    pub block: Option<String>,
    /// Where that block is.
    #[serde(default)]
    pub block_at: Option<BlockItem>,
    pub accesses: Vec<AccessItem>,
    pub witness: Option<String>,
    pub schedule: Option<String>,
    pub outcome: Option<String>,
    pub why_unconfirmed: Option<String>,
}

/// An atomic block.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockItem {
    /// What the program or the user calls it.
    pub label: Option<String>,
    pub enter: Location,
    pub exit: Location,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AccessItem {
    pub thread: u32,
    pub op: String,
    pub location: Location,
    /// Innermost call first, the location itself not included.
    pub stack: Vec<Location>,
    pub locks_held: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Location {
    pub file: String,
    pub line: u32,
    pub function: String,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.line == 0 {
            return f.write_str(&self.function);
        }
        write!(f, "{}:{} in {}", self.file, self.line, self.function)
    }
}

impl Report {
    /// Something that makes a run fail: confirmed or predicted, and no mere nondeterminism.
    pub fn has_findings(&self) -> bool {
        self.findings.iter().any(|item| item.strength != "potential" && item.kind != "nondeterminism")
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// # Errors
    /// What is wrong with the text, in words.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let report: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if report.schema > SCHEMA {
            return Err(format!("report schema {} is newer than this build ({SCHEMA}): upgrade", report.schema));
        }
        Ok(report)
    }
}

//! The report as data: the JSON of `report.json` and `--json`, field by field as the command line contract has it.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Grows when a field changes its meaning or goes; new fields do not count.
pub const SCHEMA: u32 = 1;

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    /// Version of the tool.
    pub reweave: String,
    pub schema: u32,
    pub program: Vec<String>,
    pub findings: Vec<Item>,
    pub stats: BTreeMap<String, u64>,
    /// What it was compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Against>,
}

/// An earlier report that this one was compared with.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Against {
    /// Its file, as it was named.
    pub file: String,
    /// What it had and this one has not.
    pub gone: Vec<Gone>,
}

/// A finding of an earlier report that is not there any more.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Gone {
    pub fingerprint: String,
    pub kind: String,
    pub summary: String,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
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
    /// Of a nondeterministic read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<ViewItem>,
    pub witness: Option<String>,
    pub schedule: Option<String>,
    pub outcome: Option<String>,
    /// How bad that is: `crash`, `hang`, `freed memory`, `status`, `output` or `nothing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harm: Option<String>,
    pub why_unconfirmed: Option<String>,
    /// Switches away from a thread that could have gone on, in the schedule that replays it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions: Option<u32>,
    /// What it took to confirm it, or to give up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tries: Option<Tries>,
    /// Why nobody wants to hear of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<String>,
    /// `new` or `known`, if it was compared with an earlier report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
}

impl Item {
    /// Neither suppressed nor known from before: somebody has to look at it.
    pub fn is_news(&self) -> bool {
        self.suppressed.is_none() && self.baseline.as_deref() != Some("known")
    }

    /// Proven, by a run or by a checked reordering.
    pub fn is_proven(&self) -> bool {
        self.strength != "potential"
    }

    /// No defect by itself.
    pub fn is_information(&self) -> bool {
        self.kind == "nondeterminism"
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tries {
    /// Runs of the program.
    pub attempts: u32,
    /// Which of them was the first in which it happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u32>,
    /// Those in which it happened.
    pub confirmations: u32,
    /// Threads that active testing paused, and those that it had to let go in vain.
    pub pauses: u32,
    pub thrashes: u32,
}

/// What a read returned, and what it can return instead. The numbers count the accesses from 1.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ViewItem {
    /// The variable, if it has a name.
    pub variable: String,
    /// None: what the memory holds when the run is over.
    pub read: Option<usize>,
    /// None: what was there at first.
    pub seen: Option<usize>,
    pub other: Option<usize>,
    /// What was read, and what would be, where it is known.
    pub seen_value: Option<u64>,
    pub other_value: Option<u64>,
    /// `choice`, `output`, `failure`, `nothing` or `unknown`: what follows the read without another choice.
    pub feeds: String,
}

/// An atomic block.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BlockItem {
    /// What the program or the user calls it.
    pub label: Option<String>,
    pub enter: Location,
    pub exit: Location,
}

#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AccessItem {
    pub thread: u32,
    pub op: String,
    /// In the program's own code, where it has a part in it.
    pub location: Location,
    /// Frames of libraries that the location calls and in which it happens, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub through: Vec<Location>,
    /// Innermost call first, the location itself not included.
    pub stack: Vec<Location>,
    pub locks_held: Vec<String>,
    /// The event of the recorded run that this was found from. What else is said here is said of the run that did it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<u64>,
}

impl AccessItem {
    /// Every frame, innermost first.
    pub fn frames(&self) -> impl Iterator<Item = &Location> {
        self.through.iter().chain([&self.location]).chain(&self.stack)
    }

    /// Where the machine really is.
    pub fn innermost(&self) -> &Location {
        self.through.first().unwrap_or(&self.location)
    }

    /// The function of a library that the program's own code calls there: `std::vector<int>::push_back`.
    pub fn library_function(&self) -> Option<&str> {
        self.through.last().map(|frame| frame.function.as_str())
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Location {
    pub file: String,
    pub line: u32,
    pub function: String,
}

impl Location {
    /// `bank.c:14 deposit`, or what is known of it.
    pub fn short(&self) -> String {
        match self.line {
            0 => self.function.clone(),
            line => format!("{}:{line} {}", crate::describe::file_name(&self.file), self.function),
        }
    }
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
    /// Something that makes a run fail: confirmed or predicted, no mere nondeterminism, and neither suppressed nor known.
    pub fn has_findings(&self) -> bool {
        self.findings.iter().any(|item| item.is_proven() && item.is_news() && !item.is_information())
    }

    /// A read that can see another write, proven: a failure only for who says so.
    pub fn has_nondeterminism(&self) -> bool {
        self.findings.iter().any(|item| item.is_proven() && item.is_news() && item.is_information())
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

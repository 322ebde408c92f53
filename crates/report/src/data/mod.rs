//! The report as data: the JSON of `report.json` and `--json`, field by field as the command line contract has it.

mod facts;
mod operation;

use std::collections::BTreeMap;
use std::sync::Arc;

use reweave_model::{BlockSource, Feeds, Harm, Kind, Novelty, Strength, TurningPoint};
use reweave_trace::Language;
use serde::{Deserialize, Serialize};

use crate::memory::MemoryItem;
use crate::pattern::Pattern;
use crate::related;

pub use facts::{Facts, RECORDED_RUN};
pub(crate) use facts::{MEMORY_ORDER, RACE_ON, UNJOINED};
pub use operation::{HeldLock, Operation};

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
    /// Why no findings mean nothing: the program, or the trace, was not looked at, or not to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unchecked: Option<String>,
    /// Findings that are one bug to people: made anew from the findings whenever a report is written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bugs: Vec<Bug>,
    /// What it was compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<ComparedReport>,
    /// What an analysis of the program's text says about differences between runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub determinism: Option<crate::determinism::Determinism>,
    /// What the program is written in. The traces of the runs say it, not the report.
    #[serde(skip)]
    pub language: Arc<Language>,
}

/// Findings with one cause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Bug {
    /// Of the strongest of them.
    pub summary: String,
    pub fingerprint: String,
    /// What such a bug is called, if it has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// By id, that one first.
    pub findings: Vec<u32>,
}

/// An earlier report that this one was compared with.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ComparedReport {
    /// Its file, as it was named.
    pub file: String,
    /// What it had and this one has not.
    pub gone: Vec<GoneFinding>,
}

/// A finding of an earlier report that is not there any more.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GoneFinding {
    pub fingerprint: String,
    pub kind: Kind,
    pub summary: String,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Item {
    pub id: u32,
    /// The same for the same bug in another run or build.
    pub fingerprint: String,
    pub kind: Kind,
    pub strength: Strength,
    pub analysis: String,
    pub summary: String,
    pub block: Option<BlockSource>,
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
    /// How bad that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harm: Option<Harm>,
    /// What the run that did it turned on, if that has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurningPoint>,
    pub why_unconfirmed: Option<String>,
    /// Switches away from a thread that could have gone on, in the schedule that replays it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preemptions: Option<u32>,
    /// What it took to confirm it, or to give up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tries: Option<AttemptCounts>,
    /// Why nobody wants to hear of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<String>,
    /// If it was compared with an earlier report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<Novelty>,
    /// Of an analysis of the program's text: no run was looked at.
    #[serde(default, rename = "static", skip_serializing_if = "Option::is_none")]
    pub of_text: Option<StaticItem>,
    #[serde(skip)]
    pub facts: Facts,
}

/// What an analysis of the program's text says beside the places.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct StaticItem {
    /// Why the places go together, in words.
    pub why: String,
}

impl Item {
    /// Of which nothing else is known yet.
    pub fn new(kind: Kind, strength: Strength) -> Self {
        Self {
            id: 0,
            fingerprint: String::new(),
            kind,
            strength,
            analysis: String::new(),
            summary: String::new(),
            block: None,
            block_at: None,
            accesses: Vec::new(),
            view: None,
            witness: None,
            schedule: None,
            outcome: None,
            harm: None,
            turn: None,
            why_unconfirmed: None,
            preemptions: None,
            tries: None,
            suppressed: None,
            baseline: None,
            of_text: None,
            facts: Facts::default(),
        }
    }

    /// Neither suppressed nor known from before: somebody has to look at it.
    pub fn is_news(&self) -> bool {
        self.suppressed.is_none() && self.baseline != Some(Novelty::Known)
    }

    /// Proven, by a run or by a checked reordering.
    pub fn is_proven(&self) -> bool {
        self.strength > Strength::Potential
    }

    /// No defect by itself.
    pub fn is_information(&self) -> bool {
        self.kind == Kind::Nondeterminism
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct AttemptCounts {
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
    /// What follows the read without another choice.
    pub feeds: Feeds,
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
    /// Of a run with several processes; none: the one there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// The number of its process among those that were started together to do the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    pub thread: u32,
    /// What the program calls the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_name: Option<String>,
    pub op: Operation,
    /// In the program's own code, where it has a part in it.
    pub location: Location,
    /// Frames of libraries that the location calls and in which it happens, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub through: Vec<Location>,
    /// Innermost call first, the location itself not included.
    pub stack: Vec<Location>,
    pub locks_held: Vec<HeldLock>,
    /// What it touched, if it is an access of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryItem>,
    /// The event of the recorded run that this was found from. What else is said here is said of the run that did it,
    /// if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<u64>,
}

impl AccessItem {
    /// `thread 2`, with its name if it has one, and its process where there are several; of ranks the first thread is
    /// meant.
    pub fn thread_label(&self) -> String {
        let name = self.thread_name.as_ref().map_or_else(String::new, |name| format!(" ({name})"));
        let thread = format!("thread {}{name}", self.thread);
        match (self.rank, self.process) {
            (Some(rank), _) if self.thread == 0 => format!("rank {rank}"),
            (Some(rank), _) => format!("{thread} of rank {rank}"),
            (None, Some(process)) => format!("{thread} of process {process}"),
            (None, None) => thread,
        }
    }

    /// The locks held, in words.
    pub(crate) fn held(&self) -> String {
        self.locks_held.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

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

impl From<&reweave_model::Place> for Location {
    fn from(place: &reweave_model::Place) -> Self {
        Self { file: place.file.clone(), line: place.line, function: place.function.clone() }
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
    /// Something that makes a run fail: confirmed or predicted, no mere nondeterminism, and neither suppressed nor
    /// known.
    pub fn has_findings(&self) -> bool {
        self.findings.iter().any(|item| item.is_proven() && item.is_news() && !item.is_information())
    }

    /// A read that can see another write, proven: a failure only for who says so.
    pub fn has_nondeterminism(&self) -> bool {
        self.findings.iter().any(|item| item.is_proven() && item.is_news() && item.is_information())
    }

    pub fn to_json(&self) -> String {
        let report = Self { bugs: related::bugs(&self.findings), ..self.clone() };
        serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"
    }

    /// # Errors
    /// What is wrong with the text, in words.
    pub fn from_json(text: &str) -> Result<Self, String> {
        let mut report: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if report.schema > SCHEMA {
            return Err(format!("report schema {} is newer than this build ({SCHEMA}): upgrade", report.schema));
        }
        for item in &mut report.findings {
            item.facts = Facts::read(item);
        }
        Ok(report)
    }
}

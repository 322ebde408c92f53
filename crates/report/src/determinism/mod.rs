//! What an analysis of a program's text says about differences between runs: the section `determinism` of a report.

mod text;

pub use text::{TextOptions, write};

use serde::{Deserialize, Serialize};

/// What is said without running anything. The order is that of what worries people.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Cannot differ, under the listed assumptions.
    #[default]
    Proved,
    /// May differ; a run may confirm it.
    CanDiffer,
    /// Something that is not understood may touch it.
    Unknown,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Determinism {
    pub threads: Vec<ThreadItem>,
    pub locations: Vec<LocationItem>,
    pub outputs: Vec<OutputItem>,
    pub required: Vec<RequiredItem>,
    pub not_understood: Vec<NotUnderstood>,
    pub assumptions: Vec<String>,
    /// Why the analysis did not end; what it says then is still true, and less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gave_up: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ThreadItem {
    pub name: String,
    /// None of the main thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<String>,
    /// Stands for more than one thread of a run.
    pub many: bool,
}

/// Why a value is the same although its source is not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Same {
    Constant,
    OrderFree,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LocationItem {
    /// `Account.amount`, `Bank.accounts[]`.
    pub name: String,
    /// Where the object is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    pub verdict: Verdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<Same>,
    /// Those that can differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<ReadItem>,
    /// Two accesses that no lock keeps apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub race: Option<[AccessAt; 2]>,
    /// Whether all values are in one class of the partition that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weak: Option<bool>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct AccessAt {
    pub file: String,
    pub line: u32,
    pub function: String,
    /// The thread.
    pub by: String,
    pub writes: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// Two accesses here have no order.
    #[default]
    Choice,
    /// It depends on a choice made elsewhere.
    Derived,
    Unknown,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ReadItem {
    pub at: AccessAt,
    /// When the program ends, everything is read once more.
    pub is_end: bool,
    /// What it may return, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sees: Option<String>,
    pub sources: Vec<AccessAt>,
    pub why: Why,
    /// Two accesses without an order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<[AccessAt; 2]>,
    /// A lock keeps them apart.
    pub locked: bool,
    /// Of what is derived: what of it, and from which choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub derived: Option<DerivedFrom>,
}

/// What about a read or a write derives from a choice made elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Manner {
    /// What is written.
    #[default]
    Value,
    /// Whether it is executed.
    Executed,
    /// Which object or element it is about.
    Place,
    /// Whether the program ends before.
    Ends,
}

/// The first reason that was found.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct DerivedFrom {
    pub manner: Manner,
    /// The write that the read may see; none if it is about the read itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<AccessAt>,
    /// Where it begins; none where the program just ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<ChoiceAt>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChoiceKind {
    /// A read that may see several writes.
    #[default]
    Read,
    /// The order of threads decides what a library call returns.
    Call,
    /// The name or the number of a thread.
    ThreadName,
    /// A call fails, or does not.
    Throws,
    /// What is gone through is changed meanwhile, or not.
    Changed,
    /// Threads share what they must not share.
    Race,
    /// A task is cancelled, or not.
    Cancels,
    /// Code that is not understood.
    NotUnderstood,
    /// A read of what code that is not understood may touch.
    Touched,
}

/// Where a chain of dependences begins.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChoiceAt {
    pub kind: ChoiceKind,
    pub at: AccessAt,
    /// The location that is read, what is called, or what is not understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Of what unknown code may touch: this is not understood.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<NotUnderstood>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct OutputItem {
    pub at: AccessAt,
    pub verdict: Verdict,
    /// What is printed, or whether, depends on a choice.
    pub tainted: bool,
    /// On this one, as far as that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<ChoiceAt>,
    /// May come before or after this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<AccessAt>,
    /// The program may be over before.
    pub outlived: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct RequiredItem {
    /// As it was asked.
    pub what: String,
    pub verdict: Verdict,
    /// Locations or outputs that stand in the way.
    pub because: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
pub struct NotUnderstood {
    pub what: String,
    pub at: String,
}

impl AccessAt {
    pub fn short(&self) -> String {
        match self.line {
            0 => self.file.clone(),
            line => format!("{}:{line}", self.file),
        }
    }
}

impl Determinism {
    /// Whether everything that was required is proved.
    pub fn is_satisfied(&self) -> bool {
        self.required.iter().all(|required| required.verdict == Verdict::Proved)
    }
}

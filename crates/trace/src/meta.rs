//! What stands around the events: how the run was started ([`Meta`]) and how it ended ([`Footer`]). Both are stored as
//! JSON, so that fields can be added without a new format version; fields a newer build added are kept in `other`.

use std::collections::BTreeMap;

use crate::language::Language;
use reweave_model::wire::kind;
use serde::{Deserialize, Serialize};

/// Address-space randomisation during the run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aslr {
    Off,
    On,
    #[default]
    #[serde(other)]
    Unknown,
}

#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    /// The program and its arguments.
    pub program: Vec<String>,
    pub cwd: String,
    /// The part of the environment that a replay needs.
    pub env: BTreeMap<String, String>,
    pub seed: u64,
    pub policy: String,
    /// Seconds since 1970 at the start of the run.
    pub started: u64,
    /// The version of the tool that recorded.
    pub tool: String,
    pub pid: u32,
    pub aslr: Aslr,
    /// False: built without the compiler wrapper, so only lock-level events are there.
    pub instrumented: bool,
    /// Where what the program read from stdin was kept, if it was.
    pub stdin: Option<String>,
    /// True for traces without values and branches (imported ones): every write has its own value and every event is
    /// preceded by a branch.
    pub abstract_values: bool,
    /// True if every branch and every data-dependent operand is a `Branch` event; otherwise the code tells.
    pub explicit_branches: bool,
    /// What the program is written in; `None` in traces from before there was more than one front end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

/// How the recorded process ended.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "how")]
pub enum Outcome {
    Exited {
        status: i32,
    },
    Signalled {
        signal: i32,
        #[serde(default)]
        core: bool,
    },
    /// No thread could ever move again.
    Hung,
    /// Recording stopped before the program did (full disk, size limit).
    Stopped {
        why: String,
    },
    /// The process went on as another program.
    Exec,
    #[default]
    #[serde(other)]
    Unknown,
}

/// Begin and end of the words of the command line, among what a trace knows of its process.
pub const ARGUMENTS: &str = "arguments";
/// Under this name a trace tells which build of its program ran: `build id …` or `content …`.
pub const BUILD: &str = "build";

/// Marks, in the footer, a trace that ends before its program did.
pub const PARTIAL: &str = "partial";

#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Footer {
    pub outcome: Outcome,
    /// Shown to the user with the trace.
    pub warnings: Vec<String>,
    /// Filled in by the writer.
    pub events: u64,
    /// Records by kind, filled in by the writer.
    pub kinds: BTreeMap<String, u64>,
    #[serde(flatten)]
    pub other: BTreeMap<String, serde_json::Value>,
}

impl Footer {
    /// How many records of a kind (see [`kind`]) there are.
    pub fn count_of(&self, kind: u8) -> u64 {
        self.kinds.get(kind::name(kind)).copied().unwrap_or(0)
    }
}

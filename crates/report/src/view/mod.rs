//! One run as people look at it: a lane per thread, time downwards, who held which lock, and what ordered what. The
//! HTML view, the story of `explain`, the thread flows of SARIF and the trace view are all made from this.
//!
//! Memory follows what is shown, not the length of the run: of a run that is too long, the surroundings of the accesses
//! in question are kept, and what lies between is one row that counts.

mod build;
mod links;
mod phrase;

use std::collections::BTreeMap;

use reweave_model::{EventId, OpKind};
use reweave_trace::{Result, Trace};
use serde::Serialize;

use crate::data::Location;

pub(crate) use build::cut;
pub use build::{ViewLimits, build};

/// One run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Run {
    pub lanes: Vec<Lane>,
    pub rows: Vec<Row>,
    /// What ordered what, between rows that are shown.
    pub links: Vec<Link>,
    /// Who held which lock.
    pub bars: Vec<Bar>,
    /// Steps of the whole run, shown or not.
    pub steps: u64,
    /// How it ended, in words.
    pub outcome: String,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Lane {
    /// `T1`
    pub label: String,
    /// What the program calls the thread, or the function that it started in.
    pub name: String,
    pub thread: u32,
}

/// One line of the view.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub enum Row {
    Step(Box<Step>),
    /// Steps that are not shown.
    Fold {
        steps: u64,
        threads: u32,
    },
}

impl Row {
    pub const fn step(&self) -> Option<&Step> {
        match self {
            Self::Step(step) => Some(step),
            Self::Fold { .. } => None,
        }
    }
}

/// What an operation is, coarsely: people look for accesses and synchronization.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    Read,
    Write,
    /// Reads and writes at once.
    Update,
    Sync,
    /// A thread waits from here on.
    Wait,
    /// The end of the run: an exit, a fatal signal, a hang.
    End,
    Other,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Step {
    /// The event of the trace.
    pub event: u64,
    /// Counted from 1 over the run, as schedules count; what is no step has the number of the one before it.
    pub number: u64,
    pub thread: u32,
    pub class: Class,
    /// The name of the operation, as `inspect --kind` takes it.
    pub kind: OpKind,
    /// Of the end of the run: that nothing went wrong.
    pub is_normal_exit: bool,
    /// `read balance = 100`
    pub what: String,
    /// The variable or object it is about, if there is one.
    pub object: String,
    /// Whether that is what the program calls it, and no bare address.
    pub has_name: bool,
    /// What was read or written, where it is known.
    pub value: Option<String>,
    /// Of an access: two fields can have one name.
    #[serde(skip)]
    pub address: Option<u64>,
    pub place: Location,
    /// The function of a library that this place calls and in which it happens; empty for most.
    pub through: String,
    /// Innermost call first, the place itself not included.
    pub stack: Vec<Location>,
    /// The number of the access of the finding that this is.
    pub mark: Option<usize>,
    /// Locks that the thread holds right before it.
    pub locks: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum LinkKind {
    Fork,
    Join,
    Lock,
    Notify,
    Barrier,
    Semaphore,
    Message,
    Once,
    /// A read that sees a write of another thread, of memory the finding is about.
    Data,
}

/// From one row to a later one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Link {
    pub kind: LinkKind,
    // invariant: from < to < rows.len()
    pub from: usize,
    pub to: usize,
}

/// A lock held, over rows.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Bar {
    pub thread: u32,
    pub lock: String,
    pub shared: bool,
    /// The first and the last row; at the end of the run it may still be held.
    pub from: usize,
    pub to: usize,
}

impl Run {
    /// The rows that are accesses of the finding, by their number.
    pub fn marked(&self) -> BTreeMap<usize, usize> {
        let marked = self.rows.iter().enumerate().filter_map(|(at, row)| Some((row.step()?.mark?, at)));
        marked.collect()
    }

    /// All steps that are shown.
    pub fn shown(&self) -> impl Iterator<Item = &Step> {
        self.rows.iter().filter_map(Row::step)
    }

    /// `T1`, or `T1 deposit` where the thread has a name.
    pub fn thread_name(&self, thread: u32) -> String {
        match self.lanes.iter().find(|lane| lane.thread == thread) {
            Some(lane) if !lane.name.is_empty() => format!("{} ({})", lane.label, lane.name),
            _ => format!("T{thread}"),
        }
    }
}

/// How a predicted order ends, in words that follow `it`.
const PREDICTED: &str = "is predicted up to here";

/// Numbers of accesses, from 1, by event.
pub type Marks = BTreeMap<EventId, usize>;

/// The events of a run that are the accesses of a finding, in its order; none where the run does not have it.
pub fn marks(events: impl IntoIterator<Item = Option<EventId>>) -> Marks {
    events.into_iter().zip(1..).filter_map(|(event, number)| Some((event?, number))).collect()
}

/// A finding with the runs that show it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// The run that did it.
    pub failing: Option<Run>,
    /// The recorded run, and whether it did it, too.
    pub observed: Option<Run>,
    pub observed_did_it: bool,
    /// The recorded run in the order in which it was predicted to happen, where no run did it.
    pub predicted: Option<Run>,
    /// The last lines of what the run that did it printed, where that was kept.
    pub printed: Vec<String>,
}

impl Evidence {
    /// The order in which it was predicted; `reordered` is the recorded run along the witness.
    pub fn predict(&mut self, reordered: &Trace, marks: &Marks, limits: ViewLimits) -> Result<()> {
        let mut run = build(reordered, marks, limits)?;
        run.outcome = PREDICTED.into();
        self.predicted = Some(run);
        Ok(())
    }

    /// The run in which it happens: one that did it, or the order that was predicted.
    pub fn happening(&self) -> Option<&Run> {
        self.failing.as_ref().or(self.predicted.as_ref())
    }
}

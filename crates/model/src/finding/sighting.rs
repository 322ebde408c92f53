//! Findings made while the program runs.

use super::{AccessOp, Accessor, Finding, Kind, OpName, Strength};
use crate::analysis::AnalysisId;
use crate::event::BlockedOn;
use crate::ids::{Addr, EventId, ObjectId, Pc, StackId, ThreadId};

/// A finding made while the program runs. There is no trace to look things up in, so it carries all there is to say.
#[derive(Clone, PartialEq, Debug)]
pub struct Sighting {
    pub kind: Kind,
    pub strength: Strength,
    pub analysis: AnalysisId,
    /// A race by the theory of the analysis, although no witness was made and checked.
    pub certain: bool,
    pub accesses: Vec<Sighted>,
}

/// One of the accesses of a [`Sighting`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sighted {
    pub event: EventId,
    pub thread: ThreadId,
    pub pc: Pc,
    /// Innermost call first.
    pub stack: Vec<Pc>,
    pub op: OpName,
    pub addr: Option<Addr>,
    /// What it waits for if it waits.
    pub awaits: Option<(BlockedOn, ObjectId)>,
    /// Each with where it was taken.
    pub locks_held: Vec<(ObjectId, Pc)>,
    /// False if the access itself was too long ago: then the rest is that of the last known one at the same place.
    pub exact: bool,
}

impl Sighting {
    /// What it has in common with findings of a trace. Stacks and locks stay here: no trace has them.
    pub fn finding(&self) -> Finding {
        let accessor = |access: &Sighted| Accessor {
            event: access.event,
            process: None,
            thread: access.thread,
            pc: access.pc,
            stack: StackId::default(),
            op: AccessOp::Does(access.op),
            locks_held: Vec::new(),
        };
        let accesses = self.accesses.iter().map(accessor).collect();
        Finding::new(self.kind, self.strength, self.analysis, accesses)
    }
}

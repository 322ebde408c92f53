//! Findings are data; only the report crate makes text of them.

use crate::ids::{EventId, Pc, StackId, ThreadId};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    Race,
    Deadlock,
    Atomicity,
    Nondeterminism,
    Failure,
    Misuse,
}

/// `Confirmed` (an execution did it) > `Predicted` (a checked witness) > `Potential` (a pattern).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strength {
    Potential,
    Predicted,
    Confirmed,
}

/// A source position, resolved.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Place {
    pub file: String,
    pub line: u32,
    pub function: String,
}

/// One of the accesses (or lock operations) a finding is about.
#[derive(Clone, PartialEq, Debug)]
pub struct Accessor {
    pub event: EventId,
    pub thread: ThreadId,
    pub pc: Pc,
    pub stack: StackId,
    pub op: String,
    pub locks_held: Vec<EventId>,
}

/// Per-thread prefix lengths in steps plus the order in which they run: never a copy of the trace.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Witness {
    pub schedule: crate::schedule::Schedule,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    pub kind: Kind,
    pub strength: Strength,
    pub analysis: &'static str,
    pub accesses: Vec<Accessor>,
    /// Of an atomicity violation: the block that is not atomic.
    pub block: Option<AtomicBlock>,
    /// A race only by the memory model: the accesses are ordered by atomics that are too weak to order them.
    pub weak_order: bool,
    pub witness: Option<Witness>,
}

/// Code that should run as if in one step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct AtomicBlock {
    /// By the program or by the user; otherwise it was guessed from the code.
    pub declared: bool,
    pub enter: Pc,
    pub exit: Pc,
    /// What the program or the user calls it.
    pub label: Option<String>,
}

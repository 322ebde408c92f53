//! Findings are data; only the report crate makes text of them.

use crate::ids::{Addr, EventId, ObjectId, Pc, StackId, ThreadId};

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
    /// A race only by the memory model: the accesses are ordered by atomics that are too weak to order them.
    pub weak_order: bool,
    pub witness: Option<Witness>,
}

/// A finding made while the program runs. There is no trace to look things up in, so that it carries all there is to say.
#[derive(Clone, PartialEq, Debug)]
pub struct Sighting {
    pub kind: Kind,
    pub strength: Strength,
    pub analysis: &'static str,
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
    pub op: &'static str,
    pub addr: Option<Addr>,
    /// Each with where it was taken.
    pub locks_held: Vec<(ObjectId, Pc)>,
    /// False if the access itself was too long ago: then the rest is that of the last known one at the same place.
    pub exact: bool,
}

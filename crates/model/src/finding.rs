//! Findings are data; only the report crate makes text of them.

use crate::analysis::AnalysisId;
use crate::event::BlockedOn;
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
    pub analysis: AnalysisId,
    pub accesses: Vec<Accessor>,
    /// Of an atomicity violation: the block that is not atomic.
    pub block: Option<AtomicBlock>,
    /// A race only by the memory model: the accesses are ordered by atomics that are too weak to order them.
    pub weak_order: bool,
    /// Of a nondeterministic read.
    pub view: Option<View>,
    pub witness: Option<Witness>,
}

/// What a read returned, and what it can return instead. The numbers are places in [`Finding::accesses`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// `None`: what the memory holds when everything is over.
    pub read: Option<usize>,
    /// The write that it saw in the trace; `None`: what was there at first.
    pub seen: Option<usize>,
    /// The write that it can see instead; `None`: what was there at first.
    pub other: Option<usize>,
    /// What these put there, where it is known and fits into a word.
    pub seen_value: Option<u64>,
    pub other_value: Option<u64>,
    pub feeds: Feeds,
}

/// What becomes of a value that was read, as far as the trace can tell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Feeds {
    Unknown,
    /// The thread goes on without choosing its way until it ends or leaves the code that is known.
    Nothing,
    /// A branch or a computed address follows.
    Choice,
    /// Something goes out of the program before any choice.
    Output,
    /// The run fails before any choice.
    Failure,
}

impl Finding {
    pub const fn new(kind: Kind, strength: Strength, analysis: AnalysisId, accesses: Vec<Accessor>) -> Self {
        Self { kind, strength, analysis, accesses, block: None, weak_order: false, view: None, witness: None }
    }

    /// With a witness that the checker accepted; one that passes something doubtful proves nothing.
    pub const fn predicted(
        kind: Kind,
        doubtful: bool,
        analysis: AnalysisId,
        accesses: Vec<Accessor>,
        witness: Witness,
    ) -> Self {
        let strength = if doubtful { Strength::Potential } else { Strength::Predicted };
        Self { kind, strength, analysis, accesses, block: None, weak_order: false, view: None, witness: Some(witness) }
    }
}

/// A finding made while the program runs. There is no trace to look things up in, so that it carries all there is to say.
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
    pub op: &'static str,
    pub addr: Option<Addr>,
    /// What it waits for if it waits.
    pub awaits: Option<(BlockedOn, ObjectId)>,
    /// Each with where it was taken.
    pub locks_held: Vec<(ObjectId, Pc)>,
    /// False if the access itself was too long ago: then the rest is that of the last known one at the same place.
    pub exact: bool,
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

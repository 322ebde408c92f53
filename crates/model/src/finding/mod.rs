//! Findings are data; only the report crate makes text of them.

mod operation;
mod sighting;

use std::sync::Arc;

use crate::analysis::AnalysisId;
use crate::ids::{EventId, Pc, ProcessId, StackId, ThreadId};
use crate::named::named;
use crate::schedule::{Schedule, Segment};

pub use operation::{AccessOp, Awaited, OpName};
pub use sighting::{Sighted, Sighting};

named! {
    pub enum Kind {
        Race = "race",
        Deadlock = "deadlock",
        Atomicity = "atomicity",
        Nondeterminism = "nondeterminism",
        Failure = "failure",
        Misuse = "misuse",
    }
}

named! {
    /// `Confirmed` (an execution did it) > `Predicted` (a checked witness) > `Potential` (a pattern).
    pub enum Strength {
        Potential = "potential",
        Predicted = "predicted",
        Confirmed = "confirmed",
    }
}

named! {
    /// How bad the end of a run is; the worst first.
    pub enum Harm {
        Crash = "crash",
        Hang = "hang",
        FreedMemory = "freed memory",
        Status = "status",
        OtherOutput = "output",
        Nothing = "nothing",
    }
}

named! {
    /// What a run that went wrong turned on.
    pub enum TurningPoint {
        /// A notify found nobody waiting, and somebody waits for it since.
        NotifyTooEarly = "notify too early",
        /// A notify woke one thread, and another one still waits.
        NotifyForAnother = "notify for another",
        /// A pointer was changed and changed back while a thread took it for unchanged.
        Aba = "aba",
    }
}

named! {
    /// What becomes of a value that was read, as far as the trace can tell.
    pub enum Feeds {
        Unknown = "unknown",
        /// The thread goes on without choosing its way until it ends or leaves the code that is known.
        Nothing = "nothing",
        /// A branch or a computed address follows.
        Choice = "choice",
        /// Something goes out of the program before any choice.
        Output = "output",
        /// The run fails before any choice.
        Failure = "failure",
    }
}

named! {
    /// Who says that a block should be atomic.
    pub enum BlockSource {
        /// The program or the user.
        Declared = "declared",
        /// It was guessed from the code.
        Inferred = "inferred",
    }
}

named! {
    /// Whether an earlier report had a finding already.
    pub enum Novelty {
        New = "new",
        Known = "known",
    }
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
    /// Of a run with several processes; `None`: the one there is.
    pub process: Option<ProcessId>,
    pub thread: ThreadId,
    pub pc: Pc,
    pub stack: StackId,
    pub op: AccessOp,
    pub locks_held: Vec<EventId>,
}

/// One of the accesses that an analysis of the program's text names: no run made it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StaticAccess {
    pub process: Option<ProcessId>,
    /// Threads that may be different ones have different numbers.
    pub thread: ThreadId,
    pub op: OpName,
    pub place: Place,
    /// The calls that lead there, innermost first.
    pub callers: Vec<Place>,
    /// Names of locks that are held whenever it is made.
    pub locks_held: Vec<String>,
}

/// Per-thread prefix lengths in steps plus the order in which they run: never a copy of the trace. What runs as it was
/// recorded is shared by all witnesses of a trace.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Witness {
    recorded: Arc<Schedule>,
    /// So much of it runs first.
    before: SchedulePrefix,
    then: Vec<Segment>,
}

/// The first part of a schedule.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct SchedulePrefix {
    /// Segments.
    whole: usize,
    /// The one after them as far as it came.
    last: Option<Segment>,
}

impl SchedulePrefix {
    /// All of a schedule that still grows.
    pub fn so_far(schedule: &Schedule) -> Self {
        Self { whole: schedule.segments.len().saturating_sub(1), last: schedule.segments.last().copied() }
    }
}

impl Witness {
    /// Nothing of it is recorded.
    pub fn new(schedule: Schedule) -> Self {
        Self { before: SchedulePrefix::so_far(&schedule), recorded: Arc::new(schedule), then: Vec::new() }
    }

    pub fn after(recorded: Arc<Schedule>, before: SchedulePrefix, then: Vec<Segment>) -> Self {
        Self { recorded, before, then }
    }

    pub fn schedule(&self) -> Schedule {
        let SchedulePrefix { whole, last } = self.before;
        let segments = self.recorded.segments[..whole].iter().chain(&last).copied().collect();
        let mut schedule = Schedule { threads: self.recorded.threads.clone(), segments };
        self.then.iter().for_each(|segment| schedule.push(segment.thread, segment.steps));
        schedule
    }
}

/// What shows a finding.
#[derive(Clone, PartialEq, Debug)]
pub enum Evidence {
    /// Events of a recorded run.
    Dynamic {
        accesses: Vec<Accessor>,
        /// A schedule that leads there, if one was found and checked.
        witness: Option<Witness>,
    },
    /// Places of the program's text, and why they go together; there is no run and no schedule.
    Static { places: Vec<StaticAccess>, why: String },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    pub kind: Kind,
    pub strength: Strength,
    pub analysis: AnalysisId,
    pub evidence: Evidence,
    /// Of an atomicity violation: the block that is not atomic.
    pub block: Option<AtomicBlock>,
    /// A race only by the memory model: the accesses are ordered by atomics that are too weak to order them.
    pub weak_order: bool,
    /// Of a nondeterministic read.
    pub view: Option<View>,
}

/// What a read returned, and what it can return instead. The numbers are places in [`Finding::accesses`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// `None`: what the memory holds when everything is over.
    pub read: Option<usize>,
    /// The write that it saw in the trace; `None`: the initial value.
    pub seen: Option<usize>,
    /// The write that it can see instead; `None`: the initial value.
    pub other: Option<usize>,
    /// What these put there, where it is known and fits into a word.
    pub seen_value: Option<u64>,
    pub other_value: Option<u64>,
    pub feeds: Feeds,
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

impl AtomicBlock {
    pub const fn source(&self) -> BlockSource {
        if self.declared { BlockSource::Declared } else { BlockSource::Inferred }
    }
}

impl Finding {
    pub const fn new(kind: Kind, strength: Strength, analysis: AnalysisId, accesses: Vec<Accessor>) -> Self {
        Self::with_evidence(kind, strength, analysis, Evidence::Dynamic { accesses, witness: None })
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
        let evidence = Evidence::Dynamic { accesses, witness: Some(witness) };
        Self::with_evidence(kind, strength, analysis, evidence)
    }

    /// Of the program's text: without a run nothing is more than potential.
    pub const fn of_text(kind: Kind, analysis: AnalysisId, places: Vec<StaticAccess>, why: String) -> Self {
        Self::with_evidence(kind, Strength::Potential, analysis, Evidence::Static { places, why })
    }

    const fn with_evidence(kind: Kind, strength: Strength, analysis: AnalysisId, evidence: Evidence) -> Self {
        Self { kind, strength, analysis, evidence, block: None, weak_order: false, view: None }
    }

    /// Events of a run; none if no run shows it.
    pub fn accesses(&self) -> &[Accessor] {
        match &self.evidence {
            Evidence::Dynamic { accesses, .. } => accesses,
            Evidence::Static { .. } => &[],
        }
    }

    pub const fn witness(&self) -> Option<&Witness> {
        match &self.evidence {
            Evidence::Dynamic { witness, .. } => witness.as_ref(),
            Evidence::Static { .. } => None,
        }
    }

    pub fn into_witness(self) -> Option<Witness> {
        match self.evidence {
            Evidence::Dynamic { witness, .. } => witness,
            Evidence::Static { .. } => None,
        }
    }

    /// A way there, if one is known. Whether it proves anything is up to the analysis.
    #[must_use]
    pub fn with_witness(mut self, way: Option<Witness>) -> Self {
        if let Evidence::Dynamic { witness, .. } = &mut self.evidence {
            *witness = way;
        }
        self
    }

    /// The same finding as another run has it, without a witness of its own.
    #[must_use]
    pub fn in_run(&self, accesses: Vec<Accessor>) -> Self {
        let Self { kind, strength, analysis, ref block, weak_order, view, .. } = *self;
        Self { block: block.clone(), weak_order, view, ..Self::new(kind, strength, analysis, accesses) }
    }
}

//! What every analysis says of itself, and how it is run.
//!
//! An analysis is one file (or folder) in [`analyses`](crate::analyses) and one line in [`ANALYSES`](crate::ANALYSES).
//! One that streams gives its [pass](Analysis::pass) to the common reading of the trace; every one then gets its
//! [turn](Analysis::run), in which it asks the searches ([`search`](crate::search)) and adds its findings.

use reweave_model::{AnalysisId, Claim, Kind};
use reweave_trace::Result;

use crate::history::Mode;
use crate::linear::Linear;
use crate::prediction::Prediction;
use crate::search::SearchLimits;
use crate::search::atomicity::serializability::Pattern;

/// An analysis of the list.
pub type AnalysisRef = &'static dyn Analysis;

/// What an analysis says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    pub id: AnalysisId,
    /// What kind of findings it makes.
    pub finds: Kind,
    pub guarantee: Guarantee,
    /// What it finds, in one line: for the help and the book, which adds the doc of its module.
    pub summary: &'static str,
    /// The module in [`analyses`](crate::analyses) that holds it, if that has another name.
    module: Option<&'static str>,
    /// Part of the default run.
    pub is_default: bool,
    /// It keeps something of every event, or needs the whole trace at once: on long traces it runs only if asked for.
    pub is_costly: bool,
    /// Asked for alone, its candidates are shown as they are: no witnesses are looked for.
    pub lists_only: bool,
}

impl About {
    pub const fn new(name: &'static str, finds: Kind, guarantee: Guarantee, summary: &'static str) -> Self {
        let id = AnalysisId::new(name, Claim::Other);
        Self { id, finds, guarantee, summary, module: None, is_default: false, is_costly: false, lists_only: false }
    }

    pub const fn claiming(self, claim: Claim) -> Self {
        Self { id: AnalysisId::new(self.id.name(), claim), ..self }
    }

    pub const fn by_default(self) -> Self {
        Self { is_default: true, ..self }
    }

    pub const fn costly(self) -> Self {
        Self { is_costly: true, ..self }
    }

    pub const fn listing_only(self) -> Self {
        Self { lists_only: true, ..self }
    }

    /// For a module that holds several.
    pub const fn in_module(self, module: &'static str) -> Self {
        Self { module: Some(module), ..self }
    }

    /// The module in [`analyses`](crate::analyses) that holds it.
    pub fn module(&self) -> String {
        self.module.map_or_else(|| self.id.name().replace('-', "_"), str::to_owned)
    }
}

pub trait Analysis: Sync {
    fn about(&self) -> About;

    fn id(&self) -> AnalysisId {
        self.about().id
    }

    /// What it asks the engine about on its own, beside what others list.
    fn asks(&self, limits: &SearchLimits<'_>) -> Option<Questions> {
        let _ = limits;
        None
    }

    /// What it does in the common pass over the trace, if it streams.
    fn pass(&self) -> Option<Box<dyn Linear>> {
        None
    }

    /// How it runs while the program runs, if its memory can be bounded.
    fn watching(&self) -> Option<Watching> {
        None
    }

    /// Its turn after the common pass. What it listed there is [`Prediction::listed`].
    ///
    /// # Errors
    /// If the trace cannot be read.
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()>;
}

impl std::fmt::Debug for dyn Analysis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.id().fmt(f)
    }
}

/// What is true of what an analysis lists, before anybody has looked for a witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guarantee {
    /// Each one is real.
    Sound,
    /// The first one of a run is real, later ones may follow from it.
    FirstIsReal,
    /// Each one is real, and none is missed as far as a window of the trace and the time reach.
    SoundAndComplete,
    /// None is missed; some may be false.
    Complete,
    /// The recorded run did it.
    Recorded,
    /// A pattern: some may be missed, and some may be false.
    Pattern,
}

impl Guarantee {
    /// Whether all that is listed is real.
    pub const fn is_sound(self) -> bool {
        matches!(self, Self::Sound | Self::SoundAndComplete | Self::Recorded)
    }
}

/// Questions to the engine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Questions {
    /// About all pairs of accesses, by the reorderings of this mode.
    Races(Mode),
    /// About all cycles of requests for locks.
    Deadlocks,
    /// About all blocks, by cycles of this form.
    Blocks(Pattern),
}

/// How an analysis runs while the program runs.
#[derive(Clone, Copy)]
pub struct Watching {
    /// A new one whose memory does not grow with the length of the run.
    pub start: fn() -> Box<dyn Linear>,
    pub is_default: bool,
    /// Accesses may be left out; otherwise it needs every one.
    pub allows_sampling: bool,
    /// It does nothing at an access that its thread has made before, in the same code, without doing anything else since
    /// but access memory.
    pub ignores_repeats: bool,
    /// Each write ends an epoch of its thread.
    pub ends_epochs_by_writes: bool,
    /// Another one that runs inside it: what this one refutes is for that one to report.
    pub inside: Option<AnalysisRef>,
}

impl Watching {
    /// Without special cases.
    pub const fn new(start: fn() -> Box<dyn Linear>) -> Self {
        Self {
            start,
            is_default: true,
            allows_sampling: true,
            ignores_repeats: true,
            ends_epochs_by_writes: false,
            inside: None,
        }
    }
}

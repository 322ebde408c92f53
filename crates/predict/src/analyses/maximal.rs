//! Races by the maximal causal model with control flow (Huang, Meredith, Roşu, PLDI 2014), and the two weaker models
//! beside it: `prefix` (every read keeps its value) and `said` (Said et al., NFM 2011: the same over complete traces).
//! Sound, and each complete for its model as far as the window reaches; what was not settled is counted. See
//! [`crate::feasible`].

use reweave_model::{AnalysisId, Claim, Kind};
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee, Questions};
use crate::history::Mode;
use crate::prediction::{Prediction, Shows};
use crate::search::SearchLimits;

/// What findings by the reorderings of a mode refer to.
pub const fn id(mode: Mode) -> AnalysisId {
    let name = match mode {
        Mode::ControlFlow => "maximal",
        Mode::Prefix => "prefix",
        Mode::Said => "said",
        Mode::DataAbstract => "data-abstract",
    };
    AnalysisId::new(name, Claim::Other)
}

/// The analysis `maximal`, by the mode that was asked for.
pub struct Maximal;
/// The analysis `prefix`.
pub struct Prefix;
/// The analysis `said`.
pub struct Said;

impl Analysis for Maximal {
    fn about(&self) -> About {
        about(Mode::ControlFlow, "every race that some feasible reordering of the trace shows").by_default()
    }

    fn asks(&self, limits: &SearchLimits<'_>) -> Option<Questions> {
        Some(Questions::Races(limits.mode))
    }

    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.races(self.id(), Shows::ByName)
    }
}

impl Analysis for Prefix {
    fn about(&self) -> About {
        about(Mode::Prefix, "the same, if every read keeps its value")
    }

    fn asks(&self, _: &SearchLimits<'_>) -> Option<Questions> {
        Some(Questions::Races(Mode::Prefix))
    }

    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.races(self.id(), Shows::ByName)
    }
}

impl Analysis for Said {
    fn about(&self) -> About {
        about(Mode::Said, "the same over complete traces (Said et al.)")
    }

    fn asks(&self, _: &SearchLimits<'_>) -> Option<Questions> {
        Some(Questions::Races(Mode::Said))
    }

    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.races(self.id(), Shows::ByName)
    }
}

const fn about(mode: Mode, summary: &'static str) -> About {
    About::new(id(mode).name(), Kind::Race, Guarantee::SoundAndComplete, summary).in_module("maximal")
}

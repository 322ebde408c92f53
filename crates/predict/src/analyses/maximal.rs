//! Races by the maximal causal model with control flow (Huang, Meredith, Roşu, PLDI 2014), and the two weaker models beside
//! it: `prefix` (every read keeps its value) and `said` (Said et al., NFM 2011: the same over complete traces). Sound, and each
//! complete for its model as far as the window reaches; what was not settled is counted. See [`crate::feasible`].

use reweave_model::{AnalysisId, Claim, Kind};
use reweave_trace::Result;

use crate::analysis::{Analysis, Guarantee, Questions};
use crate::history::Mode;
use crate::prediction::{Prediction, Shows};
use crate::search::Limits;

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

macro_rules! by_mode {
    ($analysis:ident, $mode:expr, $summary:literal, $default:literal, $asked:expr) => {
        impl Analysis for $analysis {
            fn id(&self) -> AnalysisId {
                id($mode)
            }
            fn summary(&self) -> &'static str {
                $summary
            }
            fn module(&self) -> &'static str {
                "maximal"
            }
            fn finds(&self) -> Kind {
                Kind::Race
            }
            fn guarantee(&self) -> Guarantee {
                Guarantee::SoundAndComplete
            }
            fn is_default(&self) -> bool {
                $default
            }
            fn asks(&self, limits: &Limits<'_>) -> Option<Questions> {
                let asked: fn(Mode) -> Mode = $asked;
                Some(Questions::Races(asked(limits.mode)))
            }
            fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
                prediction.races(self.id(), Shows::ByName)
            }
        }
    };
}

by_mode!(
    Maximal,
    Mode::ControlFlow,
    "every race that some feasible reordering of the trace shows",
    true,
    |asked_for| asked_for
);
by_mode!(Prefix, Mode::Prefix, "the same, if every read keeps its value", false, |_| Mode::Prefix);
by_mode!(Said, Mode::Said, "the same over complete traces (Said et al.)", false, |_| Mode::Said);

//! Races by the maximal causal model with control flow (Huang, Meredith, Roşu, PLDI 2014), and the two weaker models beside
//! it: `prefix` (every read keeps its value) and `said` (Said et al., NFM 2011: the same over complete traces). Sound, and each
//! complete for its model as far as the window reaches; what was not settled is counted. See [`crate::feasible`].

use crate::history::Mode;

/// What the analysis of a mode is called.
pub const fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::ControlFlow => "maximal",
        Mode::Prefix => "prefix",
        Mode::Said => "said",
        Mode::DataAbstract => "data-abstract",
    }
}

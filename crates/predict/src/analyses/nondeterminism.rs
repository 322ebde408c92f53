//! Nondeterministic reads (Sinha, Malik, Gupta, FMCAD 2012), by the exact rule or by the published one. See
//! [`crate::search::nondeterminism`]. Exact: sound, and complete for the window up to the number of tries per pair of
//! lines. They are information, not defects: no such finding makes a run fail by itself.

use reweave_model::Kind;
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee};
use crate::prediction::Prediction;
use crate::search::nondeterminism::{self, Rule};

/// The analysis `nondeterminism`.
pub struct NondeterministicReads;

impl Analysis for NondeterministicReads {
    fn about(&self) -> About {
        let summary = "reads that can see another write in another interleaving: information, no defects";
        About::new("nondeterminism", Kind::Nondeterminism, Guarantee::SoundAndComplete, summary)
    }

    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        let (trace, options, id) = (prediction.trace, prediction.options, self.id());
        let (how, limits) = (options.nondeterminism, &options.limits);
        let (findings, numbers) = match how.rule {
            Rule::Published => {
                let found = nondeterminism::patterns(trace, id, limits, &mut prediction.progress(id))?;
                (found.findings, found.stats.numbers())
            }
            Rule::Exact => {
                let found = nondeterminism::exact(trace, id, how, limits, &mut prediction.progress(id))?;
                let numbers = found.stats.numbers();
                (found.findings, numbers)
            }
        };
        for (name, value) in numbers {
            prediction.answer.stats.insert(format!("{id}.{name}"), value);
        }
        prediction.answer.findings.extend(findings);
        Ok(())
    }
}

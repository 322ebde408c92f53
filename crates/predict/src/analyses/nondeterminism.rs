//! Nondeterministic reads (Sinha, Malik, Gupta, FMCAD 2012), by the exact rule or by the published one. See
//! [`crate::nondeterminism`]. Exact: sound, and complete for the window up to the number of tries per pair of lines. They are
//! information, not defects: no such finding makes a run fail by itself.

use std::collections::BTreeMap;

use reweave_model::Finding;
use reweave_trace::{Result, Trace};

use crate::nondeterminism::{self, Options, Rule};
use crate::search::Limits;

pub const NAME: &str = "nondeterminism";

/// Looks for them and says how it went, by names that begin with the analysis'.
pub fn run(
    trace: &Trace,
    options: Options,
    limits: &Limits<'_>,
    stats: &mut BTreeMap<String, u64>,
    progress: &mut dyn FnMut(f64),
) -> Result<Vec<Finding>> {
    let (findings, numbers) = match options.rule {
        Rule::Published => {
            let found = nondeterminism::patterns(trace, NAME, limits, progress)?;
            (found.findings, found.stats.numbers())
        }
        Rule::Exact => {
            let found = nondeterminism::exact(trace, NAME, options, limits, progress)?;
            let numbers = found.stats.numbers();
            (found.findings, numbers)
        }
    };
    for (name, value) in numbers {
        stats.insert(format!("{NAME}.{name}"), value);
    }
    Ok(findings)
}

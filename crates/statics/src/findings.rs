//! What can differ as findings: potential, one for each location and cause.

use reweave_model::{AnalysisId, Claim, Finding, Kind, OpName, Place, StaticAccess, ThreadId};
use reweave_report::determinism::{AccessAt, Determinism, Verdict, Why};

pub const ANALYSIS: AnalysisId = AnalysisId::new("determinism", Claim::Other);

pub fn findings(determinism: &Determinism) -> Vec<Finding> {
    let access = |at: &AccessAt, number: usize| StaticAccess {
        process: None,
        thread: ThreadId(number as u32),
        op: if at.writes { OpName::Write } else { OpName::Read },
        place: Place { file: at.file.clone(), line: at.line, function: at.function.clone() },
        callers: Vec::new(),
        locks_held: Vec::new(),
    };
    let both = |pair: &[AccessAt; 2]| vec![access(&pair[0], 1), access(&pair[1], 2)];
    let mut all = Vec::new();
    for item in determinism.locations.iter().filter(|item| item.verdict == Verdict::CanDiffer) {
        if let Some(pair) = &item.race {
            let why = format!("{}: no lock keeps {} and {} apart", item.name, pair[0].by, pair[1].by);
            all.push(Finding::of_text(Kind::Race, ANALYSIS, both(pair), why));
        }
        let choice = item.reads.iter().find(|read| read.why == Why::Choice && read.pair.is_some());
        if let Some(pair) = choice.and_then(|read| read.pair.as_ref()) {
            let why = format!("{}: {} and {} come in either order", item.name, pair[0].by, pair[1].by);
            all.push(Finding::of_text(Kind::Nondeterminism, ANALYSIS, both(pair), why));
        }
    }
    all
}

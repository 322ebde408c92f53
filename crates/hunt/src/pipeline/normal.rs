//! What the program does when nothing goes wrong, to tell what came of a bug.

use std::fs;
use std::time::Duration;

use super::{Plan, RECORDING};
use crate::budget::{self, Bounds};
use crate::confirm::{self, NormalBehaviour};
use crate::jobs::side_by_side;
use crate::replay::{Recording, same_outcome};
use reweave_launch::folder::PrivateFolder;
use reweave_launch::region::Policy;
use reweave_launch::session;
use reweave_launch::target::Output;

/// What the program prints when its threads run one after the other: the recorded run's output went to the terminal.
pub fn normal_behaviour(plan: &Plan, jobs: usize, limit: Duration) -> Option<NormalBehaviour> {
    let recording = Recording::open(plan.options.front_ends, &plan.folder.join(RECORDING)).ok()?;
    let bounds = Bounds::beyond(recording.trace.event_count(), limit);
    let once = |seed: u64| {
        let folder = PrivateFolder::new().ok()?;
        let mut options = recording.options(folder.path().join(RECORDING)).ok()?;
        if seed > 0 {
            options.scripts.clear();
            options.seed = seed;
            options.policy = Policy::Pct { depth: 1, length: 1000 };
        }
        let output = folder.path().join(confirm::OUTPUT);
        options.output = Output::File(output.clone());
        bounds.set(&mut options, limit);
        options.isolate = plan.options.isolate;
        let run = session::run(&options).ok()?;
        let outcome = run.processes.first().filter(|_| !run.timed_out)?.outcome.clone();
        Some((fs::read(&output).unwrap_or_default(), outcome))
    };
    let (first, outcome) = once(0)?;
    recording.trace.footer().filter(|footer| same_outcome(&footer.outcome, &outcome))?;
    let seeds: Vec<u64> = (1..=budget::NORMAL_RUNS).collect();
    let others = side_by_side(jobs, &seeds, |seed| once(*seed), &mut |_| {});
    let others = others.into_iter().flatten().filter(|(_, other)| same_outcome(other, &outcome));
    let printed = std::iter::once(first).chain(others.map(|(printed, _)| printed)).collect();
    Some(NormalBehaviour { printed, outcome })
}

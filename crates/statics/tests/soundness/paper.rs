//! The paper's property on all executions, against the property on the computed fixpoint: false there means false here.

use std::collections::BTreeMap;

use reweave_statics::Program;
use reweave_statics::paper::{Projection, Reading};

use crate::observe::{Observed, Wrong};

/// D, with states (thread, point): does a thread see the same writer in all executions?
fn holds(observed: &Observed, accessed_only: bool) -> bool {
    observed.memories.iter().all(|((thread, _, cell), writers)| {
        writers.len() < 2 || (accessed_only && !observed.accessed.contains(&(thread.clone(), *cell)))
    })
}

/// How often each said yes.
#[derive(Default, Debug)]
pub struct Counts {
    pub concrete: usize,
    pub computed: usize,
}

pub fn hold(
    program: &Program<'_>,
    observed: &Observed,
    counts: &mut BTreeMap<&'static str, Counts>,
) -> Result<(), Wrong> {
    let memories = program.memories.as_ref().expect("they were asked for");
    let everything = Projection::default();
    for (reading, accessed_only, name) in [(Reading::Corrected, true, "accessed"), (Reading::Printed, false, "whole")] {
        let concrete = holds(observed, accessed_only);
        let level1 = memories.is_deterministic(reading, &everything);
        let level2 = memories.is_deterministic_at_level2(reading, &everything);
        // As printed, two threads of one site are one writer: that is a hole of the paper, not of ours.
        let has_many = program.skeleton.threads.iter().any(|thread| thread.is_many);
        let is_hole = reading == Reading::Printed && has_many;
        if !is_hole && ((!concrete && level1) || (!level1 && level2)) {
            return Err(format!("{name}: D is {concrete}, D# is {level1}, D° is {level2}"));
        }
        let counts = counts.entry(name).or_default();
        counts.concrete += usize::from(concrete);
        counts.computed += usize::from(level1);
    }
    Ok(())
}

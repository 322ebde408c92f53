//! Reads that runs of the program took from different writes: what prediction from one run alone cannot know, because
//! other values may make threads do something else. The run of a finding, or one in which the threads come one after the
//! other in another order, shows it; its schedule is the witness.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::time::Instant;

use reweave_launch::Result;
use reweave_launch::folder::PrivateFolder;
use reweave_launch::region::Policy;
use reweave_launch::session::{self, Run};
use reweave_launch::target::Output;
use reweave_model::{Accessor, Finding, Kind, Schedule, View, Witness};
use reweave_predict::Analysis;
use reweave_predict::analyses::nondeterminism::NondeterministicReads;
use reweave_predict::search::nondeterminism::feeds;
use reweave_report::Describer;
use reweave_report::place::Placed;
use reweave_trace::{Trace, schedule_of};

use super::RECORDING;
use super::hunt::Hunt;
use super::left;
use crate::budget::{self, Bounds};
use crate::confirm::{self, OtherSource, RunReads};
use crate::explore;
use crate::replay::Recording;

impl Hunt<'_> {
    /// Reads of the recorded run that another run took from elsewhere.
    pub(super) fn observed_reads(&mut self, trace: &Trace, run: &Run, until: Instant) -> Result<Vec<Finding>> {
        if !explore::is_short(trace.event_count()) {
            return Ok(Vec::new());
        }
        let recorded = RunReads::of(trace)?;
        let mut found: HashMap<_, (OtherSource, Schedule)> = HashMap::new();
        let mut compare = |other: &Trace| -> Result<()> {
            let mut schedule = None;
            for source in recorded.others(&RunReads::of(other)?) {
                if let Entry::Vacant(entry) = found.entry(source.read) {
                    let whole = match &mut schedule {
                        Some(known) => known,
                        unknown => unknown.insert(schedule_of(other)?),
                    };
                    entry.insert((source, first_steps(whole, source.steps_before)));
                }
            }
            Ok(())
        };
        for candidate in &self.candidates {
            let own = candidate.folder(&self.plan.folder);
            if let Some(done) = candidate.confirmed().filter(|_| !left(until).is_zero())
                && let Ok(other) = Trace::open(own.join(&done.goal.trace))
                && explore::is_short(other.event_count())
            {
                compare(&other)?;
            }
        }
        let recording = Recording::of_trace(self.plan.options.front_ends, trace.path())?;
        for seed in 1..=budget::SERIAL_RUNS {
            if left(until).is_zero() {
                break;
            }
            let folder = PrivateFolder::new()?;
            let mut options = recording.options(folder.path().join(RECORDING))?;
            options.scripts.clear();
            (options.seed, options.policy) = (seed, Policy::Pct { depth: 1, length: 1000 });
            options.output = Output::File(folder.path().join(confirm::OUTPUT));
            options.isolate = self.plan.options.isolate;
            Bounds::of(run).set(&mut options, left(until));
            let again = session::run(&options)?;
            if let Some((_, other)) = confirm::same_program(&again, trace)?.filter(|_| !again.timed_out) {
                compare(&other)?;
            }
        }
        findings(trace, found.into_values().collect())
    }
}

/// In terms of the recorded run.
fn findings(trace: &Trace, found: Vec<(OtherSource, Schedule)>) -> Result<Vec<Finding>> {
    let events = |source: &OtherSource| [Some(source.read), source.seen, source.other].into_iter().flatten();
    let wanted: HashSet<_> = found.iter().flat_map(|(source, _)| events(source)).collect();
    let accessors = reweave_predict::accessors(trace, wanted)?;
    // What libraries do among themselves, at the end of the process say, is nothing to show.
    let is_own = |access: &Accessor| {
        let at = Placed::new(access.pc, trace.stacks().walk(access.stack), Describer::of(trace)).at;
        at.line != 0 && !trace.language().is_library(&at.file)
    };
    let mut findings = Vec::new();
    for (source, schedule) in found {
        let accesses: Vec<_> = events(&source).filter_map(|event| accessors.get(&event).cloned()).collect();
        if accesses.len() != events(&source).count() || !accesses.iter().all(is_own) {
            continue;
        }
        let seen = source.seen.map(|_| 1);
        let view = View {
            read: Some(0),
            seen,
            other: source.other.map(|_| 1 + seen.map_or(0, |seen| seen)),
            seen_value: source.values[0],
            other_value: source.values[1],
            feeds: feeds(trace, &accesses[0])?,
        };
        let witness = Witness::new(schedule);
        let id = NondeterministicReads.id();
        let finding = Finding::predicted(Kind::Nondeterminism, false, id, accesses, witness);
        findings.push(Finding { view: Some(view), ..finding });
    }
    findings.sort_by_key(|finding| finding.accesses()[0].event);
    Ok(findings)
}

/// The beginning of a schedule.
fn first_steps(whole: &Schedule, steps: u64) -> Schedule {
    let mut first = Schedule { threads: whole.threads.clone(), segments: Vec::new() };
    let mut left = steps;
    for segment in &whole.segments {
        if left == 0 {
            break;
        }
        let steps = u64::from(segment.steps).min(left);
        left -= steps;
        first.segments.push(reweave_model::Segment { steps: steps as u32, ..*segment });
    }
    first
}

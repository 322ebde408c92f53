//! Nondeterministic reads: information, no defects. So they come last, get a small share of the time, one for each line
//! that reads, and nobody is told of them one by one. A run on the way to one that fails is a failure like any other.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use reweave_model::{Feeds, Finding, Strength};
use reweave_predict::analyses::nondeterminism::NondeterministicReads;
use reweave_predict::{Analysis, SearchLimits};
use reweave_report::Describer;
use reweave_report::place::Placed;
use reweave_trace::{Outcome, Trace};

use super::hunt::{EndedBy, Hunt};
use super::own_runs::failure;
use super::{Stage, left};
use crate::budget;
use crate::replay::{is_failure, same_outcome};
use reweave_launch::Result;
use reweave_launch::interrupt;
use reweave_launch::memory;
use reweave_launch::session::Run;

/// Of the budget, for everything else.
pub fn without_reads(all: Duration) -> Duration {
    all - all / budget::READS_KEPT
}

impl Hunt<'_> {
    /// Looks for reads of the recorded run that can see another write, and steers to them.
    pub(super) fn reads(&mut self, run: &Run, end: Instant, watch: &mut dyn FnMut(Stage<'_>)) -> Result<()> {
        let until = end.min(Instant::now() + self.plan.budget / budget::READS_SHARE);
        let known = self.candidates.len();
        for process in run.processes.iter().filter(|process| process.instrumented) {
            if left(until).is_zero() {
                break;
            }
            let trace = Trace::open(&process.path)?;
            let predicted = self.predict_reads(&trace, Instant::now() + left(until) / 3)?;
            let observed = self.observed_reads(&trace, run, Instant::now() + left(until) / 3)?;
            let findings = self.one_per_line(&trace, predicted.into_iter().chain(observed));
            self.deadline = until;
            self.confirm(&trace, &findings, watch)?;
        }
        let recorded: Vec<_> = run.processes.iter().map(|process| process.outcome.clone()).collect();
        for at in known..self.candidates.len() {
            let Some(done) = self.candidates[at].confirmed() else { continue };
            let (goal, own) = (done.goal.clone(), self.candidates[at].folder(&self.plan.folder));
            // A child's status is its parent's business.
            let childs = recorded.len() > 1 && matches!(goal.outcome, Outcome::Exited { .. });
            let is_usual = childs || recorded.iter().any(|outcome| same_outcome(outcome, &goal.outcome));
            if is_failure(&goal.outcome) && !is_usual {
                let trace = Trace::open(own.join(&goal.trace))?;
                let candidate = failure(self.next_id(), &trace, &goal.outcome, &self.plan.folder)?;
                self.keep(candidate, EndedBy::Itself, watch)?;
            }
        }
        Ok(())
    }

    fn predict_reads(&mut self, trace: &Trace, deadline: Instant) -> Result<Vec<Finding>> {
        let name = NondeterministicReads.id().name();
        let options = reweave_predict::Options {
            analyses: vec![&NondeterministicReads],
            limits: SearchLimits {
                deadline: Some(deadline),
                interrupt: Some(interrupt::flag()),
                memory: Some(memory::flag()),
                ..SearchLimits::default()
            },
            ..reweave_predict::Options::default()
        };
        let answer = reweave_predict::predict(trace, &options, &mut |_, _| {})?;
        for (key, value) in answer.stats.into_iter().filter(|(key, _)| key.starts_with(name)) {
            *self.stats.entry(key).or_default() += value;
        }
        Ok(answer.findings)
    }

    /// Those that matter most.
    fn one_per_line(&mut self, trace: &Trace, findings: impl Iterator<Item = Finding>) -> Vec<Finding> {
        let name = NondeterministicReads.id().name();
        let mut lines: BTreeMap<(String, u32), Finding> = BTreeMap::new();
        for finding in findings {
            let Some(read) = finding.view.and_then(|view| view.read).map(|read| &finding.accesses()[read]) else {
                continue;
            };
            if finding.strength != Strength::Predicted {
                continue;
            }
            let at = Placed::new(read.pc, trace.stacks().walk(read.stack), Describer::of(trace)).at;
            // What no line is known for is nothing to show.
            if at.line == 0 {
                continue;
            }
            let line = (at.file, at.line);
            match lines.get(&line) {
                Some(known) if weight(known) >= weight(&finding) => {}
                _ => drop(lines.insert(line, finding)),
            }
        }
        let mut findings: Vec<Finding> = lines.into_values().collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(weight(finding)));
        let left_out = findings.len().saturating_sub(budget::READ_LINES) as u64;
        findings.truncate(budget::READ_LINES);
        *self.stats.entry(format!("{name}.lines_left_out")).or_default() += left_out;
        findings
    }
}

/// What the value is good for, and whether it really is another one.
fn weight(finding: &Finding) -> (Feeds, bool, bool) {
    match finding.view {
        Some(view) => (view.feeds, view.seen_value != view.other_value, view.other.is_some()),
        None => (Feeds::Unknown, false, false),
    }
}

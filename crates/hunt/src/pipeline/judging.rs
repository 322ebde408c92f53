//! What is done with a run: is it one that no run was like before, did it fail, and what can be predicted from it?

use std::collections::HashSet;
use std::fs;
use std::time::Instant;

use reweave_model::{Finding, Harm, Kind, Op, Strength, ThreadId};
use reweave_predict::endings::Freed;
use reweave_trace::{Outcome, Trace};

use super::hunt::{EndedBy, Hunt, RunScrutiny};
use super::normal::normal_behaviour;
use super::own_runs::{endless, failure, freed, knotted};
use super::trying::thin_out;
use super::verify::reached;
use super::{Stage, predict};
use crate::budget;
use crate::classes::class_of;
use crate::confirm;
use crate::names::{Code, Names};
use crate::replay::is_failure;
use reweave_launch::Result;
use reweave_launch::collector::Collected;
use reweave_launch::interrupt;
use reweave_launch::session::Run;

/// Numbers that mean nothing if those of several traces are added up: what was not settled in one run is what was not
/// in another. They are those of the recorded run, which gets the time that settling takes; other runs are counted.
const PER_TRACE: [&str; 7] = [
    "windows",
    "cut_short",
    "unread_events",
    "unknown_pairs",
    "unknown_deadlocks",
    "stalls_not_looked_for",
    "atomicity_unknown",
];
/// Runs under other schedules in which something was not settled.
const PARTLY_LOOKED_AT: &str = "partly_looked_at";

impl Hunt<'_> {
    /// Predicts from the traces of a run and confirms what is new. Says whether it did something no run did before.
    pub(super) fn look_at(
        &mut self,
        run: &Run,
        scrutiny: RunScrutiny,
        watch: &mut dyn FnMut(Stage<'_>),
    ) -> Result<bool> {
        let known = |hunt: &Self| {
            let confirmed = hunt.candidates.iter().filter(|candidate| candidate.confirmed().is_some());
            (hunt.candidates.len(), confirmed.count())
        };
        let before = known(self);
        let new = self.judge(run, scrutiny, watch)?;
        if known(self) != before {
            if known(self).1 != before.1 {
                self.idle.news = Instant::now();
            }
            self.save()?;
        }
        Ok(new)
    }

    fn judge(&mut self, run: &Run, scrutiny: RunScrutiny, watch: &mut dyn FnMut(Stage<'_>)) -> Result<bool> {
        // It may have been ended by that.
        if interrupt::asked() {
            return Ok(false);
        }
        if run.timed_out {
            self.spins(run, watch)?;
            // Others than the first do not get better by getting longer.
            if !self.ended_by_hand {
                return Ok(false);
            }
        }
        let mut new = false;
        // The least first: what starts others (a build, say) may do much more than what is tested.
        let mut processes: Vec<&Collected> = run.processes.iter().collect();
        processes.sort_by_key(|process| process.events);
        for process in processes {
            new |= self.judge_process(run, process, scrutiny, watch)?;
        }
        Ok(new)
    }

    fn judge_process(
        &mut self,
        run: &Run,
        process: &Collected,
        scrutiny: RunScrutiny,
        watch: &mut dyn FnMut(Stage<'_>),
    ) -> Result<bool> {
        let mut trace = Trace::open(&process.path)?;
        if run.timed_out {
            // It can be very long, and does the same again and again.
            trace.cut_to((self.left().as_millis() as u64).saturating_mul(budget::ENDLESS_EVENTS_PER_MS));
        }
        let freed_memory = if run.timed_out { None } else { Freed::of(&trace)? };
        if let Some(found) = freed_memory {
            let candidate = freed(self.next_id(), &trace, found, &process.outcome, &self.plan.folder)?;
            self.keep(candidate, EndedBy::Itself, watch)?;
        }
        if !run.timed_out && !self.classes.insert(class_of(&trace)?) && scrutiny != RunScrutiny::CloseAgain {
            return Ok(false);
        }
        let known = self.code.len();
        if !run.timed_out {
            self.code.extend(code_of(&trace)?);
            if let Some(into) = &mut self.reached {
                reached(&trace, into)?;
            }
        }
        // One that we ended ourselves shows nothing.
        // A status that the program itself makes nothing of (a child's, say) is none of ours.
        let handled = matches!(process.outcome, Outcome::Exited { .. }) && run.status.success();
        let failed = is_failure(&process.outcome) && !handled && !run.timed_out && !self.ended_by_hand;
        if scrutiny == RunScrutiny::Quick && known == self.code.len() && !failed {
            return Ok(true);
        }
        *self.stats.entry("events".into()).or_default() += process.events;
        // A program that frees twice is ended for it, sooner or later: that is reported with both places.
        let follows =
            freed_memory.is_some_and(|freed| freed.twice) && matches!(process.outcome, Outcome::Signalled { .. });
        let mut failure_of_this = None;
        if failed && !follows {
            let candidate = failure(self.next_id(), &trace, &process.outcome, &self.plan.folder)?;
            failure_of_this = Some(candidate.fingerprint().to_owned());
            self.keep(candidate, EndedBy::Itself, watch)?;
        }
        let knot =
            if run.timed_out || process.outcome == Outcome::Hung { Vec::new() } else { confirm::circle(&trace)? };
        if !knot.is_empty() {
            let candidate = knotted(self.next_id(), &trace, knot, &process.outcome, &self.plan.folder)?;
            self.keep(candidate, EndedBy::Itself, watch)?;
        }
        let findings = self.predict_and_confirm(&trace, freed_memory, watch)?;
        if let Some(failure) = failure_of_this {
            self.announce_hang(&failure, &findings, watch);
        }
        Ok(true)
    }

    /// Returns what was predicted.
    fn predict_and_confirm(
        &mut self,
        trace: &Trace,
        freed: Option<Freed>,
        watch: &mut dyn FnMut(Stage<'_>),
    ) -> Result<Vec<Finding>> {
        let began = Instant::now();
        let deadline = began + self.time_to_look(self.least_prediction) * 2 / 3;
        let answer = predict(trace, deadline, &self.plan.atomic, watch)?;
        let unknown = ("unknown_pairs".to_owned(), answer.unknown_pairs);
        let mut settled = true;
        for (key, value) in answer.stats.into_iter().chain([unknown]) {
            let per_trace = PER_TRACE.contains(&key.as_str());
            if per_trace && self.others.is_some() {
                settled &= value == 0 || key == "windows";
                continue;
            }
            let sum = self.stats.entry(key).or_default();
            // Of one trace, or of none.
            *sum = if per_trace { value.max(*sum) } else { *sum + value };
        }
        if !settled {
            *self.stats.entry(PARTLY_LOOKED_AT.into()).or_default() += 1;
        }
        let mut findings = answer.findings;
        // Reported already, with both places.
        let told = |finding: &Finding| {
            freed.is_some_and(|freed| finding.accesses().first().is_some_and(|access| access.event == freed.used))
        };
        findings.retain(|finding| finding.kind != Kind::Misuse || !told(finding));
        let left_out = thin_out(&mut findings);
        *self.stats.entry("left_out".into()).or_default() += left_out;
        if !findings.is_empty() && self.normal.is_none() {
            let limit = self.left() / budget::NORMAL_RUN_SHARE;
            self.normal = Some(normal_behaviour(self.plan, self.jobs, limit));
        }
        self.confirm(trace, &findings, watch)?;
        if let Some((_, looking)) = &mut self.others {
            *looking += began.elapsed();
        }
        Ok(findings)
    }

    /// A run that hung: it is reported as the deadlock that it is, if it is one, otherwise as what it is.
    fn announce_hang(&mut self, failure: &str, findings: &[Finding], watch: &mut dyn FnMut(Stage<'_>)) {
        let is_deadlock = |finding: &Finding| finding.kind == Kind::Deadlock && finding.strength == Strength::Confirmed;
        let hang = |hunt: &Self| hunt.known(failure).filter(|&at| hunt.candidates[at].harm() == Some(Harm::Hang));
        if findings.iter().any(is_deadlock)
            && let Some(at) = hang(self)
        {
            // Who waits for what stands with the deadlock.
            let gone = self.candidates.remove(at);
            let _ = fs::remove_dir_all(gone.folder(&self.plan.folder));
        }
        if let Some(at) = hang(self)
            && self.candidates[at].confirmed().is_some()
        {
            watch(Stage::NewFinding(&self.candidates[at].item()));
        }
    }

    /// A run that had to be ended: do its threads wait for each other in loops?
    fn spins(&mut self, run: &Run, watch: &mut dyn FnMut(Stage<'_>)) -> Result<()> {
        let [process] = &run.processes[..] else { return Ok(()) };
        let trace = Trace::open(&process.path)?;
        let Some(places) = confirm::spinning(&trace)? else { return Ok(()) };
        let candidate = endless(self.next_id(), &trace, places, &self.plan.folder)?;
        self.keep(candidate, EndedBy::Us, watch)
    }
}

/// The places in the code that each thread of a run came to.
fn code_of(trace: &Trace) -> Result<HashSet<(ThreadId, Code)>> {
    let mut names = Names::default();
    let mut code = HashSet::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if matches!(event.op, Op::Module { .. }) {
            names.see(&event);
        }
        if event.op.is_step() && event.pc.0 != 0 {
            code.insert((event.thread, names.code(event.pc)));
        }
    }
    Ok(code)
}

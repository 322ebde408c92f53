//! Makes what was predicted from a run happen, several findings at a time.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use reweave_model::{Finding, Kind, Strength};
use reweave_report::{Item, resolve};
use reweave_trace::Trace;

use super::candidate::{Candidate, Unconfirmed};
use super::hunt::Hunt;
use super::own_runs::link_run;
use super::stopping::{StopRule, is_defect};
use super::try_confirm::{FindingOrigin, repeats, try_confirm};
use super::{Stage, left};
use crate::budget;
use crate::confirm::{self, RunSettings};
use crate::jobs::side_by_side;
use crate::replay::{Recording, Repeats};
use reweave_launch::Result;
use reweave_launch::folder::PrivateFolder;

/// Findings that are one to people (many accesses inside one call of a library, say) and several to the analyses: one
/// of them that happens is enough.
struct SameToUser<'f> {
    id: u32,
    // invariant: at least one
    findings: Vec<&'f Finding>,
    /// The candidate that they are, if there is one.
    known: Option<usize>,
}

/// A run with findings that are still to be tried.
pub struct Unfinished {
    findings: Vec<Finding>,
    trace: PathBuf,
    _folder: PrivateFolder,
}

impl Unfinished {
    /// Links to the traces: others delete them.
    fn new(trace: &Trace, findings: &[Finding]) -> Result<Self> {
        let folder = PrivateFolder::new()?;
        let name = link_run(trace, folder.path())?;
        let trace = folder.path().join(name.as_deref().unwrap_or(confirm::TRACE));
        Ok(Self { findings: findings.to_vec(), trace, _folder: folder })
    }
}

impl Hunt<'_> {
    /// Tries to confirm what is not confirmed yet, several at a time.
    pub(super) fn confirm(
        &mut self,
        trace: &Trace,
        findings: &[Finding],
        watch: &mut dyn FnMut(Stage<'_>),
    ) -> Result<()> {
        let todo = self.worth_trying(trace, findings);
        let normal = self.normal.as_ref().and_then(Option::as_ref);
        let settings = RunSettings { normal, ..self.settings() };
        // Runs that go round loops can take any time, and other schedules may show more: what is not tried now is tried
        // again when it is seen in another run.
        let deadline = Instant::now() + self.time_to_look(budget::LEAST_TRY);
        // What the run did itself stands and falls with the run.
        let did = findings.iter().any(|finding| finding.strength == Strength::Confirmed);
        let own_run = match did {
            true => repeats(
                &Recording::of_trace(settings.front_ends, trace.path())?,
                &settings,
                Instant::now() + left(deadline) / 4,
            )?,
            false => Repeats::Untried,
        };
        let found = FindingOrigin { trace, own_run, folder: &self.plan.folder };
        // Others are still at work when one is confirmed: it is reported at once.
        let (tell, told) = mpsc::channel::<Item>();
        let begun = AtomicU32::new(0);
        let is_enough = AtomicBool::new(false);
        let total = todo.len();
        let settled = side_by_side(
            self.jobs,
            &todo,
            |alike| {
                if is_enough.load(Ordering::Relaxed) {
                    let candidate = Candidate::found_in(trace, alike.id, alike.findings[0], &self.plan.folder);
                    return Ok(candidate.open(Unconfirmed::NotNeeded, None));
                }
                let waiting = (total as u32).saturating_sub(begun.fetch_add(1, Ordering::Relaxed)).max(1);
                let share = left(deadline) * self.jobs as u32 / waiting * budget::SHARES;
                let settled =
                    alike.try_until_one_happens(found, &RunSettings { share: Some(share), ..settings }, deadline);
                if let Ok(candidate) = &settled
                    && candidate.confirmed().is_some()
                {
                    let _ = tell.send(candidate.item());
                    if self.plan.ends == StopRule::AtFirstFailure && is_defect(candidate) {
                        is_enough.store(true, Ordering::Relaxed);
                    }
                }
                settled
            },
            &mut |done| {
                told.try_iter().for_each(|item| watch(Stage::NewFinding(&item)));
                watch(Stage::Confirming { done, total });
            },
        );
        told.try_iter().for_each(|item| watch(Stage::NewFinding(&item)));
        let known: Vec<Option<usize>> = todo.iter().map(|alike| alike.known).collect();
        let mut is_unfinished = false;
        for (known, candidate) in known.into_iter().zip(settled) {
            let candidate = candidate?;
            if candidate.is_out_of_time() {
                is_unfinished = true;
                let attempts = (candidate.fingerprint().to_owned(), candidate.finding.weak_order);
                self.tried.entry(attempts).and_modify(|tried| *tried -= 1);
            }
            self.put(known, candidate);
        }
        if is_unfinished && self.unfinished.len() < budget::UNFINISHED_RUNS {
            self.unfinished.push(Unfinished::new(trace, findings)?);
        }
        Ok(())
    }

    /// Tries what there was no time for when it was found: a run that was looked at got a share only.
    pub(super) fn catch_up(&mut self, watch: &mut dyn FnMut(Stage<'_>)) -> Result<()> {
        let others = self.others.take();
        for run in std::mem::take(&mut self.unfinished) {
            if self.left().is_zero() {
                break;
            }
            self.confirm(&Trace::open(&run.trace)?, &run.findings, watch)?;
        }
        self.others = others;
        Ok(())
    }

    /// What nobody has confirmed, or tried too often, yet.
    fn worth_trying<'f>(&mut self, trace: &Trace, findings: &'f [Finding]) -> Vec<SameToUser<'f>> {
        let mut todo: Vec<SameToUser<'f>> = Vec::new();
        let mut met: HashMap<String, usize> = HashMap::new();
        let mut next = self.next_id();
        resolve::have_at_hand(trace, findings);
        for finding in findings {
            // The same bug in another process or run is no other bug.
            let fingerprint = resolve::identity(finding, trace);
            let known = self.known(&fingerprint);
            let confirmed = known.filter(|&known| self.candidates[known].confirmed().is_some());
            if confirmed.is_some_and(|known| !self.candidates[known].is_less_than(finding)) {
                continue;
            }
            // What did not happen in some runs will hardly in others, and they would take all the time.
            let attempts = (fingerprint.clone(), finding.weak_order);
            if self.tried.get(&attempts).is_some_and(|&tried| tried >= budget::RUNS_TRIED_FROM) {
                continue;
            }
            if let Some(&at) = met.get(&fingerprint) {
                if todo[at].findings.len() < budget::ALIKE {
                    todo[at].findings.push(finding);
                }
                continue;
            }
            *self.tried.entry(attempts).or_default() += 1;
            met.insert(fingerprint, todo.len());
            // What is confirmed keeps its folder until there is something better.
            let own = known.filter(|known| confirmed.is_none_or(|confirmed| confirmed != *known));
            let id = own.map_or(next, |known| self.candidates[known].id);
            next += u32::from(own.is_none());
            todo.push(SameToUser { id, findings: vec![finding], known });
        }
        todo
    }
}

impl SameToUser<'_> {
    /// Tries one after the other until one happens.
    fn try_until_one_happens(
        &self,
        found: FindingOrigin<'_>,
        settings: &RunSettings<'_>,
        deadline: Instant,
    ) -> Result<Candidate> {
        let mut settled = try_confirm(self.id, found, self.findings[0], settings, left(deadline))?;
        for finding in &self.findings[1..] {
            if left(deadline).is_zero() || settled.confirmed().is_some() {
                break;
            }
            // The first one is worth more than an error about another.
            if let Ok(other) = try_confirm(self.id, found, finding, settings, left(deadline))
                && other.confirmed().is_some()
            {
                settled = other;
            }
        }
        Ok(settled)
    }
}

/// Where hundreds of places use the same variable, any two of them are a finding, and nobody reads them all: so many of
/// each kind stay, the strongest. Returns how many go.
pub fn thin_out(findings: &mut Vec<Finding>) -> u64 {
    let before = findings.len();
    let mut kept: HashMap<Kind, usize> = HashMap::new();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.strength));
    findings.retain(|finding| {
        let kept = kept.entry(finding.kind).or_default();
        *kept += 1;
        *kept <= budget::FINDINGS_PER_KIND
    });
    (before - findings.len()) as u64
}

//! `reweave confirm`: what an earlier test recorded is analysed again, also by analyses that a test does not run, and
//! tried again.
//!
//! Of pairs of code positions that `lock-history` shows to be reachable, each is tried along the way that it knows; how
//! many of them a run did is the paper's measure of what its predictions are worth (iPA, Table V).

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reweave_model::{Finding, Kind, Strength};
use reweave_predict::analyses::lock_history::LockHistory;
use reweave_predict::{Analysis, AnalysisRef, SearchLimits};
use reweave_report::{Report, data, resolve};
use reweave_trace::Trace;

use super::candidate::{Candidate, Rank};
use super::try_confirm::{FindingOrigin, repeats, try_confirm};
use super::{RECORDING, REPORT, load_report, save_report};
use crate::budget::{self, Bounds};
use crate::confirm::RunSettings;
use crate::replay::{Recording, Repeats};
use reweave_launch::folder::PrivateFolder;
use reweave_launch::{FrontEnds, Result, interrupt, memory};

/// What is tried again, and how.
#[derive(Clone, Copy, Debug)]
pub struct ConfirmRequest<'a> {
    pub front_ends: FrontEnds,
    /// Instead of the recorded one.
    pub command: Option<&'a [OsString]>,
    pub budget: Duration,
    /// None: the default ones.
    pub analyses: &'a [AnalysisRef],
}

/// Analyses the recording in the folder again and tries to confirm what was not confirmed.
pub fn confirm_again(folder: &Path, request: &ConfirmRequest<'_>) -> Result<Report> {
    let deadline = Instant::now() + request.budget;
    let trace = Trace::open(folder.join(RECORDING))?;
    let report = if folder.join(REPORT).exists() { load_report(folder)? } else { report_of(&trace) };
    let options = reweave_predict::Options {
        analyses: request.analyses.to_vec(),
        for_trial: true,
        shown: request.analyses.iter().any(|analysis| analysis.id() == LockHistory.id()),
        limits: SearchLimits {
            deadline: Some(Instant::now() + request.budget / 2),
            interrupt: Some(interrupt::flag()),
            memory: Some(memory::flag()),
            ..SearchLimits::default()
        },
        ..reweave_predict::Options::default()
    };
    let answer = reweave_predict::predict(&trace, &options, &mut |_, _| {})?;
    let bounds =
        Some(Bounds::beyond(trace.event_count(), budget::AGAIN_RUN.max(request.budget / budget::AGAIN_RUN_SHARE)));
    let settings =
        RunSettings { front_ends: request.front_ends, command: request.command, bounds, ..RunSettings::default() };
    let mut tries =
        Reconfirmation { folder, trace: &trace, settings: &settings, deadline, report, tried: HashSet::new() };
    if options.shown {
        let upper = answer.stats.get(&format!("{}.after_one", LockHistory.id())).copied().unwrap_or(0);
        let table = tries.shown(&answer.shown)?;
        let numbers = [("upper", upper), ("pred", table.pred), ("true", table.happened), ("tried", table.tried)];
        for (name, number) in numbers.into_iter().chain([("along_its_way", table.along)]) {
            tries.report.stats.insert(format!("{}.{name}", LockHistory.id()), number);
        }
    }
    for finding in &answer.findings {
        tries.confirm(finding)?;
    }
    let mut report = tries.report;
    report.findings.sort_by_key(|item| (Rank::of_item(item), item.id));
    save_report(&report, folder)?;
    Ok(report)
}

/// Of a folder that holds a recording alone: nothing is known yet.
fn report_of(trace: &Trace) -> Report {
    Report {
        reweave: env!("CARGO_PKG_VERSION").into(),
        schema: data::SCHEMA,
        program: trace.meta().program.clone(),
        language: Arc::new(trace.language().clone()),
        ..Report::default()
    }
}

/// Pairs of code positions, see the paper's Table V.
#[derive(Default)]
struct Table {
    /// Shown by strategy II.
    pred: u64,
    tried: u64,
    /// Done by a run.
    happened: u64,
    /// Done by a run along the way that strategy II knows.
    along: u64,
}

struct Reconfirmation<'a> {
    folder: &'a Path,
    trace: &'a Trace,
    settings: &'a RunSettings<'a>,
    deadline: Instant,
    report: Report,
    /// What was tried in vain along the way of an analysis, by fingerprint.
    tried: HashSet<String>,
}

impl Reconfirmation<'_> {
    fn left(&self) -> Duration {
        super::left(self.deadline)
    }

    fn known(&self, finding: &Finding) -> Option<usize> {
        let identity = resolve::identity(finding, self.trace);
        self.report.findings.iter().position(|item| item.fingerprint == identity)
    }

    fn confirm(&mut self, finding: &Finding) -> Result<()> {
        let known = self.known(finding);
        // Another program than the recorded one has to show it itself.
        let confirmed = known.is_some_and(|at| self.report.findings[at].strength == Strength::Confirmed);
        if self.settings.command.is_none() && confirmed {
            return Ok(());
        }
        // Without a witness of its own there is nothing else to try.
        let same = known.is_some_and(|at| self.tried.contains(&self.report.findings[at].fingerprint));
        if finding.witness().is_none() && same {
            return Ok(());
        }
        let own_run = match finding.strength {
            Strength::Confirmed => {
                let recording = Recording::of_trace(self.settings.front_ends, self.trace.path())?;
                repeats(&recording, self.settings, self.deadline)?
            }
            _ => Repeats::Untried,
        };
        let found = FindingOrigin { trace: self.trace, own_run, folder: self.folder };
        let candidate = try_confirm(self.id(known), found, finding, self.settings, self.left())?;
        self.put(known, &candidate);
        Ok(())
    }

    /// That of a known finding, or a new one.
    fn id(&self, known: Option<usize>) -> u32 {
        let next = self.report.findings.iter().map(|item| item.id).max().unwrap_or(0) + 1;
        known.map_or(next, |at| self.report.findings[at].id)
    }

    fn put(&mut self, known: Option<usize>, candidate: &Candidate) {
        match known {
            Some(at) => self.report.findings[at] = candidate.item(),
            None => self.report.findings.push(candidate.item()),
        }
    }

    /// Tries each pair of code positions, also where another at the same lines has happened already: pairs are what is
    /// counted.
    fn shown(&mut self, shown: &[Finding]) -> Result<Table> {
        let mut table = Table { pred: shown.len() as u64, ..Table::default() };
        for finding in shown.iter().filter(|finding| finding.kind == Kind::Race) {
            if self.left().is_zero() {
                break;
            }
            let known = self.known(finding);
            let confirmed = known.is_some_and(|at| self.report.findings[at].strength == Strength::Confirmed);
            let scratch = if confirmed { Some(PrivateFolder::new()?) } else { None };
            let folder = scratch.as_ref().map_or(self.folder, PrivateFolder::path);
            let found = FindingOrigin { trace: self.trace, own_run: Repeats::Untried, folder };
            let candidate = try_confirm(self.id(known), found, finding, self.settings, self.left())?;
            let happened = candidate.confirmed().is_some();
            table.tried += 1;
            table.happened += u64::from(happened);
            let along = |first: u32| finding.witness().is_some() && first <= budget::WITNESS_ORDERS;
            table.along += u64::from(candidate.tries.and_then(|tries| tries.first).is_some_and(along));
            if scratch.is_none() {
                self.tried.insert(candidate.fingerprint().to_owned());
                // What is predicted stays so.
                if happened || known.is_none() {
                    self.put(known, &candidate);
                }
            }
        }
        Ok(table)
    }
}

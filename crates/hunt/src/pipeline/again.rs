//! `reweave confirm`: what an earlier test recorded is analysed again, also by analyses that a test does not run, and tried again.
//!
//! Of pairs of code positions that `lock-history` shows to be reachable, each is tried along the way that it knows; how many of
//! them a run did is the paper's measure of what its predictions are worth (iPA, Table V).

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use reweave_model::{Finding, Kind, Strength};
use reweave_predict::Limits;
use reweave_report::{Item, Report, resolve};
use reweave_trace::Trace;

use super::items::{replays, settle};
use super::{RECORDING, load_report, rank, save_report};
use crate::confirm::Plain;
use crate::replay::{self, Recording};
use reweave_launch::folder::PrivateFolder;
use reweave_launch::session::Bounds;
use reweave_launch::{FrontEnds, Result};

/// For one run at least; more if there is much time.
const RUN: Duration = Duration::from_secs(10);
/// The part of the time that one run may take.
const RUNS: u32 = 8;
/// The first attempts follow the witness of a race, the accesses in either order.
const ORDERS: u32 = 2;
const LOCK_HISTORY: &str = "lock-history";

/// What is tried again, and how.
#[derive(Clone, Copy, Debug)]
pub struct Again<'a> {
    pub front_ends: FrontEnds,
    /// Instead of the recorded one.
    pub command: Option<&'a [OsString]>,
    pub budget: Duration,
    /// By name; none: the default ones.
    pub analyses: &'a [String],
}

/// Analyses the recording in the folder again and tries to confirm what was not confirmed.
pub fn confirm_again(folder: &Path, again: &Again<'_>) -> Result<Report> {
    let deadline = Instant::now() + again.budget;
    let report = load_report(folder)?;
    let trace = Trace::open(folder.join(RECORDING))?;
    let options = reweave_predict::Options {
        analyses: again.analyses.to_vec(),
        for_trial: true,
        shown: again.analyses.iter().any(|name| name == LOCK_HISTORY),
        limits: Limits { deadline: Some(Instant::now() + again.budget / 2), ..Limits::default() },
        ..reweave_predict::Options::default()
    };
    let answer = reweave_predict::predict(&trace, &options, &mut |_, _| {})?;
    let bounds = Some(Bounds::beyond(trace.event_count(), RUN.max(again.budget / RUNS)));
    let plain = Plain { front_ends: again.front_ends, command: again.command, bounds, ..Plain::default() };
    let mut tries = Tries { folder, trace: &trace, plain: &plain, deadline, report, tried: HashSet::new() };
    if options.shown {
        let upper = answer.stats.get("lock-history.after_one").copied().unwrap_or(0);
        let table = tries.shown(&answer.shown)?;
        let numbers = [("upper", upper), ("pred", table.pred), ("true", table.happened), ("tried", table.tried)];
        for (name, number) in numbers.into_iter().chain([("along_its_way", table.along)]) {
            tries.report.stats.insert(format!("{LOCK_HISTORY}.{name}"), number);
        }
    }
    for finding in &answer.findings {
        tries.settle(finding)?;
    }
    let mut report = tries.report;
    report.findings.sort_by_key(|item| (rank(item), item.id));
    save_report(&report, folder)?;
    Ok(report)
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

struct Tries<'a> {
    folder: &'a Path,
    trace: &'a Trace,
    plain: &'a Plain<'a>,
    deadline: Instant,
    report: Report,
    /// What was tried in vain along the way of an analysis, by fingerprint.
    tried: HashSet<String>,
}

impl Tries<'_> {
    fn left(&self) -> Duration {
        super::left(self.deadline)
    }

    fn known(&self, finding: &Finding) -> Option<usize> {
        let fresh = resolve::item(0, finding, self.trace);
        self.report.findings.iter().position(|item| item.fingerprint == fresh.fingerprint)
    }

    fn settle(&mut self, finding: &Finding) -> Result<()> {
        let known = self.known(finding);
        // Another program than the recorded one has to show it itself.
        let confirmed = known.is_some_and(|at| self.report.findings[at].strength == "confirmed");
        if self.plain.command.is_none() && confirmed {
            return Ok(());
        }
        // Without a witness of its own there is nothing else to try.
        let same = known.is_some_and(|at| self.tried.contains(&self.report.findings[at].fingerprint));
        if finding.witness.is_none() && same {
            return Ok(());
        }
        let next = self.report.findings.iter().map(|item| item.id).max().unwrap_or(0) + 1;
        let id = known.map_or(next, |at| self.report.findings[at].id);
        let own_run = match finding.strength {
            Strength::Confirmed => {
                replays(&Recording::of_trace(self.plain.front_ends, self.trace.path())?, self.plain, self.deadline)?
            }
            _ => replay::Again::Untried,
        };
        let item = settle(id, (self.trace, own_run), finding, self.folder, self.plain, self.left())?;
        self.put(known, item);
        Ok(())
    }

    fn put(&mut self, known: Option<usize>, item: Item) {
        match known {
            Some(at) => self.report.findings[at] = item,
            None => self.report.findings.push(item),
        }
    }

    /// Tries each pair of code positions, also where another at the same lines has happened already: pairs are what is counted.
    fn shown(&mut self, shown: &[Finding]) -> Result<Table> {
        let mut table = Table { pred: shown.len() as u64, ..Table::default() };
        for finding in shown.iter().filter(|finding| finding.kind == Kind::Race) {
            if self.left().is_zero() {
                break;
            }
            let known = self.known(finding);
            let confirmed = known.is_some_and(|at| self.report.findings[at].strength == "confirmed");
            let scratch = if confirmed { Some(PrivateFolder::new()?) } else { None };
            let folder = scratch.as_ref().map_or(self.folder, PrivateFolder::path);
            let next = self.report.findings.iter().map(|item| item.id).max().unwrap_or(0) + 1;
            let id = known.map_or(next, |at| self.report.findings[at].id);
            let item = settle(id, (self.trace, replay::Again::Untried), finding, folder, self.plain, self.left())?;
            let happened = item.strength == "confirmed";
            table.tried += 1;
            table.happened += u64::from(happened);
            let along = |first: u32| finding.witness.is_some() && first <= ORDERS;
            table.along += u64::from(item.tries.and_then(|tries| tries.first).is_some_and(along));
            if scratch.is_none() {
                self.tried.insert(item.fingerprint.clone());
                // What is predicted stays so.
                if happened || known.is_none() {
                    self.put(known, item);
                }
            }
        }
        Ok(table)
    }
}

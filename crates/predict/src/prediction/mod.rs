//! Which analyses run, in which order, and what becomes of their candidates.
//!
//! By default the streaming analyses list candidates in one pass over the trace, cheapest first, and the engine is
//! asked about whatever passes the quick check. A finding bears the name of the cheapest analysis that listed its pair,
//! and it is `predicted` only with a witness that the checker accepted. What the engine refutes is gone; what it cannot
//! settle is counted. An analysis asked for by name also shows its candidates that stay without a witness, as
//! `potential`.

mod accessors;
mod atomicity;
mod deadlocks;
mod early;
mod races;
mod stream;

use std::collections::{BTreeMap, HashSet};
use std::time::Instant;

use reweave_model::{AnalysisId, EventId, Finding, Kind, Pc, Strength, Witness};
use reweave_trace::{Result, Trace};

use crate::analyses::{self, ANALYSES};
use crate::analysis::{Analysis, AnalysisRef};
use crate::linear::{Candidates, FastSet, Way};
use crate::search::{self, SearchLimits};
use crate::share::{self, Share};
pub use accessors::accessors;
pub(crate) use atomicity::Leaves;
pub use early::{Early, open};
pub(crate) use races::Shows;

#[derive(Clone, Debug, Default)]
pub struct Options<'a> {
    /// None: the default ones.
    pub analyses: Vec<AnalysisRef>,
    /// Functions that are to be atomic.
    pub atomic: Vec<String>,
    /// What is found will be tried: what is only potential is worth a run, and so are blocks that nobody declared.
    pub for_trial: bool,
    /// Fill in [`PredictionResult::shown`].
    pub shown: bool,
    /// Only what the streaming analyses list: the engine is not asked.
    pub candidates: bool,
    pub limits: SearchLimits<'a>,
    pub nondeterminism: search::nondeterminism::Options,
    /// Others who work on the same prediction; only the first one has the findings of all.
    pub share: Option<&'a dyn Share>,
}

impl Options<'_> {
    /// Whether analyses were asked for by name.
    pub(crate) const fn by_name(&self) -> bool {
        !self.analyses.is_empty()
    }

    /// Whether what has no witness is shown.
    const fn lists(&self) -> bool {
        self.by_name() || self.candidates
    }
}

/// What the analyses have to say.
#[derive(Debug, Default)]
pub struct PredictionResult {
    pub findings: Vec<Finding>,
    pub events: u64,
    /// Pairs of code positions that may race and were not settled.
    pub unknown_pairs: u64,
    pub stats: BTreeMap<String, u64>,
    /// Functions that are to be atomic and were never called.
    pub unseen_functions: Vec<String>,
    /// Races that an analysis shows to be reachable if reads may return anything, with its own way there, if wanted.
    pub shown: Vec<Finding>,
}

/// Events of a long trace.
const LONG: u64 = 5_000_000;
/// The statistic that says that the time was over.
const CUT_SHORT: &str = "cut_short";
/// And how many events were not read by then, by all analyses.
const UNREAD: &str = "unread_events";

/// Analyses have their turn by what they find, those of one kind in the order of the list.
const TURNS: [Kind; 6] =
    [Kind::Race, Kind::Deadlock, Kind::Misuse, Kind::Atomicity, Kind::Nondeterminism, Kind::Failure];

/// One prediction under way: what the analyses share.
pub struct Prediction<'a> {
    pub(crate) trace: &'a Trace,
    pub(crate) options: &'a Options<'a>,
    early: Option<Early>,
    chosen: Vec<AnalysisRef>,
    /// What the pass over the trace listed.
    listed: Vec<(AnalysisRef, Candidates)>,
    pub(crate) answer: PredictionResult,
    progress: &'a mut dyn FnMut(&'static str, f64),
    /// Once they were asked about: pairs of code positions that need no further word.
    races: Option<FastSet<races::Pcs>>,
    /// Once they were asked about: sets of code positions that need no further word.
    deadlocks: Option<HashSet<Vec<Pc>>>,
    atomicity: Option<atomicity::Asked>,
}

/// Runs the analyses. `progress` hears what is done and how far it is, from 0 to 1.
pub fn predict(
    trace: &Trace,
    options: &Options<'_>,
    progress: &mut dyn FnMut(&'static str, f64),
) -> Result<PredictionResult> {
    predict_from(trace, None, options, progress)
}

/// As [`predict`], for a trace that may have been read while it was [opened](open).
pub fn predict_from(
    trace: &Trace,
    early: Option<Early>,
    options: &Options<'_>,
    progress: &mut dyn FnMut(&'static str, f64),
) -> Result<PredictionResult> {
    let mut prediction = Prediction {
        trace,
        options,
        early,
        chosen: chosen(trace.event_count(), options),
        listed: Vec::new(),
        answer: PredictionResult::default(),
        progress,
        races: None,
        deadlocks: None,
        atomicity: None,
    };
    prediction.pass()?;
    // Others only help with the races.
    let turns = if share::is_first(options.share) { &TURNS[..] } else { &[Kind::Race] };
    for &kind in turns {
        let asked = |analysis: &&AnalysisRef| analysis.about().finds == kind;
        for analysis in prediction.chosen.clone().iter().filter(asked) {
            // Those that do not stream have nothing to list.
            if !options.candidates || analysis.pass().is_some() {
                analysis.run(&mut prediction)?;
            }
        }
    }
    if options.limits.is_over() {
        prediction.answer.stats.insert(CUT_SHORT.to_owned(), 1);
    }
    let mut answer = prediction.answer;
    let is_foreign = |finding: &Finding| finding.accesses().iter().any(|access| trace.guards_itself(access.pc));
    answer.findings.retain(|finding| finding.kind != Kind::Race || !is_foreign(finding));
    answer.findings.sort_by_key(|finding| finding.accesses().iter().map(|access| access.event).max());
    Ok(answer)
}

fn chosen(events: u64, options: &Options<'_>) -> Vec<AnalysisRef> {
    let asked_for = |id: AnalysisId| options.analyses.iter().any(|asked| asked.id() == id);
    let too_costly = |analysis: AnalysisRef| events > LONG && analysis.about().is_costly;
    let reads = analyses::nondeterminism::NondeterministicReads.id();
    let is_chosen = |analysis: &AnalysisRef| {
        let wanted = options.nondeterminism.wanted && analysis.id() == reads;
        let listed = match options.by_name() {
            true => asked_for(analysis.id()),
            false => analysis.about().is_default && !too_costly(*analysis),
        };
        listed || wanted
    };
    ANALYSES.iter().copied().filter(is_chosen).collect()
}

fn streaming(analyses: &[AnalysisRef]) -> Vec<AnalysisRef> {
    analyses.iter().copied().filter(|analysis| analysis.pass().is_some()).collect()
}

/// What is listed has to be asked about, too.
fn for_reading<'a>(limits: &SearchLimits<'a>) -> SearchLimits<'a> {
    let now = Instant::now();
    let half = limits.deadline.map(|deadline| now + deadline.saturating_duration_since(now) / 2);
    SearchLimits { deadline: half, ..*limits }
}

impl Prediction<'_> {
    /// What an analysis listed in the common pass.
    pub fn listed(&self, analysis: AnalysisId) -> Option<&Candidates> {
        self.listed.iter().find(|(other, _)| other.id() == analysis).map(|(_, found)| found)
    }

    /// Adds to statistics.
    pub(crate) fn count(&mut self, stats: impl IntoIterator<Item = (&'static str, u64)>) {
        for (key, value) in stats {
            *self.answer.stats.entry(key.to_owned()).or_default() += value;
        }
    }

    /// The time was over before the whole trace was read.
    pub(crate) fn is_cut_short(&self) -> bool {
        self.answer.stats.contains_key(CUT_SHORT)
    }

    /// A listener for how far an analysis is.
    pub(crate) fn progress(&mut self, analysis: AnalysisId) -> impl FnMut(f64) {
        move |done| (self.progress)(analysis.name(), done)
    }

    /// The streaming analyses among those that were chosen, in one pass.
    fn pass(&mut self) -> Result<()> {
        let limits = for_reading(&self.options.limits);
        let streaming = streaming(&self.chosen);
        let is_costly = |analysis: &AnalysisRef| analysis.about().is_costly;
        // Also with none of them: whether the trace can have happened is to be known before anything else.
        let mut read = match self.early.take().and_then(|early| early.of(&streaming)) {
            Some(read) => read?,
            None => self.read(&streaming, &limits)?,
        };
        if self.options.share.is_none() && limits.is_out_of_memory() && streaming.iter().any(is_costly) {
            // Those that keep something of every event go; the others may come to the end without them.
            drop(read);
            limits.wait_for_memory();
            let (costly, others): (Vec<AnalysisRef>, Vec<AnalysisRef>) =
                streaming.iter().partition(|one| is_costly(one));
            self.answer.stats.insert("given_up_for_memory".to_owned(), costly.len() as u64);
            read = self.read(&others, &limits)?;
        }
        self.answer.events = read.events;
        if limits.is_over() {
            self.answer.stats.insert(CUT_SHORT.to_owned(), 1);
            let unread = self.trace.event_count().saturating_sub(read.by_all);
            self.answer.stats.insert(UNREAD.to_owned(), unread);
        }
        for passed in read.passed {
            self.tell_of_pass(&passed)?;
            self.listed.push((passed.analysis, passed.found));
        }
        limits.wait_for_memory();
        Ok(())
    }

    fn read(&mut self, analyses: &[AnalysisRef], limits: &SearchLimits<'_>) -> Result<stream::Read> {
        let progress = &mut *self.progress;
        let mut progress = |done: f64| progress("reading", done);
        match self.options.share {
            Some(share) => stream::read_together(self.trace, analyses, limits, share, &mut progress),
            None => stream::read(self.trace, analyses, limits, &mut progress),
        }
    }

    /// What a pass has to say beside its candidates.
    fn tell_of_pass(&mut self, passed: &stream::Passed) -> Result<()> {
        let stream::Passed { analysis, found, stats: numbers, deadlocks, ways } = passed;
        let id = analysis.id();
        let stats = &mut self.answer.stats;
        if found.dropped > 0 {
            stats.insert(format!("{id}.dropped"), found.dropped);
        }
        let (what, count) = match analysis.about().finds {
            Kind::Deadlock => ("cycles", found.cycles.len()),
            Kind::Misuse => ("events", found.misuses.len()),
            _ => ("pairs", found.pairs.len()),
        };
        stats.insert(format!("{id}.{what}"), count as u64);
        stats.extend(numbers.iter().map(|(key, value)| (format!("{id}.{key}"), *value)));
        self.answer.findings.extend(doomed(self.trace, id, deadlocks)?);
        if self.options.shown {
            self.answer.shown.extend(shown(self.trace, id, ways)?);
        }
        Ok(())
    }
}

/// What an analysis knows a way to, that of the trace's events at least: potential, as the reads may not play along.
fn shown(trace: &Trace, analysis: AnalysisId, ways: &[Way]) -> Result<Vec<Finding>> {
    let witnesses = search::along(trace, ways)?;
    let found = accessors(trace, ways.iter().flat_map(|way| [way.last.0, way.last.1]).collect())?;
    let finding = |(way, witness): (&Way, Option<Witness>)| {
        let accesses = vec![found.get(&way.last.0)?.clone(), found.get(&way.last.1)?.clone()];
        Some(Finding::new(Kind::Race, Strength::Potential, analysis, accesses).with_witness(witness))
    };
    Ok(ways.iter().zip(witnesses).filter_map(finding).collect())
}

/// Acquisitions that may wait for each other: one finding for each pair of code positions.
fn doomed(trace: &Trace, analysis: AnalysisId, pairs: &[(EventId, EventId)]) -> Result<Vec<Finding>> {
    let mut seen = HashSet::new();
    let mut findings = unproven(trace, analysis, Kind::Deadlock, pairs)?;
    findings.retain(|finding| seen.insert(races::pair_of(finding)));
    Ok(findings)
}

/// Findings for pairs of events, with nothing to show for them.
fn unproven(trace: &Trace, analysis: AnalysisId, kind: Kind, pairs: &[(EventId, EventId)]) -> Result<Vec<Finding>> {
    let found = accessors(trace, pairs.iter().flat_map(|&(first, second)| [first, second]).collect())?;
    let finding = |(first, second): &(EventId, EventId)| {
        let accesses = vec![found.get(first)?.clone(), found.get(second)?.clone()];
        Some(Finding::new(kind, Strength::Potential, analysis, accesses))
    };
    Ok(pairs.iter().filter_map(finding).collect())
}

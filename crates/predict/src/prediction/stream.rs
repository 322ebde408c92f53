//! The common reading of the trace: the streaming analyses side by side, on several threads if there are any to spare.

use std::panic::resume_unwind;
use std::thread;

use reweave_model::EventId;
use reweave_trace::{Result, Trace};

use crate::analysis::AnalysisRef;
use crate::linear::{self, Candidates, Linear, Way};
use crate::search::{SearchLimits, Stage};

/// What an analysis has to say after the pass.
pub(super) struct Passed {
    pub analysis: AnalysisRef,
    pub found: Candidates,
    pub stats: Vec<(&'static str, u64)>,
    pub deadlocks: Vec<(EventId, EventId)>,
    pub ways: Vec<Way>,
}

/// What one thread reads the trace for.
#[derive(Default)]
struct Share {
    analyses: Vec<AnalysisRef>,
    /// A rough guess at its cost.
    weight: u32,
}

/// What comes of it.
pub(super) struct Read {
    pub events: u64,
    /// Events that every analysis has read.
    pub by_all: u64,
    pub passed: Vec<Passed>,
}

/// One that keeps something of every event.
const COSTLY_WEIGHT: u32 = 5;

/// Reads the trace once for each thread. `progress` hears how far the first one is.
pub(super) fn read(
    trace: &Trace,
    analyses: &[AnalysisRef],
    limits: &SearchLimits<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<Read> {
    let mut shares = deal(analyses, limits.jobs.max(1));
    let first = shares.remove(0);
    let all: Vec<Result<Read>> = limits.timed(Stage::Stream, || {
        thread::scope(|scope| {
            let others: Vec<_> =
                shares.iter().map(|share| scope.spawn(|| share.read(trace, limits, &mut |_| {}))).collect();
            let mut all = vec![first.read(trace, limits, progress)];
            all.extend(others.into_iter().map(|other| other.join().unwrap_or_else(|why| resume_unwind(why))));
            all
        })
    });
    let mut all = all.into_iter();
    let mut read = all.next().expect("there is a first one")?;
    for other in all {
        let other = other?;
        read.by_all = read.by_all.min(other.by_all);
        read.passed.extend(other.passed);
    }
    // As they were asked for.
    let place = |passed: &Passed| analyses.iter().position(|analysis| analysis.id() == passed.analysis.id());
    read.passed.sort_by_key(place);
    Ok(read)
}

/// The first share may be empty: whether the trace can have happened is to be known before anything else.
fn deal(analyses: &[AnalysisRef], jobs: usize) -> Vec<Share> {
    let mut shares: Vec<Share> = (0..jobs).map(|_| Share::default()).collect();
    let weight = |analysis: &AnalysisRef| if analysis.about().is_costly { COSTLY_WEIGHT } else { 1 };
    let mut heaviest_first: Vec<AnalysisRef> = analyses.to_vec();
    heaviest_first.sort_by_key(|analysis| std::cmp::Reverse(weight(analysis)));
    for analysis in heaviest_first {
        let lightest = shares.iter_mut().min_by_key(|share| share.weight).expect("at least one");
        lightest.weight += weight(&analysis);
        lightest.analyses.push(analysis);
    }
    let rest = shares.split_off(1);
    shares.extend(rest.into_iter().filter(|share| !share.analyses.is_empty()));
    shares
}

impl Share {
    fn read(&self, trace: &Trace, limits: &SearchLimits<'_>, progress: &mut dyn FnMut(f64)) -> Result<Read> {
        let (names, mut passes): (Vec<AnalysisRef>, Vec<Box<dyn Linear>>) =
            self.analyses.iter().filter_map(|&analysis| Some((analysis, analysis.pass()?))).unzip();
        let mut go_on = |done| {
            progress(done);
            !limits.is_over()
        };
        let events = match &mut passes[..] {
            // No list to go through for each event.
            [one] => linear::run(trace, &mut **one, &mut go_on)?,
            _ => linear::run(trace, &mut passes, &mut go_on)?,
        };
        let passed = names.into_iter().zip(passes).map(|(analysis, mut pass)| {
            let found = pass.finish();
            Passed { analysis, found, stats: pass.stats(), deadlocks: pass.deadlocks(), ways: pass.ways() }
        });
        Ok(Read { events, by_all: events, passed: passed.collect() })
    }
}

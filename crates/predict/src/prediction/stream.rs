//! The common reading of the trace: the streaming analyses side by side, on several threads if there are any to spare.

use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

use reweave_model::{EventId, Kind};
use reweave_trace::{Growing, Result, Trace};

use crate::analysis::AnalysisRef;
use crate::linear::{self, Candidates, Linear, Way};
use crate::search::{SearchLimits, Stage};
use crate::share::{self, Numbers, Share};

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
struct Part {
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

/// What a thread reads.
pub(super) enum Input<'a> {
    Trace(&'a Trace),
    /// A text that is being converted.
    Text(Growing, &'a Path),
}

/// How many threads read.
pub(super) fn readers(analyses: &[AnalysisRef], limits: &SearchLimits<'_>) -> usize {
    limits.jobs.clamp(1, analyses.len().max(1))
}

/// Reads the trace once for each thread. `progress` hears how far the first one is.
pub(super) fn read(
    trace: &Trace,
    analyses: &[AnalysisRef],
    limits: &SearchLimits<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<Read> {
    let inputs = (0..readers(analyses, limits)).map(|_| Input::Trace(trace)).collect();
    read_all(inputs, analyses, limits, progress)
}

/// Deals the analyses out to the readers.
pub(super) fn read_all(
    inputs: Vec<Input<'_>>,
    analyses: &[AnalysisRef],
    limits: &SearchLimits<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<Read> {
    let mut shares = deal(analyses, inputs.len(), 0).into_iter().zip(inputs);
    let (first, input) = shares.next().expect("somebody reads");
    let all: Vec<Result<Read>> = limits.timed(Stage::Stream, || {
        thread::scope(|scope| {
            let others: Vec<_> =
                shares.map(|(share, input)| scope.spawn(move || share.read(input, limits, &mut |_| {}))).collect();
            let mut all = vec![first.read(input, limits, progress)];
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

/// Reads it once in each process, for a part of the analyses that list races; the first one does the others.
pub(super) fn read_together(
    trace: &Trace,
    analyses: &[AnalysisRef],
    limits: &SearchLimits<'_>,
    share: &dyn Share,
    progress: &mut dyn FnMut(f64),
) -> Result<Read> {
    let is_dealt = |analysis: &&AnalysisRef| analysis.about().finds == Kind::Race;
    let (dealt, kept): (Vec<AnalysisRef>, Vec<AnalysisRef>) = analyses.iter().partition(|one| is_dealt(one));
    let first = kept.iter().map(weight).sum();
    let mut mine = deal(&dealt, share.everybody(), first).swap_remove(share.me()).analyses;
    if share.me() == 0 {
        mine.extend(kept);
    }
    let read = read(trace, &mine, limits, progress)?;
    let mut own = vec![read.by_all];
    let told: Vec<&Passed> = read.passed.iter().filter(|passed| is_dealt(&&passed.analysis)).collect();
    own.push(told.len() as u64);
    for Passed { analysis, found, stats, deadlocks, .. } in told {
        own.push(analyses.iter().position(|other| other.id() == analysis.id()).unwrap_or(usize::MAX) as u64);
        share::put_candidates(&mut own, &found.pairs);
        share::put_candidates(&mut own, &found.refuted);
        own.push(found.dropped);
        own.push(stats.len() as u64);
        own.extend(stats.iter().map(|(_, number)| *number));
        own.push(deadlocks.len() as u64);
        own.extend(deadlocks.iter().flat_map(|(first, second)| [first.0, second.0]));
    }
    let mut together = read;
    for (process, numbers) in share.gather(own).iter().enumerate().filter(|(process, _)| *process != share.me()) {
        let mut numbers = Numbers::new(numbers);
        together.by_all = together.by_all.min(numbers.next());
        let passed = numbers.list(|numbers| passed(analyses, numbers));
        assert!(!passed.iter().any(Option::is_none), "process {process} has other analyses: it is another build");
        together.passed.extend(passed.into_iter().flatten());
    }
    let place = |passed: &Passed| analyses.iter().position(|analysis| analysis.id() == passed.analysis.id());
    together.passed.sort_by_key(place);
    Ok(together)
}

/// What another process says of one analysis.
fn passed(analyses: &[AnalysisRef], numbers: &mut Numbers<'_>) -> Option<Passed> {
    let analysis = *analyses.get(numbers.next() as usize)?;
    let pairs = numbers.list(Numbers::candidate);
    let refuted = numbers.list(Numbers::candidate);
    let found = Candidates { pairs, refuted, dropped: numbers.next(), ..Candidates::default() };
    let values = numbers.list(Numbers::next);
    let names = analysis.pass()?.stats();
    let stats = names.into_iter().zip(values).map(|((name, _), value)| (name, value)).collect();
    Some(Passed { analysis, found, stats, deadlocks: numbers.list(Numbers::events), ways: Vec::new() })
}

fn weight(analysis: &AnalysisRef) -> u32 {
    if analysis.about().is_costly { COSTLY_WEIGHT } else { 1 }
}

/// The first share may be empty: whether the trace can have happened is to be known before anything else.
///
/// `first`: the weight of what it does beside this.
fn deal(analyses: &[AnalysisRef], jobs: usize, first: u32) -> Vec<Part> {
    let mut shares: Vec<Part> = (0..jobs).map(|_| Part::default()).collect();
    shares[0].weight = first;
    let mut heaviest_first: Vec<AnalysisRef> = analyses.to_vec();
    heaviest_first.sort_by_key(|analysis| std::cmp::Reverse(weight(analysis)));
    for analysis in heaviest_first {
        let lightest = shares.iter_mut().min_by_key(|share| share.weight).expect("at least one");
        lightest.weight += weight(&analysis);
        lightest.analyses.push(analysis);
    }
    shares
}

impl Input<'_> {
    fn pass<L: Linear + ?Sized>(self, analysis: &mut L, go_on: &mut dyn FnMut(f64) -> bool) -> Result<u64> {
        match self {
            Self::Trace(trace) => linear::run(trace, analysis, go_on),
            Self::Text(text, path) => linear::run_beside(text, path, analysis, go_on),
        }
    }
}

impl Part {
    fn read(&self, input: Input<'_>, limits: &SearchLimits<'_>, progress: &mut dyn FnMut(f64)) -> Result<Read> {
        let (names, mut passes): (Vec<AnalysisRef>, Vec<Box<dyn Linear>>) =
            self.analyses.iter().filter_map(|&analysis| Some((analysis, analysis.pass()?))).unzip();
        let mut go_on = |done| {
            progress(done);
            !limits.is_over()
        };
        let events = match &mut passes[..] {
            // No list to go through for each event.
            [one] => input.pass(&mut **one, &mut go_on)?,
            _ => input.pass(&mut passes, &mut go_on)?,
        };
        let passed = names.into_iter().zip(passes).map(|(analysis, mut pass)| {
            let found = pass.finish();
            Passed { analysis, found, stats: pass.stats(), deadlocks: pass.deadlocks(), ways: pass.ways() }
        });
        Ok(Read { events, by_all: events, passed: passed.collect() })
    }
}

//! Nondeterministic reads: reads that another interleaving of the same events lets see another write.
//!
//! Source: Sinha, Malik, Gupta, *Efficient Predictive Analysis for Detecting Nondeterminism in Multi-Threaded
//! Programs*, FMCAD
//! 2012. Two rules:
//!
//! * **exact** (the default): "read r can see write c" is a question to the [engine](crate::feasible): some reordering
//!   after which r is next and c is the last writer of the cell. Sound and complete for the window; every answer leaves
//!   with an order that the [checker](crate::witness) accepted ([`views`]). It deviates from the paper, whose orders of
//!   writer, reader and challenger do not say that the challenger is what the reader sees, and which keeps every other
//!   read of the trace.
//! * **[published]**: the paper's own rule, as printed, with its numbers. What it finds is a pattern: `potential`.
//!
//! Reads are plain reads, atomic loads, updates, exchanges and compare-exchanges; their own value is free, a
//! compare-exchange's too (it may then end otherwise). The time before all writes is a writer, and the end of the run,
//! when every thread has ended, is a reader of every cell.
//!
//! Reads are asked for by pair of code positions ([`groups`]), a bounded number of tries each; what was not settled is
//! counted.

mod feeds;
mod groups;
mod patterns;
pub mod published;
pub mod views;

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use reweave_model::{Accessor, AnalysisId, Feeds, Finding, Kind, View};
use reweave_trace::{Result, Trace};

use crate::history::*;
use crate::lower::Lowered;
use crate::search::{self, Path, SearchLimits};
pub use feeds::feeds;
use groups::{Candidate, Group, Lines};
pub use patterns::patterns;
use views::{Alternative, Verdict, Views};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rule {
    #[default]
    Exact,
    Published,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Even if the analysis is not asked for by name.
    pub wanted: bool,
    pub rule: Rule,
    /// A read that gets the same known value from the other write is benign: counted, not listed.
    pub values: bool,
}

/// How it went.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    pub windows: u64,
    pub kept: u64,
    /// Pairs of lines that passed the quick check.
    pub candidates: u64,
    pub questions: u64,
    /// Pairs of lines without an answer.
    pub unknown: u64,
    /// Pairs of lines that always agree on the value.
    pub benign: u64,
    /// Orders that the checker refused. Always 0, or something is wrong.
    pub refused: u64,
    pub solving: Duration,
}

impl Stats {
    /// By name, for the report.
    pub fn numbers(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("windows", self.windows),
            ("kept_events", self.kept),
            ("candidate_pairs", self.candidates),
            ("questions", self.questions),
            ("unknown_pairs", self.unknown),
            ("benign_pairs", self.benign),
            ("refused_witnesses", self.refused),
            ("solving_ms", self.solving.as_millis() as u64),
        ]
    }
}

pub struct NondeterministicReads {
    pub findings: Vec<Finding>,
    pub stats: Stats,
}

/// A nondeterministic read, before its schedule is made.
struct Sighting {
    accesses: Vec<Accessor>,
    view: View,
    path: Path,
    doubtful: bool,
}

/// Looks for nondeterministic reads by the exact rule.
pub fn exact(
    trace: &Trace,
    analysis: AnalysisId,
    options: Options,
    limits: &SearchLimits<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<NondeterministicReads> {
    let mut search = Search {
        limits,
        options,
        stats: Stats::default(),
        found: BTreeMap::new(),
        unknown: HashSet::new(),
        benign: HashSet::new(),
    };
    search::each_window(trace, limits, progress, &mut |window, progress| search.window(window, progress))?;
    search.benign.retain(|lines| !search.found.contains_key(lines));
    search.stats.unknown = search.unknown.len() as u64;
    search.stats.benign = search.benign.len() as u64;
    let sightings: Vec<Sighting> = search.found.into_values().collect();
    let paths: Vec<&Path> = sightings.iter().map(|sighting| &sighting.path).collect();
    let witnesses = search::witnesses(trace, &paths)?;
    let mut findings = Vec::new();
    let mut fed = feeds::Known::default();
    for (mut sighting, witness) in sightings.into_iter().zip(witnesses) {
        if let Some(read) = sighting.view.read.map(|read| &sighting.accesses[read]) {
            sighting.view.feeds = fed.of(trace, read)?;
        }
        let Sighting { accesses, view, doubtful, .. } = sighting;
        findings.push(Finding {
            view: Some(view),
            ..Finding::predicted(Kind::Nondeterminism, doubtful, analysis, accesses, witness)
        });
    }
    Ok(NondeterministicReads { findings, stats: search.stats })
}

struct Search<'o> {
    limits: &'o SearchLimits<'o>,
    options: Options,
    stats: Stats,
    found: BTreeMap<Lines, Sighting>,
    unknown: HashSet<Lines>,
    benign: HashSet<Lines>,
}

impl Search<'_> {
    fn window(&mut self, window: &Lowered, progress: &mut dyn FnMut(f64)) {
        self.stats.windows += 1;
        self.stats.kept += window.history.steps.len() as u64;
        let views = Views::new(&window.history);
        let sure = self.found.iter().filter(|(_, sighting)| !sighting.doubtful);
        let done: HashSet<Lines> = sure.map(|(lines, _)| *lines).collect();
        let groups = groups::groups(window, &views, &done);
        self.stats.candidates += groups.len() as u64;
        let total = groups.len() as f64;
        for (i, group) in groups.iter().enumerate() {
            progress(i as f64 / total);
            self.group(window, &views, group);
        }
    }

    fn group(&mut self, window: &Lowered, views: &Views<'_>, group: &Group) {
        let mut unsure = group.more;
        for candidate in &group.candidates {
            if self.limits.is_over() {
                unsure = true;
                break;
            }
            let same = candidate.read.is_some_and(|read| views.same_value(read, candidate.writer, self.limits.mode));
            if same && self.options.values && self.benign.contains(&group.lines) {
                continue;
            }
            self.stats.questions += 1;
            let began = Instant::now();
            let verdict = match candidate.read {
                Some(read) => views.ask(read, candidate.cell, candidate.writer, self.limits),
                None => views.ask_end(candidate.cell, candidate.writer, self.limits),
            };
            self.stats.solving += began.elapsed();
            match verdict {
                Verdict::Sees(_) if same && self.options.values => {
                    self.benign.insert(group.lines);
                }
                Verdict::Sees(alternative) => {
                    let sighting = sighting(window, views, *candidate, &alternative);
                    let sure = !sighting.doubtful;
                    self.found.insert(group.lines, sighting);
                    // One that proves nothing stays only if no better one turns up.
                    if sure {
                        break;
                    }
                }
                Verdict::Never => {}
                Verdict::Unknown => unsure = true,
                Verdict::Refused => {
                    self.stats.refused += 1;
                    unsure = true;
                }
            }
        }
        if self.found.contains_key(&group.lines) {
            self.unknown.remove(&group.lines);
        } else if unsure {
            self.unknown.insert(group.lines);
        }
    }
}

fn sighting(window: &Lowered, views: &Views<'_>, candidate: Candidate, alternative: &Alternative) -> Sighting {
    let Candidate { read, cell, .. } = candidate;
    // In a complete order the read is followed by the rest: not part of the way to it.
    let order = &alternative.order;
    let order = &order[..order.iter().position(|&pos| Some(pos) == read).unwrap_or(order.len())];
    let doubtful = order.iter().chain(&read).any(|&pos| window.history.step(pos).doubtful);
    let seen = read.map_or_else(|| views.last(cell), |read| views.seen(read, cell));
    let (accesses, view) = view(window, candidate, seen, Some(alternative.value));
    Sighting { accesses, view, path: Path::new(window, order, read.as_slice()), doubtful }
}

/// A read, what it saw and what it can see, as findings have it. `value`: what it would return, if that is known.
fn view(window: &Lowered, candidate: Candidate, seen: Option<Pos>, value: Option<Val>) -> (Vec<Accessor>, View) {
    let Candidate { read, cell, writer } = candidate;
    let history = &window.history;
    let mut accesses = Vec::new();
    let mut number = |pos: Option<Pos>| {
        let pos = pos.filter(|&pos| history.step(pos).event.is_some())?;
        accesses.push(search::accessor(window, pos));
        Some(accesses.len() - 1)
    };
    let (first, second, third) = (number(read), number(seen), number(writer));
    let written = |pos: Pos| {
        let writes = history.step(pos).action.access().map_or(&[][..], |access| &access.writes);
        let at = writes.binary_search_by_key(&cell, |(cell, _)| *cell).ok()?;
        window.word(writes[at].1)
    };
    let initial = || window.word(history.initial[cell.index()]);
    let view = View {
        read: first,
        seen: second,
        other: third,
        seen_value: seen.map_or_else(initial, written),
        other_value: value.and_then(|value| window.word(value)),
        feeds: Feeds::Unknown,
    };
    (accesses, view)
}

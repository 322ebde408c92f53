//! Races by questions to the [engine](crate::feasible): window by window, pair by pair, each answer judged by the
//! [checker](crate::witness) before it becomes a finding.

mod nearby;
mod pairs;

use std::panic::resume_unwind;
use std::thread;
use std::time::{Duration, Instant};

use reweave_model::{Accessor, AnalysisId, EventId, Finding, Kind, Pc};
use reweave_trace::{Result, Trace};

use crate::feasible::{Feasibility, Goal, Index, Question};
use crate::history::*;
use crate::linear::{FastMap, FastSet};
use crate::lower::{Left, Lowered, Unlowered, Windows};
use crate::prediction::accessors;
use crate::search::{self, Path, SearchLimits, Stage};
use crate::witness;

/// How it went.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    pub windows: u64,
    /// Events that reorderings can tell apart.
    pub kept: u64,
    /// Pairs of code positions that passed the quick check.
    pub candidates: u64,
    pub questions: u64,
    /// Pairs of code positions without an answer: out of time, or with more pairs of events than were tried.
    pub unknown: u64,
    /// Orders that the checker refused: mistakes of the engine. Always 0, or something is wrong.
    pub refused: u64,
    pub solving: Duration,
}

pub struct Races {
    pub findings: Vec<Finding>,
    /// Pairs of code positions (smaller first) of which some were asked about, and none is a race.
    pub refuted: FastSet<(Pc, Pc)>,
    pub stats: Stats,
}

/// Races that are shown at most: each needs a schedule and a description, and nobody reads more. What is left is
/// counted as unknown.
const MOST: usize = 4096;
/// Time that is kept to describe each race that was found.
const DESCRIBED_IN: Duration = Duration::from_micros(150);

/// A race, before its schedule is made.
struct FoundRace {
    accesses: [Accessor; 2],
    path: Path,
    doubtful: bool,
    weak_order: bool,
}

/// Pairs of code positions (smaller first), each with two events, in order, that an analysis takes for a race.
pub type Listed = FastMap<(Pc, Pc), (EventId, EventId)>;

/// Looks for races under this name; only at these pairs of code positions if given.
pub fn races(
    trace: &Trace,
    analysis: AnalysisId,
    limits: &SearchLimits<'_>,
    only: Option<&Listed>,
    progress: &mut dyn FnMut(f64),
) -> Result<Races> {
    let mut search = Search {
        asker: Asker { limits },
        only,
        stats: Stats::default(),
        found: FastMap::default(),
        unknown: FastSet::default(),
        refuted: FastSet::default(),
        left_out: 0,
    };
    let mut windows = search::windows(trace, limits, progress)?;
    let is_one = windows.is_one()?;
    if !is_one {
        search.near_listed(&mut windows)?;
        windows.restart(limits.window.unwrap_or(search::WINDOW));
    }
    search.sweep(&mut windows, progress)?;
    search.leave_the_rest();
    let mut found: Vec<FoundRace> = search.found.into_values().collect();
    found.sort_by_key(|found| {
        let [first, second] = &found.accesses;
        (second.event, first.event, second.pc, first.pc)
    });
    search.stats.unknown = search.unknown.len() as u64 + search.left_out;
    let witnesses = limits.timed(Stage::Describe, || {
        if !is_one {
            // What was held when a window began is known from the trace only.
            let events = found.iter().flat_map(|found| found.accesses.each_ref().map(|access| access.event));
            let exact = accessors(trace, events.collect())?;
            let all = found.iter_mut().flat_map(|found| &mut found.accesses);
            all.for_each(|access| access.locks_held.clone_from(&exact[&access.event].locks_held));
        }
        let paths: Vec<&Path> = found.iter().map(|found| &found.path).collect();
        search::witnesses(trace, &paths)
    })?;
    let findings = found.into_iter().zip(witnesses).map(|(found, witness)| Finding {
        weak_order: found.weak_order,
        ..Finding::predicted(Kind::Race, found.doubtful, analysis, found.accesses.into(), witness)
    });
    let refuted = search.refuted.into_iter().filter(|pcs| !search.unknown.contains(pcs)).collect();
    Ok(Races { findings: findings.collect(), refuted, stats: search.stats })
}

struct Search<'o> {
    asker: Asker<'o>,
    only: Option<&'o Listed>,
    stats: Stats,
    found: FastMap<(Pc, Pc), FoundRace>,
    unknown: FastSet<(Pc, Pc)>,
    /// In some window, for certain.
    refuted: FastSet<(Pc, Pc)>,
    /// Pairs of code positions that there was no room for.
    left_out: u64,
}

/// What became of a pair of code positions in a window.
struct Verdict {
    pcs: (Pc, Pc),
    found: Option<FoundRace>,
    /// Nothing was found, and that says nothing.
    unsure: bool,
}

/// What became of a window. Several can be looked at side by side: what is found in one only spares the later ones
/// questions.
#[derive(Default)]
struct Outcome {
    verdicts: Vec<Verdict>,
    left_out: u64,
    stats: Stats,
}

impl Search<'_> {
    fn is_over(&self) -> bool {
        self.found.len() >= MOST || self.asker.must_describe(self.found.len())
    }

    fn is_found(&self, pcs: &(Pc, Pc)) -> bool {
        self.found.get(pcs).is_some_and(|found| !found.doubtful)
    }

    /// Goes through the windows that have something that is wanted and not found yet.
    fn sweep(&mut self, windows: &mut Windows<'_>, progress: &mut dyn FnMut(f64)) -> Result<()> {
        let limits = self.asker.limits;
        let mut batch: Vec<Lowered> = Vec::new();
        loop {
            let left: Option<Left> =
                self.only.map(|only| Left::new(only.keys().filter(|pcs| !self.is_found(pcs)).copied().collect()));
            if left.as_ref().is_some_and(Left::is_empty) {
                return Ok(());
            }
            let wanted = |window: &Unlowered<'_>| window.may_race(left.as_ref());
            let mut ended = false;
            while batch.len() < limits.jobs.max(1) {
                let Some((kept, window)) = limits.timed(Stage::Lower, || windows.next_window_if(&wanted))? else {
                    ended = true;
                    break;
                };
                self.stats.windows += 1;
                self.stats.kept += kept as u64;
                batch.extend(window);
            }
            for outcome in self.outcomes(&batch, progress) {
                self.merge(outcome);
            }
            batch.clear();
            if ended || self.is_over() {
                return Ok(());
            }
            progress(windows.progress());
        }
    }

    /// Looks at windows side by side.
    fn outcomes(&self, windows: &[Lowered], progress: &mut dyn FnMut(f64)) -> Vec<Outcome> {
        let Some((first, others)) = windows.split_first() else { return Vec::new() };
        thread::scope(|scope| {
            let others: Vec<_> = others.iter().map(|window| scope.spawn(|| self.window(window, &mut |_| {}))).collect();
            let mut all = vec![self.window(first, progress)];
            let joined = others.into_iter().map(|other| other.join().unwrap_or_else(|why| resume_unwind(why)));
            all.extend(joined);
            all
        })
    }

    /// What a window says, as if those before it had been looked at first.
    fn merge(&mut self, Outcome { verdicts, left_out, stats }: Outcome) {
        self.stats.add(&stats);
        self.left_out += left_out;
        for Verdict { pcs, found, unsure } in verdicts {
            if self.is_found(&pcs) {
                continue;
            }
            match found {
                // One that proves nothing stays only if no better one turns up.
                Some(found) if self.found.len() < MOST || self.found.contains_key(&pcs) => {
                    self.unknown.remove(&pcs);
                    self.found.insert(pcs, found);
                }
                Some(_) => drop(self.unknown.insert(pcs)),
                None if self.found.contains_key(&pcs) => {}
                None if unsure => drop(self.unknown.insert(pcs)),
                None => drop(self.refuted.insert(pcs)),
            }
        }
    }

    /// What was listed and not come to has no answer.
    fn leave_the_rest(&mut self) {
        let Some(only) = self.only.filter(|_| self.is_over()) else { return };
        let open = |pcs: &&(Pc, Pc)| !self.found.contains_key(*pcs) && !self.refuted.contains(*pcs);
        self.unknown.extend(only.keys().filter(open).copied());
    }

    fn window(&self, window: &Lowered, progress: &mut dyn FnMut(f64)) -> Outcome {
        let limits = self.asker.limits;
        let wanted = |pcs: &(Pc, Pc)| !self.is_found(pcs) && self.only.is_none_or(|only| only.contains_key(pcs));
        let (index, groups) = limits.timed(Stage::Ask, || {
            let index = Index::new(&window.history);
            let groups = pairs::groups(window, &index, &wanted, limits);
            (index, groups)
        });
        let pairs::Groups { all: groups, left_out } = groups;
        let mut outcome = Outcome { left_out, ..Outcome::default() };
        outcome.stats.candidates = groups.len() as u64 + left_out;
        let (total, mut shown) = (groups.len() as f64, self.found.len());
        for (i, group) in groups.into_iter().enumerate() {
            progress(i as f64 / total);
            let mut verdict = Verdict { pcs: group.pcs, found: None, unsure: group.more };
            if shown >= MOST || self.asker.must_describe(shown) {
                verdict.unsure = true;
                outcome.verdicts.push(verdict);
                continue;
            }
            for &pair in &group.pairs {
                if limits.is_over() {
                    verdict.unsure = true;
                    break;
                }
                match self.asker.ask(window, &index, pair, &mut outcome.stats) {
                    Some(Ok(found)) => {
                        let sure = !found.doubtful;
                        verdict.found = Some(found);
                        if sure {
                            break;
                        }
                    }
                    Some(Err(Unsure)) => verdict.unsure = true,
                    None => {}
                }
            }
            shown += usize::from(verdict.found.is_some());
            outcome.verdicts.push(verdict);
        }
        outcome
    }
}

impl Stats {
    fn add(&mut self, other: &Self) {
        self.windows += other.windows;
        self.kept += other.kept;
        self.candidates += other.candidates;
        self.questions += other.questions;
        self.refused += other.refused;
        self.solving += other.solving;
    }
}

/// Who asks the engine.
#[derive(Clone, Copy)]
struct Asker<'o> {
    limits: &'o SearchLimits<'o>,
}

impl Asker<'_> {
    /// Whether the time that is left is needed to describe so many races.
    fn must_describe(self, found: usize) -> bool {
        let kept = DESCRIBED_IN * found as u32;
        self.limits.is_over() || self.limits.deadline.is_some_and(|deadline| Instant::now() + kept >= deadline)
    }

    fn ask(
        self,
        window: &Lowered,
        index: &Index<'_>,
        pair: (Pos, Pos),
        stats: &mut Stats,
    ) -> Option<Result<FoundRace, Unsure>> {
        let mode = self.limits.mode;
        let began = Instant::now();
        let orders: &[(Pos, Pos)] = if mode == Mode::Said { &[pair, (pair.1, pair.0)] } else { &[pair] };
        let mut answer = None;
        for &pair in orders {
            let asked = self.limits.timed(Stage::Ask, || {
                let question = Question::new(index, mode, Goal::race(&window.history, mode, pair))?;
                Some(question.ask(self.limits.question()).0)
            });
            let Some(feasible) = asked else { continue };
            stats.questions += 1;
            match feasible {
                Feasibility::No => {}
                Feasibility::Unknown(_) => answer = Some(Err(Unsure)),
                Feasibility::Reordering(order) => {
                    let check = || witness::check(&window.history, mode, &order, pair);
                    answer = Some(match self.limits.timed(Stage::Check, check) {
                        Ok(()) => Ok(found(window, &order, pair, false)),
                        Err(_) => {
                            stats.refused += 1;
                            Err(Unsure)
                        }
                    });
                    break;
                }
            }
        }
        if answer.is_none() && mode == Mode::ControlFlow && !self.limits.is_over() {
            answer = weak_order(window, pair).map(Ok);
        }
        stats.solving += began.elapsed();
        answer
    }
}

/// Whether the two are ordered only by atomics too weak to order them: then the observed order shows it.
fn weak_order(window: &Lowered, (first, second): (Pos, Pos)) -> Option<FoundRace> {
    let history = &window.history;
    let weak = |pos: &Pos| match &history.step(*pos).action {
        Action::Access(access) => access.kind != AccessKind::Plain,
        _ => false,
    };
    if !history.positions().take(second.index()).any(|pos| weak(&pos)) {
        return None;
    }
    let order: Vec<Pos> = history.positions().take(second.index() + 1).collect();
    witness::check_weak_order(history, Mode::ControlFlow, &order, first, second).ok()?;
    Some(found(window, &order[..second.index()], (first, second), true))
}

fn found(window: &Lowered, order: &[Pos], (first, second): (Pos, Pos), weak_order: bool) -> FoundRace {
    // In a complete order the pair is followed by the rest: not part of the way to it.
    let end = order.iter().position(|&pos| !weak_order && (pos == first || pos == second)).unwrap_or(order.len());
    let order = &order[..end];
    let doubtful = order.iter().chain([&first, &second]).any(|&pos| window.history.step(pos).doubtful);
    let pair = [first, second];
    FoundRace {
        accesses: pair.map(|pos| search::accessor(window, pos)),
        path: Path::new(window, order, if weak_order { &pair[1..] } else { &pair }),
        doubtful,
        weak_order,
    }
}

/// No answer.
struct Unsure;

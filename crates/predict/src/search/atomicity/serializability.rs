//! Atomicity violations by questions to the [engine](crate::feasible): window by window, block by block, cycle by
//! cycle. Each answer is judged by the [checker](crate::witness), which builds the graph over transactions by itself.
//!
//! Source: the maximal causal model for atomicity (Farzan and Madhusudan 2009 show that predicting it is hard in
//! general; here the ordering solver does the work); triples after Vaziri, Tip and Dolby (POPL 2006) and AVIO (Lu et
//! al. 2006). Sound; exact for a history as long as the bounds on cycles are not met, otherwise what was left out is
//! counted.

use std::time::{Duration, Instant};

use reweave_model::{Accessor, AnalysisId, AtomicBlock, EventId, Finding, Kind, Pc};
use reweave_order::Budget;
use reweave_trace::{Result, Trace};

use super::blocks::{Blocks, Span};
use super::{Block, Bounds, Cycle, Cycles, Transactions};
use crate::feasible::{Feasibility, Goal, Index, Question};
use crate::history::*;
use crate::linear::{FastMap, FastSet};
use crate::lower::{Lowered, Windows};
use crate::search::{self, Context, Path, SearchLimits, Stage};
use crate::witness;

/// For windows of real traces.
const BOUNDS: Bounds = Bounds { threads: 3, near: 64, cycles: 256 };
/// Questions per place of a block and interfering place; one that is not violated by so many tries is given up (and
/// counted).
const TRIES: u32 = 60;
/// Of those, about whole windows of a long trace: a question about the events nearby comes first, and takes a hundredth
/// of the time.
const WHOLE_TRIES: u32 = 4;
/// For windows of long traces, and steps on the way to candidates that each place is worth there.
const LONG_BOUNDS: Bounds = Bounds { threads: 3, near: 16, cycles: 64 };
const STEPS: u32 = 20_000;
/// Kept events after the last one of a cycle that are looked at, too: locks are given back there.
const MARGIN: usize = 64;

/// Asks for a reordering that has a cycle.
pub fn ask(index: &Index<'_>, mode: Mode, cycle: &Cycle, budget: Budget<'_>) -> Feasibility {
    Question::new(index, mode, Goal::in_order(&cycle.edges)).map_or(Feasibility::No, |question| question.ask(budget).0)
}

/// Which cycles count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    Any,
    /// Accesses to memory of one other thread, on one or two locations.
    Triple,
}

/// How it went.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    pub blocks: u64,
    pub questions: u64,
    /// Places of blocks, with interfering places, that were not settled.
    pub unknown: u64,
    /// Orders that the checker refused: mistakes of the engine. Always 0, or something is wrong.
    pub refused: u64,
    pub solving: Duration,
}

pub struct Violations {
    pub findings: Vec<Finding>,
    pub stats: Stats,
}

/// Where a block begins, and where others come in.
type Place = (bool, Pc, Pc);

struct FoundViolation {
    place: Place,
    accesses: Vec<Accessor>,
    block: AtomicBlock,
    path: Path,
    doubtful: bool,
    /// By accesses to memory alone.
    data: bool,
}

/// Looks for violations of these blocks under this name.
pub fn violations(
    trace: &Trace,
    analysis: AnalysisId,
    pattern: Pattern,
    blocks: &Blocks,
    limits: &SearchLimits<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<Violations> {
    let (stats, found, effort, unknown) = Default::default();
    let mut search = Search { limits, pattern, blocks, stats, found, effort, unknown };
    if !blocks.is_empty() {
        let mut windows = search::windows(trace, limits, progress)?;
        let is_long = !windows.is_one()?;
        while let Some(window) = limits.timed(Stage::Lower, || windows.next_window())? {
            search.window(&window, is_long.then_some(&windows), progress);
            if limits.is_over() {
                break;
            }
            progress(windows.progress());
        }
    }
    let mut found: Vec<FoundViolation> = search.found.into_values().collect();
    // Where data shows that a block is torn apart, that the locks around it do too says nothing new.
    let shown = found.iter().filter(|found| found.data && !found.doubtful).map(|found| found.block.enter);
    let shown: FastSet<Pc> = shown.collect();
    found.retain(|found| found.data || !shown.contains(&found.block.enter));
    found.sort_by_key(|found| (found.accesses.iter().map(|access| access.event).max(), found.place));
    search.stats.unknown = search.unknown.len() as u64;
    let paths: Vec<&Path> = found.iter().map(|found| &found.path).collect();
    let witnesses = limits.timed(Stage::Describe, || search::witnesses(trace, &paths))?;
    let findings = found.into_iter().zip(witnesses).map(|(found, witness)| {
        // A block that nobody declared may be as it should be.
        let doubtful = found.doubtful || !found.block.declared;
        let finding = Finding::predicted(Kind::Atomicity, doubtful, analysis, found.accesses, witness);
        Finding { block: Some(found.block), ..finding }
    });
    Ok(Violations { findings: findings.collect(), stats: search.stats })
}

/// What was done about a place.
#[derive(Clone, Copy, Default)]
struct Effort {
    /// Questions, and those about whole windows of a long trace.
    tries: u32,
    whole: u32,
    /// Steps on the way to candidates.
    steps: u32,
}

struct Search<'o> {
    limits: &'o SearchLimits<'o>,
    pattern: Pattern,
    blocks: &'o Blocks,
    stats: Stats,
    found: FastMap<Place, FoundViolation>,
    effort: FastMap<Place, Effort>,
    unknown: FastSet<Place>,
}

/// A window and what is known of it.
#[derive(Clone, Copy)]
struct At<'w> {
    window: &'w Lowered,
    index: &'w Index<'w>,
    transactions: &'w Transactions,
    /// Where each event's block begins, or the event's own place.
    codes: &'w [Pc],
    /// Of a long trace: parts of the window can be had.
    windows: Option<&'w Windows<'w>>,
}

/// A part of a window and what is known of it.
struct Nearby<'w> {
    part: &'w Lowered,
    index: Index<'w>,
    transactions: Transactions,
    places: FastMap<EventId, Pos>,
}

impl<'w> Nearby<'w> {
    fn new(part: &'w Lowered, transactions: Transactions) -> Self {
        let place = |pos: Pos| Some((part.history.step(pos).event?, pos));
        let places = part.history.positions().filter_map(place).collect();
        Self { part, index: Index::new(&part.history), transactions, places }
    }

    /// A cycle of the window, if the part has all of it.
    fn cycle(&self, window: &Lowered, cycle: &Cycle) -> Option<Cycle> {
        let pos = |pos: Pos| self.places.get(&window.history.step(pos).event?).copied();
        let edges: Vec<(Pos, Pos)> =
            cycle.edges.iter().map(|&(one, two)| Some((pos(one)?, pos(two)?))).collect::<Option<_>>()?;
        Some(Cycle { block: self.transactions.block(edges[0].0)?, edges })
    }

    fn at(&self) -> At<'_> {
        At { window: self.part, index: &self.index, transactions: &self.transactions, codes: &[], windows: None }
    }
}

impl Search<'_> {
    fn span(&self, window: &Lowered, pos: Pos) -> Option<&Span> {
        let step = window.history.step(pos);
        self.blocks.at(window.threads[step.thread.index()]?, step.event?)
    }

    fn transactions(&self, window: &Lowered) -> Transactions {
        Transactions::new(&window.history, |pos| self.span(window, pos).map(|span| span.first.0))
    }

    fn window(&mut self, window: &Lowered, windows: Option<&Windows<'_>>, progress: &mut dyn FnMut(f64)) {
        let history = &window.history;
        let transactions = self.transactions(window);
        if transactions.blocks().next().is_none() {
            return;
        }
        let index = Index::new(history);
        let context = Context::new(history, &index);
        let bounds = if windows.is_some() { LONG_BOUNDS } else { BOUNDS };
        let cycles = Cycles::new(history, &transactions, &context, bounds).within(self.limits);
        let code = |pos: Pos| self.span(window, pos).map_or(window.origin(pos).pc, |span| span.block.enter);
        let codes: Vec<Pc> = history.positions().map(code).collect();
        let at = At { window, index: &index, transactions: &transactions, codes: &codes, windows };
        let total = transactions.blocks().count();
        for (i, block) in transactions.blocks().enumerate() {
            progress(i as f64 / total as f64);
            // What lies at the edge of a window lies in the middle of the next one.
            if windows.is_some() && !is_central(window, transactions.ends(block)) {
                continue;
            }
            let Some(span) = self.span(window, transactions.ends(block).0).cloned() else { continue };
            if self.limits.is_over() {
                self.unknown.insert((span.block.declared, span.block.enter, Pc(0)));
                break;
            }
            self.stats.blocks += 1;
            self.block(at, &cycles, block, &span);
        }
    }

    fn block(&mut self, at: At<'_>, cycles: &Cycles<'_>, block: Block, span: &Span) {
        let place_of = |entry: Pos| (span.block.declared, span.block.enter, at.codes[entry.index()]);
        let most = if at.windows.is_some() { STEPS } else { u32::MAX };
        let found = cycles.of_wanted(block, &mut |entry, steps| {
            let place = place_of(entry);
            if self.is_settled(&place) {
                if !self.found.contains_key(&place) {
                    self.unknown.insert(place);
                }
                return 0;
            }
            let effort = self.effort.entry(place).or_default();
            effort.steps = effort.steps.saturating_add(steps);
            let left = if most == u32::MAX { most } else { most.saturating_sub(effort.steps) };
            if left == 0 && !self.found.contains_key(&place) {
                self.unknown.insert(place);
            }
            left
        });
        if found.more {
            self.unknown.insert((span.block.declared, span.block.enter, Pc(0)));
        }
        let history = &at.window.history;
        let mut cycles = found.cycles;
        cycles.retain(|cycle| {
            let is_triple = || cycle.edges.len() == 2 && cycle.is_data(history);
            let begins = || history.step(cycle.edges[0].0).event == Some(span.first);
            (self.pattern != Pattern::Triple || is_triple()) && (!span.update || begins())
        });
        let part = at.windows.and_then(|windows| self.part(at.window, windows, &cycles));
        let nearby = part.as_ref().map(|part| Nearby::new(part, self.transactions(part)));
        for cycle in cycles {
            self.try_cycle(at, nearby.as_ref(), span, place_of(cycle.edges[0].1), &cycle);
        }
    }

    /// The part of a window from the first event of the cycles' transactions to a little after the last one, unless
    /// that is most of it.
    fn part(&self, window: &Lowered, windows: &Windows<'_>, cycles: &[Cycle]) -> Option<Lowered> {
        let event = |pos: Pos| window.history.step(pos).event;
        let start = |pos: Pos| self.span(window, pos).map(|span| span.first).into_iter().chain(event(pos)).min();
        let ends = || cycles.iter().flat_map(|cycle| &cycle.edges).flat_map(|&(one, two)| [one, two]);
        let (first, last) = (ends().filter_map(start).min()?, ends().filter_map(event).max()?);
        let far = ends().max()?.0 - ends().min()?.0;
        let is_most = far as usize > window.history.steps.len() / 2;
        let lower = || windows.part(first, last, MARGIN).lower(first);
        (!is_most).then(|| self.limits.timed(Stage::Lower, lower))
    }

    /// One that proves nothing stays only if no better one turns up.
    fn is_settled(&self, place: &Place) -> bool {
        self.found.get(place).is_some_and(|found| !found.doubtful)
            || self.effort.get(place).is_some_and(|effort| effort.tries >= TRIES)
    }

    fn try_cycle(&mut self, at: At<'_>, nearby: Option<&Nearby<'_>>, span: &Span, place: Place, cycle: &Cycle) {
        if self.found.get(&place).is_some_and(|found| !found.doubtful) {
            return;
        }
        let effort = self.effort.entry(place).or_default();
        effort.tries += 1;
        if effort.tries > TRIES || self.limits.is_over() {
            if !self.found.contains_key(&place) {
                self.unknown.insert(place);
            }
            return;
        }
        let began = Instant::now();
        let near = nearby.and_then(|nearby| Some((nearby, nearby.cycle(at.window, cycle)?)));
        if !near.is_some_and(|(nearby, cycle)| self.ask(nearby.at(), span, place, &cycle)) {
            let effort = self.effort.entry(place).or_default();
            effort.whole += 1;
            if at.windows.is_some() && effort.whole > WHOLE_TRIES {
                self.unknown.insert(place);
            } else {
                self.ask(at, span, place, cycle);
            }
        }
        self.stats.solving += began.elapsed();
    }

    /// Whether there is a reordering with the cycle.
    fn ask(&mut self, at: At<'_>, span: &Span, place: Place, cycle: &Cycle) -> bool {
        let (mode, history) = (self.limits.mode, &at.window.history);
        self.stats.questions += 1;
        match self.limits.timed(Stage::Ask, || ask(at.index, mode, cycle, self.limits.question())) {
            Feasibility::No => {}
            Feasibility::Unknown(_) => drop(self.unknown.insert(place)),
            Feasibility::Reordering(order) => {
                let check = || witness::check_violation(history, mode, &order, at.transactions, cycle.block);
                match self.limits.timed(Stage::Check, check) {
                    Ok(()) => {
                        self.unknown.remove(&place);
                        // A circle of two guessed blocks is told of the one that is torn apart.
                        if !span.block.declared && !is_torn(&order, cycle) {
                            return true;
                        }
                        let found = FoundViolation { place, ..found(at.window, &order, cycle, span) };
                        self.found.insert(place, found);
                        return true;
                    }
                    Err(_) => self.stats.refused += 1,
                }
            }
        }
        false
    }
}

/// Whether something else of the cycle comes between the two events of its block: where it all comes before or after
/// them, another block is torn apart by this one.
fn is_torn(order: &[Pos], cycle: &Cycle) -> bool {
    let at = |pos: Pos| order.iter().position(|other| *other == pos);
    let ends = cycle.edges.last().map(|&(_, back)| (at(cycle.edges[0].0), at(back)));
    let Some((Some(one), Some(two))) = ends else { return true };
    let others = cycle.edges.iter().flat_map(|&(from, to)| [from, to]).filter_map(at);
    others.into_iter().any(|other| one.min(two) < other && other < one.max(two))
}

/// Whether a block begins in the two middle quarters of a window, or near an end of the trace.
fn is_central(window: &Lowered, (first, _): (Pos, Pos)) -> bool {
    let (at, all) = (first.index(), window.history.steps.len());
    (window.first || at >= all / 4) && (window.last || at < all - all / 4)
}

fn found(window: &Lowered, order: &[Pos], cycle: &Cycle, span: &Span) -> FoundViolation {
    let history = &window.history;
    // What comes after the last event of the cycle shows nothing.
    let events: FastSet<Pos> = cycle.edges.iter().flat_map(|&(exit, entry)| [exit, entry]).collect();
    let end = order.iter().rposition(|pos| events.contains(pos)).map_or(order.len(), |last| last + 1);
    let order = &order[..end];
    let in_order: Vec<Pos> = order.iter().copied().filter(|pos| events.contains(pos)).collect();
    FoundViolation {
        accesses: in_order.into_iter().map(|pos| search::accessor(window, pos)).collect(),
        block: span.block.clone(),
        path: Path::new(window, order, &[]),
        place: Place::default(),
        data: cycle.is_data(history),
        doubtful: !span.certain || order.iter().any(|&pos| history.step(pos).doubtful),
    }
}

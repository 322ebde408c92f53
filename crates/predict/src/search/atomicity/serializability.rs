//! Atomicity violations by questions to the [engine](crate::feasible): window by window, block by block, cycle by
//! cycle. Each answer is judged by the [checker](crate::witness), which builds the graph over transactions by itself.
//!
//! Source: the maximal causal model for atomicity (Farzan and Madhusudan 2009 show that predicting it is hard in
//! general; here the ordering solver does the work); triples after Vaziri, Tip and Dolby (POPL 2006) and AVIO (Lu et
//! al. 2006). Sound; exact for a history as long as the bounds on cycles are not met, otherwise what was left out is
//! counted.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use reweave_model::{Accessor, AnalysisId, AtomicBlock, Finding, Kind, Pc};
use reweave_order::Budget;
use reweave_trace::{Result, Trace};

use super::blocks::{Blocks, Span};
use super::{Bounds, Cycle, Cycles, Transactions};
use crate::feasible::{Feasibility, Goal, Index, Question};
use crate::history::*;
use crate::lower::Lowered;
use crate::search::{self, Context, Path, SearchLimits};
use crate::witness;

/// For windows of real traces.
const BOUNDS: Bounds = Bounds { threads: 3, near: 64, cycles: 256 };
/// Questions per place of a block and interfering place; one that is not violated by so many tries is given up (and
/// counted).
const TRIES: u32 = 60;

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
    let (stats, found, tries, unknown) = Default::default();
    let mut search = Search { limits, pattern, blocks, stats, found, tries, unknown };
    if !blocks.is_empty() {
        search::each_window(trace, limits, progress, &mut |window, progress| search.window(window, progress))?;
    }
    let mut found: Vec<FoundViolation> = search.found.into_values().collect();
    // Where data shows that a block is torn apart, that the locks around it do too says nothing new.
    let shown = found.iter().filter(|found| found.data && !found.doubtful).map(|found| found.block.enter);
    let shown: HashSet<Pc> = shown.collect();
    found.retain(|found| found.data || !shown.contains(&found.block.enter));
    found.sort_by_key(|found| found.accesses.iter().map(|access| access.event).max());
    search.stats.unknown = search.unknown.len() as u64;
    let paths: Vec<&Path> = found.iter().map(|found| &found.path).collect();
    let witnesses = search::witnesses(trace, &paths)?;
    let findings = found.into_iter().zip(witnesses).map(|(found, witness)| {
        // A block that nobody declared may be as it should be.
        let doubtful = found.doubtful || !found.block.declared;
        let finding = Finding::predicted(Kind::Atomicity, doubtful, analysis, found.accesses, witness);
        Finding { block: Some(found.block), ..finding }
    });
    Ok(Violations { findings: findings.collect(), stats: search.stats })
}

struct Search<'o> {
    limits: &'o SearchLimits<'o>,
    pattern: Pattern,
    blocks: &'o Blocks,
    stats: Stats,
    found: HashMap<Place, FoundViolation>,
    tries: HashMap<Place, u32>,
    unknown: HashSet<Place>,
}

impl Search<'_> {
    fn span(&self, window: &Lowered, pos: Pos) -> Option<&Span> {
        let step = window.history.step(pos);
        self.blocks.at(window.threads[step.thread.index()]?, step.event?)
    }

    fn window(&mut self, window: &Lowered, progress: &mut dyn FnMut(f64)) {
        let history = &window.history;
        let transactions = Transactions::new(history, |pos| self.span(window, pos).map(|span| span.first.0));
        if transactions.blocks().next().is_none() {
            return;
        }
        let index = Index::new(history);
        let context = Context::new(history, &index);
        let cycles = Cycles::new(history, &transactions, &context, BOUNDS).within(self.limits);
        let total = transactions.blocks().count();
        for (i, block) in transactions.blocks().enumerate() {
            progress(i as f64 / total as f64);
            let Some(span) = self.span(window, transactions.ends(block).0).cloned() else { continue };
            if self.limits.is_over() {
                self.unknown.insert((span.block.declared, span.block.enter, Pc(0)));
                break;
            }
            self.stats.blocks += 1;
            let found = cycles.of(block);
            if found.more {
                self.unknown.insert((span.block.declared, span.block.enter, Pc(0)));
            }
            for cycle in found.cycles {
                if self.pattern == Pattern::Triple && !(cycle.edges.len() == 2 && cycle.is_data(history)) {
                    continue;
                }
                let (exit, entry) = cycle.edges[0];
                if span.update && history.step(exit).event != Some(span.first) {
                    continue;
                }
                let other = self.span(window, entry).map_or(window.origin(entry).pc, |span| span.block.enter);
                let place = (span.block.declared, span.block.enter, other);
                self.try_cycle(window, &index, &transactions, &span, place, &cycle);
            }
        }
    }

    fn try_cycle(
        &mut self,
        window: &Lowered,
        index: &Index<'_>,
        transactions: &Transactions,
        span: &Span,
        place: Place,
        cycle: &Cycle,
    ) {
        // One that proves nothing stays only if no better one turns up.
        if self.found.get(&place).is_some_and(|found| !found.doubtful) {
            return;
        }
        let tries = self.tries.entry(place).or_default();
        *tries += 1;
        if *tries > TRIES || self.limits.is_over() {
            if !self.found.contains_key(&place) {
                self.unknown.insert(place);
            }
            return;
        }
        let (mode, history) = (self.limits.mode, &window.history);
        let began = Instant::now();
        self.stats.questions += 1;
        match ask(index, mode, cycle, self.limits.question()) {
            Feasibility::No => {}
            Feasibility::Unknown(_) => drop(self.unknown.insert(place)),
            Feasibility::Reordering(order) => {
                match witness::check_violation(history, mode, &order, transactions, cycle.block) {
                    Ok(()) => {
                        self.unknown.remove(&place);
                        self.found.insert(place, found(window, &order, cycle, span));
                    }
                    Err(_) => self.stats.refused += 1,
                }
            }
        }
        self.stats.solving += began.elapsed();
    }
}

fn found(window: &Lowered, order: &[Pos], cycle: &Cycle, span: &Span) -> FoundViolation {
    let history = &window.history;
    // What comes after the last event of the cycle shows nothing.
    let events: HashSet<Pos> = cycle.edges.iter().flat_map(|&(exit, entry)| [exit, entry]).collect();
    let end = order.iter().rposition(|pos| events.contains(pos)).map_or(order.len(), |last| last + 1);
    let order = &order[..end];
    let in_order: Vec<Pos> = order.iter().copied().filter(|pos| events.contains(pos)).collect();
    FoundViolation {
        accesses: in_order.into_iter().map(|pos| search::accessor(window, pos)).collect(),
        block: span.block.clone(),
        path: Path::new(window, order, &[]),
        data: cycle.is_data(history),
        doubtful: !span.certain || order.iter().any(|&pos| history.step(pos).doubtful),
    }
}

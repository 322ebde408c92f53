//! Races by questions to the [engine](crate::feasible): window by window, pair by pair, each answer judged by the
//! [checker](crate::witness) before it becomes a finding.

mod pairs;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use reweave_model::{Accessor, AnalysisId, Finding, Kind, Pc};
use reweave_trace::{Result, Trace};

use crate::feasible::{Feasibility, Goal, Index, Question};
use crate::history::*;
use crate::lower::Lowered;
use crate::search::{self, Path, SearchLimits};
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
    pub refuted: HashSet<(Pc, Pc)>,
    pub stats: Stats,
}

/// A race, before its schedule is made.
struct FoundRace {
    accesses: [Accessor; 2],
    path: Path,
    doubtful: bool,
    weak_order: bool,
}

/// Looks for races under this name; only at these pairs of code positions (smaller first) if given.
pub fn races(
    trace: &Trace,
    analysis: AnalysisId,
    limits: &SearchLimits<'_>,
    only: Option<&HashSet<(Pc, Pc)>>,
    progress: &mut dyn FnMut(f64),
) -> Result<Races> {
    let mut search = Search {
        limits,
        only,
        stats: Stats::default(),
        found: HashMap::new(),
        unknown: HashSet::new(),
        refuted: HashSet::new(),
        left_out: 0,
    };
    search::each_window(trace, limits, progress, &mut |window, progress| search.window(window, progress))?;
    let mut found: Vec<FoundRace> = search.found.into_values().collect();
    found.sort_by_key(|found| (found.accesses[1].event, found.accesses[0].event));
    search.stats.unknown = search.unknown.len() as u64 + search.left_out;
    let paths: Vec<&Path> = found.iter().map(|found| &found.path).collect();
    let witnesses = search::witnesses(trace, &paths)?;
    let findings = found.into_iter().zip(witnesses).map(|(found, witness)| Finding {
        weak_order: found.weak_order,
        ..Finding::predicted(Kind::Race, found.doubtful, analysis, found.accesses.into(), witness)
    });
    let refuted = search.refuted.into_iter().filter(|pcs| !search.unknown.contains(pcs)).collect();
    Ok(Races { findings: findings.collect(), refuted, stats: search.stats })
}

struct Search<'o> {
    limits: &'o SearchLimits<'o>,
    only: Option<&'o HashSet<(Pc, Pc)>>,
    stats: Stats,
    found: HashMap<(Pc, Pc), FoundRace>,
    unknown: HashSet<(Pc, Pc)>,
    /// In some window, for certain.
    refuted: HashSet<(Pc, Pc)>,
    /// Pairs of code positions that there was no room for.
    left_out: u64,
}

impl Search<'_> {
    fn window(&mut self, window: &Lowered, progress: &mut dyn FnMut(f64)) {
        self.stats.windows += 1;
        self.stats.kept += window.history.steps.len() as u64;
        let index = Index::new(&window.history);
        let sure = self.found.iter().filter(|(_, found)| !found.doubtful);
        let done: HashSet<(Pc, Pc)> = sure.map(|(pcs, _)| *pcs).collect();
        let wanted = |pcs: &(Pc, Pc)| !done.contains(pcs) && self.only.is_none_or(|only| only.contains(pcs));
        let pairs::Groups { all: groups, left_out } = pairs::groups(window, &index, &wanted, self.limits);
        self.stats.candidates += groups.len() as u64 + left_out;
        self.left_out += left_out;
        let total = groups.len() as f64;
        for (i, group) in groups.into_iter().enumerate() {
            progress(i as f64 / total);
            if self.limits.is_over() {
                self.unknown.insert(group.pcs);
                continue;
            }
            let mut unsure = group.more;
            for &pair in &group.pairs {
                if self.limits.is_over() {
                    unsure = true;
                    break;
                }
                match self.ask(window, &index, pair) {
                    Some(Ok(found)) => {
                        self.unknown.remove(&group.pcs);
                        let sure = !found.doubtful;
                        self.found.insert(group.pcs, found);
                        unsure = false;
                        // One that proves nothing stays only if no better one turns up.
                        if sure {
                            break;
                        }
                    }
                    Some(Err(Unsure)) => unsure = true,
                    None => {}
                }
            }
            if self.found.contains_key(&group.pcs) {
                continue;
            }
            if unsure {
                self.unknown.insert(group.pcs)
            } else {
                self.refuted.insert(group.pcs)
            };
        }
    }

    fn ask(&mut self, window: &Lowered, index: &Index<'_>, pair: (Pos, Pos)) -> Option<Result<FoundRace, Unsure>> {
        let mode = self.limits.mode;
        let began = Instant::now();
        let orders: &[(Pos, Pos)] = if mode == Mode::Said { &[pair, (pair.1, pair.0)] } else { &[pair] };
        let mut answer = None;
        for &pair in orders {
            let Some(question) = Question::new(index, mode, Goal::race(&window.history, mode, pair)) else { continue };
            self.stats.questions += 1;
            match question.ask(self.limits.question()).0 {
                Feasibility::No => {}
                Feasibility::Unknown(_) => answer = Some(Err(Unsure)),
                Feasibility::Reordering(order) => {
                    answer = Some(match witness::check(&window.history, mode, &order, pair) {
                        Ok(()) => Ok(self.found(window, &order, pair, false)),
                        Err(_) => {
                            self.stats.refused += 1;
                            Err(Unsure)
                        }
                    });
                    break;
                }
            }
        }
        if answer.is_none() && mode == Mode::ControlFlow && !self.limits.is_over() {
            answer = self.weak_order(window, pair).map(Ok);
        }
        self.stats.solving += began.elapsed();
        answer
    }

    /// Whether the two are ordered only by atomics too weak to order them: then the observed order shows it.
    fn weak_order(&self, window: &Lowered, (first, second): (Pos, Pos)) -> Option<FoundRace> {
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
        Some(self.found(window, &order[..second.index()], (first, second), true))
    }

    fn found(&self, window: &Lowered, order: &[Pos], (first, second): (Pos, Pos), weak_order: bool) -> FoundRace {
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
}

/// No answer.
struct Unsure;

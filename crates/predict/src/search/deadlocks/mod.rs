//! The search for deadlocks. What it looks for stands in
//! [`analyses::maximal_deadlock`](crate::analyses::maximal_deadlock); cycles of requests come from [`relation`], which
//! the streaming analyses share.

mod candidates;
pub mod relation;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use reweave_model::{Accessor, AnalysisId, EventId, Finding, Kind, Pc};
use reweave_trace::{Result, Trace};

use crate::feasible::{Feasibility, Index, Question};
use crate::history::*;
use crate::linear::Cycle;
use crate::lower::Lowered;
use crate::search::{self, Path, SearchLimits};
use crate::witness;
pub use candidates::{Group, groups};

/// How it went.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    pub windows: u64,
    /// Sets of code positions that passed the quick check.
    pub candidates: u64,
    pub questions: u64,
    /// Sets of code positions without an answer: out of time, or with more cycles than were tried.
    pub unknown: u64,
    /// Orders that the checker refused: mistakes of the engine. Always 0, or something is wrong.
    pub refused: u64,
    pub solving: Duration,
}

pub struct Deadlocks {
    pub findings: Vec<Finding>,
    pub stats: Stats,
}

/// What the engine says of one cycle.
pub enum Verdict {
    /// After this order its requests are next; the checker agrees.
    Deadlock(Vec<Pos>),
    None,
    Unknown,
    /// The checker refused the order.
    Refused,
}

/// Asks about one cycle. Complete traces cannot end in a deadlock: [`Mode::Said`] counts as [`Mode::Prefix`] here.
pub fn ask(index: &Index<'_>, history: &History, limits: &SearchLimits<'_>, cycle: &[Pos]) -> Verdict {
    let mode = if limits.mode == Mode::Said { Mode::Prefix } else { limits.mode };
    let Some(question) = Question::new(index, mode, cycle) else { return Verdict::None };
    match question.ask(limits.question()).0 {
        Feasibility::No => Verdict::None,
        Feasibility::Unknown(_) => Verdict::Unknown,
        Feasibility::Reordering(order) => match witness::check_deadlock(history, mode, &order, cycle) {
            Ok(()) => Verdict::Deadlock(order),
            Err(_) => Verdict::Refused,
        },
    }
}

/// A deadlock, before its schedule is made.
struct FoundDeadlock {
    accesses: Vec<Accessor>,
    path: Path,
    doubtful: bool,
}

/// Looks for deadlocks under this name; only these cycles if given.
pub fn deadlocks(
    trace: &Trace,
    analysis: AnalysisId,
    limits: &SearchLimits<'_>,
    only: Option<&[Cycle]>,
    progress: &mut dyn FnMut(f64),
) -> Result<Deadlocks> {
    let mut search = Search {
        limits,
        only,
        stats: Stats::default(),
        found: HashMap::new(),
        unknown: HashSet::new(),
        asked: HashSet::new(),
    };
    search::each_window(trace, limits, progress, &mut |window, progress| {
        search.window(window.blocked.as_deref().unwrap_or(window), progress);
    })?;
    for cycle in only.into_iter().flatten().filter(|cycle| !search.asked.contains(&cycle.requests)) {
        // Its requests lie too far apart for a window, or the time was over.
        search.unknown.insert(cycle.sorted_pcs());
    }
    search.unknown.retain(|pcs| !search.found.contains_key(pcs));
    let mut found: Vec<FoundDeadlock> = search.found.into_values().collect();
    // Several may end with the same event.
    found.sort_by_cached_key(|found| {
        let events: Vec<EventId> = found.accesses.iter().map(|access| access.event).collect();
        (events.iter().max().copied(), events)
    });
    search.stats.unknown = search.unknown.len() as u64;
    let paths: Vec<&Path> = found.iter().map(|found| &found.path).collect();
    let witnesses = search::witnesses(trace, &paths)?;
    let findings = found
        .into_iter()
        .zip(witnesses)
        .map(|(found, witness)| Finding::predicted(Kind::Deadlock, found.doubtful, analysis, found.accesses, witness));
    Ok(Deadlocks { findings: findings.collect(), stats: search.stats })
}

struct Search<'o> {
    limits: &'o SearchLimits<'o>,
    only: Option<&'o [Cycle]>,
    stats: Stats,
    /// By code positions, ascending.
    found: HashMap<Vec<Pc>, FoundDeadlock>,
    unknown: HashSet<Vec<Pc>>,
    /// Those of `only` that a window had.
    asked: HashSet<Vec<EventId>>,
}

impl Search<'_> {
    fn window(&mut self, window: &Lowered, progress: &mut dyn FnMut(f64)) {
        self.stats.windows += 1;
        let history = &window.history;
        let index = Index::new(history);
        let mut groups = match self.only {
            Some(only) => {
                let here = here(window, only);
                self.asked.extend(here.iter().map(|(cycle, _)| cycle.requests.clone()));
                here.into_iter().map(|(_, group)| group).collect()
            }
            None => {
                let (groups, more) = groups(history, &index, &|pos| window.origin(pos).pc);
                if more {
                    self.unknown.insert(Vec::new());
                }
                groups
            }
        };
        let done = |group: &Group| self.found.get(&group.pcs).is_some_and(|found| !found.doubtful);
        groups.retain(|group| !done(group));
        self.stats.candidates += groups.len() as u64;
        let total = groups.len() as f64;
        for (i, group) in groups.into_iter().enumerate() {
            progress(i as f64 / total);
            let mut unsure = group.more;
            for cycle in &group.cycles {
                if self.limits.is_over() {
                    unsure = true;
                    break;
                }
                let began = Instant::now();
                self.stats.questions += 1;
                let verdict = ask(&index, history, self.limits, cycle);
                self.stats.solving += began.elapsed();
                match verdict {
                    Verdict::None => {}
                    Verdict::Unknown => unsure = true,
                    Verdict::Refused => {
                        self.stats.refused += 1;
                        unsure = true;
                    }
                    Verdict::Deadlock(order) => {
                        let doubtful = order.iter().chain(cycle).any(|&pos| history.step(pos).doubtful);
                        let accesses = cycle.iter().map(|&pos| search::accessor(window, pos)).collect();
                        let path = Path::new(window, &order, cycle);
                        self.found.insert(group.pcs.clone(), FoundDeadlock { accesses, path, doubtful });
                        // One that proves nothing stays only if no better one turns up.
                        if !doubtful {
                            break;
                        }
                    }
                }
            }
            if self.found.contains_key(&group.pcs) {
                self.unknown.remove(&group.pcs);
            } else if unsure {
                self.unknown.insert(group.pcs);
            }
        }
    }
}

/// The cycles whose requests are all in this window.
fn here<'c>(window: &Lowered, cycles: &'c [Cycle]) -> Vec<(&'c Cycle, Group)> {
    let history = &window.history;
    let places: HashMap<EventId, Pos> =
        history.positions().filter_map(|pos| Some((history.step(pos).event?, pos))).collect();
    let group = |cycle: &'c Cycle| {
        let places = cycle.requests.iter().map(|event| places.get(event).copied()).collect::<Option<Vec<Pos>>>()?;
        Some((cycle, Group { pcs: cycle.sorted_pcs(), cycles: vec![places], more: false }))
    };
    cycles.iter().filter_map(group).collect()
}

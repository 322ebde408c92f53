//! What another order of the recorded events would use too late.

use std::collections::{HashMap, HashSet};

use reweave_model::{Accessor, Addr, AnalysisId, Finding, Kind, Pc};
use reweave_trace::{Result, Trace};

use crate::feasible::{Feasibility, Index, Question};
use crate::history::*;
use crate::lower::{Destroyed, Lowered};
use crate::search::{self, Context, Path, SearchLimits};
use crate::witness;

/// Lives that end at one place, and uses of one object, that are asked about.
const LIVES: usize = 8;
const USES: usize = 12;
/// Uses at one place.
const ALIKE: usize = 3;

#[derive(Default)]
pub struct Predicted {
    pub findings: Vec<Finding>,
    pub questions: u64,
    /// Places without an answer.
    pub unknown: u64,
    /// Orders that the checker refused: mistakes of the engine. Always 0, or something is wrong.
    pub refused: u64,
}

/// Looks for uses that can come too late; not where things are destroyed at one of these places.
pub fn predicted(
    trace: &Trace,
    analysis: AnalysisId,
    known: &HashSet<Pc>,
    limits: &SearchLimits<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<Predicted> {
    let mut search =
        Search { trace, limits, known, found: HashMap::new(), unknown: HashSet::new(), answer: Predicted::default() };
    search::each_window(trace, limits, progress, &mut |window, _| search.window(window))?;
    let Search { found, unknown, mut answer, .. } = search;
    answer.unknown = unknown.iter().filter(|pc| !found.contains_key(pc)).count() as u64;
    let mut found: Vec<FoundLateUse> = found.into_values().collect();
    found.sort_by_key(|found| (found.accesses[1].event, found.accesses[0].event));
    let paths: Vec<&Path> = found.iter().map(|found| &found.path).collect();
    let witnesses = search::witnesses(trace, &paths)?;
    let finding = |(found, witness): (FoundLateUse, _)| {
        Finding::predicted(Kind::Misuse, found.doubtful, analysis, found.accesses.into(), witness)
    };
    answer.findings = found.into_iter().zip(witnesses).map(finding).collect();
    Ok(answer)
}

/// A use and an end that can both be next.
struct FoundLateUse {
    accesses: [Accessor; 2],
    path: Path,
    doubtful: bool,
}

struct Search<'o> {
    trace: &'o Trace,
    limits: &'o SearchLimits<'o>,
    known: &'o HashSet<Pc>,
    /// By the place of the end.
    found: HashMap<Pc, FoundLateUse>,
    unknown: HashSet<Pc>,
    answer: Predicted,
}

impl Search<'_> {
    fn window(&mut self, window: &Lowered) {
        if window.destroyed.is_empty() {
            return;
        }
        // As if nobody had to use anything in time: what is ordered even then is ordered for good.
        let mut free = window.history.clone();
        window.destroyed.iter().for_each(|end| let_go(&mut free, end));
        let index = Index::new(&free);
        let context = Context::new(&free, &index);
        let mut lives: HashMap<Pc, usize> = HashMap::new();
        for end in &window.destroyed {
            let pc = window.origin(end.pos).pc;
            if self.known.contains(&pc) || self.found.get(&pc).is_some_and(|found| !found.doubtful) {
                continue;
            }
            // Memory that is given out again may have held another one; a global variable does not move.
            if !end.created && self.trace.symbols().variable(Addr(end.object.0)).is_none() {
                continue;
            }
            let uses = candidates(window, end, &context);
            if uses.is_empty() {
                continue;
            }
            let tried = lives.entry(pc).or_default();
            *tried += 1;
            if *tried > LIVES || self.limits.is_over() {
                self.unknown.insert(pc);
                continue;
            }
            self.ask(window, end, &uses, pc);
        }
    }

    /// Only this one end may come too early: a reordering before it is an ordinary one.
    fn ask(&mut self, window: &Lowered, end: &Destroyed, uses: &[Pos], pc: Pc) {
        let mut history = window.history.clone();
        let_go(&mut history, end);
        let index = Index::new(&history);
        let mode = self.limits.mode;
        for &used in uses {
            let Some(question) = Question::new(&index, mode, &[used, end.pos]) else { continue };
            self.answer.questions += 1;
            let order = match question.ask(self.limits.question()).0 {
                Feasibility::No => continue,
                Feasibility::Unknown(_) => {
                    self.unknown.insert(pc);
                    continue;
                }
                Feasibility::Reordering(order) => order,
            };
            if witness::check_both_next(&history, mode, &order, (used, end.pos)).is_err() {
                self.answer.refused += 1;
                self.unknown.insert(pc);
                continue;
            }
            let doubtful = order.iter().chain([&used, &end.pos]).any(|&pos| history.step(pos).doubtful);
            let found = FoundLateUse {
                accesses: [used, end.pos].map(|pos| search::accessor(window, pos)),
                path: Path::new(window, &order, &[end.pos, used]),
                doubtful,
            };
            self.found.insert(pc, found);
            if !doubtful {
                return;
            }
        }
    }
}

/// The end need not wait for uses by others, only for the beginning.
fn let_go(history: &mut History, end: &Destroyed) {
    let after = &mut history.steps[end.pos.index()].after;
    after.retain(|pos| !end.follows.contains(pos));
    after.extend(end.born);
    after.sort_unstable();
    after.dedup();
}

/// Uses by other threads that no fork or join keeps before the end, the latest first; before those that let go of
/// something, because who takes it has not got it yet.
fn candidates(window: &Lowered, end: &Destroyed, context: &Context) -> Vec<Pos> {
    let history = &window.history;
    let thread = history.step(end.pos).thread;
    let mut alike: HashMap<Pc, usize> = HashMap::new();
    let mut uses: Vec<Pos> = Vec::new();
    for &used in end.uses.iter().rev() {
        let step = history.step(used);
        if step.thread == thread || step.event.is_none() || context.ordered(used, end.pos) {
            continue;
        }
        let same = alike.entry(window.origin(used).pc).or_default();
        *same += 1;
        if *same <= ALIKE {
            uses.push(used);
        }
    }
    uses.sort_by_key(|&used| matches!(history.step(used).action, Action::Release { .. }));
    uses.truncate(USES);
    uses
}

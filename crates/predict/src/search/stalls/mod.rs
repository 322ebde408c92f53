//! The search for stalls. Their definition, and how they are found, stand in
//! [`analyses::stall`](crate::analyses::stall).

mod cuts;
mod question;

use std::collections::{BTreeMap, HashMap};

use reweave_model::wire::kind;
use reweave_model::{Accessor, AnalysisId, Finding, Kind, OpName, Pc};
use reweave_trace::{Result, Trace};

use crate::feasible::{Feasibility, Question};
use crate::history::*;
use crate::lower::Lowered;
use crate::search::{self, Path, SearchLimits};
use crate::witness;
pub use cuts::{Cut, cuts};

/// What a history does not say of its threads.
#[derive(Clone, Copy)]
pub struct Endings<'a> {
    /// Whether each thread's last event is its end.
    pub ended: &'a [bool],
    /// Whether an event that has not got all it comes after really waits for it, as a join does.
    pub waits: &'a dyn Fn(Pos) -> bool,
}

/// What the engine says of one cut.
pub enum Verdict {
    /// This order leads there, and the checker agrees.
    Stall(Vec<Pos>),
    None,
    Unknown,
    /// The checker refused the order.
    Refused,
}

pub fn ask(history: &History, endings: &Endings<'_>, limits: &SearchLimits<'_>, cut: &Cut) -> Verdict {
    let mode = if limits.mode == Mode::Said { Mode::Prefix } else { limits.mode };
    let Some(prefixes) = question::Prefixes::new(history, cut) else { return Verdict::None };
    let index = crate::feasible::Index::new(&prefixes.history);
    let Some(question) = Question::new(&index, mode, prefixes.goals.as_slice()) else { return Verdict::None };
    match question.ask(limits.question()).0 {
        Feasibility::No => Verdict::None,
        Feasibility::Unknown(_) => Verdict::Unknown,
        Feasibility::Reordering(order) => {
            let order: Vec<Pos> = order.iter().filter_map(|pos| prefixes.origins[pos.index()]).collect();
            match witness::check_stall(history, mode, &order, endings) {
                Ok(members) if members == cut.members => Verdict::Stall(order),
                _ => Verdict::Refused,
            }
        }
    }
}

/// How it went.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Stats {
    pub questions: u64,
    /// Sets of code positions without an answer.
    pub unknown: u64,
    pub refused: u64,
    /// There is no history of the whole run to look in: the trace comes in windows, or has a thread that never began.
    pub not_looked_for: bool,
}

pub struct Stalls {
    pub findings: Vec<Finding>,
    pub stats: Stats,
}

struct FoundStall {
    accesses: Vec<Accessor>,
    path: Path,
    doubtful: bool,
}

/// Questions per set of code positions.
const TRIES: usize = 8;

/// Looks for stalls of a trace under this name.
pub fn stalls(
    trace: &Trace,
    analysis: AnalysisId,
    limits: &SearchLimits<'_>,
    progress: &mut dyn FnMut(f64),
) -> Result<Stalls> {
    let mut found: BTreeMap<Vec<Pc>, FoundStall> = BTreeMap::new();
    let mut unknown: HashMap<Vec<Pc>, ()> = HashMap::new();
    let mut stats = Stats::default();
    // A handler may do what threads wait for.
    let signals = trace.may_have(kind::SIGNAL);
    // One that has not begun may do so, too.
    let [begun, forked] = [kind::BEGIN, kind::FORK].map(|kind| trace.count_of(kind).unwrap_or(0));
    let unborn = begun > 0 && forked >= begun;
    let mut windows = search::windows(trace, limits, progress)?;
    // Whoever has no event in a part of the trace may still help.
    stats.not_looked_for = unborn || !windows.is_one()?;
    let whole = if stats.not_looked_for { None } else { windows.next_window()? };
    if let Some(window) = whole {
        let window = window.blocked.as_deref().unwrap_or(&window);
        let history = &window.history;
        let starts = |pos: Pos| history.threads[history.step(pos).thread.index()].first() == Some(&pos);
        let waits = |pos: Pos| window.origin(pos).op == OpName::Join || starts(pos);
        let endings = Endings { ended: &window.ended, waits: &waits };
        let mut groups: BTreeMap<Vec<Pc>, Vec<Cut>> = BTreeMap::new();
        for cut in cuts(history, &endings, limits, &|pos| window.origin(pos).pc) {
            let mut pcs: Vec<Pc> = cut.members.iter().map(|&pos| window.origin(pos).pc).collect();
            pcs.sort_unstable();
            let group = groups.entry(pcs).or_default();
            if group.len() < TRIES {
                group.push(cut);
            }
        }
        let total = groups.len() as f64;
        for (i, (pcs, cuts)) in groups.into_iter().enumerate() {
            progress(i as f64 / total);
            for cut in cuts {
                if limits.is_over() {
                    unknown.insert(pcs.clone(), ());
                    break;
                }
                stats.questions += 1;
                match ask(history, &endings, limits, &cut) {
                    Verdict::None => {}
                    Verdict::Unknown => drop(unknown.insert(pcs.clone(), ())),
                    Verdict::Refused => {
                        stats.refused += 1;
                        unknown.insert(pcs.clone(), ());
                    }
                    Verdict::Stall(order) => {
                        let doubtful =
                            signals || order.iter().chain(&cut.members).any(|&pos| history.step(pos).doubtful);
                        let accesses = cut.members.iter().map(|&pos| member(window, pos, &cut)).collect();
                        let path = Path::new(window, &order, &entered(history, &cut.members));
                        found.insert(pcs.clone(), FoundStall { accesses, path, doubtful });
                        break;
                    }
                }
            }
        }
    }
    stats.unknown += unknown.keys().filter(|pcs| !found.contains_key(*pcs)).count() as u64;
    let found: Vec<FoundStall> = found.into_values().collect();
    let paths: Vec<&Path> = found.iter().map(|found| &found.path).collect();
    let witnesses = search::witnesses(trace, &paths)?;
    let findings = found
        .into_iter()
        .zip(witnesses)
        .map(|(found, witness)| Finding::predicted(Kind::Deadlock, found.doubtful, analysis, found.accesses, witness));
    Ok(Stalls { findings: findings.collect(), stats })
}

/// Those that a run comes to: the end of a wait, or of a barrier, begins with its beginning, which is in the order.
fn entered(history: &History, members: &[Pos]) -> Vec<Pos> {
    let begins = |pos: &Pos| !matches!(history.step(*pos).action, Action::Woken { .. } | Action::Leave { .. });
    members.iter().copied().filter(begins).collect()
}

fn member(window: &Lowered, pos: Pos, cut: &Cut) -> Accessor {
    let mut accessor = search::accessor(window, pos);
    if cut.unnotified.contains(&window.history.step(pos).thread) {
        accessor.op = OpName::Wait.into();
    }
    accessor
}

//! The rule as published: Sinha, Malik, Gupta, *Efficient Predictive Analysis for Detecting Nondeterminism in
//! Multi-Threaded Programs*, FMCAD 2012.
//!
//! For each read-couple (w, r) and challenger c there are three orders that break the couple ([`couples`]). Each is a
//! *witness*: its edges are added to the graph of program order, synchronization, all other read-couples and what locks
//! induce ([`graph`], [`overlay`]). A cycle refutes it. Otherwise, scopes of one lock that the graph leaves unordered
//! and that lie on the way against a witness edge are *choices*; some way to choose must leave no cycle ([`choices`]).
//!
//! Guarantee: none, in spite of the paper's theorems. A witness it calls feasible may not be: an edge from a write to
//! its reader does not keep other writes from between them, the three orders do not say that c is what r sees, and
//! choices outside the slice are never made. One that it calls infeasible may be feasible: every other read of the
//! trace is kept, also those that nothing depends on. The tests count both kinds of error; on random histories of up to
//! 16 events about one pair in ten is wrong.
//!
//! Deviations: a writer that does not occur (the third order) is one that reaches neither the reader nor the
//! challenger; a reader of several cells gives up all its couples with one writer at once. Others stand where they
//! happen.

mod choices;
mod couples;
mod graph;
mod overlay;
mod stats;

pub use couples::{Couple, Order};
pub use stats::Stats;

use choices::{Open, Slice};
use couples::Couples;
use graph::{Clocks, Graph};
use overlay::{Cycle, Overlay};

use crate::history::{History, Pos};

/// What became of a witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// A cycle in G'.
    Cyclic,
    /// No cycle, and nothing to choose.
    Feasible,
    /// So many choices, and a choice graph without a cycle.
    FeasibleBy { choices: usize },
    /// Every choice graph has a cycle (or there were too many).
    NoChoice { choices: usize },
}

impl Verdict {
    pub fn is_feasible(self) -> bool {
        matches!(self, Verdict::Feasible | Verdict::FeasibleBy { .. })
    }
}

/// A possible witness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Witness {
    pub couple: Couple,
    /// `None`: what was there at first.
    pub challenger: Option<Pos>,
    pub order: Order,
}

/// The read-couples of a history.
pub fn couples(history: &History) -> Vec<Couple> {
    Couples::new(history).couples
}

/// A scope as the tests want it: where it is entered, left (if it is), its last event, its lock, and whether it is
/// shared.
pub type ScopeEvents = (Pos, Option<Pos>, Pos, usize, bool);

/// The sync edges and the scopes of a history, for those who build the graph in another way.
pub fn edges_and_scopes(history: &History) -> (Vec<(Pos, Pos)>, Vec<ScopeEvents>) {
    let graph = Graph::new(history, &Couples::new(history));
    let scope = |scope: &graph::Scope| {
        let shared = scope.mode == reweave_model::LockMode::Shared;
        (scope.acquire, scope.release, graph.last(scope), scope.lock.index(), shared)
    };
    (graph.sync_edges(), graph.scopes.iter().map(scope).collect())
}

/// Looks at every possible witness of a history until `visit`, which hears of each one, says no.
pub fn witnesses(history: &History, stats: &mut Stats, visit: &mut dyn FnMut(Witness, Verdict) -> bool) {
    let couples = Couples::new(history);
    let graph = Graph::new(history, &couples);
    let plain = Clocks::without_locks(&graph);
    let base = Clocks::new(&graph);
    let base_open = Open::new(&graph, &base);
    stats.windows += 1;
    stats.events += history.steps.len() as u64;
    stats.couples += couples.couples.len() as u64;
    let mut without = base.clone();
    let mut on = true;
    for &couple in &couples.couples {
        // A couple of one thread is program order, with it or without it.
        let across = match couple {
            Couple { writer: Some(writer), reader: Some(reader), .. }
                if history.step(writer).thread != history.step(reader).thread =>
            {
                Some((writer, reader))
            }
            _ => None,
        };
        let (mut is_out, mut own_open) = (false, None);
        for challenger in couples.challengers(couple) {
            for order in Order::ALL {
                stats.possible += 1;
                if !on {
                    stats.left += 1;
                    continue;
                }
                let witness = Witness { couple, challenger, order };
                let verdict = if is_refuted_without_locks(witness, &graph, &plain) {
                    Verdict::Cyclic
                } else {
                    if let (Some((writer, reader)), false) = (across, is_out) {
                        without.without(&base, &graph, writer, reader);
                        is_out = true;
                    }
                    let clocks = if across.is_some() { &without } else { &base };
                    let open = match across {
                        Some(_) => &*own_open.get_or_insert_with(|| Open::new(&graph, clocks)),
                        None => &base_open,
                    };
                    judge(witness, &mut Overlay::new(&graph, clocks), open, stats)
                };
                match verdict {
                    Verdict::Cyclic => stats.cyclic += 1,
                    Verdict::Feasible => stats.no_choices += 1,
                    Verdict::FeasibleBy { choices } | Verdict::NoChoice { choices } => {
                        stats.with_choices += 1;
                        stats.choices += choices as u64;
                        let graphs = u32::try_from(choices).ok().and_then(|choices| 1u64.checked_shl(choices));
                        stats.graphs_possible = stats.graphs_possible.saturating_add(graphs.unwrap_or(u64::MAX));
                        stats.infeasible_by_choice += u64::from(!verdict.is_feasible());
                    }
                }
                on = visit(witness, verdict);
            }
        }
    }
}

/// Most witnesses have a cycle without any lock, and the couple they break has no part in it: what a path from the
/// reader or to the writer needs, it has.
fn is_refuted_without_locks(witness: Witness, graph: &Graph<'_>, plain: &Clocks) -> bool {
    let Ok(edges) = edges(witness) else { return true };
    let (writer, reader) = (witness.couple.writer, witness.couple.reader);
    let backwards = |&(from, to): &(Pos, Pos)| {
        if (Some(to), Some(from)) == (writer, reader) {
            return plain.reaches_otherwise(graph, to, from);
        }
        plain.reaches(graph, to, from)
    };
    let reaches =
        |from: Option<Pos>, to: Option<Pos>| from.zip(to).is_some_and(|(from, to)| plain.reaches(graph, from, to));
    edges.iter().any(backwards)
        || match witness.order {
            Order::ReaderFirst | Order::NoWriter => {
                reaches(writer, witness.challenger)
                    || writer.zip(reader).is_some_and(|(w, r)| plain.reaches_otherwise(graph, w, r))
            }
            Order::WriterFirst => reaches(reader, writer),
        }
}

/// The edges of a witness between events, in order; `Err` if one leads to the beginning or from the end.
fn edges(witness: Witness) -> Result<Vec<(Pos, Pos)>, Cycle> {
    #[derive(Clone, Copy)]
    enum Vertex {
        Start,
        Event(Pos),
        End,
    }
    let write = |pos: Option<Pos>| pos.map_or(Vertex::Start, Vertex::Event);
    let reader = witness.couple.reader.map_or(Vertex::End, Vertex::Event);
    let (writer, challenger) = (write(witness.couple.writer), write(witness.challenger));
    let wanted = match witness.order {
        Order::ReaderFirst => vec![(challenger, reader), (reader, writer)],
        Order::WriterFirst => vec![(writer, challenger), (challenger, reader)],
        // At the end every thread has ended, and at the beginning nothing is missing.
        Order::NoWriter if witness.couple.reader.is_none() || witness.couple.writer.is_none() => return Err(Cycle),
        Order::NoWriter => vec![(challenger, reader)],
    };
    let mut edges = Vec::new();
    for edge in wanted {
        match edge {
            (_, Vertex::Start) | (Vertex::End, _) => return Err(Cycle),
            (Vertex::Start, _) | (_, Vertex::End) => {}
            (Vertex::Event(from), Vertex::Event(to)) => edges.push((from, to)),
        }
    }
    Ok(edges)
}

fn judge(witness: Witness, overlay: &mut Overlay<'_, '_>, open: &Open, stats: &mut Stats) -> Verdict {
    let Ok(edges) = edges(witness) else { return Verdict::Cyclic };
    // A writer that does not occur reaches nothing that does.
    let barred = match (witness.order, witness.couple) {
        (Order::NoWriter, Couple { writer: Some(writer), reader: Some(reader), .. }) => Some((writer, reader)),
        _ => None,
    };
    if edges.iter().any(|&(from, to)| overlay.insert(from, to).is_err())
        || barred.is_some_and(|(from, to)| overlay.reaches(from, to))
    {
        return Verdict::Cyclic;
    }
    let mut choices = Vec::new();
    let slice = Slice::new(overlay, open);
    for &(from, to) in &edges {
        slice.between(to, from, &mut choices);
    }
    // That the writer does not occur is as if it came after the reader.
    if let Some((from, to)) = barred {
        slice.between(from, to, &mut choices);
    }
    choices.sort_unstable();
    choices.dedup();
    if choices.is_empty() {
        return Verdict::Feasible;
    }
    let explored = choices::explore(overlay, &choices, barred);
    stats.graphs_explored += explored.graphs;
    stats.gave_up += u64::from(explored.gave_up);
    let choices = choices.len();
    if explored.feasible { Verdict::FeasibleBy { choices } } else { Verdict::NoChoice { choices } }
}

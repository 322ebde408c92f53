//! The search through pairs of places, from a start pair to one target after the other.
//!
//! Every visited pair is reachable. Between questions the search keeps the visited pairs, and apart from them those
//! that another target may lead on from (the paper's `incpairs`). A new question only goes on from these, and never
//! along an edge a second time.
//!
//! The paper assumes that histories only grow. Here targets may come in any order: pairs that lie on the border of the
//! new target's rectangle are looked at again too, since what was said of them when they were inside it sends them
//! across.
//!
//! It is a loop over a stack of edges, since histories are long; an edge is one recursive call of the paper.

use std::collections::BTreeSet;

use super::checks::{Check, Pair, Question, Step};
use super::thread::Place;
use crate::linear::FastMap;

/// What searches did: the columns of the paper's Table VI.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Recursive calls: edges gone along.
    pub calls: u64,
    /// Edges of the lattice between start and target.
    pub potential_calls: u64,
    /// Pairs where both ways were open.
    pub both: u64,
    /// Pairs that an LCC check decided.
    pub lcc: u64,
    /// Pairs that an RC check decided.
    pub rc: u64,
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.potential_calls += other.potential_calls;
        self.both += other.both;
        self.lcc += other.lcc;
        self.rc += other.rc;
    }
}

/// What a search came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SearchOutcome {
    Reached,
    Unreachable,
    /// More steps than were allowed. The next question goes on from here.
    OutOfSteps,
}

const FIRST: u8 = 1;
const SECOND: u8 = 2;
const BOTH: u8 = 4;

struct Node {
    /// The ways that were gone.
    gone: u8,
    /// Where it was first reached from.
    from: Pair,
}

struct Edge {
    from: Pair,
    way: u8,
}

impl Edge {
    fn to(&self) -> Pair {
        match self.way {
            FIRST => self.from.after_a(),
            SECOND => self.from.after_b(),
            _ => self.from.after_a().after_b(),
        }
    }
}

pub struct Search {
    start: Pair,
    nodes: FastMap<(u32, u32), Node>,
    /// Visited pairs by their place in either thread.
    by_a: FastMap<u32, Vec<Place>>,
    by_b: FastMap<u32, Vec<Place>>,
    /// Pairs from which another target may lead further.
    open: BTreeSet<Pair>,
    deadlocks: BTreeSet<Pair>,
    /// Since the beginning.
    pub counts: Counts,
}

impl Search {
    /// `start` must be reachable.
    pub fn new(start: Pair) -> Self {
        let mut search = Self {
            start,
            nodes: FastMap::default(),
            by_a: FastMap::default(),
            by_b: FastMap::default(),
            open: BTreeSet::new(),
            deadlocks: BTreeSet::new(),
            counts: Counts::default(),
        };
        search.enter(start, start);
        search.open.insert(start);
        search
    }

    pub fn start(&self) -> Pair {
        self.start
    }

    /// Pairs visited so far.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    #[cfg(feature = "testing")]
    /// The pairs from which another target may lead further.
    pub fn open(&self) -> &BTreeSet<Pair> {
        &self.open
    }

    /// Pairs where each thread waits for the other.
    pub fn deadlocks(&self) -> &BTreeSet<Pair> {
        &self.deadlocks
    }

    /// Whether the target of the question can be reached from the start.
    pub fn ask(&mut self, question: &Question<'_>, steps: u64) -> SearchOutcome {
        self.ask_and_tell(question, steps, &mut |_, _| {})
    }

    /// As [`Search::ask`]; `tell` hears of each pair that is looked at and which check decides.
    pub fn ask_and_tell(
        &mut self,
        question: &Question<'_>,
        steps: u64,
        tell: &mut dyn FnMut(Pair, Check),
    ) -> SearchOutcome {
        let target = question.target();
        if target.a < self.start.a || target.b < self.start.b {
            return SearchOutcome::Unreachable;
        }
        let (wide, high) = (u64::from(target.a.0 - self.start.a.0), u64::from(target.b.0 - self.start.b.0));
        self.counts.potential_calls += wide * (high + 1) + high * (wide + 1);
        let limit = self.counts.calls.saturating_add(steps);
        let mut edges = Vec::new();
        if self.resume(question, &mut edges, tell) {
            return SearchOutcome::Reached;
        }
        while let Some(edge) = edges.pop() {
            if self.counts.calls >= limit {
                self.open.extend(edges.iter().map(|edge| edge.from));
                self.open.insert(edge.from);
                return SearchOutcome::OutOfSteps;
            }
            self.counts.calls += 1;
            if let Some(node) = self.nodes.get_mut(&key(edge.from)) {
                node.gone |= edge.way;
            }
            let to = edge.to();
            if !self.enter(to, edge.from) {
                tell(to, Check::Revisit);
                continue;
            }
            if self.look(question, to, &mut edges, tell) {
                // What was not tried is not lost.
                self.open.extend(edges.iter().map(|edge| edge.from));
                return SearchOutcome::Reached;
            }
        }
        SearchOutcome::Unreachable
    }

    /// Looks again at what another target may change. Returns whether the target has been visited before.
    fn resume(&mut self, question: &Question<'_>, edges: &mut Vec<Edge>, tell: &mut dyn FnMut(Pair, Check)) -> bool {
        let target = question.target();
        if self.nodes.contains_key(&key(target)) {
            return !question.needs_others;
        }
        let inside = |pair: &Pair| pair.a <= target.a && pair.b <= target.b;
        let mut again: BTreeSet<Pair> = self.open.iter().copied().filter(inside).collect();
        let column = self.by_a.get(&target.a.0).into_iter().flatten().map(|&b| Pair { a: target.a, b });
        let row = self.by_b.get(&target.b.0).into_iter().flatten().map(|&a| Pair { a, b: target.b });
        again.extend(column.chain(row).filter(inside));
        // The nearest to the target comes last, and is looked at first.
        for pair in again {
            self.open.remove(&pair);
            self.look(question, pair, edges, tell);
        }
        false
    }

    /// Applies the checks to a visited pair, and lists the ways on. Returns whether it is the target.
    fn look(
        &mut self,
        question: &Question<'_>,
        at: Pair,
        edges: &mut Vec<Edge>,
        tell: &mut dyn FnMut(Pair, Check),
    ) -> bool {
        let (check, step) = question.check(at);
        tell(at, check);
        let gone = self.nodes.get(&key(at)).map_or(0, |node| node.gone);
        let ways: &[u8] = match step {
            Step::Success | Step::Fail => &[],
            Step::First => &[FIRST],
            Step::Second => &[SECOND],
            Step::Both => &[BOTH],
            // The last one pushed is tried first.
            Step::Either => &[FIRST, SECOND],
        };
        edges.extend(ways.iter().filter(|&way| gone & way == 0).map(|&way| Edge { from: at, way }));
        if check == Check::Deadlock {
            self.deadlocks.insert(at);
        }
        if gone & (FIRST | SECOND) != FIRST | SECOND && question.depends_on_target(at, check) {
            self.open.insert(at);
        }
        self.counts.both += u64::from(check == Check::Default);
        self.counts.lcc += u64::from(check.is_lcc());
        self.counts.rc += u64::from(check.is_rc());
        step == Step::Success
    }

    /// Marks the pair as visited. Returns whether that is new.
    fn enter(&mut self, pair: Pair, from: Pair) -> bool {
        if self.nodes.contains_key(&key(pair)) {
            return false;
        }
        self.nodes.insert(key(pair), Node { gone: 0, from });
        self.by_a.entry(pair.a.0).or_default().push(pair.b);
        self.by_b.entry(pair.b.0).or_default().push(pair.a);
        true
    }

    /// The pairs from the start to a visited one.
    pub fn path(&self, to: Pair) -> Option<Vec<Pair>> {
        let mut path = vec![to];
        let mut at = to;
        while at != self.start {
            at = self.nodes.get(&key(at))?.from;
            path.push(at);
        }
        path.reverse();
        Some(path)
    }
}

fn key(pair: Pair) -> (u32, u32) {
    (pair.a.0, pair.b.0)
}

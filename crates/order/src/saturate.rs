//! Unit propagation over a partial order: a clause with one literal left decides it.
//!
//! Two watched literals per clause, as in SAT solvers. "a before b" becomes false when b comes to reach a, so it is
//! watched at a's clock. Guarantee: sound; at the fixpoint every clause has a literal that holds or two that may.

use crate::budget::{Meter, Why};
use crate::linear::{Layout, Order, linearise};
use crate::partial::{Inserted, PartialOrder, Tag};
use crate::problem::{Bool, Chain, Literal, Node, Problem};

/// Why propagation ended before its fixpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    Conflict,
    Budget(Why),
}

/// A clause that watches "a before b" at a: false once a's clock has passed `index` in `chain`.
#[derive(Clone, Copy, Debug)]
struct ClockWatch {
    chain: Chain,
    index: u32,
    after: Node,
    clause: u32,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: u32,
    end: u32,
}

pub(crate) struct Saturator {
    pub order: PartialOrder,
    pub layout: Layout,
    values: Vec<Option<bool>>,
    /// Booleans with a value, in the order of getting it.
    assigned: Vec<Bool>,
    literals: Vec<Literal>,
    /// Clauses that are open at the root. invariant: two literals or more, the first two are watched
    open: Vec<Span>,
    clock_watches: Vec<Vec<ClockWatch>>,
    /// Clauses that watch a boolean, by its number and whether they want it true.
    bool_watches: Vec<[Vec<u32>; 2]>,
    /// How much of the order's changes and of `assigned` has been looked at.
    seen_changes: usize,
    seen_assigned: usize,
    /// The length of `assigned` when each level was begun.
    levels: Vec<usize>,
    /// Clauses of the problem that have been taken over.
    pub known: usize,
}

impl Saturator {
    /// The fixed order of a problem; `None` if it has a cycle. Clauses are added by [`Self::take_clauses`].
    pub fn new(problem: &Problem) -> Option<Saturator> {
        let keys = (0..problem.clauses()).flat_map(|clause| nodes(problem.literals(clause)));
        let order = PartialOrder::new(problem.places.clone(), problem.chains(), &problem.edges, keys)?;
        Some(Saturator {
            order,
            layout: Layout::new(&problem.places, &problem.lengths),
            values: Vec::new(),
            assigned: Vec::new(),
            literals: Vec::new(),
            open: Vec::new(),
            clock_watches: Vec::new(),
            bool_watches: Vec::new(),
            seen_changes: 0,
            seen_assigned: 0,
            levels: Vec::new(),
            known: 0,
        })
    }

    /// Takes over the clauses that are new in the problem and propagates. At the root only.
    pub fn take_clauses(&mut self, problem: &Problem, meter: &Meter) -> Result<(), Stop> {
        assert!(self.levels.is_empty(), "clauses are taken over at the root");
        self.values.resize(problem.bools(), None);
        self.bool_watches.resize_with(problem.bools(), Default::default);
        let fresh = self.known..problem.clauses();
        self.order.make_keys(fresh.clone().flat_map(|clause| nodes(problem.literals(clause))));
        self.clock_watches.resize_with(self.order.keys(), Vec::new);
        self.known = problem.clauses();
        for clause in fresh {
            self.take_clause(problem.literals(clause))?;
        }
        self.propagate(meter)
    }

    fn take_clause(&mut self, clause: &[Literal]) -> Result<(), Stop> {
        let start = self.literals.len();
        for &literal in clause {
            match self.value(literal) {
                Some(true) => {
                    self.literals.truncate(start);
                    return Ok(());
                }
                None if !self.literals[start..].contains(&literal) => self.literals.push(literal),
                Some(false) | None => {}
            }
        }
        match self.literals.len() - start {
            0 => Err(Stop::Conflict),
            1 => {
                let literal = self.literals[start];
                self.literals.truncate(start);
                self.assign(literal)
            }
            _ => {
                let clause = self.open.len() as u32;
                self.open.push(Span { start: start as u32, end: self.literals.len() as u32 });
                self.watch(self.literals[start], clause);
                self.watch(self.literals[start + 1], clause);
                Ok(())
            }
        }
    }

    /// The clauses that were open when they were taken over, shortened by what was false then.
    pub fn clauses(&self) -> impl Iterator<Item = &[Literal]> + '_ {
        self.open.iter().map(|span| &self.literals[span.start as usize..span.end as usize])
    }

    pub fn clause(&self, number: usize) -> &[Literal] {
        let span = self.open[number];
        &self.literals[span.start as usize..span.end as usize]
    }

    pub fn value(&self, literal: Literal) -> Option<bool> {
        match literal {
            Literal::Before(a, b) if self.order.reaches(a, b) => Some(true),
            Literal::Before(a, b) if a == b || self.order.reaches(b, a) => Some(false),
            Literal::Before(..) => None,
            Literal::Is(x) => self.values[x.index()],
            Literal::Not(x) => self.values[x.index()].map(|value| !value),
        }
    }

    pub fn bool_value(&self, bool: Bool) -> Option<bool> {
        self.values.get(bool.index()).copied().flatten()
    }

    fn watch(&mut self, literal: Literal, clause: u32) {
        match literal {
            Literal::Before(a, b) => {
                let row = self.order.row(a).expect("nodes of clauses are keys");
                let place = self.order.place(b);
                self.clock_watches[row as usize].push(ClockWatch {
                    chain: place.chain,
                    index: place.index,
                    after: b,
                    clause,
                });
            }
            Literal::Is(x) => self.bool_watches[x.index()][1].push(clause),
            Literal::Not(x) => self.bool_watches[x.index()][0].push(clause),
        }
    }

    /// Makes a literal true without looking at what follows.
    fn assign(&mut self, literal: Literal) -> Result<(), Stop> {
        let (bool, value) = match literal {
            Literal::Before(a, b) => {
                return match self.order.insert(a, b, Tag::FIXED) {
                    Inserted::Cycle => Err(Stop::Conflict),
                    Inserted::Known | Inserted::Added => Ok(()),
                };
            }
            Literal::Is(x) => (x, true),
            Literal::Not(x) => (x, false),
        };
        match self.values[bool.index()] {
            Some(known) if known != value => Err(Stop::Conflict),
            Some(_) => Ok(()),
            None => {
                self.values[bool.index()] = Some(value);
                self.assigned.push(bool);
                Ok(())
            }
        }
    }

    /// Begins a level in which the literal is true, and propagates. After an error the level is still open.
    pub fn assume(&mut self, literal: Literal, meter: &Meter) -> Result<(), Stop> {
        self.levels.push(self.assigned.len());
        self.order.begin_level();
        self.assign(literal)?;
        self.propagate(meter)
    }

    pub fn undo_levels(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let left = self.levels.len() - count;
        for bool in self.assigned.drain(self.levels[left]..) {
            self.values[bool.index()] = None;
        }
        self.levels.truncate(left);
        self.order.undo_levels(count);
        self.seen_changes = self.order.changes().len();
        self.seen_assigned = self.assigned.len();
    }

    pub fn undo_all(&mut self) {
        self.undo_levels(self.levels.len());
    }

    pub fn open_levels(&self) -> usize {
        self.levels.len()
    }

    fn propagate(&mut self, meter: &Meter) -> Result<(), Stop> {
        let mut steps = 0u32;
        loop {
            steps += 1;
            if steps.is_multiple_of(256)
                && let Some(why) = meter.exceeded()
            {
                return Err(Stop::Budget(why));
            }
            if let Some(&change) = self.order.changes().get(self.seen_changes) {
                self.seen_changes += 1;
                let now = self.order.clock(change.row, change.chain);
                let node = self.order.node(change.row);
                let mut watches = std::mem::take(&mut self.clock_watches[change.row as usize]);
                let result = self.visit(&mut watches, |watch| {
                    let false_now = watch.chain == change.chain && (change.old..now).contains(&watch.index);
                    false_now.then_some((watch.clause, Literal::Before(node, watch.after)))
                });
                // Nobody else watches there meanwhile: a literal that is watched anew is not false.
                watches.append(&mut self.clock_watches[change.row as usize]);
                self.clock_watches[change.row as usize] = watches;
                result?;
            } else if let Some(&bool) = self.assigned.get(self.seen_assigned) {
                self.seen_assigned += 1;
                let wanted = usize::from(self.values[bool.index()] == Some(false));
                let literal = if wanted == 1 { Literal::Is(bool) } else { Literal::Not(bool) };
                let mut watches = std::mem::take(&mut self.bool_watches[bool.index()][wanted]);
                let result = self.visit(&mut watches, |&clause| Some((clause, literal)));
                watches.append(&mut self.bool_watches[bool.index()][wanted]);
                self.bool_watches[bool.index()][wanted] = watches;
                result?;
            } else {
                break;
            }
        }
        if self.levels.is_empty() {
            self.order.forget_changes();
            self.seen_changes = 0;
        }
        Ok(())
    }

    /// Visits the clauses whose watched literal became false, and drops the watches that moved elsewhere.
    fn visit<W>(&mut self, watches: &mut Vec<W>, falsified: impl Fn(&W) -> Option<(u32, Literal)>) -> Result<(), Stop> {
        let mut result = Ok(());
        watches.retain(|watch| match falsified(watch) {
            Some((clause, literal)) if result.is_ok() => match self.rewatch(clause, literal) {
                Ok(moved) => !moved,
                Err(stop) => {
                    result = Err(stop);
                    true
                }
            },
            _ => true,
        });
        result
    }

    /// A watched literal is false: watches another, or decides the last one. Whether the watch moved.
    fn rewatch(&mut self, clause: u32, falsified: Literal) -> Result<bool, Stop> {
        let Span { start, end } = self.open[clause as usize];
        let (first, second) = (start as usize, start as usize + 1);
        if self.literals[first] == falsified {
            self.literals.swap(first, second);
        }
        let other = self.literals[first];
        let other_value = self.value(other);
        if other_value == Some(true) {
            return Ok(false);
        }
        for candidate in second + 1..end as usize {
            if self.value(self.literals[candidate]) != Some(false) {
                self.literals.swap(second, candidate);
                self.watch(self.literals[second], clause);
                return Ok(true);
            }
        }
        match other_value {
            Some(_) => Err(Stop::Conflict),
            None => self.assign(other).map(|()| false),
        }
    }

    /// The order closest to the observed one, with booleans as they start unless they have a value.
    pub fn candidate(&self, problem: &Problem) -> Order {
        let values = (problem.phases.iter().enumerate())
            .map(|(number, &phase)| self.bool_value(Bool(number as u32)).unwrap_or(phase))
            .collect();
        Order::new(linearise(&self.order, &self.layout), values)
    }
}

pub(crate) fn nodes(clause: &[Literal]) -> impl Iterator<Item = Node> + '_ {
    clause
        .iter()
        .flat_map(|&literal| match literal {
            Literal::Before(a, b) => [Some(a), Some(b)],
            Literal::Is(_) | Literal::Not(_) => [None, None],
        })
        .flatten()
}

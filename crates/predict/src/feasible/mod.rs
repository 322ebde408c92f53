//! The feasible-reordering engine: is there a reordering that ends so? Most questions are whether some events can be
//! next; a [`Goal`] can say more, such as who wrote last to a cell, or which events come before which.
//!
//! Source: the maximal causal model with control flow (Huang, Meredith, Roşu, PLDI 2014), by the definition in
//! [`history`](crate::history). Sound and maximal: it says [`Feasibility::No`] only if no feasible reordering exists,
//! and every order it returns was run event by event here; callers have it judged by [`witness`](crate::witness) as
//! well.
//!
//! **How.** Every event that could take part is a node of the ordering solver, and one more node is the *cut*: what
//! comes before it is in the reordering. The solver proposes an order; [`simulate`] runs what lies before the cut and
//! names each rule that is broken as a clause ([`clauses`]) that every feasible reordering satisfies. So locks,
//! interfering writes and waits enter the formula only where they matter, and nearly always the observed order needs
//! few of them.
//!
//! Deviations from the paper: whether a lock's release is in the reordering matters (the paper lets an acquire follow a
//! release that never happens); waits match any notify that can wake them, not only the observed one; a write of a
//! thread whose reads changed has an unknown value, and a required read may not return it.

mod clauses;
mod goal;
mod index;
mod refute;
mod rules;
mod simulate;

pub use goal::{Goal, LastWrite};
pub use index::Index;
pub use rules::Rule;

use reweave_order::{Budget, Chain, Node, Problem, Stats, Why};

use crate::history::*;
use clauses::Clauses;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Feasibility {
    /// What happens first, without the last event if the goal names one; then the events asked about are next. In
    /// [`Mode::Said`] the whole history, with them in it.
    Reordering(Vec<Pos>),
    No,
    Unknown(Doubt),
}

/// Why a question has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Doubt {
    Budget(Why),
    /// A proposal breaks a rule that no clause can express: a mistake of the engine.
    Stuck,
}

/// A question about an index' history.
pub struct Question<'i, 'h> {
    pub(in crate::feasible) index: &'i Index<'h>,
    pub(in crate::feasible) mode: Mode,
    pub(in crate::feasible) goal: Goal,
    /// Events of each thread that can be in the reordering at all, and those that must be.
    pub(in crate::feasible) limit: Vec<u32>,
    pub(in crate::feasible) required: Vec<u32>,
    off: Option<Rule>,
}

impl<'i, 'h> Question<'i, 'h> {
    /// `None`: no reordering can end so. In [`Mode::Said`] a goal has two events that are next, or one and a last
    /// write.
    pub fn new(index: &'i Index<'h>, mode: Mode, goal: impl Into<Goal>) -> Option<Self> {
        Self::with(index, mode, goal.into(), None)
    }

    #[cfg(feature = "testing")]
    /// As if a rule of the definition did not exist: to see that tests miss it.
    pub fn without(rule: Rule, index: &'i Index<'h>, mode: Mode, goal: impl Into<Goal>) -> Option<Self> {
        Self::with(index, mode, goal.into(), Some(rule))
    }

    fn with(index: &'i Index<'h>, mode: Mode, goal: Goal, off: Option<Rule>) -> Option<Self> {
        let history = index.history;
        let mut limit: Vec<u32> = history.threads.iter().map(|events| events.len() as u32).collect();
        let mut required = if goal.ended { limit.clone() } else { vec![0; limit.len()] };
        for &next in &goal.next {
            let thread = history.step(next).thread.index();
            let place = index.place[next.index()];
            limit[thread] = limit[thread].min(place);
            required[thread] = required[thread].max(place);
            for &before in needs(index, off, next) {
                let thread = history.step(before).thread.index();
                required[thread] = required[thread].max(index.place[before.index()] + 1);
            }
        }
        if let Some(last) = goal.last_write {
            last_write(index, mode, off, last, &mut limit, &mut required);
        }
        if let Some(last) = goal.last {
            // What is next is so before it already.
            if goal.next.iter().any(|&next| needs(index, off, next).contains(&last)) {
                return None;
            }
            let (thread, place) = (history.step(last).thread.index(), index.place[last.index()]);
            limit[thread] = limit[thread].min(place + 1);
            required[thread] = required[thread].max(place + 1);
        }
        for &pos in goal.precede.iter().flat_map(|(first, second)| [first, second]) {
            let thread = history.step(pos).thread.index();
            required[thread] = required[thread].max(index.place[pos.index()] + 1);
        }
        let question = Self { index, mode, goal, limit, required, off };
        // Before everything is gone through.
        if refute::is_refuted(&question) {
            return None;
        }
        let (mut limit, mut required) = (question.limit.clone(), question.required.clone());
        if mode != Mode::Said {
            // What needs an event that comes too late comes too late itself.
            for pos in history.positions() {
                let thread = history.step(pos).thread.index();
                if index.place[pos.index()] < limit[thread]
                    && needs(index, off, pos)
                        .iter()
                        .any(|&before| index.place[before.index()] >= limit[history.step(before).thread.index()])
                {
                    limit[thread] = index.place[pos.index()];
                }
            }
        }
        for pos in history.positions().rev() {
            if index.place[pos.index()] < required[history.step(pos).thread.index()] {
                for &before in needs(index, off, pos) {
                    let thread = history.step(before).thread.index();
                    required[thread] = required[thread].max(index.place[before.index()] + 1);
                }
            }
        }
        let possible = required.iter().zip(&limit).all(|(required, limit)| required <= limit);
        possible.then_some(Self { limit, required, ..question })
    }

    /// Whether an event may be in the reordering.
    pub(in crate::feasible) fn possible(&self, pos: Pos) -> bool {
        self.mode == Mode::Said || self.index.place[pos.index()] < self.limit[self.index.step(pos).thread.index()]
    }

    pub(in crate::feasible) fn is_required(&self, pos: Pos) -> bool {
        self.index.place[pos.index()] < self.required[self.index.step(pos).thread.index()]
    }

    /// Whether an event that must be next needs a valid thread.
    pub(in crate::feasible) fn guards(&self, next: Pos) -> bool {
        let step = self.index.step(next);
        self.mode != Mode::DataAbstract && !self.index.history.pair_unguarded && self.needs_valid(step)
    }

    /// Whether an event needs a valid thread.
    pub(in crate::feasible) fn needs_valid(&self, step: &Step) -> bool {
        step.guarded && self.has(Rule::Guards) || step.action.is_outcome() && self.has(Rule::Outcomes)
    }

    /// Whether what an access writes depends on what it reads itself.
    pub(in crate::feasible) fn depends_on_its_read(&self, kind: AccessKind) -> bool {
        match kind {
            AccessKind::Update => self.has(Rule::UpdateNeedsItsRead),
            AccessKind::Exchange => !self.has(Rule::ExchangeNeedsNoRead),
            _ => true,
        }
    }

    /// Whether a rule is in force.
    pub(in crate::feasible) fn has(&self, rule: Rule) -> bool {
        self.off != Some(rule)
    }

    pub fn ask(&self, budget: Budget<'_>) -> (Feasibility, Stats) {
        let (answer, stats, _) = self.ask_and_keep(budget);
        (answer, stats)
    }

    /// As [`Self::ask`], and the formula as it was at the end, for other solvers.
    pub fn ask_and_keep(&self, budget: Budget<'_>) -> (Feasibility, Stats, Problem) {
        let (mut problem, mut clauses) = self.formula();
        let (answer, stats) = self.solve(&mut problem, &mut clauses, budget);
        (answer, stats, problem)
    }

    fn formula(&self) -> (Problem, Clauses<'_, 'i, 'h>) {
        let history = self.index.history;
        let mut problem = Problem::new();
        let mut nodes = vec![None; history.steps.len()];
        let last_required = history.positions().rev().find(|&pos| self.is_required(pos));
        let cut_chain = Chain(history.threads.len() as u32);
        let mut cut = None;
        if last_required.is_none() {
            cut = Some(problem.add_node(cut_chain));
        }
        for pos in history.positions() {
            if !self.possible(pos) {
                continue;
            }
            let node = problem.add_node(Chain(history.step(pos).thread.0));
            nodes[pos.index()] = Some(node);
            if Some(pos) == last_required {
                cut = Some(problem.add_node(cut_chain));
            }
        }
        let cut = cut.expect("placed after the last required event");
        let mut events = vec![None; problem.nodes()];
        for pos in history.positions() {
            let Some(node) = nodes[pos.index()] else { continue };
            events[node.index()] = Some(pos);
            for before in needs(self.index, self.off, pos) {
                if let Some(before) = nodes[before.index()] {
                    problem.edge(before, node);
                }
            }
        }
        for (thread, &required) in self.required.iter().enumerate() {
            if let Some(&last) = required.checked_sub(1).and_then(|last| history.threads[thread].get(last as usize)) {
                problem.edge(nodes[last.index()].expect("required events are possible"), cut);
            }
        }
        for (first, second) in &self.goal.precede {
            let node = |pos: &Pos| nodes[pos.index()].expect("required events are possible");
            problem.edge(node(first), node(second));
        }
        let clauses = Clauses::new(self, nodes, events, cut, &mut problem);
        (problem, clauses)
    }

    fn solve(
        &self,
        problem: &mut Problem,
        clauses: &mut Clauses<'_, 'i, 'h>,
        budget: Budget<'_>,
    ) -> (Feasibility, Stats) {
        let (answer, stats) = reweave_order::solve(problem, clauses, budget);
        let answer = match answer {
            reweave_order::Solution::Sat(order) => {
                let mut order = clauses.before_cut(&order);
                let broken = simulate::Simulation::run(self, &order).broken;
                if self.goal.last.is_some() {
                    order.pop();
                }
                if broken.is_empty() { Feasibility::Reordering(order) } else { Feasibility::Unknown(Doubt::Stuck) }
            }
            reweave_order::Solution::Unsat => Feasibility::No,
            reweave_order::Solution::Unknown(why) => Feasibility::Unknown(Doubt::Budget(why)),
        };
        (answer, stats)
    }
}

/// What a last write asks of the threads: it is there, and nothing after it in its own thread that writes the cell is.
/// What other threads write, [`simulate`] sees.
fn last_write(
    index: &Index<'_>,
    mode: Mode,
    off: Option<Rule>,
    last: LastWrite,
    limit: &mut [u32],
    required: &mut [u32],
) {
    let own = last.writer.map(|writer| (index.step(writer).thread, index.place[writer.index()]));
    if let Some((thread, place)) = own {
        required[thread.index()] = required[thread.index()].max(place + 1);
    }
    if mode == Mode::Said || off == Some(Rule::LastWrite) {
        return;
    }
    for &writer in &index.writers[last.cell.index()] {
        let (thread, place) = (index.step(writer).thread, index.place[writer.index()]);
        if own.is_none_or(|own| own.0 == thread && own.1 < place) {
            limit[thread.index()] = limit[thread.index()].min(place);
        }
    }
}

/// What must come before an event, besides its thread's events.
fn needs<'i>(index: &'i Index<'_>, off: Option<Rule>, pos: Pos) -> &'i [Pos] {
    let (after, arrivals) = index.needs(pos).split_at(index.step(pos).after.len());
    match off {
        Some(Rule::After) => arrivals,
        Some(Rule::Rounds) => after,
        _ => index.needs(pos),
    }
}

/// The node of an event, if it can take part.
type Nodes = Vec<Option<Node>>;

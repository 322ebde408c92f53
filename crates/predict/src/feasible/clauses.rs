//! Broken rules as clauses. Each clause holds in every feasible reordering of the question (that is all that soundness
//! of "no" rests on) and is violated by the order that broke the rule (so that the solver does not come back with it).

use reweave_model::LockMode;
use reweave_order::{Bool, Clauses as Add, Lazy, Literal, Node, Order, Problem};

use super::simulate::{Broken, Guard, Simulation};
use super::{LastWrite, Nodes, Question, Rule};
use crate::history::*;
use crate::linear::{FastMap, FastSet};

/// A way for a read to get its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pick {
    /// `None`: what was there at first.
    writer: Option<Pos>,
    /// `None`: the only way.
    chosen: Option<Bool>,
}

pub(super) struct Clauses<'q, 'i, 'h> {
    question: &'q Question<'i, 'h>,
    nodes: Nodes,
    events: Vec<Option<Pos>>,
    cut: Node,
    /// "This read returns its value", for reads that somebody needs.
    keeps: FastMap<Pos, Bool>,
    /// Those without a meaning yet. invariant: empty between proposals
    undefined: Vec<(Pos, Bool)>,
    /// Guards already tied to reads.
    tied: FastSet<(Pos, Option<Pos>)>,
    picks: FastMap<(Pos, Cell), Vec<Pick>>,
    interferences: FastSet<(Pos, Cell, Option<Pos>, Pos)>,
    exclusions: FastSet<(Pos, Pos)>,
}

impl<'q, 'i, 'h> Clauses<'q, 'i, 'h> {
    pub fn new(
        question: &'q Question<'i, 'h>,
        nodes: Nodes,
        events: Vec<Option<Pos>>,
        cut: Node,
        problem: &mut Problem,
    ) -> Self {
        if question.mode == Mode::Said
            && let (&[read], Some(LastWrite { writer: Some(writer), .. })) =
                (question.goal.next.as_slice(), question.goal.last_write)
        {
            problem.edge(nodes[writer.index()].expect("all take part"), nodes[read.index()].expect("all take part"));
        }
        if let (Mode::Said, &[first, second]) = (question.mode, question.goal.next.as_slice()) {
            let (a, b) = (nodes[first.index()].expect("all take part"), nodes[second.index()].expect("all take part"));
            problem.edge(cut, a);
            problem.edge(a, b);
            for &node in nodes.iter().flatten().filter(|node| **node != a && **node != b) {
                problem.clause([Literal::Before(node, cut), Literal::Before(b, node)]);
            }
        }
        if let Some(last) = question.goal.last {
            let last = nodes[last.index()].expect("required events are possible");
            for &node in nodes.iter().flatten().filter(|node| **node != last) {
                problem.clause([Literal::Before(node, last), Literal::Before(cut, node)]);
            }
        }
        Self {
            question,
            nodes,
            events,
            cut,
            keeps: FastMap::default(),
            undefined: Vec::new(),
            tied: FastSet::default(),
            picks: FastMap::default(),
            interferences: FastSet::default(),
            exclusions: FastSet::default(),
        }
    }

    /// The reordering that an order of the nodes stands for.
    pub fn before_cut(&self, order: &Order) -> Vec<Pos> {
        let sequence = order.sequence().iter();
        if self.question.mode == Mode::Said {
            return sequence.filter_map(|node| self.events[node.index()]).collect();
        }
        sequence.take_while(|node| **node != self.cut).filter_map(|node| self.events[node.index()]).collect()
    }

    fn node(&self, pos: Pos) -> Option<Node> {
        self.nodes[pos.index()]
    }

    /// "It is not in the reordering"; `None` if it always is.
    fn out(&self, pos: Pos) -> Option<Literal> {
        if self.question.mode == Mode::Said || self.question.is_required(pos) {
            return None;
        }
        self.node(pos).map(|node| Literal::Before(self.cut, node))
    }

    /// "The first comes before the second"; `None` if it cannot, or the first cannot be in the reordering at all.
    fn before(&self, first: Pos, second: Pos) -> Option<Literal> {
        match (self.node(first), self.node(second)) {
            (Some(first), Some(second)) => Some(Literal::Before(first, second)),
            _ => None,
        }
    }

    /// "The second holds against the first": it is excluded, or comes later. For events that cannot take part it is
    /// true.
    fn later(&self, first: Pos, second: Pos) -> Result<Literal, Always> {
        match (self.node(first), self.node(second)) {
            (Some(first), Some(second)) => Ok(Literal::Before(first, second)),
            _ => Err(Always),
        }
    }

    /// The boolean "this read returns its value", and its meaning the first time it is asked for.
    fn keeps(&mut self, read: Pos, add: &mut Add<'_>) -> Bool {
        if let Some(&keeps) = self.keeps.get(&read) {
            return keeps;
        }
        let keeps = add.bool_var(true);
        self.keeps.insert(read, keeps);
        self.undefined.push((read, keeps));
        keeps
    }

    /// Gives meaning to the booleans made since. Not by recursion: chains of dependence are as long as the history.
    fn define(&mut self, add: &mut Add<'_>) {
        while let Some((read, keeps)) = self.undefined.pop() {
            let access = self.question.index.step(read).action.access().expect("a read");
            for &(cell, value) in &access.reads {
                self.pick(read, cell, value, keeps, add);
            }
        }
    }

    /// `keeps` means that one of the writers of the value is the last before the read.
    fn pick(&mut self, read: Pos, cell: Cell, value: Val, keeps: Bool, add: &mut Add<'_>) {
        let index = self.question.index;
        let thread = index.step(read).thread;
        let own = index.writers[cell.index()].iter().filter(|writer| index.step(**writer).thread == thread);
        // Of its own thread only the last write before it can be the one.
        let own_last = own.filter(|writer| index.place[writer.index()] < index.place[read.index()]).max_by_key(|w| w.0);
        let mut writers: Vec<Option<Pos>> = Vec::new();
        for &writer in index.writers_of.get(&(cell, value)).into_iter().flatten() {
            let mine = index.step(writer).thread == thread;
            if writer != read && self.node(writer).is_some() && (!mine || Some(&writer) == own_last) {
                writers.push(Some(writer));
            }
        }
        if index.history.initial[cell.index()] == value && own_last.is_none() {
            writers.push(None);
        }
        let single = writers.len() == 1;
        let mut picks = Vec::new();
        let mut clause = vec![Literal::Not(keeps)];
        for writer in writers {
            let chosen = (!single).then(|| add.bool_var(false));
            clause.extend(chosen.map(Literal::Is));
            let not = chosen.map_or(Literal::Not(keeps), Literal::Not);
            if let Some(writer) = writer {
                let mine = index.step(writer).thread == thread;
                if !mine && let Some(before) = self.before(writer, read) {
                    add.clause([not, before]);
                }
                // Its value is what it was only if its thread has read what it had.
                for dependence in self.loose_reads(writer) {
                    let keeps = self.keeps(dependence, add);
                    add.clause([not, Literal::Is(keeps)]);
                }
            }
            picks.push(Pick { writer, chosen });
        }
        if !single {
            add.clause(clause);
        }
        self.picks.insert((read, cell), picks);
    }

    /// The reads that a write's value depends on and that its being there does not vouch for.
    fn loose_reads(&self, writer: Pos) -> Vec<Pos> {
        let index = self.question.index;
        let step = index.step(writer);
        let mode = self.question.mode;
        if mode != Mode::ControlFlow || !self.question.has(Rule::UnknownValues) {
            // Every read keeps its value anyway.
            return Vec::new();
        }
        let mut reads = Vec::new();
        let access = step.action.access().expect("a write");
        if self.question.depends_on_its_read(access.kind) && !access.reads.is_empty() && !step.action.is_outcome() {
            reads.push(writer);
        }
        let events = &index.history.threads[step.thread.index()];
        let mut guarded = self.question.needs_valid(step);
        for &pos in events[..index.place[writer.index()] as usize].iter().rev() {
            if guarded {
                break;
            }
            let step = index.step(pos);
            if step.action.access().is_some_and(|access| !access.reads.is_empty()) && !step.action.is_outcome() {
                reads.push(pos);
            }
            guarded = self.question.needs_valid(step);
        }
        reads
    }

    fn broken(&mut self, broken: Broken, order: &Order, add: &mut Add<'_>) {
        match broken {
            Broken::Taken { holder, wanted } => self.taken(holder, wanted, add),
            Broken::Free { failed } => self.free(failed, order, add),
            Broken::Read { read, cell, found, guard } => self.read(read, cell, found, guard, order, add),
            Broken::Unnotified { woken } => self.unnotified(woken, order, add),
            Broken::Notified { woken } => self.condition_shape(woken, order, add),
            Broken::Empty { take } => self.count(take, order, true, add),
            Broken::NotEmpty { failed } => self.count(failed, order, false, add),
            Broken::Round { leave } => self.round(leave, order, add),
            Broken::Overwritten { by } => self.overwritten(by, add),
        }
    }

    /// One of the two acquisitions is over, in the reordering, before the other begins; or one of them is not there.
    fn taken(&mut self, one: Pos, two: Pos, add: &mut Add<'_>) {
        let key = (one.min(two), one.max(two));
        if !self.exclusions.insert(key) {
            return;
        }
        let mut clause: Vec<Literal> = [self.out(one), self.out(two)].into_iter().flatten().collect();
        for (first, second) in [(one, two), (two, one)] {
            let release = self.question.index.release.get(&first);
            clause.extend(release.and_then(|&release| self.before(release, second)));
        }
        add.clause(clause);
    }

    /// A failed acquisition needs a holder: some acquisition must come to stand around it.
    fn free(&mut self, failed: Pos, order: &Order, add: &mut Add<'_>) {
        let index = self.question.index;
        let Action::AcquireFailed { lock, mode } = index.step(failed).action else { return };
        let mut clause: Vec<Literal> = self.out(failed).into_iter().collect();
        for &(acquire, held) in &index.acquires[lock.index()] {
            if index.step(acquire).thread == index.step(failed).thread
                || (mode == LockMode::Shared && held == LockMode::Shared)
            {
                continue;
            }
            let Some(before) = self.before(acquire, failed) else { continue };
            if !order.holds(before) {
                clause.push(before);
            } else if let Some(&release) = index.release.get(&acquire)
                && let Some(after) = self.before(failed, release)
            {
                clause.push(after);
            }
        }
        add.clause(clause);
    }

    fn read(&mut self, read: Pos, cell: Cell, found: Option<Pos>, guard: Guard, order: &Order, add: &mut Add<'_>) {
        let keeps = self.keeps(read, add);
        self.define(add);
        let guard = match guard {
            Guard::Event(guard) => Some(guard),
            Guard::Always => None,
        };
        match guard {
            Some(guard) if self.tied.insert((read, Some(guard))) => {
                add.clause(self.out(guard).into_iter().chain([Literal::Is(keeps)]));
            }
            // Only goals demand by themselves; a dependence is demanded by its pick.
            None if self.is_goal_read(read) && self.tied.insert((read, None)) => add.clause([Literal::Is(keeps)]),
            _ => {}
        }
        let Some(found) = found else { return };
        let picks = self.picks.get(&(read, cell)).cloned().unwrap_or_default();
        for Pick { writer, chosen } in picks {
            // A write that stands between the picked one and the read.
            let picked = chosen.is_none_or(|chosen| self.known(chosen, order) && order.value(chosen));
            if writer == Some(found) || !picked || !self.interferences.insert((read, cell, writer, found)) {
                continue;
            }
            let mut clause = vec![chosen.map_or(Literal::Not(keeps), Literal::Not)];
            clause.extend(writer.and_then(|writer| self.before(found, writer)));
            match self.later(read, found) {
                Ok(later) => clause.push(later),
                Err(Always) => continue,
            }
            add.clause(clause);
        }
    }

    /// Booleans made during this very round have no value in the order.
    fn known(&self, bool: Bool, order: &Order) -> bool {
        bool.index() < order.values()
    }

    /// Whether a goal that needs a valid thread follows the read.
    fn is_goal_read(&self, read: Pos) -> bool {
        let index = self.question.index;
        self.question.goal.next.iter().any(|&next| {
            index.step(next).thread == index.step(read).thread
                && index.place[read.index()] < index.place[next.index()]
                && self.question.guards(next)
        })
    }

    /// A waking needs a notify between its wait and itself.
    fn unnotified(&mut self, woken: Pos, order: &Order, add: &mut Add<'_>) {
        let index = self.question.index;
        let Action::Woken { condition, .. } = index.step(woken).action else { return };
        let Some(&wait) = index.wait_of.get(&woken) else { return };
        let mut clause: Vec<Literal> = self.out(woken).into_iter().collect();
        let mut between = false;
        for &notify in &index.notifies[condition.index()] {
            let (Some(after), Some(before)) = (self.before(wait, notify), self.before(notify, woken)) else { continue };
            match (order.holds(after), order.holds(before)) {
                (true, true) => between = true,
                (false, _) => clause.push(after),
                (_, false) => clause.push(before),
            }
        }
        if between {
            // There are some, but they go to others.
            self.condition_shape(woken, order, add);
        } else {
            add.clause(clause);
        }
    }

    /// Something about how the waits and notifies of a condition lie to each other must be otherwise.
    fn condition_shape(&mut self, woken: Pos, order: &Order, add: &mut Add<'_>) {
        let index = self.question.index;
        let Action::Woken { condition, .. } = index.step(woken).action else { return };
        let mut clause: Vec<Literal> = self.out(woken).into_iter().collect();
        let mut events: Vec<Pos> = index.notifies[condition.index()].clone();
        events.extend(index.waits[condition.index()].iter().flat_map(|span| [Some(span.wait), span.woken]).flatten());
        self.shape(&events, order, &mut clause);
        add.clause(clause);
    }

    /// Literals that say "these events do not lie to each other and to the cut as in this order".
    fn shape(&self, events: &[Pos], order: &Order, clause: &mut Vec<Literal>) {
        let mut nodes: Vec<Node> = events.iter().filter_map(|&pos| self.node(pos)).collect();
        if self.question.mode != Mode::Said {
            nodes.push(self.cut);
        }
        nodes.sort_unstable_by_key(|&node| order.position(node));
        nodes.dedup();
        clause.extend(nodes.windows(2).map(|pair| Literal::Before(pair[1], pair[0])));
    }

    /// Too few tokens for a take, or some left for one that failed: some post or take must change sides.
    fn count(&mut self, at: Pos, order: &Order, empty: bool, add: &mut Add<'_>) {
        let index = self.question.index;
        let (Action::Take { semaphore } | Action::TakeFailed { semaphore }) = index.step(at).action else { return };
        let mut clause: Vec<Literal> = self.out(at).into_iter().collect();
        // Empty: posts that come later must come earlier, takes that come earlier later. Not empty: the other way
        // round.
        let (earlier, later) = if empty {
            (&index.posts[semaphore.index()], &index.takes[semaphore.index()])
        } else {
            (&index.takes[semaphore.index()], &index.posts[semaphore.index()])
        };
        for &pos in earlier.iter().filter(|pos| **pos != at) {
            clause.extend(self.before(pos, at).filter(|literal| !order.holds(*literal)));
        }
        for &pos in later.iter().filter(|pos| **pos != at) {
            clause.extend(self.before(at, pos).filter(|literal| !order.holds(*literal)));
        }
        add.clause(clause);
    }

    fn round(&mut self, leave: Pos, order: &Order, add: &mut Add<'_>) {
        let index = self.question.index;
        let Action::Leave { barrier, .. } = index.step(leave).action else { return };
        let mut clause: Vec<Literal> = self.out(leave).into_iter().collect();
        self.shape(&index.barrier_events[barrier.index()], order, &mut clause);
        add.clause(clause);
    }

    /// A write that is not the goal's last one comes before that one, or after the point in question.
    fn overwritten(&mut self, by: Pos, add: &mut Add<'_>) {
        let Some(last) = self.question.goal.last_write else { return };
        let mut clause: Vec<Literal> = last.writer.and_then(|writer| self.before(by, writer)).into_iter().collect();
        match self.question.goal.next.as_slice() {
            &[read] if self.question.mode == Mode::Said => clause.extend(self.before(read, by)),
            _ => clause.extend(self.out(by)),
        }
        add.clause(clause);
    }
}

/// True in any case: nothing to demand.
struct Always;

impl Lazy for Clauses<'_, '_, '_> {
    fn refine(&mut self, candidate: &Order, add: &mut Add<'_>) {
        let order = self.before_cut(candidate);
        let simulation = Simulation::run(self.question, &order);
        for broken in simulation.broken {
            self.broken(broken, candidate, add);
        }
    }
}

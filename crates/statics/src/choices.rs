//! What depends on the order in which threads happen to run.
//!
//! A read is a **choice** if two writes it may see are not ordered the same way in all executions: one beside the
//! read, or two before it that are in parallel with each other (a read after all joins: forgetting these is the
//! easiest unsoundness). What a choice decides is **tainted**: values computed from it, what is executed or not
//! because of it, writes of such values or at such places, and reads of what those wrote.
//!
//! Guarantee: a read that is no choice and not tainted returns the same write instance in all executions of one input
//! in which it is executed; and if two executions end normally, it is executed in both or in none. Whether an
//! execution ends at all (deadlock, failure, endless loop) is not looked at, except by [`crate::verdict`] for the exit
//! status.
//!
//! Deviation from the definition: a read whose source differs only because an earlier choice decided whether a write is
//! executed counts as derived, not as a choice: no two accesses *here* may happen in parallel.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use reweave_script::language::{BlockId, Operand, Place, Register, Statement, StatementKind};

use crate::bits::Bits;
use crate::faults::{Fault, is_seeded};
use crate::flow::{Flow, Solution, solve, visit};
use crate::frames::{FrameId, Point, ThreadId};
use crate::points_to::Target;
use crate::program::Program;
use crate::reads::{Seen, of_place, used};
use crate::values::locations::LocationId;
use crate::values::state::Source;

/// Two accesses that are in parallel: a read and a write, or two writes.
pub type Pair = (Point, Point);

/// The pairs that make a read of one location a choice.
pub fn pairs(facts: &Program<'_>, at: Point, seen: &Seen) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = seen.beside.iter().map(|write| (at, *write)).collect();
    let before: Vec<Point> = seen
        .before
        .iter()
        .filter_map(|source| match source {
            Source::Write(point) => Some(*point),
            Source::System => None,
        })
        .collect();
    if is_seeded(Fault::NoWritePairs) {
        return pairs;
    }
    for (at, one) in before.iter().enumerate() {
        let others = before[at..].iter().filter(|other| facts.parallel.may(*one, **other));
        pairs.extend(others.map(|other| (*one, *other)));
    }
    pairs
}

/// Updates whose order does not matter, and what they make the same: see [`crate::order_free`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderFree {
    pub locations: BTreeSet<LocationId>,
    /// Loads and stores that are nothing but such updates.
    pub updates: HashSet<Point>,
}

impl OrderFree {
    /// Pairs whose order matters to a read. While updates go on beside it, how many it sees is a choice, even if a lock
    /// keeps it from seeing any but its own thread's.
    pub fn without(&self, facts: &Program<'_>, at: Point, seen: &Seen) -> Vec<Pair> {
        let mut pairs = pairs(facts, at, seen);
        let is_part = self.updates.contains(&at);
        let goes_on = |one: Point| !is_part && facts.parallel.may(at, one);
        pairs.retain(|(one, other)| {
            let both = self.updates.contains(one) && self.updates.contains(other);
            !both || goes_on(*one) || goes_on(*other)
        });
        // A lock may hide the others behind an update of its own thread, which counts them nevertheless.
        let own = seen.before.iter().find_map(|source| match source {
            Source::Write(point) if self.updates.contains(point) => Some(*point),
            _ => None,
        });
        let is_here = |update: &&Point| {
            facts.accesses.writes.get(update).is_some_and(|write| write.locations.contains(&seen.location))
        };
        if let (Some(own), true) = (own, pairs.is_empty()) {
            let beside = self.updates.iter().filter(is_here).filter(|update| goes_on(**update));
            pairs.extend(beside.min().map(|update| (own, *update)));
        }
        pairs
    }
}

/// What is tainted.
pub struct Taint {
    /// Reads that are choices, or see what is tainted.
    pub reads: HashSet<Point>,
    /// Reads of a place that a choice decides.
    pub elsewhere: HashSet<Point>,
    /// Writes of tainted values, at tainted places, or executed or not because of a choice.
    pub writes: HashSet<Point>,
    /// Statements that are executed or not because of a choice.
    pub control: HashSet<Point>,
    /// Statements that use a tainted value.
    pub uses: HashSet<Point>,
    /// Registers that are tainted before a statement, and not the same in all executions anyway.
    pub registers: HashMap<Point, Bits>,
    /// Outcomes of try-locks, timed waits and the like: choices that are no reads.
    pub outcomes: BTreeSet<Point>,
}

impl Taint {
    pub fn new(facts: &Program<'_>, order_free: &OrderFree) -> Self {
        let mut flow = Tainting::new(facts, order_free);
        let mut solution = Solution::new(&facts.skeleton);
        loop {
            flow.changed = false;
            let mut changed = false;
            for thread in facts.skeleton.thread_ids() {
                let Some(birth) = flow.births.get(&thread).cloned() else { continue };
                changed |= solve(&mut flow, &facts.skeleton, thread, birth, &mut solution, true);
            }
            if !changed && !flow.changed {
                break;
            }
        }
        let (mut control, mut uses, mut registers) = (HashSet::new(), HashSet::new(), HashMap::new());
        visit(&mut flow, &facts.skeleton, &solution, |flow, point, statement, state| {
            if flow.is_decided(point) {
                control.insert(point);
            }
            if flow.uses(point, &used(&statement.kind), state) {
                uses.insert(point);
            }
            let tainted = state.iter().filter(|at| flow.uses(point, &[Register(*at as u32)], state));
            registers.insert(point, tainted.collect());
        });
        let (elsewhere, outcomes) = (flow.elsewhere, flow.outcomes);
        Self { reads: flow.reads, elsewhere, writes: flow.writes, control, uses, registers, outcomes }
    }
}

/// Registers that are tainted; the one past the last is the result of the function.
type State = Bits;

struct Tainting<'a, 'p> {
    facts: &'a Program<'p>,
    /// Choices, decided once: by read.
    choices: HashMap<Point, bool>,
    reads: HashSet<Point>,
    elsewhere: HashSet<Point>,
    writes: HashSet<Point>,
    outcomes: BTreeSet<Point>,
    /// Blocks and frames that are executed or not because of a choice.
    blocks: HashSet<(FrameId, BlockId)>,
    frames: HashSet<FrameId>,
    births: BTreeMap<ThreadId, State>,
    changed: bool,
}

impl<'a, 'p> Tainting<'a, 'p> {
    fn new(facts: &'a Program<'p>, order_free: &'a OrderFree) -> Self {
        let choices = facts.accesses.reads.iter().map(|(at, read)| {
            let choice = read.seen.iter().any(|seen| !order_free.without(facts, *at, seen).is_empty());
            (*at, (choice || read.unknown) && !read.value.is_constant())
        });
        Self {
            facts,
            choices: choices.collect(),
            reads: HashSet::new(),
            elsewhere: HashSet::new(),
            writes: HashSet::new(),
            outcomes: BTreeSet::new(),
            blocks: HashSet::new(),
            frames: HashSet::new(),
            births: [(ThreadId::MAIN, State::default())].into(),
            changed: false,
        }
    }

    fn is_decided(&self, at: Point) -> bool {
        let block = self.facts.skeleton.block_of(at.statement);
        self.frames.contains(&at.frame) || self.blocks.contains(&(at.frame, block))
    }

    /// Whether one of the registers is tainted here, and not the same in all executions anyway.
    fn uses(&self, at: Point, registers: &[Register], state: &State) -> bool {
        let values = self.facts.accesses.registers.get(&at);
        registers.iter().any(|register| {
            state.contains(register.index()) && values.is_none_or(|values| !values[register.index()].is_constant())
        })
    }

    /// Whether a place may be another one in another execution. A reference to one object is that, or the program
    /// fails.
    fn moves(&self, at: Point, place: &Place, state: &State) -> bool {
        let mut registers = of_place(place);
        registers.retain(|register| {
            let targets = self.facts.points_to.register(at.frame, *register);
            let only = (targets.len() == 1).then(|| targets.first()).flatten();
            !matches!(only, Some(Target::Object(object)) if self.facts.points_to.is_single(&self.facts.skeleton, *object))
        });
        self.uses(at, &registers, state) && !is_seeded(Fault::NoPlaces)
    }

    fn uses_operand(&self, at: Point, operand: Operand, state: &State) -> bool {
        match operand {
            Operand::Register(register) => self.uses(at, &[register], state),
            Operand::Literal(_) => false,
        }
    }

    /// Whether what a read returns is tainted.
    fn read(&mut self, at: Point, address: bool) -> bool {
        let Some(read) = self.facts.accesses.reads.get(&at) else { return false };
        if address {
            self.elsewhere.insert(at);
        }
        let mut tainted = address || self.choices.get(&at).copied().unwrap_or(false);
        for seen in &read.seen {
            let writes = seen.before.iter().filter_map(|source| match source {
                Source::Write(point) => Some(point),
                Source::System => None,
            });
            tainted |= writes.chain(&seen.beside).any(|write| self.writes.contains(write));
        }
        tainted &= !read.value.is_constant();
        if tainted {
            self.changed |= self.reads.insert(at);
        }
        tainted
    }

    fn write(&mut self, at: Point, tainted: bool) {
        if tainted {
            self.changed |= self.writes.insert(at);
        }
    }

    fn decide(&mut self, at: Point) {
        let here = self.facts.skeleton.places[at.statement.index()];
        let graph = &self.facts.skeleton.graphs[here.function.index()];
        let decided = graph.decides[here.block.index()].iter().filter(|_| !is_seeded(Fault::NoControl));
        for block in decided {
            self.changed |= self.blocks.insert((at.frame, *block));
        }
    }

    /// Registers of a new frame, from arguments.
    fn inside(&self, at: Point, arguments: &[Operand], state: &State) -> State {
        (0..arguments.len()).filter(|index| self.uses_operand(at, arguments[*index], state)).collect()
    }

    fn result_of(&self, frame: FrameId) -> usize {
        let function = self.facts.skeleton.frames[frame.index()].function;
        self.facts.skeleton.program.function(function).registers.len()
    }

    /// Accesses to memory; whether what it returns is tainted.
    fn access(&mut self, at: Point, kind: &StatementKind, state: &State) -> bool {
        let decided = self.is_decided(at);
        match kind {
            StatementKind::Load { from, .. } => {
                let address = self.moves(at, from, state);
                self.read(at, address)
            }
            StatementKind::Store { to, value, .. } => {
                let address = self.moves(at, to, state);
                self.write(at, decided || address || self.uses_operand(at, *value, state));
                false
            }
            StatementKind::Update { op, at: place, value, .. } => {
                let address = self.moves(at, place, state);
                let there = self.read(at, address);
                let is_exchange = *op == reweave_script::language::UpdateOp::Exchange;
                let value = self.uses_operand(at, *value, state) || (there && !is_exchange);
                self.write(at, decided || address || value);
                there
            }
            StatementKind::CompareExchange { at: place, expected, new, .. } => {
                let address = self.moves(at, place, state);
                let there = self.read(at, address);
                let operands = self.uses_operand(at, *expected, state) || self.uses_operand(at, *new, state);
                self.write(at, decided || address || operands || there);
                there
            }
            _ => false,
        }
    }
}

impl Flow for Tainting<'_, '_> {
    type State = State;

    fn join(&mut self, _: FrameId, into: &mut State, from: &State, _: bool) -> bool {
        into.add_all(from)
    }

    fn step(&mut self, at: Point, statement: &Statement, state: &mut State) -> bool {
        if !self.facts.accesses.registers.contains_key(&at) {
            // No execution gets here.
            return false;
        }
        let kind = &statement.kind;
        let decided = self.is_decided(at);
        let mut tainted = match kind {
            StatementKind::Load { .. }
            | StatementKind::Store { .. }
            | StatementKind::Update { .. }
            | StatementKind::CompareExchange { .. } => self.access(at, kind, state),
            StatementKind::TryEnter { .. }
            | StatementKind::TimedWait { .. }
            | StatementKind::TryTake { .. }
            | StatementKind::Barrier { to: Some(_), .. } => {
                let alone = self.facts.parallel.live(at).is_none_or(Bits::is_empty);
                if !alone {
                    self.outcomes.insert(at);
                }
                !alone
            }
            StatementKind::Start { arguments, .. } => {
                let child = self.facts.skeleton.started[&at];
                let inside = self.inside(at, arguments, state);
                if decided {
                    self.changed |= self.frames.insert(self.facts.skeleton.threads[child.index()].entry);
                }
                match self.births.get_mut(&child) {
                    Some(known) => self.changed |= known.add_all(&inside),
                    None => {
                        self.births.insert(child, inside);
                        self.changed = true;
                    }
                }
                false
            }
            StatementKind::Alloc { .. } => {
                self.write(at, decided);
                self.uses(at, &used(kind), state)
            }
            StatementKind::Opaque { .. } => {
                self.write(at, true);
                false
            }
            _ => self.uses(at, &used(kind), state),
        };
        tainted |= decided;
        if let Some(to) = kind.target() {
            if tainted {
                state.insert(to.index());
            } else {
                state.remove(to.index());
            }
        }
        true
    }

    fn enter(&mut self, at: Point, statement: &Statement, state: &State, callee: FrameId) -> State {
        let StatementKind::Call { arguments, .. } = &statement.kind else { unreachable!("only calls enter") };
        if self.is_decided(at) && !is_seeded(Fault::NoCalls) {
            self.changed |= self.frames.insert(callee);
        }
        self.inside(at, arguments, state)
    }

    fn leave(&mut self, at: Point, statement: &Statement, mut before: State, exit: &State) -> State {
        let callee = self.facts.skeleton.callees[&at];
        if let Some(to) = statement.kind.target() {
            if exit.contains(self.result_of(callee)) || self.is_decided(at) {
                before.insert(to.index());
            } else {
                before.remove(to.index());
            }
        }
        before
    }

    fn returns(&mut self, at: Point, statement: &Statement, state: State) -> State {
        let tainted = self.is_decided(at) || self.uses(at, &used(&statement.kind), &state);
        tainted.then(|| self.result_of(at.frame)).into_iter().collect()
    }

    fn edge(&mut self, at: Point, statement: &Statement, state: &State, to: BlockId) -> Option<State> {
        self.facts.accesses.registers.get(&at)?;
        // Where a choice decides that there is a branch, it decides what the branch does, too.
        let differs = self.is_decided(at) || self.uses(at, &used(&statement.kind), state);
        if statement.kind.successors().len() > 1 && differs {
            self.decide(at);
        }
        let _ = to;
        Some(state.clone())
    }
}

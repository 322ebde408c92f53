//! What each statement does to what a thread knows.

use reweave_script::language::{
    Allocation, BlockId, Operand, Place, Register, Statement, StatementKind, Test, Type, UpdateOp,
};

use super::Analysis;
use super::state::{Comparison, State, add_sorted};
use crate::domain::number::{Number, opposite};
use crate::domain::value::Value;
use crate::faults::{Fault, is_seeded};
use crate::flow::Flow;
use crate::frames::{FrameId, Point};
use reweave_script::language::BinaryOp;

impl Analysis<'_, '_> {
    /// Whether it grew.
    pub fn join_states(&self, at: FrameId, into: &mut State, from: &State, widen: bool) -> bool {
        let function = self.function(at);
        let thresholds = &self.thresholds[..];
        let grow = |kind: Type, known: &mut Value, more: &Value| {
            if self.domain.is_within(kind, more, known) {
                return false;
            }
            *known = match widen {
                true => self.domain.widen(kind, known, more, thresholds),
                false => self.domain.join(kind, known, more),
            };
            true
        };
        let mut changed = false;
        for ((known, more), info) in into.registers.iter_mut().zip(&from.registers).zip(&function.registers) {
            changed |= grow(info.kind, known, more);
        }
        if let Some(kind) = function.result {
            changed |= grow(kind, &mut into.result, &from.result);
        }
        changed |= into.memory.merge(&from.memory, |location, known, more| {
            let kind = self.locations.all[location].kind;
            let mut changed = grow(kind, &mut known.value, &more.value);
            changed |= add_sorted(&mut known.sources, &more.sources);
            let before = known.guards.len();
            known.guards.retain(|lock| more.guards.binary_search(lock).is_ok());
            changed | (known.guards.len() != before)
        });
        changed |= into.touched.add_all(&from.touched);
        // A thread that has been joined on one way, or not been started, is none of which anything is known.
        let started = into.since.len();
        into.since.retain(|thread, _| from.since.contains_key(thread));
        changed |= into.since.len() != started;
        for (thread, known) in &mut into.since {
            changed |= known.add_all(&from.since[thread]);
        }
        let before = into.comparisons.len();
        into.comparisons.retain(|register, known| from.comparisons.get(register) == Some(known));
        changed | (into.comparisons.len() != before)
    }

    pub fn is_within(&self, at: FrameId, small: &State, big: &State) -> bool {
        !self.join_states(at, &mut big.clone(), small, false)
    }

    /// The register is this; none: it cannot be.
    fn assume(&self, state: &State, condition: Operand, holds: bool) -> Option<State> {
        let known = state.operand(self.domain, condition, Type::Bool);
        let wanted = Value::Number(Number::constant(holds.into()));
        if !known.contains(Type::Bool, holds.into()) {
            return None;
        }
        let Operand::Register(register) = condition else { return Some(state.clone()) };
        let mut state = state.clone();
        if let Some(comparison) = state.comparisons.get(&register).copied() {
            self.assume_comparison(&mut state, comparison, holds)?;
        }
        state.registers[register.index()] = wanted;
        Some(state)
    }

    fn assume_comparison(&self, state: &mut State, known: Comparison, holds: bool) -> Option<()> {
        let Comparison { test, kind, left, right } = known;
        let test = if holds { test } else { opposite(test) };
        // Floats that are not less may still not be greater or equal.
        if kind.is_float() && !holds && !matches!(test, Test::Eq | Test::Ne) {
            return Some(());
        }
        let (a, b) = (state.operand(self.domain, left, kind), state.operand(self.domain, right, kind));
        let (a, b) = self.domain.refine(kind, test, &a, &b)?;
        for (operand, value) in [(left, a), (right, b)] {
            if let Operand::Register(register) = operand {
                state.registers[register.index()] = value;
            }
        }
        Some(())
    }

    fn kind_of(&self, frame: FrameId, operands: [Operand; 2]) -> Type {
        let registers = operands.into_iter().find_map(|operand| match operand {
            Operand::Register(register) => Some(self.function(frame).kind_of(register)),
            Operand::Literal(_) => None,
        });
        registers.unwrap_or(Type::I64)
    }

    /// Accesses to memory. False: it always fails.
    fn access(&mut self, at: Point, statement: &Statement, state: &mut State) -> bool {
        let kind_of = |register: Register| self.function(at.frame).kind_of(register);
        match statement.kind {
            StatementKind::Load { to, ref from, .. } => {
                let kind = kind_of(to);
                let resolved = self.resolve(at.frame, from, state, kind);
                let value = self.read(at, &resolved, state, kind);
                let known = value != Value::Nothing;
                state.set(to, value);
                known
            }
            StatementKind::Store { to: ref place, value, .. } => {
                let kind = match value {
                    Operand::Register(register) => kind_of(register),
                    Operand::Literal(_) => self.kind_of_place(at.frame, place),
                };
                let resolved = self.resolve(at.frame, place, state, kind);
                let value = state.operand(self.domain, value, kind);
                self.write(at, &resolved, state, &value, true);
                resolved.unknown || !resolved.locations.is_empty()
            }
            StatementKind::Update { to, op, at: ref place, value, .. } => {
                let kind = kind_of(to);
                let resolved = self.resolve(at.frame, place, state, kind);
                let there = self.read(at, &resolved, state, kind);
                let operand = state.operand(self.domain, value, kind);
                let new = match binary_of(op) {
                    Some(op) => self.domain.binary(kind, op, &there, &operand),
                    None => operand,
                };
                let known = there != Value::Nothing;
                if known {
                    self.write(at, &resolved, state, &new, true);
                }
                state.set(to, there);
                known
            }
            StatementKind::CompareExchange { to, at: ref place, expected, new, .. } => {
                let kind = kind_of(to);
                let resolved = self.resolve(at.frame, place, state, kind);
                let there = self.read(at, &resolved, state, kind);
                let expected = state.operand(self.domain, expected, kind);
                let new = state.operand(self.domain, new, kind);
                // Floats are compared by their bits here.
                let (can, cannot) = match kind.is_float() {
                    true => (true, true),
                    false => self.domain.compare(kind, Test::Eq, &there, &expected),
                };
                if can {
                    let surely = !cannot || is_seeded(Fault::ExchangeAlwaysWrites);
                    self.write(at, &resolved, state, &new, surely);
                }
                let known = there != Value::Nothing;
                state.set(to, there);
                known
            }
            _ => true,
        }
    }

    /// Of a place whose type shows.
    pub fn kind_of_place(&self, frame: FrameId, place: &Place) -> Type {
        let any = self.locations.resolve(self.skeleton, self.points_to, frame, place, &self.domain.any(Type::I64));
        any.locations.first().map_or(Type::I64, |at| self.locations.get(*at).kind)
    }

    /// What touches registers only.
    fn local(&self, frame: FrameId, statement: &Statement, state: &mut State) -> bool {
        let domain = self.domain;
        let kind_of = |register: Register| self.function(frame).kind_of(register);
        let (to, value) = match statement.kind {
            StatementKind::Const { to, value } => (to, domain.literal(kind_of(to), value)),
            StatementKind::Move { to, from } => (to, state.operand(domain, from, kind_of(to))),
            StatementKind::Unary { to, op, value } => {
                let kind = kind_of(to);
                (to, domain.unary(kind, op, &state.operand(domain, value, kind)))
            }
            StatementKind::Binary { to, op, left, right } => {
                let kind = kind_of(to);
                let (left, right) = (state.operand(domain, left, kind), state.operand(domain, right, kind));
                (to, domain.binary(kind, op, &left, &right))
            }
            StatementKind::Compare { to, test, left, right } => {
                let kind = self.kind_of(frame, [left, right]);
                let (a, b) = (state.operand(domain, left, kind), state.operand(domain, right, kind));
                let (can, cannot) = domain.compare(kind, test, &a, &b);
                let outcomes = [(can, 1), (cannot, 0)].into_iter().filter(|(can, _)| *can).map(|(_, value)| value);
                let value = Number::of(outcomes.collect()).map_or(Value::Nothing, Value::Number);
                state.set(to, value.clone());
                if ![left, right].contains(&Operand::Register(to)) {
                    state.comparisons.insert(to, Comparison { test, kind, left, right });
                }
                return value != Value::Nothing;
            }
            StatementKind::Convert { to, from, unsigned } => {
                let value = domain.convert(kind_of(from), kind_of(to), unsigned, &state.registers[from.index()]);
                (to, value)
            }
            StatementKind::Input { to } => (to, domain.any(kind_of(to))),
            StatementKind::TryEnter { to, .. }
            | StatementKind::TimedWait { to, .. }
            | StatementKind::TryTake { to, .. } => (to, domain.any(Type::Bool)),
            StatementKind::Barrier { to: Some(to), .. } => (to, domain.any(Type::Bool)),
            StatementKind::Alloc { to, .. } | StatementKind::Start { to, .. } => {
                (to, Value::Reference { null: false, object: true })
            }
            _ => return true,
        };
        let known = value != Value::Nothing;
        state.set(to, value);
        known
    }
}

const fn binary_of(op: UpdateOp) -> Option<BinaryOp> {
    Some(match op {
        UpdateOp::Add => BinaryOp::Add,
        UpdateOp::Sub => BinaryOp::Sub,
        UpdateOp::And => BinaryOp::And,
        UpdateOp::Or => BinaryOp::Or,
        UpdateOp::Xor => BinaryOp::Xor,
        UpdateOp::Exchange => return None,
    })
}

impl Flow for Analysis<'_, '_> {
    type State = State;

    fn join(&mut self, at: FrameId, into: &mut State, from: &State, widen: bool) -> bool {
        self.join_states(at, into, from, widen)
    }

    fn step(&mut self, at: Point, statement: &Statement, state: &mut State) -> bool {
        match &statement.kind {
            StatementKind::Load { .. }
            | StatementKind::Store { .. }
            | StatementKind::Update { .. }
            | StatementKind::CompareExchange { .. } => self.access(at, statement, state),
            StatementKind::Alloc { what, .. } => {
                let length = match what {
                    Allocation::Array { length, .. } => state.operand(self.domain, *length, Type::I64),
                    Allocation::Object(_) => Value::Number(Number::constant(0)),
                };
                let Value::Number(length) = length else { return false };
                if length.high() < 0 {
                    return false;
                }
                self.allocate(at, state);
                self.local(at.frame, statement, state)
            }
            StatementKind::Exit { lock } | StatementKind::Wait { lock, .. } => {
                self.release(at, lock, state);
                true
            }
            StatementKind::TimedWait { lock, .. } => {
                self.release(at, lock, state);
                self.local(at.frame, statement, state)
            }
            StatementKind::Start { arguments, .. } => {
                self.start(at, arguments, state);
                self.local(at.frame, statement, state)
            }
            StatementKind::Join { .. } => match self.parallel.joins.get(&at) {
                Some(child) => self.absorb(*child, state),
                None => true,
            },
            StatementKind::Assert { condition, .. } => match self.assume(state, *condition, true) {
                Some(holds) => {
                    *state = holds;
                    true
                }
                None => false,
            },
            StatementKind::Unreachable => false,
            StatementKind::Opaque { writes, .. } => {
                for place in writes {
                    let kind = self.kind_of_place(at.frame, place);
                    let resolved = self.resolve(at.frame, place, state, kind);
                    let any = self.domain.any(kind);
                    self.write(at, &resolved, state, &any, false);
                }
                true
            }
            _ => self.local(at.frame, statement, state),
        }
    }

    fn enter(&mut self, _: Point, statement: &Statement, state: &State, callee: FrameId) -> State {
        let StatementKind::Call { arguments, .. } = &statement.kind else { unreachable!("only calls enter") };
        self.inside(callee, arguments, state)
    }

    fn leave(&mut self, _: Point, statement: &Statement, mut before: State, exit: &State) -> State {
        before.memory = exit.memory.clone();
        before.touched = exit.touched.clone();
        before.since = exit.since.clone();
        if let Some(to) = statement.kind.target() {
            before.set(to, exit.result.clone());
        }
        before
    }

    fn returns(&mut self, at: Point, statement: &Statement, mut state: State) -> State {
        let function = self.function(at.frame);
        let result = match (&statement.kind, function.result) {
            (StatementKind::Return { value: Some(value) }, Some(kind)) => state.operand(self.domain, *value, kind),
            _ => Value::Nothing,
        };
        // Nothing else leaves a function.
        state.comparisons.clear();
        state.registers.clear();
        state.result = result;
        state
    }

    fn edge(&mut self, at: Point, statement: &Statement, state: &State, to: BlockId) -> Option<State> {
        match statement.kind {
            StatementKind::Branch { condition, then, otherwise } if then != otherwise => {
                self.assume(state, condition, to == then)
            }
            StatementKind::Switch { value, ref cases, otherwise } => {
                let kind = self.function(at.frame).kind_of(value);
                let Value::Number(known) = &state.registers[value.index()] else { return None };
                let reached: Vec<i64> =
                    cases.iter().filter(|(_, target)| *target == to).map(|(case, _)| *case).collect();
                if to == otherwise {
                    let mut left = Some(known.clone());
                    for (case, _) in cases.iter().filter(|(_, target)| *target != to) {
                        left = left.and_then(|left| left.without(*case));
                    }
                    let mut state = state.clone();
                    state.registers[value.index()] = Value::Number(self.domain.keep(kind, left?));
                    return Some(state);
                }
                let met = Number::of(reached.into_iter().filter(|case| known.contains(*case)).collect())?;
                let mut state = state.clone();
                state.registers[value.index()] = Value::Number(self.domain.keep(kind, met));
                Some(state)
            }
            _ => Some(state.clone()),
        }
    }
}

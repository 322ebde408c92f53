//! What every read may return and which writes that may come from: the static side of *sources*.
//!
//! Of a read the sources are told apart by how they are ordered: those `before` it in every execution (start, join,
//! program order), and those `beside` it, in parallel. When main ends, every location is read once more.

use std::collections::BTreeMap;

use reweave_script::language::{
    Allocation, Base, BinaryOp, Operand, Part, Place, Register, Slot, Statement, StatementKind, Type,
};

use crate::domain::value::Value;
use crate::flow::visit;
use crate::frames::{Point, ThreadId};
use crate::points_to::{Contents, Target};
use crate::values::locations::{LocationId, literal_index};
use crate::values::state::{Source, State};
use crate::values::{Analysis, Values};

/// What a read may see of one location.
#[derive(Clone, PartialEq, Debug)]
pub struct Seen {
    pub location: LocationId,
    // invariant: ascending
    pub before: Vec<Source>,
    // invariant: ascending
    pub beside: Vec<Point>,
    pub value: Value,
}

/// A read, in one frame.
#[derive(Clone, PartialEq, Debug)]
pub struct Read {
    pub kind: Type,
    /// What it may return.
    pub value: Value,
    pub seen: Vec<Seen>,
    /// It may read what code that we do not understand made.
    pub unknown: bool,
}

/// A write, in one frame.
#[derive(Clone, PartialEq, Debug)]
pub struct Write {
    pub locations: Vec<LocationId>,
    pub unknown: bool,
}

/// Everything that is said about accesses, in executions that get there.
#[derive(Default)]
pub struct Accesses {
    pub reads: BTreeMap<Point, Read>,
    pub writes: BTreeMap<Point, Write>,
    /// When main returns there.
    pub last: BTreeMap<Point, Vec<Seen>>,
    /// Registers, before each statement.
    pub registers: BTreeMap<Point, Vec<Value>>,
    /// Asserts, divisions and the like that may fail.
    pub may_fail: Vec<Point>,
}

impl Accesses {
    pub fn new(values: &mut Values<'_, '_>) -> Self {
        let mut accesses = Self::default();
        let (analysis, solution) = (&mut values.analysis, &values.solution);
        let skeleton = analysis.skeleton;
        visit(analysis, skeleton, solution, |analysis, point, statement, state| {
            accesses.registers.insert(point, state.registers.clone());
            accesses.statement(analysis, point, statement, state);
        });
        accesses
    }

    fn statement(&mut self, analysis: &Analysis<'_, '_>, at: Point, statement: &Statement, state: &State) {
        if let Some((place, kind)) = read_place(analysis, at, &statement.kind) {
            self.reads.insert(at, read(analysis, at, place, kind, state));
        }
        if let Some((place, kind)) = written_place(analysis, at, &statement.kind) {
            let resolved = analysis.resolve(at.frame, place, state, kind);
            self.writes.insert(at, Write { locations: resolved.locations, unknown: resolved.unknown });
        }
        let main = &analysis.skeleton.threads[ThreadId::MAIN.index()];
        let is_end = matches!(statement.kind, StatementKind::Return { .. }) && main.entry == at.frame;
        if is_end {
            let all = analysis.locations.ids().map(|location| seen(analysis, at, location, state));
            self.last.insert(at, all.filter(|seen| seen.value != Value::Nothing).collect());
        }
        if may_fail(analysis, at, statement, state) {
            self.may_fail.push(at);
        }
    }
}

/// The place a statement reads, and the type of what it holds.
pub fn read_place<'s>(analysis: &Analysis<'_, '_>, at: Point, kind: &'s StatementKind) -> Option<(&'s Place, Type)> {
    let of = |register: &Register| analysis.function(at.frame).kind_of(*register);
    match kind {
        StatementKind::Load { to, from: place, .. }
        | StatementKind::Update { to, at: place, .. }
        | StatementKind::CompareExchange { to, at: place, .. } => Some((place, of(to))),
        _ => None,
    }
}

/// The place a statement writes.
pub fn written_place<'s>(analysis: &Analysis<'_, '_>, at: Point, kind: &'s StatementKind) -> Option<(&'s Place, Type)> {
    let of = |register: &Register| analysis.function(at.frame).kind_of(*register);
    match kind {
        StatementKind::Store { to, value: Operand::Register(value), .. } => Some((to, of(value))),
        StatementKind::Store { to, .. } => Some((to, analysis.kind_of_place(at.frame, to))),
        StatementKind::Update { to, at: place, .. } | StatementKind::CompareExchange { to, at: place, .. } => {
            Some((place, of(to)))
        }
        _ => None,
    }
}

fn seen(analysis: &Analysis<'_, '_>, at: Point, location: LocationId, state: &State) -> Seen {
    let own = state.memory.get(location);
    let kind = analysis.locations.get(location).kind;
    let mut value = own.value.clone();
    let mut beside = Vec::new();
    for (write, theirs) in analysis.shared.seen(analysis.parallel, analysis.locks, at, location, own) {
        value = analysis.domain.join(kind, &value, theirs);
        beside.push(write);
    }
    Seen { location, before: own.sources.clone(), beside, value }
}

fn read(analysis: &Analysis<'_, '_>, at: Point, place: &Place, kind: Type, state: &State) -> Read {
    let resolved = analysis.resolve(at.frame, place, state, kind);
    let all: Vec<Seen> = resolved.locations.iter().map(|location| seen(analysis, at, *location, state)).collect();
    let mut value = Value::Nothing;
    for one in &all {
        value = analysis.domain.join(kind, &value, &one.value);
    }
    if resolved.unknown {
        value = analysis.domain.any(kind);
    }
    Read { kind, value, seen: all, unknown: resolved.unknown }
}

/// Whether a statement may end the program here.
fn may_fail(analysis: &Analysis<'_, '_>, at: Point, statement: &Statement, state: &State) -> bool {
    let value = |operand: Operand, kind: Type| state.operand(analysis.domain, operand, kind);
    let held = |lock: &Place| {
        let must = crate::locks::meaning(analysis.skeleton, analysis.points_to, at.frame, lock).must;
        must.and_then(|must| analysis.locks.at(at).iter().find(|held| held.lock == must).copied())
    };
    let is_null = |register: Register| match &state.registers[register.index()] {
        Value::Reference { null, .. } => *null,
        _ => true,
    };
    match &statement.kind {
        StatementKind::Assert { condition, .. } => value(*condition, Type::Bool).contains(Type::Bool, 0),
        StatementKind::Binary { to, op, right, .. } => {
            let kind = analysis.function(at.frame).kind_of(*to);
            let divides = matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::UDiv | BinaryOp::URem);
            !kind.is_float() && divides && value(*right, kind).contains(kind, 0)
        }
        StatementKind::Unreachable | StatementKind::Opaque { .. } => true,
        StatementKind::Join { thread } => is_null(*thread),
        StatementKind::Alloc { what: Allocation::Array { length, .. }, .. } => {
            let limit = i64::from(u32::MAX);
            !matches!(value(*length, Type::I64), Value::Number(length) if length.low() >= 0 && length.high() <= limit)
        }
        StatementKind::Exit { lock } => held(lock).is_none(),
        StatementKind::Wait { condition, lock } | StatementKind::TimedWait { condition, lock, .. } => {
            // Whoever waits must have the lock for himself.
            held(lock).is_none_or(|held| held.shared) || !is_there(analysis, at, condition, state)
        }
        other => other.place().is_some_and(|place| !is_there(analysis, at, place, state)),
    }
}

/// Whether a place surely is one: not null, of the right type, and within bounds.
fn is_there(analysis: &Analysis<'_, '_>, at: Point, place: &Place, state: &State) -> bool {
    let base = match place {
        Place::Global(_) => return true,
        Place::Object(register) => Base::Register(*register),
        Place::Field { base, .. } | Place::Element { base, .. } => *base,
    };
    if let Base::Register(register) = base
        && !matches!(state.registers[register.index()], Value::Reference { null: false, .. })
    {
        return false;
    }
    analysis.points_to.base(at.frame, base).iter().all(|target| {
        let Target::Object(object) = target else { return false };
        match (place, analysis.points_to.contents(analysis.skeleton, *object)) {
            (Place::Object(_), _) => true,
            (Place::Field { kind, .. }, Contents::Fields(own)) => *kind == own,
            (Place::Element { index, .. }, Contents::Elements(Slot::Value(_), Some(length))) => {
                let index = match index {
                    Operand::Register(register) => state.registers[register.index()].clone(),
                    Operand::Literal(literal) => literal_index(*literal),
                };
                matches!(index, Value::Number(index) if index.low() >= 0 && index.high() < i64::from(length))
            }
            _ => false,
        }
    })
}

/// Registers that a statement uses.
pub fn used(kind: &StatementKind) -> Vec<Register> {
    let mut all: Vec<Operand> = Vec::new();
    let mut places: Vec<&Place> = Vec::new();
    let mut registers: Vec<Register> = Vec::new();
    match kind {
        StatementKind::Move { from, .. } => all.push(*from),
        StatementKind::Unary { value, .. } => all.push(*value),
        StatementKind::Binary { left, right, .. } | StatementKind::Compare { left, right, .. } => {
            all.extend([*left, *right]);
        }
        StatementKind::Convert { from, .. } => registers.push(*from),
        StatementKind::Alloc { what: Allocation::Array { length, .. }, .. } => {
            all.push(*length);
        }
        StatementKind::Load { from, .. } => places.push(from),
        StatementKind::Store { to, value, .. } => {
            places.push(to);
            all.push(*value);
        }
        StatementKind::Update { at, value, .. } => {
            places.push(at);
            all.push(*value);
        }
        StatementKind::CompareExchange { at, expected, new, .. } => {
            places.push(at);
            all.extend([*expected, *new]);
        }
        StatementKind::Start { arguments, .. } | StatementKind::Call { arguments, .. } => all.extend(arguments),
        StatementKind::Join { thread } | StatementKind::Detach { thread } => registers.push(*thread),
        StatementKind::Branch { condition, .. } | StatementKind::Assert { condition, .. } => all.push(*condition),
        StatementKind::Switch { value, .. } => registers.push(*value),
        StatementKind::Return { value: Some(value) } => all.push(*value),
        StatementKind::Output { parts } => all.extend(parts.iter().filter_map(|part| match part {
            Part::Value(operand) => Some(*operand),
            Part::Text(_) => None,
        })),
        StatementKind::Opaque { reads, writes, .. } => places.extend(reads.iter().chain(writes)),
        StatementKind::Enter { lock: place, .. }
        | StatementKind::TryEnter { lock: place, .. }
        | StatementKind::Exit { lock: place }
        | StatementKind::Notify { condition: place, .. }
        | StatementKind::Barrier { barrier: place, .. }
        | StatementKind::Post { semaphore: place }
        | StatementKind::Take { semaphore: place }
        | StatementKind::TryTake { semaphore: place, .. } => places.push(place),
        StatementKind::Wait { condition, lock } | StatementKind::TimedWait { condition, lock, .. } => {
            places.extend([condition, lock]);
        }
        _ => {}
    }
    places.iter().for_each(|place| registers.extend(of_place(place)));
    registers.extend(all.into_iter().filter_map(|operand| match operand {
        Operand::Register(register) => Some(register),
        Operand::Literal(_) => None,
    }));
    registers
}

/// Registers that say where a place is.
pub fn of_place(place: &Place) -> Vec<Register> {
    let base = |base: &Base| match base {
        Base::Register(register) => Some(*register),
        Base::Global(_) => None,
    };
    match place {
        Place::Global(_) => Vec::new(),
        Place::Object(register) => vec![*register],
        Place::Field { base: from, .. } => base(from).into_iter().collect(),
        Place::Element { base: from, index } => {
            let index = match index {
                Operand::Register(register) => Some(*register),
                Operand::Literal(_) => None,
            };
            base(from).into_iter().chain(index).collect()
        }
    }
}

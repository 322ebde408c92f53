//! Types of values and of locations, as far as numbers go.

use std::collections::HashMap;

use super::super::accesses::{Accesses, Location};
use super::super::code::{Code, Constant, Def, How, Kind, Place, Type, Value};
use super::super::solve::{Frame, FrameId, Solver};
use crate::domain::number::Number;
use crate::domain::value::{Domain, Value as Known};

/// What a location holds: the first letter of its descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot(pub u8);

impl Slot {
    pub fn of(descriptor: &str) -> Self {
        Self(descriptor.bytes().next().unwrap_or(b'L'))
    }

    pub const fn kind(self) -> Type {
        match self.0 {
            b'Z' | b'B' | b'C' | b'S' | b'I' => Type::I32,
            b'J' => Type::I64,
            b'F' => Type::F32,
            b'D' => Type::F64,
            _ => Type::Ref,
        }
    }

    /// What is left of a value in a place that keeps less of it.
    pub fn fit(self, domain: Domain, value: Known) -> Known {
        let (low, high) = match self.0 {
            b'Z' => (0, 1),
            b'B' => (i8::MIN.into(), i8::MAX.into()),
            b'C' => (0, u16::MAX.into()),
            b'S' => (i16::MIN.into(), i16::MAX.into()),
            _ => return value,
        };
        match &value {
            Known::Number(number) if number.low() < low || number.high() > high => {
                let all = Number::between(low, high).unwrap_or_else(|| Number::any(Type::I32));
                Known::Number(domain.keep(Type::I32, all))
            }
            _ => value,
        }
    }
}

/// Of all locations that are fields, statics or elements of the program's own.
pub fn slots(solver: &Solver<'_>, accesses: &Accesses) -> HashMap<Location, Slot> {
    let mut slots = HashMap::new();
    for (location, all) in &accesses.by_location {
        let descriptor = |id: &usize| {
            let access = &accesses.all[*id];
            let code = solver.code(access.at);
            let place = match &solver.statement_at(access.at).kind {
                Kind::Define(value) => match code.def(*value) {
                    Def::Load(_) if captured(solver, code, *value).is_some() => return captured(solver, code, *value),
                    Def::Load(place) => place,
                    _ => return None,
                },
                Kind::Store(place, _) => place,
                _ => return None,
            };
            match (place, location) {
                (Place::Static(member) | Place::Field(_, member), _) => {
                    Some(Slot::of(solver.classes.names.text(member.descriptor)))
                }
                (Place::Element(..), Location::Field(array, _)) => {
                    let class = solver.classes.names.text(solver.objects[array.index()].class);
                    class.strip_prefix('[').map(Slot::of)
                }
                (Place::Element(..), Location::Static(_)) => None,
            }
        };
        if let Some(slot) = all.iter().find_map(descriptor) {
            slots.insert(*location, slot);
        }
    }
    slots
}

/// What a descriptor says of parameters.
fn types(descriptor: &str) -> Vec<Slot> {
    let mut all = Vec::new();
    let mut inner = descriptor.strip_prefix('(').unwrap_or_default();
    while let Some(first) = inner.bytes().next().filter(|first| *first != b')') {
        all.push(Slot(first));
        let element = inner.trim_start_matches('[');
        let skip = inner.len() - element.len();
        let length = if element.starts_with('L') { element.find(';').map_or(element.len(), |at| at + 1) } else { 1 };
        inner = inner.get(skip + length..).unwrap_or_default();
    }
    all
}

/// What a function object captured is what its implementation takes.
fn captured(solver: &Solver<'_>, code: &Code, value: Value) -> Option<Slot> {
    let Def::Load(Place::Field(_, member)) = code.def(value) else { return None };
    solver.classes.names.text(member.class).is_empty().then_some(())?;
    let mut calls = code.blocks.iter().flat_map(|block| &block.statements).filter_map(|one| match &one.kind {
        Kind::Call(call) => Some(call),
        _ => None,
    });
    calls.find_map(|call| {
        let at = call.arguments.iter().position(|argument| *argument == value)?;
        let own = usize::from(call.how != How::Static);
        let given = types(solver.classes.names.text(call.method.descriptor));
        if at < own { Some(Slot(b'L')) } else { given.get(at - own).copied() }
    })
}

/// Types of the parameters of a frame's method, the receiver first.
pub fn parameters(solver: &Solver<'_>, frame: &Frame) -> Vec<Type> {
    let method = solver.classes.method(frame.method);
    let mut kinds: Vec<Type> =
        types(solver.classes.names.text(method.descriptor)).into_iter().map(Slot::kind).collect();
    if frame.body.code.parameters.len() > kinds.len() {
        kinds.insert(0, Type::Ref);
    }
    kinds
}

/// Types of all values of a frame; what a phi joins decides about it.
pub fn values(solver: &Solver<'_>, id: FrameId) -> Vec<Type> {
    let frame = &solver.frames[id.index()];
    let code = &frame.body.code;
    let parameters = parameters(solver, frame);
    let calls = code.blocks.iter().flat_map(|block| &block.statements).filter_map(|one| match &one.kind {
        Kind::Call(call) => call.to.map(|to| {
            let text = solver.classes.names.text(call.method.descriptor);
            (to, Slot::of(text.rsplit(')').next().unwrap_or_default()).kind())
        }),
        _ => None,
    });
    let results: HashMap<Value, Type> = calls.collect();
    let mut kinds: Vec<Option<Type>> = (0..code.values.len() as u32)
        .map(|at| own(solver, code, &parameters, &results, Value(at)).or_else(|| element(solver, id, code, Value(at))))
        .collect();
    let mut changed = true;
    while changed {
        changed = false;
        for at in 0..kinds.len() {
            if kinds[at].is_none() {
                let known = code.operands(Value(at as u32)).into_iter().find_map(|one| kinds[one.index()]);
                changed |= known.is_some();
                kinds[at] = known;
            }
        }
    }
    // Only constants are left, and what joins only them.
    kinds.iter().enumerate().map(|(at, kind)| kind.unwrap_or_else(|| of_constants(code, Value(at as u32)))).collect()
}

fn own(
    solver: &Solver<'_>,
    code: &Code,
    parameters: &[Type],
    results: &HashMap<Value, Type>,
    value: Value,
) -> Option<Type> {
    Some(match code.def(value) {
        Def::Parameter(index) => *parameters.get(*index as usize).unwrap_or(&Type::Ref),
        Def::Constant(Constant::Whole(_) | Constant::Float(_)) | Def::Phi(_) | Def::Undefined => return None,
        Def::Constant(_) | Def::New(_) | Def::Array(..) | Def::Cast(..) | Def::Caught => Type::Ref,
        Def::Binary { kind, .. } | Def::Negate(kind, _) | Def::Convert { to: kind, .. } => *kind,
        Def::Compare { .. } | Def::Narrow(..) | Def::Length(_) | Def::InstanceOf(..) => Type::I32,
        Def::Load(Place::Field(..)) if captured(solver, code, value).is_some() => captured(solver, code, value)?.kind(),
        Def::Load(Place::Static(member) | Place::Field(_, member)) => {
            Slot::of(solver.classes.names.text(member.descriptor)).kind()
        }
        // What the array holds says it.
        Def::Load(Place::Element(..)) => return None,
        Def::Result => *results.get(&value).unwrap_or(&Type::Ref),
    })
}

/// What the arrays hold that an element is loaded from.
fn element(solver: &Solver<'_>, frame: FrameId, code: &Code, value: Value) -> Option<Type> {
    let Def::Load(Place::Element(base, _)) = code.def(value) else { return None };
    let classes = solver.objects_of(frame, *base).into_iter().map(|object| solver.objects[object.index()].class);
    classes
        .filter_map(|class| solver.classes.names.text(class).strip_prefix('[').map(|inner| Slot::of(inner).kind()))
        .next()
}

fn of_constants(code: &Code, value: Value) -> Type {
    let (mut seen, mut rest) = (vec![false; code.values.len()], vec![value]);
    let mut kind = Type::I32;
    while let Some(at) = rest.pop() {
        if std::mem::replace(&mut seen[at.index()], true) {
            continue;
        }
        match code.def(at) {
            Def::Constant(Constant::Float(_)) => return Type::F64,
            Def::Constant(Constant::Whole(number)) if i32::try_from(*number).is_err() => kind = Type::I64,
            Def::Phi(all) => rest.extend(all.iter().map(|(_, one)| *one)),
            // Nobody knows what an array of unknown type holds.
            Def::Load(_) | Def::Undefined => kind = Type::I64,
            _ => {}
        }
    }
    kind
}

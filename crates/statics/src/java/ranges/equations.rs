//! One equation for every value, every write and every result of a method.

use super::super::accesses::Location;
use super::super::code::{BinaryOp, Constant, Def, How, Kind, Narrowing, Test, Type, Value};
use super::super::solve::{FrameId, OPAQUE, Origin};
use super::kinds::Slot;
use super::order::Source;
use super::refine::{Condition, on_edge};
use super::system::System;
use crate::domain::number::Number;
use crate::domain::value::{Domain, Value as Known};

impl System<'_, '_, '_> {
    /// A value in a block, with what comparisons say of it there.
    pub(super) fn at(&self, frame: FrameId, value: Value, block: u32, kind: Type) -> Known {
        let conditions = self.locals[frame.index()].conditions.clone();
        conditions[block as usize]
            .iter()
            .fold(self.plain(frame, value, kind), |known, condition| self.narrowed(frame, value, &known, condition))
    }

    pub(super) fn narrowed(&self, frame: FrameId, value: Value, known: &Known, condition: &Condition) -> Known {
        let zero = || self.domain.zero(condition.kind);
        let right = condition.right.map_or_else(zero, |right| self.plain(frame, right, condition.kind));
        if condition.left == value {
            let refined = self.domain.refine(condition.kind, condition.test, known, &right);
            return refined.map_or(Known::Nothing, |(left, _)| left);
        }
        if condition.right == Some(value) {
            let left = self.plain(frame, condition.left, condition.kind);
            let refined = self.domain.refine(condition.kind, condition.test, &left, known);
            return refined.map_or(Known::Nothing, |(_, right)| right);
        }
        known.clone()
    }

    /// A value by itself. Constants have the type of what they are used for.
    fn plain(&self, frame: FrameId, value: Value, kind: Type) -> Known {
        match self.facts.solver.frames[frame.index()].body.code.def(value) {
            Def::Constant(Constant::Whole(number)) => match kind.is_float() || matches!(kind, Type::Ref) {
                true => self.domain.any(kind),
                false => Known::Number(self.domain.keep(kind, Number::constant(*number))),
            },
            Def::Constant(Constant::Float(number)) => match kind {
                Type::F32 => self.domain.bits(kind, u64::from((*number as f32).to_bits())),
                Type::F64 => self.domain.bits(kind, number.to_bits()),
                _ => self.domain.any(kind),
            },
            _ => self.locals[frame.index()].known[value.index()].clone(),
        }
    }

    /// What it is, of the right type.
    pub(super) fn equation(&self, frame: FrameId, value: Value) -> Known {
        let kind = self.locals[frame.index()].kinds[value.index()];
        typed(self.domain, kind, self.untyped(frame, value))
    }

    fn untyped(&self, frame: FrameId, value: Value) -> Known {
        let domain = self.domain;
        let own = &self.facts.solver.frames[frame.index()];
        let (code, local) = (&own.body.code, &self.locals[frame.index()]);
        let info = &code.values[value.index()];
        let kind = local.kinds[value.index()];
        let here = |operand: Value, kind: Type| self.at(frame, operand, info.block, kind);
        let object = || Known::Reference { null: false, object: true };
        let between = |low: i64, high: i64| {
            let number = Number::between(low, high).unwrap_or_else(|| Number::any(Type::I32));
            Known::Number(domain.keep(Type::I32, number))
        };
        match &info.def {
            Def::Constant(Constant::Whole(_) | Constant::Float(_)) => self.plain(frame, value, kind),
            Def::Constant(Constant::Null) => domain.zero(Type::Ref),
            Def::Constant(Constant::Text(_) | Constant::Class(_)) | Def::New(_) | Def::Array(..) | Def::Caught => {
                object()
            }
            Def::Constant(Constant::Dynamic) | Def::Undefined => domain.any(kind),
            Def::Binary { op, kind, left, right } => {
                // Distances of shifts are `int`s.
                domain.binary(*kind, *op, &here(*left, *kind), &here(*right, *kind))
            }
            Def::Compare { kind, left, right, .. } => {
                let (a, b) = (here(*left, *kind), here(*right, *kind));
                let tests = [(Test::Lt, -1), (Test::Eq, 0), (Test::Gt, 1)];
                let possible = tests.into_iter().filter(|(test, _)| domain.compare(*kind, *test, &a, &b).0);
                match kind.is_float() {
                    true => between(-1, 1),
                    false => Number::of(possible.map(|(_, number)| number).collect())
                        .map_or(Known::Nothing, |number| Known::Number(domain.keep(Type::I32, number))),
                }
            }
            Def::Negate(kind, operand) => match (kind, here(*operand, *kind)) {
                (_, Known::Nothing) => Known::Nothing,
                (_, Known::Number(number)) => {
                    domain.binary(*kind, BinaryOp::Sub, &domain.zero(*kind), &Known::Number(number))
                }
                (_, other) => domain.unary(*kind, reweave_script::language::UnaryOp::Neg, &other),
            },
            Def::Narrow(narrowing, operand) => {
                let slot = match narrowing {
                    Narrowing::Byte => Slot(b'B'),
                    Narrowing::Char => Slot(b'C'),
                    Narrowing::Short => Slot(b'S'),
                };
                slot.fit(domain, here(*operand, Type::I32))
            }
            Def::Convert { from, to, value } => converted(domain, *from, *to, &here(*value, *from)),
            Def::Length(_) => between(0, i32::MAX.into()),
            Def::InstanceOf(..) => between(0, 1),
            Def::Cast(operand, _) => here(*operand, Type::Ref),
            Def::Load(_) => self.loaded(frame, value, kind),
            Def::Phi(all) => {
                let graph = &own.body.graph;
                let ways = all.iter().filter(|(from, _)| graph.reached[*from as usize]);
                ways.fold(Known::Nothing, |known, (from, operand)| {
                    let mut one = self.at(frame, *operand, *from, kind);
                    if let Some(condition) = on_edge(code, &local.kinds, *from, info.block) {
                        one = self.narrowed(frame, *operand, &one, &condition);
                    }
                    domain.join(kind, &known, &one)
                })
            }
            Def::Parameter(index) => self.given(frame, *index as usize, kind),
            Def::Result => self.called(frame, value, kind),
        }
    }

    fn loaded(&self, frame: FrameId, value: Value, kind: Type) -> Known {
        let local = &self.locals[frame.index()];
        let accesses = &self.facts.accesses;
        let unknown = local.at.get(&value).is_none_or(|at| accesses.unknown_loads.contains(at));
        let Some(reads) = local.reads.get(&value).filter(|_| !unknown) else { return self.domain.any(kind) };
        reads.iter().fold(Known::Nothing, |known, (location, sources)| {
            let fits = self.slots.get(location).is_some_and(|slot| slot.kind() == kind);
            if !fits || accesses.is_unknown(*location) {
                return self.domain.any(kind);
            }
            sources.iter().fold(known, |known, source| {
                let one = self.source(*location, *source);
                self.domain.join(kind, &known, &one)
            })
        })
    }

    /// What a write puts there, or what is there from the start.
    pub fn source(&self, location: Location, source: Source) -> Known {
        let Some(slot) = self.slots.get(&location) else { return Known::Nothing };
        let kind = slot.kind();
        if self.gave_up {
            return self.domain.any(kind);
        }
        match source {
            Source::System => self.initial(location, kind),
            Source::All => self.all_writes(location, slot),
            Source::Write(id) => {
                let access = &self.facts.accesses.all[id];
                match access.value.is_none() {
                    true => slot.fit(self.domain, self.domain.any(kind)),
                    false => self.written.get(&id).map_or(Known::Nothing, |(known, _)| known.clone()),
                }
            }
        }
    }

    fn all_writes(&self, location: Location, slot: &Slot) -> Known {
        let accesses = &self.facts.accesses;
        let any = slot.fit(self.domain, self.domain.any(slot.kind()));
        let ids = accesses.by_location.get(&location).into_iter().flatten();
        let mut unknown = ids.filter(|id| accesses.all[**id].writes && accesses.all[**id].value.is_none());
        match (self.together.get(&location), unknown.next()) {
            (Some((known, _)), None) => known.clone(),
            _ => any,
        }
    }

    fn initial(&self, location: Location, kind: Type) -> Known {
        let field = match location {
            Location::Static(field) => field,
            // Rows are there from the start, and so is what the library puts into what it makes.
            Location::Field(object, field) => {
                let solver = self.facts.solver;
                let is_new = matches!(solver.objects[object.index()].origin, Origin::Site(_, _, ..100));
                let is_known = is_new && (kind != Type::Ref || field != solver.element);
                return if is_known { self.domain.zero(kind) } else { self.domain.any(kind) };
            }
        };
        let classes = &self.facts.solver.classes;
        let field = classes.fields[field.0 as usize];
        let Some(class) = classes.by_name.get(&field.class) else { return self.domain.any(kind) };
        let constant = classes.all[*class].constants.iter().find(|(name, _)| *name == field.name);
        match (constant.map(|(_, constant)| constant), kind) {
            (None, _) => self.domain.zero(kind),
            (Some(Constant::Whole(number)), Type::I32 | Type::I64) => {
                Known::Number(self.domain.keep(kind, Number::constant(*number)))
            }
            _ => self.domain.any(kind),
        }
    }

    fn given(&self, frame: FrameId, index: usize, kind: Type) -> Known {
        let solver = self.facts.solver;
        let own = &solver.frames[frame.index()];
        let is_entry = solver.threads[own.thread.index()].entries.contains(&frame);
        let method = solver.classes.method(own.method);
        if is_entry || own.callers.is_empty() {
            return self.domain.any(kind);
        }
        own.callers.iter().fold(Known::Nothing, |known, caller| {
            let call = solver.call_at(*caller).filter(|call| {
                let alike = call.method.name == method.name && call.method.descriptor == method.descriptor;
                let direct = matches!(call.how, How::Static | How::Special | How::Virtual);
                direct && alike && call.arguments.len() == own.body.code.parameters.len()
            });
            match call.filter(|_| !solver.callbacks.contains(caller)) {
                Some(call) => {
                    let one = self.at(caller.frame, call.arguments[index], caller.block, kind);
                    self.domain.join(kind, &known, &one)
                }
                None => self.domain.any(kind),
            }
        })
    }

    fn called(&self, frame: FrameId, value: Value, kind: Type) -> Known {
        let solver = self.facts.solver;
        let any = || self.domain.any(kind);
        let Some(at) = self.locals[frame.index()].at.get(&value) else { return any() };
        let Some(call) = solver.call_at(*at) else { return any() };
        let receiver = matches!(call.how, How::Special | How::Virtual).then(|| call.arguments.first()).flatten();
        let open = receiver.is_some_and(|receiver| solver.refers(frame, *receiver).contains(OPAQUE.index()));
        let Some(callees) = solver.callees.get(at).filter(|_| !open) else { return any() };
        if solver.used.contains_key(at) || solver.callbacks.contains(at) {
            return any();
        }
        callees.iter().fold(Known::Nothing, |known, callee| {
            let method = solver.classes.method(solver.frames[callee.index()].method);
            let alike = call.method.name == method.name && self.result_kind(*callee) == kind;
            match alike {
                true => self.domain.join(kind, &known, &self.locals[callee.index()].result),
                false => any(),
            }
        })
    }

    pub(super) fn result_kind(&self, frame: FrameId) -> Type {
        let solver = self.facts.solver;
        let descriptor = solver.classes.method(solver.frames[frame.index()].method).descriptor;
        Slot::of(solver.classes.names.text(descriptor).rsplit(')').next().unwrap_or_default()).kind()
    }

    pub(super) fn returned(&self, frame: FrameId) -> Known {
        let kind = self.result_kind(frame);
        let code = &self.facts.solver.frames[frame.index()].body.code;
        code.blocks.iter().enumerate().fold(Known::Nothing, |known, (block, inside)| {
            match inside.statements.last().map(|last| &last.kind) {
                Some(Kind::Return(Some(value))) => {
                    let one = typed(self.domain, kind, self.at(frame, *value, block as u32, kind));
                    self.domain.join(kind, &known, &one)
                }
                _ => known,
            }
        })
    }
}

/// Where types do not fit (bytecode that no compiler makes, arrays of which nothing is known) it may be anything.
pub(super) fn typed(domain: Domain, kind: Type, value: Known) -> Known {
    let fits = match &value {
        Known::Nothing => true,
        Known::Number(_) => !kind.is_float() && kind != Type::Ref,
        Known::Float(_) => kind.is_float(),
        Known::Reference { .. } => kind == Type::Ref,
    };
    if fits { value } else { domain.any(kind) }
}

/// As Java does it: what is too large stops at the ends, what is no number is zero.
fn converted(domain: Domain, from: Type, to: Type, value: &Known) -> Known {
    use crate::domain::float::Float;
    let exact = |bits: u64| if from == Type::F32 { f32::from_bits(bits as u32).into() } else { f64::from_bits(bits) };
    match (value, to) {
        (Known::Nothing, _) => Known::Nothing,
        (Known::Float(Float::Exact(bits)), Type::I32) => domain.bits(to, (exact(*bits) as i32) as u32 as u64),
        (Known::Float(Float::Exact(bits)), Type::I64) => domain.bits(to, (exact(*bits) as i64) as u64),
        (Known::Float(_), Type::I32 | Type::I64) => domain.any(to),
        (Known::Number(number), Type::F32) => match number.as_constant() {
            Some(number) => domain.bits(to, u64::from((number as f32).to_bits())),
            None => domain.any(to),
        },
        _ => domain.convert(from, to, false, value),
    }
}

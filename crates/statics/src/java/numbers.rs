//! Values as sums of products of what does not change while threads run.

use super::accesses::Location;
use super::classes::FieldId;
use super::code::{BinaryOp, Constant, Def, Kind, Place, Type, Value};
use super::owned::{Token, sources};
use super::poly::{Atom, Poly};
use super::slices::Slices;
use super::solve::{FrameId, ObjectId, Point};

impl Slices<'_, '_> {
    /// A value as a sum of products, if nothing of it changes while threads run.
    pub(super) fn poly(&self, frame: FrameId, value: Value, depth: u32) -> Option<Poly> {
        let depth = depth.checked_sub(1)?;
        let code = self.code(frame);
        let value = code.plain(value);
        let thread = self.solver.frames[frame.index()].thread;
        if let Token::Field(field) = self.owned.token(frame, value)
            && let Some(own) = self.owned.own_of(thread)
        {
            if self.owned.is_distinct(thread, field) {
                return Some(Poly::atom(Atom::Id(thread, field)));
            }
            return self.stored(own, field, depth);
        }
        match code.def(value) {
            Def::Constant(Constant::Whole(number)) => Some(Poly::number(*number)),
            Def::Binary { op, kind: Type::I32 | Type::I64, left, right } => {
                let (a, b) = (self.poly(frame, *left, depth)?, self.poly(frame, *right, depth)?);
                match op {
                    BinaryOp::Add => a.plus(&b, 1),
                    BinaryOp::Sub => a.minus(&b),
                    BinaryOp::Mul => a.times(&b),
                    _ => {
                        let method = self.solver.frames[frame.index()].method;
                        Some(Poly::atom(Atom::Computed(method, value, vec![a, b])))
                    }
                }
            }
            Def::Parameter(index) => {
                let own = &self.solver.frames[frame.index()];
                let entered = self.solver.threads[own.thread.index()].entries.contains(&frame);
                let (Some(caller), 1, false) = (own.callers.first().copied(), own.callers.len(), entered) else {
                    return None;
                };
                (!self.solver.callbacks.contains(&caller)).then_some(())?;
                self.poly(caller.frame, *self.solver.call_at(caller)?.arguments.get(*index as usize)?, depth)
            }
            Def::Length(array) => match self.solver.objects_of(frame, *array)[..] {
                [object] if self.threads.is_single(self.solver, object) => Some(Poly::atom(Atom::Length(object))),
                _ => None,
            },
            Def::Load(Place::Static(member)) => {
                let field = self.solver.classes.known_field(*member)?;
                self.is_still(Location::Static(field), frame, value).then_some(())?;
                Some(Poly::atom(Atom::Static(field)))
            }
            Def::Load(Place::Field(base, member)) => {
                let [object] = self.solver.objects_of(frame, *base)[..] else { return None };
                let field = self.solver.classes.known_field(*member)?;
                self.threads.is_single(self.solver, object).then_some(())?;
                self.is_still(Location::Field(object, field), frame, value).then_some(())?;
                self.stored(object, field, depth).or_else(|| Some(Poly::atom(Atom::Field(object, field))))
            }
            _ => None,
        }
    }

    /// What the only store into a field puts there, the same for all objects.
    fn stored(&self, object: ObjectId, field: FieldId, depth: u32) -> Option<Poly> {
        let all = self.accesses.by_location.get(&Location::Field(object, field))?;
        let initial = all.iter().all(|id| !self.accesses.all[*id].writes || self.accesses.all[*id].initialises);
        let [(frame, value, true)] = sources(self.solver, object, field)[..] else { return None };
        initial.then_some(())?;
        self.poly(frame, value, depth)
    }

    /// No write of a location may happen beside a load.
    fn is_still(&self, location: Location, frame: FrameId, value: Value) -> bool {
        let block = self.code(frame).values[value.index()].block;
        let statements = &self.code(frame).blocks[block as usize].statements;
        let index = statements.iter().position(|one| matches!(one.kind, Kind::Define(own) if own == value));
        let Some(index) = index else { return false };
        let at = Point { frame, block, index: index as u32 };
        let thread = self.solver.frames[frame.index()].thread;
        let all = self.accesses.by_location.get(&location).into_iter().flatten();
        let mut writes = all.map(|id| &self.accesses.all[*id]).filter(|access| access.writes && !access.initialises);
        !self.accesses.is_unknown(location)
            && writes.all(|write| {
                let own = self.solver.frames[write.at.frame.index()].thread == thread;
                let before = own && self.threads.is_before_all(self.solver, write.at);
                (before || !own) && !self.threads.parallel(self.solver, write.at, at)
            })
    }
}

//! Values as sums of products of what does not change while threads run.

use super::accesses::Location;
use super::classes::{FieldId, MethodId};
use super::code::{BinaryOp, Constant, Def, Kind, Place, Type, Value};
use super::flow_graph::Loop;
use super::join_loops::induction;
use super::owned::{Token, sources};
use super::poly::{Atom, Number, Poly};
use super::slices::Slices;
use super::solve::{FrameId, ObjectId, Point, ThreadId};

/// The loop that makes the objects of a thread's instances.
struct Counted<'g> {
    thread: ThreadId,
    frame: FrameId,
    around: &'g Loop,
}

/// Of several bounds one that is another one in every instance says more.
pub(super) fn by_number(bounds: impl Iterator<Item = Poly>) -> Option<Poly> {
    bounds.min_by_key(|bound| !bound.names_id())
}

fn computed(op: BinaryOp, a: Poly, b: Poly, at: impl FnOnce() -> (MethodId, Value)) -> Option<Poly> {
    match op {
        BinaryOp::Add => a.plus(&b, 1),
        BinaryOp::Sub => a.minus(&b),
        BinaryOp::Mul => a.times(&b),
        BinaryOp::Div => Some(Poly::atom(Atom::Quotient(Box::new(a), Box::new(b)))),
        _ => {
            let (method, value) = at();
            Some(Poly::atom(Atom::Computed(method, value, vec![a, b])))
        }
    }
}

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
                return Some(Poly::atom(Atom::Id(thread, Number::Field(field))));
            }
            return self.stored(own, field, depth).or_else(|| self.given(thread, own, field, None, depth));
        }
        match code.def(value) {
            Def::Constant(Constant::Whole(number)) => Some(Poly::number(*number)),
            Def::Binary { op, kind: Type::I32 | Type::I64, left, right } => {
                let (a, b) = (self.poly(frame, *left, depth)?, self.poly(frame, *right, depth)?);
                let method = self.solver.frames[frame.index()].method;
                computed(*op, a, b, || (method, value))
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

    /// What the only store into a field of a thread's own object puts there, by the number that the loop counts which
    /// makes these objects: `new Worker(id * size)`.
    ///
    /// `upper`: a bound of it will do.
    pub(super) fn given(
        &self,
        thread: ThreadId,
        own: ObjectId,
        field: FieldId,
        upper: Option<bool>,
        depth: u32,
    ) -> Option<Poly> {
        let all = self.accesses.by_location.get(&Location::Field(own, field))?;
        let initial = all.iter().all(|id| !self.accesses.all[*id].writes || self.accesses.all[*id].initialises);
        let [(frame, value, true)] = sources(self.solver, own, field)[..] else { return None };
        initial.then_some(())?;
        let &[(maker, block)] = &self.solver.objects[own.index()].made.iter().copied().collect::<Vec<_>>()[..] else {
            return None;
        };
        let body = &self.solver.frames[maker.index()].body;
        let around: Vec<&Loop> = body.graph.loops.iter().filter(|one| one.blocks.contains(&block)).collect();
        let &[around] = &around[..] else { return None };
        let creator = self.solver.frames[maker.index()].thread;
        (!self.threads.is_repeated(maker) && !self.threads.many[creator.index()]).then_some(())?;
        let counted = Counted { thread, frame: maker, around };
        self.by_count(&counted, frame, value, upper, depth)
    }

    fn by_count(
        &self,
        counted: &Counted<'_>,
        frame: FrameId,
        value: Value,
        upper: Option<bool>,
        depth: u32,
    ) -> Option<Poly> {
        let depth = depth.checked_sub(1)?;
        let code = self.code(frame);
        let value = code.plain(value);
        match code.def(value) {
            Def::Binary { op, kind: Type::I32 | Type::I64, left, right } => {
                let exact = |value: Value| self.by_count(counted, frame, value, None, depth);
                let (a, b) = (exact(*left)?, exact(*right)?);
                let method = self.solver.frames[frame.index()].method;
                computed(*op, a, b, || (method, value))
            }
            Def::Parameter(index) => {
                let callers = &self.solver.frames[frame.index()].callers;
                let (Some(caller), 1) = (callers.first().copied(), callers.len()) else { return None };
                (!self.solver.callbacks.contains(&caller)).then_some(())?;
                let argument = *self.solver.call_at(caller)?.arguments.get(*index as usize)?;
                self.by_count(counted, caller.frame, argument, upper, depth)
            }
            Def::Result => {
                let arguments = self.least_of(frame, value, upper?)?;
                by_number(arguments.iter().filter_map(|one| self.by_count(counted, frame, *one, None, depth)))
            }
            Def::Phi(_) if frame == counted.frame => {
                let (_, step) = induction(code, counted.around, value)?;
                (step != 0).then(|| Poly::atom(Atom::Id(counted.thread, Number::Count(frame, value))))
            }
            // What is computed there, whoever asks.
            _ => self.poly(frame, value, depth),
        }
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

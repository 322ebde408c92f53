//! How far loops go that start threads or wait for them: numbers that are surely the same.

use super::code::{Constant, Def, Kind, Place, Value};
use super::join_loops::{Finder, Put, bound_of, head_test};
use super::solve::{FrameId, ObjectId, Origin};

impl Finder<'_, '_> {
    /// A bound that is the length of the array.
    pub(super) fn covers(&self, array: ObjectId, frame: FrameId, bound: Value) -> bool {
        if let Def::Length(of) = self.code(frame).def(bound)
            && self.solver.objects_of(frame, *of) == [array]
        {
            return true;
        }
        self.is_made_for(array, (frame, bound))
    }

    /// An array is made with as many places as a number says.
    fn is_made_for(&self, array: ObjectId, count: (FrameId, Value)) -> bool {
        let own = &self.solver.objects[array.index()];
        let Origin::Site(_, pc, part) = own.origin else { return false };
        own.made.iter().all(|(made, block)| {
            let statements = &self.code(*made).blocks[*block as usize].statements;
            statements.iter().any(|statement| {
                let Kind::Define(value) = statement.kind else { return false };
                match self.code(*made).def(value) {
                    Def::Array(_, lengths) if statement.pc == pc => {
                        lengths.get(usize::from(part)).is_some_and(|length| self.equal((*made, *length), count))
                    }
                    _ => false,
                }
            })
        })
    }

    /// Two values that are surely the same number, or one is the length of an array that is made for the other.
    pub fn as_long_as(&self, one: (FrameId, Value), count: (FrameId, Value)) -> bool {
        let made_for = || match self.code(one.0).def(self.code(one.0).plain(one.1)) {
            Def::Length(array) => self.only(one.0, *array).is_some_and(|array| self.is_made_for(array, count)),
            _ => false,
        };
        self.equal(one, count) || made_for()
    }

    /// What is put in a loop goes no further than the other loop does.
    pub(super) fn same_bound(&self, put: &Put, frame: FrameId, bound: Value) -> bool {
        let Some(index) = put.index else { return true };
        let code = self.code(put.at.frame);
        if let Some(Constant::Whole(index)) = code.constant(index) {
            return matches!(self.code(frame).constant(bound), Some(Constant::Whole(bound)) if index < bound);
        }
        let graph = self.graph(put.at.frame);
        let Some(around) = graph.innermost[put.at.block as usize] else { return false };
        let Some(test) = head_test(code, &graph.loops[around]) else { return false };
        bound_of(code, test, index).is_some_and(|own| self.equal((put.at.frame, own), (frame, bound)))
    }

    /// Two values that are surely the same number.
    pub fn equal(&self, one: (FrameId, Value), other: (FrameId, Value)) -> bool {
        if one == other {
            return true;
        }
        let (a, b) = (self.code(one.0), self.code(other.0));
        match (a.def(one.1), b.def(other.1)) {
            (Def::Constant(Constant::Whole(a)), Def::Constant(Constant::Whole(b))) => a == b,
            (Def::Length(x), Def::Length(y)) => {
                let only = self.only(one.0, *x);
                only.is_some() && only == self.only(other.0, *y)
            }
            (Def::Load(Place::Static(x)), Def::Load(Place::Static(y))) => x == y && self.is_stable(one, other),
            (Def::Load(Place::Field(base, x)), Def::Load(Place::Field(same, y))) => {
                let only = self.only(one.0, *base);
                x == y && only.is_some() && only == self.only(other.0, *same) && self.is_stable(one, other)
            }
            _ => false,
        }
    }

    /// Nothing is stored in a field between two loads: only initialisers do (of objects: constructors), or before both.
    fn is_stable(&self, one: (FrameId, Value), other: (FrameId, Value)) -> bool {
        let Def::Load(Place::Static(member) | Place::Field(_, member)) = self.code(one.0).def(one.1) else {
            return false;
        };
        let thread = |frame: FrameId| self.solver.frames[frame.index()].thread;
        let below = self.solver.below(one.0);
        let is_static = matches!(self.code(one.0).def(one.1), Def::Load(Place::Static(_)));
        self.solver.points().all(|at| {
            let Kind::Store(Place::Static(stored) | Place::Field(_, stored), _) = &self.solver.statement_at(at).kind
            else {
                return true;
            };
            if stored.name != member.name {
                return true;
            }
            let method = self.solver.classes.method(self.solver.frames[at.frame.index()].method).name;
            let graph = self.graph(at.frame);
            let before = |load: (FrameId, Value)| {
                if load.0 != at.frame || graph.in_loop[at.block as usize] {
                    return false;
                }
                let code = self.code(load.0);
                let block = code.values[load.1.index()].block;
                let statements = &code.blocks[block as usize].statements;
                let index = statements.iter().position(|one| matches!(one.kind, Kind::Define(own) if own == load.1));
                match block == at.block {
                    true => index.is_some_and(|index| (at.index as usize) < index),
                    false => graph.dominates(at.block, block),
                }
            };
            let first = match is_static {
                true => self.solver.classes.names.text(method) == "<clinit>",
                false => self.solver.classes.names.text(method) == "<init>",
            };
            // The same activation makes both loads, and calls nothing that stores.
            let elsewhere = one.0 == other.0 && thread(at.frame) == thread(one.0) && !below.contains(&at.frame);
            first || elsewhere || before(one) && before(other)
        })
    }
}

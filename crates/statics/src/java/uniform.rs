//! Decisions that are the same for all threads that meet at a barrier.
//!
//! A value is *uniform* if every participant that gets to its definition for the n-th time finds the same there: it is
//! computed from constants and from what does not change while threads run, and which way led to it was decided by
//! uniform values only. Circles (loop counters) are taken to be uniform unless something in them is not.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::classes::MethodId;
use super::code::{Block, Def, Kind, Value};
use super::flow_graph::decided_by;
use super::poly::Poly;
use super::slices::Slices;
use super::solve::{FrameId, Point};

pub(super) struct Uniform<'f, 's, 'a> {
    pub slices: &'f Slices<'s, 'a>,
    /// All frames of participants.
    pub frames: &'f [FrameId],
    /// Handlers of exceptions that nobody throws.
    pub idle: &'f dyn Fn(FrameId, Block) -> bool,
    /// Which blocks decide about others where these handlers do not count, by frame.
    pub decides: RefCell<HashMap<FrameId, Rc<Vec<Vec<Block>>>>>,
}

/// How deep sums of products are looked into.
const DEPTH: u32 = 12;

impl Uniform<'_, '_, '_> {
    /// Whether all that decides whether a block is reached is uniform.
    pub fn is_reached_alike(&self, frame: FrameId, block: Block) -> bool {
        self.is_decided_alike(frame, block, &mut HashSet::new(), &mut HashSet::new())
    }

    fn is_decided_alike(
        &self,
        frame: FrameId,
        block: Block,
        blocks: &mut HashSet<(FrameId, Block)>,
        values: &mut HashSet<(MethodId, Value)>,
    ) -> bool {
        if !blocks.insert((frame, block)) {
            return true;
        }
        let body = &self.slices.solver.frames[frame.index()].body;
        let known = self.decides.borrow().get(&frame).cloned();
        let decides = known.unwrap_or_else(|| {
            let found = Rc::new(decided_by(&body.code, &|handler| (self.idle)(frame, handler)));
            self.decides.borrow_mut().insert(frame, Rc::clone(&found));
            found
        });
        let deciders = (0..body.code.blocks.len() as Block)
            .filter(|at| body.graph.reached[*at as usize] && decides[*at as usize].contains(&block));
        deciders
            .into_iter()
            .all(|at| self.ends_alike(frame, at, values, blocks) && self.is_decided_alike(frame, at, blocks, values))
    }

    /// Whether all participants leave a block the same way.
    fn ends_alike(
        &self,
        frame: FrameId,
        block: Block,
        values: &mut HashSet<(MethodId, Value)>,
        blocks: &mut HashSet<(FrameId, Block)>,
    ) -> bool {
        let code = &self.slices.solver.frames[frame.index()].body.code;
        let own = &code.blocks[block as usize];
        if own.caught_by().any(|handler| !(self.idle)(frame, handler)) && !self.only_waits(frame, block) {
            return false;
        }
        match own.statements.last().map(|last| &last.kind) {
            Some(Kind::Branch(_, left, right)) => {
                [Some(*left), *right].into_iter().flatten().all(|one| self.value(frame, one, values, blocks))
            }
            Some(Kind::Switch(value)) => self.value(frame, *value, values, blocks),
            _ => true,
        }
    }

    /// A block that does nothing but call, on what is the same for all: exceptions are, too.
    fn only_waits(&self, frame: FrameId, block: Block) -> bool {
        let solver = self.slices.solver;
        let statements = solver.frames[frame.index()].body.code.blocks[block as usize].statements.iter().enumerate();
        let mut calls = 0;
        let quiet = statements.into_iter().all(|(index, statement)| match &statement.kind {
            Kind::Call(_) => {
                calls += 1;
                let at = Point { frame, block, index: index as u32 };
                solver
                    .used
                    .get(&at)
                    .is_some_and(|used| used.iter().all(|one| one.model.has(super::models::Word::Meets)))
            }
            Kind::Define(value) => matches!(solver.code(Point { frame, block, index: 0 }).def(*value), Def::Load(_)),
            Kind::Jump | Kind::Return(None) => true,
            _ => false,
        });
        quiet && calls == 1
    }

    fn value(
        &self,
        frame: FrameId,
        value: Value,
        values: &mut HashSet<(MethodId, Value)>,
        blocks: &mut HashSet<(FrameId, Block)>,
    ) -> bool {
        let solver = self.slices.solver;
        let method = solver.frames[frame.index()].method;
        if !values.insert((method, value)) {
            return true;
        }
        let code = &solver.frames[frame.index()].body.code;
        match code.def(value) {
            Def::Constant(_) => true,
            Def::Binary { .. }
            | Def::Compare { .. }
            | Def::Negate(..)
            | Def::Narrow(..)
            | Def::Convert { .. }
            | Def::Cast(..) => code.operands(value).into_iter().all(|one| self.value(frame, one, values, blocks)),
            Def::Phi(all) => all.iter().all(|(from, one)| {
                self.value(frame, *one, values, blocks)
                    && self.ends_alike(frame, *from, values, blocks)
                    && self.is_decided_alike(frame, *from, blocks, values)
            }),
            _ => self.is_settled(method, value),
        }
    }

    /// The same number in all frames of a method, and not one that every instance has for itself.
    fn is_settled(&self, method: MethodId, value: Value) -> bool {
        let mut found: Option<Poly> = None;
        let frames = self.frames.iter().filter(|frame| self.slices.solver.frames[frame.index()].method == method);
        for frame in frames {
            let Some(poly) = self.slices.poly(*frame, value, DEPTH) else { return false };
            if poly.names_id() || found.as_ref().is_some_and(|known| *known != poly) {
                return false;
            }
            found = Some(poly);
        }
        found.is_some()
    }
}

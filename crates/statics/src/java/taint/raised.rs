//! Exceptions that are thrown, or not, because of a choice, and what comes of them.
//!
//! A statement that may throw because of a choice cuts its block: what comes after it there is executed or not. If a
//! handler surely catches it, the ways meet again where the code says; otherwise everything that the frame does later,
//! and whatever its callers do after the call, depends on the choice, too.

use super::Flow;
use crate::java::accesses::{Access, Location};
use crate::java::code::{Block, Kind};
use crate::java::exceptions::{Cause, Thrown};
use crate::java::models::Word;
use crate::java::solve::{FrameId, Point};

impl Flow<'_, '_> {
    /// Whether a handler gets one exception or another because of a choice.
    pub(super) fn catches_differing(&self, frame: FrameId, handler: Block) -> bool {
        let blocks = self.solver.frames[frame.index()].body.code.blocks.iter().enumerate();
        let differs = |block: usize| {
            self.taint.blocks[frame.index()].contains(block) || self.taint.cut.contains_key(&(frame, block as Block))
        };
        differs(handler as usize)
            || blocks.into_iter().any(|(at, block)| block.caught_by().any(|to| to == handler) && differs(at))
    }

    /// What is thrown at a point, or not, because of a choice: there, and by what it calls.
    fn raised(&self, at: Point) -> (Thrown, Thrown) {
        let decided = self.taint.is_decided(at);
        let (mut here, mut inside) = (Thrown::default(), Thrown::default());
        for cause in self.choices.exceptions.causes(at) {
            if self.is_chosen(at, cause, decided) {
                here.add(&cause.thrown);
                if let Some(again) = cause.again {
                    here.add(&self.choices.exceptions.arriving(at.frame, again));
                }
            }
            for callee in &cause.callees {
                inside.add(&self.taint.thrown[callee.index()]);
                if decided {
                    inside.add(self.choices.exceptions.escaping(*callee));
                }
            }
            let fails = |task: &FrameId| {
                !self.taint.thrown[task.index()].is_nothing()
                    || decided && !self.choices.exceptions.escaping(*task).is_nothing()
            };
            if cause.tasks.iter().any(fails) {
                inside.add(&cause.wrapped);
            }
        }
        // An object that threads must not share, and do, may fail in any way.
        let ids = self.choices.accesses.by_point.get(&at).into_iter().flatten();
        let races = |id: &usize| self.choices.accesses.all[*id].library && self.choices.races.accesses.contains(id);
        if ids.into_iter().any(races) {
            here.add(&Thrown::any());
        }
        (here, inside)
    }

    fn is_chosen(&self, at: Point, cause: &Cause, decided: bool) -> bool {
        if cause.meanwhile {
            return self.changes_meanwhile(at);
        }
        cause.chosen
            || decided
            || cause.operands.iter().any(|operand| self.is(at.frame, *operand))
            || cause.held && self.holds_tainted(at)
    }

    /// Whether what the receiver of a library call holds differs.
    fn holds_tainted(&self, at: Point) -> bool {
        let Some(call) = self.solver.call_at(at) else { return false };
        let receiver = call.arguments.first().map(|one| self.solver.code(at).plain(*one));
        let ids = self.choices.accesses.by_point.get(&at).into_iter().flatten();
        ids.into_iter().any(|id| {
            let access = &self.choices.accesses.all[*id];
            access.reads && (access.base.is_none() || access.base == receiver) && self.reads(*id)
        })
    }

    /// Whether a container may be changed while somebody goes through it: by another thread, or by its own because of a
    /// choice.
    fn changes_meanwhile(&self, at: Point) -> bool {
        let accesses = self.choices.accesses;
        let own = accesses.by_point.get(&at).into_iter().flatten().map(|id| &accesses.all[*id]);
        let below = || self.solver.below(at.frame);
        own.filter(|own| own.reads && !self.is_for_many(own.location)).any(|own| {
            let mut writes = accesses.by_location[&own.location].iter().filter(|id| accesses.all[**id].writes);
            writes.any(|id| {
                let write = &accesses.all[*id];
                let steps = self
                    .solver
                    .used
                    .get(&write.at)
                    .into_iter()
                    .flatten()
                    .any(|one| one.model.has(Word::Steps) && !one.model.has(Word::Writes));
                let beside = self.choices.threads.parallel(self.solver, write.at, at) && !self.is_locked(own, write);
                let by_itself = self.taint.writes.contains(id) && below().contains(&write.at.frame);
                !steps && !write.initialises && (beside || by_itself)
            })
        })
    }

    /// Containers that are made to be changed meanwhile.
    fn is_for_many(&self, location: Location) -> bool {
        let Location::Field(object, _) = location else { return false };
        let class = self.solver.objects[object.index()].class;
        self.solver.classes.names.text(class).starts_with("java/util/concurrent/")
    }

    /// A lock keeps others away all the time: it is not left in the loop around.
    fn is_locked(&self, own: &Access, other: &Access) -> bool {
        let body = &self.solver.frames[own.at.frame.index()].body;
        let around = body.graph.loops.iter().find(|one| one.blocks.contains(&own.at.block));
        let leaves = around.is_some_and(|around| {
            let inside = around.blocks.iter().flat_map(|block| &body.code.blocks[*block as usize].statements);
            inside.into_iter().any(|one| matches!(one.kind, Kind::Exit(_)))
        });
        !leaves && self.choices.monitors.common((own.at, own.base), (other.at, other.base))
    }

    /// Finds what a statement throws because of a choice, and what depends on that. Whether the statement itself is
    /// done or not.
    pub(super) fn raises(&mut self, at: Point) -> bool {
        let (here, inside) = self.raised(at);
        let fails = !here.is_nothing();
        let mut all = here;
        all.add(&inside);
        if !all.is_nothing() {
            self.cut(at);
            let body = self.solver.frames[at.frame.index()].body.clone();
            let handlers = &body.code.blocks[at.block as usize].handlers;
            let left = self.choices.exceptions.uncaught(&all, handlers);
            if !self.choices.exceptions.caught_by(&all, handlers).is_empty() {
                self.decide(at.frame, at.block);
            }
            if !left.is_nothing() {
                self.changed |= self.taint.thrown[at.frame.index()].add(&left);
                self.leaves(at);
            }
        }
        self.ends_program(at);
        fails
    }

    fn cut(&mut self, at: Point) {
        let known = self.taint.cut.entry((at.frame, at.block)).or_insert(u32::MAX);
        if *known > at.index {
            *known = at.index;
            self.changed = true;
        }
    }

    /// All that a frame may do after a point is done or not.
    fn leaves(&mut self, at: Point) {
        let body = self.solver.frames[at.frame.index()].body.clone();
        let mut rest: Vec<Block> = body.code.blocks[at.block as usize].next.clone();
        let mut seen = vec![false; body.code.blocks.len()];
        while let Some(block) = rest.pop() {
            if !std::mem::replace(&mut seen[block as usize], true) {
                self.changed |= self.taint.blocks[at.frame.index()].insert(block as usize);
                rest.extend(&body.code.blocks[block as usize].next);
            }
        }
    }

    /// The program ends here, or does not, because of a choice.
    fn ends_program(&mut self, at: Point) {
        let decided = self.taint.is_decided(at);
        let mut callees = self.solver.callees.get(&at).into_iter().flatten();
        let mut used = self.solver.used.get(&at).into_iter().flatten();
        let ends = callees.any(|callee| self.taint.exits.contains(callee.index()))
            || decided && used.any(|one| one.model.has(Word::Exit));
        if ends {
            self.changed |= self.taint.exits.insert(at.frame.index());
            self.cut(at);
            self.leaves(at);
        }
    }
}

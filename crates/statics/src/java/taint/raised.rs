//! Exceptions that are thrown, or not, because of a choice, and what comes of them.
//!
//! A statement that may throw because of a choice cuts its block: what comes after it there is executed or not. If a
//! handler surely catches it, the ways meet again where the code says; otherwise everything that the frame does later,
//! and whatever its callers do after the call, depends on the choice, too.

use super::{Because, Flow, Root};
use crate::java::accesses::{Access, Location};
use crate::java::code::{Block, Kind};
use crate::java::exceptions::{Cause, Thrown};
use crate::java::models::Word;
use crate::java::solve::{FrameId, Point};

/// Exceptions, each with the choice that it depends on.
type Pieces = Vec<(Thrown, Because)>;

impl Flow<'_, '_> {
    /// Whether a handler gets one exception or another because of a choice.
    pub(super) fn catches_differing(&self, frame: FrameId, handler: Block) -> Option<Because> {
        let blocks = self.solver.frames[frame.index()].body.code.blocks.iter().enumerate();
        let differs = |block: usize| {
            let cut = || self.taint.cut.get(&(frame, block as Block)).map(|(_, because)| *because);
            self.taint.blocks[frame.index()].get(block).or_else(cut)
        };
        let mut guarded = blocks.filter(|(_, block)| block.caught_by().any(|to| to == handler));
        differs(handler as usize).or_else(|| guarded.find_map(|(at, _)| differs(at)))
    }

    /// What is thrown at a point, or not, because of a choice: there, and by what it calls.
    fn raised(&self, at: Point) -> (Pieces, Pieces) {
        let decided = self.taint.decided(at);
        let (mut here, mut inside) = (Pieces::new(), Pieces::new());
        for cause in self.choices.exceptions.causes(at) {
            if let Some(because) = self.chosen(at, cause, decided) {
                here.push((cause.thrown.clone(), because));
                if let Some(again) = cause.again {
                    here.push((self.choices.exceptions.arriving(at.frame, again), because));
                }
            }
            for callee in &cause.callees {
                inside.extend(self.taint.thrown_because[callee.index()].iter().cloned());
                if let Some(because) = decided {
                    inside.push((self.choices.exceptions.escaping(*callee).clone(), because));
                }
            }
            let fails = |task: &FrameId| {
                let throws = || !self.choices.exceptions.escaping(*task).is_nothing();
                self.taint.thrown_because(*task).or_else(|| decided.filter(|_| throws()))
            };
            if let Some(because) = cause.tasks.iter().find_map(fails) {
                inside.push((cause.wrapped.clone(), because));
            }
        }
        // An object that threads must not share, and do, may fail in any way.
        let mut ids = self.choices.accesses.by_point.get(&at).into_iter().flatten();
        let races = |id: &&usize| self.choices.accesses.all[**id].library && self.choices.races.accesses.contains(id);
        if let Some(id) = ids.find(races) {
            here.push((Thrown::any(), Because::new(Root::Race(*id))));
        }
        here.retain(|(thrown, _)| !thrown.is_nothing());
        inside.retain(|(thrown, _)| !thrown.is_nothing());
        (here, inside)
    }

    fn chosen(&self, at: Point, cause: &Cause, decided: Option<Because>) -> Option<Because> {
        if cause.meanwhile {
            return self.changes_meanwhile(at);
        }
        if cause.chosen {
            return Some(Because::new(Root::Throws(at)));
        }
        let operand = || cause.operands.iter().filter_map(|operand| self.is(at.frame, *operand)).min();
        let held = || if cause.held { self.holds_tainted(at) } else { None };
        operand().or_else(held).or(decided)
    }

    /// Whether what the receiver of a library call holds differs.
    fn holds_tainted(&self, at: Point) -> Option<Because> {
        let call = self.solver.call_at(at)?;
        let receiver = call.arguments.first().map(|one| self.solver.code(at).plain(*one));
        let ids = self.choices.accesses.by_point.get(&at).into_iter().flatten();
        ids.into_iter().find_map(|id| {
            let access = &self.choices.accesses.all[*id];
            let is_own = access.reads && (access.base.is_none() || access.base == receiver);
            if is_own { self.reads(*id) } else { None }
        })
    }

    /// Whether a container may be changed while somebody goes through it: by another thread, or by its own because of a
    /// choice.
    fn changes_meanwhile(&self, at: Point) -> Option<Because> {
        let accesses = self.choices.accesses;
        let own = accesses.by_point.get(&at).into_iter().flatten().map(|id| &accesses.all[*id]);
        let below = || self.solver.below(at.frame);
        own.filter(|own| own.reads && !self.is_for_many(own.location)).find_map(|own| {
            let mut writes = accesses.by_location[&own.location].iter().filter(|id| accesses.all[**id].writes);
            writes.find_map(|id| {
                let write = &accesses.all[*id];
                let steps = self
                    .solver
                    .used
                    .get(&write.at)
                    .into_iter()
                    .flatten()
                    .any(|one| one.model.has(Word::Steps) && !one.model.has(Word::Writes));
                if steps || write.initialises {
                    return None;
                }
                if self.choices.threads.parallel(self.solver, write.at, at) && !self.is_locked(own, write) {
                    return Some(Because::new(Root::Changed(at)));
                }
                let (_, because) = self.taint.writes.get(id)?;
                below().contains(&write.at.frame).then_some(*because)
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
    pub(super) fn raises(&mut self, at: Point) -> Option<Because> {
        let (here, inside) = self.raised(at);
        let fails = here.first().map(|(_, because)| *because);
        let all: Pieces = here.into_iter().chain(inside).collect();
        if let Some((_, because)) = all.first() {
            self.cut(at, *because);
            let body = self.solver.frames[at.frame.index()].body.clone();
            let handlers = &body.code.blocks[at.block as usize].handlers;
            let exceptions = self.choices.exceptions;
            let caught = all.iter().find(|(thrown, _)| !exceptions.caught_by(thrown, handlers).is_empty());
            if let Some((_, because)) = caught {
                self.decide(at.frame, at.block, *because);
            }
            let left = all.iter().map(|(thrown, because)| (exceptions.uncaught(thrown, handlers), *because));
            let left: Pieces = left.filter(|(thrown, _)| !thrown.is_nothing()).collect();
            left.iter().for_each(|(thrown, because)| self.throws(at.frame, thrown, *because));
            if let Some((_, because)) = left.first() {
                self.leaves(at, *because);
            }
        }
        self.ends_program(at);
        fails
    }

    fn cut(&mut self, at: Point, because: Because) {
        let known = self.taint.cut.entry((at.frame, at.block)).or_insert((u32::MAX, because));
        if known.0 > at.index {
            *known = (at.index, because.further());
            self.changed = true;
        }
    }

    /// All that a frame may do after a point is done or not.
    fn leaves(&mut self, at: Point, because: Because) {
        let body = self.solver.frames[at.frame.index()].body.clone();
        let mut rest: Vec<Block> = body.code.blocks[at.block as usize].next.clone();
        let mut seen = vec![false; body.code.blocks.len()];
        while let Some(block) = rest.pop() {
            if !std::mem::replace(&mut seen[block as usize], true) {
                self.changed |= self.taint.blocks[at.frame.index()].insert(block as usize, because);
                rest.extend(&body.code.blocks[block as usize].next);
            }
        }
    }

    /// The program ends here, or does not, because of a choice.
    fn ends_program(&mut self, at: Point) {
        let mut callees = self.solver.callees.get(&at).into_iter().flatten();
        let mut used = self.solver.used.get(&at).into_iter().flatten();
        let exits = callees.find_map(|callee| self.taint.exits.get(callee.index()));
        let own = || self.taint.decided(at).filter(|_| used.any(|one| one.model.has(Word::Exit)));
        if let Some(because) = exits.or_else(own) {
            self.changed |= self.taint.exits.insert(at.frame.index(), because);
            self.cut(at, because);
            self.leaves(at, because);
        }
    }
}

//! Code that only one instance of a thread gets to, or none: `if (id == 0) …`, where every instance has another number.

use super::code::{Kind, Test};
use super::poly::{IdOf, Poly};
use super::slices::{DEPTH, Slices};
use super::solve::Point;

/// How far up calls are followed.
const CALLS: u32 = 8;

impl Slices<'_, '_> {
    /// Whether two points are behind tests that one and the same instance passes, and no other.
    pub fn are_of_one(&self, one: Point, other: Point) -> bool {
        let thread = |at: Point| self.solver.frames[at.frame.index()].thread;
        let known = self.only_instance(one);
        thread(one) == thread(other) && known.is_some() && known == self.only_instance(other)
    }

    fn only_instance(&self, at: Point) -> Option<(IdOf, i64)> {
        let thread = self.solver.frames[at.frame.index()].thread;
        self.tested(at).iter().find_map(|zero| {
            let (id, factor, rest) = zero.by_id()?;
            let id = id.filter(|(of, _)| *of == thread && factor == Poly::number(1))?;
            Some((id, -rest.constant()?))
        })
    }

    /// Whether a point is behind a test that an instance's number never passes, like `id == 0` where numbers begin at 1.
    pub(super) fn never(&self, at: Point) -> bool {
        self.tested(at).iter().any(|zero| {
            let never = || -> Option<bool> {
                if let Some(number) = zero.constant() {
                    return Some(number != 0);
                }
                let (id, factor, rest) = zero.by_id()?;
                let (thread, number) = id?;
                (factor == Poly::number(1)).then_some(())?;
                Some(-rest.constant()? < self.first(thread, number)?)
            };
            never() == Some(true)
        })
    }

    /// What was tested to be zero on every way to a point.
    fn tested(&self, mut at: Point) -> Vec<Poly> {
        let mut all = Vec::new();
        for _ in 0..CALLS {
            self.tested_here(at, &mut all);
            let own = &self.solver.frames[at.frame.index()];
            let entered = self.solver.threads[own.thread.index()].entries.contains(&at.frame);
            match own.callers.first() {
                Some(caller) if own.callers.len() == 1 && !entered && !self.solver.callbacks.contains(caller) => {
                    at = *caller;
                }
                _ => break,
            }
        }
        all
    }

    fn tested_here(&self, at: Point, all: &mut Vec<Poly>) {
        let body = &self.solver.frames[at.frame.index()].body;
        for (block, code) in body.code.blocks.iter().enumerate() {
            let last = code.statements.last().map(|last| &last.kind);
            let Some(Kind::Branch(test, left, right)) = last else { continue };
            let taken = match test {
                Test::Eq => code.next.first(),
                Test::Ne => code.next.get(1),
                _ => None,
            };
            let Some(taken) = taken.filter(|_| code.next.len() == 2 && code.next[0] != code.next[1]) else { continue };
            let only_way = body.graph.predecessors[*taken as usize] == [block];
            if !only_way || !body.graph.dominates(*taken, at.block) {
                continue;
            }
            let right = right.map_or(Some(Poly::default()), |right| self.poly(at.frame, right, DEPTH));
            let zero = self.poly(at.frame, *left, DEPTH).zip(right).and_then(|(left, right)| left.minus(&right));
            all.extend(zero);
        }
    }
}

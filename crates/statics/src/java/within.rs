//! Accesses to arrays whose index surely lies within: they throw nothing.

use std::collections::HashSet;

use super::code::{Def, Kind, Place, Value};
use super::poly::Poly;
use super::slices::{DEPTH, Slices};
use super::solve::{FrameId, Origin, Point};

impl Slices<'_, '_> {
    /// Accesses to arrays by code whose index surely lies within.
    pub fn within(&self) -> HashSet<Point> {
        let all = self.solver.points().filter(|at| match &self.solver.statement_at(*at).kind {
            Kind::Define(value) => match self.code(at.frame).def(*value) {
                Def::Load(Place::Element(base, index)) => self.is_within(*at, *base, *index),
                _ => false,
            },
            Kind::Store(Place::Element(base, index), _) => self.is_within(*at, *base, *index),
            _ => false,
        });
        all.collect()
    }

    /// Whether an index is at least zero and below the length of every array that is meant.
    fn is_within(&self, at: Point, base: Value, index: Value) -> bool {
        let Some(range) = self.range(at, index) else { return false };
        let low = range.low.constant().is_some_and(|low| low >= 0);
        low && self.lengths(at.frame, base).is_some_and(|lengths| {
            lengths.iter().all(|length| {
                let over = range.high.minus(length).and_then(|over| over.constant());
                over.is_some_and(|over| over < 0)
            })
        })
    }

    /// How long an array is: what its length is said to be, or what it was made with.
    fn lengths(&self, frame: FrameId, base: Value) -> Option<Vec<Poly>> {
        let mut lengths = Vec::new();
        for object in self.solver.objects_of(frame, base) {
            let own = &self.solver.objects[object.index()];
            let Origin::Site(_, pc, part) = own.origin else { return None };
            for (made, block) in &own.made {
                let code = self.code(*made);
                let length = code.blocks[*block as usize].statements.iter().find_map(|one| match &one.kind {
                    Kind::Define(value) if one.pc == pc => match code.def(*value) {
                        Def::Array(_, lengths) => lengths.get(usize::from(part)).copied(),
                        _ => None,
                    },
                    _ => None,
                })?;
                lengths.push(self.poly(*made, length, DEPTH)?);
            }
        }
        (!lengths.is_empty()).then_some(lengths)
    }
}

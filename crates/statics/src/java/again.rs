//! The same place, loaded twice by one thread while nobody changes it: `if (a[i] < least) least = a[i];`.

use super::code::{Block, Code, Def, Kind, Place, Statement, Value};
use super::conflicts::Choices;
use super::solve::{FrameId, Point};

/// Two blocks, one after the other, in which nothing is stored.
pub(super) struct Again<'c, 's, 'a> {
    pub choices: &'c Choices<'s, 'a>,
    pub code: &'c Code,
    pub frame: FrameId,
    pub blocks: [Block; 2],
}

pub(super) fn is_loaded(code: &Code, one: &Statement) -> bool {
    matches!(one.kind, Kind::Define(value) if matches!(code.def(value), Def::Load(_)))
}

impl Again<'_, '_, '_> {
    /// Whether two values are the same: one, or both loaded from the same place in these blocks.
    pub fn is_same(&self, one: Value, other: Value) -> bool {
        if one == other {
            return true;
        }
        let (Def::Load(a), Def::Load(b)) = (self.code.def(one), self.code.def(other)) else { return false };
        let same = match (a, b) {
            (Place::Static(a), Place::Static(b)) => a == b,
            (Place::Field(a, x), Place::Field(b, y)) => x == y && self.is_same(*a, *b),
            (Place::Element(a, i), Place::Element(b, j)) => self.is_same(*a, *b) && self.is_same(*i, *j),
            _ => false,
        };
        same && [one, other].into_iter().all(|value| self.is_left_alone(value))
    }

    /// Nobody writes what is loaded while it is.
    fn is_left_alone(&self, value: Value) -> bool {
        let Some((block, index)) = self.found(value) else { return false };
        let at = Point { frame: self.frame, block, index };
        let (accesses, pairs) = (self.choices.accesses, &self.choices.conflicts.pairs);
        accesses.by_point.get(&at).is_some_and(|ids| {
            ids.iter().all(|id| {
                let location = accesses.all[*id].location;
                let mut all = pairs.get(&location).into_iter().flatten();
                !accesses.is_unknown(location) && !all.any(|(one, other)| one == id || other == id)
            })
        })
    }

    fn found(&self, value: Value) -> Option<(Block, u32)> {
        self.blocks.into_iter().find_map(|block| {
            let statements = &self.code.blocks[block as usize].statements;
            let at = statements.iter().position(|one| matches!(one.kind, Kind::Define(own) if own == value));
            at.map(|at| (block, at as u32))
        })
    }

    /// Where the first block loads what a value is made of.
    pub fn loads(&self, value: Value) -> Vec<usize> {
        let Def::Load(place) = self.code.def(value) else { return Vec::new() };
        let operands = match place {
            Place::Static(_) => Vec::new(),
            Place::Field(base, _) => vec![*base],
            Place::Element(base, index) => vec![*base, *index],
        };
        let own = self.found(value).filter(|(block, _)| *block == self.blocks[0]).map(|(_, at)| at as usize);
        own.into_iter().chain(operands.into_iter().flat_map(|one| self.loads(one))).collect()
    }
}

//! Pairs of accesses to one location whose order differs between executions, and which of them matter to a read.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::accesses::{Access, Accesses, Location};
use super::barriers::Barriers;
use super::code::{Block, Constant, Value};
use super::exceptions::Exceptions;
use super::monitors::Monitors;
use super::owned::Owned;
use super::races::Races;
use super::signals::Signals;
use super::slices::Slices;
use super::solve::{FrameId, Solver};
use super::threads::Threads;
use crate::bits::Bits;

/// Index into [`Accesses::all`].
pub type AccessId = usize;

pub struct Conflicts {
    /// At least one of each pair writes; one may conflict with itself.
    pub pairs: BTreeMap<Location, Vec<(AccessId, AccessId)>>,
}

/// Beyond so many accesses to one location all of them are said to conflict if any two threads meet there.
const MOST: usize = 2_000;

impl Conflicts {
    pub fn new(slices: &Slices<'_, '_>, signals: &Signals, barriers: &Barriers) -> Self {
        let mut pairs = BTreeMap::new();
        let &Slices { solver, threads, accesses, owned, .. } = slices;
        let meet = Meet { solver, threads, owned, signals, barriers, slices };
        for (location, all) in &accesses.by_location {
            let (mut found, count) = (Vec::new(), all.len());
            for (at, one) in all.iter().enumerate() {
                for other in &all[at..] {
                    let (a, b) = (&accesses.all[*one], &accesses.all[*other]);
                    if (a.writes || b.writes) && (count > MOST && a.at != b.at || meet.conflict(a, b)) {
                        found.push((*one, *other));
                    }
                }
                let late = solver.deadline.is_some_and(|deadline| Instant::now() > deadline);
                if found.len() > MOST * 4 || late {
                    rest(accesses, all, &mut found);
                    break;
                }
            }
            if !found.is_empty() {
                pairs.insert(*location, found);
            }
        }
        Self { pairs }
    }
}

/// Too many pairs: everything that has none is said to conflict with a write.
fn rest(accesses: &Accesses, all: &[AccessId], found: &mut Vec<(AccessId, AccessId)>) {
    let known: BTreeSet<AccessId> = found.iter().flat_map(|(one, other)| [*one, *other]).collect();
    let Some(write) = all.iter().copied().find(|id| accesses.all[*id].writes) else { return };
    found.extend(all.iter().filter(|id| !known.contains(id)).map(|id| (write, *id)));
}

struct Meet<'s, 'a> {
    solver: &'s Solver<'a>,
    threads: &'s Threads,
    owned: &'s Owned,
    signals: &'s Signals,
    barriers: &'s Barriers,
    slices: &'s Slices<'s, 'a>,
}

impl Meet<'_, '_> {
    fn conflict(&self, one: &Access, other: &Access) -> bool {
        let is_local = |field| self.solver.local_fields.values().any(|local| *local == field);
        let local = matches!(one.location, Location::Field(_, field) if is_local(field));
        !local
            && !one.initialises
            && !other.initialises
            && self.threads.parallel(self.solver, one.at, other.at)
            && !self.signals.order(one.at, other.at)
            && !self.barriers.order(self.solver, one.at, other.at)
            && !self.are_apart(one, other)
            && !self.slices.are_apart(one, other)
    }

    /// Never the same place, whatever the instances.
    fn are_apart(&self, one: &Access, other: &Access) -> bool {
        let constant = |access: &Access, index: Value| match self.solver.code(access.at).constant(index) {
            Some(Constant::Whole(index)) => Some(index),
            _ => None,
        };
        if let (Some(a), Some(b)) = (one.index, other.index)
            && let (Some(a), Some(b)) = (constant(one, a), constant(other, b))
            && a != b
        {
            return true;
        }
        let (a, b) = (&self.solver.frames[one.at.frame.index()], &self.solver.frames[other.at.frame.index()]);
        if a.thread != b.thread {
            return false;
        }
        let own = |access: &Access, value: Option<Value>| {
            value.is_some_and(|value| self.owned.is_own(self.solver, access.at.frame, value))
        };
        let same_token = |a: Option<Value>, b: Option<Value>| match (a, b) {
            (Some(a), Some(b)) => {
                self.owned.token(one.at.frame, a) == self.owned.token(other.at.frame, b)
                    || self.owned.is_confined(self.solver, one.at.frame, a)
                        && self.owned.is_confined(self.solver, other.at.frame, b)
            }
            _ => false,
        };
        let by_base = own(one, one.base) && own(other, other.base) && same_token(one.base, other.base);
        let by_index = own(one, one.index) && own(other, other.index) && same_token(one.index, other.index);
        by_base || by_index
    }
}

/// Loads and stores that are updates whose order does not matter: see [`super::updates`].
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct OrderFree {
    pub locations: BTreeSet<Location>,
    pub accesses: BTreeSet<AccessId>,
}

/// Everything that says whether a read has a choice.
pub struct Choices<'s, 'a> {
    pub solver: &'s Solver<'a>,
    pub threads: &'s Threads,
    pub accesses: &'s Accesses,
    pub conflicts: &'s Conflicts,
    pub races: &'s Races,
    pub monitors: &'s Monitors,
    pub exceptions: &'s Exceptions<'s, 'a>,
}

impl Choices<'_, '_> {
    /// Blocks whose handlers may get anything, by frame.
    pub fn catches(&self) -> Vec<Bits> {
        let catches = |frame: FrameId| {
            let blocks = 0..self.solver.frames[frame.index()].body.code.blocks.len();
            blocks.filter(|block| self.exceptions.is_caught_in(frame, *block as Block)).collect()
        };
        (0..self.solver.frames.len() as u32).map(FrameId).map(catches).collect()
    }

    /// The pairs that a read depends on; of the end of the program if there is no read.
    pub fn pairs(&self, location: Location, read: Option<AccessId>) -> Vec<(AccessId, AccessId)> {
        let Some(all) = self.conflicts.pairs.get(&location) else { return Vec::new() };
        let access = |id: &AccessId| &self.accesses.all[*id];
        let seen = |id: &AccessId| {
            read.is_none_or(|read| self.threads.may_precede(self.solver, access(id).at, access(&read).at))
        };
        let matters = |(one, other): &&(AccessId, AccessId)| {
            let with_read = read == Some(*one) && access(other).writes || read == Some(*other) && access(one).writes;
            with_read || access(one).writes && access(other).writes && seen(one) && seen(other)
        };
        all.iter().filter(matters).copied().collect()
    }

    /// Those whose order makes a difference.
    pub fn matter(&self, location: Location, read: Option<AccessId>, free: &OrderFree) -> Vec<(AccessId, AccessId)> {
        let mut pairs = self.pairs(location, read);
        let is_free = |id: &AccessId| free.accesses.contains(id);
        pairs.retain(|(one, other)| {
            let both_free = is_free(one) && is_free(other);
            let same = read != Some(*one) && read != Some(*other) && self.same_constant(*one, *other);
            !both_free && !same
        });
        pairs
    }

    /// Two writes of the same constant to the same place.
    fn same_constant(&self, one: AccessId, other: AccessId) -> bool {
        let constant = |id: AccessId| {
            let access = &self.accesses.all[id];
            let value = access.value.filter(|_| !access.library && access.index.is_none())?;
            match self.solver.code(access.at).constant(value)? {
                Constant::Whole(value) => Some((0, value)),
                Constant::Float(value) => Some((1, value.to_bits() as i64)),
                Constant::Null => Some((2, 0)),
                Constant::Text(name) => Some((3, name.0.into())),
                _ => None,
            }
        };
        constant(one).is_some() && constant(one) == constant(other)
    }
}

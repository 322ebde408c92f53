//! Data races: conflicting accesses that nothing keeps apart.
//!
//! Volatile fields and library objects that threads may share are never in one; other library objects and arrays that
//! the library reads or fills are like memory.

use std::collections::{BTreeMap, BTreeSet};

use super::accesses::{Access, Accesses, Location};
use super::conflicts::{AccessId, Conflicts};
use super::monitors::Monitors;
use super::solve::Solver;
use super::threads::Threads;

#[derive(Default)]
pub struct Races {
    /// One pair for each location.
    pub pairs: BTreeMap<Location, (AccessId, AccessId)>,
    /// Everything that is part of one.
    pub accesses: BTreeSet<AccessId>,
}

impl Races {
    pub fn new(
        solver: &Solver<'_>,
        threads: &Threads,
        accesses: &Accesses,
        monitors: &Monitors,
        conflicts: &Conflicts,
    ) -> Self {
        let mut races = Self::default();
        let is_race = |one: &Access, other: &Access| {
            let atomic = one.volatile && other.volatile && are_atomic(solver, threads, one, other);
            !atomic && !monitors.common((one.at, one.base), (other.at, other.base))
        };
        for (location, pairs) in &conflicts.pairs {
            for (one, other) in pairs {
                if is_race(&accesses.all[*one], &accesses.all[*other]) {
                    races.pairs.entry(*location).or_insert((*one, *other));
                    races.accesses.extend([*one, *other]);
                }
            }
        }
        races
    }
}

/// Two accesses that are volatile, or go through the same library object.
fn are_atomic(solver: &Solver<'_>, threads: &Threads, one: &Access, other: &Access) -> bool {
    let Location::Field(object, _) = one.location else { return !one.library && !other.library };
    match (one.guard, other.guard) {
        (None, None) => !one.library && !other.library,
        // An object that guards what it holds itself; a view only if there is one of it.
        (Some(a), Some(b)) => a == b && (a == object || threads.is_single(solver, a)),
        _ => false,
    }
}

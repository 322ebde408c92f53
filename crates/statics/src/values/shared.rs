//! What threads tell each other: the values written by every write, and which writes are still there when a lock is
//! left.
//!
//! Global unknowns of the constraint system. They only grow.

use std::collections::{BTreeMap, HashMap, HashSet};

use reweave_script::language::Type;

use super::locations::LocationId;
use super::state::{Entry, State};
use crate::domain::value::{Domain, Value};
use crate::faults::{Fault, is_seeded};
use crate::frames::{Point, ThreadId};
use crate::locks::{Lock, Locks};
use crate::parallel::Parallel;

/// A value, and how often it has grown.
#[derive(Clone, Debug)]
struct Growing {
    value: Value,
    times: u32,
}

#[derive(Default)]
pub struct Shared {
    written: HashMap<LocationId, BTreeMap<Point, Growing>>,
    released: HashSet<(LocationId, Point, Lock)>,
    /// What threads begin with.
    pub births: HashMap<ThreadId, State>,
    pub birth_times: HashMap<ThreadId, u32>,
    pub changed: bool,
}

/// How long values of writes may grow, and where they stop next.
#[derive(Clone, Copy)]
pub struct Patience<'a> {
    pub rounds: u32,
    pub thresholds: &'a [i64],
}

impl Shared {
    /// A write. Its value grows at most so often before it is widened.
    pub fn write(
        &mut self,
        domain: Domain,
        kind: Type,
        (location, point): (LocationId, Point),
        value: &Value,
        patience: Patience<'_>,
    ) {
        let at = self.written.entry(location).or_default().entry(point).or_insert_with(|| {
            self.changed = true;
            Growing { value: Value::Nothing, times: 0 }
        });
        if domain.is_within(kind, value, &at.value) {
            return;
        }
        at.value = if at.times >= patience.rounds {
            domain.widen(kind, &at.value, value, patience.thresholds)
        } else {
            domain.join(kind, &at.value, value)
        };
        at.times += 1;
        self.changed = true;
    }

    /// The write may be the thread's last one when it leaves the lock.
    pub fn release(&mut self, location: LocationId, point: Point, lock: Lock) {
        self.changed |= self.released.insert((location, point, lock));
    }

    /// All writes of a location, with what they write.
    pub fn writes(&self, location: LocationId) -> impl Iterator<Item = (Point, &Value)> {
        let all = self.written.get(&location).into_iter().flatten();
        all.map(|(point, growing)| (*point, &growing.value))
    }

    pub fn written(&self, location: LocationId, point: Point) -> Option<&Value> {
        self.written.get(&location)?.get(&point).map(|growing| &growing.value)
    }

    /// Writes that others do in parallel with a read, and that it may see.
    pub fn seen<'a>(
        &'a self,
        parallel: &'a Parallel,
        locks: &'a Locks,
        at: Point,
        location: LocationId,
        own: &'a Entry,
    ) -> impl Iterator<Item = (Point, &'a Value)> {
        self.writes(location)
            .filter(move |(write, _)| parallel.may(at, *write) && !self.is_hidden(locks, at, location, own, *write))
            .filter(|_| !is_seeded(Fault::NoInterference))
    }

    /// Whether locks keep a parallel write from being seen.
    fn is_hidden(&self, locks: &Locks, at: Point, location: LocationId, own: &Entry, write: Point) -> bool {
        let (mine, theirs) = (locks.at(at), locks.at(write));
        theirs.iter().any(|held| {
            // We wrote it ourselves and have held the lock since.
            if own.guards.binary_search(&held.lock).is_ok() {
                return true;
            }
            // They had written something else before they left the lock.
            let apart = |shared: bool| !shared || is_seeded(Fault::SharedExcludes);
            mine.iter().any(|my| my.lock == held.lock && apart(my.shared && held.shared))
                && !self.released.contains(&(location, write, held.lock))
        })
    }
}

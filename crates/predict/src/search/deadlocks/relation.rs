//! The lock dependency relation and its cycles: iGoodlock (Joshi, Park, Sen, Naik, PLDI 2009; Park's thesis,
//! Definitions 4.3 to 4.5 and Algorithm 4.4).
//!
//! A dependency is a request for a lock by a thread that holds others. A cycle is a list of dependencies of different
//! threads, each for a lock that the next one holds against it, the last for one that the first holds; no two of them
//! hold the same lock, or they could not come about together.
//!
//! Deviations. The paper extends all chains of the whole relation, level by level; this looks, whenever a dependency is
//! added, for the cycles through it: so each is found once, as soon as it is complete, and none need be kept. Shared
//! locks: sharers do not exclude each other. With them a cycle may have chords (a lock that several of its members hold
//! shared), and only cycles without one are minimal: the others decompose, and are left out like the paper's.

use reweave_model::LockMode;

use crate::linear::FastMap;

/// A lock and how it is held or wanted.
pub type Moded = (u32, LockMode);

/// Whether one who has a lock like this keeps out somebody who wants it like that.
pub fn excludes(held: LockMode, wanted: LockMode) -> bool {
    held == LockMode::Exclusive || wanted == LockMode::Exclusive
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dependency {
    pub thread: u32,
    pub held: Vec<Moded>,
    pub wanted: Moded,
}

impl Dependency {
    /// Whether it waits for something that the other one holds.
    fn waits_for(&self, other: &Self) -> bool {
        let (lock, mode) = self.wanted;
        other.held.iter().any(|&(held, how)| held == lock && excludes(how, mode))
    }

    /// Whether no lock is held by both: the gate of a cycle.
    fn coexists(&self, other: &Self) -> bool {
        let clash = |&(lock, mode): &Moded| other.held.iter().any(|&(held, how)| held == lock && excludes(how, mode));
        self.thread != other.thread && !self.held.iter().any(clash)
    }
}

/// The number of a dependency in its relation.
pub type Id = usize;

#[derive(Default)]
pub struct Relation {
    all: Vec<Dependency>,
    /// By lock: who holds it.
    holders: FastMap<u32, Vec<Id>>,
    /// By lock: the locks that somebody held when wanting it.
    before: FastMap<u32, Vec<u32>>,
}

impl Relation {
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Only those for which `keep` says so, in the same order, with locks renumbered by `number`.
    pub fn only(self, keep: impl Fn(Id) -> bool, number: impl Fn(u32) -> u32) -> Self {
        let mut kept = Self::default();
        for (_, mut dependency) in self.all.into_iter().enumerate().filter(|(id, _)| keep(*id)) {
            dependency.held.iter_mut().chain([&mut dependency.wanted]).for_each(|(lock, _)| *lock = number(*lock));
            kept.add(dependency);
        }
        kept
    }

    pub fn add(&mut self, dependency: Dependency) -> Id {
        let id = self.all.len();
        let before = self.before.entry(dependency.wanted.0).or_default();
        for &(lock, _) in &dependency.held {
            self.holders.entry(lock).or_default().push(id);
            if !before.contains(&lock) {
                before.push(lock);
            }
        }
        self.all.push(dependency);
        id
    }

    /// Tells every cycle of this dependency with earlier ones, itself first, short ones before long ones. `together`:
    /// whether two may be part of one cycle, as far as the relation does not know. Each step of the search takes one
    /// from `budget`; at 0 it gives up.
    pub fn cycles_through(
        &self,
        first: Id,
        budget: &mut u64,
        together: &dyn Fn(Id, Id) -> bool,
        found: &mut dyn FnMut(&[Id]),
    ) {
        let leading_back = self.leading_back(first);
        if leading_back.contains_key(&self.all[first].wanted.0) {
            let path = vec![first];
            let mut search =
                Search { relation: self, leading_back, budget, together, found, path, length: 1, more: true };
            while search.more && *search.budget > 0 {
                search.length += 1;
                search.more = false;
                search.extend();
            }
        }
    }

    /// The locks from which requests lead to one that this dependency holds.
    fn leading_back(&self, id: Id) -> FastMap<u32, ()> {
        let mut seen: FastMap<u32, ()> = self.all[id].held.iter().map(|&(lock, _)| (lock, ())).collect();
        let mut left: Vec<u32> = seen.keys().copied().collect();
        while let Some(lock) = left.pop() {
            for &before in self.before.get(&lock).into_iter().flatten() {
                if seen.insert(before, ()).is_none() {
                    left.push(before);
                }
            }
        }
        seen
    }
}

struct Search<'r> {
    relation: &'r Relation,
    leading_back: FastMap<u32, ()>,
    budget: &'r mut u64,
    together: &'r dyn Fn(Id, Id) -> bool,
    found: &'r mut dyn FnMut(&[Id]),
    // invariant: a chain without chords and no cycle, shorter than `length`
    path: Vec<Id>,
    /// Cycles of this length are told.
    length: usize,
    /// There are chains of this length that are no cycle: longer ones may be.
    more: bool,
}

impl Search<'_> {
    fn extend(&mut self) {
        let all = &self.relation.all;
        let last = &all[self.path[self.path.len() - 1]];
        let Some(holders) = self.relation.holders.get(&last.wanted.0) else { return };
        for &id in holders {
            if *self.budget == 0 {
                return;
            }
            *self.budget -= 1;
            let next = &all[id];
            if !last.waits_for(next) || !self.leading_back.contains_key(&next.wanted.0) {
                continue;
            }
            let (first, inner) = (self.path[0], &self.path[1..]);
            let fits = |&other: &Id| all[other].coexists(next) && (self.together)(other, id);
            let before_last = &self.path[..self.path.len() - 1];
            // A shorter way to it, or back from it, makes a smaller cycle.
            let chord = before_last.iter().any(|&other| all[other].waits_for(next))
                || inner.iter().any(|&other| next.waits_for(&all[other]));
            if chord || !self.path.iter().all(fits) {
                continue;
            }
            let closes = next.waits_for(&all[first]);
            let last = self.path.len() + 1 == self.length;
            if closes && last || !closes && !last {
                self.path.push(id);
                match closes {
                    true => (self.found)(&self.path),
                    false => self.extend(),
                }
                self.path.pop();
            } else {
                // A longer chain for the next round, or a shorter cycle that was told in an earlier one.
                self.more |= last;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXCLUSIVE: LockMode = LockMode::Exclusive;
    const SHARED: LockMode = LockMode::Shared;

    /// All cycles of a relation, each as its members' numbers, ascending.
    fn cycles(dependencies: &[(u32, &[Moded], Moded)]) -> Vec<Vec<Id>> {
        let mut relation = Relation::default();
        let mut all = Vec::new();
        for &(thread, held, wanted) in dependencies {
            let id = relation.add(Dependency { thread, held: held.to_vec(), wanted });
            relation.cycles_through(id, &mut u64::MAX.clone(), &|_, _| true, &mut |path| {
                let mut path = path.to_vec();
                path.sort_unstable();
                all.push(path);
            });
        }
        all
    }

    #[test]
    fn a_cycle_of_any_length_is_told_once() {
        let hold = [[(0, EXCLUSIVE)], [(1, EXCLUSIVE)], [(2, EXCLUSIVE)], [(3, EXCLUSIVE)]];
        for length in 2..=4u32 {
            let ring: Vec<_> =
                (0..length).map(|i| (i, hold[i as usize].as_slice(), ((i + 1) % length, EXCLUSIVE))).collect();
            assert_eq!(cycles(&ring), [(0..length as usize).collect::<Vec<_>>()]);
        }
    }

    #[test]
    fn gates_and_single_threads_make_no_cycle() {
        let (x, y, gate) = ((0, EXCLUSIVE), (1, EXCLUSIVE), (2, EXCLUSIVE));
        assert!(cycles(&[(0, &[gate, x], y), (1, &[gate, y], x)]).is_empty());
        assert!(cycles(&[(0, &[x], y), (0, &[y], x)]).is_empty());
        let shared_gate = (2, SHARED);
        assert_eq!(cycles(&[(0, &[shared_gate, x], y), (1, &[shared_gate, y], x)]).len(), 1);
    }

    #[test]
    fn sharers_do_not_wait_for_each_other() {
        let (x, y) = (0, 1);
        let both_share: [(u32, &[Moded], Moded); 2] =
            [(0, &[(x, SHARED)], (y, SHARED)), (1, &[(y, SHARED)], (x, SHARED))];
        assert!(cycles(&both_share).is_empty());
        let they_write: [(u32, &[Moded], Moded); 2] =
            [(0, &[(x, SHARED)], (y, EXCLUSIVE)), (1, &[(y, SHARED)], (x, EXCLUSIVE))];
        assert_eq!(cycles(&they_write).len(), 1);
    }

    /// 0 waits for a lock that 1 and 2 share, and both wait for what 0 holds: two cycles of two, none of three.
    #[test]
    fn what_decomposes_is_left_out() {
        let (own, common) = (0, 1);
        let found = cycles(&[
            (0, &[(own, EXCLUSIVE)], (common, EXCLUSIVE)),
            (1, &[(common, SHARED)], (own, EXCLUSIVE)),
            (2, &[(common, SHARED)], (own, EXCLUSIVE)),
        ]);
        assert_eq!(found, [vec![0, 1], vec![0, 2]]);
    }
}

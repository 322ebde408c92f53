//! Deadlocks by brute force: threads that wait for locks in a circle, in every reachable state.

use std::collections::{BTreeMap, BTreeSet};

use reweave_model::LockMode;

use super::{Oracle, Reached, State};
use crate::history::{Action, Pos, Thread};

impl Oracle<'_> {
    /// The events that the threads of each smallest circle are next at, ascending: no smaller set of them is a circle.
    pub fn deadlocks(&self) -> BTreeSet<Vec<Pos>> {
        let mut found = BTreeSet::new();
        (0..self.nodes.len()).for_each(|at| self.deadlocks_at(at, &mut found));
        found
    }

    fn deadlocks_at(&self, at: usize, found: &mut BTreeSet<Vec<Pos>>) {
        let waits = self.lock_waits(at);
        for &thread in waits.keys() {
            smallest_circles(&waits, &mut vec![thread], found);
        }
    }

    /// Threads that are next at a request for a lock, where, and who holds it against them.
    fn lock_waits(&self, at: usize) -> BTreeMap<Thread, (Pos, BTreeSet<Thread>)> {
        let state = &self.nodes[at].state;
        let next = self.candidates(at).into_iter().filter(|&pos| self.may_race(state, pos));
        next.filter_map(|pos| Some((self.history.step(pos).thread, (pos, self.held_against(state, pos)?)))).collect()
    }

    pub(super) fn held_against(&self, state: &State, pos: Pos) -> Option<BTreeSet<Thread>> {
        let step = self.history.step(pos);
        let (lock, mode) = match step.action {
            Action::Acquire { lock, mode } if !step.tried => (lock, mode),
            Action::Woken { lock, .. } => (lock, LockMode::Exclusive),
            _ => return None,
        };
        let holders = &state.locks[lock.index()];
        let mut against: BTreeSet<Thread> = holders.exclusive.into_iter().collect();
        if mode == LockMode::Exclusive {
            against.extend(&holders.shared);
        }
        Some(against)
    }
}

impl Reached<'_, '_> {
    /// The deadlocks of this state.
    pub fn deadlocks(&self) -> BTreeSet<Vec<Pos>> {
        let mut found = BTreeSet::new();
        self.oracle.deadlocks_at(self.at, &mut found);
        found
    }
}

/// All circles that begin like this, with the smallest thread first and without short cuts.
fn smallest_circles(
    waits: &BTreeMap<Thread, (Pos, BTreeSet<Thread>)>,
    path: &mut Vec<Thread>,
    found: &mut BTreeSet<Vec<Pos>>,
) {
    for &next in &waits[&path[path.len() - 1]].1 {
        if next == path[0] && path.len() > 1 {
            let direct = |from: usize, to: usize| waits[&path[from]].1.contains(&path[to]);
            let short_cut = (0..path.len())
                .any(|from| (0..path.len()).any(|to| to != from && to != (from + 1) % path.len() && direct(from, to)));
            if !short_cut {
                let mut members: Vec<Pos> = path.iter().map(|thread| waits[thread].0).collect();
                members.sort_unstable();
                found.insert(members);
            }
        } else if next > path[0] && !path.contains(&next) && waits.contains_key(&next) {
            path.push(next);
            smallest_circles(waits, path, found);
            path.pop();
        }
    }
}

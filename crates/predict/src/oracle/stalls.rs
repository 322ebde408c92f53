//! Stalls by brute force; [`stalls`](crate::search::stalls) has the definition.

use std::collections::{BTreeMap, BTreeSet};

use super::{Oracle, Reached, State};
use crate::history::{Action, Pos, Thread, Waking};

/// How a thread stands in a state.
enum Standing {
    Over,
    /// It can go on, as observed or otherwise.
    Free,
    Waits(Pos),
}

impl Reached<'_, '_> {
    /// Where threads wait, if this state is a stall.
    pub fn stall(&self) -> Option<Vec<Pos>> {
        self.oracle.stall_at(&self.oracle.nodes[self.at].state)
    }
}

impl Oracle<'_> {
    /// The events that threads are next at in the stalls of this history, ascending, if all threads end where it ends.
    pub fn stalls(&self) -> BTreeSet<Vec<Pos>> {
        let mut found = BTreeSet::new();
        for node in &self.nodes {
            found.extend(self.stall_at(&node.state));
        }
        found
    }

    pub(super) fn stall_at(&self, state: &State) -> Option<Vec<Pos>> {
        let mut members = Vec::new();
        for (thread, events) in self.history.threads.iter().enumerate() {
            match self.standing(state, events.get(state.done[thread] as usize).copied()) {
                Standing::Over => {}
                Standing::Free => return None,
                Standing::Waits(pos) => members.push(pos),
            }
        }
        let waits: BTreeMap<Thread, BTreeSet<Thread>> = members
            .iter()
            .filter_map(|&pos| Some((self.history.step(pos).thread, self.held_against(state, pos)?)))
            .collect();
        // Whom each thread waits for by way of others: who waits for itself is in a deadlock.
        let mut reach = waits.clone();
        for _ in 0..waits.len() {
            let further = reach.clone();
            for to in reach.values_mut() {
                let next: Vec<Thread> = to.iter().filter_map(|one| further.get(one)).flatten().copied().collect();
                to.extend(next);
            }
        }
        if reach.iter().any(|(thread, to)| to.contains(thread)) {
            return None;
        }
        // A thread that nobody forked is not there to be stuck.
        members.retain(|&pos| self.place[pos.index()] > 0 || self.has_all_before(state, pos));
        members.sort_unstable();
        (!members.is_empty()).then_some(members)
    }

    fn has_all_before(&self, state: &State, pos: Pos) -> bool {
        let happened = |pos: &Pos| self.place[pos.index()] < state.done[self.history.step(*pos).thread.index()];
        self.history.step(pos).after.iter().all(happened)
    }

    fn standing(&self, state: &State, next: Option<Pos>) -> Standing {
        let Some(pos) = next else { return Standing::Over };
        if !self.is_permitted(state, pos) {
            return Standing::Free;
        }
        let step = self.history.step(pos);
        let me = step.thread;
        let held = self.held_against(state, pos).is_some_and(|holders| !holders.is_empty());
        let waits = !self.has_all_before(state, pos)
            || match &step.action {
                Action::Acquire { .. } => held,
                Action::Woken { how, .. } => {
                    let notified = state.waiting[me.index()].is_some_and(|(_, notified)| notified);
                    held || *how == Waking::Notified && !notified && !step.tried
                }
                Action::Leave { barrier, .. } => {
                    let rounds = &state.barriers[barrier.index()];
                    rounds.last.get(&me).is_some_and(|(round, count)| rounds.arrivals < (round + 1) * count)
                }
                Action::Take { semaphore } => !step.tried && state.semaphores[semaphore.index()] == 0,
                _ => false,
            };
        if waits { Standing::Waits(pos) } else { Standing::Free }
    }
}

//! Round robin by quantum: cheap, fair, for recording. The seed shifts where the slices end. They are never all of one
//! length: a loop that takes and frees a lock could otherwise end every slice while holding it.
//!
//! Deadlines do not wait for those who could run for ever: whoever sleeps is woken after some slices of the others, so
//! that one that spins until another has slept does not spin through all that time.
//!
//! Where only the order of synchronization matters (watching), a thread that has done nothing but access memory for a
//! whole slice may get some more at a stretch: nobody could have learned anything from it, and handing the token over
//! costs as much as a thousand accesses.

use super::{Choice, Dice, Policy, View};

/// Slices of others before a deadline passes.
const PATIENCE: u32 = 8;

pub struct Quantum {
    steps: u32,
    dice: Dice,
    /// Slices while somebody waited for a deadline.
    waited: u32,
    /// Slices that a thread may get at a stretch beyond the first, and how many of them the current one has had.
    quiet_slices: u32,
    stayed: u32,
}

impl Quantum {
    pub fn new(steps: u32, quiet_slices: u32, seed: u64) -> Self {
        Self { steps: steps.max(1), dice: Dice::new(seed), waited: 0, quiet_slices, stayed: 0 }
    }

    /// Whether the current thread goes on. Somebody who sleeps is waited for in slices of all the others.
    fn stays(&mut self, view: &View<'_>) -> bool {
        let can_stay = view.quiet && !view.yielded && self.stayed < self.quiet_slices;
        let stays =
            can_stay && view.enabled().any(|c| c.id == view.current) && view.candidates.iter().all(|c| !c.timed);
        self.stayed = if stays { self.stayed + 1 } else { 0 };
        stays
    }
}

impl Policy for Quantum {
    fn pick(&mut self, view: &View<'_>) -> Choice {
        let Some(mut thread) = view.next_in_turn() else { return Choice::Nobody };
        if self.stays(view) {
            thread = view.current;
        }
        let timed = view.candidates.iter().find(|c| c.timed && !c.enabled);
        self.waited = if timed.is_some() { self.waited + 1 } else { 0 };
        let late = timed.filter(|_| self.waited > PATIENCE);
        if late.is_some() {
            self.waited = 0;
        }
        let thread = late.map_or(thread, |late| late.id);
        let steps = 1 + self.dice.below(2 * u64::from(self.steps)) as u32;
        Choice::Run { thread, steps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Candidate;

    const fn candidate(id: u32) -> Candidate {
        Candidate { id, enabled: true, timed: false, outside: false, exiting: false, scheduled_as: 0 }
    }

    fn runs(policy: &mut Quantum, candidates: &[Candidate], quiet: bool, yielded: bool) -> u32 {
        match policy.pick(&View { candidates, current: 1, yielded, quiet, steps: 0 }) {
            Choice::Run { thread, .. } => thread,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_only_accesses_memory_stays_for_some_slices() {
        let both = [candidate(1), candidate(2)];
        let mut policy = Quantum::new(10, 3, 0);
        let picked: Vec<u32> = (0..8).map(|_| runs(&mut policy, &both, true, false)).collect();
        assert_eq!(picked, [1, 1, 1, 2, 1, 1, 1, 2]);
        assert_eq!(runs(&mut policy, &both, false, false), 2, "it synchronized");
        assert_eq!(runs(&mut policy, &both, true, true), 2, "it gave way");
        let blocked = [Candidate { enabled: false, ..candidate(1) }, candidate(2)];
        assert_eq!(runs(&mut policy, &blocked, true, false), 2, "it waits");
        let asleep = [candidate(1), candidate(2), Candidate { enabled: false, timed: true, ..candidate(3) }];
        assert_eq!(runs(&mut policy, &asleep, true, false), 2, "somebody sleeps");
    }

    #[test]
    fn nobody_stays_where_that_is_not_asked_for() {
        let mut policy = Quantum::new(10, 0, 0);
        assert_eq!(runs(&mut policy, &[candidate(1), candidate(2)], true, false), 2);
    }
}

//! Round robin by quantum: cheap, fair, for recording. The seed shifts where the slices end. They are never all of one
//! length: a loop that takes and frees a lock could otherwise end every slice while holding it.
//!
//! Deadlines do not wait for those who could run for ever: whoever sleeps is woken after some slices of the others, so
//! that one that spins until another has slept does not spin through all that time.

use super::{Choice, Dice, Policy, View};

/// Slices of others before a deadline passes.
const PATIENCE: u32 = 8;

pub struct Quantum {
    steps: u32,
    dice: Dice,
    /// Slices while somebody waited for a deadline.
    waited: u32,
}

impl Quantum {
    pub fn new(steps: u32, seed: u64) -> Self {
        Self { steps: steps.max(1), dice: Dice::new(seed), waited: 0 }
    }
}

impl Policy for Quantum {
    fn pick(&mut self, view: &View<'_>) -> Choice {
        let Some(thread) = view.next_in_turn() else { return Choice::Nobody };
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

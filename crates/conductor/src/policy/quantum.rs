//! Round robin by quantum: cheap, fair, for recording. The seed shifts where the slices end. They are never all of one
//! length: a loop that takes and frees a lock could otherwise end every slice while holding it.

use super::{Choice, Dice, Policy, View};

pub struct Quantum {
    steps: u32,
    dice: Dice,
}

impl Quantum {
    pub fn new(steps: u32, seed: u64) -> Self {
        Self { steps: steps.max(1), dice: Dice::new(seed) }
    }
}

impl Policy for Quantum {
    fn pick(&mut self, view: &View<'_>) -> Choice {
        let Some(thread) = view.next_in_turn() else { return Choice::Nobody };
        let steps = 1 + self.dice.below(2 * u64::from(self.steps)) as u32;
        Choice::Run { thread, steps }
    }
}

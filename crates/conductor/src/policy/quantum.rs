//! Round robin: cheap and fair.

use super::{Choice, Dice, Policy, View};

/// For recording. The seed shifts where the slices end. They are never all of one length: a loop that takes and frees a lock could
/// otherwise end every slice while holding it.
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

/// Everybody takes so many steps, in turn: loops that do the same are taken through it hand in hand, which chance would hardly do.
pub struct Turns {
    pub steps: u32,
}

impl Policy for Turns {
    fn pick(&mut self, view: &View<'_>) -> Choice {
        let Some(thread) = view.next_in_turn() else { return Choice::Nobody };
        Choice::Run { thread, steps: self.steps.max(1) }
    }
}

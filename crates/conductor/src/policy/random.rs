//! A uniformly random thread after a random number of steps; synchronisation operations are likelier switch points.

use super::{Choice, Dice, Policy, View};

pub struct Random {
    dice: Dice,
    /// One in so many decisions lets a timeout come first although others could run: in some runs hardly any, in others
    /// most.
    patience: u64,
}

impl Random {
    pub const fn new(seed: u64) -> Self {
        Self { dice: Dice::new(seed), patience: [16, 2, 5][(seed % 3) as usize] }
    }
}

impl Policy for Random {
    fn pick(&mut self, view: &View<'_>) -> Choice {
        let open = |c: &&super::Candidate| c.enabled && !(view.yielded && c.id == view.current);
        let mut count = view.candidates.iter().filter(open).count() as u64;
        let yielded = count > 0;
        if !yielded {
            count = view.enabled().count() as u64;
        }
        if count == 0 {
            return Choice::Nobody;
        }
        let timed = view.candidates.iter().filter(|c| c.timed && !c.enabled);
        let timed_count = timed.clone().count() as u64;
        let chosen = if timed_count > 0 && self.dice.below(self.patience) == 0 {
            timed.clone().nth(self.dice.below(timed_count) as usize)
        } else {
            let nth = self.dice.below(count) as usize;
            if yielded { view.candidates.iter().filter(open).nth(nth) } else { view.enabled().nth(nth) }
        };
        let Some(chosen) = chosen else { return Choice::Nobody };
        // Slices of very different lengths: 1..2, 1..4, … 1..4096.
        let bits = 1 + self.dice.below(12);
        Choice::Run { thread: chosen.id, steps: 1 + self.dice.below(1 << bits) as u32 }
    }

    fn preempt_at_sync(&mut self) -> bool {
        self.dice.below(4) == 0
    }
}

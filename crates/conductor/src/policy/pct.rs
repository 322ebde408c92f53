//! Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): random priorities and `depth - 1` change points;
//! a bug of depth d in a run of n threads and k steps is met with probability ≥ 1/(n·k^(d-1)).
//!
//! Deviation: a thread that runs very long while others could (a spin loop) sinks to the bottom, as does one that
//! yields; the paper assumes that every thread ends or blocks.

use super::{Choice, Dice, Policy, View};

/// Steps in a row after which a thread is taken for a spinning one.
const PATIENCE: u32 = 20_000;

pub struct Pct {
    dice: Dice,
    /// By thread id; higher runs first.
    priorities: Vec<u64>,
    /// Steps at which the running thread sinks, ascending.
    changes: Vec<u64>,
    next_change: usize,
    floor: u64,
    last: u32,
}

impl Pct {
    pub fn new(seed: u64, depth: u32, length: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut changes: Vec<u64> = (1..depth.max(1)).map(|_| dice.below(length.max(1))).collect();
        changes.sort_unstable();
        Self { dice, priorities: Vec::new(), changes, next_change: 0, floor: 1 << 32, last: u32::MAX }
    }

    fn sink(&mut self, thread: u32) {
        self.floor -= 1;
        if let Some(priority) = self.priorities.get_mut(thread as usize) {
            *priority = self.floor;
        }
    }
}

impl Policy for Pct {
    fn pick(&mut self, view: &View<'_>) -> Choice {
        for candidate in view.candidates {
            while self.priorities.len() <= candidate.id as usize {
                let priority = (1 << 33) + self.dice.below(1 << 48);
                self.priorities.push(priority);
            }
        }
        let due = self.next_change < self.changes.len() && self.changes[self.next_change] <= view.steps;
        if due {
            self.next_change += 1;
        }
        // The same thread at the end of a full slice: it may be spinning.
        let spinning = view.current == self.last && !due;
        if due || view.yielded || spinning {
            self.sink(view.current);
        }
        let Some(best) = view.enabled().max_by_key(|c| self.priorities[c.id as usize]) else { return Choice::Nobody };
        self.last = best.id;
        let until_change =
            self.changes.get(self.next_change).map_or(u64::MAX, |at| at.saturating_sub(view.steps).max(1));
        let steps = until_change.min(u64::from(PATIENCE)) as u32;
        if u64::from(steps) == until_change {
            self.last = u32::MAX;
        }
        Choice::Run { thread: best.id, steps }
    }
}

//! Probabilistic concurrency testing (Burckhardt et al., ASPLOS 2010): random priorities and `depth - 1` change points;
//! a bug of depth d in a run of n threads and k steps is met with probability ≥ 1/(n·k^(d-1)).
//!
//! Deviation: a thread that runs very long while others could (a spin loop) sinks to the bottom, as does one that
//! yields; the paper assumes that every thread ends or blocks.

use super::{Candidate, Choice, Dice, Policy, View};

/// Steps in a row after which a thread is taken for a spinning one.
const PATIENCE: u32 = 20_000;

pub struct Pct {
    dice: Dice,
    /// Of the threads that are there; higher runs first.
    // invariant: ids ascending
    priorities: Vec<(u32, u64)>,
    /// Threads seen so far: each number gets its priority by one throw, in order, whether its thread is still there or
    /// not.
    seen: u32,
    /// Steps at which the running thread sinks, ascending.
    changes: Vec<u64>,
    next_change: usize,
    floor: u64,
    last: u32,
    /// Whether a deadline passes when its thread has the highest priority, or only when nobody else can run. It sinks
    /// then: else one that looks again and again would keep everybody else from running.
    eager: bool,
}

impl Pct {
    pub fn new(seed: u64, depth: u32, length: u64) -> Self {
        let mut dice = Dice::new(seed);
        let mut changes: Vec<u64> = (1..depth.max(1)).map(|_| dice.below(length.max(1))).collect();
        changes.sort_unstable();
        Self {
            dice,
            priorities: Vec::new(),
            seen: 0,
            changes,
            next_change: 0,
            floor: 1 << 32,
            last: u32::MAX,
            eager: seed & 1 == 1,
        }
    }

    fn sink(&mut self, thread: u32) {
        self.floor -= 1;
        if let Ok(place) = self.place(thread) {
            self.priorities[place].1 = self.floor;
        }
    }

    fn place(&self, thread: u32) -> Result<usize, usize> {
        self.priorities.binary_search_by_key(&thread, |&(id, _)| id)
    }

    #[cfg(test)]
    pub fn remembered(&self) -> usize {
        self.priorities.len()
    }

    fn priority(&self, thread: u32) -> u64 {
        self.place(thread).map_or(0, |place| self.priorities[place].1)
    }

    /// New threads get their priority, those of threads that are gone are forgotten.
    fn meet(&mut self, candidates: &[Candidate]) {
        if let Some(last) = candidates.iter().map(|c| c.id).max() {
            while self.seen <= last {
                self.priorities.push((self.seen, (1 << 33) + self.dice.below(1 << 48)));
                self.seen += 1;
            }
        }
        if self.priorities.len() > 2 * candidates.len() {
            // invariant of views: candidates in the order of their numbers
            self.priorities.retain(|(id, _)| candidates.binary_search_by_key(id, |c| c.id).is_ok());
        }
    }
}

impl Policy for Pct {
    fn pick(&mut self, view: &View<'_>) -> Choice {
        self.meet(view.candidates);
        let due = self.next_change < self.changes.len() && self.changes[self.next_change] <= view.steps;
        if due {
            self.next_change += 1;
        }
        // The same thread at the end of a full slice: it may be spinning.
        let spinning = view.current == self.last && !due;
        if due || view.yielded || spinning {
            self.sink(view.current);
        }
        // At least one must be able to run: when nobody is, others decide how time goes by.
        if view.enabled().next().is_none() {
            return Choice::Nobody;
        }
        let able = |c: &&Candidate| c.enabled || self.eager && c.timed;
        let Some(best) = view.candidates.iter().filter(able).max_by_key(|c| self.priority(c.id)) else {
            return Choice::Nobody;
        };
        if !best.enabled {
            self.sink(best.id);
        }
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

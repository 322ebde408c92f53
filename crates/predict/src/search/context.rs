//! What every reordering keeps, and which locks are held: for quick checks before a question.

use std::collections::HashMap;

use reweave_model::LockMode;

use crate::feasible::Index;
use crate::history::*;

/// What stands between events in every reordering.
pub struct Context {
    /// Per thread: how many of its events come before this one in every reordering.
    clocks: Vec<Vec<u32>>,
    /// The set of locks held, as a number.
    pub locks: Vec<u32>,
    sets: Vec<Vec<(Lock, LockMode)>>,
}

impl Context {
    pub fn new(history: &History, index: &Index<'_>) -> Self {
        let threads = history.threads.len();
        let mut last: Vec<Vec<u32>> = vec![vec![0; threads]; threads];
        let mut held: Vec<Vec<(Lock, LockMode)>> = vec![Vec::new(); threads];
        let mut numbers: HashMap<Vec<(Lock, LockMode)>, u32> = HashMap::new();
        let mut context = Context { clocks: Vec::new(), locks: Vec::new(), sets: Vec::new() };
        for pos in history.positions() {
            let step = history.step(pos);
            let thread = step.thread.index();
            for &before in index.needs(pos) {
                let other = &context.clocks[before.index()];
                last[thread].iter_mut().zip(other).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
            }
            last[thread][thread] += 1;
            context.clocks.push(last[thread].clone());
            match step.action {
                Action::Acquire { lock, mode } => held[thread].push((lock, mode)),
                Action::Woken { lock, .. } => held[thread].push((lock, LockMode::Exclusive)),
                Action::Release { lock, .. } | Action::Wait { lock, .. } => {
                    held[thread].retain(|(other, _)| *other != lock);
                }
                _ => {}
            }
            let mut set = held[thread].clone();
            set.sort_unstable_by_key(|(lock, _)| *lock);
            let next = numbers.len() as u32;
            let number = *numbers.entry(set).or_insert_with_key(|set| {
                context.sets.push(set.clone());
                next
            });
            context.locks.push(number);
        }
        context
    }

    /// Whether the first comes before the second in every reordering.
    pub fn ordered(&self, history: &History, first: Pos, second: Pos) -> bool {
        let thread = history.step(first).thread.index();
        self.clocks[first.index()][thread] <= self.clocks[second.index()][thread]
    }

    /// Whether a lock is held against each other at both, by the numbers of [`Self::locks`].
    pub fn excluded(&self, one: u32, two: u32) -> bool {
        self.sets[one as usize].iter().any(|(lock, mode)| {
            self.sets[two as usize].iter().any(|(other, other_mode)| {
                lock == other && (*mode == LockMode::Exclusive || *other_mode == LockMode::Exclusive)
            })
        })
    }
}

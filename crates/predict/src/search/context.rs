//! What can be said of pairs of events without a question: an order that every reordering keeps, common locks,
//! nearness.

use reweave_model::LockMode;

use crate::feasible::Index;
use crate::history::*;
use crate::linear::FastMap;

/// What every reordering keeps, event by event.
pub struct Context {
    /// Per thread: how many of its events come before this one in every reordering.
    clocks: Vec<Vec<u32>>,
    /// The set of locks held, as a number.
    locks: Vec<u32>,
    sets: Vec<Vec<(Lock, LockMode)>>,
}

impl Context {
    pub fn new(history: &History, index: &Index<'_>) -> Self {
        let threads = history.threads.len();
        let mut last: Vec<Vec<u32>> = vec![vec![0; threads]; threads];
        let mut held: Vec<Vec<(Lock, LockMode)>> = vec![Vec::new(); threads];
        let mut numbers: FastMap<Vec<(Lock, LockMode)>, u32> = FastMap::default();
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

    /// The set of locks held at an event, as a number.
    pub fn locks(&self, pos: Pos) -> u32 {
        self.locks[pos.index()]
    }

    /// How many events of a thread come before this one in every reordering; of its own thread, itself included.
    pub fn before(&self, pos: Pos, thread: Thread) -> u32 {
        self.clocks[pos.index()][thread.index()]
    }

    /// Whether the first comes before the second in every reordering.
    pub fn ordered(&self, history: &History, first: Pos, second: Pos) -> bool {
        let thread = history.step(first).thread.index();
        self.clocks[first.index()][thread] <= self.clocks[second.index()][thread]
    }

    /// Whether a lock is held at both.
    pub fn excluded(&self, one: u32, two: u32) -> bool {
        self.sets[one as usize].iter().any(|(lock, mode)| {
            self.sets[two as usize].iter().any(|(other, other_mode)| {
                lock == other && (*mode == LockMode::Exclusive || *other_mode == LockMode::Exclusive)
            })
        })
    }
}

/// Whether all pairs of two lists are few enough to be looked at.
pub fn all_are_near(ones: &[Pos], twos: &[Pos], tries: usize) -> bool {
    ones.len() * twos.len() <= tries * tries
}

/// Pairs of two ascending lists, those that lie side by side first.
pub fn near<'l>(ones: &'l [Pos], twos: &'l [Pos], tries: usize) -> impl Iterator<Item = (Pos, Pos)> + 'l {
    let side_by_side = ones.iter().flat_map(move |&one| {
        let at = twos.partition_point(|&two| two < one);
        let before = at.checked_sub(1).map(|before| (one, twos[before]));
        before.into_iter().chain(twos.get(at).map(|&two| (one, two)))
    });
    let ones = if all_are_near(ones, twos, tries) { ones } else { &[] };
    side_by_side.chain(ones.iter().flat_map(move |&one| twos.iter().map(move |&two| (one, two))))
}

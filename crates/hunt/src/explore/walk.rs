//! Random walks through the model, for programs with more states than a search comes to. Orderly search sees everything
//! that takes few preemptions; a bug that takes six of them lies beyond. A walk costs no run: only one that comes to
//! something no run has shown becomes one.

use reweave_conductor::policy::Dice;

use super::search::{Choice, ROOT, Search};
use super::state::State;
use super::tree::ThreadNumber;
use crate::budget;

/// How a walk chooses who goes on.
enum WalkOrder {
    /// Somebody, after one in so many operations.
    Restless { stays: u64 },
    /// The thread of the highest rank, until one of the coming changes puts it last (PCT: Burckhardt et al. 2010).
    Ranked { ranks: Vec<u64>, changes: Vec<u64> },
}

impl WalkOrder {
    fn new(dice: &mut Dice, threads: usize, length: u64) -> Self {
        if dice.below(2) == 0 {
            return Self::Restless { stays: 1 << (1 + dice.below(5)) };
        }
        let ranks = (0..threads).map(|_| 1_000 + dice.below(1 << 32)).collect();
        let changes = (0..1 + dice.below(7)).map(|_| dice.below(length.max(1))).collect();
        Self::Ranked { ranks, changes }
    }

    /// Which of these goes on, after so many operations.
    fn choose(&mut self, dice: &mut Dice, choices: &[Choice], last: Option<ThreadNumber>, after: u64) -> Choice {
        let who = match self {
            Self::Restless { stays } => {
                let same = choices.iter().find(|(who, ..)| Some(*who) == last && dice.below(*stays) > 0);
                same.unwrap_or(&choices[dice.below(choices.len() as u64) as usize]).0
            }
            Self::Ranked { ranks, changes } => {
                let first =
                    |ranks: &[u64]| choices.iter().map(|choice| choice.0).max_by_key(|who| ranks[usize::from(*who)]);
                if let Some(change) = changes.iter().position(|at| *at == after)
                    && let Some(who) = first(ranks)
                {
                    ranks[usize::from(who)] = change as u64;
                }
                first(ranks).unwrap_or(choices[0].0)
            }
        };
        let own: Vec<_> = choices.iter().filter(|choice| choice.0 == who).collect();
        *own[dice.below(own.len() as u64) as usize]
    }
}

/// How far to walk.
#[derive(Clone, Copy, Debug)]
pub struct WalkBounds {
    /// Of one walk.
    pub steps: usize,
    /// Walks in a row that may show nothing new.
    pub idle: u32,
}

impl WalkBounds {
    /// Through a tree every walk comes to an end.
    pub const TREE: Self = Self { steps: budget::WALK_STEPS, idle: budget::IDLE_WALKS };
    /// Through merged nodes it may go round and round.
    pub const GRAPH: Self = Self { steps: budget::GUESSED_STEPS, idle: budget::IDLE_GUESSES };
}

impl Search<'_> {
    /// Walks until there are that many goals in all, or walking shows nothing new.
    pub fn walk(&mut self, dice: &mut Dice, targets: usize, bounds: WalkBounds) {
        let (mut in_vain, mut length) = (0, 64);
        while self.found.targets.len() < targets && in_vain < bounds.idle && !self.is_over() {
            let known = self.found.targets.len();
            length = self.walk_once(dice, length, bounds.steps);
            in_vain = if self.found.targets.len() > known { 0 } else { in_vain + 1 };
        }
    }

    /// From the start to something that only a run can tell, or to the end. Returns how long the walk was.
    fn walk_once(&mut self, dice: &mut Dice, length: u64, steps: usize) -> u64 {
        let mut state = State::new(self.tree, &self.slots);
        let mut gait = WalkOrder::new(dice, self.tree.threads.len(), length);
        let (mut moves, mut last) = (Vec::new(), None);
        for after in 0.. {
            self.advance_private(&mut state, last, &mut moves, ROOT);
            let choices = self.choices(&state);
            if state.exited || moves.len() > steps {
                return after;
            }
            self.hang(&state, &choices, ROOT, &moves);
            if choices.is_empty() {
                return after;
            }
            self.races(&choices, ROOT, &moves);
            let choice = gait.choose(dice, &choices, last, after);
            let (who, _, answer) = choice;
            self.freed(&state, choice, ROOT, &moves);
            let Some(steps) = state.step(self.tree, &self.slots, who, answer) else {
                self.unknown(choice, ROOT, &moves);
                return after;
            };
            moves.push((who, steps));
            last = Some(who);
        }
        0
    }
}

//! The locks of a run: which dense number stands for each life of an object, and who holds it. In a bounded pass the
//! numbers of locks that are over are used again as soon as the analysis has forgotten them.

use reweave_model::ObjectId;

use super::hash::FastMap;
use super::{Gone, Lock, Thread};

#[derive(Clone, Copy, Default)]
pub(super) struct State {
    pub owner: Option<Thread>,
    pub readers: u32,
    /// Unlocked by somebody who did not hold it: who holds it is anybody's guess.
    pub doubtful: bool,
}

#[derive(Default)]
pub(super) struct Locks {
    numbers: FastMap<ObjectId, Lock>,
    states: Vec<State>,
    /// Locks that are over before their numbers are used again; `None`: never.
    pub max_over: Option<usize>,
    over: Vec<Lock>,
    /// The same, of which the analysis still knows.
    remembered: Vec<Lock>,
    free: Vec<Lock>,
}

impl Locks {
    /// The lock that the object is now.
    pub fn at(&mut self, object: ObjectId) -> Lock {
        let Self { numbers, states, free, .. } = self;
        *numbers.entry(object).or_insert_with(|| {
            free.pop().unwrap_or_else(|| {
                states.push(State::default());
                Lock(states.len() as u32 - 1)
            })
        })
    }

    /// The lock that the object is now, if it was ever used as one.
    pub fn known(&self, object: ObjectId) -> Option<Lock> {
        self.numbers.get(&object).copied()
    }

    pub fn state(&mut self, lock: Lock) -> &mut State {
        &mut self.states[lock.index()]
    }

    pub fn doubt_all(&mut self) {
        self.states.iter_mut().for_each(|state| state.doubtful = true);
    }

    /// The object is no lock any more, or another one. Whoever still holds it keeps the old one.
    pub fn end(&mut self, object: ObjectId) {
        if let Some(lock) = self.numbers.remove(&object) {
            self.state(lock).doubtful = true;
            if self.max_over.is_some() {
                self.over.push(lock);
            }
        }
    }

    /// Whether it is time to [`Locks::retire`]: the analysis may go through all `words` for it.
    pub fn is_time(&self, words: usize) -> bool {
        self.max_over.is_some_and(|max| self.over.len() >= max.max(words / 8))
    }

    /// Frees the numbers of locks that are over and not among the `held`, if they are forgotten.
    #[cold]
    pub fn retire(&mut self, held: impl Iterator<Item = Lock>, forget: impl FnOnce(Gone<'_>) -> bool) {
        let mut gone = vec![false; self.states.len()];
        self.over.iter().for_each(|lock| gone[lock.index()] = true);
        held.for_each(|lock| gone[lock.index()] = false);
        let forgotten = forget(Gone(&gone));
        for lock in std::mem::take(&mut self.over) {
            if !gone[lock.index()] {
                self.over.push(lock);
            } else if forgotten {
                self.states[lock.index()] = State::default();
                self.free.push(lock);
            } else {
                self.remembered.push(lock);
            }
        }
    }

    /// As [`Locks::retire`], for an analysis that knows nothing yet.
    pub fn retire_all(&mut self, held: impl Iterator<Item = Lock>) {
        self.over.append(&mut self.remembered);
        self.retire(held, |_| true);
    }
}

//! Vector clocks in steps: entry `t` is how many steps of thread `t` are known to have happened. Being steps, a clock is at
//! the same time a prefix of every thread, which is what a witness is made of.

use reweave_model::ThreadId;

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Clock(Vec<u64>);

impl Clock {
    pub fn get(&self, thread: ThreadId) -> u64 {
        self.0.get(thread.index()).copied().unwrap_or(0)
    }

    pub fn set(&mut self, thread: ThreadId, steps: u64) {
        if self.0.len() <= thread.index() {
            self.0.resize(thread.index() + 1, 0);
        }
        self.0[thread.index()] = steps;
    }

    pub fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }
}

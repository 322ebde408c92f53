//! What ranks of SHMEM programs do: transfers, fences, waits, locks.

use crate::event::{Comparison, Event, Through};
use crate::ids::{Context, Rank};

use super::{INT, Maker};

impl Maker {
    pub(super) fn shmem_step(&mut self) {
        let rank = self.rank();
        if !self.states[rank].inside.is_empty() && self.random.percent(60) {
            return self.leave(rank);
        }
        let context = Context(u32::from(self.random.percent(25)));
        match self.random.below(100) {
            0..=19 => self.local(rank),
            20..=54 => {
                let blocking = self.random.percent(60);
                let domain = u32::from(self.random.percent(10));
                let target = self.rank();
                if self.random.percent(15) {
                    // A put with a signal, or two others that have no more to do with each other than that.
                    self.pairs += 1;
                    let through = Through::Context { context, blocking, domain, pair: self.pairs };
                    self.operation(rank, target, through);
                    return self.operation(rank, target, through);
                }
                self.operation(rank, target, Through::Context { context, blocking, domain, pair: 0 });
            }
            55..=61 => self.log(rank, 0, Event::Quiet { context, barrier: false }),
            62..=69 => self.log(rank, 0, Event::ContextFence { context }),
            70..=75 => {
                if self.states.iter().all(|state| state.inside.is_empty()) {
                    for rank in 0..self.ranks {
                        self.log(rank, 0, Event::Quiet { context: Context::DEFAULT, barrier: true });
                    }
                    self.collective();
                }
            }
            76..=83 => self.wait(rank),
            84..=89 => {
                if let Some(word) = self.states[rank].words.pop() {
                    self.log(rank, 0, Event::ClearLock { word });
                } else if self.states.iter().all(|state| state.words.is_empty()) {
                    self.states[rank].words.push(8);
                    self.log(rank, 0, Event::SetLock { word: 8 });
                }
            }
            90..=94 => self.order_step(rank),
            _ => self.threads(rank),
        }
    }

    /// A wait that something satisfied, or a read that returned what was written.
    fn wait(&mut self, rank: usize) {
        if self.writes.is_empty() {
            return;
        }
        let (owner, place, value) = *self.random.pick(&self.writes);
        if self.random.percent(30) {
            return self.log(rank, 0, Event::Returned { owner: Rank(owner as u32), place, value });
        }
        if owner != rank {
            return;
        }
        let comparison = *self.random.pick(&[Comparison::Equal, Comparison::GreaterOrEqual, Comparison::NotEqual]);
        let wanted = if comparison == Comparison::NotEqual { 0 } else { value as i64 };
        let initially = self.random.percent(10);
        self.log(rank, 0, Event::Waiting { place, len: 4, datatype: INT, comparison, wanted, initially });
    }
}

//! Whom the notifies of an order chose: some choice must explain how every wait of the order ends.
//!
//! A notify-one must choose one of those who wait and are not yet notified, if there is one. The order tells how each
//! wait ends, so waits are of three sorts: *needy* (was woken by a notify: must be chosen before that), *wary* (timed
//! out: must never be chosen), *indifferent* (spurious, or does not end in the order). Within a sort, choosing the wait
//! that ends first is as good as any other choice: the one that lasts longer can stand in for it later. Without wary
//! waits a needy one always goes first. Only with them is there a real choice, needy or indifferent, and then all
//! outcomes are kept: as many as there are ways to split the notifies, a handful for waits of a real trace.

use std::collections::BTreeSet;

use crate::history::Thread;

/// How the order ends a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Needy,
    Wary,
    Indifferent,
}

/// When a wait ends (place in the order), and whose it is.
type Ending = (usize, Thread);

/// Those who wait and are not notified, after one way to choose.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Unnotified {
    needy: BTreeSet<Ending>,
    indifferent: BTreeSet<Ending>,
}

/// The waits on one condition.
pub struct Waits {
    /// What the choices so far can have led to. invariant: sorted, distinct; empty only after a failure
    outcomes: Vec<Unnotified>,
    /// Wary waits going on now.
    wary: usize,
    /// Wary waits of the order that have not ended: while there are none, one outcome is enough.
    wary_to_come: usize,
}

impl Waits {
    pub fn new() -> Self {
        Waits { outcomes: vec![Unnotified::default()], wary: 0, wary_to_come: 0 }
    }

    /// To be called for each wary wait of the order before it is run.
    pub fn expect_wary(&mut self) {
        self.wary_to_come += 1;
    }

    pub fn begin(&mut self, fate: Fate, ending: Ending) {
        self.wary += usize::from(fate == Fate::Wary);
        for outcome in &mut self.outcomes {
            match fate {
                Fate::Wary => {}
                Fate::Needy => assert!(outcome.needy.insert(ending), "a thread waits twice"),
                Fate::Indifferent => assert!(outcome.indifferent.insert(ending), "a thread waits twice"),
            }
        }
    }

    /// Says whether the wait can end like this.
    pub fn end(&mut self, fate: Fate, ending: Ending) -> bool {
        match fate {
            Fate::Wary => {
                self.wary -= 1;
                self.wary_to_come -= 1;
            }
            Fate::Needy => self.outcomes.retain(|outcome| !outcome.needy.contains(&ending)),
            Fate::Indifferent => {
                for outcome in &mut self.outcomes {
                    outcome.indifferent.remove(&ending);
                }
                self.tidy();
            }
        }
        !self.outcomes.is_empty()
    }

    /// Says whether there is a choice that no wary wait contradicts.
    pub fn notify_one(&mut self) -> bool {
        let mut outcomes = Vec::with_capacity(self.outcomes.len());
        for mut outcome in self.outcomes.drain(..) {
            if outcome.needy.is_empty() {
                if outcome.indifferent.pop_first().is_some() || self.wary == 0 {
                    outcomes.push(outcome);
                }
                continue;
            }
            if self.wary_to_come > 0 && !outcome.indifferent.is_empty() {
                let mut other = outcome.clone();
                other.indifferent.pop_first();
                outcomes.push(other);
            }
            outcome.needy.pop_first();
            outcomes.push(outcome);
        }
        self.outcomes = outcomes;
        self.tidy();
        !self.outcomes.is_empty()
    }

    /// Says whether no wary wait is going on.
    pub fn notify_all(&mut self) -> bool {
        self.outcomes.truncate(1);
        self.outcomes[0] = Unnotified::default();
        self.wary == 0
    }

    fn tidy(&mut self) {
        if self.outcomes.len() > 1 {
            self.outcomes.sort_unstable();
            self.outcomes.dedup();
        }
    }
}

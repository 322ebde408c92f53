//! Keeps one thread from running as long as anything else can happen: others run, deadlines pass, yields count for nothing. So
//! time limits expire that nobody expects to, and whoever must not be late is.

use super::{Choice, Policy, View};

/// Slices of the others after which they are taken to wait for the victim.
const PATIENCE: u32 = 200;
const SLICE: u32 = 50;

pub struct Starve {
    victim: u32,
    /// Slices since the victim last ran.
    waited: u32,
}

impl Starve {
    pub const fn new(victim: u32) -> Self {
        Self { victim, waited: 0 }
    }
}

impl Policy for Starve {
    fn pick(&mut self, view: &View<'_>) -> Choice {
        let victim = view.candidates.iter().find(|c| c.id == self.victim && c.enabled);
        let others = || view.candidates.iter().filter(|c| c.id != self.victim);
        let after = others().find(|c| c.enabled && c.id > view.current);
        let next = after.or_else(|| others().find(|c| c.enabled));
        // Nobody but the victim: a deadline may pass before it is its turn.
        let next = next.or_else(|| others().find(|c| c.timed && victim.is_some()));
        match next.filter(|_| self.waited < PATIENCE) {
            Some(other) => {
                self.waited += 1;
                Choice::Run { thread: other.id, steps: SLICE }
            }
            None => {
                self.waited = 0;
                victim.map_or(Choice::Nobody, |victim| Choice::Run { thread: victim.id, steps: SLICE })
            }
        }
    }
}

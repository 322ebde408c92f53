//! Exploration: all that other schedules can do to a program, as far as the budget goes.
//!
//! Every run teaches what its threads do when they are told what they were told ([`tree`]). All runs together are a model of
//! the program, and a [`search`] through what its threads can do to each other ([`state`]) finds the next thing that no run
//! has shown: a thread that is told something new, or a state in which nobody can move. A run along the way to it shows it, and
//! teaches more. When the search finds nothing new, every class of executions (see [`classes`](crate::classes)) has been
//! accounted for, and every failure that one thread can come to has been run into.
//!
//! Source: the idea of covering executions by what reads return is that of maximal causality reduction (Huang, PLDI 2015).
//! Different here: runs are not searched one by one for reads that could return something else; what they taught is put
//! together. So the number of runs goes with what single threads can do, not with the combinations; and which values meet is
//! answered by the model, exactly, locks, conditions, barriers, semaphores, tries and timeouts included. States are looked
//! at in the order of preemptions, so that a search that does not come to its end has seen the simplest ones.
//!
//! Guarantee: if [`Explored::complete`], every execution that the runtime's scheduler can produce is of one of the classes
//! counted, provided that threads are deterministic and share nothing but what was recorded. What speaks against that is told
//! ([`Explored::why_not`]). Loops that wait are followed for a few rounds only.

mod futures;
mod search;
mod state;
mod tree;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use reweave_trace::{Result, Trace};

pub use search::Target;
use search::{Found, Goal, Limits, Search};
use tree::Tree;

/// States of one search. Each takes some hundred bytes.
const STATES: usize = 300_000;
/// Runs after one search, at first.
const TARGETS: usize = 8;
/// Longer runs are not explored: their model would take minutes to search.
pub const LONGEST: u64 = 100_000;

/// How far it came.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Explored {
    pub runs: u64,
    pub classes: u64,
    pub states: u64,
    pub complete: bool,
    /// Why there may be more.
    pub why_not: Option<&'static str>,
}

/// What is known of a program.
#[derive(Default)]
pub struct Explorer {
    tree: Tree,
    tried: HashSet<Goal>,
    runs: u64,
}

impl Explorer {
    /// Learns from a run.
    pub fn learn(&mut self, trace: &Trace) -> Result<()> {
        self.tree.learn(trace)?;
        self.runs += 1;
        Ok(())
    }

    /// What to run next, until nothing new is to be expected: then an empty list.
    pub fn next(&mut self, deadline: Instant) -> (Vec<Target>, Explored) {
        let targets = TARGETS.max(self.runs as usize / 2);
        let limits = Limits { states: STATES, targets, deadline };
        let found = Search::new(&self.tree, &self.tried, limits).run();
        self.tried.extend(found.targets.iter().map(|target| target.goal.clone()));
        let explored = self.explored(&found);
        (found.targets, explored)
    }

    fn explored(&self, found: &Found) -> Explored {
        let doubts = self.tree.doubts;
        // A hang that was run into stays one.
        let unreached = found.unreached.iter().any(|goal| matches!(goal, Goal::Learn { .. }));
        let why_not = match () {
            () if doubts.too_many_threads => Some("it has too many threads"),
            () if doubts.outside => {
                Some("it deals with more than threads and memory (signals, files, other processes)")
            }
            () if doubts.unsteady => Some("its threads do not always do the same when they read the same"),
            () if doubts.foreign => Some("some values come from code that was not recorded"),
            () if !found.targets.is_empty() => Some("there is more to be run"),
            () if !found.complete => Some("there are too many states"),
            () if unreached => Some("some schedules could not be followed"),
            () if found.spins => Some("loops that wait were followed for a few rounds only"),
            () => None,
        };
        Explored {
            runs: self.runs,
            classes: found.classes.len() as u64,
            states: found.states as u64,
            complete: why_not.is_none(),
            why_not,
        }
    }
}

/// Whether a run is short enough to be learned from.
pub const fn is_short(events: u64) -> bool {
    events <= LONGEST
}

/// How long one run may take.
pub fn limit(took: Duration) -> Duration {
    (took * 10).max(Duration::from_secs(2))
}

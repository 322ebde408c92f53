//! All schedules of a program, one step at a time: what it can fail at, where it can get stuck, which accesses race,
//! and how many classes of executions there are.
//!
//! The definitions are those of the rest of the project, its code is not: nothing here is shared with what runs,
//! predicts or explores programs, so that one can be compared with the other. States that were seen before are not
//! looked at again; what each thread has read so far is part of the state, as it is what tells classes apart.
//!
//! Guarantee: complete, unless [`Behaviours::complete`] says otherwise. Costs a state for each combination of what
//! threads have read and where they are: for programs of a dozen statements.

mod local;
mod machine;
mod memory;
mod sync;
mod thread;

use std::collections::{BTreeSet, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::language::Program;
use machine::State;

/// A thread by descent: which child of which thread.
pub type Path = Vec<u32>;

/// Where a thread waits for ever.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Waiting {
    pub thread: Path,
    pub line: u32,
    /// For what: `a lock`.
    pub what: &'static str,
}

/// All that a program can do.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Behaviours {
    /// Lines at which it can fail.
    pub failures: BTreeSet<u32>,
    /// Combinations of threads that wait while nobody can go on.
    pub deadlocks: BTreeSet<BTreeSet<Waiting>>,
    /// Pairs of lines whose accesses conflict and are both next in some state, not both of them atomic. The smaller
    /// first.
    pub races: BTreeSet<(u32, u32)>,
    /// What all threads read until the end, outcomes of synchronization included, and where they wait if nobody can go
    /// on.
    pub classes: BTreeSet<u64>,
    /// What it prints.
    pub outputs: BTreeSet<Vec<String>>,
    pub states: usize,
    /// Every state was looked at.
    pub complete: bool,
}

/// Looks at no more than so many states.
pub fn enumerate(program: &Program, most: usize) -> Behaviours {
    let mut behaviours = Behaviours::default();
    let mut seen: HashSet<[u64; 2]> = HashSet::new();
    let first = State::new(program);
    seen.insert(fingerprint(&first));
    let mut rest = vec![first];
    while let Some(state) = rest.pop() {
        behaviours.states += 1;
        if behaviours.states > most {
            return behaviours;
        }
        let enabled = state.enabled(program);
        behaviours.races.extend(state.races(program, &enabled));
        if enabled.is_empty() {
            behaviours.deadlocks.insert(state.waiting(program));
            behaviours.classes.insert(state.class(program));
            behaviours.outputs.insert(state.output.clone());
        }
        for who in enabled {
            let mut next = state.clone();
            next.step(program, who);
            match next.end {
                Some(end) => {
                    behaviours.failures.extend(end.failed_at);
                    behaviours.classes.insert(next.class(program));
                    behaviours.outputs.insert(next.output);
                }
                None if seen.insert(fingerprint(&next)) => rest.push(next),
                None => {}
            }
        }
    }
    behaviours.complete = true;
    behaviours
}

/// Two independent hashes: equal ones mean equal states, as surely as anybody needs.
fn fingerprint(state: &State) -> [u64; 2] {
    [1u8, 2].map(|salt| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        state.hash(&mut hasher);
        hasher.finish()
    })
}

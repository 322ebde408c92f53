//! The pairs of a window that are worth a question: conflicting accesses that neither a common lock nor an order that
//! every reordering keeps forbids (the quick check), by pair of code positions, likely ones first.

use std::collections::BTreeMap;
use std::time::Instant;

use reweave_model::Pc;

use crate::feasible::Index;
use crate::history::*;
use crate::linear::{FastMap, FastSet};
use crate::lower::Lowered;
use crate::search::{Context, SearchLimits, all_are_near, near};

/// Questions per pair of code positions; a pair that is no race by so many tries is given up (and counted).
const TRIES: usize = 100;

/// The pairs of one pair of code positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Group {
    pub pcs: (Pc, Pc),
    // invariant: at most `TRIES`
    pub pairs: Vec<(Pos, Pos)>,
    /// More pairs passed the quick check than are listed.
    pub more: bool,
}

/// Accesses that are alike: code position, thread, whether they write, whether they are plain, set of locks held.
type Alike = (Pc, Thread, bool, bool, u32);

/// Groups of a window beyond this are counted, not kept.
const MOST: usize = 50_000;

/// The groups of a window, as far as there was time for them.
#[derive(Default)]
pub(super) struct Groups {
    pub all: Vec<Group>,
    /// Pairs of code positions that were left out.
    pub left_out: u64,
}

/// Users of a cell, by thread: how many there are, and how many of them write.
#[derive(Default)]
struct Users(FastMap<Thread, [u64; 2]>);

impl Users {
    fn of<'u>(users: impl Iterator<Item = &'u Alike>) -> Self {
        let mut counts: FastMap<Thread, [u64; 2]> = FastMap::default();
        for (_, thread, writes, ..) in users {
            let count = counts.entry(*thread).or_default();
            count[0] += 1;
            count[1] += u64::from(*writes);
        }
        Self(counts)
    }

    /// Takes one away, and says with how many of the others it can conflict.
    fn without(&mut self, (_, thread, writes, ..): &Alike) -> u64 {
        if let Some(count) = self.0.get_mut(thread) {
            count[0] -= 1;
            count[1] -= u64::from(*writes);
        }
        let others = self.0.iter().filter(|(other, _)| *other != thread);
        others.map(|(_, count)| count[usize::from(!writes)]).sum()
    }
}

/// The groups of a window that are wanted.
pub(super) fn groups(
    lowered: &Lowered,
    index: &Index<'_>,
    wanted: &dyn Fn(&(Pc, Pc)) -> bool,
    limits: &SearchLimits<'_>,
) -> Groups {
    let history = &lowered.history;
    let context = Context::new(history, index);
    let mut cells: Vec<BTreeMap<Alike, Vec<Pos>>> = vec![BTreeMap::new(); history.initial.len()];
    for pos in history.positions() {
        let step = history.step(pos);
        let (Some(access), Some(_)) = (step.action.access(), step.event) else { continue };
        let mut last = None;
        for &(cell, _) in access.reads.iter().chain(&access.writes) {
            if last != Some(cell) {
                let writes = access.writes.binary_search_by_key(&cell, |(cell, _)| *cell).is_ok();
                let plain = access.kind == AccessKind::Plain;
                let key = (lowered.origin(pos).pc, step.thread, writes, plain, context.locks(pos));
                let list = cells[cell.index()].entry(key).or_default();
                if list.last() != Some(&pos) {
                    list.push(pos);
                }
            }
            last = Some(cell);
        }
    }
    let mut groups: BTreeMap<(Pc, Pc), Group> = BTreeMap::new();
    let mut seen: FastSet<(Pos, Pos)> = FastSet::default();
    let mut left_out = 0;
    // What is listed has to be asked about, too.
    let now = Instant::now();
    let half = limits.deadline.map(|deadline| now + deadline.saturating_duration_since(now) / 2);
    let limits = SearchLimits { deadline: half, ..*limits };
    for users in &cells {
        let mut later = Users::of(users.keys());
        let users: Vec<_> = users.iter().collect();
        for (i, (user, ones)) in users.iter().enumerate() {
            let possible = later.without(user);
            if limits.is_over() || groups.len() >= MOST {
                // Nobody could ask about more: of the rest it is counted how many there can be.
                left_out += possible;
                continue;
            }
            let (pc, thread, writes, plain, locks) = user;
            for ((other_pc, other_thread, other_writes, other_plain, other_locks), twos) in &users[i + 1..] {
                let pcs = (*pc.min(other_pc), *pc.max(other_pc));
                let conflict = (*writes || *other_writes) && (*plain || *other_plain);
                if thread == other_thread || !conflict || !wanted(&pcs) || context.excluded(*locks, *other_locks) {
                    continue;
                }
                let apart = |ones: &[Pos], twos: &[Pos]| context.ordered(history, ones[ones.len() - 1], twos[0]);
                if apart(ones, twos) || apart(twos, ones) {
                    continue;
                }
                let group = groups.entry(pcs).or_insert(Group { pcs, pairs: Vec::new(), more: false });
                group.more |= !all_are_near(ones, twos, TRIES);
                for (first, second) in near(ones, twos, TRIES) {
                    if group.pairs.len() >= TRIES {
                        group.more = true;
                        break;
                    }
                    let pair = (first.min(second), first.max(second));
                    if seen.insert(pair) && !context.ordered(history, pair.0, pair.1) {
                        group.pairs.push(pair);
                    }
                }
            }
        }
    }
    let mut groups: Vec<Group> = groups.into_values().filter(|group| !group.pairs.is_empty() || group.more).collect();
    groups.iter_mut().for_each(|group| group.pairs.sort_unstable_by_key(|(first, second)| second.0 - first.0));
    Groups { all: groups, left_out }
}

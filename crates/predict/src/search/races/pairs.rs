//! The pairs of a window that are worth a question: conflicting accesses that neither a common lock nor an order that
//! every reordering keeps forbids (the quick check), by pair of code positions, likely ones first.

use std::collections::{BTreeMap, HashSet};

use reweave_model::Pc;

use crate::feasible::Index;
use crate::history::*;
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
    let mut seen: HashSet<(Pos, Pos)> = HashSet::new();
    let mut left_out = 0;
    for users in &cells {
        let users: Vec<_> = users.iter().collect();
        for (i, ((pc, thread, writes, plain, locks), ones)) in users.iter().enumerate() {
            if limits.is_over() || groups.len() >= MOST {
                // Nobody could ask about more: of the rest it is counted how many there can be.
                left_out += (users.len() - i - 1) as u64;
                continue;
            }
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

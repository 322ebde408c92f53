//! The pairs of a window that are worth a question: conflicting accesses that neither a common lock nor an order that
//! every reordering keeps forbids (the quick check), by pair of code positions, likely ones first.

use std::collections::BTreeMap;
use std::time::Instant;

use reweave_model::Pc;

use crate::feasible::Index;
use crate::history::*;
use crate::linear::FastSet;
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

impl Group {
    /// The pairs of what two threads do, unless they are ordered anyway.
    fn add(
        &mut self,
        context: &Context,
        (thread, ones): (Thread, &[Pos]),
        (other, twos): (Thread, &[Pos]),
        seen: &mut FastSet<(Pos, Pos)>,
    ) {
        let apart = |ones: &[Pos], twos: &[Pos]| context.ordered(ones[ones.len() - 1], twos[0]);
        if thread == other || apart(ones, twos) || apart(twos, ones) {
            return;
        }
        self.more |= !all_are_near(ones, twos, TRIES);
        for (first, second) in near(ones, twos, TRIES) {
            if self.pairs.len() >= TRIES {
                self.more = true;
                break;
            }
            let pair = (first.min(second), first.max(second));
            if seen.insert(pair) && !context.ordered(pair.0, pair.1) {
                self.pairs.push(pair);
            }
        }
    }
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

/// What can be said of accesses that are alike, whichever thread makes them: code position, whether they write, whether
/// they are plain, set of locks held.
type Sort = (Pc, bool, bool, u32);

/// Users of a cell of one sort, by thread.
type Users<'u> = BTreeMap<Sort, Vec<(Thread, &'u [Pos])>>;

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
    for cell in &cells {
        let mut users = Users::new();
        for ((pc, thread, writes, plain, locks), all) in cell {
            users.entry((*pc, *writes, *plain, *locks)).or_default().push((*thread, all));
        }
        // Threads come and go by the thousand: what their locks keep apart is settled once for all of them.
        let users: Vec<_> = users.iter().collect();
        let mut later = [users.len(), users.iter().filter(|((_, writes, ..), _)| *writes).count()];
        for (i, ((pc, writes, plain, locks), ones)) in users.iter().enumerate() {
            let possible = later[usize::from(!*writes)] as u64;
            later = [later[0] - 1, later[1] - usize::from(*writes)];
            if limits.is_over() || groups.len() >= MOST {
                // Nobody could ask about more: of the rest it is counted how many there can be.
                left_out += possible;
                continue;
            }
            for ((other_pc, other_writes, other_plain, other_locks), twos) in &users[i..] {
                let pcs = (*pc.min(other_pc), *pc.max(other_pc));
                let conflict = (*writes || *other_writes) && (*plain || *other_plain);
                if !conflict || !wanted(&pcs) || context.excluded(*locks, *other_locks) {
                    continue;
                }
                let group = groups.entry(pcs).or_insert(Group { pcs, pairs: Vec::new(), more: false });
                for (at, one) in ones.iter().enumerate() {
                    if group.pairs.len() >= TRIES || limits.is_over() {
                        group.more = true;
                        break;
                    }
                    // Those of one sort meet each other, each pair of threads once.
                    let same = std::ptr::eq(*ones, *twos);
                    for two in &twos[if same { at + 1 } else { 0 }..] {
                        group.add(&context, *one, *two, &mut seen);
                    }
                }
            }
        }
    }
    let mut groups: Vec<Group> = groups.into_values().filter(|group| !group.pairs.is_empty() || group.more).collect();
    groups.iter_mut().for_each(|group| group.pairs.sort_unstable_by_key(|(first, second)| second.0 - first.0));
    Groups { all: groups, left_out }
}

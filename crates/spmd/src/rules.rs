//! The pair rules: when two accesses to common bytes race, order given (R7 to R10, R15 to R19).
//!
//! This is the definition for one pair; [`crate::owner`] finds the pairs. The oracle implements the
//! same table by itself, from the events.

use std::collections::HashMap;

use crate::access::{Access, Domain, End, OwnersEvent, Role};
use crate::event::Operator;
use crate::ids::Moment;
use crate::order::{Channel, Order, Sync};
use crate::values::{Link, Links};

/// What is said about a pair.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// They cannot be under way at once, or do not mind.
    Apart,
    /// Practice or a guess says they are apart, the letter of the standard does not.
    Potential(Why),
    Race,
}

/// Why a pair is no more than potential.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Why {
    /// R2, R18: over in practice, by the letter only later.
    OverByPractice,
    /// R10: accumulates with operations that may not be mixed.
    MixedOperations,
    /// R18: a flag that is set by a plain put and waited for.
    FlagByPut,
    /// The order rests on a value that several writes could have written.
    SeveralWriters,
}

/// Everything that is known about the order of events.
pub struct Known {
    certain: Belief,
    /// With what values possibly say; `None`: nothing more.
    possible: Option<Belief>,
}

struct Belief {
    order: Order,
    /// Updates that were seen (R17).
    seen: Vec<Link>,
}

impl Belief {
    fn new(syncs: &[&Sync], seen: Vec<Link>) -> Belief {
        let edge = |(number, link): (u32, &Link)| {
            let channel = Channel::Seen(number);
            let write = Sync { moment: link.written.moment, brings: vec![channel], awaits: Vec::new(), voids: None };
            let read = Sync { moment: link.seen, brings: Vec::new(), awaits: vec![(channel, 1)], voids: None };
            [write, read]
        };
        let edges: Vec<Sync> = (0..).zip(&seen).flat_map(edge).collect();
        Belief { order: Order::new(syncs.iter().copied().chain(&edges)), seen }
    }
}

impl Known {
    /// Program order alone: what an owner knows before anybody sends a log.
    pub fn program_order() -> Known {
        Known { certain: Belief::new(&[], Vec::new()), possible: None }
    }

    pub fn new(syncs: &[&Sync], links: Links) -> Known {
        let Links { certain, possible, .. } = links;
        let all = (!possible.is_empty()).then(|| certain.iter().chain(&possible).cloned().collect());
        let possible = all.map(|all| Belief::new(syncs, all));
        // Writers that cannot all have been seen say nothing.
        let possible = possible.filter(|belief| belief.order.incomplete == 0);
        Known { certain: Belief::new(syncs, certain), possible }
    }

    /// The order that is certain.
    pub fn order(&self) -> &Order {
        &self.certain.order
    }

    /// Times that the logs contradicted themselves.
    pub fn incomplete(&self) -> usize {
        self.certain.order.incomplete
    }
}

/// The events of an owner that others refer to.
pub type Owned = HashMap<OwnersEvent, Moment>;

/// The verdict on block `i` of `a` and block `j` of `b`, which have a common byte. `distance`: how
/// many bytes the block of `b` starts behind that of `a`.
pub fn judge(known: &Known, owned: &Owned, (a, i): (&Access, u32), (b, j): (&Access, u32), distance: i64) -> Verdict {
    if !(a.writes || b.writes) || a.start_of(i) == b.start_of(j) || exclude(a, b) || is_inside(a, b) {
        return Verdict::Apart;
    }
    let mut verdict = match atomic(a, b, distance) {
        Verdict::Apart => return Verdict::Apart,
        other => other,
    };
    let mut soften = |why| {
        if verdict == Verdict::Race {
            verdict = Verdict::Potential(why);
        }
    };
    let pair = Pair { owned, a, i, b, j };
    if pair.ordered(&known.certain, |access| access.end_by_the_letter) {
        return Verdict::Apart;
    }
    if pair.ordered(&known.certain, |access| access.end) {
        soften(Why::OverByPractice);
    }
    if known.possible.as_ref().is_some_and(|possible| pair.ordered(possible, |access| access.end)) {
        soften(Why::SeveralWriters);
    }
    verdict
}

/// Loads and stores of one rank alone are no matter of ranks: its threads are tested like those of any program.
fn is_inside(a: &Access, b: &Access) -> bool {
    let local = |access: &Access| matches!(access.role, Role::Load | Role::Store);
    local(a) && local(b) && a.strand.rank == b.strand.rank
}

/// R7, R19: a common lock that one of them holds exclusively.
fn exclude(a: &Access, b: &Access) -> bool {
    a.locks.iter().any(|mine| {
        b.locks.iter().any(|theirs| {
            mine.lock == theirs.lock && (mine.exclusive || theirs.exclusive) && !same_holder(a, b, mine.lock)
        })
    })
}

/// A rank does not exclude itself from a window or a word; strands exclude each other by mutexes.
fn same_holder(a: &Access, b: &Access, lock: crate::access::LockName) -> bool {
    match lock {
        crate::access::LockName::Mutex(..) => a.strand == b.strand,
        _ => a.strand.rank == b.strand.rank,
    }
}

/// R8 to R10, R18: are they atomic towards each other?
fn atomic(a: &Access, b: &Access, distance: i64) -> Verdict {
    if matches!((a.role, b.role), (Role::Put, Role::Wait) | (Role::Wait, Role::Put)) {
        return Verdict::Potential(Why::FlagByPut);
    }
    let (Some(mine), Some(theirs)) = (a.atomic, b.atomic) else { return Verdict::Race };
    if mine.datatype != theirs.datatype || mine.element != theirs.element {
        return Verdict::Race;
    }
    match (mine.domain, theirs.domain) {
        (Domain::Window(one), Domain::Window(other)) if one == other => {
            if distance % i64::from(mine.element) != 0 {
                return Verdict::Race;
            }
        }
        // A wait is a wait, whichever team the update came through.
        (Domain::Teams(one), Domain::Teams(other)) => {
            let same = one == other || a.role == Role::Wait || b.role == Role::Wait;
            return if same && distance == 0 { Verdict::Apart } else { Verdict::Race };
        }
        _ => return Verdict::Race,
    }
    if a.strand.rank == b.strand.rank && a.accumulates.ordered {
        return Verdict::Apart;
    }
    let simple = |operator| matches!(operator, Operator::Replace | Operator::NoOp | Operator::CompareAndSwap);
    let may_mix = mine.operator == Operator::NoOp
        || theirs.operator == Operator::NoOp
        || (simple(mine.operator) && simple(theirs.operator));
    if mine.operator == theirs.operator || (may_mix && !a.accumulates.same_operator) {
        Verdict::Apart
    } else {
        Verdict::Potential(Why::MixedOperations)
    }
}

struct Pair<'a> {
    owned: &'a Owned,
    a: &'a Access,
    i: u32,
    b: &'a Access,
    j: u32,
}

impl Pair<'_> {
    /// Is one of them over when the other starts?
    fn ordered(&self, belief: &Belief, end: impl Fn(&Access) -> End) -> bool {
        self.over(&belief.order, end(self.a), (self.a, self.i), (self.b, self.j))
            || self.over(&belief.order, end(self.b), (self.b, self.j), (self.a, self.i))
            || self.ordered_by_context(belief)
    }

    fn over(&self, order: &Order, end: End, (first, i): (&Access, u32), second: (&Access, u32)) -> bool {
        let end = match first.end_of(end, i) {
            End::At(moment) => moment,
            End::Owners(event) => match self.owned.get(&event) {
                Some(&moment) => moment,
                None => return false,
            },
            End::Past => return true,
            End::Open | End::AtStart => return false,
        };
        self.starts(second).any(|start| order.before(end, start))
    }

    fn starts(&self, (access, block): (&Access, u32)) -> impl Iterator<Item = Moment> {
        let opened = access.opened.and_then(|event| self.owned.get(&event).copied());
        std::iter::once(access.start_of(block)).chain(opened)
    }

    /// R16: a fence of the context between two operations of one rank on one target. R17: an operation
    /// behind such a fence was seen.
    fn ordered_by_context(&self, belief: &Belief) -> bool {
        let fenced = match (self.a.ordered, self.b.ordered) {
            (Some(mine), Some(theirs)) => {
                // One strand: its program order says which came first. Of two strands, the fence may
                // lie anywhere unless the first comes before the second.
                let (first, second) = (self.a.start_of(self.i), self.b.start_of(self.j));
                let pair = mine.pair != 0 && mine.pair == theirs.pair;
                self.a.strand.rank == self.b.strand.rank
                    && mine.context == theirs.context
                    && (((mine.epoch < theirs.epoch || pair) && belief.order.before(first, second))
                        || ((theirs.epoch < mine.epoch || pair) && belief.order.before(second, first)))
            }
            _ => false,
        };
        fenced
            || self.seen_before(belief, (self.a, self.i), (self.b, self.j))
            || self.seen_before(belief, (self.b, self.j), (self.a, self.i))
    }

    fn seen_before(&self, belief: &Belief, (first, i): (&Access, u32), second: (&Access, u32)) -> bool {
        let Some(order) = first.ordered else { return false };
        let start = first.start_of(i);
        (belief.seen.iter())
            .filter(|link| {
                let Some(flag) = link.written.ordered else { return false };
                let this = link.written.moment == start;
                let fenced = flag.epoch > order.epoch || (order.pair != 0 && flag.pair == order.pair);
                let behind = fenced && belief.order.before(start, link.written.moment);
                link.written.owner == first.owner
                    && link.written.moment.strand.rank == first.strand.rank
                    && flag.context == order.context
                    && (this || behind)
            })
            // The wait itself was under way while the update came.
            .any(|link| self.starts(second).any(|start| start != link.seen && belief.order.before(link.seen, start)))
    }
}

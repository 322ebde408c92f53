//! The owner's check: of all accesses to a rank's memory, the pairs that race.
//!
//! Sort and sweep over addresses, then the exact test of strides ([`Span::meetings`]), then the pair
//! rules. Deviation from the paper: it keeps an interval skip list and looks each access up; sorting
//! what a phase brought is 20 to 600 times faster, and gives the same pairs. Locks are compared pair
//! by pair instead of in a trie (Algorithm 7.1): sets of more than two locks are rare.

use std::collections::BTreeMap;

use crate::access::{Access, Atomic, Role};
use crate::event::Place;
use crate::ids::{Rank, Site};
use crate::lower::{Lowering, Part};
use crate::rules::{Known, Owned, Verdict, judge};
use crate::span::Span;

/// A statement, as findings tell them apart.
pub type Statement = (Site, Role);

/// A pair of accesses that can be under way at once.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    pub a: Access,
    /// The block of `a` that is meant.
    pub i: u32,
    pub b: Access,
    pub j: u32,
    pub verdict: Verdict,
    /// The first common byte, as an address of the owner.
    pub address: u64,
}

impl Found {
    /// What makes it the same finding as another.
    pub fn statements(&self) -> (Statement, Statement) {
        let (a, b) = ((self.a.site, self.a.role), (self.b.site, self.b.role));
        if a <= b { (a, b) } else { (b, a) }
    }
}

/// Pairs of blocks that are looked at for one pair of accesses. Beyond, the pair is given up and
/// counted; strided accesses of one statement that meet that often are in order or not alike.
const MEETINGS: usize = 4096;

/// Further pairs of the same statements that are kept.
const OTHERS: usize = 12;

/// The findings of a sweep, one for each pair of statements.
#[derive(Default)]
pub struct Findings {
    pub pairs: BTreeMap<(Statement, Statement), Found>,
    /// Further pairs of the same statements that race: one of them may have a witness where another one has none.
    pub others: BTreeMap<(Statement, Statement), Vec<Found>>,
    pub given_up: usize,
}

/// Where accesses lie in the owner's memory.
pub fn address(part: impl Fn(crate::ids::Window) -> Option<Part>, place: Place) -> Option<u64> {
    match place {
        Place::Address(address) => Some(address),
        Place::Window { window, units, bytes } => {
            let part = part(window)?;
            Some(part.base.wrapping_add_signed(units * i64::from(part.unit) + bytes))
        }
    }
}

/// The bytes of an access.
pub fn span(lowering: &Lowering, access: &Access) -> Option<Span> {
    let lo = address(|window| lowering.part(window), access.place)?;
    if access.len == 0 || access.count == 0 {
        return None;
    }
    Some(Span { lo, len: access.len, stride: access.stride as u64, count: access.count })
}

/// An access with its bytes.
pub type Placed<'a> = (Span, &'a Access);

/// Is there a pair that only the order of events could keep apart? What an owner asks before it asks
/// anybody for logs.
pub fn has_candidate(accesses: &mut [Placed<'_>], owned: &Owned) -> bool {
    let known = Known::program_order();
    sweep(accesses, &mut 0, |a, b| matches(&known, owned, a, b, &mut 0).is_some())
}

/// All pairs that race, one for each pair of statements, the strongest verdict.
pub fn check(accesses: &mut [Placed<'_>], known: &Known, owned: &Owned) -> Findings {
    let (mut findings, mut given_up) = (Findings::default(), 0);
    sweep(accesses, &mut given_up, |a, b| {
        let (one, other) = ((a.1.site, a.1.role), (b.1.site, b.1.role));
        let key = if one <= other { (one, other) } else { (other, one) };
        let raced = findings.pairs.get(&key).is_some_and(|found| found.verdict == Verdict::Race);
        if raced && findings.others.get(&key).is_some_and(|others| others.len() == OTHERS) {
            return false;
        }
        if let Some(found) = matches(known, owned, a, b, &mut findings.given_up) {
            if raced && found.verdict == Verdict::Race {
                findings.others.entry(key).or_default().push(found);
                return false;
            }
            let better = findings.pairs.get(&key).is_none_or(|earlier| earlier.verdict < found.verdict);
            if better {
                findings.pairs.insert(key, found);
            }
        }
        false
    });
    findings.given_up += given_up;
    findings
}

/// The worst that two accesses can do to each other.
fn matches(known: &Known, owned: &Owned, a: &Placed<'_>, b: &Placed<'_>, given_up: &mut usize) -> Option<Found> {
    let (&(span, a), &(other, b)) = (a, b);
    if !(a.writes || b.writes) {
        return None;
    }
    let mut worst: Option<Found> = None;
    let mut shown = 0;
    span.meetings(&other, MEETINGS, |i, j| {
        shown += 1;
        let mine = span.lo + span.stride * u64::from(i);
        let theirs = other.lo + other.stride * u64::from(j);
        let verdict = judge(known, owned, (a, i), (b, j), theirs.wrapping_sub(mine) as i64);
        if verdict > worst.as_ref().map_or(Verdict::Apart, |found| found.verdict) {
            worst = Some(Found { a: a.clone(), i, b: b.clone(), j, verdict, address: mine.max(theirs) });
        }
        verdict == Verdict::Race
    });
    *given_up += usize::from(shown == MEETINGS);
    worst
}

/// Accesses that need not be compared with their own kind.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Read,
    Write,
    /// The same kind of atomic operation on elements that coincide, with whether it writes.
    Atomic(Atomic, u64, bool),
    /// Loads or stores of one rank, which are none of our business among themselves.
    Local(Rank, bool),
}

impl Class {
    fn of((span, access): &Placed<'_>) -> Class {
        match (access.role, access.atomic) {
            (Role::Load | Role::Store, _) => Class::Local(access.strand.rank, access.writes),
            (_, Some(atomic)) if access.len == u64::from(atomic.element) && span.count == 1 => {
                Class::Atomic(atomic, span.lo % u64::from(atomic.element), access.writes)
            }
            _ if access.writes => Class::Write,
            _ => Class::Read,
        }
    }

    fn writes(self) -> bool {
        match self {
            Class::Read => false,
            Class::Write => true,
            Class::Atomic(_, _, writes) | Class::Local(_, writes) => writes,
        }
    }

    /// Can no pair of these be a race?
    fn harmless(self, other: Class) -> bool {
        let same = match (self, other) {
            (Class::Local(one, _), Class::Local(two, _)) => one == two,
            (Class::Atomic(..), Class::Atomic(..)) => self == other,
            _ => false,
        };
        same || !(self.writes() || other.writes())
    }
}

/// Pairs that are looked at for one owner. Beyond, the rest is given up and counted: that takes some seconds.
const PAIRS: usize = 30_000_000;

/// Shows `meet` each pair of accesses whose hulls overlap, harmless ones apart, until it returns true.
fn sweep(
    accesses: &mut [Placed<'_>],
    given_up: &mut usize,
    mut meet: impl FnMut(&Placed<'_>, &Placed<'_>) -> bool,
) -> bool {
    accesses.sort_by_key(|(span, _)| span.lo);
    let mut left = PAIRS;
    // What may still overlap.
    let mut classes: BTreeMap<Class, Vec<usize>> = BTreeMap::new();
    for (number, current) in accesses.iter().enumerate() {
        let lo = current.0.lo;
        let class = Class::of(current);
        for (_, active) in classes.iter_mut().filter(|(other, _)| !class.harmless(**other)) {
            active.retain(|&earlier| accesses[earlier].0.hi() > lo);
            if active.len() > left {
                *given_up += 1;
                return false;
            }
            left -= active.len();
            if active.iter().any(|&earlier| meet(&accesses[earlier], current)) {
                return true;
            }
        }
        classes.entry(class).or_default().push(number);
    }
    false
}

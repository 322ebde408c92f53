//! Witnesses: a point of a run that obeys the rules at which both accesses of a pair are under way.
//!
//! A witness is a *cut*: how many entries of its log each strand has done. It is made from the order of events
//! ([`crate::order`]): everything that must come before the two accesses, and nothing else. [`Checker`] judges it by
//! itself, from the logs: it does the entries one by one as a run would, each when what its call waits for has
//! happened, and looks whether the two are under way at the end. Only a pair with a witness that it accepts is called
//! predicted.
//!
//! Not complete: a wait takes any update that satisfies it, and a lock on a window is taken to be granted where the call
//! returns; pairs that need more are left potential.

mod check;
mod explain;
mod lasting;

pub use check::{Checker, Rejected};

use crate::access::{Access, End};
use crate::event::{Event, Logs};
use crate::ids::{Moment, Rank};
use crate::order::Order;
use crate::owner::Found;
use crate::rules::Owned;

/// An entry of a log: the rank and the place in its log.
pub type At = (usize, usize);

/// Which side of an operation an access is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Memory of the rank that makes the call.
    Near,
    /// Memory of the target.
    Far,
}

/// One of the two accesses, by the entry that makes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Party {
    pub at: At,
    pub side: Side,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// By rank: for each of its strands, how many of the strand's entries have been done.
    pub cut: Vec<Vec<usize>>,
    pub parties: [Party; 2],
}

/// The entry that makes an access.
pub fn entry(logs: &Logs, access: &Access, block: u32) -> Option<At> {
    let moment = access.start_of(block);
    let rank = moment.strand.rank.0 as usize;
    let mut events = 0;
    for (index, logged) in logs.get(rank)?.iter().enumerate() {
        if logged.strand != moment.strand.number {
            continue;
        }
        match &logged.event {
            Event::Local { place, write, .. } => {
                let here = 2 * events + 1 == moment.at && logged.site == access.site;
                if here && *place == access.place && *write == access.writes {
                    return Some((rank, index));
                }
            }
            _ => {
                events += 1;
                if 2 * events == moment.at {
                    return Some((rank, index));
                }
            }
        }
    }
    None
}

/// Points at which both may be under way: the least that must have happened; with one of them as late as it is under
/// way, which is what values may ask for that the other one has seen; and behind the places where the strand of one of
/// them gives a mutex back, which the other one may need.
pub fn candidates(logs: &Logs, order: &Order, owned: &Owned, found: &Found) -> Vec<Witness> {
    let Some(least) = build(logs, order, owned, found) else { return Vec::new() };
    let mut all = vec![least.clone()];
    for (access, block) in [(&found.a, found.i), (&found.b, found.j)] {
        let last = match access.end {
            End::At(end) if end.strand == access.strand => end.at - 1,
            End::Open => u32::MAX,
            End::At(_) | End::AtStart | End::Owners(_) | End::Past => continue,
        };
        let strand = access.start_of(block).strand;
        for at in unlocks(logs, access, block).filter(|at| *at <= last).take(UNLOCKS).chain([last]) {
            let mut later = least.clone();
            let moment = Moment { strand, at };
            include(logs, &mut later.cut, strand.rank, strand.number, at);
            for (strand, known) in order.past(moment) {
                include(logs, &mut later.cut, strand.rank, strand.number, known);
            }
            if !all.contains(&later) {
                all.push(later);
            }
        }
    }
    all
}

/// Mutexes given back behind an access that are looked at.
const UNLOCKS: usize = 4;

/// When the strand of the access gives a mutex back behind it.
fn unlocks(logs: &Logs, access: &Access, block: u32) -> impl Iterator<Item = u32> {
    let moment = access.start_of(block);
    let log = logs.get(moment.strand.rank.0 as usize).map_or(&[][..], Vec::as_slice);
    let own = log.iter().filter(move |logged| logged.strand == moment.strand.number);
    let events = own.filter(|logged| !matches!(logged.event, Event::Local { .. }));
    let numbered = (1..).zip(events).filter(|(_, logged)| matches!(logged.event, Event::MutexUnlock { .. }));
    numbered.map(|(number, _)| 2 * number).filter(move |at| *at > moment.at)
}

/// The least that must have happened for both to be under way.
pub fn build(logs: &Logs, order: &Order, owned: &Owned, found: &Found) -> Option<Witness> {
    let mut cut: Vec<Vec<usize>> = logs.iter().map(|log| vec![0; strands(log)]).collect();
    let mut parties = Vec::new();
    for (access, block) in [(&found.a, found.i), (&found.b, found.j)] {
        let at = entry(logs, access, block)?;
        let opened = access.opened.and_then(|event| owned.get(&event).copied());
        for moment in [Some(access.start_of(block)), opened].into_iter().flatten() {
            for (strand, last) in order.past(moment) {
                include(logs, &mut cut, strand.rank, strand.number, last);
            }
        }
        if let Some(opened) = opened {
            include(logs, &mut cut, opened.strand.rank, opened.strand.number, opened.at);
        }
        // What happens where it stands is about to happen; everything else has begun.
        let strand = &logs[at.0][at.1].strand;
        let before = logs[at.0][..at.1].iter().filter(|logged| logged.strand == *strand).count();
        let instant = access.end == End::AtStart;
        let own = &mut cut[at.0][*strand as usize];
        *own = (*own).max(before + usize::from(!instant));
        parties.push(Party { at, side: if access.is_near() { Side::Near } else { Side::Far } });
    }
    Some(Witness { cut, parties: [parties[0], parties[1]] })
}

fn strands(log: &[crate::event::Logged]) -> usize {
    log.iter().map(|logged| logged.strand as usize + 1).max().unwrap_or(0)
}

/// Takes everything of the strand up to a moment into the cut.
fn include(logs: &Logs, cut: &mut [Vec<usize>], rank: Rank, strand: u32, last: u32) {
    let mut events = 0;
    let mut done = 0;
    for logged in logs[rank.0 as usize].iter().filter(|logged| logged.strand == strand) {
        let local = matches!(logged.event, Event::Local { .. });
        let at = if local { 2 * events + 1 } else { 2 * events + 2 };
        if at > last {
            break;
        }
        events += u32::from(!local);
        done += 1;
    }
    if let Some(own) = cut[rank.0 as usize].get_mut(strand as usize) {
        *own = (*own).max(done);
    }
}

impl Order {
    /// The last moment of each other strand that comes before.
    pub fn past(&self, moment: Moment) -> Vec<(crate::ids::Strand, u32)> {
        let clock = self.clock_at(moment);
        self.strands()
            .filter(|(strand, _)| *strand != moment.strand)
            .map(|(strand, number)| (strand, clock.get(number).copied().unwrap_or(0)))
            .collect()
    }
}

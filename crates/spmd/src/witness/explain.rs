//! Whether what atomic operations returned can be explained where the checker stands.
//!
//! Of several atomic operations on one word, any order that explains all values they returned is legal (*Values* of the
//! definition); where there is none, no run stands there. That is what keeps apart those who take a lock made of
//! compare-and-swap, or have tickets.
//!
//! Deviation: what a word holds after something else wrote it (a store, a long put) is not known; only what came after
//! the last such write, in the order in which the checker did the entries, is explained. A search that takes too long
//! explains nothing.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::At;
use crate::event::{Action, Event, Logs, Operation, Operator, Piece, Place, Through};
use crate::ids::{Datatype, Window};

/// States that are looked at for one word.
const STATES: usize = 20_000;

/// What an operation does to a word, whose value before is known or not.
#[derive(Clone, Copy, Debug)]
enum Effect {
    Nothing,
    Write(u64),
    Swap { compare: u64, new: u64 },
    Add(u64),
    And(u64),
    Or(u64),
    Xor(u64),
    Unknown,
}

/// One operation on a word.
#[derive(Debug)]
struct Step {
    at: At,
    effect: Effect,
    /// Where its value was seen to be back, and the value.
    returned: Option<(At, u64)>,
}

/// A word that atomic operations return values of.
struct Word {
    mask: u64,
    /// By rank and strand.
    lanes: BTreeMap<(usize, u32), Vec<Step>>,
    /// Other writes.
    disturbed: Vec<At>,
}

/// The words of a run.
pub(super) struct Words {
    words: Vec<Word>,
}

impl Words {
    pub(super) fn new(logs: &Logs) -> Words {
        let bases = bases(logs);
        let address = |owner: usize, place: Place| match place {
            Place::Address(address) => Some(address),
            Place::Window { window, units, bytes } => {
                let (base, unit) = bases.get(&(owner, window))?;
                Some(base.wrapping_add_signed(units * i64::from(*unit) + bytes))
            }
        };
        let mut words: BTreeMap<(usize, u64), (u64, Word)> = BTreeMap::new();
        let mut others: Vec<(usize, u64, u64, At)> = Vec::new();
        for (rank, log) in logs.iter().enumerate() {
            for (index, logged) in log.iter().enumerate() {
                let at = (rank, index);
                match &logged.event {
                    Event::Operation(operation) => {
                        let owner = operation.target.0 as usize;
                        let Some(lo) = address(owner, operation.place) else { continue };
                        if let Some(len) = single(operation) {
                            let fresh = || Word { mask: mask(len), lanes: BTreeMap::new(), disturbed: Vec::new() };
                            let (_, word) = words.entry((owner, lo)).or_insert_with(|| (len, fresh()));
                            let lane = word.lanes.entry((rank, logged.strand)).or_default();
                            lane.push(Step { at, effect: effect(operation), returned: None });
                        } else if operation.action.writes() {
                            others.extend(operation.pieces.iter().map(|piece| {
                                let (lo, hi) = hull(lo, piece);
                                (owner, lo, hi, at)
                            }));
                        }
                    }
                    Event::Returned { owner, place, value } => {
                        let owner = owner.0 as usize;
                        let word = address(owner, *place).and_then(|lo| words.get_mut(&(owner, lo)));
                        let lane = word.and_then(|(_, word)| word.lanes.get_mut(&(rank, logged.strand)));
                        let waits = |step: &&mut Step| step.returned.is_none() && brings(logs, step.at);
                        if let Some(step) = lane.and_then(|lane| lane.iter_mut().find(waits)) {
                            step.returned = Some((at, *value));
                        }
                    }
                    Event::Local { owner, place, len, write: true } => {
                        let owner = owner.0 as usize;
                        if let Some(lo) = address(owner, *place) {
                            others.push((owner, lo, lo + u64::from(*len), at));
                        }
                    }
                    Event::Buffer { buffer, write: true, .. } => {
                        others.extend(buffer.pieces.iter().map(|piece| {
                            let (lo, hi) = hull(buffer.address, piece);
                            (rank, lo, hi, at)
                        }));
                    }
                    _ => {}
                }
            }
        }
        words.retain(|_, (_, word)| {
            word.lanes.len() > 1 && word.lanes.values().flatten().any(|step| step.returned.is_some())
        });
        for (owner, lo, hi, at) in others {
            for (_, (_, word)) in words.range_mut((owner, lo.saturating_sub(7))..(owner, hi)) {
                word.disturbed.push(at);
            }
        }
        Words { words: words.into_values().map(|(_, word)| word).collect() }
    }

    /// Is there an explanation for all values that were returned? `done`: when the entry was done, 0 if not yet.
    pub(super) fn explained(&self, done: impl Fn(At) -> u32) -> bool {
        self.words.iter().all(|word| {
            let since = word.disturbed.iter().map(|&at| done(at)).max().unwrap_or(0);
            let lanes: Vec<Vec<Seen>> = (word.lanes.values())
                .map(|lane| {
                    let begun = lane.iter().take_while(|step| done(step.at) > 0);
                    let recent = begun.filter(|step| done(step.at) > since);
                    recent.map(|step| step.seen(word.mask, &done)).collect()
                })
                .collect();
            lanes.iter().all(|lane: &Vec<Seen>| lane.iter().all(|seen| seen.returned.is_none()))
                || explain(&lanes, word.mask)
        })
    }
}

/// A step as far as it is known at a cut.
struct Seen {
    effect: Effect,
    returned: Option<u64>,
}

impl Step {
    fn seen(&self, mask: u64, done: impl Fn(At) -> u32) -> Seen {
        let returned = self.returned.filter(|(at, _)| done(*at) > 0).map(|(_, value)| value & mask);
        Seen { effect: self.effect, returned }
    }
}

impl Seen {
    /// What the word holds afterwards; `None`: it cannot come now.
    fn apply(&self, before: Option<u64>, mask: u64) -> Option<Option<u64>> {
        let before = match (self.returned, before) {
            (Some(returned), Some(before)) if returned != before => return None,
            (Some(returned), _) => Some(returned),
            (None, before) => before,
        };
        Some(match self.effect {
            Effect::Nothing => before,
            Effect::Write(value) => Some(value & mask),
            Effect::Swap { compare, new } => before.map(|held| if held == compare & mask { new & mask } else { held }),
            Effect::Add(more) => before.map(|held| held.wrapping_add(more) & mask),
            Effect::And(with) => before.map(|held| held & with & mask),
            Effect::Or(with) => before.map(|held| (held | with) & mask),
            Effect::Xor(with) => before.map(|held| (held ^ with) & mask),
            Effect::Unknown => None,
        })
    }

    /// Does it change nothing, whenever it comes?
    fn only_reads(&self, mask: u64) -> bool {
        match (self.effect, self.returned) {
            (Effect::Nothing, _) => true,
            (Effect::Swap { compare, .. }, Some(returned)) => returned != compare & mask,
            _ => false,
        }
    }
}

/// Is there an order of the lanes in which every value is what the word held?
fn explain(lanes: &[Vec<Seen>], mask: u64) -> bool {
    let mut seen: HashSet<(Vec<usize>, Option<u64>)> = HashSet::new();
    let mut stack = vec![(vec![0; lanes.len()], None::<u64>)];
    while let Some((mut at, held)) = stack.pop() {
        // What reads what is there need not be left for later.
        for (lane, next) in lanes.iter().zip(&mut at) {
            while let Some(step) = lane.get(*next)
                && step.only_reads(mask)
                && step.returned.is_none_or(|returned| Some(returned) == held)
            {
                *next += 1;
            }
        }
        if lanes.iter().zip(&at).all(|(lane, &next)| lane[next..].iter().all(|step| step.returned.is_none())) {
            return true;
        }
        if seen.len() >= STATES || !seen.insert((at.clone(), held)) {
            continue;
        }
        for (number, lane) in lanes.iter().enumerate() {
            if let Some(after) = lane.get(at[number]).and_then(|step| step.apply(held, mask)) {
                let mut further = at.clone();
                further[number] += 1;
                stack.push((further, after));
            }
        }
    }
    false
}

fn mask(len: u64) -> u64 {
    u64::MAX >> (64 - 8 * len)
}

/// Where the ranks' parts of windows begin, and their displacement units.
fn bases(logs: &Logs) -> HashMap<(usize, Window), (u64, u32)> {
    let mut bases = HashMap::new();
    for (rank, log) in logs.iter().enumerate() {
        for logged in log {
            if let Event::WindowMade { window, base, unit, .. } = logged.event {
                bases.insert((rank, window), (base, unit));
            }
        }
    }
    bases
}

/// The bytes of an operation on one element.
fn single(operation: &Operation) -> Option<u64> {
    let [Piece { offset: 0, len, count: 1, element, .. }] = operation.pieces[..] else { return None };
    let known = operation.value.is_some() || !operation.action.writes();
    (known && len == u64::from(element) && (1..=8).contains(&len)).then_some(len)
}

/// Is what the operation returned logged?
fn brings(logs: &Logs, at: At) -> bool {
    let Event::Operation(operation) = &logs[at.0][at.1].event else { return false };
    match operation.through {
        Through::Window { .. } => operation.action.returns(),
        Through::Context { blocking, .. } => blocking && matches!(operation.action, Action::Fetch(_)),
    }
}

fn effect(operation: &Operation) -> Effect {
    let Some(value) = operation.value.filter(|_| operation.action.writes()) else { return Effect::Nothing };
    let integers = operation.pieces.iter().all(|piece| Datatype::is_integer(piece.datatype));
    match (operation.action.operator(), operation.compare) {
        (None | Some(Operator::Replace), _) => Effect::Write(value),
        (Some(Operator::CompareAndSwap), Some(compare)) => Effect::Swap { compare, new: value },
        (Some(Operator::Sum), _) if integers => Effect::Add(value),
        (Some(Operator::BitAnd), _) => Effect::And(value),
        (Some(Operator::BitOr), _) => Effect::Or(value),
        (Some(Operator::BitXor), _) => Effect::Xor(value),
        _ => Effect::Unknown,
    }
}

/// The bytes from the first to the last of a piece.
fn hull(start: u64, piece: &Piece) -> (u64, u64) {
    let last = piece.stride * i64::from(piece.count.max(1) - 1);
    let lo = start.wrapping_add_signed(piece.offset + last.min(0));
    (lo, lo + last.unsigned_abs() + piece.len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(effect: Effect, returned: Option<u64>) -> Seen {
        Seen { effect, returned }
    }

    fn take(returned: u64) -> Seen {
        seen(Effect::Swap { compare: 0, new: 1 }, Some(returned))
    }

    fn give() -> Seen {
        seen(Effect::Write(0), None)
    }

    #[test]
    fn two_cannot_have_taken_the_same_lock() {
        assert!(!explain(&[vec![take(0)], vec![take(0)]], u64::MAX));
        assert!(explain(&[vec![take(0), give()], vec![take(0)]], u64::MAX));
        assert!(explain(&[vec![take(0), give()], vec![take(1), take(1), take(0)]], u64::MAX));
        assert!(!explain(&[vec![take(0)], vec![take(1), take(0)]], u64::MAX));
    }

    #[test]
    fn tickets_come_one_after_the_other() {
        let draw = |number| seen(Effect::Add(1), Some(number));
        assert!(explain(&[vec![draw(0), draw(2)], vec![draw(1)]], 0xff));
        assert!(!explain(&[vec![draw(0)], vec![draw(0)]], 0xff));
        assert!(explain(&[vec![draw(255)], vec![draw(0)]], 0xff));
    }

    #[test]
    fn what_is_not_understood_explains_everything_behind_it() {
        let read = |value| seen(Effect::Nothing, Some(value));
        assert!(explain(&[vec![seen(Effect::Unknown, None)], vec![read(3), read(4)]], u64::MAX));
        assert!(!explain(&[vec![seen(Effect::Write(9), None)], vec![read(3), read(4)]], u64::MAX));
    }
}

//! The cycles of a window that are worth a question: requests that wait for each other in a circle, by their code
//! positions, likely ones first.

use std::collections::{BTreeMap, HashMap};

use reweave_model::{LockMode, Pc};

use super::relation::{Dependency, Id, Moded, Relation};
use crate::feasible::Index;
use crate::history::*;
use crate::search::KeptOrder;

/// Questions per set of code positions; what is no deadlock by so many tries is given up (and counted).
const TRIES: usize = 100;
/// Steps of the search for the cycles of one kind of request, and of all.
const MAX_SEARCH: u64 = 1 << 14;
const MAX_SEARCH_ALL: u64 = 1 << 20;
/// Kinds of cycles that are looked at.
const MAX_PATTERNS: usize = 1 << 14;
/// Cycles of one set of code positions among which the likeliest are chosen.
const MAX_CYCLES: usize = 100 * TRIES;

/// Cycles with the same code positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Group {
    /// Ascending.
    pub pcs: Vec<Pc>,
    /// Each in the order of waiting. invariant: at most [`TRIES`]
    pub cycles: Vec<Vec<Pos>>,
    /// There are more cycles than are listed.
    pub more: bool,
}

/// Requests that are alike: thread, locks held, lock wanted, code position.
type Key = (Thread, Vec<Moded>, Moded, Pc);

/// What an event that waits for a lock wants.
pub fn wanted(step: &Step) -> Option<(Lock, LockMode)> {
    match step.action {
        Action::Acquire { lock, mode } if !step.tried => Some((lock, mode)),
        Action::Woken { lock, .. } => Some((lock, LockMode::Exclusive)),
        _ => None,
    }
}

/// All requests of a history that somebody makes who holds a lock already, with what is held.
pub fn requests(history: &History) -> Vec<(Pos, Vec<Moded>, Moded)> {
    let mut held: Vec<Vec<Moded>> = vec![Vec::new(); history.threads.len()];
    let mut requests = Vec::new();
    for pos in history.positions() {
        let step = history.step(pos);
        let held = &mut held[step.thread.index()];
        if let Some((lock, mode)) = wanted(step).filter(|_| !held.is_empty() && step.event.is_some()) {
            requests.push((pos, held.clone(), (lock.0, mode)));
        }
        match step.action {
            Action::Acquire { lock, mode } => held.push((lock.0, mode)),
            Action::Woken { lock, .. } => held.push((lock.0, LockMode::Exclusive)),
            Action::Release { lock, .. } | Action::Wait { lock, .. } => held.retain(|(other, _)| *other != lock.0),
            _ => {}
        }
    }
    requests
}

/// The cycles of a history, by what `pc_of` says of their requests, and whether there may be more than was looked at.
pub fn groups(history: &History, index: &Index<'_>, pc_of: &dyn Fn(Pos) -> Pc) -> (Vec<Group>, bool) {
    let mut alike: HashMap<Key, Id> = HashMap::new();
    let mut instances: Vec<Vec<Pos>> = Vec::new();
    let mut keys: Vec<Key> = Vec::new();
    for (pos, mut held, wanted) in requests(history) {
        held.sort_unstable_by_key(|(lock, _)| *lock);
        let key = (history.step(pos).thread, held, wanted, pc_of(pos));
        let id = *alike.entry(key.clone()).or_insert_with(|| {
            keys.push(key);
            instances.push(Vec::new());
            instances.len() - 1
        });
        instances[id].push(pos);
    }
    let mut relation = Relation::default();
    let mut given_up = false;
    let mut patterns: Vec<Vec<Id>> = Vec::new();
    let mut left = MAX_SEARCH_ALL;
    for (thread, held, wanted, _) in &keys {
        let id = relation.add(Dependency { thread: thread.0, held: held.clone(), wanted: *wanted });
        let granted = left.min(MAX_SEARCH);
        let mut budget = granted;
        let mut more = false;
        relation.cycles_through(id, &mut budget, &|_, _| true, &mut |pattern| {
            more |= patterns.len() >= MAX_PATTERNS;
            if !more {
                patterns.push(pattern.to_vec());
            }
        });
        given_up |= budget == 0 || more;
        left -= granted - budget;
    }
    if patterns.is_empty() {
        return (Vec::new(), given_up);
    }
    let before = KeptOrder::new(history, index);
    let mut groups: BTreeMap<Vec<Pc>, Group> = BTreeMap::new();
    for mut pattern in patterns {
        // It begins with the thread that came first.
        let first = (0..pattern.len()).min_by_key(|&i| keys[pattern[i]].0).unwrap_or(0);
        pattern.rotate_left(first);
        let mut pcs: Vec<Pc> = pattern.iter().map(|&id| keys[id].3).collect();
        pcs.sort_unstable();
        let group = groups.entry(pcs.clone()).or_insert(Group { pcs, cycles: Vec::new(), more: false });
        let lists: Vec<&[Pos]> = pattern.iter().map(|&id| instances[id].as_slice()).collect();
        let mut more = false;
        let left_out = tuples(&lists, &mut |cycle| {
            let apart = |&one: &Pos| cycle.iter().any(|&two| one != two && before.ordered(one, two));
            if group.cycles.len() >= MAX_CYCLES {
                more = true;
            } else if !cycle.iter().any(apart) {
                group.cycles.push(cycle.to_vec());
            }
        });
        group.more |= left_out || more;
    }
    let mut groups: Vec<Group> = groups.into_values().filter(|group| !group.cycles.is_empty() || group.more).collect();
    for group in &mut groups {
        let span =
            |cycle: &Vec<Pos>| cycle.iter().max().map_or(0, |max| max.0) - cycle.iter().min().map_or(0, |min| min.0);
        group.cycles.sort_by_key(span);
        group.more |= group.cycles.len() > TRIES;
        group.cycles.truncate(TRIES);
    }
    (groups, given_up)
}

/// One of each list, in all ways if these are few; otherwise those that lie side by side. Says whether some were left
/// out.
fn tuples(lists: &[&[Pos]], take: &mut dyn FnMut(&[Pos])) -> bool {
    let all = lists.iter().try_fold(1usize, |product, list| product.checked_mul(list.len()));
    if all.is_some_and(|all| all <= 4 * TRIES * TRIES) {
        let mut tuple = Vec::new();
        product(lists, &mut tuple, take);
        return false;
    }
    let fewest = lists.iter().map(|list| list.len()).min().unwrap_or(0);
    let lead = lists.iter().position(|list| list.len() == fewest).unwrap_or(0);
    for &one in lists[lead].iter().take(4 * TRIES) {
        let near = |(i, list): (usize, &&[Pos])| {
            let at = list.partition_point(|&pos| pos < one);
            let range = if i == lead { &[] } else { &list[at.saturating_sub(1)..(at + 1).min(list.len())] };
            if i == lead { vec![one] } else { range.to_vec() }
        };
        let choices: Vec<Vec<Pos>> = lists.iter().enumerate().map(near).collect();
        let choices: Vec<&[Pos]> = choices.iter().map(Vec::as_slice).collect();
        product(&choices, &mut Vec::new(), take);
    }
    true
}

fn product(lists: &[&[Pos]], tuple: &mut Vec<Pos>, take: &mut dyn FnMut(&[Pos])) {
    let Some(list) = lists.get(tuple.len()) else { return take(tuple) };
    for &pos in *list {
        tuple.push(pos);
        product(lists, tuple, take);
        tuple.pop();
    }
}

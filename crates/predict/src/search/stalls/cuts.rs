//! How far threads can be in a stall, as far as that can be told without an order.

use std::collections::HashMap;

use reweave_model::{LockMode, Pc};

use super::Endings;
use crate::history::*;
use crate::search::SearchLimits;
use crate::search::deadlocks::relation::excludes;

/// Cuts that are all looked at, and events in all of them together; of more, only likely ones.
const ALL: usize = 20_000;
const EVENTS: usize = 20_000_000;
/// Waits with the same code position that are tried in long histories.
const TRIES: usize = 4;

/// How far each thread is, where every thread is over or waits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cut {
    /// How many events each thread has done.
    pub done: Vec<u32>,
    /// Where threads wait, by thread: those that were forked.
    pub members: Vec<Pos>,
    /// Who waits for a notify: none may have chosen it.
    pub unnotified: Vec<Thread>,
    /// The arrivals of the rounds that threads wait in: all others at these barriers come before them.
    pub arrivals: Vec<Pos>,
}

/// The cuts that may be stalls, as far as there is time; `pc_of` tells which waits are alike.
pub fn cuts(
    history: &History,
    endings: &Endings<'_>,
    limits: &SearchLimits<'_>,
    pc_of: &dyn Fn(Pos) -> Pc,
) -> Vec<Cut> {
    let choices: Vec<Vec<u32>> = (0..history.threads.len()).map(|thread| stops(history, endings, thread)).collect();
    let all = choices.iter().try_fold(1usize, |product, stops| product.checked_mul(stops.len()));
    let mut cuts = Vec::new();
    match all {
        Some(all) if all <= ALL && all * history.steps.len() <= EVENTS => {
            every(history, endings, &choices, &mut Vec::new(), &mut cuts);
        }
        _ => likely(history, endings, &choices, limits, pc_of, &mut cuts),
    }
    cuts
}

/// Where a thread can stand.
fn stops(history: &History, endings: &Endings<'_>, thread: usize) -> Vec<u32> {
    let events = &history.threads[thread];
    let may_wait = |pos: Pos| {
        let step = history.step(pos);
        let blocks = match step.action {
            Action::Acquire { .. } | Action::Take { .. } => !step.tried,
            Action::Woken { .. } | Action::Leave { .. } => true,
            _ => false,
        };
        blocks || !step.after.is_empty() && (endings.waits)(pos)
    };
    let mut stops: Vec<u32> = (0..events.len() as u32).filter(|&place| may_wait(events[place as usize])).collect();
    if endings.ended[thread] {
        stops.push(events.len() as u32);
    }
    stops
}

fn every(history: &History, endings: &Endings<'_>, choices: &[Vec<u32>], done: &mut Vec<u32>, cuts: &mut Vec<Cut>) {
    let Some(stops) = choices.get(done.len()) else {
        return cuts.extend(cut(history, endings, done));
    };
    for &stop in stops {
        done.push(stop);
        every(history, endings, choices, done, cuts);
        done.pop();
    }
}

/// One thread stops at a wait; the others go as far as what they come after lets them.
fn likely(
    history: &History,
    endings: &Endings<'_>,
    choices: &[Vec<u32>],
    limits: &SearchLimits<'_>,
    pc_of: &dyn Fn(Pos) -> Pc,
    cuts: &mut Vec<Cut>,
) {
    let place = places(history);
    let mut tried: HashMap<(usize, Pc), usize> = HashMap::new();
    for (thread, stops) in choices.iter().enumerate() {
        for &stop in stops.iter().rev() {
            let Some(&pos) = history.threads[thread].get(stop as usize) else { continue };
            let meets =
                matches!(history.step(pos).action, Action::Woken { .. } | Action::Leave { .. } | Action::Take { .. });
            let times = tried.entry((thread, pc_of(pos))).or_default();
            if !meets || *times >= TRIES {
                continue;
            }
            if limits.is_over() {
                return;
            }
            *times += 1;
            let mut done: Vec<u32> = history.threads.iter().map(|events| events.len() as u32).collect();
            done[thread] = stop;
            // What comes after something that does not happen does not happen.
            while let Some(pos) = history.positions().find(|&pos| {
                let step = history.step(pos);
                let in_it = |pos: Pos| place[pos.index()] < done[history.step(pos).thread.index()];
                in_it(pos) && step.after.iter().any(|&before| !in_it(before))
            }) {
                done[history.step(pos).thread.index()] = place[pos.index()];
            }
            for cut in cut(history, endings, &done) {
                if !cuts.contains(&cut) {
                    cuts.push(cut);
                }
            }
        }
    }
}

fn places(history: &History) -> Vec<u32> {
    let mut places = vec![0; history.steps.len()];
    for events in &history.threads {
        events.iter().enumerate().for_each(|(place, pos)| places[pos.index()] = place as u32);
    }
    places
}

/// What all these prefixes together lead to.
struct Sums {
    holders: Vec<Vec<(Thread, LockMode)>>,
    semaphores: Vec<i64>,
    /// By barrier: arrivals, and how many make a round (0: not always the same).
    arrivals: Vec<(u32, u32)>,
}

impl Sums {
    /// `None`: these prefixes cannot all have happened.
    fn of(history: &History, done: &[u32], place: &[u32]) -> Option<Self> {
        let mut sums = Self {
            holders: vec![Vec::new(); history.locks as usize],
            semaphores: history.semaphores.iter().map(|&count| i64::from(count)).collect(),
            arrivals: vec![(0, u32::MAX); history.barriers as usize],
        };
        for (thread, events) in history.threads.iter().enumerate() {
            for &pos in &events[..done[thread] as usize] {
                let step = history.step(pos);
                let missing = |pos: &Pos| place[pos.index()] >= done[history.step(*pos).thread.index()];
                if step.after.iter().any(missing) {
                    return None;
                }
                let me = step.thread;
                match step.action {
                    Action::Acquire { lock, mode } => sums.holders[lock.index()].push((me, mode)),
                    Action::Woken { lock, .. } => sums.holders[lock.index()].push((me, LockMode::Exclusive)),
                    Action::Release { lock, .. } | Action::Wait { lock, .. } => {
                        sums.holders[lock.index()].retain(|(holder, _)| *holder != me);
                    }
                    Action::Post { semaphore } => sums.semaphores[semaphore.index()] += 1,
                    Action::Take { semaphore } => sums.semaphores[semaphore.index()] -= 1,
                    Action::Arrive { barrier, count } => {
                        let (arrivals, party) = &mut sums.arrivals[barrier.index()];
                        *arrivals += 1;
                        *party = if *party == u32::MAX || *party == count { count } else { 0 };
                    }
                    _ => {}
                }
            }
        }
        let clash = |holders: &Vec<(Thread, LockMode)>| {
            holders.len() > 1 && holders.iter().any(|(_, mode)| *mode == LockMode::Exclusive)
        };
        let possible = !sums.holders.iter().any(clash) && sums.semaphores.iter().all(|&count| count >= 0);
        possible.then_some(sums)
    }

    fn against(&self, lock: Lock, mode: LockMode) -> impl Iterator<Item = Thread> + '_ {
        let holders = self.holders[lock.index()].iter();
        holders.filter(move |(_, held)| excludes(*held, mode)).map(|(thread, _)| *thread)
    }
}

/// The cut, if every thread is over or waits in it as far as no order matters; several if the last round of a barrier
/// can have different threads in it.
fn cut(history: &History, endings: &Endings<'_>, done: &[u32]) -> Vec<Cut> {
    let Some((cut, at_barriers)) = without_rounds(history, endings, done) else { return Vec::new() };
    let mut cuts = vec![cut];
    for Gathering { waiting, others, open } in at_barriers.into_iter().filter(|at| !at.waiting.is_empty()) {
        let Some(more) = (open as usize).checked_sub(waiting.len()) else { return Vec::new() };
        let rounds = subsets(&others, more);
        let with = |cut: &Cut, round: &Vec<Pos>| {
            let mut cut = cut.clone();
            cut.arrivals.extend(waiting.iter().chain(round));
            cut
        };
        cuts = cuts.iter().flat_map(|cut| rounds.iter().map(move |round| with(cut, round))).collect();
    }
    cuts
}

/// All ways to choose so many of a list.
fn subsets(list: &[Pos], size: usize) -> Vec<Vec<Pos>> {
    match list.split_last() {
        _ if size == 0 => vec![Vec::new()],
        None => Vec::new(),
        Some((&last, rest)) => {
            let mut with = subsets(rest, size - 1);
            with.iter_mut().for_each(|set| set.push(last));
            with.extend(subsets(rest, size));
            with
        }
    }
}

/// Who is at a barrier.
#[derive(Clone, Default)]
struct Gathering {
    /// The last arrivals of those who wait to leave.
    waiting: Vec<Pos>,
    /// The arrivals with which threads ended that may be in the same round.
    others: Vec<Pos>,
    /// How many have arrived for the round that is not full.
    open: u32,
}

fn without_rounds(history: &History, endings: &Endings<'_>, done: &[u32]) -> Option<(Cut, Vec<Gathering>)> {
    let place = places(history);
    let sums = Sums::of(history, done, &place)?;
    let mut cut = Cut { done: done.to_vec(), members: Vec::new(), unnotified: Vec::new(), arrivals: Vec::new() };
    let mut at_barriers = vec![Gathering::default(); history.barriers as usize];
    let mut waits_for: Vec<Vec<Thread>> = vec![Vec::new(); history.threads.len()];
    for (thread, events) in history.threads.iter().enumerate() {
        let Some(&next) = events.get(done[thread] as usize) else {
            if let Some(Action::Arrive { barrier, .. }) = events.last().map(|&last| &history.step(last).action) {
                at_barriers[barrier.index()].others.extend(events.last());
            }
            if endings.ended[thread] {
                continue;
            }
            return None;
        };
        let step = history.step(next);
        let missing = |pos: &Pos| place[pos.index()] >= done[history.step(*pos).thread.index()];
        if step.after.iter().any(missing) {
            if !(endings.waits)(next) {
                return None;
            }
            if done[thread] == 0 {
                continue;
            }
        } else {
            match step.action {
                Action::Acquire { lock, mode } if !step.tried => waits_for[thread].extend(sums.against(lock, mode)),
                Action::Woken { lock, .. } if sums.against(lock, LockMode::Exclusive).next().is_some() => {
                    waits_for[thread].extend(sums.against(lock, LockMode::Exclusive));
                }
                Action::Woken { how: Waking::Notified, .. } if !step.tried => cut.unnotified.push(step.thread),
                Action::Leave { barrier, .. } => {
                    let mut before = events[..done[thread] as usize].iter().rev();
                    let arrives = |pos: &&Pos| matches!(history.step(**pos).action, Action::Arrive { barrier: at, .. } if at == barrier);
                    at_barriers[barrier.index()].waiting.extend(before.find(arrives));
                }
                Action::Take { semaphore } if !step.tried && sums.semaphores[semaphore.index()] == 0 => {}
                _ => return None,
            }
            let locks = matches!(step.action, Action::Acquire { .. });
            if locks && waits_for[thread].is_empty() {
                return None;
            }
        }
        cut.members.push(next);
    }
    // Whoever waits at a barrier is in its last round, and that is not full.
    for (at, &(arrivals, party)) in at_barriers.iter_mut().zip(&sums.arrivals) {
        at.open = if party == 0 { 0 } else { arrivals % party };
    }
    (!circle(&waits_for) && !cut.members.is_empty()).then_some((cut, at_barriers))
}

/// Whether some thread waits for itself, by way of others.
fn circle(waits_for: &[Vec<Thread>]) -> bool {
    (0..waits_for.len()).any(|home| {
        let (mut seen, mut left) = (vec![false; waits_for.len()], waits_for[home].clone());
        while let Some(thread) = left.pop() {
            if thread.index() == home {
                return true;
            }
            if !std::mem::replace(&mut seen[thread.index()], true) {
                left.extend(&waits_for[thread.index()]);
            }
        }
        false
    })
}

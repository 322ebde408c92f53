//! Which blocks some reordering violates, by brute force: all reorderings, told apart by who depends on whom, and the graph
//! over transactions of each longest one, by the definition in [`atomicity`](crate::atomicity).

use std::collections::{BTreeSet, HashSet};

use reweave_model::LockMode;

use super::{Oracle, State};
use crate::atomicity::{Block, Transactions};
use crate::history::{Action, History, Mode, Pos};

/// The blocks that some reordering violates; `None` if there are more than `limit` reorderings to look at.
pub fn violated(history: &History, mode: Mode, transactions: &Transactions, limit: usize) -> Option<BTreeSet<Block>> {
    assert!(history.steps.len() <= 64, "a set of events is a word");
    let mut place = vec![0; history.steps.len()];
    for events in &history.threads {
        for (i, pos) in events.iter().enumerate() {
            place[pos.index()] = i as u32;
        }
    }
    let oracle = Oracle { history, mode, track_writers: false, place, nodes: Vec::new() };
    // A reordering, but for what does not matter: its state, and for each event those before it that it depends on.
    let start = (oracle.start(), vec![0u64; history.steps.len()]);
    let mut known: HashSet<(State, Vec<u64>)> = HashSet::from([start.clone()]);
    let mut open = vec![start];
    let mut violated = BTreeSet::new();
    while let Some((state, depends)) = open.pop() {
        let mut is_last = true;
        for (thread, &done) in state.done.iter().enumerate() {
            let Some(&pos) = history.threads[thread].get(done as usize) else { continue };
            for to in oracle.after(&state, pos) {
                is_last = false;
                let mut depends = depends.clone();
                depends[pos.index()] = depended_on(history, &state, pos);
                let node = (to, depends);
                if known.insert(node.clone()) {
                    open.push(node);
                }
            }
        }
        let complete = state.done.iter().zip(&history.threads).all(|(done, events)| *done as usize == events.len());
        // A graph only grows: the last of a way has it all.
        if is_last && (mode != Mode::Said || complete) {
            violated.extend(violated_in(history, transactions, &state, &depends));
        }
        if known.len() > limit {
            return None;
        }
        if violated.len() == transactions.blocks().count() {
            break;
        }
    }
    Some(violated)
}

/// Whether an event depends on another one, of another thread, that happened before.
fn depends(history: &History, later: Pos, earlier: Pos) -> bool {
    let (one, two) = (history.step(earlier), history.step(later));
    if one.thread == two.thread {
        return false;
    }
    let given = match one.action {
        Action::Release { lock, mode } => Some((lock, mode)),
        Action::Wait { lock, .. } => Some((lock, LockMode::Exclusive)),
        _ => None,
    };
    let got = match two.action {
        Action::Acquire { lock, mode } => Some((lock, mode)),
        Action::Woken { lock, .. } => Some((lock, LockMode::Exclusive)),
        _ => None,
    };
    if let (Some((given, how)), Some((got, wanted))) = (given, got)
        && given == got
        && (how, wanted) != (LockMode::Shared, LockMode::Shared)
    {
        return true;
    }
    if let (Action::Access(a), Action::Access(b)) = (&one.action, &two.action) {
        let in_both = |x: &[_], y: &[_]| x.iter().any(|(cell, _)| y.iter().any(|(other, _)| cell == other));
        if in_both(&a.writes, &b.reads) || in_both(&a.writes, &b.writes) || in_both(&a.reads, &b.writes) {
            return true;
        }
    }
    two.after.contains(&earlier)
}

fn depended_on(history: &History, state: &State, later: Pos) -> u64 {
    let mut all = 0;
    for (events, &done) in history.threads.iter().zip(&state.done) {
        for &earlier in &events[..done as usize] {
            all |= u64::from(depends(history, later, earlier)) << earlier.0;
        }
    }
    all
}

/// The blocks that one reordering violates.
fn violated_in(history: &History, transactions: &Transactions, state: &State, depends: &[u64]) -> Vec<Block> {
    let done: Vec<Pos> = history
        .threads
        .iter()
        .zip(&state.done)
        .flat_map(|(events, &done)| events[..done as usize].iter().copied())
        .collect();
    let same = |a: Pos, b: Pos| a == b || transactions.block(a).is_some_and(|it| transactions.block(b) == Some(it));
    let thread = |pos: Pos| history.step(pos).thread;
    // From the transaction of the first to that of the second.
    let edge = |a: Pos, b: Pos| depends[b.index()] >> a.0 & 1 != 0 || thread(a) == thread(b) && (a < b || same(a, b));
    let mut found = Vec::new();
    for block in transactions.blocks() {
        let own = transactions.ends(block).0;
        let mine: Vec<Pos> = done.iter().copied().filter(|&pos| transactions.block(pos) == Some(block)).collect();
        let others: Vec<Pos> = done.iter().copied().filter(|&pos| thread(pos) != thread(own)).collect();
        for (i, &exit) in mine.iter().enumerate() {
            let mut reached: Vec<Pos> =
                others.iter().copied().filter(|pos| depends[pos.index()] >> exit.0 & 1 != 0).collect();
            let mut at = 0;
            while at < reached.len() {
                for &next in &others {
                    // Any event of a transaction stands for all of it.
                    if !reached.contains(&next) && edge(reached[at], next) {
                        reached.push(next);
                    }
                }
                at += 1;
            }
            let back = |entry: &Pos| reached.iter().any(|from| depends[entry.index()] >> from.0 & 1 != 0);
            if mine[i + 1..].iter().any(back) {
                found.push(block);
                break;
            }
        }
    }
    found
}

//! Which blocks some reordering violates, by brute force: all reorderings, told apart by who depends on whom, and the
//! graph over transactions of each longest one, by the definition in [`atomicity`](crate::search::atomicity); and that
//! a graph has a cycle if and only if it violates some block.

use std::collections::{BTreeSet, HashSet};

use reweave_model::LockMode;

use super::{Oracle, State};
use crate::history::{Action, History, Mode, Pos};
use crate::search::atomicity::{Block, Transactions};

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
    let graph = Graph { history, transactions, state, depends };
    let violates = |block: &Block| {
        let events = &history.threads[history.step(transactions.ends(*block).0).thread.index()];
        let done = &events[..state.done[history.step(transactions.ends(*block).0).thread.index()] as usize];
        let mine: Vec<Pos> = done.iter().copied().filter(|&pos| transactions.block(pos) == Some(*block)).collect();
        mine.iter()
            .enumerate()
            .any(|(i, &exit)| graph.comes_back(exit, &mine[i + 1..], &mut vec![thread_of(history, exit)]))
    };
    let violated: Vec<Block> = transactions.blocks().filter(violates).collect();
    assert_eq!(graph.has_cycle(), !violated.is_empty(), "a graph has a cycle if and only if a block is violated");
    violated
}

fn thread_of(history: &History, pos: Pos) -> usize {
    history.step(pos).thread.index()
}

struct Graph<'a> {
    history: &'a History,
    transactions: &'a Transactions,
    state: &'a State,
    depends: &'a [u64],
}

impl Graph<'_> {
    /// Whether the graph over transactions, each of which goes by its first event, has a cycle at all.
    fn has_cycle(&self) -> bool {
        let mut reached = vec![0u64; self.history.steps.len()];
        let node = |pos: Pos| self.transactions.start(pos);
        for (events, &done) in self.history.threads.iter().zip(&self.state.done) {
            let done = &events[..done as usize];
            for pair in done.windows(2).filter(|pair| node(pair[0]) != node(pair[1])) {
                reached[node(pair[0]).index()] |= 1 << node(pair[1]).0;
            }
            for &later in done {
                for earlier in (0..64).filter(|earlier| self.depends[later.index()] >> earlier & 1 != 0) {
                    reached[node(Pos(earlier)).index()] |= 1 << node(later).0;
                }
            }
        }
        for over in 0..reached.len() {
            for from in 0..reached.len() {
                if reached[from] >> over & 1 != 0 {
                    reached[from] |= reached[over];
                }
            }
        }
        reached.iter().enumerate().any(|(at, reached)| reached >> at & 1 != 0)
    }

    /// Whether a way from this event to another thread leads to one of `targets`, to each thread at most once.
    fn comes_back(&self, exit: Pos, targets: &[Pos], used: &mut Vec<usize>) -> bool {
        let follows = |pos: &Pos| self.depends[pos.index()] >> exit.0 & 1 != 0;
        if used.len() > 1 && targets.iter().any(follows) {
            return true;
        }
        for (thread, events) in self.history.threads.iter().enumerate() {
            if used.contains(&thread) {
                continue;
            }
            let done = &events[..self.state.done[thread] as usize];
            for entry in done.iter().filter(|pos| follows(pos)) {
                used.push(thread);
                // It goes on with any event of this transaction or of a later one of the thread.
                let start = self.transactions.start(*entry);
                let found = done.iter().filter(|pos| **pos >= start).any(|&next| self.comes_back(next, targets, used));
                used.pop();
                if found {
                    return true;
                }
            }
        }
        false
    }
}

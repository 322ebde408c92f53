//! Whether an order violates an atomic block: the graph over transactions of that order has a cycle through it.
//!
//! Of the dependences only those are drawn that no chain of others makes up for: on the last write to a cell and on the
//! reads since, on the last exclusive release of a lock and on the shared ones since. One pass, and the graph grows
//! with the order.

use reweave_model::LockMode;

use super::replay::Replay;
use super::{Rejection, Why};
use crate::history::{Action, Cell, History, Lock, Mode, Pos};
use crate::linear::FastMap;
use crate::search::atomicity::{Block, Transactions};

/// A transaction.
type Node = usize;

/// Who was last at something: one that excluded all, and those beside each other since.
#[derive(Default)]
struct Last {
    alone: Option<Node>,
    beside: Vec<Node>,
}

impl Last {
    /// Those that come before the next one.
    fn before(&self, alone: bool) -> impl Iterator<Item = Node> {
        let beside: &[Node] = if alone { &self.beside } else { &[] };
        self.alone.into_iter().chain(beside.iter().copied())
    }

    fn set(&mut self, node: Node, alone: bool) {
        if alone {
            self.alone = Some(node);
            self.beside.clear();
        } else if self.beside.last() != Some(&node) {
            self.beside.push(node);
        }
    }
}

/// Whether `order` is a feasible reordering in whose graph over transactions a cycle goes through `block`.
pub fn check_violation(
    history: &History,
    mode: Mode,
    order: &[Pos],
    transactions: &Transactions,
    block: Block,
) -> Result<(), Rejection> {
    Replay::run(history, mode, order)?.check_complete()?;
    let graph = Graph::new(history, order, transactions);
    let at = transactions.ends(block).0;
    let serializable = Rejection { at, why: Why::Serializable };
    let Some(&own) = graph.blocks.get(&block) else { return Err(serializable) };
    let reached = reachable(&graph.edges, own);
    let mut backward = vec![Vec::new(); graph.edges.len()];
    for (from, to) in graph.edges.iter().enumerate().flat_map(|(from, all)| all.iter().map(move |&to| (from, to))) {
        backward[to].push(from);
    }
    let reaching = reachable(&backward, own);
    let on_cycle = (0..graph.edges.len()).any(|node| node != own && reached[node] && reaching[node]);
    if on_cycle { Ok(()) } else { Err(serializable) }
}

struct Graph {
    edges: Vec<Vec<Node>>,
    blocks: FastMap<Block, Node>,
}

impl Graph {
    fn new(history: &History, order: &[Pos], transactions: &Transactions) -> Self {
        let mut graph = Graph { edges: Vec::new(), blocks: FastMap::default() };
        let mut nodes: FastMap<Pos, Node> = FastMap::default();
        let mut threads: Vec<Option<Node>> = vec![None; history.threads.len()];
        let mut cells: FastMap<Cell, Last> = FastMap::default();
        let mut locks: FastMap<Lock, Last> = FastMap::default();
        for &pos in order {
            let step = history.step(pos);
            let node = graph.node(transactions.block(pos));
            nodes.insert(pos, node);
            graph.edge(threads[step.thread.index()].replace(node), node);
            for before in &step.after {
                graph.edge(nodes.get(before).copied(), node);
            }
            match &step.action {
                Action::Access(access) => {
                    for (list, alone) in [(&access.reads, false), (&access.writes, true)] {
                        for (cell, _) in list {
                            let last = cells.entry(*cell).or_default();
                            last.before(alone).for_each(|before| graph.edge(Some(before), node));
                        }
                    }
                    for (list, alone) in [(&access.reads, false), (&access.writes, true)] {
                        for (cell, _) in list {
                            cells.entry(*cell).or_default().set(node, alone);
                        }
                    }
                }
                Action::Acquire { lock, mode } => graph.acquire(locks.get(lock), *mode, node),
                Action::Woken { lock, .. } => graph.acquire(locks.get(lock), LockMode::Exclusive, node),
                Action::Release { lock, mode } => {
                    locks.entry(*lock).or_default().set(node, *mode == LockMode::Exclusive);
                }
                Action::Wait { lock, .. } => locks.entry(*lock).or_default().set(node, true),
                _ => {}
            }
        }
        graph
    }

    fn node(&mut self, block: Option<Block>) -> Node {
        let fresh = self.edges.len();
        let node = block.map_or(fresh, |block| *self.blocks.entry(block).or_insert(fresh));
        if node == fresh {
            self.edges.push(Vec::new());
        }
        node
    }

    fn edge(&mut self, from: Option<Node>, to: Node) {
        if let Some(from) = from.filter(|from| *from != to) {
            self.edges[from].push(to);
        }
    }

    fn acquire(&mut self, last: Option<&Last>, mode: LockMode, node: Node) {
        let before = last.into_iter().flat_map(|last| last.before(mode == LockMode::Exclusive));
        before.for_each(|before| self.edge(Some(before), node));
    }
}

fn reachable(edges: &[Vec<Node>], from: Node) -> Vec<bool> {
    let mut reached = vec![false; edges.len()];
    reached[from] = true;
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for &next in &edges[node] {
            if !std::mem::replace(&mut reached[next], true) {
                open.push(next);
            }
        }
    }
    reached
}

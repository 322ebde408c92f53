//! Threads as automata: two places in the [`Tree`] of a thread that nobody has seen to differ are taken for one. So the
//! rounds of a loop that waits, or tries again, are one round, and a search gets past them to what takes five
//! preemptions among threads that spin.
//!
//! Source: learning automata by merging states, where the merge that explains most wins (RPNI: Oncina and García 1992;
//! blue-fringe: Lang, Pearlmutter and Price 1998). Different here: answers are not accepted or rejected; two places
//! differ if the thread asks for something else there, or does something else after the same answers. Those of which
//! most is known come first: what little is known of the others would be taken for what they are not.
//!
//! Guarantee: none. A thread may remember what it did not show yet. So what follows from this is only a way that a run
//! is sent along: the run says what is true, and what it shows is learned as always, by the tree. Nothing is counted as
//! covered because of it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

use super::futures::Futures;
use super::search::Goal;
use super::state::Slots;
use super::tree::{Edge, Node, NodeId, Request, Tree};

/// Places that one is compared with, the shallowest first.
const CANDIDATES: usize = 32;
/// Equal places that are enough to choose by.
const ENOUGH: usize = 200;
/// Places that are compared in all, for each there is: long loops are gone round only so often.
const COMPARED: usize = 200;
/// After so many places it is asked whether there is still time.
const ASK_EVERY: usize = 64;

/// A tree in which places are one that nobody has seen to differ. It has cycles.
pub struct Merged {
    pub tree: Tree,
    /// By node of the original: its number here, if a thread can come there.
    number: Vec<NodeId>,
    /// By node here: the first of the original.
    first: Vec<NodeId>,
}

/// Places to look at, those of which most is known first.
type Queue = BinaryHeap<(u32, Reverse<NodeId>)>;

const NONE: NodeId = NodeId::MAX;

impl Merged {
    /// `None`: there was no time for it.
    pub fn new(tree: &Tree, is_over: impl Fn() -> bool) -> Option<Self> {
        let futures = Futures::of_graph(tree, &is_over)?;
        let slots = Slots::new(tree, |thing| futures.is_shared(thing));
        let mut merging = Merging::new(tree, &slots);
        for &root in &tree.roots {
            if !merging.thread(root, &is_over) {
                return None;
            }
        }
        Some(merging.finish())
    }

    /// A goal that was found here, in terms of the original, which stay the same.
    pub fn original(&self, goal: &Goal) -> Goal {
        goal.map(|node| self.first[node as usize])
    }

    /// The other way round; `None` for what nobody comes to any more.
    pub fn here(&self, goal: &Goal) -> Option<Goal> {
        let goal = goal.map(|node| self.number[node as usize]);
        goal.nodes().iter().all(|&node| node != NONE).then_some(goal)
    }
}

/// One change, to be taken back if the merge fails.
enum Change {
    Parent(NodeId),
    Ask(NodeId),
    Edge(NodeId),
}

struct Merging<'t> {
    tree: &'t Tree,
    slots: &'t Slots,
    /// By node: the one it was merged into, or itself.
    parent: Vec<NodeId>,
    /// Of those that stand for others: the node that says what they ask.
    asks: Vec<NodeId>,
    /// What comes after the answers they know: the node of the original that the edge leaves, and which one it is.
    edges: Vec<Vec<(NodeId, u32)>>,
    changes: Vec<Change>,
    /// By node: how many come after it, itself included.
    known: Vec<u32>,
    /// Places that were compared so far.
    compared: usize,
}

impl<'t> Merging<'t> {
    fn new(tree: &'t Tree, slots: &'t Slots) -> Self {
        let ids = 0..tree.nodes.len() as NodeId;
        let mut known = vec![1u32; tree.nodes.len()];
        for (id, node) in tree.nodes.iter().enumerate().rev() {
            known[id] += node.edges.iter().map(|edge| known[edge.to as usize]).sum::<u32>();
        }
        Self {
            tree,
            slots,
            parent: ids.clone().collect(),
            asks: ids.clone().collect(),
            edges: ids.map(|id| (0..tree.node(id).edges.len() as u32).map(|nth| (id, nth)).collect()).collect(),
            changes: Vec::new(),
            known,
            compared: 0,
        }
    }

    /// The one that a node was merged into for good.
    fn settled(&mut self, node: NodeId) -> NodeId {
        let top = self.find(node);
        let mut at = node;
        while at != top {
            at = std::mem::replace(&mut self.parent[at as usize], top);
        }
        top
    }

    fn find(&self, mut node: NodeId) -> NodeId {
        while self.parent[node as usize] != node {
            node = self.parent[node as usize];
        }
        node
    }

    fn edge(&self, (from, nth): (NodeId, u32)) -> &'t Edge {
        &self.tree.node(from).edges[nth as usize]
    }

    fn asked(&self, node: NodeId) -> &'t Node {
        self.tree.node(self.asks[node as usize])
    }

    /// Merges what can be merged after one root. `false`: there is no more time.
    fn thread(&mut self, root: NodeId, is_over: &impl Fn() -> bool) -> bool {
        let mut settled = HashSet::from([root]);
        let mut by_code: HashMap<_, Vec<NodeId>> = HashMap::new();
        by_code.entry(self.asked(root).code).or_default().push(root);
        let mut next = BinaryHeap::new();
        self.look_after(root, &mut next);
        for count in 1.. {
            let Some((_, Reverse(node))) = next.pop() else { return true };
            if count % ASK_EVERY == 0 && (is_over() || self.compared > COMPARED * self.tree.nodes.len()) {
                return false;
            }
            let node = self.settled(node);
            if settled.contains(&node) {
                continue;
            }
            let code = self.asked(node).code;
            let known = self.asked(node).ask.is_some();
            let alike = if known { by_code.get(&code).map_or(&[][..], Vec::as_slice) } else { &[] };
            let mut scores = Vec::new();
            for &other in &alike[..alike.len().min(CANDIDATES)] {
                let score = self.merge(other, node, ENOUGH);
                self.undo();
                scores.extend(score.map(|score| (score, other)));
            }
            // Of those that explain as much, the first.
            scores.sort_by_key(|(score, _)| usize::MAX - score);
            if !scores.into_iter().any(|(_, other)| self.takes(other, node, &mut next)) {
                settled.insert(node);
                by_code.entry(code).or_default().push(node);
                self.look_after(node, &mut next);
            }
        }
        true
    }

    /// Merges for good, if nothing at all speaks against it. What follows is to be looked at next.
    fn takes(&mut self, one: NodeId, two: NodeId, next: &mut Queue) -> bool {
        let merged = self.merge(one, two, usize::MAX).is_some();
        if !merged {
            self.undo();
        }
        for change in std::mem::take(&mut self.changes) {
            if let Change::Edge(of) = change {
                self.look_after(of, next);
            }
        }
        merged
    }

    fn look_after(&self, node: NodeId, next: &mut Queue) {
        next.extend(self.after(node).map(|to| (self.known[to as usize], Reverse(to))));
    }

    fn after(&self, node: NodeId) -> impl Iterator<Item = NodeId> + use<'_, 't> {
        self.edges[node as usize].iter().map(|&edge| self.edge(edge).to)
    }

    /// Takes two nodes for one, and so what comes after the same answers. Says how many places were the same; `None` if
    /// they differ. Looks no further than to so many. Everything can be undone.
    fn merge(&mut self, one: NodeId, two: NodeId, enough: usize) -> Option<usize> {
        let mut pairs = vec![(one, two)];
        let mut same = 0;
        while let Some((one, two)) = pairs.pop() {
            let (one, two) = (self.find(one), self.find(two));
            if one == two {
                continue;
            }
            if same >= enough {
                break;
            }
            self.compared += 1;
            let (a, b) = (self.asked(one), self.asked(two));
            match (&a.ask, &b.ask) {
                (Some(first), Some(second)) => {
                    let alike = (a.code, a.lead, a.fused) == (b.code, b.lead, b.fused) && is_same(first, second);
                    if !alike {
                        return None;
                    }
                    same += 1;
                }
                (None, Some(_)) => {
                    self.asks[one as usize] = self.asks[two as usize];
                    self.changes.push(Change::Ask(one));
                }
                (_, None) => {}
            }
            self.parent[two as usize] = one;
            self.changes.push(Change::Parent(two));
            let single = self.asked(one).ask.as_ref().is_some_and(|ask| self.is_own(ask));
            for at in 0..self.edges[two as usize].len() {
                let edge = self.edges[two as usize][at];
                let new = self.edge(edge);
                let known = self.edges[one as usize].iter().map(|&edge| self.edge(edge));
                match known.clone().find(|known| known.answer == new.answer) {
                    Some(known) if (known.steps, &known.writes) == (new.steps, &new.writes) => {
                        pairs.push((known.to, new.to));
                    }
                    Some(_) => return None,
                    None if single && known.len() > 0 => return None,
                    None => {
                        self.edges[one as usize].push(edge);
                        self.changes.push(Change::Edge(one));
                    }
                }
            }
        }
        Some(same)
    }

    /// Whether the answer is the thread's own affair: it remembers what it will be.
    fn is_own(&self, ask: &Request) -> bool {
        match ask {
            Request::Access { parts, reads: true, .. } => !parts.iter().any(|part| self.slots.keeps(part.word)),
            Request::Exit => true,
            _ => false,
        }
    }

    fn undo(&mut self) {
        while let Some(change) = self.changes.pop() {
            match change {
                Change::Parent(node) => self.parent[node as usize] = node,
                // Only one that asked for nothing takes over what another one asks.
                Change::Ask(node) => self.asks[node as usize] = node,
                Change::Edge(node) => drop(self.edges[node as usize].pop()),
            }
        }
    }

    /// Numbers what is left so that each but a root comes after one that leads to it.
    fn finish(self) -> Merged {
        let mut number = vec![NONE; self.tree.nodes.len()];
        let mut first: Vec<NodeId> = Vec::new();
        let mut roots = Vec::new();
        for &root in &self.tree.roots {
            number[root as usize] = first.len() as NodeId;
            roots.push(first.len() as NodeId);
            let mut at = first.len();
            first.push(root);
            while let Some(&node) = first.get(at) {
                at += 1;
                for to in self.after(node).map(|to| self.find(to)) {
                    if number[to as usize] == NONE {
                        number[to as usize] = first.len() as NodeId;
                        first.push(to);
                    }
                }
            }
        }
        let nodes = first.iter().map(|&node| self.node(node, &number)).collect();
        let number = (0..number.len() as NodeId).map(|node| number[self.find(node) as usize]).collect();
        Merged { tree: self.tree.with_nodes(nodes, roots), number, first }
    }

    fn node(&self, node: NodeId, number: &[NodeId]) -> Node {
        let edges = self.edges[node as usize].iter().map(|&edge| {
            let edge = self.edge(edge);
            Edge { to: number[self.find(edge.to) as usize], ..edge.clone() }
        });
        let edges = edges.collect();
        // What spins comes back to where it was: nothing tires.
        Node { edges, digest: self.tree.node(node).digest, tiring: Vec::new(), ..self.asked(node).clone() }
    }
}

/// The same request, as far as anybody knows. Whether it can be refused, or writes, shows only in some runs.
fn is_same(one: &Request, two: &Request) -> bool {
    match (one, two) {
        (Request::Access { parts: a, reads: r, .. }, Request::Access { parts: b, reads: s, .. }) => a == b && r == s,
        (Request::Acquire { lock: a, mode: m, .. }, Request::Acquire { lock: b, mode: n, .. }) => a == b && m == n,
        (Request::Take { semaphore: a, .. }, Request::Take { semaphore: b, .. }) => a == b,
        (Request::Join { child: a, .. }, Request::Join { child: b, .. }) => a == b,
        (one, two) => one == two,
    }
}

#[cfg(test)]
mod tests {
    use reweave_model::ThreadName;

    use super::*;
    use crate::classes::Digest;
    use crate::explore::tree::{Base, Part, StepResult};

    /// One thread that does so, one after the other: a read with what it returned, or a write.
    fn learn(tree: &mut Tree, does: &[Option<u64>]) {
        let mut node = tree.roots[0];
        for &read in does {
            let word = tree.thing(Base::Global(0), 0, false);
            let parts = Box::new([Part { word, mask: 0xff }]);
            let ask = Request::Access { parts, reads: read.is_some(), writes: read.is_none(), atomic: true };
            let answer = read.map_or(StepResult::Done, StepResult::Value);
            if tree.node(node).ask.is_none() {
                tree.ask(node, ask);
            }
            node = tree.edge(node, answer).map(|edge| edge.to).unwrap_or_else(|| {
                let to = tree.add(Digest::NEW);
                tree.connect(node, Edge { answer, steps: 1, writes: Box::new([]), to });
                to
            });
        }
        tree.ask(node, Request::End);
    }

    fn tree(runs: &[&[Option<u64>]]) -> Tree {
        let mut tree = Tree::default();
        tree.thread_number(ThreadName::MAIN).expect("a thread");
        // Somebody else uses the word, too: what is read there is not the thread's own doing.
        let other = tree.thread_number(ThreadName { parent: 0, nth: 1 }).expect("a thread");
        let word = tree.thing(Base::Global(0), 0, false);
        let parts = Box::new([Part { word, mask: 0xff }]);
        let writes = Request::Access { parts, reads: false, writes: true, atomic: true };
        tree.ask(tree.roots[usize::from(other)], writes);
        runs.iter().for_each(|run| learn(&mut tree, run));
        tree
    }

    /// Places of the first thread.
    fn places(tree: &Tree) -> usize {
        Merged::new(tree, || false).expect("there is time").tree.roots[1] as usize
    }

    #[test]
    fn a_loop_that_waits_is_one_place() {
        let (zero, one) = (Some(0), Some(1));
        let spins = tree(&[&[zero, zero, zero, zero, one, None], &[zero, one, None], &[one, None]]);
        assert_eq!(places(&spins), 3, "reads, writes, ends");
        let merged = Merged::new(&spins, || false).expect("there is time");
        assert_eq!(merged.tree.edge(0, StepResult::Value(0)).expect("a round").to, 0, "and is where it was");
    }

    #[test]
    fn a_loop_that_counts_is_not() {
        let zero = Some(0);
        assert_eq!(places(&tree(&[&[zero, zero, zero, None]])), 5, "as often as that");
        // What comes after two rounds and a one is not what comes after one round and a one.
        let counts = tree(&[&[zero, Some(1), None], &[zero, zero, Some(1)]]);
        let merged = Merged::new(&counts, || false).expect("there is time");
        assert_ne!(merged.tree.edge(0, StepResult::Value(0)).expect("a round").to, 0);
    }

    #[test]
    fn goals_keep_their_numbers() {
        let spins = tree(&[&[Some(0), Some(0), Some(1), None]]);
        let merged = Merged::new(&spins, || false).expect("there is time");
        let goal = Goal::Learn { node: spins.roots[0], asks: true, answer: StepResult::Value(7) };
        let here = merged.here(&goal).expect("it is there");
        assert_eq!(merged.original(&here), goal);
        assert!(Merged::new(&spins, || true).is_none(), "it asks whether there is time");
    }
}

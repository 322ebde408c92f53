//! A partial order that grows edge by edge and can take edges back: chains of nodes with a vector clock per node.
//!
//! Clocks are kept for *keys* only, the nodes that edges and questions touch; any other node has the clock of the key
//! before it in its chain. So a problem with many nodes and few clauses costs a few words per node, and a key costs one
//! word per chain.
//!
//! Guarantee: [`PartialOrder::reaches`] is exact (the transitive closure of chains and edges), in constant time for
//! keys. An insertion visits each key whose clock changes once: all of them gain exactly the clock of the edge's
//! source.

use std::collections::VecDeque;

use crate::problem::{Chain, Node};

/// Where a node stands: the `index`-th of its chain.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub chain: Chain,
    pub index: u32,
}

/// What an edge rests on; only its owner knows the meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag(pub u32);

impl Tag {
    /// Rests on nothing: left out of explanations.
    pub const FIXED: Tag = Tag(u32::MAX);
}

/// What came of an insertion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Inserted {
    /// The order was known; nothing was stored.
    Known,
    Added,
    /// The opposite order is known; nothing was stored.
    Cycle,
}

/// A key's number.
pub(crate) type Row = u32;
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Edge {
    source: Row,
    target: Row,
    tag: Tag,
    /// The edge that was the first of its source or target before.
    next_out: u32,
    next_in: u32,
}

#[derive(Clone, Copy, Debug)]
struct Key {
    node: Node,
    previous: Row,
    next: Row,
    first_out: u32,
    first_in: u32,
}

/// A clock entry that grew.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub row: Row,
    pub chain: Chain,
    pub old: u32,
}

#[derive(Clone, Debug, Default)]
pub struct PartialOrder {
    chains: usize,
    places: Vec<Place>,
    /// The row of each node, or `NONE`.
    rows: Vec<Row>,
    keys: Vec<Key>,
    /// The rows of each chain. invariant: ascending by the nodes' index
    by_chain: Vec<Vec<Row>>,
    /// `chains` entries per row: how many nodes of that chain are at or before the key.
    clocks: Vec<u32>,
    edges: Vec<Edge>,
    changes: Vec<Change>,
    /// The lengths of `edges` and `changes` when each level was begun.
    levels: Vec<(usize, usize)>,
    gain: Vec<u32>,
    stack: Vec<Row>,
    paths: Paths,
}

/// Working space of [`PartialOrder::explain`], kept to save allocations.
#[derive(Clone, Debug, Default)]
struct Paths {
    round: u32,
    /// Per row: the round it was settled in, and the row and edge by which it was reached.
    settled: Vec<u32>,
    reached: Vec<(u32, u32, Row, u32)>,
    queue: VecDeque<(Row, u32)>,
}

impl PartialOrder {
    /// Chains and fixed edges, with the nodes of `keys` as keys besides the ends of edges. `None` if they make a cycle.
    /// Linear if the edges follow the order of the nodes.
    pub fn new(
        places: Vec<Place>,
        chains: usize,
        edges: &[(Node, Node)],
        keys: impl Iterator<Item = Node>,
    ) -> Option<PartialOrder> {
        let mut is_key = vec![false; places.len()];
        edges.iter().flat_map(|&(a, b)| [a, b]).chain(keys).for_each(|node| is_key[node.index()] = true);
        let mut order = PartialOrder {
            chains,
            rows: vec![NONE; places.len()],
            by_chain: vec![Vec::new(); chains],
            gain: vec![0; chains],
            places,
            ..PartialOrder::default()
        };
        for node in (0..is_key.len()).filter(|&node| is_key[node]) {
            order.append_key(Node(node as u32));
        }
        let (forward, backward): (Vec<_>, Vec<_>) = edges.iter().partition(|(a, b)| a < b);
        for (a, b) in forward {
            if order.place(a).chain != order.place(b).chain {
                order.link(order.rows[a.index()], order.rows[b.index()], Tag::FIXED);
            }
        }
        for row in 0..order.keys.len() as u32 {
            order.start_clock(row);
            let mut edge = order.keys[row as usize].first_in;
            while edge != NONE {
                let Edge { source, next_in, .. } = order.edges[edge as usize];
                for chain in 0..chains {
                    let known = order.clocks[source as usize * chains + chain];
                    let entry = &mut order.clocks[row as usize * chains + chain];
                    *entry = known.max(*entry);
                }
                edge = next_in;
            }
        }
        for (a, b) in backward {
            if order.insert(a, b, Tag::FIXED) == Inserted::Cycle {
                return None;
            }
        }
        order.changes.clear();
        Some(order)
    }

    pub(crate) fn place(&self, node: Node) -> Place {
        self.places[node.index()]
    }

    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }

    pub(crate) fn row(&self, node: Node) -> Option<Row> {
        let row = self.rows[node.index()];
        (row != NONE).then_some(row)
    }

    /// Whether it can be an end of an edge.
    pub fn is_key(&self, node: Node) -> bool {
        self.rows[node.index()] != NONE
    }

    pub(crate) fn node(&self, row: Row) -> Node {
        self.keys[row as usize].node
    }

    pub(crate) fn keys(&self) -> usize {
        self.keys.len()
    }

    pub(crate) fn clock(&self, row: Row, chain: Chain) -> u32 {
        self.clocks[row as usize * self.chains + chain.index()]
    }

    /// Whether `a` comes before `b` in every order that extends this one.
    pub fn reaches(&self, a: Node, b: Node) -> bool {
        let (from, to) = (self.place(a), self.place(b));
        if from.chain == to.chain {
            return from.index < to.index;
        }
        let row = match self.rows[b.index()] {
            NONE => match self.key_before(to) {
                Some(row) => row,
                None => return false,
            },
            row => row,
        };
        self.clock(row, from.chain) > from.index
    }

    fn key_before(&self, place: Place) -> Option<Row> {
        let rows = &self.by_chain[place.chain.index()];
        let count = rows.partition_point(|&row| self.place(self.keys[row as usize].node).index < place.index);
        count.checked_sub(1).map(|last| rows[last])
    }

    fn append_key(&mut self, node: Node) {
        let row = self.keys.len() as u32;
        let rows = &mut self.by_chain[self.places[node.index()].chain.index()];
        let previous = rows.last().copied().unwrap_or(NONE);
        rows.push(row);
        if previous != NONE {
            self.keys[previous as usize].next = row;
        }
        self.keys.push(Key { node, previous, next: NONE, first_out: NONE, first_in: NONE });
        self.rows[node.index()] = row;
        self.clocks.resize(self.clocks.len() + self.chains, 0);
    }

    /// The clock of a key without edges: its predecessor's and itself.
    fn start_clock(&mut self, row: Row) {
        let Key { node, previous, .. } = self.keys[row as usize];
        let start = row as usize * self.chains;
        if previous != NONE {
            let from = previous as usize * self.chains;
            self.clocks.copy_within(from..from + self.chains, start);
        }
        let place = self.place(node);
        self.clocks[start + place.chain.index()] = place.index + 1;
    }

    /// Makes nodes keys. Without open levels only: a key made later would not know its clock of earlier levels.
    pub fn make_keys(&mut self, nodes: impl Iterator<Item = Node>) {
        assert!(self.levels.is_empty(), "keys are made before levels are begun");
        let mut fresh: Vec<Node> = nodes.filter(|node| self.rows[node.index()] == NONE).collect();
        fresh.sort_unstable();
        fresh.dedup();
        let mut touched: Vec<Chain> = Vec::new();
        let first = self.keys.len() as u32;
        for &node in &fresh {
            self.append_key(node);
            touched.push(self.place(node).chain);
        }
        touched.sort_unstable();
        touched.dedup();
        for chain in touched {
            let mut rows = std::mem::take(&mut self.by_chain[chain.index()]);
            // Two sorted runs: the stable sort merges them in linear time.
            rows.sort_by_key(|&row| self.keys[row as usize].node);
            let mut previous = NONE;
            for &row in &rows {
                self.keys[row as usize].previous = previous;
                self.keys[row as usize].next = NONE;
                if previous != NONE {
                    self.keys[previous as usize].next = row;
                }
                if row >= first {
                    self.start_clock(row);
                }
                previous = row;
            }
            self.by_chain[chain.index()] = rows;
        }
    }

    fn link(&mut self, source: Row, target: Row, tag: Tag) {
        let edge = self.edges.len() as u32;
        let next_out = std::mem::replace(&mut self.keys[source as usize].first_out, edge);
        let next_in = std::mem::replace(&mut self.keys[target as usize].first_in, edge);
        self.edges.push(Edge { source, target, tag, next_out, next_in });
    }

    /// Orders two keys.
    pub fn insert(&mut self, before: Node, after: Node, tag: Tag) -> Inserted {
        if before == after || self.reaches(after, before) {
            return Inserted::Cycle;
        }
        if self.reaches(before, after) {
            return Inserted::Known;
        }
        let (source, target) = (self.rows[before.index()], self.rows[after.index()]);
        assert!(source != NONE && target != NONE, "{before:?} and {after:?} must be keys");
        self.link(source, target, tag);
        let start = source as usize * self.chains;
        self.gain.copy_from_slice(&self.clocks[start..start + self.chains]);
        self.stack.push(target);
        while let Some(row) = self.stack.pop() {
            let start = row as usize * self.chains;
            let clock = &mut self.clocks[start..start + self.chains];
            let unchanged = self.changes.len();
            for (chain, (entry, &gain)) in clock.iter_mut().zip(&self.gain).enumerate() {
                if gain > *entry {
                    self.changes.push(Change { row, chain: Chain(chain as u32), old: *entry });
                    *entry = gain;
                }
            }
            if self.changes.len() == unchanged {
                continue; // nor can anything after it change
            }
            let key = self.keys[row as usize];
            if key.next != NONE {
                self.stack.push(key.next);
            }
            let mut edge = key.first_out;
            while edge != NONE {
                let Edge { target, next_out, .. } = self.edges[edge as usize];
                self.stack.push(target);
                edge = next_out;
            }
        }
        Inserted::Added
    }

    /// What grew since the last [`Self::forget_changes`] (or since the first open level).
    pub(crate) fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Without open levels nobody will need the old clocks again.
    pub(crate) fn forget_changes(&mut self) {
        if self.levels.is_empty() {
            self.changes.clear();
        }
    }

    pub(crate) fn edge_count(&self) -> usize {
        self.edges.len()
    }

    /// The ends of every edge between chains.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (Node, Node)> + '_ {
        self.edges.iter().map(|edge| (self.keys[edge.source as usize].node, self.keys[edge.target as usize].node))
    }

    pub fn begin_level(&mut self) {
        self.levels.push((self.edges.len(), self.changes.len()));
    }

    /// Takes back everything since the last `count` levels were begun.
    pub fn undo_levels(&mut self, count: usize) {
        let Some(&(edges, changes)) = self.levels.len().checked_sub(count).and_then(|left| self.levels.get(left))
        else {
            return;
        };
        self.levels.truncate(self.levels.len() - count);
        for edge in self.edges.drain(edges..).rev() {
            self.keys[edge.source as usize].first_out = edge.next_out;
            self.keys[edge.target as usize].first_in = edge.next_in;
        }
        for change in self.changes.drain(changes..).rev() {
            self.clocks[change.row as usize * self.chains + change.chain.index()] = change.old;
        }
    }

    pub fn open_levels(&self) -> usize {
        self.levels.len()
    }

    /// Appends the tags of a path from `a` to `b` among the first `edges` edges: as few as possible, fixed ones left
    /// out. Both are keys, and there is such a path.
    pub(crate) fn explain(&mut self, a: Node, b: Node, edges: usize, tags: &mut Vec<Tag>) {
        let goal = self.place(a);
        let mut paths = std::mem::take(&mut self.paths);
        paths.round += 1;
        let round = paths.round;
        paths.settled.resize(self.keys.len(), 0);
        paths.reached.resize(self.keys.len(), (0, 0, NONE, NONE));
        paths.queue.clear();
        // Backwards from `b`, by growing number of tagged edges; only through what `a` reaches.
        let start = self.rows[b.index()];
        paths.reached[start as usize] = (round, 0, NONE, NONE);
        paths.queue.push_back((start, 0));
        let mut found = None;
        while let Some((row, cost)) = paths.queue.pop_front() {
            if paths.settled[row as usize] == round {
                continue;
            }
            paths.settled[row as usize] = round;
            let key = self.keys[row as usize];
            let place = self.place(key.node);
            if place.chain == goal.chain && place.index >= goal.index {
                found = Some(row);
                break;
            }
            let mut reach = |from: Row, edge: u32, weight: u32| {
                let old = paths.reached[from as usize];
                if self.clock(from, goal.chain) > goal.index && (old.0 != round || cost + weight < old.1) {
                    paths.reached[from as usize] = (round, cost + weight, row, edge);
                    match weight {
                        0 => paths.queue.push_front((from, cost)),
                        _ => paths.queue.push_back((from, cost + weight)),
                    }
                }
            };
            if key.previous != NONE {
                reach(key.previous, NONE, 0);
            }
            let mut edge = key.first_in;
            while edge != NONE {
                let Edge { source, tag, next_in, .. } = self.edges[edge as usize];
                if (edge as usize) < edges {
                    reach(source, edge, u32::from(tag != Tag::FIXED));
                }
                edge = next_in;
            }
        }
        let mut at = found.expect("the clocks say that there is a path");
        while at != start {
            let (_, _, to, edge) = paths.reached[at as usize];
            if edge != NONE && self.edges[edge as usize].tag != Tag::FIXED {
                tags.push(self.edges[edge as usize].tag);
            }
            at = to;
        }
        self.paths = paths;
    }
}

//! Total orders: the extension of a partial order that stays closest to the observed one.
//!
//! Greedy: of the nodes that can be next, always the one observed first. So a node that has to wait stops its chain,
//! and all others go on as they did.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::partial::{PartialOrder, Place};
use crate::problem::{Bool, Literal, Node};

/// A total order of all nodes, and a value for each boolean: a candidate or an answer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Order {
    sequence: Vec<Node>,
    /// The inverse of `sequence`.
    positions: Vec<u32>,
    values: Vec<bool>,
}

impl Order {
    /// `sequence` names each node once.
    pub fn new(sequence: Vec<Node>, values: Vec<bool>) -> Order {
        let mut positions = vec![u32::MAX; sequence.len()];
        for (position, node) in sequence.iter().enumerate() {
            positions[node.index()] = position as u32;
        }
        assert!(positions.iter().all(|&position| position != u32::MAX), "an order names each node once");
        Order { sequence, positions, values }
    }

    pub fn sequence(&self) -> &[Node] {
        &self.sequence
    }

    pub fn position(&self, node: Node) -> u32 {
        self.positions[node.index()]
    }

    pub fn before(&self, a: Node, b: Node) -> bool {
        self.position(a) < self.position(b)
    }

    /// How many booleans have a value: those made before this order.
    pub fn values(&self) -> usize {
        self.values.len()
    }

    pub fn value(&self, bool: Bool) -> bool {
        self.values[bool.index()]
    }

    pub fn holds(&self, literal: Literal) -> bool {
        match literal {
            Literal::Before(a, b) => self.before(a, b),
            Literal::Is(x) => self.value(x),
            Literal::Not(x) => !self.value(x),
        }
    }

    /// Whether one of the literals holds.
    pub fn satisfies(&self, clause: &[Literal]) -> bool {
        clause.iter().any(|&literal| self.holds(literal))
    }

    /// Booleans made after this order keep the value they start with.
    pub(crate) fn extend_values(&mut self, phases: &[bool]) {
        self.values.extend_from_slice(&phases[self.values.len()..]);
    }

    /// Whether it has all nodes and keeps the order of each chain.
    pub(crate) fn follows(&self, places: &[Place]) -> bool {
        let chains = places.iter().map(|place| place.chain.index() + 1).max().unwrap_or(0);
        let mut next = vec![0; chains];
        self.sequence.len() == places.len()
            && self.sequence.iter().all(|node| {
                let place = places[node.index()];
                let expected = &mut next[place.chain.index()];
                *expected += 1;
                place.index + 1 == *expected
            })
    }
}

/// The nodes of each chain, one after the other: made once per problem.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    nodes: Vec<Node>,
    /// Where each chain starts in `nodes`, and where the last one ends.
    starts: Vec<usize>,
}

impl Layout {
    pub fn new(places: &[Place], lengths: &[u32]) -> Layout {
        let mut starts = vec![0];
        for &length in lengths {
            starts.push(starts[starts.len() - 1] + length as usize);
        }
        let mut nodes = vec![Node(0); places.len()];
        for (node, place) in places.iter().enumerate() {
            nodes[starts[place.chain.index()] + place.index as usize] = Node(node as u32);
        }
        Layout { nodes, starts }
    }
}

/// The extension of `order` that stays closest to the observed order.
pub(crate) fn linearise(order: &PartialOrder, layout: &Layout) -> Vec<Node> {
    let places = order.places();
    // Edges that still hold a node back; and per node the edges it lets go, by counting sort.
    let mut held = vec![0u32; places.len()];
    let mut out_start = vec![0u32; places.len() + 1];
    for (source, target) in order.edges() {
        held[target.index()] += 1;
        out_start[source.index() + 1] += 1;
    }
    for node in 0..places.len() {
        out_start[node + 1] += out_start[node];
    }
    let mut targets = vec![Node(0); order.edge_count()];
    let mut fill = out_start.clone();
    for (source, target) in order.edges() {
        targets[fill[source.index()] as usize] = target;
        fill[source.index()] += 1;
    }

    let chains = layout.starts.len() - 1;
    let mut next: Vec<usize> = layout.starts[..chains].to_vec();
    let head =
        |next: &[usize], chain: usize| (next[chain] < layout.starts[chain + 1]).then(|| layout.nodes[next[chain]]);
    let mut ready: BinaryHeap<Reverse<Node>> = BinaryHeap::with_capacity(chains);
    ready
        .extend((0..chains).filter_map(|chain| head(&next, chain)).filter(|node| held[node.index()] == 0).map(Reverse));
    let mut sequence = Vec::with_capacity(places.len());
    while let Some(Reverse(mut node)) = ready.pop() {
        loop {
            sequence.push(node);
            let chain = places[node.index()].chain.index();
            next[chain] += 1;
            for &target in &targets[out_start[node.index()] as usize..out_start[node.index() + 1] as usize] {
                held[target.index()] -= 1;
                if held[target.index()] == 0 && head(&next, places[target.index()].chain.index()) == Some(target) {
                    ready.push(Reverse(target));
                }
            }
            // Stay on the chain, past the heap, while nothing earlier is ready.
            match head(&next, chain).filter(|node| held[node.index()] == 0) {
                Some(following) if ready.peek().is_none_or(|&Reverse(first)| following < first) => node = following,
                Some(following) => {
                    ready.push(Reverse(following));
                    break;
                }
                None => break,
            }
        }
    }
    assert_eq!(sequence.len(), places.len(), "a partial order has no cycles");
    sequence
}

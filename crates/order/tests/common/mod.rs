//! Random problems, the same for the same seed.
#![allow(dead_code, reason = "each test and example uses a part of it")]

use reweave_order::{Bool, Chain, Clauses, Lazy, Literal, Node, Order, Problem};

/// xorshift64*: good enough to vary problems, and needs no crate.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound as u64) as usize
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

pub struct Size {
    pub nodes: usize,
    pub chains: usize,
    pub bools: usize,
    pub clauses: usize,
}

/// A problem in pieces.
pub struct Pieces {
    pub chains: Vec<Chain>,
    pub edges: Vec<(Node, Node)>,
    pub phases: Vec<bool>,
    pub clauses: Vec<Vec<Literal>>,
}

pub fn random_literal(random: &mut Random, size: &Size) -> Literal {
    if size.bools > 0 && random.chance(25) {
        let x = Bool(random.below(size.bools) as u32);
        return if random.chance(50) { Literal::Is(x) } else { Literal::Not(x) };
    }
    // Now and then a node with itself: a literal that cannot hold.
    let (mut a, mut b) = (random.below(size.nodes), random.below(size.nodes));
    if a == b && random.chance(90) {
        b = (b + 1) % size.nodes;
    }
    if random.chance(20) {
        (a, b) = (a.min(b), a.max(b));
    }
    Literal::Before(Node(a as u32), Node(b as u32))
}

pub fn random_problem(random: &mut Random, size: &Size) -> Pieces {
    let chains = (0..size.nodes).map(|_| Chain(random.below(size.chains) as u32)).collect();
    let mut edges = Vec::new();
    for _ in 0..random.below(3) {
        let (a, b) = (random.below(size.nodes) as u32, random.below(size.nodes) as u32);
        if random.chance(80) && a != b {
            edges.push((Node(a.min(b)), Node(a.max(b))));
        } else if random.chance(30) {
            edges.push((Node(a), Node(b)));
        }
    }
    let phases = (0..size.bools).map(|_| random.chance(50)).collect();
    let clauses = (0..size.clauses)
        .map(|_| {
            let length = match random.below(100) {
                0 => 0,
                1..=8 => 1,
                9..=60 => 2,
                61..=85 => 3,
                _ => 4 + random.below(3),
            };
            // An empty clause is rare: it decides everything.
            let length = if length == 0 && random.chance(80) { 2 } else { length };
            (0..length).map(|_| random_literal(random, size)).collect()
        })
        .collect();
    Pieces { chains, edges, phases, clauses }
}

impl Pieces {
    /// The problem with the clauses before `visible`.
    pub fn problem(&self, visible: usize) -> Problem {
        let mut problem = Problem::new();
        for &chain in &self.chains {
            problem.add_node(chain);
        }
        for &(a, b) in &self.edges {
            problem.edge(a, b);
        }
        for &phase in &self.phases {
            problem.bool_var(phase);
        }
        for clause in &self.clauses[..visible] {
            problem.clause(clause.iter().copied());
        }
        problem
    }
}

/// Reveals hidden clauses when they are violated, at most `at_once` of them.
pub struct Hidden<'a> {
    pub clauses: &'a [Vec<Literal>],
    pub at_once: usize,
}

impl Lazy for Hidden<'_> {
    fn refine(&mut self, candidate: &Order, add: &mut Clauses) {
        for clause in self.clauses.iter().filter(|clause| !candidate.satisfies(clause)).take(self.at_once) {
            add.clause(clause.iter().copied());
        }
    }
}

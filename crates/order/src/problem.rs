//! What the solver is asked: nodes, chains, edges, clauses.

use crate::linear::Order;
use crate::partial::Place;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}
index!(
    /// Something to be ordered: its position in the observed order.
    Node
);
index!(
    /// Nodes whose order among themselves is the observed one.
    Chain
);
index!(
    /// A free boolean.
    Bool
);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Literal {
    /// The first comes before the second. Its negation is the same with the nodes exchanged.
    Before(Node, Node),
    Is(Bool),
    Not(Bool),
}

impl std::ops::Not for Literal {
    type Output = Literal;

    fn not(self) -> Literal {
        match self {
            Literal::Before(a, b) => Literal::Before(b, a),
            Literal::Is(x) => Literal::Not(x),
            Literal::Not(x) => Literal::Is(x),
        }
    }
}

/// A question. It grows while it is solved: what [`crate::Lazy`] adds stays.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// Where each node stands in its chain.
    pub(crate) places: Vec<Place>,
    /// The number of nodes of each chain.
    pub(crate) lengths: Vec<u32>,
    pub(crate) edges: Vec<(Node, Node)>,
    /// What a boolean is taken to be until something speaks against it.
    pub(crate) phases: Vec<bool>,
    literals: Vec<Literal>,
    /// Where each clause ends in `literals`. invariant: ascending
    ends: Vec<u32>,
}

impl Problem {
    pub fn new() -> Problem {
        Problem::default()
    }

    /// The next node of the observed order, after all earlier nodes of its chain.
    pub fn add_node(&mut self, chain: Chain) -> Node {
        let node = Node(self.places.len() as u32);
        if self.lengths.len() <= chain.index() {
            self.lengths.resize(chain.index() + 1, 0);
        }
        let length = &mut self.lengths[chain.index()];
        self.places.push(Place { chain, index: *length });
        *length += 1;
        node
    }

    /// `before` comes before `after`, whatever else happens.
    pub fn edge(&mut self, before: Node, after: Node) {
        self.know(before);
        self.know(after);
        self.edges.push((before, after));
    }

    pub fn bool_var(&mut self, phase: bool) -> Bool {
        self.phases.push(phase);
        Bool(self.phases.len() as u32 - 1)
    }

    /// One of the literals must hold. Without any the problem has no solution.
    pub fn clause(&mut self, literals: impl IntoIterator<Item = Literal>) {
        let start = self.literals.len();
        self.literals.extend(literals);
        for i in start..self.literals.len() {
            match self.literals[i] {
                Literal::Before(a, b) => {
                    self.know(a);
                    self.know(b);
                }
                Literal::Is(x) | Literal::Not(x) => {
                    assert!(x.index() < self.phases.len(), "{x:?} is not of this problem: make it with bool_var")
                }
            }
        }
        self.ends.push(self.literals.len() as u32);
    }

    fn know(&self, node: Node) {
        assert!(node.index() < self.places.len(), "{node:?} is not of this problem: make it with add_node");
    }

    pub fn nodes(&self) -> usize {
        self.places.len()
    }

    pub fn chains(&self) -> usize {
        self.lengths.len()
    }

    pub fn bools(&self) -> usize {
        self.phases.len()
    }

    /// How many clauses there are, the ones added lazily included.
    pub fn clauses(&self) -> usize {
        self.ends.len()
    }

    /// The literals of the clause with this number.
    pub(crate) fn literals(&self, clause: usize) -> &[Literal] {
        let start = if clause == 0 { 0 } else { self.ends[clause - 1] as usize };
        &self.literals[start..self.ends[clause] as usize]
    }

    /// Whether an order satisfies everything that is known.
    pub fn satisfied_by(&self, order: &Order) -> bool {
        let chains = order.follows(&self.places);
        chains
            && self.edges.iter().all(|&(a, b)| order.before(a, b))
            && (0..self.clauses()).all(|clause| order.satisfies(self.literals(clause)))
    }
}

/// Where [`crate::Lazy`] puts the clauses that a candidate violates.
pub struct Clauses<'a> {
    problem: &'a mut Problem,
}

impl<'a> Clauses<'a> {
    pub(crate) fn new(problem: &'a mut Problem) -> Clauses<'a> {
        Clauses { problem }
    }

    /// As [`Problem::clause`].
    pub fn clause(&mut self, literals: impl IntoIterator<Item = Literal>) {
        self.problem.clause(literals);
    }

    /// As [`Problem::bool_var`].
    pub fn bool_var(&mut self, phase: bool) -> Bool {
        self.problem.bool_var(phase)
    }
}

//! Acyclicity as a theory of the SAT solver: the true order atoms form a partial order.
//!
//! Each atom that becomes true is an edge; a cycle is a conflict, explained by as few atoms as possible; atoms that the
//! closure decides are propagated, and explained only when asked. Guarantee: every model of the solver is acyclic.

use batsat::{Lit, Theory, TheoryArg, Var, lbool};

use crate::partial::{Inserted, PartialOrder, Tag};
use crate::problem::{Chain, Node};

/// "That node before this one", seen from this one.
#[derive(Clone, Copy, Debug)]
struct Incoming {
    chain: Chain,
    index: u32,
    literal: Lit,
}

pub(crate) struct Acyclicity {
    pub order: PartialOrder,
    /// By variable: the nodes of an order atom in observed order, `None` for a boolean.
    atoms: Vec<Option<(Node, Node)>>,
    /// By variable: the number of edges that explain its propagation.
    explained_by: Vec<usize>,
    /// By row of the order.
    incoming: Vec<Vec<Incoming>>,
    /// How much of the solver's trail has become edges; and the same when each level was begun.
    head: usize,
    heads: Vec<usize>,
    tags: Vec<Tag>,
    literals: Vec<Lit>,
}

/// The literal of an atom's observed order. False, since that is what the solver tries first; so an atom keeps the
/// phase it had last, and starts as observed.
pub(crate) fn as_observed(var: Var) -> Lit {
    Lit::new(var, false)
}

impl Acyclicity {
    pub fn new(order: PartialOrder) -> Acyclicity {
        Acyclicity {
            order,
            atoms: Vec::new(),
            explained_by: Vec::new(),
            incoming: Vec::new(),
            head: 0,
            heads: Vec::new(),
            tags: Vec::new(),
            literals: Vec::new(),
        }
    }

    /// Tells the theory of a new variable. invariant: variables come in the order of their numbers
    pub fn add_var(&mut self, var: Var, atom: Option<(Node, Node)>) {
        assert_eq!(var.idx() as usize, self.atoms.len(), "variables come in the order of their numbers");
        self.atoms.push(atom);
        self.explained_by.push(0);
        let Some((a, b)) = atom else { return };
        self.incoming.resize_with(self.order.keys(), Vec::new);
        for (from, to, literal) in [(a, b, as_observed(var)), (b, a, !as_observed(var))] {
            let place = self.order.place(from);
            let row = self.order.row(to).expect("nodes of atoms are keys");
            self.incoming[row as usize].push(Incoming { chain: place.chain, index: place.index, literal });
        }
    }

    /// The nodes that a literal orders.
    fn ordered(&self, literal: Lit) -> Option<(Node, Node)> {
        let (a, b) = self.atoms[literal.var().idx() as usize]?;
        Some(if literal == as_observed(literal.var()) { (a, b) } else { (b, a) })
    }

    /// Raises the conflict that `literal`, which is true, closes a cycle with the edges there are.
    fn raise_cycle(&mut self, literal: Lit, acts: &mut TheoryArg) {
        let Some((a, b)) = self.ordered(literal) else { return };
        self.find_path(b, a, self.order.edge_count());
        for cause in &mut self.literals {
            *cause = !*cause;
        }
        self.literals.push(!literal);
        acts.raise_conflict(&self.literals, false);
    }

    /// The literals of a path, into `self.literals`.
    fn find_path(&mut self, a: Node, b: Node, edges: usize) {
        self.tags.clear();
        self.order.explain(a, b, edges, &mut self.tags);
        self.literals.clear();
        self.literals.extend(self.tags.iter().map(|tag| untag(*tag)));
    }

    fn check(&mut self, acts: &mut TheoryArg) {
        while let Some(&literal) = acts.model().get(self.head) {
            self.head += 1;
            let Some((a, b)) = self.ordered(literal) else { continue };
            // What holds without decisions needs no explanation.
            let tag = if self.heads.is_empty() { Tag::FIXED } else { Tag(literal.idx()) };
            let unchanged = self.order.changes().len();
            match self.order.insert(a, b, tag) {
                Inserted::Known => {}
                Inserted::Cycle => {
                    self.raise_cycle(literal, acts);
                    return;
                }
                Inserted::Added => {
                    if let Some(contradicted) = self.propagate(unchanged, acts) {
                        self.raise_cycle(contradicted, acts);
                        return;
                    }
                }
            }
        }
        if self.heads.is_empty() {
            self.order.forget_changes();
        }
    }

    /// Propagates the atoms that the changes from `start` on decide; returns a true literal that they contradict.
    fn propagate(&mut self, start: usize, acts: &mut TheoryArg) -> Option<Lit> {
        for change in &self.order.changes()[start..] {
            let Some(incoming) = self.incoming.get(change.row as usize) else { continue };
            let now = self.order.clock(change.row, change.chain);
            for atom in incoming {
                if atom.chain != change.chain || !(change.old..now).contains(&atom.index) {
                    continue;
                }
                let value = acts.value(atom.literal.var());
                if value == lbool::UNDEF {
                    self.explained_by[atom.literal.var().idx() as usize] = self.order.edge_count();
                    acts.propagate(atom.literal);
                } else if (value == lbool::TRUE) != atom.literal.sign() {
                    return Some(!atom.literal);
                }
            }
        }
        None
    }
}

fn untag(tag: Tag) -> Lit {
    Lit::new(Var::unsafe_from_idx(tag.0 >> 1), tag.0 & 1 == 0)
}

impl Theory for Acyclicity {
    fn final_check(&mut self, acts: &mut TheoryArg) {
        self.check(acts);
    }

    fn partial_check(&mut self, acts: &mut TheoryArg) {
        self.check(acts);
    }

    fn create_level(&mut self) {
        self.heads.push(self.head);
        self.order.begin_level();
    }

    fn pop_levels(&mut self, n: usize) {
        let left = self.heads.len() - n;
        if let Some(&head) = self.heads.get(left) {
            self.head = head;
        }
        self.heads.truncate(left);
        self.order.undo_levels(n);
    }

    fn n_levels(&self) -> usize {
        self.heads.len()
    }

    fn explain_propagation(&mut self, literal: Lit) -> &[Lit] {
        self.literals.clear();
        if let Some((a, b)) = self.ordered(literal) {
            self.find_path(a, b, self.explained_by[literal.var().idx() as usize]);
        }
        &self.literals
    }
}

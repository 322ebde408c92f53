//! The ordering solver: is there a total order of these nodes, and a value for each boolean, that satisfies these
//! clauses?
//!
//! A [`Problem`] has nodes in an *observed* order, chains of nodes whose order is fixed, fixed edges, and clauses over
//! "this node before that one" and free booleans. Clauses that are too many to write down stay with the caller, who is
//! shown candidates and names what they violate ([`Lazy`]). [`solve`] goes through three stages and stops at the first
//! that decides:
//!
//! 1. saturation: unit propagation to a fixpoint over the closure of the fixed order (`saturate`);
//! 2. repair: the linearisation closest to the observed order, mended clause by clause without going back (`repair`);
//! 3. search: CDCL with acyclicity as its theory and the observed order as its first guess (`search`, `acyclic`).
//!
//! Guarantee: sound and complete. `Unsat` means that no order satisfies the clauses known by then; the order of a `Sat`
//! has been checked against all of them and was accepted by the caller. Only a [`Budget`] leads to `Unknown`.
//!
//! Deliberately absent: threads, locks, reads, and anything else that is not a node, a clause or a boolean.

mod acyclic;
mod budget;
mod linear;
pub mod partial;
mod problem;
mod repair;
mod saturate;
mod search;
pub mod smt;
mod solve;

pub use budget::{Budget, Why};
pub use linear::Order;
pub use problem::{Bool, Chain, Clauses, Literal, Node, Problem};
pub use solve::{Complete, Lazy, Solution, Stage, Stats, solve, solve_by_search};

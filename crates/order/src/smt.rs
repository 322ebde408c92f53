//! The question in SMT-LIB (QF_IDL), so that other solvers can be asked the same.
//!
//! An integer per node; nodes that nobody compares may get the same one, which any total order can tell apart. The
//! clauses added lazily are included, so after [`crate::solve()`] the file is the question that was answered.

use std::io::{self, Write};

use crate::problem::{Literal, Node, Problem};

/// Writes the problem, ending with `check-sat`.
pub fn write(problem: &Problem, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "(set-logic QF_IDL)")?;
    for node in 0..problem.nodes() {
        writeln!(out, "(declare-const n{node} Int)")?;
    }
    for bool in 0..problem.bools() {
        writeln!(out, "(declare-const b{bool} Bool)")?;
    }
    let mut last: Vec<Option<usize>> = vec![None; problem.chains()];
    for (node, place) in problem.places.iter().enumerate() {
        if let Some(previous) = last[place.chain.index()].replace(node) {
            writeln!(out, "(assert (< n{previous} n{node}))")?;
        }
    }
    for (Node(a), Node(b)) in &problem.edges {
        writeln!(out, "(assert (< n{a} n{b}))")?;
    }
    for clause in 0..problem.clauses() {
        write!(out, "(assert (or false")?;
        for literal in problem.literals(clause) {
            match literal {
                Literal::Before(a, b) => write!(out, " (< n{} n{})", a.0, b.0)?,
                Literal::Is(x) => write!(out, " b{}", x.0)?,
                Literal::Not(x) => write!(out, " (not b{})", x.0)?,
            }
        }
        writeln!(out, "))")?;
    }
    writeln!(out, "(check-sat)")
}

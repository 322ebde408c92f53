//! The order closest to the observed one, mended clause by clause: decides most satisfiable problems without search.
//!
//! Each clause that the candidate violates gets one of its literals decided, with everything that follows from it.
//! Nothing is taken back but a decision that fails at once. Guarantee: an order that is found satisfies everything;
//! giving up means nothing, except before the first decision, where it means that there is no order.

use crate::budget::Meter;
use crate::linear::Order;
use crate::problem::{Clauses, Literal, Problem};
use crate::saturate::{Saturator, Stop};
use crate::solve::{Lazy, Stats};

/// Decisions that failed on replay before the search takes over: they were made without knowing the clauses of today,
/// and a search would have learnt from them.
const FAILED_REPLAYS: u32 = 8;

pub(crate) enum Repaired {
    Order(Order),
    /// The search has to decide. The saturator is back at its root.
    GaveUp,
}

pub(crate) fn repair(
    saturator: &mut Saturator,
    problem: &mut Problem,
    lazy: &mut dyn Lazy,
    meter: &Meter,
    stats: &mut Stats,
) -> Result<Repaired, Stop> {
    let mut decisions: Vec<Literal> = Vec::new();
    let mut failed = 0;
    loop {
        if let Some(why) = meter.exceeded() {
            return Err(Stop::Budget(why));
        }
        stats.candidates += 1;
        let mut order = saturator.candidate(problem);
        let violated: Vec<usize> = (saturator.clauses().enumerate())
            .filter(|(_, clause)| !order.satisfies(clause))
            .map(|(number, _)| number)
            .collect();
        for &number in &violated {
            match decide(saturator, number, &order, meter)? {
                Decided::Already => {}
                Decided::By(literal) => decisions.push(literal),
                Decided::Not if saturator.open_levels() == 0 => return Err(Stop::Conflict),
                Decided::Not => {
                    saturator.undo_all();
                    return Ok(Repaired::GaveUp);
                }
            }
        }
        stats.repairs = stats.repairs.max(decisions.len() as u64);
        if !violated.is_empty() {
            continue;
        }
        if ask(lazy, problem, &mut order, stats) {
            return Ok(Repaired::Order(order));
        }
        saturator.undo_all();
        saturator.take_clauses(problem, meter)?;
        let mut error = None;
        decisions.retain(|&literal| match saturator.value(literal) {
            _ if error.is_some() => true,
            // Holds of itself now: needs no level.
            Some(true) => false,
            Some(false) => {
                failed += 1;
                false
            }
            None => match saturator.assume(literal, meter) {
                Ok(()) => true,
                Err(Stop::Conflict) => {
                    saturator.undo_levels(1);
                    failed += 1;
                    false
                }
                Err(stop) => {
                    error = Some(stop);
                    true
                }
            },
        });
        if let Some(stop) = error {
            return Err(stop);
        }
        if failed > FAILED_REPLAYS {
            saturator.undo_all();
            return Ok(Repaired::GaveUp);
        }
    }
}

/// Shows a candidate to the caller. Whether it stands: whatever the caller added holds in it.
pub(crate) fn ask(lazy: &mut dyn Lazy, problem: &mut Problem, order: &mut Order, stats: &mut Stats) -> bool {
    let known = problem.clauses();
    lazy.refine(order, &mut Clauses::new(problem));
    stats.lazy_clauses += (problem.clauses() - known) as u64;
    order.extend_values(&problem.phases);
    (known..problem.clauses()).all(|clause| order.satisfies(problem.literals(clause)))
}

enum Decided {
    /// Earlier decisions satisfy the clause.
    Already,
    By(Literal),
    /// No literal can hold after the decisions so far.
    Not,
}

fn decide(saturator: &mut Saturator, clause: usize, order: &Order, meter: &Meter) -> Result<Decided, Stop> {
    let mut choices = Vec::new();
    for &literal in saturator.clause(clause) {
        match saturator.value(literal) {
            Some(true) => return Ok(Decided::Already),
            Some(false) => {}
            None => choices.push(literal),
        }
    }
    choices.sort_by_key(|&literal| cost(literal, order));
    for literal in choices {
        match saturator.assume(literal, meter) {
            Ok(()) => return Ok(Decided::By(literal)),
            Err(Stop::Conflict) => saturator.undo_levels(1),
            Err(stop) => return Err(stop),
        }
    }
    Ok(Decided::Not)
}

/// What to try first: the observed order, then the shortest way to move a node; a boolean last, since the caller chose
/// what it starts with.
fn cost(literal: Literal, order: &Order) -> (u32, u32) {
    match literal {
        Literal::Before(a, b) => (u32::from(a > b), order.position(a).abs_diff(order.position(b))),
        Literal::Is(_) | Literal::Not(_) => (2, 0),
    }
}

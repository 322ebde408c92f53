//! The three stages, one after the other.

use std::time::{Duration, Instant};

use crate::budget::{Budget, Meter, Why};
use crate::linear::Order;
use crate::problem::{Clauses, Problem};
use crate::repair::{Repaired, repair};
use crate::saturate::{Saturator, Stop};
use crate::search::search;

/// The part of a question that is too big to write down.
pub trait Lazy {
    /// Adds clauses that the candidate violates: some of them if there are any, and better many than one. The candidate
    /// satisfies all clauses added so far. Nothing violated means that it is the answer.
    fn refine(&mut self, candidate: &Order, add: &mut Clauses);
}

/// Nothing is left out of the problem.
pub struct Complete;

impl Lazy for Complete {
    fn refine(&mut self, _: &Order, _: &mut Clauses) {}
}

impl<F: FnMut(&Order, &mut Clauses)> Lazy for F {
    fn refine(&mut self, candidate: &Order, add: &mut Clauses) {
        self(candidate, add);
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Solution {
    Sat(Order),
    Unsat,
    Unknown(Why),
}

/// What decided.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Stage {
    #[default]
    Saturation,
    Repair,
    Search,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    pub stage: Stage,
    /// Total orders made.
    pub candidates: u64,
    /// Clauses added by [`Lazy`].
    pub lazy_clauses: u64,
    /// Decisions of the repair.
    pub repairs: u64,
    /// Of the search: order atoms, decisions, conflicts.
    pub atoms: u64,
    pub decisions: u64,
    pub conflicts: u64,
    pub saturation_time: Duration,
    pub repair_time: Duration,
    pub search_time: Duration,
}

/// Looks for an order. What `lazy` adds stays in the problem.
pub fn solve(problem: &mut Problem, lazy: &mut dyn Lazy, budget: Budget) -> (Solution, Stats) {
    staged(false, problem, lazy, budget)
}

/// As [`solve`] by search alone: for tests and measurements of it on problems that the other stages would decide.
pub fn solve_by_search(problem: &mut Problem, lazy: &mut dyn Lazy, budget: Budget) -> (Solution, Stats) {
    staged(true, problem, lazy, budget)
}

fn staged(search_only: bool, problem: &mut Problem, lazy: &mut dyn Lazy, budget: Budget) -> (Solution, Stats) {
    let meter = Meter::new(budget);
    let mut stats = Stats::default();
    let answer = match stages(search_only, problem, lazy, &meter, &mut stats) {
        Ok(order) => {
            assert!(problem.satisfied_by(&order), "an answer satisfies the problem");
            Solution::Sat(order)
        }
        Err(Stop::Conflict) => Solution::Unsat,
        Err(Stop::Budget(why)) => Solution::Unknown(why),
    };
    (answer, stats)
}

fn stages(
    search_only: bool,
    problem: &mut Problem,
    lazy: &mut dyn Lazy,
    meter: &Meter,
    stats: &mut Stats,
) -> Result<Order, Stop> {
    let start = Instant::now();
    let mut saturator = Saturator::new(problem).ok_or(Stop::Conflict)?;
    if !search_only {
        let saturated = saturator.take_clauses(problem, meter);
        stats.saturation_time = start.elapsed();
        saturated?;

        stats.stage = Stage::Repair;
        let start = Instant::now();
        let repaired = repair(&mut saturator, problem, lazy, meter, stats);
        stats.repair_time = start.elapsed();
        if let Repaired::Order(order) = repaired? {
            return Ok(order);
        }
    }

    stats.stage = Stage::Search;
    let start = Instant::now();
    let found = search(saturator, problem, lazy, meter, stats);
    stats.search_time = start.elapsed();
    found
}

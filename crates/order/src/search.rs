//! CDCL (batsat) with acyclicity as its theory, refined by the caller between solves.
//!
//! Starts from what saturation left open; order atoms start as observed, booleans as the caller said. Guarantee:
//! complete; clauses learnt in one round stay valid in the next, since clauses are only ever added.

use std::collections::HashMap;

use batsat::{Callbacks, ClauseKind, Lit, Solver, SolverInterface, SolverOpts, Var, lbool};

use crate::acyclic::{Acyclicity, as_observed};
use crate::budget::{Meter, Why};
use crate::linear::{Layout, Order, linearise};
use crate::problem::{Bool, Literal, Node, Problem};
use crate::repair::ask;
use crate::saturate::{Saturator, Stop, nodes};
use crate::solve::{Lazy, Stats};

/// Counts conflicts and stops the solver when the budget is exceeded.
struct Watchdog<'m, 'b>(&'m Meter<'b>);

impl Callbacks for Watchdog<'_, '_> {
    fn on_new_clause(&mut self, _: &[Lit], _: ClauseKind) {
        self.0.conflict();
    }

    fn stop(&self) -> bool {
        self.0.exceeded().is_some()
    }
}

struct Search<'m, 'b> {
    solver: Solver<Watchdog<'m, 'b>>,
    theory: Acyclicity,
    layout: Layout,
    /// What saturation decided, then `None`.
    root_values: Vec<Option<bool>>,
    bools: Vec<Option<Var>>,
    atoms: HashMap<(Node, Node), Var>,
    clause: Vec<Lit>,
    known: usize,
}

pub(crate) fn search(
    saturator: Saturator,
    problem: &mut Problem,
    lazy: &mut dyn Lazy,
    meter: &Meter,
    stats: &mut Stats,
) -> Result<Order, Stop> {
    let open: Vec<Vec<Literal>> = saturator.clauses().map(<[Literal]>::to_vec).collect();
    let mut search = Search {
        solver: Solver::new(SolverOpts::default(), Watchdog(meter)),
        root_values: (0..problem.bools()).map(|x| saturator.bool_value(Bool(x as u32))).collect(),
        bools: Vec::new(),
        atoms: HashMap::new(),
        clause: Vec::new(),
        known: saturator.known,
        layout: saturator.layout,
        theory: Acyclicity::new(saturator.order),
    };
    let result = search.run(&open, problem, lazy, meter, stats);
    stats.atoms = search.atoms.len() as u64;
    stats.conflicts = search.solver.num_conflicts();
    stats.decisions = search.solver.num_decisions();
    result
}

impl Search<'_, '_> {
    fn run(
        &mut self,
        open: &[Vec<Literal>],
        problem: &mut Problem,
        lazy: &mut dyn Lazy,
        meter: &Meter,
        stats: &mut Stats,
    ) -> Result<Order, Stop> {
        for clause in open {
            self.add_clause(clause, problem)?;
        }
        loop {
            let fresh = self.known..problem.clauses();
            self.known = problem.clauses();
            self.theory.order.make_keys(fresh.clone().flat_map(|clause| nodes(problem.literals(clause))));
            for clause in fresh {
                self.add_clause(problem.literals(clause), problem)?;
            }
            let verdict = self.solver.solve_limited_preserving_trail_th(&mut self.theory, &[]);
            if verdict != lbool::TRUE {
                self.solver.pop_model(&mut self.theory);
                return Err(match meter.exceeded() {
                    Some(why) if verdict == lbool::UNDEF => Stop::Budget(why),
                    None if verdict == lbool::UNDEF => Stop::Budget(Why::Interrupted),
                    _ => Stop::Conflict,
                });
            }
            stats.candidates += 1;
            let mut order = self.candidate(problem);
            self.solver.pop_model(&mut self.theory);
            if ask(lazy, problem, &mut order, stats) {
                return Ok(order);
            }
        }
    }

    /// The solver's model, linearised.
    fn candidate(&self, problem: &Problem) -> Order {
        let mut values = problem.phases.clone();
        for (number, value) in values.iter_mut().enumerate() {
            if let Some(known) = self.root_values.get(number).copied().flatten() {
                *value = known;
            } else if let Some(var) = self.bools.get(number).copied().flatten() {
                // The phase is the literal that is tried first.
                *value ^= self.solver.raw_value_lit(as_observed(var)) != lbool::TRUE;
            }
        }
        Order::new(linearise(&self.theory.order, &self.layout), values)
    }

    /// Adds a clause, without what is decided at the root.
    fn add_clause(&mut self, clause: &[Literal], problem: &Problem) -> Result<(), Stop> {
        let mut translated = std::mem::take(&mut self.clause);
        translated.clear();
        let mut satisfied = false;
        for &literal in clause {
            match self.root_value(literal) {
                Some(true) => satisfied = true,
                Some(false) => {}
                None => translated.push(self.literal(literal, problem)),
            }
        }
        let consistent = satisfied || self.solver.add_clause_reuse(&mut translated);
        self.clause = translated;
        if consistent { Ok(()) } else { Err(Stop::Conflict) }
    }

    fn root_value(&self, literal: Literal) -> Option<bool> {
        match literal {
            Literal::Before(a, b) if self.theory.order.reaches(a, b) => Some(true),
            Literal::Before(a, b) if a == b || self.theory.order.reaches(b, a) => Some(false),
            Literal::Before(..) => None,
            Literal::Is(x) => self.root_values.get(x.index()).copied().flatten(),
            Literal::Not(x) => self.root_values.get(x.index()).copied().flatten().map(|value| !value),
        }
    }

    fn literal(&mut self, literal: Literal, problem: &Problem) -> Lit {
        match literal {
            Literal::Before(a, b) => {
                let pair = (a.min(b), a.max(b));
                let var = *self.atoms.entry(pair).or_insert_with(|| {
                    let var = self.solver.new_var_default();
                    self.theory.add_var(var, Some(pair));
                    var
                });
                as_observed(var).apply_sign(a < b)
            }
            Literal::Is(x) => as_observed(self.bool(x)).apply_sign(problem.phases[x.index()]),
            Literal::Not(x) => as_observed(self.bool(x)).apply_sign(!problem.phases[x.index()]),
        }
    }

    fn bool(&mut self, bool: Bool) -> Var {
        if self.bools.len() <= bool.index() {
            self.bools.resize(bool.index() + 1, None);
        }
        *self.bools[bool.index()].get_or_insert_with(|| {
            let var = self.solver.new_var_default();
            self.theory.add_var(var, None);
            var
        })
    }
}

//! Thread-modular abstract interpretation: what registers and memory may hold at every point, and which writes a read
//! may see.
//!
//! Ferrara's analysis iterates over threads: each is analysed alone with what the others may have written, until no
//! thread changes. Here the constraint system has side effects (as in Goblint): local unknowns are (frame, block),
//! global unknowns are (location, write) and what a thread begins with. A thread's own writes, and those that start
//! and join order before a point, are flow-sensitive; a write replaces what was there only on single locations. Writes
//! in parallel are seen unless a lock hides them ([`shared`]). Memory model: any write not hidden by happens-before is
//! visible.
//!
//! Guarantee: every value a register holds in an execution lies in the set computed for it. [`Values::lacking`] is the
//! check of the solution: every transfer function applied once more.

mod effects;
pub mod locations;
pub mod shared;
pub mod state;
mod transfer;

use std::collections::BTreeSet;

use reweave_script::language::{Literal, Operand, Program, StatementKind};

use crate::domain::value::{Domain, Precision, Value};
use crate::faults::{Fault, goes_on_for_ever, is_seeded};
use crate::flow::{Solution, check, solve};
use crate::frames::{Point, Skeleton, ThreadId};
use crate::locks::Locks;
use crate::parallel::Parallel;
use crate::points_to::PointsTo;
use locations::Locations;
use shared::Shared;
use state::{Entry, Memory, Source, State};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    pub domain: Domain,
    /// Rounds between threads before values are widened.
    pub patience: u32,
    /// Constants of the program at which widening stops on its way.
    pub thresholds: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { domain: Domain::FULL, patience: 4, thresholds: true }
    }
}

/// An analysis under way. It is the flow of one thread after the other.
pub struct Analysis<'a, 'p> {
    pub skeleton: &'a Skeleton<'p>,
    pub points_to: &'a PointsTo,
    pub parallel: &'a Parallel,
    pub locks: &'a Locks,
    pub locations: &'a Locations,
    pub domain: Domain,
    pub settings: Settings,
    // invariant: ascending
    thresholds: Vec<i64>,
    pub shared: Shared,
    /// What threads leave behind.
    exits: Vec<Option<State>>,
}

/// The solution.
pub struct Values<'a, 'p> {
    pub analysis: Analysis<'a, 'p>,
    pub solution: Solution<State>,
    /// How often all threads were looked at until no write changed, the last time included.
    pub rounds: u32,
    /// Where the solution is none: our bug, if there is any.
    pub lacking: Vec<Point>,
}

impl<'a, 'p> Values<'a, 'p> {
    pub fn new(
        skeleton: &'a Skeleton<'p>,
        points_to: &'a PointsTo,
        parallel: &'a Parallel,
        locks: &'a Locks,
        locations: &'a Locations,
        settings: Settings,
    ) -> Self {
        let thresholds = if settings.thresholds { constants(skeleton.program) } else { Vec::new() };
        let exits = vec![None; skeleton.threads.len()];
        let (domain, shared) = (settings.domain, Shared::default());
        let analysis =
            Analysis { skeleton, points_to, parallel, locks, locations, domain, settings, thresholds, shared, exits };
        let mut values = Self { analysis, solution: Solution::new(skeleton), rounds: 0, lacking: Vec::new() };
        values.solve();
        values.check();
        values
    }

    fn solve(&mut self) {
        let skeleton = self.analysis.skeleton;
        let first = self.analysis.first();
        self.analysis.shared.births.insert(ThreadId::MAIN, first);
        let mut round = 0;
        loop {
            round += 1;
            assert!(!goes_on_for_ever(round as usize * 100), "a mistake that was made on purpose");
            self.analysis.shared.changed = false;
            let mut changed = false;
            for thread in skeleton.thread_ids() {
                let Some(birth) = self.analysis.shared.births.get(&thread).cloned() else { continue };
                changed |= solve(&mut self.analysis, skeleton, thread, birth, &mut self.solution, true);
                let exit = self.solution.exit(skeleton.threads[thread.index()].entry);
                self.analysis.exits[thread.index()] = exit.cloned();
            }
            if self.analysis.shared.changed {
                self.rounds = round + 1;
            }
            if (!changed && !self.analysis.shared.changed) || is_seeded(Fault::OneRound) {
                return;
            }
        }
    }

    /// One pass with everything as it is: nothing may be new.
    fn check(&mut self) {
        let skeleton = self.analysis.skeleton;
        self.analysis.shared.changed = false;
        self.lacking = check(&mut self.analysis, skeleton, &self.solution, |analysis, at, small, big| {
            analysis.is_within(at, small, big)
        });
        for thread in skeleton.thread_ids() {
            let entry = skeleton.threads[thread.index()].entry;
            if let Some(birth) = self.analysis.shared.births.get(&thread) {
                let known = self.solution.entry(entry, reweave_script::language::BlockId(0));
                if known.is_none_or(|known| !self.analysis.is_within(entry, birth, known)) {
                    self.lacking.extend(skeleton.threads[thread.index()].starts.first());
                }
            }
        }
        if self.analysis.shared.changed {
            self.lacking.extend(skeleton.points(skeleton.threads[0].entry).map(|(point, _)| point).next());
        }
    }
}

impl Analysis<'_, '_> {
    /// What the main thread begins with.
    fn first(&self) -> State {
        let entry = self.skeleton.threads[ThreadId::MAIN.index()].entry;
        let registers = self.function(entry).registers.iter().map(|info| self.domain.zero(info.kind)).collect();
        let entries = self.locations.ids().map(|id| {
            let value = self.locations.initial(self.skeleton, self.points_to, self.domain, id);
            let is_there = value != Value::Nothing;
            Entry { value, sources: if is_there { vec![Source::System] } else { Vec::new() }, guards: Vec::new() }
        });
        State {
            registers,
            result: Value::Nothing,
            memory: Memory::new(entries),
            touched: Default::default(),
            since: Default::default(),
            comparisons: Default::default(),
        }
    }
}

/// All whole numbers that are written down in a program, and their neighbours.
fn constants(program: &Program) -> Vec<i64> {
    let mut all: BTreeSet<i64> = [-1, 0, 1].into();
    let mut add = |operand: Operand| {
        if let Operand::Literal(Literal::Integer(value)) = operand {
            all.extend([value.saturating_sub(1), value, value.saturating_add(1)]);
        }
    };
    for (_, statement) in program.statements() {
        match statement.kind {
            StatementKind::Const { value, .. } => add(Operand::Literal(value)),
            StatementKind::Compare { left, right, .. } | StatementKind::Binary { left, right, .. } => {
                add(left);
                add(right);
            }
            StatementKind::Store { value, .. } | StatementKind::Move { from: value, .. } => add(value),
            _ => {}
        }
    }
    for global in &program.globals {
        global.length.into_iter().for_each(|length| add(Operand::Literal(Literal::Integer(length.into()))));
    }
    all.into_iter().collect()
}

impl Precision {
    pub const ALL: [Self; 5] = [Self::Full, Self::Intervals, Self::Signs, Self::Parity, Self::Constants];
}

//! Exploration as a part of a test: each run that it asks for is looked at like any other.

use std::ops::ControlFlow;
use std::time::Instant;

use reweave_trace::Trace;

use super::Stage;
use super::hunt::{Hunt, RunScrutiny};
use crate::budget::{self, Bounds};
use crate::explore::{self, Explored};
use reweave_launch::Result;
use reweave_launch::session::Run;

impl Hunt<'_> {
    /// Explores what else the program can do, see [`explore`].
    pub(super) fn explore(&mut self, first: &Run, watch: &mut dyn FnMut(Stage<'_>)) -> Result<Option<Explored>> {
        let [process] = &first.processes[..] else { return Ok(None) };
        if !explore::is_short(process.events) || self.left().is_zero() {
            return Ok(None);
        }
        let share = if self.plan.explore { self.left() } else { self.left() / budget::EXPLORING_SHARE };
        let trace = Trace::open(&process.path)?;
        let limits = explore::ExploreLimits { until: Instant::now() + share, ..self.limits_of_exploring(first) };
        let explored = explore::explore(&trace, &limits, &mut |run, explored| {
            watch(Stage::Exploring(explored));
            let Some((run, again)) = run else { return Ok(self.go_on()) };
            // A race, or a use that comes too late, may be in a run that read what others read.
            let scrutiny = match again {
                true => RunScrutiny::CloseAgain,
                false if self.classes.len() < budget::CLASSES_PREDICTED_FROM => RunScrutiny::Close,
                false => RunScrutiny::Quick,
            };
            self.look_at(run, scrutiny, watch)?;
            Ok(self.go_on())
        })?;
        self.count(&explored);
        Ok(Some(explored))
    }

    /// Until there is enough to tell.
    fn go_on(&self) -> ControlFlow<()> {
        if self.reason_to_stop().is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    pub(super) fn limits_of_exploring(&self, first: &Run) -> explore::ExploreLimits {
        explore::ExploreLimits {
            front_ends: self.plan.options.front_ends,
            until: self.deadline,
            took: first.took,
            events: Bounds::of(first).events,
            seed: self.plan.options.seed,
            jobs: self.jobs,
            isolate: self.plan.options.isolate,
            quantum: None,
        }
    }

    /// For the report.
    fn count(&mut self, explored: &Explored) {
        self.stats.insert("explored_runs".into(), explored.runs);
        self.stats.insert("explored_classes".into(), explored.classes);
        self.stats.insert("explored_states".into(), explored.states);
        self.stats.insert("explored_all".into(), explored.complete.into());
        self.stats.insert("explored_weak_orders".into(), explored.weak_orders.into());
    }
}

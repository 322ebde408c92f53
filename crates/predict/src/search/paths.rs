//! From an order of a window's events to a schedule that a run can be steered along.

use std::collections::{BTreeMap, HashMap};

use reweave_model::{Descent, EventId, Op, Schedule, ThreadId, Witness};
use reweave_trace::{Result, Trace};

use crate::history::Pos;
use crate::lower::{self, Lowered};

/// How far each thread goes, in turn: thread, and its steps by then. What was left out of the window goes with the next
/// kept event of its thread; what was left out before the events in question comes before all of them, so that these
/// follow one another.
pub struct Path {
    start: EventId,
    turns: Vec<(ThreadId, u64)>,
}

impl Path {
    /// The events of `order`, then those in question, one step each.
    pub fn new(window: &Lowered, order: &[Pos], last: &[Pos]) -> Self {
        let mut path = Self { start: window.start, turns: Vec::new() };
        order.iter().for_each(|&pos| path.turn(window, pos, 0));
        last.iter().for_each(|&pos| path.turn(window, pos, 1));
        last.iter().for_each(|&pos| path.turn(window, pos, 0));
        path
    }

    /// The thread of `pos` goes as far as that event, or so many steps less.
    fn turn(&mut self, window: &Lowered, pos: Pos, less: u64) {
        let step = window.history.step(pos);
        let (Some(thread), Some(_)) = (window.threads[step.thread.index()], step.event) else { return };
        let steps = window.origin(pos).steps - less;
        match self.turns.last_mut() {
            Some(turn) if turn.0 == thread => turn.1 = steps,
            _ => self.turns.push((thread, steps)),
        }
    }
}

/// What ran before a window.
#[derive(Clone)]
struct Before {
    schedule: Schedule,
    steps: HashMap<ThreadId, u64>,
}

/// Reads the trace once more, for the names of threads and for what ran before each window.
pub fn witnesses(trace: &Trace, paths: &[&Path]) -> Result<Vec<Witness>> {
    let mut starts: BTreeMap<EventId, Option<Before>> = paths.iter().map(|path| (path.start, None)).collect();
    let mut schedule = Schedule::default();
    let mut descent = Descent::default();
    let mut steps: HashMap<ThreadId, u64> = HashMap::new();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if let Some(before) = starts.get_mut(&event.id) {
            *before = Some(Before { schedule: schedule.clone(), steps: steps.clone() });
        }
        let index = descent.see(&event);
        if event.op.is_step() {
            schedule.push(index, 1);
            *steps.entry(event.thread).or_default() += lower::steps(&event.op);
        } else if event.op == Op::Revoked {
            schedule.revoke(index);
        }
    }
    let witness = |path: &&Path| {
        let empty = Before { schedule: Schedule::default(), steps: HashMap::new() };
        let Before { schedule: before, mut steps } = starts[&path.start].clone().unwrap_or(empty);
        let mut witness = Schedule { threads: descent.names().to_vec(), segments: before.segments };
        for &(thread, until) in &path.turns {
            let done = steps.entry(thread).or_default();
            let more = until.saturating_sub(*done);
            if let Some(index) = descent.index(thread).filter(|_| more > 0) {
                witness.push(index, u32::try_from(more).unwrap_or(u32::MAX));
                *done = until;
            }
        }
        Witness { schedule: witness }
    };
    Ok(paths.iter().map(witness).collect())
}

//! From an order of a window's events to a schedule that a run can be steered along.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use reweave_model::{Descent, EventId, Op, Schedule, SchedulePrefix, ThreadId, Witness};
use reweave_trace::{Result, Trace};

use crate::history::Pos;
use crate::linear::at;
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
#[derive(Clone, Default)]
struct AtStart {
    before: SchedulePrefix,
    /// Of each thread.
    steps: Vec<u64>,
}

/// Reads the trace once more, as far as it has to, for the names of threads and for what ran before each window.
pub fn witnesses(trace: &Trace, paths: &[&Path]) -> Result<Vec<Witness>> {
    let mut starts: BTreeMap<EventId, AtStart> = paths.iter().map(|path| (path.start, AtStart::default())).collect();
    let mut schedule = Schedule::default();
    let mut descent = Descent::default();
    let mut steps: Vec<u64> = Vec::new();
    let mut next: Vec<EventId> = starts.keys().rev().copied().collect();
    let mut unnamed: HashSet<ThreadId> = paths.iter().flat_map(|path| &path.turns).map(|turn| turn.0).collect();
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let mut events = trace.events();
    // Where the names of threads stand, of those that are known.
    let mut known: Vec<Option<ThreadId>> = Vec::new();
    loop {
        if !next.is_empty()
            && let Some(access) = events.next_access()
        {
            while let Some(start) = next.pop_if(|start| *start <= access.id) {
                starts.insert(start, AtStart { before: SchedulePrefix::so_far(&schedule), steps: steps.clone() });
            }
            let index = at(&mut known, access.thread.index());
            schedule.push(*index.get_or_insert_with(|| descent.see(&access.event())), 1);
            *at(&mut steps, access.thread.index()) += 1;
            continue;
        }
        let Some(event) = events.next()? else { break };
        while let Some(start) = next.pop_if(|start| *start <= event.id) {
            starts.insert(start, AtStart { before: SchedulePrefix::so_far(&schedule), steps: steps.clone() });
        }
        let index = descent.see(&event);
        if let Op::Fork { child, .. } = event.op {
            // It may have acted before, as a foreign one.
            *at(&mut known, child.index()) = None;
        }
        if next.is_empty() {
            unnamed.retain(|thread| descent.index(*thread).is_none());
            if unnamed.is_empty() {
                break;
            }
        }
        if event.op.is_step() {
            schedule.push(index, 1);
            *at(&mut steps, event.thread.index()) += lower::steps(&event.op);
        } else if event.op == Op::Stopped {
            schedule.stop_at_once(index);
        } else if event.op == Op::Revoked {
            schedule.revoke(index);
        }
    }
    schedule.threads = descent.names().to_vec();
    let recorded = Arc::new(schedule);
    let witness = |path: &&Path| {
        let AtStart { before, mut steps } = starts[&path.start].clone();
        let mut then = Schedule::default();
        for &(thread, until) in &path.turns {
            if steps.len() <= thread.index() {
                steps.resize(thread.index() + 1, 0);
            }
            let done = &mut steps[thread.index()];
            let more = until.saturating_sub(*done);
            if let Some(index) = descent.index(thread).filter(|_| more > 0) {
                then.push(index, u32::try_from(more).unwrap_or(u32::MAX));
                *done = until;
            }
        }
        Witness::after(Arc::clone(&recorded), before, then.segments)
    };
    Ok(paths.iter().map(witness).collect())
}

//! What a run must show for a deadlock to be confirmed: a thread waits at each of the places, and nobody can move any
//! more. Such a run hangs, or a signal handler (a watchdog) ends what hangs: it runs in the middle of a wait, which is
//! not over for that.

use std::collections::BTreeMap;

use reweave_model::{BlockedOn, EventId, Op, ThreadId};
use reweave_trace::{Outcome, Trace};

use super::Occurrence;
use super::goal::scan;
use crate::names::Code;
use reweave_launch::Result;

/// A wait that has not ended.
#[derive(Clone, Copy, Debug)]
struct Wait {
    at: Code,
    event: EventId,
    /// Steps of the run before it.
    step: u64,
    /// Only what another thread does ends it.
    helpless: bool,
}

/// What a thread waits for, and each handler that it is in.
// invariant: at least one level
type Levels = Vec<Option<Wait>>;

/// The innermost wait.
fn wait_of(levels: &Levels) -> Option<Wait> {
    levels.iter().rev().find_map(|level| *level)
}

/// Where threads wait at these places at the end of the run, each at another, if nobody can move there.
pub fn stuck(trace: &Trace, places: &[Code]) -> Result<Option<Occurrence>> {
    let mut threads: BTreeMap<ThreadId, Levels> = BTreeMap::new();
    scan(trace, |event, names, steps| {
        if !event.op.is_step() {
            return None;
        }
        let levels = threads.entry(event.thread).or_insert_with(|| vec![None]);
        let wait = |helpless| Some(Wait { at: names.code(event.pc), event: event.id, step: steps, helpless });
        let now = match event.op {
            Op::Signal { .. } => {
                levels.push(None);
                return None;
            }
            Op::SignalReturn { .. } => {
                levels.truncate((levels.len() - 1).max(1));
                return None;
            }
            Op::Blocked { on: BlockedOn::Sleep | BlockedOn::Descriptor | BlockedOn::Signal, .. } => wait(false),
            Op::Wait { timed, .. } => wait(!timed),
            Op::Blocked { .. } | Op::BarrierArrive { .. } => wait(true),
            _ => None,
        };
        if let Some(innermost) = levels.last_mut() {
            *innermost = now;
        }
        match event.op {
            Op::Fork { child, .. } => drop(threads.insert(child, vec![None])),
            Op::End => drop(threads.remove(&event.thread)),
            _ => {}
        }
        None
    })?;
    let hung = trace.footer().is_some_and(|footer| footer.outcome == Outcome::Hung);
    let in_handler = threads.values().any(|levels| levels.len() > 1);
    // Otherwise somebody could still help, or a deadline could pass.
    let helpless = || threads.values().all(|levels| wait_of(levels).is_some_and(|wait| wait.helpless));
    if !(hung || in_handler && helpless()) {
        return Ok(None);
    }
    let mut found: Vec<Option<Wait>> = vec![None; places.len()];
    for wait in threads.values().filter_map(wait_of) {
        if let Some(at) = (0..places.len()).find(|&at| places[at] == wait.at && found[at].is_none()) {
            found[at] = Some(wait);
        }
    }
    let events = found.iter().map(|wait| wait.map(|wait| wait.event)).collect();
    let found: Vec<Wait> = found.into_iter().flatten().collect();
    let last = found.iter().map(|wait| wait.step).max().unwrap_or(0);
    let first = found.iter().min_by_key(|wait| wait.step).filter(|_| found.len() == places.len());
    Ok(first.map(|first| Occurrence { first: first.at, steps_before: last, events }))
}

//! Shrinks a confirmed schedule to few preemptions: people read schedules.
//!
//! A preemption is a switch away from a thread that could have gone on. Each is undone in turn, in both ways: what the thread
//! does next comes before the others, or what it has just done comes after them. Every attempt is a run; it is kept if the bug
//! happens again, the run ends in the same way, and it has fewer preemptions. Greedy: not the fewest there can be, but
//! none of those left can go alone.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use reweave_model::{Op, Schedule, Segment, ThreadId};
use reweave_trace::{Trace, schedule_of};

use super::{Attempt, COMMAND, Goal, OUTPUT, Plain, SCHEDULE, TRACE, Tries, run};
use crate::interrupt;
use crate::replay::same_outcome;
use crate::{Error, Result};

/// The schedule as it was first confirmed.
const FIRST: &str = "first.rws";
/// Runs for one finding.
const RUNS: u32 = 100;

/// How it went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Minimised {
    pub before: u32,
    pub after: u32,
    pub runs: u32,
}

/// Shrinks the schedule in the folder of a confirmed finding. The first one is kept beside it.
pub fn minimise(folder: &Path, goal: &mut Goal, plain: &Plain<'_>, deadline: Instant) -> Result<Minimised> {
    let mut best = Trace::open(folder.join(&goal.trace))?;
    let mut count = preemptions(&best)?;
    let mut minimised = Minimised { before: count, after: count, runs: 0 };
    let first = schedule_of(&best)?;
    if first.segments.iter().any(|segment| segment.revoked) {
        // What the watchdog did belongs to its place.
        return Ok(minimised);
    }
    let trial = folder.join("smaller");
    // From the end: what lies after the bug goes first, and earlier places stay where they are.
    let mut at = usize::MAX;
    while count > 0 && minimised.runs < RUNS && Instant::now() < deadline && !interrupt::asked() {
        let schedule = schedule_of(&best)?;
        let Some(place) = (0..schedule.segments.len().min(at)).rev().find(|&place| resumes(&schedule, place).is_some())
        else {
            break;
        };
        at = place;
        for smaller in [sooner(&schedule, place), later(&schedule, place)].into_iter().flatten() {
            minimised.runs += 1;
            fs::create_dir_all(&trial).map_err(Error::output("create", &trial))?;
            let attempt = Attempt { schedule: smaller, wish: None, seed: 0 };
            let left = deadline.saturating_duration_since(Instant::now());
            let done = run(&best, &attempt, goal, &trial, plain, left, &mut Tries::default())?;
            let Ok((new, _)) = done else { continue };
            let trace = Trace::open(trial.join(&new.trace))?;
            let fewer = preemptions(&trace)?;
            if fewer < count && same_outcome(&new.outcome, &goal.outcome) {
                for file in [TRACE, SCHEDULE, COMMAND, OUTPUT, &new.trace] {
                    let _ = fs::rename(trial.join(file), folder.join(file));
                }
                count = fewer;
                *goal = new;
                best = Trace::open(folder.join(&goal.trace))?;
                at = usize::MAX;
                break;
            }
        }
    }
    let _ = fs::remove_dir_all(&trial);
    if count < minimised.before {
        reweave_trace::schedule::save(&first, folder.join(FIRST))?;
    }
    minimised.after = count;
    Ok(minimised)
}

/// Where the thread of a segment goes on, if others come in between.
fn resumes(schedule: &Schedule, at: usize) -> Option<usize> {
    let thread = schedule.segments.get(at)?.thread;
    let next = schedule.segments.iter().skip(at + 1).position(|segment| segment.thread == thread)?;
    (next > 0).then_some(at + 1 + next)
}

/// The thread goes on at once; the others come after.
fn sooner(schedule: &Schedule, at: usize) -> Option<Schedule> {
    let next = resumes(schedule, at)?;
    let mut segments = schedule.segments.clone();
    let moved = segments.remove(next);
    segments.insert(at + 1, moved);
    Some(joined(schedule, segments))
}

/// The thread waits; the others come first.
fn later(schedule: &Schedule, at: usize) -> Option<Schedule> {
    let next = resumes(schedule, at)?;
    let mut segments = schedule.segments.clone();
    let moved = segments.remove(at);
    segments.insert(next - 1, moved);
    Some(joined(schedule, segments))
}

fn joined(schedule: &Schedule, segments: Vec<Segment>) -> Schedule {
    let mut new = Schedule { threads: schedule.threads.clone(), segments: Vec::new() };
    for segment in segments {
        new.push(segment.thread, segment.steps);
    }
    new
}

/// Switches away from threads that could have gone on, and did later.
pub fn preemptions(trace: &Trace) -> Result<u32> {
    let mut running: Option<ThreadId> = None;
    // Threads that were left although they could go on.
    let mut left: HashMap<ThreadId, bool> = HashMap::new();
    let mut could_go_on = false;
    let mut count = 0;
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if !event.op.is_step() {
            continue;
        }
        if running != Some(event.thread) {
            if let Some(old) = running {
                left.insert(old, could_go_on);
            }
            count += u32::from(left.remove(&event.thread).unwrap_or(false));
            running = Some(event.thread);
        }
        could_go_on = !matches!(
            event.op,
            Op::Blocked { .. } | Op::Wait { .. } | Op::BarrierArrive { .. } | Op::Leave { .. } | Op::End
        );
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::ThreadName;

    fn schedule(segments: &[(u32, u32)]) -> Schedule {
        let segment = |&(thread, steps): &(u32, u32)| Segment { thread: ThreadId(thread), steps, revoked: false };
        Schedule { threads: vec![ThreadName::MAIN; 3], segments: segments.iter().map(segment).collect() }
    }

    #[test]
    fn a_preemption_is_undone_in_two_ways() {
        let before = schedule(&[(0, 5), (1, 3), (2, 1), (0, 4), (1, 1)]);
        assert_eq!(sooner(&before, 0), Some(schedule(&[(0, 9), (1, 3), (2, 1), (1, 1)])));
        assert_eq!(later(&before, 0), Some(schedule(&[(1, 3), (2, 1), (0, 9), (1, 1)])));
        assert_eq!(sooner(&before, 4), None);
    }
}

//! Shrinks a confirmed schedule to few preemptions: people read schedules.
//!
//! A preemption is a switch away from a thread that could have continued. First the schedule ends with the bug: after
//! that nobody is preempted. Then each preemption is undone in turn: what the thread does next comes before the others,
//! or what it has just done comes after them, or it goes on to where it stops by itself. Every attempt is a run; it is
//! kept if the bug happens again, the run ends in the same way, and it has fewer preemptions. Greedy: not the fewest
//! there can be, but none of those left can go alone.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::time::Instant;

use reweave_model::{Op, Schedule, Segment, ThreadId};
use reweave_trace::{RunSet, Trace, schedule_of};

use super::{Attempt, AttemptCounts, COMMAND, Goal, OUTPUT, RunSettings, SCHEDULE, TRACE, run};
use crate::budget;
use crate::replay::same_outcome;
use reweave_launch::interrupt;
use reweave_launch::{Error, Result};

/// The schedule as it was first confirmed.
const FIRST: &str = "first.rws";
/// A folder in that of the finding.
const TRIAL: &str = "smaller";

/// How it went.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Minimised {
    pub before: u32,
    pub after: u32,
    pub runs: u32,
}

/// Shrinks the schedule in the folder of a confirmed finding. The first one is kept beside it.
pub fn minimise(folder: &Path, goal: &mut Goal, settings: &RunSettings<'_>, deadline: Instant) -> Result<Minimised> {
    let best = Trace::open(folder.join(&goal.trace))?;
    let count = preemptions(&best)?;
    let first = schedule_of(&best)?;
    let mut shrinking = Shrinking { folder, goal, settings, deadline, best, count, runs: 0 };
    // What the watchdog did belongs to its place.
    if !first.segments.iter().any(|segment| segment.revoked) {
        shrinking.end_early()?;
        shrinking.undo_one_by_one()?;
    }
    let _ = fs::remove_dir_all(folder.join(TRIAL));
    let minimised = Minimised { before: count, after: shrinking.count, runs: shrinking.runs };
    if minimised.after < minimised.before {
        reweave_trace::schedule::save(&first, folder.join(FIRST))?;
    }
    Ok(minimised)
}

/// The best run so far, in the folder, and what may still be spent.
struct Shrinking<'a> {
    folder: &'a Path,
    goal: &'a mut Goal,
    settings: &'a RunSettings<'a>,
    deadline: Instant,
    best: Trace,
    count: u32,
    runs: u32,
}

impl Shrinking<'_> {
    fn is_over(&self) -> bool {
        self.count == 0 || self.runs >= budget::SHRINKING_RUNS || Instant::now() >= self.deadline || interrupt::asked()
    }

    /// Runs along a schedule, and keeps the run if it is better.
    fn try_out(&mut self, schedule: Schedule) -> Result<bool> {
        self.runs += 1;
        let trial = self.folder.join(TRIAL);
        fs::create_dir_all(&trial).map_err(Error::output("create", &trial))?;
        let attempt = Attempt { schedule, plan: None, seed: 0 };
        let left = self.deadline.saturating_duration_since(Instant::now());
        let done = run(&self.best, &attempt, self.goal, &trial, self.settings, left, &mut AttemptCounts::default())?;
        let Ok(new) = done else { return Ok(false) };
        let shorter = Trace::open(trial.join(&new.trace))?;
        let fewer = preemptions(&shorter)?;
        if fewer >= self.count
            || !same_outcome(&new.outcome, &self.goal.outcome)
            || !self.goal.fails_alike(&self.best, &shorter)?
        {
            return Ok(false);
        }
        // Of processes that the shorter run does not have, too.
        RunSet::of(&self.folder.join(TRACE)).remove();
        RunSet::of(&trial.join(TRACE)).put_at(&self.folder.join(TRACE), |from, to| fs::rename(from, to))?;
        for file in [SCHEDULE, COMMAND, OUTPUT] {
            let _ = fs::rename(trial.join(file), self.folder.join(file));
        }
        self.count = fewer;
        *self.goal = new;
        self.best = Trace::open(self.folder.join(&self.goal.trace))?;
        Ok(true)
    }

    /// After the bug everybody may run as long as they can; of a failure nobody knows where the bug was.
    fn end_early(&mut self) -> Result<()> {
        let schedule = schedule_of(&self.best)?;
        let steps: u64 = schedule.segments.iter().map(|segment| u64::from(segment.steps)).sum();
        let bug = self.goal.occurrence(&self.best)?.map_or(steps, |shown| shown.steps_before + 2);
        let ends = if bug + 1 < steps { vec![bug, bug + 1] } else { vec![steps / 4, steps / 2, steps * 3 / 4] };
        for end in ends {
            if self.is_over() || self.try_out(until(&schedule, end))? {
                break;
            }
        }
        Ok(())
    }

    /// From the end: earlier places stay where they are.
    fn undo_one_by_one(&mut self) -> Result<()> {
        let mut at = usize::MAX;
        while !self.is_over() {
            let schedule = schedule_of(&self.best)?;
            let places = 0..schedule.segments.len().min(at);
            let Some(place) = places.rev().find(|&place| resumes(&schedule, place).is_some()) else { break };
            at = place;
            let further = further(&schedule, place, &stops(&self.best)?);
            let undone = [sooner(&schedule, place), later(&schedule, place), further];
            for smaller in undone.into_iter().flatten() {
                if self.is_over() {
                    break;
                }
                if self.try_out(smaller)? {
                    at = usize::MAX;
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The first so many steps.
fn until(schedule: &Schedule, steps: u64) -> Schedule {
    let mut left = steps;
    let mut segments = Vec::new();
    for segment in &schedule.segments {
        let steps = u64::from(segment.steps).min(left) as u32;
        if steps > 0 {
            segments.push(Segment { steps, ..*segment });
        }
        left -= u64::from(steps);
    }
    joined(schedule, segments)
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

/// The thread goes on to where it may stop by itself, which is no preemption. `stops`: which steps of the run are such.
fn further(schedule: &Schedule, at: usize, stops: &[bool]) -> Option<Schedule> {
    let next = resumes(schedule, at)?;
    let before: usize = schedule.segments[..next].iter().map(|segment| segment.steps as usize).sum();
    let steps = schedule.segments[next].steps;
    let stop = stops.iter().skip(before).take(steps as usize).position(|stop| *stop)? as u32;
    let mut segments = schedule.segments.clone();
    // There it waits, which takes a step; later it goes on with what it waited for.
    segments[at].steps += stop + 1;
    segments[next].steps -= stop;
    Some(joined(schedule, segments))
}

/// For each step of a run: whether a thread may have to wait there.
fn stops(trace: &Trace) -> Result<Vec<bool>> {
    let mut stops = Vec::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if event.op.is_step() {
            stops.push(matches!(
                event.op,
                Op::Join { .. } | Op::Acquire { .. } | Op::SemaphoreTake { .. } | Op::Blocked { .. } | Op::Wait { .. }
            ));
        }
    }
    Ok(stops)
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
            // Whoever ends the process lets others come first.
            let preempted = left.remove(&event.thread).unwrap_or(false) && !matches!(event.op, Op::Exit { .. });
            count += u32::from(preempted);
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
        let segment =
            |&(thread, steps): &(u32, u32)| Segment { thread: ThreadId(thread), steps, revoked: false, at_once: false };
        Schedule { threads: vec![ThreadName::MAIN; 3], segments: segments.iter().map(segment).collect() }
    }

    #[test]
    fn a_preemption_is_undone_in_two_ways() {
        let before = schedule(&[(0, 5), (1, 3), (2, 1), (0, 4), (1, 1)]);
        assert_eq!(sooner(&before, 0), Some(schedule(&[(0, 9), (1, 3), (2, 1), (1, 1)])));
        assert_eq!(later(&before, 0), Some(schedule(&[(1, 3), (2, 1), (0, 9), (1, 1)])));
        assert_eq!(sooner(&before, 4), None);
        let stops = |at: usize| (0..14).map(|step| step == at).collect::<Vec<_>>();
        assert_eq!(further(&before, 0, &stops(10)), Some(schedule(&[(0, 7), (1, 3), (2, 1), (0, 3), (1, 1)])));
        assert_eq!(further(&before, 0, &stops(1)), None);
        assert_eq!(until(&before, 7), schedule(&[(0, 5), (1, 2)]));
    }
}

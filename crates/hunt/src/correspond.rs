//! Which step of a run of one build is which of a run of another build: code addresses and numbers of steps mean nothing
//! across builds, but operations in functions on variables do, in the order in which each thread makes them.
//!
//! Thread by thread, the steps of both are laid side by side; where they differ, as few as possible of either are passed
//! over. What is found is a guess that a run has to prove.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use reweave_model::{Descent, Event, EventId, Op, Pc, Schedule, ThreadName};
use reweave_report::Describer;
use reweave_report::place::Placed;
use reweave_trace::{Result, Trace};

/// Steps of both that are passed over at most, where they differ.
const WINDOW: usize = 64;
/// So many in a row have to be the same after that.
const AGREED: usize = 2;

/// What the threads of a run do.
pub struct Steps {
    /// How threads are called in schedules.
    names: Vec<ThreadName>,
    /// By thread, in the same order.
    threads: Vec<Vec<Step>>,
}

#[derive(Clone, Copy)]
struct Step {
    /// Of what it does, where, and to what.
    key: u64,
    event: EventId,
}

impl Steps {
    pub fn of(trace: &Trace) -> Result<Self> {
        let describer = Describer::of(trace);
        let mut functions: HashMap<Pc, u64> = HashMap::new();
        let mut descent = Descent::default();
        let mut threads: Vec<Vec<Step>> = Vec::new();
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            let thread = descent.see(&event).index();
            if !event.op.is_step() {
                continue;
            }
            if threads.len() <= thread {
                threads.resize_with(thread + 1, Vec::new);
            }
            let function = *functions
                .entry(event.pc)
                .or_insert_with(|| hash(&Placed::new(event.pc, std::iter::empty(), describer).at.function));
            threads[thread].push(Step { key: hash(&(function, key(&event, describer))), event: event.id });
        }
        let names = descent.names().to_vec();
        threads.resize_with(names.len(), Vec::new);
        Ok(Self { names, threads })
    }
}

/// What an event does, and to which variable.
fn key<'a>(event: &Event<'_>, describer: Describer<'a>) -> (&'static str, Option<&'a str>) {
    let variable = match event.op {
        Op::Read { addr, .. } | Op::Write { addr, .. } | Op::Atomic { addr, .. } => {
            describer.symbols.variable(addr).map(|variable| variable.name)
        }
        _ => None,
    };
    (event.op.kind().name(), variable)
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// What of one run is what of another.
pub struct Correspondence<'a> {
    old: &'a Steps,
    new: &'a Steps,
    /// By thread of the old run: which of the new one it is …
    threads: Vec<Option<usize>>,
    /// … and which of its steps each step is.
    steps: Vec<Vec<Option<u32>>>,
}

impl<'a> Correspondence<'a> {
    pub fn between(old: &'a Steps, new: &'a Steps) -> Self {
        let mut threads: Vec<Option<usize>> = Vec::new();
        for name in &old.names {
            // A thread's parent stands before it.
            let parent = match name.parent {
                u32::MAX => Some(u32::MAX),
                parent => threads.get(parent as usize).copied().flatten().map(|parent| parent as u32),
            };
            let same = |other: &ThreadName| Some(other.parent) == parent && other.nth == name.nth;
            threads.push(new.names.iter().position(same));
        }
        let none: &[Step] = &[];
        let side_by_side = |(old, thread): (&Vec<Step>, &Option<usize>)| {
            let new = thread.map_or(none, |thread| &new.threads[thread]);
            align(old, new)
        };
        let steps = old.threads.iter().zip(&threads).map(side_by_side).collect();
        Self { old, new, threads, steps }
    }

    /// A schedule of the old build for the new one: each thread is stopped where it was.
    pub fn schedule(&self, schedule: &Schedule) -> Schedule {
        let mut mapped = Schedule { threads: self.new.names.clone(), segments: Vec::new() };
        // By thread: how many steps it has made in the old run, and in the new one.
        let mut made = vec![(0usize, 0u32); self.threads.len()];
        for segment in &schedule.segments {
            let at = segment.thread.index();
            let (Some(Some(thread)), Some(steps)) = (self.threads.get(at), self.steps.get(at)) else { continue };
            let (old, new) = &mut made[at];
            let end = (*old + segment.steps as usize).min(steps.len());
            let last = steps[*old..end].iter().rev().find_map(|step| *step);
            let until = last.map_or(*new, |last| (last + 1).max(*new));
            if until > *new {
                mapped.push(reweave_model::ThreadId(*thread as u32), until - *new);
            }
            (*old, *new) = (end, until);
        }
        mapped
    }

    /// The same event in the new run.
    pub fn event(&self, event: EventId) -> Option<EventId> {
        self.old.threads.iter().enumerate().find_map(|(thread, steps)| {
            let at = steps.binary_search_by_key(&event, |step| step.event).ok()?;
            let new = self.steps[thread][at]? as usize;
            Some(self.new.threads[self.threads[thread]?][new].event)
        })
    }
}

/// For each of the old steps the new one that it is.
fn align(old: &[Step], new: &[Step]) -> Vec<Option<u32>> {
    let same = |i: usize, j: usize| match (old.get(i), new.get(j)) {
        (Some(one), Some(two)) => one.key == two.key,
        // Both are over.
        (None, None) => true,
        _ => false,
    };
    let agreed = |i: usize, j: usize| (0..AGREED).all(|ahead| same(i + ahead, j + ahead));
    let mut aligned = vec![None; old.len()];
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if same(i, j) {
            aligned[i] = u32::try_from(j).ok();
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let ways = (1..=WINDOW).flat_map(|far| (0..=far).map(move |over| (over, far - over)));
        let next = ways.map(|(a, b)| (i + a, j + b)).find(|&(i, j)| i <= old.len() && j <= new.len() && agreed(i, j));
        (i, j) = next.unwrap_or((i + 1, j + 1));
    }
    aligned
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::{Segment, ThreadId};

    fn steps(threads: &[&str]) -> Steps {
        let mut event = 0;
        let mut step = |c: char| {
            event += 1;
            Step { key: c as u64, event: EventId(event) }
        };
        let threads: Vec<Vec<Step>> = threads.iter().map(|text| text.chars().map(&mut step).collect()).collect();
        let child = |nth: usize| ThreadName { parent: 0, nth: nth as u32 };
        let names = (0..threads.len()).map(|at| if at == 0 { ThreadName::MAIN } else { child(at - 1) }).collect();
        Steps { names, threads }
    }

    #[test]
    fn what_was_put_in_or_taken_out_is_passed_over() {
        let aligned = |old: &str, new: &str| {
            let (old, new) = (steps(&[old]), steps(&[new]));
            align(&old.threads[0], &new.threads[0])
        };
        assert_eq!(aligned("rwj", "lrwuj"), [Some(1), Some(2), Some(4)], "a lock around it");
        assert_eq!(aligned("lrwuj", "rwj"), [None, Some(0), Some(1), None, Some(2)], "without it");
        assert_eq!(aligned("ab", "xy"), [None, None], "something else");
    }

    #[test]
    fn a_thread_is_stopped_where_it_was() {
        let (old, new) = (steps(&["fjj", "rw", "rw"]), steps(&["fjj", "lrwu", "lrwu"]));
        let both = Correspondence::between(&old, &new);
        let segment = |thread, steps| Segment { thread: ThreadId(thread), steps, revoked: false, at_once: false };
        let schedule =
            Schedule { threads: old.names.clone(), segments: vec![segment(0, 1), segment(1, 1), segment(2, 2)] };
        let mapped = both.schedule(&schedule);
        assert_eq!(mapped.segments, [segment(0, 1), segment(1, 2), segment(2, 3)], "after the read");
        let write = old.threads[1][1].event;
        assert_eq!(both.event(write), Some(new.threads[1][2].event));
    }
}

//! Active testing of a finding: which threads are to meet where, from what the recorded run knows of them.
//!
//! Threads and locks of another run are recognised by name: a thread by its descent, a lock by its module and offset or
//! by who initialised it as which of its objects. An [`Abstraction`] says which of the recorded ones are as good as
//! those of the finding; a coarse one pauses the wrong threads (thrashing), a fine one misses the right ones in a run
//! that differs a little.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use reweave_conductor::policy::meeting::{Meeting, MeetingPlan, Object, Target, YIELDS};
use reweave_model::{Descent, EventId, Finding, Kind, ObjectId, Op, Schedule, ThreadId};
use reweave_predict::abstraction::{self, Abstractions, Index};
use reweave_trace::{Trace, schedule_of};

use super::{Attempt, AttemptCounts, Goal, RunSettings, run};
use crate::budget;
use crate::names::{Code, Name, Names};
use reweave_launch::Result;
use reweave_launch::folder::PrivateFolder;

/// Call sites in the name of an object, as in the paper.
const SITES: usize = 10;
/// After so many events it is asked whether there is still time.
const ASK_EVERY: u64 = 1 << 14;

/// What makes two threads, or two locks, the same (Park's thesis, §5.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Abstraction {
    /// All are the same.
    Trivial,
    /// The sites of the calls in which it was made: k-object-sensitivity, see [`abstraction`].
    Sites,
    /// These, and how often each was passed: light-weight execution indexing.
    Index,
    /// Nothing but its own name.
    Name,
}

/// How to look for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActiveSettings {
    pub abstraction: Abstraction,
    /// Only threads that hold locks taken where those of the finding were.
    pub context: bool,
    /// Threads yield before they take the first lock of a cycle.
    pub yields: bool,
}

impl ActiveSettings {
    pub const PRECISE: Self = Self { abstraction: Abstraction::Index, context: true, yields: true };
    pub const COARSE: Self = Self { abstraction: Abstraction::Trivial, context: false, yields: false };
}

/// With one seed after the other; first precisely, then coarsely, in case that the names of the recorded run do not
/// fit. None if there is no time left to find out what the recorded run knows.
pub(super) fn attempts(trace: &Trace, finding: &Finding, goal: &Goal, deadline: Instant) -> Result<Vec<Attempt>> {
    let mut attempts = Vec::new();
    for (manner, seeds) in [
        (ActiveSettings::PRECISE, 1..=budget::ACTIVE_RUNS / 2),
        (ActiveSettings::COARSE, budget::ACTIVE_RUNS / 2 + 1..=budget::ACTIVE_RUNS),
    ] {
        let Some(plan) = plan(trace, finding, goal, manner, Some(deadline))? else { break };
        let threads = schedule_of(trace)?.threads;
        for seed in seeds {
            let schedule = Schedule { threads: threads.clone(), segments: Vec::new() };
            attempts.push(Attempt { schedule, plan: Some(plan.clone()), seed });
        }
    }
    Ok(attempts)
}

/// One run in a given manner, to measure it: whether it did it, and what it took. `None`: pausing threads does not
/// help.
pub fn trial(
    trace: &Trace,
    finding: &Finding,
    manner: ActiveSettings,
    seed: u64,
    settings: &RunSettings<'_>,
) -> Result<Option<(bool, AttemptCounts)>> {
    let goal = Goal::of(trace, finding)?;
    let Some(plan) = plan(trace, finding, &goal, manner, None)? else { return Ok(None) };
    let schedule = Schedule { threads: schedule_of(trace)?.threads, segments: Vec::new() };
    let folder = PrivateFolder::new()?;
    let mut tries = AttemptCounts { attempts: 1, ..AttemptCounts::default() };
    let attempt = Attempt { schedule, plan: Some(plan), seed };
    let done = run(trace, &attempt, &goal, folder.path(), settings, budget::MEASURED_RUN, &mut tries)?;
    Ok(Some((done.is_ok(), tries)))
}

/// Who is to meet where, if pausing threads can help, and there is time to find out.
pub fn plan(
    trace: &Trace,
    finding: &Finding,
    goal: &Goal,
    manner: ActiveSettings,
    deadline: Option<Instant>,
) -> Result<Option<MeetingPlan>> {
    let meeting = match finding.kind {
        Kind::Race if !goal.memory_order => Meeting::Race,
        Kind::Deadlock => Meeting::Together,
        Kind::Atomicity if goal.inferred => Meeting::Sequence,
        _ => return Ok(None),
    };
    let accesses = finding.accesses().iter();
    let wanted = accesses.flat_map(|access| access.locks_held.iter().copied().chain([access.event])).collect();
    let Some(recorded) = RecordedRun::of(trace, manner.abstraction, &wanted, deadline)? else { return Ok(None) };
    let mut targets = Vec::new();
    for (place, (access, code)) in finding.accesses().iter().zip(&goal.accesses).enumerate() {
        let mut target = Target::anyone(*code, place as u32);
        target.number = goal.threads.get(place).copied().unwrap_or(place as u32);
        target.threads = recorded.threads_like(access.thread);
        if finding.kind == Kind::Deadlock {
            target.objects = recorded.locks_like(access.event);
            let held = access.locks_held.iter().filter_map(|event| recorded.sites.get(event));
            let sites: Vec<Code> = held.copied().collect();
            if let Some(&at) = sites.first().filter(|_| manner.yields) {
                targets.push(Target { place: YIELDS, context: Vec::new(), objects: Vec::new(), at, ..target.clone() });
            }
            target.context = if manner.context { sites } else { Vec::new() };
        }
        targets.push(target);
    }
    Ok(Some(MeetingPlan { meeting, targets }))
}

/// What the recorded run knows of its threads and locks.
struct RecordedRun {
    abstraction: Abstraction,
    /// Index of each thread in the schedule, and its abstraction.
    threads: BTreeMap<ThreadId, (u32, Index)>,
    /// Of the events that are asked for: the lock that is taken or waited for, and where that is.
    locks: HashMap<EventId, ObjectId>,
    sites: HashMap<EventId, Code>,
    /// Names of locks, with their abstraction if the run initialised them.
    names: BTreeMap<ObjectId, (Object, Option<Index>)>,
}

impl RecordedRun {
    /// `None`: the time is over.
    fn of(
        trace: &Trace,
        abstraction: Abstraction,
        wanted: &HashSet<EventId>,
        deadline: Option<Instant>,
    ) -> Result<Option<Self>> {
        let is_over = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let by_site = !matches!(abstraction, Abstraction::Trivial | Abstraction::Name);
        let abstractions = if by_site { abstraction::of_trace(trace, SITES)? } else { Abstractions::default() };
        let shape = |index: &Index| match abstraction {
            Abstraction::Sites => index.iter().map(|(site, _)| (*site, 0)).collect(),
            _ => index.clone(),
        };
        let mut recorded = Self {
            abstraction,
            threads: BTreeMap::from([(ThreadId(0), (0, Index::new()))]),
            locks: HashMap::new(),
            sites: HashMap::new(),
            names: BTreeMap::new(),
        };
        let mut creations: HashMap<ThreadId, u32> = HashMap::new();
        let mut names = Names::new(trace.language());
        let mut descent = Descent::default();
        let mut events = trace.events();
        for number in 0.. {
            if u64::is_multiple_of(number, ASK_EVERY) && is_over() {
                return Ok(None);
            }
            let Some(event) = events.next()? else { break };
            names.see(&event);
            descent.see(&event);
            match event.op {
                Op::Fork { child, .. } => {
                    let index = abstractions.threads.get(&child).map(shape).unwrap_or_default();
                    let number = descent.index(child).map_or(u32::MAX, |index| index.0);
                    recorded.threads.insert(child, (number, index));
                }
                Op::Create { object, .. } => {
                    let nth = creations.entry(event.thread).or_default();
                    let thread = recorded.threads.get(&event.thread).map_or(u32::MAX, |(number, _)| *number);
                    let index = abstractions.objects.get(&object).and_then(|lives| lives.last()).map(shape);
                    recorded.names.insert(object, (Object::Created { thread, nth: *nth }, index));
                    *nth += 1;
                }
                Op::Acquire { object, .. } | Op::Blocked { object, .. } => {
                    if wanted.contains(&event.id) {
                        recorded.locks.insert(event.id, object);
                        recorded.sites.insert(event.id, names.code(event.pc));
                    }
                    if recorded.names.contains_key(&object) {
                        continue;
                    }
                    if let Name::Global { module, offset } = names.name(event.thread, object.0) {
                        recorded.names.insert(object, (Object::Global { module, offset }, None));
                    }
                }
                _ => {}
            }
        }
        Ok(Some(recorded))
    }

    /// None: any.
    fn threads_like(&self, thread: ThreadId) -> Vec<u32> {
        let Some((number, index)) = self.threads.get(&thread) else { return Vec::new() };
        match self.abstraction {
            Abstraction::Trivial => Vec::new(),
            Abstraction::Name => vec![*number],
            _ => self.threads.values().filter(|(_, other)| other == index).map(|(number, _)| *number).collect(),
        }
    }

    /// None: any.
    fn locks_like(&self, event: EventId) -> Vec<Object> {
        let Some((name, index)) = self.locks.get(&event).and_then(|lock| self.names.get(lock)) else {
            return Vec::new();
        };
        match (self.abstraction, index) {
            (Abstraction::Trivial, _) => Vec::new(),
            (Abstraction::Name, _) | (_, None) => vec![*name],
            (_, Some(_)) => self.names.values().filter(|(_, other)| other == index).map(|(name, _)| *name).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use reweave_model::{LockMode, Pc};
    use reweave_trace::TraceBuilder;

    use super::*;

    #[test]
    fn the_recorded_run_is_asked_for_what_is_wanted_while_there_is_time() {
        let mut builder = TraceBuilder::default();
        let mut push = |op: Op<'_>| builder.push(ThreadId(0), Pc(1), op).expect("memory takes every write");
        let (object, mode) = (ObjectId(0x1000), LockMode::Exclusive);
        push(Op::Begin);
        for _ in 0..2 {
            push(Op::Acquire { object, mode, tried: false });
            push(Op::Release { object, mode });
        }
        let trace = builder.into_trace().expect("memory takes every write");
        let wanted = HashSet::from([EventId(3)]);
        let of = |deadline| RecordedRun::of(&trace, Abstraction::Index, &wanted, deadline).expect("readable");
        let recorded = of(None).expect("there is time");
        assert_eq!(recorded.locks, HashMap::from([(EventId(3), object)]));
        assert!(of(Some(Instant::now())).is_none(), "the time is over");
    }
}

//! From a [`Way`] over the events that matter to a schedule that a run can be steered along.

use std::collections::{BTreeMap, HashMap, HashSet};

use reweave_model::{Descent, EventId, Op, Schedule, ThreadId, Witness};
use reweave_trace::{Result, Trace};

use crate::linear::{Before, Way};
use crate::lower;

/// What the trace knows of its threads.
#[derive(Default)]
struct Lanes {
    descent: Descent,
    /// Everything that ran, as it ran; without the names of threads.
    schedule: Schedule,
    /// By thread, an event for each step that it takes in a reordering. invariant: ascending
    steps: HashMap<ThreadId, Vec<EventId>>,
    /// Who ran from which event on, until the next one.
    runs: Vec<(ThreadId, EventId)>,
    /// Who was forked where.
    forks: HashMap<EventId, ThreadId>,
    /// What ran up to these events, these included.
    prefixes: BTreeMap<EventId, Option<Schedule>>,
    /// Who did these.
    wanted: HashMap<EventId, ThreadId>,
}

/// Reads the trace once. `None` for a way that is none: it mentions a thread or an event that is not there.
pub fn along(trace: &Trace, ways: &[Way]) -> Result<Vec<Option<Witness>>> {
    if ways.is_empty() {
        return Ok(Vec::new());
    }
    let lanes = Lanes::of(trace, ways)?;
    Ok(ways.iter().map(|way| Some(Witness::new(lanes.schedule_along(way)?))).collect())
}

impl Lanes {
    fn of(trace: &Trace, ways: &[Way]) -> Result<Self> {
        let mut lanes = Self::default();
        let prefix = |way: &Way| match way.before {
            Before::Everything(until) => Some((until, None)),
            Before::Of(_) => None,
        };
        lanes.prefixes = ways.iter().filter_map(prefix).collect();
        let wanted: HashSet<EventId> = ways.iter().flat_map(|way| [way.last.0, way.last.1]).collect();
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            let index = lanes.descent.see(&event);
            if let Op::Fork { child, .. } = event.op {
                lanes.forks.insert(event.id, child);
            }
            if lanes.runs.last().is_none_or(|(thread, _)| *thread != event.thread) {
                lanes.runs.push((event.thread, event.id));
            }
            if event.op.is_step() {
                lanes.schedule.push(index, 1);
                let steps = lanes.steps.entry(event.thread).or_default();
                (0..lower::steps(&event.op)).for_each(|_| steps.push(event.id));
            } else if event.op == Op::Stopped {
                lanes.schedule.stop_at_once(index);
            } else if event.op == Op::Revoked {
                lanes.schedule.revoke(index);
            }
            if wanted.contains(&event.id) {
                lanes.wanted.insert(event.id, event.thread);
            }
            if let Some(prefix) = lanes.prefixes.get_mut(&event.id) {
                *prefix = Some(Schedule { threads: Vec::new(), segments: lanes.schedule.segments.clone() });
            }
        }
        Ok(lanes)
    }

    fn steps(&self, thread: ThreadId) -> &[EventId] {
        self.steps.get(&thread).map_or(&[], Vec::as_slice)
    }

    fn schedule_along(&self, way: &Way) -> Option<Schedule> {
        let mut schedule = Schedule { threads: self.descent.names().to_vec(), segments: Vec::new() };
        let mut until: HashMap<ThreadId, EventId> = HashMap::new();
        match &way.before {
            Before::Everything(last) => {
                schedule.segments.clone_from(&self.prefixes.get(last)?.as_ref()?.segments);
                until.extend(self.descent.threads().map(|thread| (thread, *last)));
            }
            Before::Of(each) => {
                for (fork, last) in each {
                    let thread = fork.map_or(Some(&ThreadId(0)), |fork| self.forks.get(&fork))?;
                    until.insert(*thread, *last);
                }
                self.run_observed(&until, &mut schedule);
            }
        }
        let pair = [way.last.0, way.last.1];
        let thread = |event| self.wanted.get(event).copied();
        let threads = [thread(&pair[0])?, thread(&pair[1])?];
        let mut two = [0, 1].map(|at| {
            let all = self.steps(threads[at]);
            let done = until.get(&threads[at]).map_or(0, |last| all.partition_point(|step| step <= last));
            Side { index: self.descent.index(threads[at]).unwrap_or_default(), all, done, end: pair[at] }
        });
        let owner = |event: &EventId| two.iter().position(|side| side.all.binary_search(event).is_ok());
        let owners = way.steps.iter().map(owner).collect::<Option<Vec<usize>>>()?;
        // What each thread has to stop before, at every step.
        let mut nexts = vec![[None; 2]; way.steps.len()];
        let mut next = [None; 2];
        for nth in (0..way.steps.len()).rev() {
            next[owners[nth]] = Some(way.steps[nth]);
            nexts[nth] = next;
        }
        for (nth, &event) in way.steps.iter().enumerate() {
            run_freely(&mut two, event, nexts[nth], &mut schedule);
            two[owners[nth]].go(EventId(event.0 + 1), &mut schedule);
        }
        run_freely(&mut two, EventId(u64::MAX), [None, None], &mut schedule);
        for side in &two {
            // Both stand right before their accesses, which are one step each.
            if side.all.get(side.done) != Some(&side.end) || side.all.get(side.done + 1) == Some(&side.end) {
                return None;
            }
            schedule.push(side.index, 1);
        }
        Some(schedule)
    }

    /// What the threads did until given events, as they did it.
    fn run_observed(&self, until: &HashMap<ThreadId, EventId>, schedule: &mut Schedule) {
        for (nth, (thread, from)) in self.runs.iter().enumerate() {
            let Some(last) = until.get(thread) else { continue };
            let to = self.runs.get(nth + 1).map_or(EventId(u64::MAX), |(_, next)| *next).min(EventId(last.0 + 1));
            let all = self.steps(*thread);
            let before = |event: EventId| all.partition_point(|step| *step < event);
            push(schedule, self.descent.index(*thread).unwrap_or_default(), before(to).saturating_sub(before(*from)));
        }
    }
}

/// One of the two threads on its way.
struct Side<'l> {
    index: ThreadId,
    all: &'l [EventId],
    /// So many of them are done.
    done: usize,
    /// Its access.
    end: EventId,
}

impl Side<'_> {
    /// Does what comes before the event.
    fn go(&mut self, until: EventId, schedule: &mut Schedule) {
        let to = self.all.partition_point(|step| *step < until).max(self.done);
        push(schedule, self.index, to - self.done);
        self.done = to;
    }

    fn next(&self) -> EventId {
        self.all.get(self.done).copied().unwrap_or(EventId(u64::MAX))
    }
}

/// What both threads did before an event and each of them before its next one that matters, in the observed order.
fn run_freely(two: &mut [Side<'_>; 2], until: EventId, next: [Option<EventId>; 2], schedule: &mut Schedule) {
    let limits = [0, 1].map(|at| next[at].unwrap_or(two[at].end).min(until));
    loop {
        let open = |at: &usize| two[*at].next() < limits[*at];
        let Some(at) = [0, 1].into_iter().filter(open).min_by_key(|at| two[*at].next()) else { return };
        let other = Some(1 - at).filter(open).map_or(EventId(u64::MAX), |other| two[other].next());
        two[at].go(limits[at].min(other), schedule);
    }
}

fn push(schedule: &mut Schedule, thread: ThreadId, steps: usize) {
    if steps > 0 {
        schedule.push(thread, u32::try_from(steps).unwrap_or(u32::MAX));
    }
}

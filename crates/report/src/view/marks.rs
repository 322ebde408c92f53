//! Which events of a run are the accesses of a finding. A finding names them by place, operation and thread; a run passes
//! that place many times, so that the right one is found from where the bug is (in the run that did it), or as the ones that come
//! closest (in a run that did not).

use std::collections::{BTreeMap, HashMap};

use reweave_model::{Event, EventId, Op, Pc, StackId, ThreadId};
use reweave_trace::{Result, Trace};

use super::Class;
use super::phrase::{class, memory};
use crate::data::{AccessItem, Item, Location};
use crate::describe;
use crate::place::Placed;

/// The run in which to look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Where {
    /// It did it, after this many steps if that is known.
    Failing { steps_before: Option<u64> },
    /// It did something else.
    Observed,
}

/// Numbers of accesses, from 1, by event.
pub type Marks = BTreeMap<EventId, usize>;

/// A step that may be one of the accesses.
#[derive(Clone, Copy)]
struct Candidate {
    event: EventId,
    /// Counted from 1.
    step: u64,
    thread: ThreadId,
    memory: Option<(u64, u64)>,
}

impl Candidate {
    fn overlaps(&self, other: &Self) -> bool {
        match (self.memory, other.memory) {
            (Some((one, one_size)), Some((two, two_size))) => {
                one < two.saturating_add(two_size) && two < one.saturating_add(one_size)
            }
            _ => true,
        }
    }
}

/// Finds the accesses of a finding in a run. Threads keep their numbers across runs as long as they are made in the same
/// order; where they were not, the places alone decide.
pub fn find(trace: &Trace, item: &Item, place: Where) -> Result<Marks> {
    let mut best = Marks::new();
    // Where the bug shows may be a little before the last of its accesses.
    let slack = match place {
        Where::Failing { steps_before: Some(_) } if is_ordered(item) => &[1, 8, 64, u64::MAX][..],
        _ => &[0],
    };
    for slack in slack {
        for same_threads in [true, false] {
            let marks = search(trace, item, place, *slack, same_threads)?;
            if marks.len() > best.len() {
                best = marks;
            }
            if best.len() == item.accesses.len() {
                return Ok(best);
            }
        }
    }
    Ok(best)
}

/// Whether its accesses are in the order in which they happen.
fn is_ordered(item: &Item) -> bool {
    matches!(item.kind.as_str(), "race" | "atomicity")
}

fn search(trace: &Trace, item: &Item, place: Where, slack: u64, same_threads: bool) -> Result<Marks> {
    let mut matcher = Matcher { trace, accesses: &item.accesses, same_threads, at: HashMap::new() };
    let chosen = match place {
        Where::Failing { steps_before: Some(bug) } if is_ordered(item) => {
            let forward = if item.kind == "race" { matcher.follow(trace, bug)? } else { Vec::new() };
            let complete = !forward.is_empty() && forward.iter().all(Option::is_some);
            if complete { forward } else { matcher.chain(trace, bug.saturating_add(slack))? }
        }
        Where::Failing { steps_before: Some(bug) } if item.view.is_some() => matcher.around(trace, bug + 1)?,
        Where::Failing { .. } => matcher.last(trace)?,
        Where::Observed if item.kind == "race" && item.accesses.len() == 2 => matcher.closest(trace)?,
        Where::Observed => matcher.first(trace)?,
    };
    let numbered = chosen.into_iter().zip(1..).filter_map(|(found, number)| Some((found?.event, number)));
    Ok(numbered.collect())
}

struct Matcher<'a> {
    trace: &'a Trace,
    accesses: &'a [AccessItem],
    same_threads: bool,
    /// Accesses whose place a code address with its callers is: looked up once.
    at: HashMap<(Pc, StackId), Vec<usize>>,
}

type Chosen = Vec<Option<Candidate>>;

impl Matcher<'_> {
    /// The accesses that this event may be.
    fn of(&mut self, event: &Event<'_>) -> Vec<usize> {
        let (trace, accesses, same_threads) = (self.trace, self.accesses, self.same_threads);
        let here = self.at.entry((event.pc, event.stack)).or_insert_with(|| {
            let placed = Placed::new(event.pc, trace.stacks().walk(event.stack), trace.symbols());
            if placed.at == Location::default() {
                return Vec::new();
            }
            let innermost = placed.through.first().unwrap_or(&placed.at);
            let same = |access: &AccessItem| placed.at == access.location && *innermost == *access.innermost();
            (0..accesses.len()).filter(|&k| same(&accesses[k])).collect()
        });
        let fatal = match event.op {
            Op::Fatal { number, .. } => Some(describe::signal_name(number as i32)),
            _ => None,
        };
        let is = |&k: &usize| {
            let access = &accesses[k];
            (!same_threads || access.thread == event.thread.0)
                && match &fatal {
                    Some(signal) => access.op == *signal,
                    None => here.contains(&k) && is_operation(&access.op, &event.op),
                }
        };
        (0..accesses.len()).filter(is).collect()
    }

    /// Calls `each` with every event that may be one of the accesses, until it says stop.
    fn scan(&mut self, trace: &Trace, mut each: impl FnMut(Candidate, &[usize]) -> bool) -> Result<()> {
        let mut step = 0;
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            step += u64::from(event.op.is_step());
            let of = self.of(&event);
            if of.is_empty() {
                continue;
            }
            let memory = memory(&event.op).map(|(addr, size)| (addr.0, size));
            if !each(Candidate { event: event.id, step, thread: event.thread, memory }, &of) {
                break;
            }
        }
        Ok(())
    }

    /// Threads of the finding that differ must differ in the run.
    fn consistent(&self, chosen: &[Option<Candidate>], k: usize, new: &Candidate) -> bool {
        chosen.iter().enumerate().all(|(other, found)| match found {
            Some(found) => {
                (self.accesses[other].thread == self.accesses[k].thread) == (found.thread == new.thread)
                    && found.event != new.event
            }
            None => true,
        })
    }

    /// The first in their order behind the bug's place: the accesses of a race come right there. What has the accesses the
    /// other way round is also such a race.
    fn follow(&mut self, trace: &Trace, bug: u64) -> Result<Chosen> {
        let mut chosen: Chosen = vec![None; self.accesses.len()];
        let mut seen = 0;
        let accesses = self.accesses.len();
        let mut found: Vec<(Candidate, Vec<usize>)> = Vec::new();
        self.scan(trace, |candidate, of| {
            if candidate.step > bug && seen < 64 {
                seen += 1;
                found.push((candidate, of.to_vec()));
            }
            seen < 64
        })?;
        let orders: [Vec<usize>; 2] = [(0..accesses).collect(), (0..accesses).rev().collect()];
        for order in orders {
            let mut tried: Chosen = vec![None; accesses];
            let mut left = order.iter().copied().peekable();
            for (candidate, of) in &found {
                let Some(&k) = left.peek() else { break };
                // Far behind the bug's place it is another time through the code.
                if candidate.step > bug + 16 && tried.iter().all(Option::is_none) {
                    break;
                }
                if of.contains(&k) && self.consistent(&tried, k, candidate) {
                    tried[k] = Some(*candidate);
                    left.next();
                }
            }
            if tried.iter().all(Option::is_some) {
                return Ok(tried);
            }
            if chosen.iter().all(Option::is_none) {
                chosen = tried;
            }
        }
        Ok(chosen)
    }

    /// The last ones in their order that end at this step.
    fn chain(&mut self, trace: &Trace, last: u64) -> Result<Chosen> {
        let length = self.accesses.len();
        // The last chain of the first k + 1 accesses so far, for each thread that may have made the first.
        let mut chains: Vec<BTreeMap<ThreadId, Chosen>> = vec![BTreeMap::new(); length];
        let mut candidates = Vec::new();
        self.scan(trace, |candidate, of| {
            let inside = candidate.step <= last;
            if inside {
                candidates.push((candidate, of.to_vec()));
                // Long runs: what is long ago can be forgotten, a chain lies close before its end.
                if candidates.len() > 1 << 16 {
                    candidates.drain(..1 << 15);
                }
            }
            inside
        })?;
        for (candidate, of) in candidates {
            for &k in of.iter().rev() {
                if k == 0 {
                    chains[0].insert(candidate.thread, vec![Some(candidate)]);
                    continue;
                }
                for (first, before) in chains[k - 1].clone() {
                    if self.consistent(&before, k, &candidate) {
                        let longer = before.into_iter().chain([Some(candidate)]).collect();
                        chains[k].insert(first, longer);
                    }
                }
            }
        }
        let longest = chains.into_iter().rev().find(|chains| !chains.is_empty()).unwrap_or_default();
        let end = |chain: &Chosen| chain.last().copied().flatten().map(|last| last.event);
        let mut best = longest.into_values().max_by_key(end).unwrap_or_default();
        best.resize(length, None);
        Ok(best)
    }

    /// For each access the last event: where threads are when everything is over.
    fn last(&mut self, trace: &Trace) -> Result<Chosen> {
        let mut chosen: Chosen = vec![None; self.accesses.len()];
        self.scan(trace, |candidate, of| {
            for &k in of {
                chosen[k] = Some(candidate);
            }
            true
        })?;
        Ok(chosen)
    }

    /// For each access the last event up to this step, or the first one behind it.
    fn around(&mut self, trace: &Trace, step: u64) -> Result<Chosen> {
        let mut chosen: Chosen = vec![None; self.accesses.len()];
        self.scan(trace, |candidate, of| {
            for &k in of {
                if candidate.step <= step || chosen[k].is_none() {
                    chosen[k] = Some(candidate);
                }
            }
            true
        })?;
        Ok(chosen)
    }

    fn first(&mut self, trace: &Trace) -> Result<Chosen> {
        let mut chosen: Chosen = vec![None; self.accesses.len()];
        self.scan(trace, |candidate, of| {
            let free = of.iter().find(|&&k| chosen[k].is_none());
            if let Some(&k) = free {
                chosen[k] = Some(candidate);
            }
            chosen.iter().any(Option::is_none)
        })?;
        Ok(chosen)
    }

    /// The two that come closest to each other, on the same memory.
    fn closest(&mut self, trace: &Trace) -> Result<Chosen> {
        let mut last: [Option<Candidate>; 2] = [None, None];
        let mut best: Option<(u64, [Candidate; 2])> = None;
        self.scan(trace, |candidate, of| {
            for &k in of {
                if let Some(other) = last[1 - k]
                    && other.thread != candidate.thread
                    && other.overlaps(&candidate)
                {
                    let distance = candidate.step - other.step;
                    if best.is_none_or(|(least, _)| distance < least) {
                        best = Some((distance, if k == 0 { [candidate, other] } else { [other, candidate] }));
                    }
                }
                last[k] = Some(candidate);
            }
            true
        })?;
        Ok(match best {
            Some((_, pair)) => pair.map(Some).to_vec(),
            None => {
                // One thread did both, and the other came to neither: only that of the finding's own thread stands for something.
                if let [Some(one), Some(two)] = last
                    && one.thread == two.thread
                {
                    let kept = usize::from(self.accesses[1].thread == two.thread.0);
                    last[1 - kept] = None;
                }
                last.to_vec()
            }
        })
    }
}

/// Whether an operation is what a finding calls it.
fn is_operation(name: &str, op: &Op<'_>) -> bool {
    if name.starts_with("wait") {
        return op.awaits().is_some() || matches!(op, Op::Wait { .. } | Op::Woken { .. });
    }
    match name {
        "read" => matches!(op, Op::Read { .. }),
        "write" => matches!(op, Op::Write { .. }),
        "free" => matches!(op, Op::Free { .. } | Op::Misused { .. }) || class(op) == Class::Write,
        "atomic load" | "atomic store" | "atomic update" => matches!(op, Op::Atomic { .. }),
        "access" => memory(op).is_some(),
        "acquire" => op.awaits().is_some(),
        "release" => matches!(op, Op::Release { .. } | Op::Wait { .. }),
        "destroy" => matches!(op, Op::Destroy { .. } | Op::Misused { .. }),
        "fork" => matches!(op, Op::Fork { .. }),
        _ => matches!(class(op), Class::Sync | Class::Wait),
    }
}

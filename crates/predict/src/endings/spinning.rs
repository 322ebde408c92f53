//! Runs that do not end because their threads go round loops for something that no thread is left to do: hangs without
//! a wait.
//!
//! A run counts if it had to be ended and the last part of it changes nothing: threads read the same values again and
//! again, try locks in vain, take them and give them back, yield or sleep; all others wait or have ended. A thread that
//! could go on and has had few turns in that time is starved, and threads that refuse each other a lock in turn would
//! not in another order: nobody is stuck then. Not exact: threads that are stuck and try a common lock on the way are
//! missed, and a loop that gives up after very many rounds looks the same. Runs that look at the time, or at anything
//! outside, are left alone.

use std::collections::{BTreeMap, HashMap, HashSet};

use reweave_model::{
    Addr, BlockedOn, Event, EventId, HeldLocks, ObjectId, Op, Pc, StackId, ThreadId, Value, WakeReason,
};
use reweave_trace::{Result, Trace};

use super::waits::{Wait, Waits};

/// Events at the end that must change nothing …
const TAIL: u64 = 200_000;
/// … or the second half of a run that did not come so far in the time it had, if that is as long: on a busy machine,
/// threads that yield to each other do some ten thousand rounds a second.
const SHORTEST_TAIL: u64 = 50_000;
/// Values that a thread's own variable takes on in a loop.
const VALUES: usize = 4;
/// The part of its fair share of steps that a thread must have had.
const SHARE: u64 = 100;

/// A thread that reads the same value again and again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spinning {
    /// The last such read.
    pub event: EventId,
    pub thread: ThreadId,
    pub pc: Pc,
    pub stack: StackId,
    /// What it reads.
    pub addr: Addr,
}

/// Where the threads of a run spin at its end, if that is all they do. `is_timer` says which channels time itself sends
/// on.
///
/// # Errors
/// If the trace cannot be read.
pub fn spinning(trace: &Trace, is_timer: &dyn Fn(ObjectId) -> bool) -> Result<Option<Vec<Spinning>>> {
    let count = trace.event_count();
    let length = (count / 2).min(TAIL);
    if length < SHORTEST_TAIL {
        return Ok(None);
    }
    let standing = Standing::of(trace, is_timer)?;
    if standing.timers {
        return Ok(None);
    }
    let mut tail = Tail::default();
    let mut events = trace.events_from(EventId(count - length))?;
    while let Some(event) = events.next()? {
        if !tail.changes_nothing(&event, &standing) {
            return Ok(None);
        }
    }
    Ok(tail.spinning(&standing, length))
}

/// The last part of a run.
#[derive(Default)]
struct Tail {
    threads: BTreeMap<ThreadId, Spinning>,
    places: HashMap<Addr, Memory>,
    steps: HashMap<ThreadId, u64>,
    taken: HashSet<ObjectId>,
    refused: HashSet<ObjectId>,
}

impl Tail {
    /// False: the event is none of a loop for something that never happens.
    fn changes_nothing(&mut self, event: &Event<'_>, standing: &Standing) -> bool {
        let (accessed, written) = match event.op {
            Op::Read { addr, .. } => (Some(addr), None),
            Op::Write { addr, value, .. } => (Some(addr), Some(value)),
            Op::Atomic { addr, kind, written, .. } => (Some(addr), kind.writes().then_some(written)),
            Op::Refused { .. } | Op::Acquire { .. } | Op::Release { .. } => (None, None),
            Op::Blocked { on: BlockedOn::Sleep | BlockedOn::LockExclusive | BlockedOn::LockShared, .. } => (None, None),
            ref op if !op.is_step() => (None, None),
            _ => return false,
        };
        if event.op.is_step() {
            *self.steps.entry(event.thread).or_default() += 1;
        }
        match event.op {
            Op::Acquire { object, .. } => drop(self.taken.insert(object)),
            Op::Refused { object, .. } => drop(self.refused.insert(object)),
            // Whoever waits for that lock could have had it.
            Op::Release { object, .. } if standing.starving.contains(&object) => return false,
            _ => {}
        }
        let Some(addr) = accessed else { return true };
        let memory = self.places.entry(addr).or_insert_with(|| Memory::of(event.thread));
        if !memory.is_steady(event.thread, written) {
            return false;
        }
        if written.is_none() {
            let &Event { id, thread, pc, stack, .. } = event;
            self.threads.insert(thread, Spinning { event: id, thread, pc, stack, addr });
        }
        true
    }

    fn spinning(self, standing: &Standing, length: u64) -> Option<Vec<Spinning>> {
        let share = length / standing.ready.len().max(1) as u64 / SHARE;
        let is_starved = |thread| self.steps.get(thread).is_none_or(|&steps| steps < share);
        if standing.ready.iter().any(is_starved) || !self.taken.is_disjoint(&self.refused) {
            return None;
        }
        if self.places.values().any(|memory| memory.shared && memory.values.len() > 1) {
            return None;
        }
        Some(self.threads.into_values().collect()).filter(|threads: &Vec<_>| !threads.is_empty())
    }
}

/// Where threads stand when a run is over.
struct Standing {
    /// One may go off that the run armed.
    timers: bool,
    /// The locks that some wait for.
    starving: HashSet<ObjectId>,
    /// Threads that could go on.
    ready: Vec<ThreadId>,
}

impl Standing {
    fn of(trace: &Trace, is_timer: &dyn Fn(ObjectId) -> bool) -> Result<Self> {
        let mut waits = Waits::default();
        let mut held: HeldLocks<()> = HeldLocks::default();
        // Threads that were chosen by a notify on a condition and have not come back.
        let mut chosen: HashMap<ObjectId, i64> = HashMap::new();
        let mut timers = false;
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            waits.see(&event, || ());
            held.follow(event.thread, &event.op, ());
            match event.op {
                Op::Woken { condition, reason: WakeReason::Notified, .. } => *chosen.entry(condition).or_default() -= 1,
                Op::Notify { condition, woken, .. } => *chosen.entry(condition).or_default() += i64::from(woken),
                // Time would have passed.
                Op::Send { channel, .. } => timers |= is_timer(channel),
                _ => {}
            }
        }
        let can_go = |wait: &Wait<()>| match wait.on {
            _ if wait.is_for_lock() => !held.is_held(wait.object),
            BlockedOn::Notify if !wait.helpless => true,
            BlockedOn::Notify => chosen.get(&wait.object).is_some_and(|&chosen| chosen > 0),
            // Time would have passed.
            BlockedOn::Sleep => true,
            BlockedOn::Join => !waits.is_alive(ThreadId(wait.object.0 as u32)),
            _ => false,
        };
        let locks = waits.threads().filter_map(|thread| waits.now(thread)).filter(|wait| wait.is_for_lock());
        Ok(Self {
            timers,
            starving: locks.map(|wait| wait.object).collect(),
            ready: waits.threads().filter(|&thread| waits.now(thread).is_none_or(can_go)).collect(),
        })
    }
}

/// A place in memory, in the last part of a run.
struct Memory {
    first: ThreadId,
    /// Others use it, too.
    shared: bool,
    /// What is written there.
    values: Vec<Vec<u8>>,
}

impl Memory {
    const fn of(first: ThreadId) -> Self {
        Self { first, shared: false, values: Vec::new() }
    }

    /// False: its values never come back, like those of a counter.
    fn is_steady(&mut self, thread: ThreadId, written: Option<Value<'_>>) -> bool {
        self.shared |= thread != self.first;
        if let Some(bytes) = written.map(bytes)
            && !self.values.contains(&bytes)
        {
            self.values.push(bytes);
        }
        self.values.len() <= VALUES
    }
}

fn bytes(value: Value<'_>) -> Vec<u8> {
    match value {
        Value::Word(word) => word.to_le_bytes().to_vec(),
        Value::Bytes(bytes) => bytes.to_vec(),
        Value::Unknown => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::AccessFlags;
    use reweave_trace::TraceBuilder;

    /// Two threads, one of which reads a flag for ever; the other does `op` as often.
    fn found(op: impl Fn(u64) -> Op<'static>) -> Option<Vec<Spinning>> {
        found_in(TAIL, op)
    }

    fn found_in(rounds: u64, op: impl Fn(u64) -> Op<'static>) -> Option<Vec<Spinning>> {
        let mut builder = TraceBuilder::default();
        let mut push = |thread, pc, op| {
            builder.push(ThreadId(thread), Pc(pc), op).expect("in memory");
        };
        push(0, 1, Op::Begin);
        push(0, 1, Op::Fork { child: ThreadId(1), nth: 0 });
        push(1, 1, Op::Begin);
        for round in 0..=rounds {
            push(0, 2, Op::Read { addr: Addr(64), size: 4, value: Value::Word(0), flags: AccessFlags(0) });
            push(1, 3, op(round));
        }
        spinning(&builder.into_trace().expect("in memory"), &|channel| channel == ObjectId(99)).expect("readable")
    }

    #[test]
    fn loops_that_change_nothing() {
        let write =
            |addr, value| Op::Write { addr: Addr(addr), size: 4, value: Value::Word(value), flags: AccessFlags(0) };
        let spins = found(|round| write(128, round % 2)).expect("only its own variable changes");
        assert_eq!(
            spins.iter().map(|spin| (spin.thread, spin.pc, spin.addr)).collect::<Vec<_>>(),
            [(ThreadId(0), Pc(2), Addr(64))]
        );
        let steady = |_| write(128, 1);
        assert!(found_in(SHORTEST_TAIL, steady).is_some(), "a busy machine");
        assert_eq!(found_in(SHORTEST_TAIL / 2, steady), None, "it had no time");
        assert_eq!(found(|round| write(128, round)), None, "it counts");
        assert_eq!(found(|round| write(64, round % 2)), None, "the flag changes");
        assert_eq!(found(|_| Op::Blocked { on: BlockedOn::Descriptor, object: ObjectId(1) }), None, "it may get more");
    }
}

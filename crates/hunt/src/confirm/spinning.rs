//! Runs that do not end because their threads go round loops for something that nobody is left to do: hangs without a
//! wait.
//!
//! A run counts if it had to be ended and the last part of it changes nothing: threads read the same values again and
//! again, try locks in vain, take them and give them back, yield or sleep; all others wait or have ended. A thread that
//! could go on and has had few turns in that time is starved, and threads that refuse each other a lock in turn would
//! not in another order: nobody is stuck then. Not exact: threads that are stuck and try a common lock on the way are
//! missed, and a loop that gives up after very many rounds looks the same. Runs that look at the time, or at anything
//! outside, are left alone.

use std::collections::{BTreeMap, HashMap, HashSet};

use reweave_conductor::arrivals::is_timer_channel;
use reweave_model::{
    AccessOp, Accessor, Awaited, BlockedOn, Event, EventId, ObjectId, Op, ThreadId, Value, WakeReason,
};
use reweave_trace::Trace;

use reweave_launch::Result;

/// Events at the end that must change nothing.
const TAIL: u64 = 200_000;
/// Values that a thread's own variable takes on in a loop.
const VALUES: usize = 4;
/// A run with fewer events had no time.
const LONG: u64 = 2 * TAIL;
/// The part of its fair share of steps that a thread must have had.
const SHARE: u64 = 100;

/// Where the threads of a run spin at its end, if that is all they do.
pub fn spinning(trace: &Trace) -> Result<Option<Vec<Accessor>>> {
    let count = trace.event_count();
    if count < LONG {
        return Ok(None);
    }
    let mut threads: BTreeMap<ThreadId, Accessor> = BTreeMap::new();
    let mut places: HashMap<u64, Place> = HashMap::new();
    let Standing { timers, starving, ready } = Standing::of(trace)?;
    if timers {
        return Ok(None);
    }
    let mut steps: HashMap<ThreadId, u64> = HashMap::new();
    let (mut taken, mut refused) = (HashSet::new(), HashSet::new());
    let mut events = trace.events_from(EventId(count - TAIL))?;
    while let Some(event) = events.next()? {
        let awaited = match event.op {
            Op::Read { addr, .. } => Some(addr),
            Op::Atomic { addr, kind, .. } if !kind.writes() => Some(addr),
            Op::Write { .. } | Op::Atomic { .. } => None,
            Op::Refused { .. } | Op::Acquire { .. } | Op::Release { .. } => None,
            Op::Blocked { on: BlockedOn::Sleep | BlockedOn::LockExclusive | BlockedOn::LockShared, .. } => None,
            ref op if !op.is_step() => None,
            _ => return Ok(None),
        };
        if event.op.is_step() {
            *steps.entry(event.thread).or_default() += 1;
        }
        match event.op {
            Op::Acquire { object, .. } => drop(taken.insert(object)),
            Op::Refused { object, .. } => drop(refused.insert(object)),
            _ => {}
        }
        // Whoever waits for that lock could have had it.
        if let Op::Release { object, .. } = event.op
            && starving.contains(&object)
        {
            return Ok(None);
        }
        let (addr, written) = match event.op {
            Op::Read { addr, .. } => (Some(addr), None),
            Op::Write { addr, value, .. } => (Some(addr), Some(value)),
            Op::Atomic { addr, kind, written, .. } => (Some(addr), kind.writes().then_some(written)),
            _ => (None, None),
        };
        if let Some(addr) = addr
            && !places.entry(addr.0).or_insert_with(|| Place::of(event.thread)).is_steady(event.thread, written)
        {
            return Ok(None);
        }
        if let Some(addr) = awaited {
            let op = AccessOp::WaitsFor(Awaited::Change(addr));
            threads.insert(event.thread, accessor(&event, op));
        }
    }
    let share = TAIL / ready.len().max(1) as u64 / SHARE;
    let is_starved = |thread| steps.get(thread).is_none_or(|&steps| steps < share);
    if ready.iter().any(is_starved) || !taken.is_disjoint(&refused) {
        return Ok(None);
    }
    if places.values().any(|place| place.shared && place.values.len() > 1) {
        return Ok(None);
    }
    let places: Vec<Accessor> = threads.into_values().collect();
    Ok(Some(places).filter(|places| !places.is_empty()))
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
    fn of(trace: &Trace) -> Result<Self> {
        // What each thread that has not ended waits for, if it does.
        let mut waits: BTreeMap<ThreadId, Option<(BlockedOn, ObjectId)>> = BTreeMap::new();
        let mut held: HashMap<ObjectId, i64> = HashMap::new();
        // Threads that were chosen by a notify on a condition and have not come back.
        let mut chosen: HashMap<ObjectId, i64> = HashMap::new();
        let mut timers = false;
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            match event.op {
                Op::Acquire { object, .. } => *held.entry(object).or_default() += 1,
                Op::Release { object, .. } => *held.entry(object).or_default() -= 1,
                Op::Wait { mutex, .. } => *held.entry(mutex).or_default() -= 1,
                Op::Woken { condition, mutex, reason, .. } => {
                    *held.entry(mutex).or_default() += 1;
                    *chosen.entry(condition).or_default() -= i64::from(reason == WakeReason::Notified);
                }
                // Time would have passed.
                Op::Send { channel, .. } => timers |= is_timer_channel(channel.0),
                Op::Notify { condition, woken, .. } => *chosen.entry(condition).or_default() += i64::from(woken),
                Op::Fork { child, .. } => drop(waits.insert(child, None)),
                _ => {}
            }
            let waiting = match event.op {
                Op::End => {
                    waits.remove(&event.thread);
                    continue;
                }
                Op::Blocked { on, object } => Some((on, object)),
                Op::Wait { condition, .. } => Some((BlockedOn::Notify, condition)),
                Op::BarrierArrive { barrier, .. } => Some((BlockedOn::Barrier, barrier)),
                ref op if !op.is_step() => continue,
                _ => None,
            };
            waits.insert(event.thread, waiting);
        }
        let is_lock = |on| matches!(on, BlockedOn::LockExclusive | BlockedOn::LockShared);
        let can_go = |wait: &Option<(BlockedOn, ObjectId)>| match *wait {
            None => true,
            Some((on, lock)) if is_lock(on) => held.get(&lock).is_none_or(|&holders| holders <= 0),
            Some((BlockedOn::Notify, condition)) => chosen.get(&condition).is_some_and(|&chosen| chosen > 0),
            Some((BlockedOn::Join, child)) => !waits.contains_key(&ThreadId(child.0 as u32)),
            Some(_) => false,
        };
        let locks = waits.values().flatten().filter(|(on, _)| is_lock(*on)).map(|(_, lock)| *lock);
        Ok(Self {
            timers,
            starving: locks.collect(),
            ready: waits.iter().filter(|(_, wait)| can_go(wait)).map(|(thread, _)| *thread).collect(),
        })
    }
}

/// A place in memory, in the last part of a run.
struct Place {
    first: ThreadId,
    /// Others use it, too.
    shared: bool,
    /// What is written there.
    values: Vec<Vec<u8>>,
}

impl Place {
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

fn accessor(event: &Event<'_>, op: AccessOp) -> Accessor {
    let Event { id, thread, pc, stack, .. } = *event;
    Accessor { event: id, process: None, thread, pc, stack, op, locks_held: Vec::new() }
}

fn bytes(value: Value<'_>) -> Vec<u8> {
    match value {
        Value::Word(word) => word.to_le_bytes().to_vec(),
        Value::Bytes(bytes) => bytes.to_vec(),
        Value::Unknown => Vec::new(),
    }
}

//! A recorded run in another order: its events as a schedule (a witness, say) has them. Nobody ran it that way. So a
//! value is only kept where it cannot be another one: a read that sees another write than in the recording has that
//! write's value, and what its thread writes from then on is not known.

use std::collections::{HashMap, HashSet};

use reweave_model::wire::{self, Record, append};
use reweave_model::{
    BlockedOn, Descent, Event, EventId, LockChange, LockMode, ObjectId, Op, Pc, Schedule, StackId, ThreadId,
    ThreadName, Value,
};

use crate::{Footer, Result, Trace, TraceBuilder};

/// Longer runs are not reordered: all of it is in memory, somebody is to look at it, and the schedule of a witness
/// counts steps in one way only as long as the run fits into one window.
const LONGEST: u64 = 10_000;

/// A run in another order.
pub struct Reordered {
    pub trace: Trace,
    /// What the events of the recording are in it, as far as it has them.
    pub events: HashMap<EventId, EventId>,
}

/// The steps of a trace along a schedule, as a trace of its own; `None` if it is too long for that, or the schedule is
/// of another program.
pub fn along(trace: &Trace, schedule: &Schedule) -> Result<Option<Reordered>> {
    if trace.event_count() > LONGEST {
        return Ok(None);
    }
    let mut recorded = RecordedRun::default();
    let mut builder = TraceBuilder::new(trace.meta());
    for (stack, parent, pc) in trace.stacks().sorted() {
        builder.define_stack(stack, parent, pc)?;
    }
    let mut put = HashMap::new();
    let mut count = 0;
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if let Op::ThreadName { .. } = event.op {
            builder.push(event.thread, event.pc, event.op)?;
            count += 1;
        }
        recorded.see(&event);
    }
    let Some(threads) = recorded.threads_of(schedule) else { return Ok(None) };
    let mut world = World::default();
    let mut next: HashMap<ThreadId, usize> = HashMap::new();
    let mut push = |thread: ThreadId, step: &Step, pc: Pc, op: Op<'_>| {
        builder.set_stack(thread, step.stack);
        put.insert(step.id, EventId(count));
        count += 1;
        builder.push(thread, pc, op)
    };
    for segment in &schedule.segments {
        let thread = threads[segment.thread.index()];
        for _ in 0..segment.steps {
            let at = next.entry(thread).or_default();
            let Some(step) = recorded.steps.get(&thread).and_then(|steps| steps.get(*at)) else { break };
            *at += 1;
            let Some((pc, op)) = recorded.operation(step) else { continue };
            push(thread, step, pc, world.step(thread, step.id, op, &recorded))?;
        }
    }
    // Who stands before a lock that another one holds waits there.
    for &thread in &threads {
        let at = next.get(&thread).copied().unwrap_or(0);
        if let Some(step) = recorded.steps.get(&thread).and_then(|steps| steps.get(at))
            && let Some((pc, op)) = recorded.operation(step)
            && let Some(waits) = world.waits(thread, &op)
        {
            push(thread, step, pc, waits)?;
        }
    }
    let writer = builder.finish(Footer::default(), Some(trace.symbols()))?;
    Ok(Some(Reordered { trace: Trace::from_bytes(writer.into_bytes())?, events: put }))
}

/// An event that a schedule counts.
#[derive(Clone, Copy)]
struct Step {
    id: EventId,
    stack: StackId,
    /// Where its record begins.
    at: usize,
}

/// What the recording says.
#[derive(Default)]
struct RecordedRun {
    words: Vec<u64>,
    steps: HashMap<ThreadId, Vec<Step>>,
    descent: Descent,
    memory: HashMap<u64, EventId>,
    /// The writes that a read saw, byte by byte.
    seen: HashMap<EventId, Vec<Option<EventId>>>,
}

impl RecordedRun {
    fn see(&mut self, event: &Event<'_>) {
        self.descent.see(event);
        if let Some((addr, size)) = read_of(&event.op) {
            let seen = bytes(addr, size).map(|byte| self.memory.get(&byte).copied()).collect();
            self.seen.insert(event.id, seen);
        }
        if let Some((addr, size)) = written_by(&event.op) {
            self.memory.extend(bytes(addr, size).map(|byte| (byte, event.id)));
        }
        if event.op.is_step() && !is_wait(&event.op) {
            let at = self.words.len();
            append(&mut self.words, &Record::Event { pc: event.pc, op: event.op });
            self.steps.entry(event.thread).or_default().push(Step { id: event.id, stack: event.stack, at });
        }
    }

    /// The threads that a schedule speaks of.
    fn threads_of(&self, schedule: &Schedule) -> Option<Vec<ThreadId>> {
        let known = self.descent.by_path();
        ThreadName::paths(&schedule.threads)?.iter().map(|path| known.get(path).copied()).collect()
    }

    fn operation(&self, step: &Step) -> Option<(Pc, Op<'_>)> {
        match wire::decode(&self.words[step.at..]) {
            Ok((Record::Event { pc, op }, _)) => Some((pc, op)),
            _ => None,
        }
    }
}

/// Whom a thread had to wait for is another matter in another order: schedules of witnesses do not count it either.
fn is_wait(op: &Op<'_>) -> bool {
    use BlockedOn::{Descriptor, Join, LockExclusive, LockShared, Once, Semaphore};
    matches!(op, Op::Blocked { on: LockExclusive | LockShared | Semaphore | Join | Once | Descriptor, .. })
}

/// What is known on the way.
#[derive(Default)]
struct World {
    memory: HashMap<u64, EventId>,
    /// What writes wrote, of those whose value is known: where, how much, what.
    written: HashMap<EventId, (u64, u64, u64)>,
    /// Writes that may have written something else than in the recording.
    unsure: HashSet<EventId>,
    /// Threads that read something else than in the recording.
    astray: HashSet<ThreadId>,
    held: HashMap<ObjectId, Vec<(ThreadId, LockMode)>>,
}

impl World {
    /// The operation with the values that it has in this order, as far as they are known.
    fn step<'a>(&mut self, thread: ThreadId, id: EventId, mut op: Op<'a>, recorded: &RecordedRun) -> Op<'a> {
        if let Some(waits) = self.waits(thread, &op) {
            return waits;
        }
        if let Some((addr, size)) = read_of(&op) {
            let now: Vec<Option<EventId>> = bytes(addr, size).map(|byte| self.memory.get(&byte).copied()).collect();
            let same = recorded.seen.get(&id) == Some(&now);
            if !same || now.iter().flatten().any(|write| self.unsure.contains(write)) {
                let whole = now.first().copied().flatten().filter(|first| now.iter().all(|one| *one == Some(*first)));
                let known = whole.and_then(|write| self.written.get(&write));
                let known = known.filter(|known| (known.0, known.1) == (addr, size));
                set_read(&mut op, known.map_or(Value::Unknown, |known| Value::Word(known.2)));
                self.astray.insert(thread);
            }
        }
        if let Some((addr, size)) = written_by(&op) {
            if self.astray.contains(&thread) {
                set_written(&mut op, Value::Unknown);
                self.unsure.insert(id);
            } else if let Some(value) = word_written(&op) {
                self.written.insert(id, (addr, size, value));
            }
            self.memory.extend(bytes(addr, size).map(|byte| (byte, id)));
        }
        match op.lock_change() {
            Some(LockChange::Acquired { lock, mode }) => self.held.entry(lock).or_default().push((thread, mode)),
            Some(LockChange::Released { lock, .. }) => {
                self.held.entry(lock).or_default().retain(|(holder, _)| *holder != thread);
            }
            None => {}
        }
        op
    }

    /// Waiting, if a lock that the operation takes is held against it.
    fn waits(&self, thread: ThreadId, op: &Op<'_>) -> Option<Op<'static>> {
        let Op::Acquire { object, mode, .. } = *op else { return None };
        let against = |(holder, held): &(ThreadId, LockMode)| {
            *holder != thread && (mode != LockMode::Shared || *held != LockMode::Shared)
        };
        let (on, _) = op.awaits()?;
        self.held.get(&object).is_some_and(|holders| holders.iter().any(against)).then_some(Op::Blocked { on, object })
    }
}

fn bytes(addr: u64, size: u64) -> std::ops::Range<u64> {
    addr..addr.saturating_add(size)
}

/// What an operation reads, of what is small enough to have a value.
fn read_of(op: &Op<'_>) -> Option<(u64, u64)> {
    match *op {
        Op::Read { addr, size, .. } if size <= 8 => Some((addr.0, size.into())),
        Op::Atomic { kind, addr, size, .. } if kind.reads() && size <= 8 => Some((addr.0, size.into())),
        _ => None,
    }
}

fn written_by(op: &Op<'_>) -> Option<(u64, u64)> {
    match *op {
        Op::Write { addr, size, .. } => Some((addr.0, u64::from(size).min(4096))),
        Op::Atomic { kind, addr, size, .. } if kind.writes() => Some((addr.0, size.into())),
        _ => None,
    }
}

fn word_written(op: &Op<'_>) -> Option<u64> {
    match *op {
        Op::Write { value: Value::Word(value), .. } | Op::Atomic { written: Value::Word(value), .. } => Some(value),
        _ => None,
    }
}

fn set_read<'a>(op: &mut Op<'a>, new: Value<'a>) {
    if let Op::Read { value, .. } | Op::Atomic { read: value, .. } = op {
        *value = new;
    }
}

fn set_written<'a>(op: &mut Op<'a>, new: Value<'a>) {
    if let Op::Write { value, .. } | Op::Atomic { written: value, .. } = op {
        *value = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::{AccessFlags, Addr, Segment};

    const X: Addr = Addr(0x1000);
    const LOCK: ObjectId = ObjectId(0x2000);

    fn read(value: u64) -> Op<'static> {
        Op::Read { addr: X, size: 4, value: Value::Word(value), flags: AccessFlags::default() }
    }

    fn write(value: u64) -> Op<'static> {
        Op::Write { addr: X, size: 4, value: Value::Word(value), flags: AccessFlags::default() }
    }

    fn schedule(turns: &[(u32, u32)]) -> Schedule {
        let child = |nth| ThreadName { parent: 0, nth };
        let segment =
            |&(thread, steps): &(u32, u32)| Segment { thread: ThreadId(thread), steps, revoked: false, at_once: false };
        Schedule { threads: vec![ThreadName::MAIN, child(0), child(1)], segments: turns.iter().map(segment).collect() }
    }

    fn start() -> TraceBuilder {
        let mut builder = TraceBuilder::default();
        builder.op(0, Op::Fork { child: ThreadId(1), nth: 0 }).op(0, Op::Fork { child: ThreadId(2), nth: 1 });
        builder
    }

    fn reordered(builder: TraceBuilder, turns: &[(u32, u32)]) -> Vec<(u32, Op<'static>)> {
        let trace = builder.into_trace().expect("in memory");
        let Reordered { trace, events } = along(&trace, &schedule(turns)).expect("in memory").expect("short");
        assert!(events.values().all(|event| event.0 < trace.event_count()));
        let mut all = Vec::new();
        let mut events = trace.events();
        while let Some(event) = events.next().expect("readable") {
            let op = match event.op {
                Op::Read { value: Value::Word(value), .. } => read(value),
                Op::Write { value: Value::Word(value), .. } => write(value),
                Op::Write { .. } => Op::Branch,
                Op::Blocked { on, object } => Op::Blocked { on, object },
                Op::Acquire { object, mode, tried } => Op::Acquire { object, mode, tried },
                _ => continue,
            };
            all.push((event.thread.0, op));
        }
        all
    }

    #[test]
    fn a_read_has_the_value_of_the_write_before_it_and_what_follows_is_not_known() {
        let mut builder = start();
        builder.op(1, read(0)).op(1, write(10)).op(2, read(10)).op(2, write(20));
        let all = reordered(builder, &[(0, 2), (1, 1), (2, 1), (1, 1), (2, 1)]);
        // T2 reads before T1 wrote: nothing is known of what was there.
        assert_eq!(all.len(), 3, "a read without a value is left out here: {all:?}");
        assert_eq!(all, [(1, read(0)), (1, write(10)), (2, Op::Branch)]);
    }

    #[test]
    fn the_recorded_order_keeps_all_values() {
        let mut builder = start();
        builder.op(1, read(0)).op(1, write(10)).op(2, read(10)).op(2, write(20));
        let all = reordered(builder, &[(0, 2), (1, 2), (2, 2)]);
        assert_eq!(all, [(1, read(0)), (1, write(10)), (2, read(10)), (2, write(20))]);
    }

    #[test]
    fn who_comes_to_a_lock_that_is_held_waits() {
        let acquire = Op::Acquire { object: LOCK, mode: LockMode::Exclusive, tried: false };
        let release = Op::Release { object: LOCK, mode: LockMode::Exclusive };
        let waits = Op::Blocked { on: BlockedOn::LockExclusive, object: LOCK };
        let mut builder = start();
        builder.op(1, acquire).op(2, waits).op(1, release).op(2, acquire).op(2, release);
        assert_eq!(reordered(builder, &[(0, 2), (1, 1)]), [(1, acquire), (2, waits)]);
    }

    #[test]
    fn another_programs_schedule_is_refused() {
        let trace = TraceBuilder::default().into_trace().expect("in memory");
        assert!(along(&trace, &schedule(&[(1, 1)])).expect("in memory").is_none());
    }
}

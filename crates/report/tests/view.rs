//! Runs as people look at them, on traces made by hand: what is marked, what is folded away, what orders what.

use reweave_model::{AccessFlags, Addr, BlockedOn, EventId, LockMode, ObjectId, Op, Pc, Place, ThreadId, Value};
use reweave_report::view::{Class, LinkKind, Row, Run, ViewLimits, build, marks};
use reweave_trace::{Footer, Meta, Outcome, Symbols, Trace, TraceBuilder};

const X: Addr = Addr(0x1000);
const LOCK: ObjectId = ObjectId(0x2000);

/// Code address 100 + line stands for a line of a.c.
const fn line(line: u64) -> Pc {
    Pc(100 + line)
}

const fn function(line: u32) -> &'static str {
    if line < 20 { "one" } else { "two" }
}

fn symbols() -> Symbols {
    let place = |line: u32| Place { file: "/src/a.c".into(), line, function: function(line).into() };
    Symbols::from_places((1..60).map(|n| (line(n), place(n as u32))))
}

struct Maker(TraceBuilder);

impl Maker {
    fn new() -> Self {
        Self(TraceBuilder::new(&Meta { instrumented: true, ..Meta::default() }))
    }

    fn op(&mut self, thread: u32, at: u64, op: Op<'_>) -> &mut Self {
        self.0.push(ThreadId(thread), line(at), op).expect("in memory");
        self
    }

    fn read(&mut self, thread: u32, at: u64, value: u64) -> &mut Self {
        let value = Value::Word(value);
        self.op(thread, at, Op::Read { addr: X, size: 4, value, flags: AccessFlags::default() })
    }

    fn write(&mut self, thread: u32, at: u64, value: u64) -> &mut Self {
        let value = Value::Word(value);
        self.op(thread, at, Op::Write { addr: X, size: 4, value, flags: AccessFlags::default() })
    }

    fn lock(&mut self, thread: u32, at: u64) -> &mut Self {
        self.op(thread, at, Op::Acquire { object: LOCK, mode: LockMode::Exclusive, tried: false })
    }

    fn unlock(&mut self, thread: u32, at: u64) -> &mut Self {
        self.op(thread, at, Op::Release { object: LOCK, mode: LockMode::Exclusive })
    }

    fn trace(self, outcome: Outcome) -> Trace {
        let writer = self.0.finish(Footer { outcome, ..Footer::default() }, Some(&symbols())).expect("in memory");
        Trace::from_bytes(writer.into_bytes()).expect("a trace")
    }
}

/// The events of the accesses are given by their steps, counted from 1.
fn shown(trace: &Trace, accesses: &[u64], rows: usize) -> Run {
    let marks = marks(accesses.iter().map(|step| Some(EventId(step - 1))));
    build(trace, &marks, ViewLimits { rows }).expect("readable")
}

/// The numbers of the marked steps, by number of the access.
fn marked(run: &Run) -> Vec<(usize, u64)> {
    let number = |row: usize| run.rows[row].step().map_or(0, |step| step.number);
    run.marked().into_iter().map(|(mark, row)| (mark, number(row))).collect()
}

#[test]
fn locks_are_held_to_the_end_of_a_deadlock() {
    let mut maker = Maker::new();
    let wait = |object| Op::Blocked { on: BlockedOn::LockExclusive, object: ObjectId(object) };
    let take = |object| Op::Acquire { object: ObjectId(object), mode: LockMode::Exclusive, tried: false };
    maker.op(1, 10, wait(1)).op(1, 10, take(1));
    maker.op(2, 30, take(2)).op(2, 31, wait(1)).op(1, 11, wait(2)).op(1, 0, Op::Hang);
    let trace = maker.trace(Outcome::Hung);
    let run = shown(&trace, &[5, 4], 100);
    assert_eq!(marked(&run), [(1, 5), (2, 4)]);
    // Each holds its lock to the end.
    assert_eq!(run.bars.len(), 2);
    assert!(run.bars.iter().all(|bar| bar.to == run.rows.len() - 1), "{:?}", run.bars);
    assert_eq!(run.outcome, "hung: no thread could ever move again");
}

#[test]
fn a_release_orders_the_next_acquire_and_data_flows_to_readers() {
    let mut maker = Maker::new();
    maker.lock(1, 10).write(1, 11, 7).unlock(1, 12);
    maker.lock(2, 30).read(2, 31, 7).unlock(2, 32);
    let trace = maker.trace(Outcome::Exited { status: 0 });
    let run = shown(&trace, &[2, 5], 100);
    let links: Vec<(LinkKind, usize, usize)> = run.links.iter().map(|link| (link.kind, link.from, link.to)).collect();
    assert_eq!(links, [(LinkKind::Lock, 2, 3), (LinkKind::Data, 1, 4)]);
    let held: Vec<(u32, usize, usize)> = run.bars.iter().map(|bar| (bar.thread, bar.from, bar.to)).collect();
    assert_eq!(held, [(1, 0, 2), (2, 3, 5)]);
    let read = run.rows[4].step().expect("a step");
    assert_eq!((read.class, read.what.as_str(), read.locks.len()), (Class::Read, "read 0x1000 = 7", 1));
}

#[test]
fn long_runs_keep_what_is_near_the_bug_and_count_the_rest() {
    let mut maker = Maker::new();
    for n in 0..20_000 {
        maker.lock(1, 10).write(1, 12, n).unlock(1, 13);
    }
    maker.write(1, 11, 1).read(2, 30, 1);
    for n in 0..20_000 {
        maker.write(2, 32, n);
    }
    let trace = maker.trace(Outcome::Exited { status: 0 });
    let run = shown(&trace, &[60_001, 60_002], 1_000);
    assert_eq!(marked(&run), [(1, 60_001), (2, 60_002)]);
    assert!(run.rows.len() <= 1_100, "{} rows", run.rows.len());
    assert_eq!(run.steps, 80_002);
    // Nothing is lost: what is shown and what is folded away is the run.
    let counted = run.rows.iter().map(|row| match row {
        Row::Step(_) => 1,
        Row::Fold { steps, .. } => *steps,
    });
    assert_eq!(counted.sum::<u64>(), run.steps);
    assert!(run.links.iter().all(|link| link.from < link.to && link.to < run.rows.len()));
    assert!(run.bars.len() < run.rows.len(), "locks taken and given back in a fold are not shown");
}

//! The checker on hand-made traces: `_ok` ones pass, each `_bad` one is caught for its own reason.

use reweave_model::*;
use reweave_trace::check::{Report, check};
use reweave_trace::{Trace, TraceBuilder};

const LOCK: ObjectId = ObjectId(0x100);
const CONDITION: ObjectId = ObjectId(0x200);

fn run(build: impl FnOnce(&mut TraceBuilder)) -> Report {
    let mut b = TraceBuilder::default();
    b.op(0, Op::Begin);
    build(&mut b);
    check(&b.into_trace().unwrap()).unwrap()
}

fn ok(build: impl FnOnce(&mut TraceBuilder)) -> Report {
    let report = run(build);
    assert_eq!(report.inconsistencies, [], "should be consistent");
    report
}

/// Exactly one inconsistency, with these words.
fn bad(words: &str, build: impl FnOnce(&mut TraceBuilder)) {
    let report = run(build);
    let found: Vec<_> = report.inconsistencies.iter().map(|i| i.what.as_str()).collect();
    assert!(found.len() == 1 && found[0].contains(words), "expected `{words}`, found {found:?}");
}

fn read(addr: u64, size: u32, value: u64) -> Op<'static> {
    Op::Read { addr: Addr(addr), size, value: Value::Word(value), flags: AccessFlags(0) }
}

fn write(addr: u64, size: u32, value: u64) -> Op<'static> {
    Op::Write { addr: Addr(addr), size, value: Value::Word(value), flags: AccessFlags(0) }
}

fn acquire(mode: LockMode) -> Op<'static> {
    Op::Acquire { object: LOCK, mode, tried: false }
}

fn release(mode: LockMode) -> Op<'static> {
    Op::Release { object: LOCK, mode }
}

fn fork(b: &mut TraceBuilder, child: u32) {
    b.op(0, Op::Fork { child: ThreadId(child), nth: child - 1 });
    b.op(child, Op::Begin);
}

use LockMode::{Exclusive, Shared};

#[test]
fn values_ok() {
    let report = ok(|b| {
        b.op(0, write(0x10, 8, 0x1122_3344_5566_7788)).op(0, read(0x12, 2, 0x5566)).op(0, write(0x13, 1, 0xff));
        b.op(0, read(0x10, 4, 0xff66_7788)).op(0, read(0x20, 4, 5)).op(0, read(0x20, 4, 5));
        let (kind, order, addr) = (AtomicKind::Update, MemoryOrder::SeqCst, Addr(0x20));
        b.op(0, Op::Atomic { kind, order, addr, size: 4, read: Value::Word(5), written: Value::Word(6) });
        b.op(0, read(0x20, 4, 6)).op(0, Op::Alloc { addr: Addr(0x20), size: 4 }).op(0, read(0x20, 4, 99));
        let bytes = Value::Bytes(b"hello, world");
        b.op(0, Op::Write { addr: Addr(0x40), size: 12, value: bytes, flags: AccessFlags(AccessFlags::LIBRARY) });
        b.op(0, read(0x47, 5, u64::from_le_bytes(*b"world\0\0\0")));
        b.op(0, Op::Write { addr: Addr(0x40), size: 4, value: Value::Unknown, flags: AccessFlags(0) });
        b.op(0, read(0x40, 4, 7));
    });
    assert_eq!((report.unexplained_reads(), report.initial_reads), (0, 3));
}

#[test]
fn unexplained_reads_are_counted_not_condemned() {
    let report = ok(|b| {
        fork(b, 1);
        for i in 0..3 {
            b.push(ThreadId(0), Pc(0x1), write(0x10, 4, 1)).unwrap();
            b.push(ThreadId(0), Pc(0x2), read(0x10, 4, 0x0201 + i)).unwrap();
        }
        b.push(ThreadId(0), Pc(0x3), read(0x10, 4, 0x0203)).unwrap();
        b.push(ThreadId(1), Pc(0x4), read(0x13, 1, 0)).unwrap();
    });
    assert_eq!((report.unexplained_reads(), report.private_reads), (3, 0), "another thread comes later");
    let at = &report.unexplained[&Pc(0x2)];
    assert_eq!((at.count, at.addr, at.expected, at.found), (3, Addr(0x11), 0, 2));
    assert_eq!(report.initial_reads, 0);
}

/// What only one thread ever accesses is its own business, life by life.
#[test]
fn unexplained_reads_of_private_memory_ok() {
    let report = ok(|b| {
        fork(b, 1);
        b.op(0, write(0x10, 4, 1)).op(0, read(0x10, 4, 2)).op(1, read(0x18, 4, 2));
        b.op(0, write(0x20, 4, 1)).op(0, read(0x20, 4, 2)).op(0, Op::Alloc { addr: Addr(0x20), size: 8 });
        b.op(1, write(0x20, 4, 1)).op(1, read(0x20, 4, 2));
    });
    assert_eq!((report.unexplained_reads(), report.private_reads), (0, 3));
}

#[test]
fn locks_ok() {
    ok(|b| {
        fork(b, 1);
        b.op(0, acquire(Exclusive)).op(1, Op::Blocked { on: BlockedOn::LockExclusive, object: LOCK });
        b.op(1, Op::Refused { object: LOCK, on: BlockedOn::LockExclusive, why: RefusedWhy::Busy });
        b.op(0, release(Exclusive)).op(1, acquire(Shared)).op(0, acquire(Shared)).op(1, release(Shared));
        b.op(0, release(Shared)).op(1, acquire(Exclusive)).op(1, release(Exclusive));
        b.op(0, Op::Misused { what: Misuse::UnlockUnlocked, object: LOCK });
    });
}

#[test]
fn locks_bad() {
    bad("which thread 0 holds", |b| {
        fork(b, 1);
        b.op(0, acquire(Exclusive)).op(1, acquire(Exclusive));
    });
    bad("which thread 0 shares", |b| {
        fork(b, 1);
        b.op(0, acquire(Shared)).op(1, acquire(Exclusive));
    });
    bad("does not hold", |b| {
        fork(b, 1);
        b.op(0, acquire(Exclusive)).op(1, release(Exclusive));
    });
    bad("does not hold", |b| {
        b.op(0, acquire(Shared)).op(0, release(Exclusive));
    });
    bad("which is free", |b| {
        b.op(0, Op::Refused { object: LOCK, on: BlockedOn::LockExclusive, why: RefusedWhy::Busy });
    });
    bad("which is held", |b| {
        b.op(0, acquire(Exclusive)).op(0, Op::Destroy { object: LOCK, kind: ObjectKind::Mutex });
    });
}

const WAIT: Op<'static> = Op::Wait { condition: CONDITION, mutex: LOCK, timed: false };

fn woken(reason: WakeReason, notify: u32) -> Op<'static> {
    Op::Woken { condition: CONDITION, mutex: LOCK, reason, notify }
}

fn notify(notify: u32, woken: u32) -> Op<'static> {
    Op::Notify { condition: CONDITION, all: false, notify, woken }
}

#[test]
fn conditions_ok() {
    ok(|b| {
        fork(b, 1);
        b.op(0, acquire(Exclusive)).op(0, WAIT).op(1, acquire(Exclusive)).op(1, notify(1, 1));
        b.op(1, release(Exclusive)).op(0, woken(WakeReason::Notified, 1)).op(0, notify(2, 0)).op(0, WAIT);
        b.op(0, woken(WakeReason::TimedOut, 0)).op(0, release(Exclusive));
        // A futex is a condition without a mutex.
        b.op(0, Op::Blocked { on: BlockedOn::Futex, object: CONDITION }).op(1, notify(3, 1));
        let (reason, mutex) = (WakeReason::Notified, ObjectId(0));
        b.op(0, Op::Woken { condition: CONDITION, mutex, reason, notify: 3 });
    });
}

#[test]
fn conditions_bad() {
    bad("does not hold", |b| {
        b.op(0, WAIT);
    });
    bad("which thread 1 holds", |b| {
        fork(b, 1);
        b.op(0, acquire(Exclusive)).op(0, WAIT).op(1, acquire(Exclusive)).op(0, woken(WakeReason::Spurious, 0));
    });
    bad("did not happen", |b| {
        b.op(0, acquire(Exclusive)).op(0, WAIT).op(0, woken(WakeReason::Notified, 4));
    });
    bad("does not wait", |b| {
        b.op(0, woken(WakeReason::Spurious, 0));
    });
    bad("only 0 wait", |b| {
        b.op(0, notify(1, 1));
    });
    bad("follows notify", |b| {
        b.op(0, notify(2, 0)).op(0, notify(1, 0));
    });
}

#[test]
fn counting_objects() {
    let (semaphore, barrier, once, channel) = (ObjectId(1), ObjectId(2), ObjectId(3), ObjectId(4));
    let arrive = Op::BarrierArrive { barrier, count: 2 };
    let leave = Op::BarrierLeave { barrier, serial: false };
    ok(|b| {
        fork(b, 1);
        b.op(0, Op::Create { object: semaphore, kind: ObjectKind::Semaphore, value: 1 });
        b.op(0, Op::SemaphoreTake { semaphore, value: 0, tried: false });
        b.op(1, Op::Refused { object: semaphore, on: BlockedOn::Semaphore, why: RefusedWhy::Busy });
        b.op(0, Op::SemaphorePost { semaphore, value: 1 });
        for _ in 0..2 {
            b.op(0, arrive).op(1, arrive).op(1, leave).op(0, leave);
        }
        // The next round may start before everybody has left the last one.
        b.op(0, arrive).op(1, arrive).op(1, leave).op(1, arrive).op(0, leave).op(0, arrive).op(0, leave).op(1, leave);
        b.op(0, Op::OnceBegin { object: once })
            .op(0, Op::OnceEnd { object: once })
            .op(1, Op::OnceDone { object: once });
        b.op(0, Op::Send { channel, position: 0, size: 4 }).op(1, Op::Receive { channel, position: 0, size: 3 });
    });
    bad("from 0 to 0", |b| {
        b.op(0, Op::Create { object: semaphore, kind: ObjectKind::Semaphore, value: 0 });
        b.op(0, Op::SemaphoreTake { semaphore, value: 0, tried: false });
    });
    bad("before it is full", |b| {
        b.op(0, arrive).op(0, leave);
    });
    bad("while thread 0 does", |b| {
        fork(b, 1);
        b.op(0, Op::OnceBegin { object: once }).op(1, Op::OnceBegin { object: once });
    });
    bad("done before it is", |b| {
        fork(b, 1);
        b.op(0, Op::OnceBegin { object: once }).op(1, Op::OnceDone { object: once });
    });
    bad("which is at 4", |b| {
        b.op(0, Op::Send { channel, position: 0, size: 4 }).op(0, Op::Receive { channel, position: 2, size: 3 });
    });
    let report = ok(|b| {
        b.op(0, Op::Receive { channel, position: 2, size: 3 });
    });
    assert_eq!(report.outside_receives, 1);
}

#[test]
fn threads() {
    let report = ok(|b| {
        fork(b, 1);
        b.op(7, Op::Begin).op(1, Op::End).op(0, Op::Join { child: ThreadId(1) }).op(7, Op::End);
        b.op(0, Op::End).op(0, Op::Exit { status: 0 });
    });
    assert_eq!(report.foreign_threads, 1);
    bad("has not ended", |b| {
        fork(b, 1);
        b.op(0, Op::Join { child: ThreadId(1) });
    });
    bad("after its end", |b| {
        fork(b, 1);
        b.op(1, Op::End).op(1, read(1, 1, 1));
    });
    bad("neither forked nor begun", |b| {
        b.op(3, read(1, 1, 1));
    });
    bad("before its begin", |b| {
        b.op(0, Op::Fork { child: ThreadId(1), nth: 0 }).op(1, read(1, 1, 1));
    });
    bad("second time", |b| {
        b.op(0, Op::Begin);
    });
    bad("was joined before", |b| {
        fork(b, 1);
        b.op(1, Op::End).op(0, Op::Join { child: ThreadId(1) }).op(0, Op::Join { child: ThreadId(1) });
    });
    bad("never forked", |b| {
        b.op(0, Op::Join { child: ThreadId(9) });
    });
}

#[test]
fn a_gap_raises_no_false_alarm() {
    let mut b = TraceBuilder::default().chunk_words(20);
    b.op(0, Op::Begin);
    for child in 1..4 {
        fork(&mut b, child);
    }
    for i in 0..40u64 {
        let t = (i % 4) as u32;
        b.op(t, acquire(Exclusive)).op(t, write(0x10, 8, i)).op(t, read(0x10, 8, i));
        b.op(t, WAIT).op((t + 1) % 4, notify(i as u32 + 1, 1)).op(t, woken(WakeReason::Notified, i as u32 + 1));
        b.op(t, release(Exclusive)).op(t, Op::BarrierArrive { barrier: ObjectId(1), count: 4 });
        if t == 3 {
            for t in 0..4 {
                b.op(t, Op::BarrierLeave { barrier: ObjectId(1), serial: t == 0 });
            }
        }
    }
    let bytes = b.into_bytes().unwrap();
    assert!(check(&Trace::from_bytes(bytes.clone()).unwrap()).unwrap().is_consistent());
    let mut gaps = 0;
    for position in (100..bytes.len()).step_by(7) {
        let mut bytes = bytes.clone();
        bytes[position] ^= 0x10;
        let report = check(&Trace::from_bytes(bytes).unwrap()).unwrap();
        assert_eq!(report.inconsistencies, [], "flip at {position}");
        gaps += u32::from(report.lost > 0);
    }
    assert!(gaps > 10);
}

//! Uses of what has been destroyed: in the recorded order, and in others.

use reweave_model::{
    AccessFlags, Addr, Kind, LockMode, ObjectId, ObjectKind, Op, Pc, Strength, ThreadId, Value, WakeReason,
};
use reweave_predict::{Options, find, predict};
use reweave_trace::{Trace, TraceBuilder};

const A: ObjectId = ObjectId(0x1000);
const B: ObjectId = ObjectId(0x2000);
const FLAG: Addr = Addr(0x8000);

fn create(object: ObjectId, kind: ObjectKind) -> Op<'static> {
    Op::Create { object, kind, value: 0 }
}
fn destroy(object: ObjectId, kind: ObjectKind) -> Op<'static> {
    Op::Destroy { object, kind }
}
fn lock(object: ObjectId) -> Op<'static> {
    Op::Acquire { object, mode: LockMode::Exclusive, tried: false }
}
fn unlock(object: ObjectId) -> Op<'static> {
    Op::Release { object, mode: LockMode::Exclusive }
}
fn read(value: u64) -> Op<'static> {
    Op::Read { addr: FLAG, size: 4, value: Value::Word(value), flags: AccessFlags(0) }
}
fn write(addr: Addr, value: u64) -> Op<'static> {
    Op::Write { addr, size: 4, value: Value::Word(value), flags: AccessFlags(0) }
}

/// Main makes `A` and `B` as this kind, forks a thread, and joins it at last. Code positions count from 1.
fn trace(kind: ObjectKind, events: &[(u32, Op<'static>)]) -> Trace {
    let mut builder = TraceBuilder::default();
    let mut pc = 0;
    let mut push = |thread: u32, op: Op<'_>| {
        pc += 1;
        builder.push(ThreadId(thread), Pc(pc), op).expect("memory takes every write");
    };
    push(0, Op::Begin);
    push(0, create(A, kind));
    push(0, create(B, ObjectKind::Mutex));
    push(0, Op::Fork { child: ThreadId(1), nth: 0 });
    push(1, Op::Begin);
    events.iter().for_each(|(thread, op)| push(*thread, *op));
    push(1, Op::End);
    push(0, Op::Join { child: ThreadId(1) });
    builder.into_trace().expect("memory takes every write")
}

/// What is found: how strong, where it is used and where it is destroyed, as places in `events`.
fn found(kind: ObjectKind, events: &[(u32, Op<'static>)]) -> Vec<(Strength, u64, u64)> {
    let options = Options { analyses: vec![find("destroyed").expect("an analysis")], ..Options::default() };
    let answer = predict(&trace(kind, events), &options, &mut |_, _| ()).expect("it is in memory");
    assert_eq!(answer.stats.get("refused_witnesses").copied().unwrap_or(0), 0);
    let place = |pc: Pc| pc.0 - 6;
    let findings = answer.findings.iter().map(|finding| {
        assert_eq!((finding.kind, finding.accesses().len()), (Kind::Misuse, 2));
        (finding.strength, place(finding.accesses()[0].pc), place(finding.accesses()[1].pc))
    });
    findings.collect()
}

#[test]
fn a_lock_that_another_thread_may_still_need() {
    let mutex = ObjectKind::Mutex;
    let events = [(1, lock(A)), (1, unlock(A)), (0, destroy(A, mutex))];
    assert_eq!(found(mutex, &events), [(Strength::Predicted, 0, 2)]);
    // It came too late in the recorded run.
    let events = [(0, destroy(A, mutex)), (1, lock(A)), (1, unlock(A))];
    assert_eq!(found(mutex, &events), [(Strength::Confirmed, 1, 0)]);
}

#[test]
fn what_lies_right_behind_an_object_is_not_its_own() {
    for (kind, bytes) in [(ObjectKind::Mutex, 40), (ObjectKind::RwLock, 56), (ObjectKind::SpinLock, 4)] {
        let events = |at: u64| [(0, destroy(A, kind)), (0, write(Addr(A.0 + at), 1)), (1, lock(A)), (1, unlock(A))];
        assert_eq!(found(kind, &events(bytes)), [(Strength::Confirmed, 2, 0)], "{kind:?}");
        assert_eq!(found(kind, &events(bytes - 4)), [], "{kind:?}: a static initialiser");
    }
}

#[test]
fn a_lock_that_nobody_needs_any_more() {
    let mutex = ObjectKind::Mutex;
    // The other one says so, under the lock itself: it may be destroyed right after that.
    let events = [
        (1, lock(A)),
        (1, write(FLAG, 1)),
        (1, unlock(A)),
        (0, lock(A)),
        (0, read(1)),
        (0, unlock(A)),
        (0, Op::Branch),
        (0, destroy(A, mutex)),
    ];
    assert_eq!(found(mutex, &events), []);
    // It says so too early, and under another lock.
    let events = [
        (1, lock(B)),
        (1, write(FLAG, 1)),
        (1, unlock(B)),
        (1, lock(A)),
        (1, unlock(A)),
        (0, lock(B)),
        (0, read(1)),
        (0, unlock(B)),
        (0, Op::Branch),
        (0, destroy(A, mutex)),
    ];
    assert_eq!(found(mutex, &events), [(Strength::Predicted, 3, 9)]);
}

#[test]
fn a_new_one_at_the_same_place_is_another() {
    let mutex = ObjectKind::Mutex;
    let again = |how: Op<'static>| {
        [
            (1, lock(A)),
            (1, Op::End),
            (0, Op::Join { child: ThreadId(1) }),
            (0, destroy(A, mutex)),
            (0, how),
            (0, lock(A)),
        ]
    };
    let found = |how: Op<'static>| {
        let mut builder = TraceBuilder::default();
        let mut events = vec![(0, Op::Begin), (0, create(A, mutex)), (0, Op::Fork { child: ThreadId(1), nth: 0 })];
        events.extend([(1, Op::Begin), (1, lock(A)), (1, unlock(A))]);
        events.extend(again(how).into_iter().skip(1));
        for (pc, (thread, op)) in events.into_iter().enumerate() {
            builder.push(ThreadId(thread), Pc(pc as u64 + 1), op).expect("memory takes every write");
        }
        let trace = builder.into_trace().expect("memory takes every write");
        let options = Options { analyses: vec![find("destroyed").expect("an analysis")], ..Options::default() };
        predict(&trace, &options, &mut |_, _| ()).expect("it is in memory").findings.len()
    };
    assert_eq!(found(create(A, mutex)), 0);
    assert_eq!(found(write(Addr(A.0 + 16), 0)), 0, "a static initialiser");
    assert_eq!(found(Op::Alloc { addr: Addr(A.0 - 16), size: 64 }), 0);
    assert_eq!(found(write(FLAG, 0)), 1, "something else");
}

#[test]
fn whoever_was_woken_or_is_through_needs_it_no_more() {
    let condition = ObjectKind::Condition;
    let wait = Op::Wait { condition: A, mutex: B, timed: false };
    let woken = Op::Woken { condition: A, mutex: B, reason: WakeReason::Notified, notify: 1 };
    let notify = Op::Notify { condition: A, all: true, notify: 1, woken: 1 };
    // Nobody else notifies, and who waits is woken before.
    let events = [
        (1, lock(B)),
        (1, write(FLAG, 1)),
        (1, wait),
        (0, lock(B)),
        (0, read(1)),
        (0, Op::Branch),
        (0, notify),
        (0, destroy(A, condition)),
        (0, unlock(B)),
        (1, woken),
        (1, unlock(B)),
    ];
    assert_eq!(found(condition, &events), []);
    // The notify comes without the mutex: the other one may have seen the flag and gone.
    let events = [
        (1, lock(B)),
        (1, write(FLAG, 1)),
        (1, unlock(B)),
        (1, Op::Notify { condition: A, all: false, notify: 1, woken: 0 }),
        (0, lock(B)),
        (0, read(1)),
        (0, Op::Branch),
        (0, unlock(B)),
        (0, destroy(A, condition)),
    ];
    assert_eq!(found(condition, &events), [(Strength::Predicted, 3, 8)]);
    let barrier = ObjectKind::Barrier;
    let arrive = Op::BarrierArrive { barrier: A, count: 2 };
    let leave = |serial| Op::BarrierLeave { barrier: A, serial };
    let events = [(1, arrive), (0, arrive), (0, leave(true)), (0, destroy(A, barrier)), (1, leave(false))];
    assert_eq!(found(barrier, &events), []);
    // The second round is not waited for.
    let mut more = events.to_vec();
    more.splice(3..4, [(1, leave(false)), (1, Op::BarrierArrive { barrier: A, count: 1 }), (0, destroy(A, barrier))]);
    more.truncate(6);
    assert_eq!(found(barrier, &more), [(Strength::Predicted, 4, 5)]);
}

#[test]
fn a_lock_in_memory_that_was_freed() {
    let events = [
        (0, Op::Alloc { addr: Addr(0x3000 + 16), size: 64 }),
        (0, lock(ObjectId(0x3000 + 24))),
        (0, unlock(ObjectId(0x3000 + 24))),
        (0, Op::Free { addr: Addr(0x3000 + 16), size: 64 }),
        (1, lock(ObjectId(0x3000 + 24))),
        (1, unlock(ObjectId(0x3000 + 24))),
    ];
    assert_eq!(found(ObjectKind::Mutex, &events), [(Strength::Confirmed, 4, 3)]);
}

//! Deadlocks with every kind of lock: shared ones, tries, semaphores, locks that die, threads that were stuck when the
//! trace ended.

use reweave_model::{
    AccessFlags, Addr, BlockedOn, Kind, LockMode, ObjectId, ObjectKind, Op, Pc, Strength, ThreadId, Value,
};
use reweave_predict::{Options, find, predict};
use reweave_trace::{Trace, TraceBuilder};

const A: ObjectId = ObjectId(0x100);
const B: ObjectId = ObjectId(0x200);

fn lock(object: ObjectId) -> Op<'static> {
    Op::Acquire { object, mode: LockMode::Exclusive, tried: false }
}
fn try_lock(object: ObjectId) -> Op<'static> {
    Op::Acquire { object, mode: LockMode::Exclusive, tried: true }
}
fn unlock(object: ObjectId) -> Op<'static> {
    Op::Release { object, mode: LockMode::Exclusive }
}
fn share(object: ObjectId) -> Op<'static> {
    Op::Acquire { object, mode: LockMode::Shared, tried: false }
}
fn unshare(object: ObjectId) -> Op<'static> {
    Op::Release { object, mode: LockMode::Shared }
}
fn take(semaphore: ObjectId) -> Op<'static> {
    Op::SemaphoreTake { semaphore, value: 0, tried: false }
}
fn post(semaphore: ObjectId) -> Op<'static> {
    Op::SemaphorePost { semaphore, value: 1 }
}

/// Two threads made by a third, one after the other.
fn trace(first: &[Op<'static>], second: &[Op<'static>]) -> Trace {
    let mut builder = TraceBuilder::default();
    let mut pc = 0;
    let mut push = |thread: u32, op: Op<'_>| {
        pc += 1;
        builder.push(ThreadId(thread), Pc(pc), op).expect("memory takes every write");
    };
    push(0, Op::Begin);
    for semaphore in [A, B] {
        push(0, Op::Create { object: semaphore, kind: ObjectKind::Semaphore, value: 1 });
    }
    for child in 1..=2 {
        push(0, Op::Fork { child: ThreadId(child), nth: child - 1 });
        push(child, Op::Begin);
    }
    for (thread, ops) in [(1, first), (2, second)] {
        ops.iter().for_each(|op| push(thread, *op));
        push(thread, Op::End);
    }
    for child in 1..=2 {
        push(0, Op::Join { child: ThreadId(child) });
    }
    builder.into_trace().expect("memory takes every write")
}

/// How many deadlocks one analysis finds, of one strength.
fn count(trace: &Trace, analysis: &str, strength: Strength) -> usize {
    let options = Options { analyses: vec![find(analysis).expect("an analysis")], ..Options::default() };
    let answer = predict(trace, &options, &mut |_, _| {}).expect("a sound trace");
    assert_eq!(answer.stats.get("refused_witnesses").copied().unwrap_or(0), 0);
    let wanted = |kind, found| kind == Kind::Deadlock && found == strength;
    answer.findings.iter().filter(|finding| wanted(finding.kind, finding.strength)).count()
}

/// Patterns, sync-preserving and maximal deadlocks.
#[track_caller]
fn expect(trace: &Trace, patterns: usize, sync_preserving: usize, maximal: usize) {
    assert_eq!(count(trace, "goodlock", Strength::Potential), patterns, "goodlock");
    assert_eq!(count(trace, "sync-preserving-deadlock", Strength::Predicted), sync_preserving, "sync-preserving");
    assert_eq!(count(trace, "maximal-deadlock", Strength::Predicted), maximal, "maximal");
}

#[test]
fn opposite_orders() {
    let there = [lock(A), lock(B), unlock(B), unlock(A)];
    let back = [lock(B), lock(A), unlock(A), unlock(B)];
    expect(&trace(&there, &back), 1, 1, 1);
    expect(&trace(&there, &there), 0, 0, 0);
}

/// Who tries gives up, and blocks nobody for ever; what a try took is held like anything else.
#[test]
fn tries() {
    let there = [lock(A), try_lock(B), unlock(B), unlock(A)];
    let back = [lock(B), lock(A), unlock(A), unlock(B)];
    expect(&trace(&there, &back), 0, 0, 0);
    let there = [try_lock(A), lock(B), unlock(B), unlock(A)];
    expect(&trace(&there, &back), 1, 1, 1);
}

#[test]
fn shared_locks() {
    let there = [share(A), share(B), unshare(B), unshare(A)];
    let back = [share(B), share(A), unshare(A), unshare(B)];
    expect(&trace(&there, &back), 0, 0, 0);
    let there = [share(A), lock(B), unlock(B), unshare(A)];
    let back = [share(B), lock(A), unlock(A), unshare(B)];
    expect(&trace(&there, &back), 1, 1, 1);
    let back = [share(B), share(A), unshare(A), unshare(B)];
    expect(&trace(&there, &back), 0, 0, 0);
}

/// The second thread uses another lock that came to the same address.
#[test]
fn a_lock_that_was_made_again_is_another_one() {
    let there = [lock(A), lock(B), unlock(B), unlock(A), Op::Destroy { object: A, kind: ObjectKind::Mutex }];
    let create = Op::Create { object: A, kind: ObjectKind::Mutex, value: 0 };
    let back = [create, lock(B), lock(A), unlock(A), unlock(B)];
    expect(&trace(&there, &back), 0, 0, 0);
}

/// Counts of one are locks to the patterns; whether they really stall is for `stall` to say, who must see all threads
/// wait.
#[test]
fn semaphores_as_locks() {
    let there = [take(A), take(B), post(B), post(A)];
    let back = [take(B), take(A), post(A), post(B)];
    let opposite = trace(&there, &back);
    expect(&opposite, 1, 0, 0);
    assert_eq!(count(&opposite, "stall", Strength::Predicted), 1);
    let same = trace(&there, &there);
    expect(&same, 0, 0, 0);
    assert_eq!(count(&same, "stall", Strength::Predicted), 0);
}

/// Both threads were blocked when the trace ended: what they wanted never came, and is part of the deadlock all the
/// same.
#[test]
fn stuck_at_the_end() {
    let blocked = |object| Op::Blocked { on: BlockedOn::LockExclusive, object };
    let mut builder = TraceBuilder::default();
    let events = [
        (0, Op::Begin),
        (0, Op::Fork { child: ThreadId(1), nth: 0 }),
        (1, Op::Begin),
        (0, lock(A)),
        (1, lock(B)),
        (0, blocked(B)),
        (1, blocked(A)),
        (1, Op::Hang),
    ];
    for (pc, (thread, op)) in events.into_iter().enumerate() {
        builder.push(ThreadId(thread), Pc(pc as u64 + 1), op).expect("memory takes every write");
    }
    let trace = builder.into_trace().expect("memory takes every write");
    assert_eq!(count(&trace, "goodlock", Strength::Potential), 1);
    assert_eq!(count(&trace, "maximal-deadlock", Strength::Predicted), 1);
}

/// What is done to a lock belongs to this life of it: the sections of two lives never overlap.
#[test]
fn sections_of_two_lives_do_not_race() {
    let write = Op::Write { addr: Addr(0x1000), size: 4, value: Value::Word(1), flags: AccessFlags(0) };
    let first = [lock(A), write, unlock(A)];
    let renew = [
        Op::Destroy { object: A, kind: ObjectKind::Mutex },
        Op::Create { object: A, kind: ObjectKind::Mutex, value: 0 },
    ];
    let mut second = renew.to_vec();
    second.extend([lock(A), write, unlock(A)]);
    let options = Options { analyses: vec![find("maximal").expect("an analysis")], ..Options::default() };
    let races = |second: &[Op<'static>]| {
        predict(&trace(&first, second), &options, &mut |_, _| ()).expect("it is in memory").findings.len()
    };
    assert_eq!(races(&second), 0);
    // Without the lock it is one.
    assert_eq!(races(&[write]), 1);
}

/// One thread ends the process while the others wait: it has not ended, and could have gone on.
#[test]
fn a_thread_that_never_ended_can_help() {
    let mut builder = TraceBuilder::default();
    let mut push = |thread: u32, pc: u64, op: Op<'_>| {
        builder.push(ThreadId(thread), Pc(pc), op).expect("memory takes every write");
    };
    push(0, 1, Op::Begin);
    for child in 1..=2 {
        push(0, 2, Op::Fork { child: ThreadId(child), nth: child - 1 });
        push(child, 3, Op::Begin);
    }
    push(1, 4, lock(A));
    push(1, 5, unlock(A));
    push(1, 6, Op::End);
    push(0, 7, Op::Join { child: ThreadId(1) });
    push(0, 8, Op::Blocked { on: BlockedOn::Join, object: ObjectId(2) });
    push(2, 9, lock(A));
    push(2, 10, Op::Exit { status: 0 });
    let trace = builder.into_trace().expect("memory takes every write");
    assert_eq!(count(&trace, "stall", Strength::Predicted), 0);
}

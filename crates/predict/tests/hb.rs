//! Happens-before on small traces made by hand: each kind of synchronization orders, and without it the pair is found.

use reweave_model::{
    AccessFlags, Addr, AtomicKind, LockMode, MemoryOrder, ObjectId, Op, Pc, ThreadId, Value, WakeReason,
};
use reweave_predict::analyses::hb::HbRaces;
use reweave_predict::linear::{self, Linear};
use reweave_trace::{Trace, TraceBuilder};

const X: Addr = Addr(0x1000);
const FLAG: Addr = Addr(0x2000);
const LOCK: ObjectId = ObjectId(0x3000);

fn write(addr: Addr) -> Op<'static> {
    Op::Write { addr, size: 4, value: Value::Word(1), flags: AccessFlags(0) }
}

fn read(addr: Addr, size: u32) -> Op<'static> {
    Op::Read { addr, size, value: Value::Word(1), flags: AccessFlags(0) }
}

fn atomic(kind: AtomicKind, order: MemoryOrder) -> Op<'static> {
    Op::Atomic { kind, order, addr: FLAG, size: 4, read: Value::Word(0), written: Value::Word(1) }
}

/// Main forks threads 1 and 2; then the given steps; every step has its own code position.
fn trace(steps: &[(u32, Op<'static>)]) -> Trace {
    let mut builder = TraceBuilder::default();
    let mut push = |thread, pc, op| builder.push(ThreadId(thread), Pc(pc), op).expect("memory takes every write");
    push(0, 1, Op::Begin);
    push(0, 2, Op::Fork { child: ThreadId(1), nth: 0 });
    push(0, 3, Op::Fork { child: ThreadId(2), nth: 1 });
    push(1, 4, Op::Begin);
    push(2, 5, Op::Begin);
    for ((thread, op), pc) in steps.iter().zip(100..) {
        push(*thread, pc, *op);
    }
    builder.into_trace().expect("memory takes every write")
}

fn races(steps: &[(u32, Op<'static>)]) -> Vec<(u64, u64)> {
    let mut races = HbRaces::default();
    linear::run(&trace(steps), &mut races, &mut |_| true).expect("a sound trace");
    races.finish().pairs.iter().map(|pair| (pair.first_pc.0, pair.second_pc.0)).collect()
}

const ACQUIRE: Op<'static> = Op::Acquire { object: LOCK, mode: LockMode::Exclusive, tried: false };
const RELEASE: Op<'static> = Op::Release { object: LOCK, mode: LockMode::Exclusive };

#[test]
fn unordered_bad() {
    assert_eq!(races(&[(1, write(X)), (2, read(X, 4))]), [(100, 101)]);
    assert_eq!(races(&[(1, read(X, 4)), (2, write(X))]), [(100, 101)]);
    // Bytes count, not words.
    assert_eq!(races(&[(1, write(X)), (2, read(Addr(X.0 + 3), 2))]), [(100, 101)]);
}

#[test]
fn no_conflict_ok() {
    assert_eq!(races(&[(1, read(X, 4)), (2, read(X, 4))]), []);
    assert_eq!(races(&[(1, write(X)), (2, read(Addr(X.0 + 4), 4))]), []);
    assert_eq!(races(&[(1, write(X)), (1, read(X, 4))]), []);
}

#[test]
fn lock_ok() {
    let both = [(1, ACQUIRE), (1, write(X)), (1, RELEASE), (2, ACQUIRE), (2, write(X)), (2, RELEASE)];
    assert_eq!(races(&both), []);
}

#[test]
fn lock_on_one_side_bad() {
    assert_eq!(races(&[(1, ACQUIRE), (1, write(X)), (1, RELEASE), (2, write(X))]), [(101, 103)]);
}

#[test]
fn join_ok() {
    assert_eq!(races(&[(1, write(X)), (1, Op::End), (0, Op::Join { child: ThreadId(1) }), (0, read(X, 4))]), []);
}

#[test]
fn notify_ok() {
    let (condition, mutex) = (ObjectId(0x4000), LOCK);
    let steps = [
        (2, ACQUIRE),
        (2, Op::Wait { condition, mutex, timed: false }),
        (1, write(X)),
        (1, Op::Notify { condition, all: false, notify: 1, woken: 1 }),
        (2, Op::Woken { condition, mutex, reason: WakeReason::Notified, notify: 1 }),
        (2, read(X, 4)),
    ];
    assert_eq!(races(&steps), []);
}

#[test]
fn barrier_rounds() {
    let barrier = ObjectId(0x5000);
    let (arrive, leave) = (Op::BarrierArrive { barrier, count: 2 }, Op::BarrierLeave { barrier, serial: false });
    assert_eq!(races(&[(1, write(X)), (1, arrive), (2, arrive), (2, leave), (2, read(X, 4))]), []);
    // Written after the barrier: the barrier orders nothing.
    assert_eq!(
        races(&[(1, arrive), (2, arrive), (1, leave), (1, write(X)), (2, leave), (2, read(X, 4))]),
        [(103, 105)]
    );
}

#[test]
fn atomics_by_order() {
    use AtomicKind::{Load, Store};
    use MemoryOrder::{Acquire, Relaxed, Release};
    let publish = |store, load| [(1, write(X)), (1, atomic(Store, store)), (2, atomic(Load, load)), (2, read(X, 4))];
    assert_eq!(races(&publish(Release, Acquire)), []);
    assert_eq!(races(&publish(Relaxed, Acquire)), [(100, 103)]);
    assert_eq!(races(&publish(Release, Relaxed)), [(100, 103)]);
}

#[test]
fn fences_order_relaxed_accesses_ok() {
    use MemoryOrder::{Acquire, Relaxed, Release};
    let steps = [
        (1, write(X)),
        (1, Op::Fence { order: Release }),
        (1, atomic(AtomicKind::Store, Relaxed)),
        (2, atomic(AtomicKind::Load, Relaxed)),
        (2, Op::Fence { order: Acquire }),
        (2, read(X, 4)),
    ];
    assert_eq!(races(&steps), []);
}

#[test]
fn reused_memory_ok() {
    assert_eq!(races(&[(1, write(X)), (2, Op::Alloc { addr: X, size: 16 }), (2, write(X))]), []);
}

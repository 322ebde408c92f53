//! Shared by the tests: one of each operation, and events as text.
#![allow(dead_code, reason = "each test file uses another part of this")]

use reweave_model::*;
use reweave_trace::Trace;

/// At least one of every operation, and every shape of value.
pub fn every_op() -> Vec<Op<'static>> {
    let (addr, object, mutex) = (Addr(0x7f00_dead_beef), ObjectId(0x5555_0000), ObjectId(0x5555_1000));
    let (flags, mode) = (AccessFlags(AccessFlags::LIBRARY), LockMode::Exclusive);
    let (word, bytes) = (Value::Word(0xfedc_ba98_7654_3210), Value::Bytes(b"thirteen byte"));
    let (order, on) = (MemoryOrder::AcqRel, BlockedOn::Semaphore);
    let wide = (Value::Bytes(&[1; 16]), Value::Bytes(&[2; 16]));
    let child = ThreadId(3);
    let remote = Remote { window: object, target: 3, displacement: 1 << 40, size: 24 };
    vec![
        Op::Begin,
        Op::End,
        Op::Fork { child, nth: 2 },
        Op::Join { child },
        Op::Detach { child },
        Op::Read { addr, size: 8, value: word, flags },
        Op::Read { addr, size: 13, value: bytes, flags },
        Op::Read { addr, size: 4, value: Value::Unknown, flags },
        Op::Write { addr, size: 1, value: Value::Word(0x7f), flags: AccessFlags(3) },
        Op::Write { addr, size: 13, value: bytes, flags },
        Op::Write { addr, size: 1 << 20, value: Value::Unknown, flags: AccessFlags(AccessFlags::FREE) },
        Op::Atomic { kind: AtomicKind::CasFailed, order, addr, size: 4, read: Value::Word(1), written: Value::Word(1) },
        Op::Atomic { kind: AtomicKind::Exchange, order, addr, size: 16, read: wide.0, written: wide.1 },
        Op::Fence { order: MemoryOrder::SeqCst },
        Op::Acquire { object, mode, tried: true },
        Op::Acquire { object, mode: LockMode::Shared, tried: false },
        Op::Release { object, mode: LockMode::Shared },
        Op::Blocked { on: BlockedOn::Sleep, object: ObjectId(0) },
        Op::Refused { object, on, why: RefusedWhy::Interrupted },
        Op::Wait { condition: object, mutex, timed: false },
        Op::Woken { condition: object, mutex, reason: WakeReason::Cancelled, notify: 7 },
        Op::Notify { condition: object, all: true, notify: 8, woken: 2 },
        Op::BarrierArrive { barrier: object, count: 4 },
        Op::BarrierLeave { barrier: object, serial: true },
        Op::SemaphorePost { semaphore: object, value: 5 },
        Op::SemaphoreTake { semaphore: object, value: 4, tried: false },
        Op::OnceBegin { object },
        Op::OnceEnd { object },
        Op::OnceDone { object },
        Op::Send { channel: object, position: 10, size: 1 << 40 },
        Op::Receive { channel: object, position: u64::MAX, size: 3 },
        Op::Alloc { addr, size: 64 },
        Op::Free { addr, size: 64 },
        Op::Create { object, kind: ObjectKind::Channel, value: 9 },
        Op::Destroy { object, kind: ObjectKind::RwLock },
        Op::AtomicEnter { name: addr },
        Op::AtomicExit,
        Op::Input { source: InputSource::Read, value: -4, bytes: b"hello" },
        Op::Input { source: InputSource::Clock, value: i64::MAX, bytes: b"" },
        Op::Signal { number: 11 },
        Op::SignalReturn { number: 11 },
        Op::Misused { what: Misuse::JoinTwice, object },
        Op::Leave { call: 61 },
        Op::Return { call: 61, result: -1 },
        Op::Revoked,
        Op::Stopped,
        Op::ClockJump { nanoseconds: 1 << 60 },
        Op::Module { base: addr, size: 4096, bias: 1 << 40, path: b"/lib/x, y=\"z\".so" },
        Op::ThreadName { thread: child, name: b"worker \xff 1" },
        Op::Exit { status: -3 },
        Op::Fatal { number: 6, addr },
        Op::Hang,
        Op::Branch,
        Op::Put { remote, origin: addr },
        Op::Get { remote, origin: addr },
        Op::Accumulate { remote, origin: addr },
        Op::EpochBegin { window: object, kind: EpochKind::Group, target: 3 },
        Op::EpochEnd { window: object, kind: EpochKind::Fence, target: Remote::ALL },
    ]
}

/// Every event as text, with its id.
pub fn listing(trace: &Trace) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    let mut events = trace.events();
    while let Some(event) = events.next().unwrap() {
        all.push((event.id.0, format!("{event:?}")));
    }
    all
}

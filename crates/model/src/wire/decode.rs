//! Words into records.

use super::kind::{self, Shape, payload_words};
use super::{Malformed, Record};
use crate::event::*;
use crate::ids::{Addr, ObjectId, Pc, StackId, ThreadId};

/// Length in words of the record that starts here.
#[inline]
pub fn length(words: &[u64]) -> Result<usize, Malformed> {
    let head = *words.first().ok_or(Malformed::Truncated)?;
    let shape = Shape::of(head);
    let fixed = shape.fixed();
    if fixed == 0 {
        return Err(Malformed::UnknownKind(head as u8));
    }
    if fixed > words.len() {
        return Err(Malformed::Truncated);
    }
    let len = if shape.has_payload() { fixed + payload_words(words[fixed - 1]) } else { fixed };
    if len > words.len() { Err(Malformed::Truncated) } else { Ok(len) }
}

/// Decodes the record at the start of `words`; returns it with its length in words.
pub fn decode(words: &[u64]) -> Result<(Record<'_>, usize), Malformed> {
    use kind as k;
    let len = length(words)?;
    let head = words[0];
    let (kind, small, pc) = (head as u8, (head >> 8) as u8, Pc(head >> 16));
    let word = |i: usize| words.get(i).copied().ok_or(Malformed::Truncated);
    let bad = Malformed::BadOperand(kind);
    let object = |i: usize| word(i).map(ObjectId);
    let payload = |at: usize, bytes: u64| -> Result<&[u8], Malformed> {
        as_bytes(words.get(at..len).ok_or(bad)?).get(..bytes as usize).ok_or(bad)
    };
    let op = match kind {
        k::PAD => return Ok((Record::Pad, len)),
        k::SWITCH => {
            return Ok((Record::Switch { thread: ThreadId(pc.0 as u32) }, len));
        }
        k::STACK => {
            return Ok((Record::Stack { stack: StackId(pc.0 as u32) }, len));
        }
        k::STACK_DEF => {
            let ids = word(1)?;
            let (stack, parent) = (StackId(ids as u32), StackId((ids >> 32) as u32));
            return Ok((Record::StackDef { stack, parent, pc }, len));
        }
        k::READ | k::WRITE => {
            let (addr, size, flags) = (Addr(word(1)?), u32::from(small & 15), AccessFlags(small >> 4));
            if !(1..=8).contains(&size) {
                return Err(bad);
            }
            let value = Value::Word(word(2)?);
            if kind == k::READ { Op::Read { addr, size, value, flags } } else { Op::Write { addr, size, value, flags } }
        }
        k::READ_RANGE | k::WRITE_RANGE => {
            let (addr, sizes, flags) = (Addr(word(1)?), word(2)?, AccessFlags(small));
            let bytes = payload(3, sizes & 0xffff_ffff)?;
            let size = (sizes >> 32) as u32;
            let value = if bytes.len() == size as usize { Value::Bytes(bytes) } else { Value::Unknown };
            if kind == k::READ_RANGE {
                Op::Read { addr, size, value, flags }
            } else {
                Op::Write { addr, size, value, flags }
            }
        }
        k::ATOMIC | k::ATOMIC_WIDE => {
            let (atomic, order) = (AtomicKind::of_bits(small), MemoryOrder::of_bits(small >> 3));
            if kind == k::ATOMIC {
                let place = word(1)?;
                let (addr, size) = (Addr(place & ((1 << 56) - 1)), (place >> 56) as u32);
                let (read, written) = (Value::Word(word(2)?), Value::Word(word(3)?));
                Op::Atomic { kind: atomic, order, addr, size, read, written }
            } else {
                let addr = Addr(word(1)?);
                let (read, written) = (Value::Bytes(payload(2, 16)?), Value::Bytes(payload(4, 16)?));
                Op::Atomic { kind: atomic, order, addr, size: 16, read, written }
            }
        }
        k::FENCE => Op::Fence { order: MemoryOrder::of_bits(small) },
        k::BEGIN => Op::Begin,
        k::END => Op::End,
        k::FORK => {
            let both = word(1)?;
            Op::Fork { child: ThreadId(both as u32), nth: (both >> 32) as u32 }
        }
        k::JOIN => Op::Join { child: ThreadId(word(1)? as u32) },
        k::DETACH => Op::Detach { child: ThreadId(word(1)? as u32) },
        k::ACQUIRE => Op::Acquire { object: object(1)?, mode: lock_mode(small), tried: small & 2 != 0 },
        k::RELEASE => Op::Release { object: object(1)?, mode: lock_mode(small) },
        k::BLOCKED => {
            let on = BlockedOn::from_bits(small).ok_or(bad)?;
            Op::Blocked { on, object: object(1)? }
        }
        k::REFUSED => {
            let on = BlockedOn::from_bits(small & 15).ok_or(bad)?;
            let why = RefusedWhy::from_bits(small >> 4).ok_or(bad)?;
            Op::Refused { object: object(1)?, on, why }
        }
        k::WAIT => Op::Wait { condition: object(1)?, mutex: object(2)?, timed: small & 1 != 0 },
        k::WOKEN => {
            let reason = WakeReason::from_bits(small).ok_or(bad)?;
            Op::Woken { condition: object(1)?, mutex: object(2)?, reason, notify: word(3)? as u32 }
        }
        k::NOTIFY => {
            let counts = word(2)?;
            let (notify, woken) = (counts as u32, (counts >> 32) as u32);
            Op::Notify { condition: object(1)?, all: small & 1 != 0, notify, woken }
        }
        k::BARRIER_ARRIVE => Op::BarrierArrive { barrier: object(1)?, count: word(2)? as u32 },
        k::BARRIER_LEAVE => Op::BarrierLeave { barrier: object(1)?, serial: small & 1 != 0 },
        k::SEMAPHORE_POST => Op::SemaphorePost { semaphore: object(1)?, value: word(2)? as u32 },
        k::SEMAPHORE_TAKE => Op::SemaphoreTake { semaphore: object(1)?, value: word(2)? as u32, tried: small & 1 != 0 },
        k::ONCE_BEGIN => Op::OnceBegin { object: object(1)? },
        k::ONCE_END => Op::OnceEnd { object: object(1)? },
        k::ONCE_DONE => Op::OnceDone { object: object(1)? },
        k::SEND => Op::Send { channel: object(1)?, position: word(2)?, size: word(3)? },
        k::RECEIVE => Op::Receive { channel: object(1)?, position: word(2)?, size: word(3)? },
        k::ALLOC => Op::Alloc { addr: Addr(word(1)?), size: word(2)? },
        k::FREE => Op::Free { addr: Addr(word(1)?), size: word(2)? },
        k::CREATE => {
            let kind = ObjectKind::from_bits(small).ok_or(bad)?;
            Op::Create { object: object(1)?, kind, value: word(2)? as u32 }
        }
        k::DESTROY => Op::Destroy { object: object(1)?, kind: ObjectKind::from_bits(small).ok_or(bad)? },
        k::ATOMIC_ENTER => Op::AtomicEnter { name: Addr(word(1)?) },
        k::ATOMIC_EXIT => Op::AtomicExit,
        k::BRANCH => Op::Branch,
        k::INPUT => {
            let source = InputSource::from_bits(small).ok_or(bad)?;
            let bytes = payload(3, word(2)? & 0xffff_ffff)?;
            Op::Input { source, value: word(1)? as i64, bytes }
        }
        k::SIGNAL => Op::Signal { number: small.into() },
        k::SIGNAL_RETURN => Op::SignalReturn { number: small.into() },
        k::MISUSED => Op::Misused { what: Misuse::from_bits(small).ok_or(bad)?, object: object(1)? },
        k::LEAVE => Op::Leave { call: word(1)? as u32 },
        k::RETURN => Op::Return { call: word(1)? as u32, result: word(2)? as i64 },
        k::REVOKED => Op::Revoked,
        k::STOPPED => Op::Stopped,
        k::CLOCK_JUMP => Op::ClockJump { nanoseconds: word(1)? },
        k::MODULE => {
            let path = payload(5, word(4)? & 0xffff_ffff)?;
            Op::Module { base: Addr(word(1)?), size: word(2)?, bias: word(3)?, path }
        }
        k::THREAD_NAME => {
            let both = word(1)?;
            let name = payload(2, both & 0xffff_ffff)?;
            Op::ThreadName { thread: ThreadId((both >> 32) as u32), name }
        }
        k::EXIT => Op::Exit { status: word(1)? as u32 as i32 },
        k::FATAL => Op::Fatal { number: small.into(), addr: Addr(word(1)?) },
        k::HANG => Op::Hang,
        k::PUT | k::GET | k::ACCUMULATE => {
            let both = word(2)?;
            let (target, size) = (both as u32, (both >> 32) as u32);
            let remote = Remote { window: object(1)?, target, displacement: word(3)?, size };
            let origin = Addr(word(4)?);
            match kind {
                k::PUT => Op::Put { remote, origin },
                k::GET => Op::Get { remote, origin },
                _ => Op::Accumulate { remote, origin },
            }
        }
        k::EPOCH_BEGIN | k::EPOCH_END => {
            let (window, target) = (object(1)?, word(2)? as u32);
            let epoch = EpochKind::from_bits(small).ok_or(bad)?;
            match kind {
                k::EPOCH_BEGIN => Op::EpochBegin { window, kind: epoch, target },
                _ => Op::EpochEnd { window, kind: epoch, target },
            }
        }
        other => return Err(Malformed::UnknownKind(other)),
    };
    Ok((Record::Event { pc, op }, len))
}

const fn lock_mode(small: u8) -> LockMode {
    if small & 1 == 0 { LockMode::Exclusive } else { LockMode::Shared }
}

fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: any initialised u64 is eight initialised bytes, and u8 needs no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 8) }
}

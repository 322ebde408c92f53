//! Events as bytes: the records that the runtime writes and the trace file stores.
//!
//! A record is a whole number of little-endian 64-bit words. The first word is
//!
//! ```text
//!  bits 0..8   kind          (see `kind`)
//!  bits 8..16  small operand (size, mode, flags…)
//!  bits 16..64 pc            (48 bits: the return address of the hook; 0 where there is none)
//! ```
//!
//! followed by the kind's own words. A record with a payload holds its length in bytes in the low 32 bits of its last fixed
//! word; the payload follows, padded with zeros to a whole word. Encoder and decoder stand together here.

use crate::event::*;
use crate::ids::{Addr, ObjectId, Pc, StackId, ThreadId};

/// Record kinds. Numbers are part of the trace format: never reuse one.
pub mod kind {
    pub const PAD: u8 = 0;
    pub const SWITCH: u8 = 1;
    pub const STACK: u8 = 2;
    pub const STACK_DEF: u8 = 3;
    pub const READ: u8 = 4;
    pub const WRITE: u8 = 5;
    pub const READ_RANGE: u8 = 6;
    pub const WRITE_RANGE: u8 = 7;
    pub const ATOMIC: u8 = 8;
    pub const ATOMIC_WIDE: u8 = 9;
    pub const FENCE: u8 = 10;
    pub const BEGIN: u8 = 11;
    pub const END: u8 = 12;
    pub const FORK: u8 = 13;
    pub const JOIN: u8 = 14;
    pub const DETACH: u8 = 15;
    pub const ACQUIRE: u8 = 16;
    pub const RELEASE: u8 = 17;
    pub const BLOCKED: u8 = 18;
    pub const REFUSED: u8 = 19;
    pub const WAIT: u8 = 20;
    pub const WOKEN: u8 = 21;
    pub const NOTIFY: u8 = 22;
    pub const BARRIER_ARRIVE: u8 = 23;
    pub const BARRIER_LEAVE: u8 = 24;
    pub const SEMAPHORE_POST: u8 = 25;
    pub const SEMAPHORE_TAKE: u8 = 26;
    pub const ONCE_BEGIN: u8 = 27;
    pub const ONCE_END: u8 = 28;
    pub const ONCE_DONE: u8 = 29;
    pub const SEND: u8 = 30;
    pub const RECEIVE: u8 = 31;
    pub const ALLOC: u8 = 32;
    pub const FREE: u8 = 33;
    pub const CREATE: u8 = 34;
    pub const DESTROY: u8 = 35;
    pub const ATOMIC_ENTER: u8 = 36;
    pub const ATOMIC_EXIT: u8 = 37;
    pub const INPUT: u8 = 38;
    pub const SIGNAL: u8 = 39;
    pub const SIGNAL_RETURN: u8 = 40;
    pub const MISUSED: u8 = 41;
    pub const LEAVE: u8 = 42;
    pub const RETURN: u8 = 43;
    pub const REVOKED: u8 = 44;
    pub const CLOCK_JUMP: u8 = 45;
    pub const MODULE: u8 = 46;
    pub const THREAD_NAME: u8 = 47;
    pub const EXIT: u8 = 48;
    pub const FATAL: u8 = 49;
    pub const HANG: u8 = 50;
    pub const BRANCH: u8 = 51;
}

/// First word of [`kind::READ`] and [`kind::WRITE`]: the small operand's bits 0..4 are the size in bytes (1..=8), bits
/// 4..8 the flags. An access of unknown value is a range without payload.
pub const fn access_word(kind: u8, size: u8, flags: u8, pc: u64) -> u64 {
    kind as u64 | ((size | flags << 4) as u64) << 8 | pc << 16
}

/// Words of a plain access record: first word, address, value.
pub const ACCESS_WORDS: usize = 3;

/// The payload of a range is dropped (value unknown) beyond this many bytes.
pub const MAX_PAYLOAD: usize = 64 << 10;

/// The longest record in words.
pub const MAX_WORDS: usize = 8 + 2 * (MAX_PAYLOAD / 8);

/// A decoded record: an event's operation, or one of the records that set the context of those that follow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Record<'a> {
    Event {
        pc: Pc,
        op: Op<'a>,
    },
    /// The thread that performs what follows.
    Switch {
        thread: ThreadId,
    },
    /// The call stack of the current thread from here on.
    Stack {
        stack: StackId,
    },
    /// `stack` is `parent` plus a call from `pc`.
    StackDef {
        stack: StackId,
        parent: StackId,
        pc: Pc,
    },
    Pad,
}

/// Why bytes are not a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Malformed {
    UnknownKind(u8),
    BadOperand(u8),
    Truncated,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownKind(kind) => write!(f, "unknown record kind {kind}"),
            Self::BadOperand(kind) => write!(f, "impossible operand in a record of kind {kind}"),
            Self::Truncated => write!(f, "record cut short"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Where records are written: words, then an optional payload. The implementor decides where they go.
pub struct Encoder<'a> {
    out: &'a mut [u64],
    len: usize,
}

impl<'a> Encoder<'a> {
    /// # Panics
    /// Writing more than `out` holds panics; [`words_needed`] tells how much is enough.
    pub fn new(out: &'a mut [u64]) -> Self {
        Self { out, len: 0 }
    }

    fn word(&mut self, word: u64) {
        self.out[self.len] = word;
        self.len += 1;
    }

    fn head(&mut self, kind: u8, small: u8, pc: Pc) {
        self.word(kind as u64 | (small as u64) << 8 | pc.0 << 16);
    }

    fn payload(&mut self, bytes: &[u8]) {
        for piece in bytes.chunks(8) {
            let mut word = [0u8; 8];
            word[..piece.len()].copy_from_slice(piece);
            self.word(u64::from_le_bytes(word));
        }
    }

    /// Writes one record and returns its length in words.
    pub fn record(mut self, record: &Record<'_>) -> usize {
        match *record {
            Record::Pad => self.head(kind::PAD, 0, Pc(0)),
            Record::Switch { thread } => self.head(kind::SWITCH, 0, Pc(u64::from(thread.0))),
            Record::Stack { stack } => self.head(kind::STACK, 0, Pc(u64::from(stack.0))),
            Record::StackDef { stack, parent, pc } => {
                self.head(kind::STACK_DEF, 0, pc);
                self.word(u64::from(stack.0) | u64::from(parent.0) << 32);
            }
            Record::Event { pc, op } => self.event(pc, op),
        }
        self.len
    }

    fn event(&mut self, pc: Pc, op: Op<'_>) {
        use kind as k;
        match op {
            Op::Begin => self.head(k::BEGIN, 0, pc),
            Op::End => self.head(k::END, 0, pc),
            Op::Fork { child, nth } => {
                self.head(k::FORK, 0, pc);
                self.word(u64::from(child.0) | u64::from(nth) << 32);
            }
            Op::Join { child } => self.one(k::JOIN, 0, pc, child.0.into()),
            Op::Detach { child } => self.one(k::DETACH, 0, pc, child.0.into()),
            Op::Read { addr, size, value, flags } => self.access(k::READ, pc, addr, size, value, flags),
            Op::Write { addr, size, value, flags } => self.access(k::WRITE, pc, addr, size, value, flags),
            Op::Atomic { kind, order, addr, size, read, written } => {
                let small = kind as u8 | (order as u8) << 3;
                if let (Value::Bytes(old), Value::Bytes(new)) = (read, written) {
                    self.head(k::ATOMIC_WIDE, small, pc);
                    self.word(addr.0);
                    self.payload(&old[..16]);
                    self.payload(&new[..16]);
                } else {
                    let word = |value| {
                        if let Value::Word(word) = value { word } else { 0 }
                    };
                    self.head(k::ATOMIC, small, pc);
                    // Addresses have 48 bits in user space; the size rides in the top byte.
                    self.word(addr.0 | u64::from(size) << 56);
                    self.word(word(read));
                    self.word(word(written));
                }
            }
            Op::Fence { order } => self.head(k::FENCE, order as u8, pc),
            Op::Acquire { object, mode, tried } => {
                self.one(k::ACQUIRE, mode as u8 | u8::from(tried) << 1, pc, object.0)
            }
            Op::Release { object, mode } => self.one(k::RELEASE, mode as u8, pc, object.0),
            Op::Blocked { on, object } => self.one(k::BLOCKED, on as u8, pc, object.0),
            Op::Refused { object, on, why } => self.one(k::REFUSED, on as u8 | (why as u8) << 4, pc, object.0),
            Op::Wait { condition, mutex, timed } => self.two(k::WAIT, timed.into(), pc, condition.0, mutex.0),
            Op::Woken { condition, mutex, reason, notify } => {
                self.two(k::WOKEN, reason as u8, pc, condition.0, mutex.0);
                self.word(notify.into());
            }
            Op::Notify { condition, all, notify, woken } => {
                self.two(k::NOTIFY, all.into(), pc, condition.0, u64::from(notify) | u64::from(woken) << 32)
            }
            Op::BarrierArrive { barrier, count } => self.two(k::BARRIER_ARRIVE, 0, pc, barrier.0, count.into()),
            Op::BarrierLeave { barrier, serial } => self.one(k::BARRIER_LEAVE, serial.into(), pc, barrier.0),
            Op::SemaphorePost { semaphore, value } => self.two(k::SEMAPHORE_POST, 0, pc, semaphore.0, value.into()),
            Op::SemaphoreTake { semaphore, value, tried } => {
                self.two(k::SEMAPHORE_TAKE, tried.into(), pc, semaphore.0, value.into());
            }
            Op::OnceBegin { object } => self.one(k::ONCE_BEGIN, 0, pc, object.0),
            Op::OnceEnd { object } => self.one(k::ONCE_END, 0, pc, object.0),
            Op::OnceDone { object } => self.one(k::ONCE_DONE, 0, pc, object.0),
            Op::Send { channel, position, size } => {
                self.two(k::SEND, 0, pc, channel.0, position);
                self.word(size);
            }
            Op::Receive { channel, position, size } => {
                self.two(k::RECEIVE, 0, pc, channel.0, position);
                self.word(size);
            }
            Op::Alloc { addr, size } => self.two(k::ALLOC, 0, pc, addr.0, size),
            Op::Free { addr, size } => self.two(k::FREE, 0, pc, addr.0, size),
            Op::Create { object, kind, value } => self.two(k::CREATE, kind as u8, pc, object.0, value.into()),
            Op::Destroy { object, kind } => self.one(k::DESTROY, kind as u8, pc, object.0),
            Op::AtomicEnter { name } => self.one(k::ATOMIC_ENTER, 0, pc, name.0),
            Op::AtomicExit => self.head(k::ATOMIC_EXIT, 0, pc),
            Op::Branch => self.head(k::BRANCH, 0, pc),
            Op::Input { source, value, bytes } => {
                let bytes = if bytes.len() > MAX_PAYLOAD { &[] } else { bytes };
                self.two(k::INPUT, source as u8, pc, value as u64, bytes.len() as u64);
                self.payload(bytes);
            }
            Op::Signal { number } => self.head(k::SIGNAL, number as u8, pc),
            Op::SignalReturn { number } => self.head(k::SIGNAL_RETURN, number as u8, pc),
            Op::Misused { what, object } => self.one(k::MISUSED, what as u8, pc, object.0),
            Op::Leave { call } => self.one(k::LEAVE, 0, pc, call.into()),
            Op::Return { call, result } => self.two(k::RETURN, 0, pc, call.into(), result as u64),
            Op::Revoked => self.head(k::REVOKED, 0, pc),
            Op::ClockJump { nanoseconds } => self.one(k::CLOCK_JUMP, 0, pc, nanoseconds),
            Op::Module { base, size, bias, path } => {
                let path = &path[..path.len().min(4096)];
                self.two(k::MODULE, 0, pc, base.0, size);
                self.word(bias);
                self.word(path.len() as u64);
                self.payload(path);
            }
            Op::ThreadName { thread, name } => {
                let name = &name[..name.len().min(256)];
                self.one(k::THREAD_NAME, 0, pc, u64::from(thread.0) << 32 | name.len() as u64);
                self.payload(name);
            }
            Op::Exit { status } => self.one(k::EXIT, 0, pc, status as u32 as u64),
            Op::Fatal { number, addr } => self.one(k::FATAL, number as u8, pc, addr.0),
            Op::Hang => self.head(k::HANG, 0, pc),
        }
    }

    fn one(&mut self, kind: u8, small: u8, pc: Pc, a: u64) {
        self.head(kind, small, pc);
        self.word(a);
    }

    fn two(&mut self, kind: u8, small: u8, pc: Pc, a: u64, b: u64) {
        self.one(kind, small, pc, a);
        self.word(b);
    }

    fn access(&mut self, kind: u8, pc: Pc, addr: Addr, size: u32, value: Value<'_>, flags: AccessFlags) {
        match value {
            Value::Word(word) if (1..=8).contains(&size) => {
                self.word(access_word(kind, size as u8, flags.0, pc.0));
                self.word(addr.0);
                self.word(word);
            }
            _ => {
                let bytes = match value {
                    Value::Bytes(bytes) if bytes.len() == size as usize && bytes.len() <= MAX_PAYLOAD => bytes,
                    _ => &[],
                };
                self.head(kind + (kind::READ_RANGE - kind::READ), flags.0, pc);
                self.word(addr.0);
                self.word(u64::from(size) << 32 | bytes.len() as u64);
                self.payload(bytes);
            }
        }
    }
}

/// An upper bound for the words of a record with this many payload bytes.
pub const fn words_needed(payload: usize) -> usize {
    8 + payload.div_ceil(8)
}

/// Decodes the record at the start of `words`; returns it with its length in words.
pub fn decode(words: &[u64]) -> Result<(Record<'_>, usize), Malformed> {
    use kind as k;
    let Some(&head) = words.first() else {
        return Err(Malformed::Truncated);
    };
    let (kind, small, pc) = (head as u8, (head >> 8) as u8, Pc(head >> 16));
    let word = |i: usize| words.get(i).copied().ok_or(Malformed::Truncated);
    let bad = Malformed::BadOperand(kind);
    let object = |i: usize| word(i).map(ObjectId);
    let payload = |at: usize, len: u64| -> Result<(&[u8], usize), Malformed> {
        let len = len as usize;
        let end = at + len.div_ceil(8);
        let words = words.get(at..end).ok_or(Malformed::Truncated)?;
        Ok((&as_bytes(words)[..len], end))
    };
    let (op, len) = match kind {
        k::PAD => return Ok((Record::Pad, 1)),
        k::SWITCH => {
            return Ok((Record::Switch { thread: ThreadId(pc.0 as u32) }, 1));
        }
        k::STACK => {
            return Ok((Record::Stack { stack: StackId(pc.0 as u32) }, 1));
        }
        k::STACK_DEF => {
            let ids = word(1)?;
            let (stack, parent) = (StackId(ids as u32), StackId((ids >> 32) as u32));
            return Ok((Record::StackDef { stack, parent, pc }, 2));
        }
        k::READ | k::WRITE => {
            let (addr, size, flags) = (Addr(word(1)?), u32::from(small & 15), AccessFlags(small >> 4));
            if !(1..=8).contains(&size) {
                return Err(bad);
            }
            let value = Value::Word(word(2)?);
            let op = if kind == k::READ {
                Op::Read { addr, size, value, flags }
            } else {
                Op::Write { addr, size, value, flags }
            };
            (op, 3)
        }
        k::READ_RANGE | k::WRITE_RANGE => {
            let (addr, sizes, flags) = (Addr(word(1)?), word(2)?, AccessFlags(small));
            let (bytes, end) = payload(3, sizes & 0xffff_ffff)?;
            let size = (sizes >> 32) as u32;
            let value = if bytes.len() == size as usize { Value::Bytes(bytes) } else { Value::Unknown };
            let op = if kind == k::READ_RANGE {
                Op::Read { addr, size, value, flags }
            } else {
                Op::Write { addr, size, value, flags }
            };
            (op, end)
        }
        k::ATOMIC | k::ATOMIC_WIDE => {
            let (atomic, order) = (AtomicKind::from_bits(small), MemoryOrder::from_bits(small >> 3));
            if kind == k::ATOMIC {
                let place = word(1)?;
                let (addr, size) = (Addr(place & ((1 << 56) - 1)), (place >> 56) as u32);
                let (read, written) = (Value::Word(word(2)?), Value::Word(word(3)?));
                (Op::Atomic { kind: atomic, order, addr, size, read, written }, 4)
            } else {
                let addr = Addr(word(1)?);
                let (read, _) = payload(2, 16)?;
                let (written, end) = payload(4, 16)?;
                let (read, written) = (Value::Bytes(read), Value::Bytes(written));
                (Op::Atomic { kind: atomic, order, addr, size: 16, read, written }, end)
            }
        }
        k::FENCE => (Op::Fence { order: MemoryOrder::from_bits(small) }, 1),
        k::BEGIN => (Op::Begin, 1),
        k::END => (Op::End, 1),
        k::FORK => {
            let both = word(1)?;
            (Op::Fork { child: ThreadId(both as u32), nth: (both >> 32) as u32 }, 2)
        }
        k::JOIN => (Op::Join { child: ThreadId(word(1)? as u32) }, 2),
        k::DETACH => (Op::Detach { child: ThreadId(word(1)? as u32) }, 2),
        k::ACQUIRE => (Op::Acquire { object: object(1)?, mode: lock_mode(small), tried: small & 2 != 0 }, 2),
        k::RELEASE => (Op::Release { object: object(1)?, mode: lock_mode(small) }, 2),
        k::BLOCKED => {
            let on = *BlockedOn::ALL.get(small as usize).ok_or(bad)?;
            (Op::Blocked { on, object: object(1)? }, 2)
        }
        k::REFUSED => {
            let on = *BlockedOn::ALL.get((small & 15) as usize).ok_or(bad)?;
            let why = RefusedWhy::from_bits(small >> 4).ok_or(bad)?;
            (Op::Refused { object: object(1)?, on, why }, 2)
        }
        k::WAIT => (Op::Wait { condition: object(1)?, mutex: object(2)?, timed: small & 1 != 0 }, 3),
        k::WOKEN => {
            let reason = WakeReason::from_bits(small).ok_or(bad)?;
            (Op::Woken { condition: object(1)?, mutex: object(2)?, reason, notify: word(3)? as u32 }, 4)
        }
        k::NOTIFY => {
            let counts = word(2)?;
            let (notify, woken) = (counts as u32, (counts >> 32) as u32);
            (Op::Notify { condition: object(1)?, all: small & 1 != 0, notify, woken }, 3)
        }
        k::BARRIER_ARRIVE => (Op::BarrierArrive { barrier: object(1)?, count: word(2)? as u32 }, 3),
        k::BARRIER_LEAVE => (Op::BarrierLeave { barrier: object(1)?, serial: small & 1 != 0 }, 2),
        k::SEMAPHORE_POST => (Op::SemaphorePost { semaphore: object(1)?, value: word(2)? as u32 }, 3),
        k::SEMAPHORE_TAKE => {
            (Op::SemaphoreTake { semaphore: object(1)?, value: word(2)? as u32, tried: small & 1 != 0 }, 3)
        }
        k::ONCE_BEGIN => (Op::OnceBegin { object: object(1)? }, 2),
        k::ONCE_END => (Op::OnceEnd { object: object(1)? }, 2),
        k::ONCE_DONE => (Op::OnceDone { object: object(1)? }, 2),
        k::SEND => (Op::Send { channel: object(1)?, position: word(2)?, size: word(3)? }, 4),
        k::RECEIVE => (Op::Receive { channel: object(1)?, position: word(2)?, size: word(3)? }, 4),
        k::ALLOC => (Op::Alloc { addr: Addr(word(1)?), size: word(2)? }, 3),
        k::FREE => (Op::Free { addr: Addr(word(1)?), size: word(2)? }, 3),
        k::CREATE => {
            let kind = ObjectKind::from_bits(small).ok_or(bad)?;
            (Op::Create { object: object(1)?, kind, value: word(2)? as u32 }, 3)
        }
        k::DESTROY => (Op::Destroy { object: object(1)?, kind: ObjectKind::from_bits(small).ok_or(bad)? }, 2),
        k::ATOMIC_ENTER => (Op::AtomicEnter { name: Addr(word(1)?) }, 2),
        k::ATOMIC_EXIT => (Op::AtomicExit, 1),
        k::BRANCH => (Op::Branch, 1),
        k::INPUT => {
            let source = InputSource::from_bits(small).ok_or(bad)?;
            let (bytes, end) = payload(3, word(2)?)?;
            (Op::Input { source, value: word(1)? as i64, bytes }, end)
        }
        k::SIGNAL => (Op::Signal { number: small.into() }, 1),
        k::SIGNAL_RETURN => (Op::SignalReturn { number: small.into() }, 1),
        k::MISUSED => (Op::Misused { what: Misuse::from_bits(small).ok_or(bad)?, object: object(1)? }, 2),
        k::LEAVE => (Op::Leave { call: word(1)? as u32 }, 2),
        k::RETURN => (Op::Return { call: word(1)? as u32, result: word(2)? as i64 }, 3),
        k::REVOKED => (Op::Revoked, 1),
        k::CLOCK_JUMP => (Op::ClockJump { nanoseconds: word(1)? }, 2),
        k::MODULE => {
            let (path, end) = payload(5, word(4)?)?;
            (Op::Module { base: Addr(word(1)?), size: word(2)?, bias: word(3)?, path }, end)
        }
        k::THREAD_NAME => {
            let both = word(1)?;
            let (name, end) = payload(2, both & 0xffff_ffff)?;
            (Op::ThreadName { thread: ThreadId((both >> 32) as u32), name }, end)
        }
        k::EXIT => (Op::Exit { status: word(1)? as u32 as i32 }, 2),
        k::FATAL => (Op::Fatal { number: small.into(), addr: Addr(word(1)?) }, 2),
        k::HANG => (Op::Hang, 1),
        other => return Err(Malformed::UnknownKind(other)),
    };
    if len > words.len() {
        return Err(Malformed::Truncated);
    }
    Ok((Record::Event { pc, op }, len))
}

const fn lock_mode(small: u8) -> LockMode {
    if small & 1 == 0 { LockMode::Exclusive } else { LockMode::Shared }
}

fn as_bytes(words: &[u64]) -> &[u8] {
    // SAFETY: any initialised u64 is eight initialised bytes, and u8 needs no alignment.
    unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), words.len() * 8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn back_and_forth(record: Record<'_>) {
        let mut words = vec![0; words_needed(64)];
        let len = Encoder::new(&mut words).record(&record);
        assert_eq!(decode(&words[..len]), Ok((record, len)));
        for cut in 0..len {
            assert!(decode(&words[..cut]).is_err(), "{record:?} cut to {cut} words");
        }
    }

    #[test]
    fn every_shape_survives() {
        let event = |op| Record::Event { pc: Pc(0x7fff_1234_5678), op };
        let (addr, object) = (Addr(0x7f00_dead_beef), ObjectId(0x5555_0000));
        back_and_forth(Record::Switch { thread: ThreadId(7) });
        back_and_forth(Record::StackDef { stack: StackId(9), parent: StackId(2), pc: Pc(77) });
        back_and_forth(event(Op::Write {
            addr,
            size: 3,
            value: Value::Word(0x010203),
            flags: AccessFlags(AccessFlags::VOLATILE),
        }));
        let value = Value::Bytes(b"thirteen byte");
        back_and_forth(event(Op::Read { addr, size: 13, value, flags: AccessFlags(AccessFlags::LIBRARY) }));
        back_and_forth(event(Op::Read { addr, size: 4, value: Value::Unknown, flags: AccessFlags(0) }));
        back_and_forth(event(Op::Atomic {
            kind: AtomicKind::Update,
            order: MemoryOrder::AcqRel,
            addr,
            size: 8,
            read: Value::Word(1),
            written: Value::Word(u64::MAX),
        }));
        back_and_forth(event(Op::Woken { condition: object, mutex: object, reason: WakeReason::TimedOut, notify: 3 }));
        back_and_forth(event(Op::Refused { object, on: BlockedOn::Semaphore, why: RefusedWhy::Interrupted }));
        back_and_forth(event(Op::Input { source: InputSource::Read, value: -4, bytes: b"hello" }));
        back_and_forth(event(Op::Module { base: addr, size: 4096, bias: 1 << 40, path: b"/lib/x.so" }));
        back_and_forth(event(Op::Return { call: 61, result: -1 }));
    }
}

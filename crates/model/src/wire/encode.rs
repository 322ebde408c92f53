//! Records into words.

use super::{MAX_PAYLOAD, Record, access_word, kind};
use crate::event::{AccessFlags, Op, Remote, Value};
use crate::ids::{Addr, Pc};

/// Where records are written: words, then an optional payload. The implementor decides where they go.
pub struct Encoder<'a> {
    out: &'a mut [u64],
    len: usize,
}

impl<'a> Encoder<'a> {
    /// # Panics
    /// Writing more than `out` holds panics; [`words_needed`](super::words_needed) tells how much is enough.
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
            Op::Stopped => self.head(k::STOPPED, 0, pc),
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
            Op::Put { remote, origin } => self.one_sided(k::PUT, pc, remote, origin),
            Op::Get { remote, origin } => self.one_sided(k::GET, pc, remote, origin),
            Op::Accumulate { remote, origin } => self.one_sided(k::ACCUMULATE, pc, remote, origin),
            Op::EpochBegin { window, kind, target } => {
                self.two(k::EPOCH_BEGIN, kind as u8, pc, window.0, target.into());
            }
            Op::EpochEnd { window, kind, target } => self.two(k::EPOCH_END, kind as u8, pc, window.0, target.into()),
        }
    }

    fn one_sided(&mut self, kind: u8, pc: Pc, remote: Remote, origin: Addr) {
        let Remote { window, target, displacement, size } = remote;
        self.two(kind, 0, pc, window.0, u64::from(target) | u64::from(size) << 32);
        self.word(displacement);
        self.word(origin.0);
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

/// Puts a record behind others.
pub fn append(words: &mut Vec<u64>, record: &Record<'_>) {
    let start = words.len();
    words.resize(start + record.words_needed(), 0);
    let len = Encoder::new(&mut words[start..]).record(record);
    words.truncate(start + len);
}

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
//! followed by the kind's own words. A record with a payload holds its length in bytes in the low 32 bits of its last
//! fixed word; the payload follows, padded with zeros to a whole word. How long a record of each kind is stands in
//! [`kind`] alone; encoder and decoder stand side by side.

mod decode;
mod encode;
pub mod foresight;
pub mod kind;

use crate::event::{Op, Value};
use crate::ids::{Pc, StackId, ThreadId};

pub use decode::{decode, length};
pub use encode::{Encoder, append};

/// First word of [`kind::READ`] and [`kind::WRITE`]: the small operand's bits 0..4 are the size in bytes (1..=8), bits
/// 4..8 the flags. An access of unknown value is a range without payload.
pub const fn access_word(kind: u8, size: u8, flags: u8, pc: u64) -> u64 {
    kind as u64 | ((size | flags << 4) as u64) << 8 | pc << 16
}

/// Words of a plain access record: first word, address, value.
pub const ACCESS_WORDS: usize = kind::Shape::of(kind::READ as u64).fixed();

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

impl Record<'_> {
    /// An upper bound for its words. Every recorded operation comes by here.
    #[inline]
    pub fn words_needed(&self) -> usize {
        let payload = match self {
            Record::Event { op, .. } => match op {
                Op::Read { value: Value::Bytes(bytes), .. } | Op::Write { value: Value::Bytes(bytes), .. } => {
                    bytes.len()
                }
                Op::Input { bytes, .. } => bytes.len(),
                Op::Module { path, .. } => path.len(),
                Op::ThreadName { name, .. } => name.len(),
                _ => 0,
            },
            _ => 0,
        };
        words_needed(payload.min(MAX_PAYLOAD))
    }
}

/// An upper bound for the words of a record with this many payload bytes.
pub const fn words_needed(payload: usize) -> usize {
    8 + payload.div_ceil(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::*;
    use crate::ids::{Addr, ObjectId};

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
        let remote = Remote { window: object, target: 3, displacement: 1 << 40, size: u32::MAX };
        back_and_forth(event(Op::Put { remote, origin: addr }));
        back_and_forth(event(Op::Get { remote, origin: addr }));
        back_and_forth(event(Op::Accumulate { remote, origin: addr }));
        let (kind, target) = (EpochKind::LockExclusive, Remote::ALL);
        back_and_forth(event(Op::EpochBegin { window: object, kind, target }));
        back_and_forth(event(Op::EpochEnd { window: object, kind: EpochKind::Fence, target }));
    }

    #[test]
    fn what_is_appended_fits() {
        let bytes = [7; 100];
        let value = Value::Bytes(&bytes);
        let op = Op::Write { addr: Addr(8), size: 100, value, flags: AccessFlags(0) };
        let mut words = vec![1];
        append(&mut words, &Record::Event { pc: Pc(1), op });
        assert_eq!(decode(&words[1..]), Ok((Record::Event { pc: Pc(1), op }, words.len() - 1)));
    }
}

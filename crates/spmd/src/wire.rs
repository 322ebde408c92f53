//! What ranks send each other, as bytes: encoder and decoder together.
//!
//! Numbers are LEB128, signed ones zigzag. Ranks of one run come from one build, so there is no
//! version; bytes that make no sense give `None`, never a panic.

use crate::access::{Access, Atomic, ContextOrder, Domain, End, Held, LockName, OwnersEvent, Role};
use crate::event::{
    Accumulates, Action, Buffer, Collective, Comparison, Event, Flow, Logged, Operation, Operator, Piece, Place,
    Through,
};
use crate::ids::{Communicator, Context, Datatype, Moment, Object, Rank, Request, Site, Strand, Window};
use crate::order::{Channel, Sync};
use crate::owner::Found;
use crate::rules::{Verdict, Why};
use crate::values::{Seen, What, Written};

/// Something that can be sent.
pub trait Wire: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn get(bytes: &mut &[u8]) -> Option<Self>;
}

/// All values of a packet.
pub fn encode<'a, T: Wire + 'a>(values: impl IntoIterator<Item = &'a T>) -> Vec<u8> {
    let mut out = Vec::new();
    values.into_iter().for_each(|value| value.put(&mut out));
    out
}

/// The values of a packet, as far as it makes sense.
pub fn decode<T: Wire>(bytes: &[u8]) -> Vec<T> {
    each(bytes).collect()
}

/// The same, one after the other.
pub fn each<T: Wire>(mut bytes: &[u8]) -> impl Iterator<Item = T> {
    std::iter::from_fn(move || if bytes.is_empty() { None } else { T::get(&mut bytes) })
}

impl Wire for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        let mut left = *self;
        while left >= 0x80 {
            out.push(left as u8 | 0x80);
            left >>= 7;
        }
        out.push(left as u8);
    }

    fn get(bytes: &mut &[u8]) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = bytes.split_first()?;
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

impl Wire for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        (((self << 1) ^ (self >> 63)) as u64).put(out);
    }

    fn get(bytes: &mut &[u8]) -> Option<i64> {
        let zigzag = u64::get(bytes)?;
        Some((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }
}

macro_rules! narrow {
    ($($type:ty as $wide:ty),*) => {$(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                <$wide>::from(*self).put(out);
            }
            fn get(bytes: &mut &[u8]) -> Option<$type> {
                <$wide>::get(bytes)?.try_into().ok()
            }
        }
    )*};
}
narrow!(u32 as u64, u16 as u64, i32 as i64);

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn get(bytes: &mut &[u8]) -> Option<bool> {
        Some(u64::get(bytes)? != 0)
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        self.iter().for_each(|value| value.put(out));
    }

    fn get(bytes: &mut &[u8]) -> Option<Option<T>> {
        if bool::get(bytes)? { Some(Some(T::get(bytes)?)) } else { Some(None) }
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (self.len() as u64).put(out);
        self.iter().for_each(|value| value.put(out));
    }

    fn get(bytes: &mut &[u8]) -> Option<Vec<T>> {
        let len = u64::get(bytes)?;
        // No value takes less than a byte: a length beyond that is damage, not a reason to allocate.
        (len <= bytes.len() as u64).then_some(())?;
        (0..len).map(|_| T::get(bytes)).collect()
    }
}

impl<T: Wire> Wire for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }

    fn get(bytes: &mut &[u8]) -> Option<Box<T>> {
        Some(Box::new(T::get(bytes)?))
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn get(bytes: &mut &[u8]) -> Option<(A, B)> {
        Some((A::get(bytes)?, B::get(bytes)?))
    }
}

macro_rules! newtypes {
    ($($name:ident),*) => {$(
        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
            fn get(bytes: &mut &[u8]) -> Option<$name> {
                Some($name(Wire::get(bytes)?))
            }
        }
    )*};
}
newtypes!(Rank, Window, Communicator, Request, Site, Context, Object, Datatype);

macro_rules! structs {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }
            fn get(bytes: &mut &[u8]) -> Option<$name> {
                $(let $field = Wire::get(bytes)?;)*
                Some($name { $($field),* })
            }
        }
    )*};
}
structs! {
    Strand { rank, number }
    Moment { strand, at }
    Collective { communicator, number }
    Accumulates { ordered, same_operator }
    Piece { offset, len, stride, count, datatype, element }
    Buffer { address, pieces }
    Operation { action, target, place, pieces, reads, writes, through, value, compare }
    Logged { strand, site, event }
    Atomic { domain, datatype, element, operator }
    Held { lock, exclusive }
    ContextOrder { context, epoch, pair }
    Access {
        owner, place, len, stride, count, role, writes, atomic, accumulates, locks, strand, start, step, opened, end,
        end_by_the_letter, ordered, site
    }
    Found { a, i, b, j, verdict, address }
    Sync { moment, brings, awaits, voids }
    Written { owner, place, moment, value, ordered, shmem }
    Seen { owner, place, moment, what }
}

/// Enums: each variant with its tag; fields in the order in which they stand here.
macro_rules! enums {
    ($($name:ident { $($tag:literal $variant:ident $(($($tuple:ident),*))? $({$($field:ident),*})?),* $(,)? })*) => {$(
        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $($name::$variant $(($($tuple),*))? $({$($field),*})? => {
                        out.push($tag);
                        $($($tuple.put(out);)*)?
                        $($($field.put(out);)*)?
                    })*
                }
            }
            fn get(bytes: &mut &[u8]) -> Option<$name> {
                let (&tag, rest) = bytes.split_first()?;
                *bytes = rest;
                match tag {
                    $($tag => {
                        $($(let $tuple = Wire::get(bytes)?;)*)?
                        $($(let $field = Wire::get(bytes)?;)*)?
                        Some($name::$variant $(($($tuple),*))? $({$($field),*})?)
                    })*
                    _ => None,
                }
            }
        }
    )*};
}
enums! {
    Place { 0 Address(address), 1 Window { window, units, bytes } }
    Operator {
        0 Replace, 1 NoOp, 2 CompareAndSwap, 3 Sum, 4 Product, 5 Minimum, 6 Maximum, 7 BitAnd, 8 BitOr, 9 BitXor,
        10 LogicalAnd, 11 LogicalOr, 12 LogicalXor, 13 Other
    }
    Action { 0 Put, 1 Get, 2 Accumulate(operator), 3 Fetch(operator) }
    Through { 0 Window { window, request }, 1 Context { context, blocking, domain, pair } }
    Flow {
        0 All { contributors }, 1 FromRoot { root }, 2 ToRoot { root, contributors }, 3 Prefix { before },
        4 Pairs { to, from }
    }
    Verdict { 0 Apart, 1 Potential(why), 2 Race }
    Why { 0 OverByPractice, 1 MixedOperations, 2 FlagByPut, 3 SeveralWriters }
    Comparison { 0 Equal, 1 NotEqual, 2 Greater, 3 LessOrEqual, 4 Less, 5 GreaterOrEqual }
    Event {
        0 WindowMade { window, base, unit, accumulates }, 1 Local { owner, place, len, write }, 2 Operation(operation),
        3 Buffer { buffer, write, request }, 4 Gone { place, len },
        5 Fence { window, no_precede, members }, 6 FenceDone { window }, 7 Post { window, origins },
        8 Start { window, targets }, 9 Complete { window }, 10 Waited { window },
        11 Lock { window, target, exclusive }, 12 Unlock { window, target }, 13 LockAll { window },
        14 UnlockAll { window }, 15 Flush { window, target, local }, 16 RequestDone { request },
        17 Quiet { context, barrier }, 18 ContextFence { context },
        19 Send { communicator, to, tag, synchronous }, 20 Taken { request },
        21 Posted { communicator, request, from, tag }, 22 Received { request, from, tag },
        23 Enter { collective, flow, contributes }, 24 Exit { collective },
        25 Waiting { place, len, datatype, comparison, wanted, initially }, 26 Returned { owner, place, value },
        27 SetLock { word }, 28 ClearLock { word }, 29 MutexLock { mutex }, 30 MutexUnlock { mutex },
        31 Release { object }, 32 Acquire { object }
    }
    Role {
        0 Load, 1 Store, 2 Put, 3 Get, 4 Accumulate, 5 Fetch, 6 Origin, 7 Result, 8 SendBuffer, 9 ReceiveBuffer,
        10 Wait, 11 Free
    }
    Domain { 0 Window(window), 1 Teams(team) }
    LockName { 0 Window(window, target), 1 Word(word), 2 Mutex(rank, mutex) }
    OwnersEvent { 0 Fence(window, number), 1 Post(window, origin, number), 2 Waited(window, origin, number) }
    End { 0 Open, 1 AtStart, 2 At(moment), 3 Owners(event), 4 Past }
    Channel {
        0 Message { communicator, from, to, tag, number }, 1 Taken { communicator, from, to, tag, number },
        2 Entered(collective), 3 EnteredBy(collective, rank), 4 EnteredFor(collective, from, to),
        5 Fence(window, number), 6 Completed { window, origin, target, number }, 7 Inside(rank, number), 8 Seen(number)
    }
    What { 0 Condition(comparison, wanted), 1 Value(value) }
}

/// Tags that [`crate::repeated`] writes by itself.
impl Event {
    pub(crate) const OPERATION: u8 = 2;
}

impl Place {
    pub(crate) const WINDOW: u8 = 1;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::generate::{Style, program};

    #[test]
    fn logs_come_back_as_they_went() {
        for seed in 0..200 {
            let style = if seed % 2 == 0 { Style::Mpi } else { Style::Shmem };
            for log in program(seed, style, 3, 30) {
                let bytes = encode(&log);
                assert_eq!(decode::<Logged>(&bytes), log);
                // A packet that was cut off gives its whole entries.
                let cut = decode::<Logged>(&bytes[..bytes.len() - 1]);
                assert_eq!(cut[..], log[..log.len() - 1]);
            }
        }
    }
}

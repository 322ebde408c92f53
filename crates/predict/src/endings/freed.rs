//! Memory that a run used after it had freed it, by allocation and free as they were recorded. What is freed and
//! allocated again is another block: a use of it that comes too late for the first one is not seen.

use std::collections::BTreeMap;

use reweave_model::{EventId, Misuse, Op};
use reweave_trace::{Result, Trace};

use crate::analyses::destroyed::recorded::{MAPPED, PAGE, late_uses};

/// Memory that was used after it had been freed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Freed {
    pub free: EventId,
    /// An access, or another free.
    pub used: EventId,
    pub twice: bool,
}

impl Freed {
    /// The first time a run did so.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn of(trace: &Trace) -> Result<Option<Self>> {
        // Where the block begins: its size, and what freed it.
        let mut freed: BTreeMap<u64, (u64, EventId)> = BTreeMap::new();
        let mut events = trace.events();
        while let Some(event) = events.next()? {
            let (addr, size) = match event.op {
                // Whole pages go back to the system, too.
                Op::Free { addr, .. } if addr.0 % PAGE == 0 => continue,
                Op::Free { addr, size } => {
                    freed.insert(addr.0, (size, event.id));
                    continue;
                }
                Op::Begin | Op::Fork { .. } => {
                    freed.retain(|_, (size, _)| *size < MAPPED);
                    continue;
                }
                Op::Alloc { addr, size } | Op::Module { base: addr, size, .. } => {
                    taken_again(&mut freed, addr.0, size);
                    continue;
                }
                Op::Misused { what: Misuse::DoubleFree, object } => {
                    let free = freed.get(&object.0).map_or(event.id, |(_, free)| *free);
                    return Ok(Some(Self { free, used: event.id, twice: true }));
                }
                Op::Read { addr, size, .. } | Op::Write { addr, size, .. } | Op::Atomic { addr, size, .. } => {
                    (addr.0, u64::from(size))
                }
                _ => continue,
            };
            if let Some((&at, &(length, free))) = freed.range(..addr.saturating_add(size)).next_back()
                && addr < at.saturating_add(length)
            {
                return Ok(Some(Self { free, used: event.id, twice: false }));
            }
        }
        Ok(None)
    }

    /// The first lock, or the like, that a run used after its memory had been freed.
    ///
    /// # Errors
    /// If the trace cannot be read.
    pub fn lock_of(trace: &Trace) -> Result<Option<Self>> {
        let late = late_uses(trace)?.into_iter().find(|late| late.freed);
        Ok(late.map(|late| Self { free: late.end, used: late.used, twice: false }))
    }
}

/// Somebody has this memory now.
fn taken_again(freed: &mut BTreeMap<u64, (u64, EventId)>, addr: u64, size: u64) {
    let end = addr.saturating_add(size.max(1));
    // Large ones go back to the system, which gives them to whom it likes: stacks, libraries, mappings.
    freed.retain(|_, (size, _)| *size < MAPPED);
    // Those that begin in it, and the one that reaches into it.
    let before = freed.range(..addr).next_back();
    let from = before.filter(|(at, (size, _))| at.saturating_add(*size) > addr);
    let from = from.map_or(addr, |(at, _)| *at);
    while let Some((&gone, _)) = freed.range(from..end).next() {
        freed.remove(&gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_model::{AccessFlags, Addr, ObjectId, Value};
    use reweave_trace::TraceBuilder;

    const BLOCK: Addr = Addr(0x1_0010);

    fn found(ops: &[Op<'_>]) -> Option<Freed> {
        let mut builder = TraceBuilder::default();
        for &op in ops {
            builder.op(0, op);
        }
        Freed::of(&builder.into_trace().expect("in memory")).expect("readable")
    }

    #[test]
    fn what_is_freed_is_gone_until_it_is_allocated_again() {
        let alloc = Op::Alloc { addr: BLOCK, size: 16 };
        let free = Op::Free { addr: BLOCK, size: 16 };
        let read = |addr| Op::Read { addr: Addr(addr), size: 4, value: Value::Word(0), flags: AccessFlags(0) };
        let late = Freed { free: EventId(1), used: EventId(2), twice: false };
        assert_eq!(found(&[alloc, free, read(BLOCK.0 + 12)]), Some(late));
        assert_eq!(found(&[alloc, read(BLOCK.0), free, read(BLOCK.0 + 16)]), None);
        assert_eq!(found(&[alloc, free, alloc, read(BLOCK.0)]), None);
        // A larger block that reaches over it.
        assert_eq!(found(&[alloc, free, Op::Alloc { addr: Addr(BLOCK.0 - 8), size: 64 }, read(BLOCK.0)]), None);
        let twice = Op::Misused { what: Misuse::DoubleFree, object: ObjectId(BLOCK.0) };
        assert_eq!(found(&[alloc, free, twice]), Some(Freed { twice: true, ..late }));
    }
}

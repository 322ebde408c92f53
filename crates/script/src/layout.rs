//! Where things of a program lie: addresses that exist in no memory, but are the same in every run.
//!
//! Code and globals form one module, named like the script's file. The code address of a statement is that of the
//! module plus its number plus one: recorded code addresses are return addresses everywhere, one past what they stand
//! for. Objects made by `alloc` lie far above, one after the other, and their addresses are never used again.

use crate::language::{Program, Slot, StatementId, Type, TypeId};

/// The module.
pub const MODULE: u64 = 0x1000_0000;
pub const MODULE_SIZE: u64 = 0x4000_0000;
/// Globals, within it.
const GLOBALS: u64 = MODULE + 0x1000_0000;
/// Objects.
pub const HEAP: u64 = 0x1000_0000_0000;
/// Bytes that a synchronization object takes, as large as any system's.
const SYNC: u64 = 64;
/// An object begins with its monitor and its condition.
pub const MONITOR: u64 = 0;
pub const CONDITION: u64 = SYNC;
const HEADER: u64 = 2 * SYNC;

/// The code address of a statement.
pub const fn code_address(statement: StatementId) -> u64 {
    MODULE + statement.0 as u64 + 1
}

/// The statement at a code address.
pub fn statement_at(address: u64) -> Option<StatementId> {
    u32::try_from(address.checked_sub(MODULE + 1)?).ok().map(StatementId)
}

pub const fn slot_size(slot: Slot) -> u64 {
    match slot {
        Slot::Value(kind) => kind.size() as u64,
        _ => SYNC,
    }
}

/// Where everything that is there from the start lies.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Address of each global.
    pub globals: Vec<u64>,
    /// Of each type: where in an object its fields begin, and how large it is.
    types: Vec<(Vec<u64>, u64)>,
}

impl Layout {
    pub fn new(program: &Program) -> Self {
        let types = program.types.iter().map(|object| {
            let mut at = HEADER;
            let fields = object.fields.iter().map(|(_, slot)| {
                let size = slot_size(*slot);
                at = at.next_multiple_of(size);
                at += size;
                at - size
            });
            let fields: Vec<u64> = fields.collect();
            (fields, at.next_multiple_of(8))
        });
        let types: Vec<(Vec<u64>, u64)> = types.collect();
        let mut at = GLOBALS;
        let globals = program.globals.iter().map(|global| {
            let size = match global.slot {
                Slot::Object(kind) => types[kind.index()].1,
                slot => slot_size(slot) * u64::from(global.length.unwrap_or(1)),
            };
            let address = at;
            at = (at + size).next_multiple_of(SYNC);
            address
        });
        Self { globals: globals.collect(), types: types.clone() }
    }

    pub fn field(&self, kind: TypeId, field: u32) -> u64 {
        self.types[kind.index()].0[field as usize]
    }

    pub fn object_size(&self, kind: TypeId) -> u64 {
        self.types[kind.index()].1
    }

    pub const fn element(kind: Type, index: u64) -> u64 {
        HEADER + kind.size() as u64 * index
    }
}

//! Memory and synchronization objects of one state.

use std::collections::BTreeMap;

use crate::language::{Allocation, Program, Slot, Type, TypeId};

/// A cell: which global or object, and which field or element of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cell {
    pub base: u64,
    pub index: u32,
}

impl Cell {
    /// Stands for the object itself.
    pub const WHOLE: u32 = u32::MAX;
}

/// What an object on the heap is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    Object(TypeId),
    Array { element: Type, length: u32 },
}

/// Heap objects begin here; what is below are globals by number.
pub const HEAP: u64 = 1 << 32;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Lock {
    pub owner: Option<usize>,
    pub depth: u32,
    // invariant: ascending
    pub readers: Vec<usize>,
}

impl Lock {
    pub const fn is_free(&self, shared: bool) -> bool {
        self.owner.is_none() && (shared || self.readers.is_empty())
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub struct Memory {
    // invariant: maps hold nothing that says the same as its absence
    values: BTreeMap<Cell, u64>,
    pub heap: BTreeMap<u64, Shape>,
    pub locks: BTreeMap<Cell, Lock>,
    /// Who waits at conditions and barriers, the longest first.
    pub queues: BTreeMap<Cell, Vec<usize>>,
    pub counts: BTreeMap<Cell, u32>,
}

impl Memory {
    pub fn new(program: &Program) -> Self {
        let mut memory = Self::default();
        for (at, global) in program.globals.iter().enumerate() {
            if let Slot::Value(kind) = global.slot {
                for (index, value) in global.initial.iter().enumerate() {
                    let cell = Cell { base: at as u64, index: index as u32 };
                    memory.write(cell, crate::language::arithmetic::literal(kind, *value));
                }
            }
        }
        memory
    }

    pub fn read(&self, cell: Cell) -> u64 {
        self.values.get(&cell).copied().unwrap_or(0)
    }

    pub fn write(&mut self, cell: Cell, value: u64) {
        self.values.remove(&cell);
        if value != 0 {
            self.values.insert(cell, value);
        }
    }

    pub fn lock(&self, cell: Cell) -> Lock {
        self.locks.get(&cell).cloned().unwrap_or_default()
    }

    pub fn set_lock(&mut self, cell: Cell, lock: Lock) {
        self.locks.remove(&cell);
        if lock != Lock::default() {
            self.locks.insert(cell, lock);
        }
    }

    pub fn count(&self, program: &Program, cell: Cell) -> u32 {
        self.counts.get(&cell).copied().unwrap_or_else(|| match self.slot(program, cell) {
            Some(Slot::Semaphore(count)) => count,
            _ => 0,
        })
    }

    /// What a cell is.
    pub fn slot(&self, program: &Program, cell: Cell) -> Option<Slot> {
        let field = |kind: TypeId| program.types[kind.index()].fields.get(cell.index as usize).map(|(_, slot)| *slot);
        match self.heap.get(&cell.base) {
            Some(Shape::Object(kind)) => field(*kind),
            Some(Shape::Array { element, length }) => (cell.index < *length).then_some(Slot::Value(*element)),
            None => {
                let global = program.globals.get(cell.base as usize)?;
                match global.slot {
                    Slot::Object(kind) => field(kind),
                    slot => (cell.index < global.length.unwrap_or(1)).then_some(slot),
                }
            }
        }
    }

    pub fn shape_of(what: Allocation, length: u64) -> Option<Shape> {
        match what {
            Allocation::Object(kind) => Some(Shape::Object(kind)),
            Allocation::Array { element, .. } => {
                u32::try_from(length as i64).ok().map(|length| Shape::Array { element, length })
            }
        }
    }
}

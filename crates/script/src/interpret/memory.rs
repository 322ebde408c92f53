//! The memory that the threads of a program share. Only the holder of the token touches it.

use std::collections::HashMap;

use crate::language::{Program, Slot, Type, TypeId, arithmetic};
use crate::layout::{HEAP, Layout};

/// What an object is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    Object(TypeId),
    Array { element: Type, length: u64 },
}

#[derive(Debug)]
pub struct Memory {
    /// Values by address; what was never written is zero.
    values: HashMap<u64, u64>,
    objects: HashMap<u64, Shape>,
    /// Where the next object comes.
    next: u64,
}

impl Memory {
    pub fn new(program: &Program, layout: &Layout) -> Self {
        let mut memory = Self { values: HashMap::new(), objects: HashMap::new(), next: HEAP };
        for (global, &address) in program.globals.iter().zip(&layout.globals) {
            if let Slot::Value(kind) = global.slot {
                for (at, value) in global.initial.iter().enumerate() {
                    memory.write(address + at as u64 * u64::from(kind.size()), arithmetic::literal(kind, *value));
                }
            }
        }
        memory
    }

    pub fn read(&self, address: u64) -> u64 {
        self.values.get(&address).copied().unwrap_or(0)
    }

    pub fn write(&mut self, address: u64, value: u64) {
        self.values.insert(address, value);
    }

    /// A new object and its size.
    pub fn alloc(&mut self, shape: Shape, layout: &Layout) -> (u64, u64) {
        let size = match shape {
            Shape::Object(kind) => layout.object_size(kind),
            Shape::Array { element, length } => Layout::element(element, length),
        };
        let address = self.next;
        self.next += size.max(1).next_multiple_of(64);
        self.objects.insert(address, shape);
        (address, size)
    }

    pub fn shape(&self, address: u64) -> Option<Shape> {
        self.objects.get(&address).copied()
    }
}

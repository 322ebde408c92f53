//! What one thread knows at a point: its registers, and of every location the value and the writes it may come from,
//! as far as start and join order them before this point. What others write in parallel is not in here.

use std::collections::BTreeMap;
use std::rc::Rc;

use reweave_script::language::{Operand, Register, Test, Type};

use super::locations::LocationId;
use crate::bits::Bits;
use crate::domain::value::{Domain, Value};
use crate::frames::{Point, ThreadId};
use crate::locks::Lock;

/// Where a value comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// The initial write of every location that is there from the start.
    System,
    /// A store, an update, or the allocation that made it zero.
    Write(Point),
}

/// What is known of one location.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    pub value: Value,
    // invariant: ascending
    pub sources: Vec<Source>,
    /// Locks that the thread held when it wrote this itself, and has held ever since.
    // invariant: ascending; empty unless there is one source
    pub guards: Vec<Lock>,
}

impl Entry {
    pub const fn nothing() -> Self {
        Self { value: Value::Nothing, sources: Vec::new(), guards: Vec::new() }
    }
}

/// Adds to a sorted list what it lacks. Whether it lacked anything.
pub fn add_sorted<T: Ord + Copy>(into: &mut Vec<T>, from: &[T]) -> bool {
    let mut grew = false;
    for one in from {
        if let Err(at) = into.binary_search(one) {
            into.insert(at, *one);
            grew = true;
        }
    }
    grew
}

/// All locations. Copies share what neither has changed.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    chunks: Vec<Rc<Vec<Rc<Entry>>>>,
}

const CHUNK: usize = 16;

impl Memory {
    pub fn new(entries: impl Iterator<Item = Entry>) -> Self {
        let entries: Vec<Rc<Entry>> = entries.map(Rc::new).collect();
        Self { chunks: entries.chunks(CHUNK).map(|chunk| Rc::new(chunk.to_vec())).collect() }
    }

    pub fn get(&self, at: LocationId) -> &Entry {
        &self.chunks[at.index() / CHUNK][at.index() % CHUNK]
    }

    pub fn set(&mut self, at: LocationId, entry: Entry) {
        Rc::make_mut(&mut self.chunks[at.index() / CHUNK])[at.index() % CHUNK] = Rc::new(entry);
    }

    pub fn change(&mut self, at: LocationId, change: impl FnOnce(&mut Entry)) {
        change(Rc::make_mut(&mut Rc::make_mut(&mut self.chunks[at.index() / CHUNK])[at.index() % CHUNK]));
    }

    /// Both, location by location where they are not the same; whether this changed.
    pub fn merge(&mut self, other: &Self, mut merge: impl FnMut(usize, &mut Entry, &Entry) -> bool) -> bool {
        let mut changed = false;
        for (at, (own, from)) in self.chunks.iter_mut().zip(&other.chunks).enumerate() {
            if Rc::ptr_eq(own, from) {
                continue;
            }
            for (inside, from) in from.iter().enumerate() {
                let mine = &own[inside];
                if Rc::ptr_eq(mine, from) || mine == from {
                    continue;
                }
                let mut entry = Entry::clone(mine);
                if merge(at * CHUNK + inside, &mut entry, from) {
                    Rc::make_mut(own)[inside] = Rc::new(entry);
                    changed = true;
                }
            }
        }
        changed
    }

    /// Whether this holds of every location that is not the same in both.
    pub fn all(&self, other: &Self, mut holds: impl FnMut(usize, &Entry, &Entry) -> bool) -> bool {
        self.chunks.iter().zip(&other.chunks).enumerate().all(|(at, (one, two))| {
            Rc::ptr_eq(one, two)
                || one
                    .iter()
                    .zip(two.iter())
                    .enumerate()
                    .all(|(inside, (one, two))| Rc::ptr_eq(one, two) || holds(at * CHUNK + inside, one, two))
        })
    }
}

/// A comparison whose outcome a register holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Comparison {
    pub test: Test,
    pub kind: Type,
    pub left: Operand,
    pub right: Operand,
}

#[derive(Clone, Debug)]
pub struct State {
    pub registers: Vec<Value>,
    /// What the function returns; where it has ended.
    pub result: Value,
    pub memory: Memory,
    /// Locations that this thread, or one that it joined, may have written since it began.
    pub touched: Bits,
    /// The same, since a thread was started by this one, which has surely not joined it yet.
    pub since: BTreeMap<ThreadId, Bits>,
    pub comparisons: BTreeMap<Register, Comparison>,
}

impl State {
    /// A register gets another value: what was known about the old one is gone.
    pub fn set(&mut self, register: Register, value: Value) {
        self.registers[register.index()] = value;
        let uses = |operand: Operand| operand == Operand::Register(register);
        self.comparisons
            .retain(|own, comparison| *own != register && !uses(comparison.left) && !uses(comparison.right));
    }

    pub fn touch(&mut self, location: LocationId) {
        self.touched.insert(location.index());
        for changed in self.since.values_mut() {
            changed.insert(location.index());
        }
    }

    pub fn operand(&self, domain: Domain, operand: Operand, kind: Type) -> Value {
        match operand {
            Operand::Register(register) => self.registers[register.index()].clone(),
            Operand::Literal(literal) => domain.literal(kind, literal),
        }
    }
}

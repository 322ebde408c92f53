//! Where what is tainted comes from.

use std::collections::HashMap;

use crate::bits::Bits;
use crate::java::conflicts::AccessId;
use crate::java::solve::Point;

/// What a chain of dependences begins with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Root {
    /// A read that has a choice.
    Read(AccessId),
    /// What a library call returns is decided by the order of threads.
    Library(Point),
    /// A call asks for the name or the number of a thread, which are given in the order in which threads are made.
    ThreadName(Point),
    /// A statement may throw: a limit runs out, an interrupt, a task that is refused.
    Throws(Point),
    /// What is gone through may be changed meanwhile by another thread.
    Changed(Point),
    /// A library object that threads must not share.
    Race(AccessId),
    /// A task may be cancelled here.
    Cancels(Point),
    /// A call that is not understood.
    Opaque(Point),
    /// A read of what code that is not understood may touch.
    Touched(Point),
}

/// The first choice that something was found to depend on; shorter chains are less.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Because {
    length: u32,
    pub root: Root,
}

impl Because {
    pub const fn new(root: Root) -> Self {
        Self { length: 0, root }
    }

    pub(super) const fn further(self) -> Self {
        Self { length: self.length + 1, ..self }
    }
}

/// What about a statement depends on a choice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Manner {
    Value,
    /// Whether it is executed.
    Executed,
    /// Which object or element it is about.
    Place,
}

/// A set whose elements remember why they came in; the first reason stays.
#[derive(Clone, Default)]
pub struct Marks {
    set: Bits,
    because: HashMap<usize, Because>,
}

impl Marks {
    pub fn contains(&self, at: usize) -> bool {
        self.set.contains(at)
    }

    pub fn get(&self, at: usize) -> Option<Because> {
        if self.set.contains(at) { self.because.get(&at).copied() } else { None }
    }

    /// Whether it is new. `because`: of what it follows from.
    pub fn insert(&mut self, at: usize, because: Because) -> bool {
        let is_new = self.set.insert(at);
        if is_new {
            self.because.insert(at, because.further());
        }
        is_new
    }
}

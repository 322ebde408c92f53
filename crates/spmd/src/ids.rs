//! Names of things that several ranks speak of.
//!
//! Invariant: an id that travels between ranks means the same on each of them. Windows and
//! communicators get theirs from the ranks that make them (see [`crate::event::Event`]); addresses
//! never travel, displacements in windows do.

use std::fmt;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub $inner);
    )*};
}

ids! {
    /// A process of the program, by its number in the world communicator.
    Rank(u32);
    /// A window, agreed on by its members. [`Window::SYMMETRIC`] is SHMEM's symmetric memory.
    Window(u32);
    /// A communicator or team, agreed on by its members.
    Communicator(u64);
    /// A nonblocking operation of one rank.
    Request(u64);
    /// A statement of the program: the address of its code.
    Site(u64);
    /// A SHMEM context of one rank. [`Context::DEFAULT`] always exists.
    Context(u32);
    /// Something that orders or excludes strands of one rank: a fork, a mutex, a team's barrier.
    Object(u64);
    /// A predefined datatype.
    Datatype(u16);
}

impl Window {
    pub const SYMMETRIC: Window = Window(u32::MAX);
}

impl Context {
    pub const DEFAULT: Context = Context(0);
}

/// A strand: a thread, task or section of one rank. MPI calls of one strand happen in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Strand {
    pub rank: Rank,
    pub number: u32,
}

/// A moment of a strand.
///
/// The n-th event of a strand that is not a load or store is at `2 n`; what the strand does between
/// that event and the next one is at `2 n + 1`. Loads and stores therefore cost no number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Moment {
    pub strand: Strand,
    pub at: u32,
}

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

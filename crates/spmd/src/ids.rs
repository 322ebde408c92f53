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

const HASH: u64 = 0xcbf2_9ce4_8422_2325;

const fn hashed(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut next = 0;
    while next < bytes.len() {
        hash = (hash ^ bytes[next] as u64).wrapping_mul(0x100_0000_01b3);
        next += 1;
    }
    hash
}

impl Datatype {
    /// The type of that name: a number that means the same on every rank. Never 0, which is no type (FNV-1a, folded).
    pub const fn named(name: &[u8]) -> Datatype {
        Datatype::folded(hashed(HASH, name))
    }

    /// The type with a name and a number of bytes: `signed 4`.
    pub const fn numbered(name: &str, bytes: u32) -> Datatype {
        let mut hash = hashed(hashed(HASH, name.as_bytes()), b" ");
        let mut digit = 1;
        while bytes / digit >= 10 {
            digit *= 10;
        }
        while digit > 0 {
            hash = hashed(hash, &[b'0' + (bytes / digit % 10) as u8]);
            digit /= 10;
        }
        Datatype::folded(hash)
    }

    const fn folded(hash: u64) -> Datatype {
        let number = (hash ^ (hash >> 16) ^ (hash >> 32) ^ (hash >> 48)) as u16;
        Datatype(if number == 0 { 1 } else { number })
    }

    /// Is it one of the integers whose sums wrap around?
    pub fn is_integer(self) -> bool {
        const NAMES: [&str; 26] = [
            "MPI_INT",
            "MPI_UNSIGNED",
            "MPI_LONG",
            "MPI_UNSIGNED_LONG",
            "MPI_LONG_LONG",
            "MPI_LONG_LONG_INT",
            "MPI_UNSIGNED_LONG_LONG",
            "MPI_SHORT",
            "MPI_UNSIGNED_SHORT",
            "MPI_INT8_T",
            "MPI_INT16_T",
            "MPI_INT32_T",
            "MPI_INT64_T",
            "MPI_UINT8_T",
            "MPI_UINT16_T",
            "MPI_UINT32_T",
            "MPI_UINT64_T",
            "MPI_AINT",
            "MPI_OFFSET",
            "MPI_COUNT",
            "MPI_INTEGER",
            "MPI_INTEGER8",
            "signed 4",
            "signed 8",
            "unsigned 4",
            "unsigned 8",
        ];
        static NUMBERS: std::sync::OnceLock<Vec<Datatype>> = std::sync::OnceLock::new();
        let numbers = NUMBERS.get_or_init(|| NAMES.iter().map(|name| Datatype::named(name.as_bytes())).collect());
        numbers.contains(&self)
    }
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

#[cfg(test)]
mod tests {
    use super::Datatype;

    #[test]
    fn a_name_with_a_number_is_a_name() {
        assert_eq!(Datatype::numbered("signed", 4), Datatype::named(b"signed 4"));
        assert_eq!(Datatype::numbered("complex", 16), Datatype::named(b"complex 16"));
    }
}

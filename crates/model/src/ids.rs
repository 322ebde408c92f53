//! Newtypes for everything that is numbered. Ids are only comparable within one trace; across runs things are
//! matched by name (see [`crate::schedule::ThreadName`]).

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
        #[repr(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

id!(
    /// A thread, numbered in order of creation. The main thread is 0.
    ThreadId(u32)
);
id!(
    /// The position of an event in its trace, from 0.
    EventId(u64)
);
id!(
    /// An interned call stack: a node of the tree defined by `StackDef` records. 0 is the empty stack.
    StackId(u32)
);
id!(
    /// A memory address as the program saw it.
    Addr(u64)
);
id!(
    /// A code address as the program saw it: the return address of the hook, so look up `pc - 1`.
    Pc(u64)
);
id!(
    /// A lock, condition variable, barrier, semaphore, channel…: for native programs, its address.
    ObjectId(u64)
);

id!(
    /// A process of a run that has several: as its manifest numbers them, from 0.
    ProcessId(u32)
);

/// What a module is called in every run: a hash of its file name (FNV-1a: stored with findings, so it must be the same
/// in every build).
pub fn module_id(path: &[u8]) -> u64 {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

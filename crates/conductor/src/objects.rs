//! Locks, condition variables, barriers, semaphores: their state as the core models it. Only the holder of the
//! token touches them, so they need no synchronisation of their own.

use crate::thread::NO_THREAD;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

/// Addresses hash well enough by one multiplication; std's hasher would need thread-local keys.
#[derive(Default)]
pub struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }
    fn write_u64(&mut self, n: u64) {
        let mixed = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

pub type AddressMap<V> = HashMap<u64, V, BuildHasherDefault<AddressHasher>>;

#[derive(Debug)]
pub struct Lock {
    /// Exclusive holder.
    pub owner: u32,
    pub depth: u32,
    /// Shared holders with how often each holds it.
    pub readers: Vec<(u32, u32)>,
}

impl Default for Lock {
    fn default() -> Self {
        Self { owner: NO_THREAD, depth: 0, readers: Vec::new() }
    }
}

impl Lock {
    pub fn free_for_writer(&self) -> bool {
        self.owner == NO_THREAD && self.readers.is_empty()
    }
    pub fn free_for_reader(&self) -> bool {
        self.owner == NO_THREAD
    }
    pub fn held(&self) -> bool {
        !self.free_for_writer()
    }
}

#[derive(Debug, Default)]
pub struct Condition {
    /// Waiting threads, first come first served.
    pub waiters: Vec<u32>,
}

#[derive(Debug, Default)]
pub struct Barrier {
    pub count: u32,
    pub arrived: Vec<u32>,
}

#[derive(Debug, Default)]
pub struct Semaphore {
    pub value: u32,
}

#[derive(Debug, Default)]
pub struct Once {
    /// Thread that runs the initialiser.
    pub runner: Option<u32>,
    pub done: bool,
}

/// Objects by id, which can also be found by where they lie.
pub type PlaceMap<V> = BTreeMap<u64, V>;

/// All objects whose state is another than that of one never used: they come into being at first use (static initialisers run
/// no code), and many are never destroyed (a `std::mutex` needs no destructor), so that what is as at first is not kept.
#[derive(Default)]
pub struct Objects {
    // invariant: each is held
    pub locks: AddressMap<Lock>,
    // invariant: each has waiters
    pub conditions: AddressMap<Condition>,
    // invariant: each has waiters
    pub futexes: AddressMap<Vec<u32>>,
    pub barriers: PlaceMap<Barrier>,
    pub semaphores: PlaceMap<Semaphore>,
    pub onces: PlaceMap<Once>,
    /// Send and receive positions of channels.
    pub channels: PlaceMap<(u64, u64)>,
}

impl Objects {
    /// Memory went back to the system, and with it what nobody has destroyed in it. A lock that is held stays held, and who waits
    /// goes on waiting: the trace would not be about one object otherwise.
    pub fn forget_within(&mut self, start: u64, size: u64) {
        fn forget<V>(map: &mut PlaceMap<V>, start: u64, end: u64) {
            while let Some((&object, _)) = map.range(start..end).next() {
                map.remove(&object);
            }
        }
        let end = start.saturating_add(size);
        forget(&mut self.barriers, start, end);
        forget(&mut self.semaphores, start, end);
        forget(&mut self.onces, start, end);
        forget(&mut self.channels, start, end);
    }
}

//! Locks, condition variables, barriers, semaphores: their state as the core models it. Only the holder of the
//! token touches them, so they need no synchronisation of their own.

use crate::thread::NO_THREAD;
use reweave_model::LockMode;
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

/// Whether somebody got a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    Yes,
    /// It had it already, shared.
    OnceMore,
    No,
}

impl Lock {
    pub fn free_for_writer(&self) -> bool {
        self.owner == NO_THREAD && self.readers.is_empty()
    }
    pub fn free_for_reader(&self) -> bool {
        self.owner == NO_THREAD
    }
    pub fn is_free(&self, mode: LockMode) -> bool {
        if mode == LockMode::Exclusive { self.free_for_writer() } else { self.free_for_reader() }
    }

    /// For this thread, if it is free.
    #[inline]
    pub fn take(&mut self, mode: LockMode, id: u32) -> Taken {
        if !self.is_free(mode) {
            return Taken::No;
        }
        match mode {
            LockMode::Exclusive => (self.owner, self.depth) = (id, 1),
            LockMode::Shared => match self.readers.iter_mut().find(|(reader, _)| *reader == id) {
                Some((_, times)) => {
                    *times += 1;
                    return Taken::OnceMore;
                }
                None => self.readers.push((id, 1)),
            },
        }
        Taken::Yes
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

/// An object that may be as if it had never been used.
pub trait Idle: Default {
    fn is_idle(&self) -> bool;
}

impl Idle for Lock {
    fn is_idle(&self) -> bool {
        !self.held()
    }
}

impl Idle for Condition {
    fn is_idle(&self) -> bool {
        self.waiters.is_empty()
    }
}

/// Objects that come into being at first use (static initialisers run no code) and that many never destroy (a
/// `std::mutex` needs no destructor). Idle ones are as good as none: they are kept for their next use and forgotten
/// when there are too many.
pub struct InUse<V> {
    map: AddressMap<V>,
    /// So many are kept before it is looked which of them are idle.
    // invariant: at least twice as many as were not when it was last looked, so that it costs each a share that does
    // not grow
    room: usize,
}

/// Enough for most programs never to look.
const LEAST_ROOM: usize = 256;

impl<V> Default for InUse<V> {
    fn default() -> Self {
        Self { map: AddressMap::default(), room: LEAST_ROOM }
    }
}

impl<V: Idle> InUse<V> {
    #[inline(always)]
    pub fn get(&self, id: u64) -> Option<&V> {
        self.map.get(&id)
    }

    #[inline(always)]
    pub fn get_mut(&mut self, id: u64) -> Option<&mut V> {
        self.map.get_mut(&id)
    }

    /// The object, idle if it was not there. Every lock operation comes by here.
    #[inline(always)]
    pub fn at(&mut self, id: u64) -> &mut V {
        if self.map.len() > self.room {
            self.forget_idle();
        }
        self.map.entry(id).or_default()
    }

    #[cold]
    fn forget_idle(&mut self) {
        self.map.retain(|_, object| !object.is_idle());
        self.room = (2 * self.map.len()).max(LEAST_ROOM);
    }

    pub fn remove(&mut self, id: u64) {
        self.map.remove(&id);
    }

    pub fn clear(&mut self) {
        self.map.clear();
    }

    pub fn len(&self) -> usize {
        self.map.len()
    }

    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut V)> {
        self.map.iter_mut().map(|(&id, object)| (id, object))
    }
}

/// Objects by id, which can also be found by where they lie.
pub type PlaceMap<V> = BTreeMap<u64, V>;

/// All objects.
#[derive(Default)]
pub struct Objects {
    pub locks: InUse<Lock>,
    pub conditions: InUse<Condition>,
    pub barriers: PlaceMap<Barrier>,
    pub semaphores: PlaceMap<Semaphore>,
    pub onces: PlaceMap<Once>,
    /// Send and receive positions of channels.
    pub channels: PlaceMap<(u64, u64)>,
}

impl Objects {
    /// Memory went back to the system, and with it what nobody has destroyed in it. A lock that is held stays held, and
    /// who waits goes on waiting: the trace would not be about one object otherwise.
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

//! Puts and gets that a statement issues again and again, with nothing new but where: the entry in the log is copied from
//! the last one. No allocation, and no look into a table but this one.
//!
//! Only predefined types (the handle of another one may be used again for something else), and only in runs without a
//! plan. A window that is made or freed empties the table, for the same reason.

use super::abi::Handle;
use super::objects::{Fetched, State};
use super::{local, threads};
use crate::event::Logged;
use crate::repeated::Repeated;

/// Statements that are remembered, by their address; others push them out.
const SLOTS: usize = 64;

/// What must be the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub pc: u64,
    pub window: Handle,
    pub target: i32,
    /// Elements and type here and there.
    pub here: (i64, Handle),
    pub there: (i64, Handle),
    /// A put, or a get.
    pub put: bool,
}

struct Known {
    key: Key,
    strand: u32,
    repeated: Repeated,
    /// Bytes of the buffer.
    len: u64,
    /// What it fetches, if that is one element.
    fetches: Option<Fetched>,
    /// The buffer that was given to [`local::pending`] last, and how many were forgotten by then.
    watched: (u64, u64),
}

pub struct Table {
    slots: Vec<Option<Box<Known>>>,
}

impl Default for Table {
    fn default() -> Table {
        Table { slots: (0..SLOTS).map(|_| None).collect() }
    }
}

fn number(pc: u64) -> usize {
    (pc ^ pc >> 6) as usize % SLOTS
}

impl Table {
    /// A window is made or freed: its handle may be another one's now.
    pub fn clear(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = None);
    }

    /// This was logged just now.
    pub fn learn(&mut self, key: Key, logged: &Logged, len: u64, fetches: Option<Fetched>) {
        if let Some(repeated) = Repeated::of(logged) {
            let known = Known { key, strand: logged.strand, repeated, len, fetches, watched: (0, u64::MAX) };
            self.slots[number(key.pc)] = Some(Box::new(known));
        }
    }
}

impl State {
    /// Logs the operation if it is one that the statement issued before. Returns whether it was.
    pub fn again(&mut self, key: &Key, address: u64, displacement: i64) -> bool {
        let strand = threads::strand();
        let slot = number(key.pc);
        let alike = |known: &Known| known.key == *key && known.strand == strand;
        if !self.again.slots[slot].as_deref().is_some_and(alike) {
            return false;
        }
        self.before_call(strand);
        let Some(known) = &mut self.again.slots[slot] else { return false };
        let forgotten = local::forgotten();
        if known.watched != (address, forgotten) {
            local::pending_bytes(address, address + known.len);
            known.watched = (address, forgotten);
        }
        let mut value = [0u8; 8];
        if known.repeated.has_value() {
            // SAFETY: the program gives these bytes to the operation; one element of at most eight.
            unsafe {
                std::ptr::copy_nonoverlapping(address as *const u8, value.as_mut_ptr(), known.len.min(8) as usize);
            }
        }
        if let Some(fetched) = &known.fetches {
            self.fetches.push(fetched.at(address, displacement));
        }
        let entry = known.repeated.entry(address, displacement, u64::from_le_bytes(value));
        self.log.push_operation(entry, !key.put);
        true
    }
}

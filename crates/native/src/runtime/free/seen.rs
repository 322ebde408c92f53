//! Accesses that say nothing new, by thread: the same at the same place of the code to the same memory, since the thread
//! last synchronized (see [`reweave_conductor::repeats`], which does the same where one thread at a time runs).
//!
//! Deviation: memory that another thread frees and gets again in the meantime is not new here. Whoever comes to it without
//! synchronization races, and may be missed then.

use super::super::alloc;
use std::cell::Cell;

/// Entries of a table: 2 MB, of which only what is used has pages.
const ENTRIES: usize = 1 << 17;
const MOMENT_BITS: u32 = 29;
const ADDRESS_BITS: u32 = 48;
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

pub struct Seen {
    /// Null if everything is to be recorded.
    table: *mut [u64; 2],
    /// Synchronizations so far. 0 in no entry.
    moment: Cell<u64>,
    /// What the launcher had forgotten when the moment began.
    forgot: Cell<u32>,
}

impl Seen {
    pub fn new(wanted: bool) -> Self {
        let table = if wanted { alloc::map(ENTRIES * 16).cast() } else { std::ptr::null_mut() };
        Self { table, moment: Cell::new(1), forgot: Cell::new(0) }
    }

    /// The thread has synchronized: everything is new again.
    pub fn next(&self, forgot: u32) {
        self.forgot.set(forgot);
        self.moment.set(self.moment.get() + 1);
        if self.moment.get().is_multiple_of(1 << MOMENT_BITS) {
            if !self.table.is_null() {
                // The numbers in the table come again from here on.
                // SAFETY: the table's own size.
                unsafe { self.table.write_bytes(0, ENTRIES) };
            }
            self.moment.set(self.moment.get() + 1);
        }
    }

    /// The moment, to [go on](Self::go_on) with.
    pub const fn moment(&self) -> (u64, u32) {
        (self.moment.get(), self.forgot.get())
    }

    /// The thread has only made room: what it had seen it has still seen, unless the launcher has forgotten.
    pub fn go_on(&self, (moment, forgot): (u64, u32)) {
        if forgot == self.forgot.get() && self.moment.get() == moment + 1 {
            self.moment.set(moment);
        }
    }

    /// Whether an access of 1, 2, 4 or 8 bytes was noted in this moment; notes it if not.
    #[inline(always)]
    pub fn repeats<const WRITE: bool>(&self, addr: u64, size: u32, pc: u64) -> bool {
        if self.table.is_null() {
            return false;
        }
        let (moment, what) = (self.moment.get(), u64::from(size.trailing_zeros()) << 1 | WRITE as u64);
        let entry = [addr | moment << ADDRESS_BITS, pc | what << ADDRESS_BITS | moment >> 16 << (ADDRESS_BITS + 3)];
        let place = (addr >> size.trailing_zeros()).wrapping_add(pc.wrapping_mul(SPREAD) >> 24) as usize;
        // SAFETY: inside the table, which this thread alone touches.
        unsafe {
            let at = self.table.add(place % ENTRIES);
            let known = *at == entry;
            *at = entry;
            known
        }
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        if !self.table.is_null() {
            alloc::unmap(self.table.cast(), ENTRIES * 16);
        }
    }
}

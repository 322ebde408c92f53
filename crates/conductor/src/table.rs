//! The thread table: the rows of the threads that are there, and of nobody else. A program that runs for hours makes any number
//! of threads, so that nothing may be kept of one that has ended; its number alone stays its own.

use crate::shared::{Header, SLOTS};
use crate::thread::Thread;
use std::sync::atomic::Ordering;

#[derive(Default)]
pub struct Threads {
    // invariant: ids ascending; each row is a box that nobody else owns, so that its address stays
    rows: Vec<(u32, *mut Thread)>,
    /// The number of the next thread. Numbers are not used again: the trace is about all threads there ever were.
    next: u32,
    /// Slots of threads that are gone.
    free_slots: Vec<u32>,
}

impl Threads {
    fn place(&self, id: u32) -> Result<usize, usize> {
        self.rows.binary_search_by_key(&id, |&(id, _)| id)
    }

    pub fn contains(&self, id: u32) -> bool {
        self.place(id).is_ok()
    }

    /// The row of a thread, if it has not ended.
    pub fn get(&self, id: u32) -> Option<&'static mut Thread> {
        let (_, row) = self.rows[self.place(id).ok()?];
        // SAFETY: rows in the table are live boxes. The token or the spin lock makes the access exclusive.
        Some(unsafe { &mut *row })
    }

    pub fn iter(&self) -> impl Iterator<Item = &'static mut Thread> {
        // SAFETY: as in `get`.
        self.rows.iter().map(|&(_, row)| unsafe { &mut *row })
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number that the next thread gets.
    pub const fn next_id(&self) -> u32 {
        self.next
    }

    /// A new row. `new` makes it from its number and its slot among the wake-up words.
    pub fn add(&mut self, header: &Header, new: impl FnOnce(u32, u32) -> Thread) -> &'static mut Thread {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            let slot = header.slots.fetch_add(1, Ordering::Relaxed);
            assert!((slot as usize) < SLOTS, "more than {SLOTS} threads at once");
            slot
        });
        let id = self.next;
        self.next += 1;
        let row = Box::into_raw(Box::new(new(id, slot)));
        self.rows.push((id, row));
        // SAFETY: just made.
        unsafe { &mut *row }
    }

    /// Takes a row out of the table. From here on only the caller has it: it is freed with what is returned.
    pub fn strike_off(&mut self, id: u32) -> Box<Thread> {
        let Ok(place) = self.place(id) else { panic!("thread {id} is struck off twice") };
        let (_, row) = self.rows.remove(place);
        // SAFETY: made by `add`, and no longer in the table.
        let row = unsafe { Box::from_raw(row) };
        self.free_slots.push(row.slot);
        row
    }
}

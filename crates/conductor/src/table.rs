//! The thread table: the rows of the threads that are there, and of nobody else. A program that runs for hours makes
//! any number of threads, so nothing may be kept of one that has ended; its number alone stays its own.
//!
//! The table is behind the spin lock: threads that nobody announced enter themselves without the token. Rows go by the
//! hand of the token's holder alone.

use crate::shared::{Header, SLOTS};
use crate::thread::Thread;
use reweave_model::ThreadName;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

pub struct Threads<R> {
    // invariant: ids ascending; each row is a box that nobody else owns, so its address stays
    rows: Vec<(u32, NonNull<Thread<R>>)>,
    /// The number of the next thread. Numbers are not used again: the trace is about all threads there ever were.
    next: u32,
    /// Slots of threads that are gone.
    free_slots: Vec<u32>,
    /// Threads that nobody announced, ever.
    unannounced: u32,
    /// Those that the next election has to look up in its schedule.
    pub(crate) newcomers: Vec<u32>,
    /// Real time at which the token was last found free, while it is.
    pub(crate) idle_since: u64,
    /// Where the watchdog first asked for the token of a thread that a replay waits for, and when.
    pub(crate) stuck_since: (u64, u64),
}

// SAFETY: rows are owned by the table; the module `thread` says who may touch what in them. The front end's part is
// shared with its thread, and freed by whoever ends it.
unsafe impl<R: Send + Sync> Send for Threads<R> {}

impl<R> Default for Threads<R> {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            next: 0,
            free_slots: Vec::new(),
            unannounced: 0,
            newcomers: Vec::new(),
            idle_since: 0,
            stuck_since: (u64::MAX, 0),
        }
    }
}

impl<R> Threads<R> {
    fn place(&self, id: u32) -> Result<usize, usize> {
        self.rows.binary_search_by_key(&id, |&(id, _)| id)
    }

    pub fn contains(&self, id: u32) -> bool {
        self.place(id).is_ok()
    }

    /// The row of a thread, if it has not ended.
    pub fn get(&self, id: u32) -> Option<&Thread<R>> {
        // SAFETY: rows in the table are live boxes.
        self.pointer(id).map(|row| unsafe { row.as_ref() })
    }

    pub(crate) fn pointer(&self, id: u32) -> Option<NonNull<Thread<R>>> {
        Some(self.rows[self.place(id).ok()?].1)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Thread<R>> {
        // SAFETY: rows in the table are live boxes.
        self.rows.iter().map(|(_, row)| unsafe { row.as_ref() })
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether there has never been a thread.
    pub(crate) const fn is_new(&self) -> bool {
        self.next == 0
    }

    /// A new row for a child of this name.
    pub(crate) fn add(&mut self, header: &Header, (parent, nth): (u32, u32), row: R) -> NonNull<Thread<R>> {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            let slot = header.slots.fetch_add(1, Ordering::Relaxed);
            assert!((slot as usize) < SLOTS, "more than {SLOTS} threads at once");
            slot
        });
        let id = self.next;
        self.next += 1;
        let row = NonNull::from(Box::leak(Box::new(Thread::new(id, slot, parent, nth, row))));
        self.rows.push((id, row));
        row
    }

    /// A new row for a thread that nobody announced.
    pub(crate) fn add_unannounced(&mut self, header: &Header, row: R) -> NonNull<Thread<R>> {
        let nth = ThreadName::FOREIGN | self.unannounced;
        self.unannounced += 1;
        self.newcomers.push(self.next);
        self.add(header, (0, nth), row)
    }

    /// Takes a row out of the table. From here on only the caller has it: it is freed with what is returned.
    pub(crate) fn strike_off(&mut self, id: u32) -> Box<Thread<R>> {
        let Ok(place) = self.place(id) else { panic!("thread {id} is struck off twice") };
        let (_, row) = self.rows.remove(place);
        // SAFETY: leaked by `add`, and no longer in the table.
        let row = unsafe { Box::from_raw(row.as_ptr()) };
        self.free_slots.push(row.slot);
        row
    }
}

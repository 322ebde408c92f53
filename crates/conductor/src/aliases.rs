//! Memory that has two addresses: a file that the program maps twice. The trace knows only the first one. The target
//! keeps a table in the shared region, and whoever takes the chunks puts accesses through the second address where they
//! belong: so nothing is asked at the accesses themselves. A chunk ends where the table changes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::recorder::Recorder;
use crate::thread::Thread;
use crate::world::World;

/// Second addresses of one process, ever; further ones are taken for memory of their own.
pub const ALIASES: usize = 32;

/// `size` bytes at `from` are those at `to`, in chunks from `since` up to, but not including, `until`.
#[repr(C)]
pub struct Alias {
    from: AtomicU64,
    size: AtomicU64,
    to: AtomicU64,
    since: AtomicU64,
    until: AtomicU64,
}

/// In the header of the region.
#[repr(C)]
pub struct Aliases {
    // invariant: so many rows are valid
    count: AtomicU32,
    rows: [Alias; ALIASES],
}

impl Aliases {
    /// Whether there are any: nothing needs to be looked at otherwise.
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    fn rows(&self) -> &[Alias] {
        &self.rows[..(self.count.load(Ordering::Acquire) as usize).min(ALIASES)]
    }

    /// The address that the trace knows.
    pub fn first_address(&self, addr: u64, sequence: u32) -> u64 {
        let of = |word: &AtomicU64| word.load(Ordering::Acquire);
        let is_here = |row: &&Alias| {
            addr.wrapping_sub(of(&row.from)) < of(&row.size)
                && (of(&row.since)..of(&row.until)).contains(&u64::from(sequence))
        };
        self.rows().iter().find(is_here).map_or(addr, |row| addr - of(&row.from) + of(&row.to))
    }
}

impl<W: World> Recorder<W> {
    /// From here on `size` bytes at `from` are those at `to`.
    pub fn alias(&mut self, thread: &Thread<W::Row>, from: u64, size: u64, to: u64) {
        let aliases = &self.region().header().aliases;
        let count = aliases.count.load(Ordering::Relaxed);
        let Some(row) = aliases.rows.get(count as usize) else { return };
        self.fill_pending_write(thread);
        self.publish(thread);
        for (word, value) in [
            (&row.from, from),
            (&row.size, size),
            (&row.to, to),
            (&row.since, self.sequence.into()),
            (&row.until, u64::MAX),
        ] {
            word.store(value, Ordering::Relaxed);
        }
        aliases.count.store(count + 1, Ordering::Release);
    }

    /// These bytes are gone, by whichever address.
    pub fn forget_aliases(&mut self, thread: &Thread<W::Row>, addr: u64, size: u64) {
        let overlaps = |at: &AtomicU64, row: &Alias| {
            let at = at.load(Ordering::Relaxed);
            at < addr.saturating_add(size) && addr < at.saturating_add(row.size.load(Ordering::Relaxed))
        };
        let ends = |row: &&Alias| {
            row.until.load(Ordering::Relaxed) == u64::MAX && (overlaps(&row.from, row) || overlaps(&row.to, row))
        };
        let region = self.region();
        if !region.header().aliases.rows().iter().any(|row| ends(&row)) {
            return;
        }
        self.fill_pending_write(thread);
        self.publish(thread);
        for row in region.header().aliases.rows().iter().filter(ends) {
            row.until.store(self.sequence.into(), Ordering::Release);
        }
    }
}

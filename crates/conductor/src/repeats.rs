//! Accesses that say nothing new to who only watches: the same thread does the same at the same place of the code to the
//! same memory again, and has done nothing since but access memory.
//!
//! After FastTrack's same-epoch rule (Flanagan, Freund 2009): nobody can have learned of the first access and not of its
//! repetition, so that whatever is unordered with one is unordered with both, under the same locks. Unlike there the code
//! position counts, so that an analysis that keeps pairs of code positions loses none: happens-before and locksets do
//! nothing at all at such a repetition.
//!
//! A *moment* is a stretch of a thread without any event but accesses. Moments of all threads are numbered together. The
//! table says of accesses in which moment they were last recorded; one that was pushed out of it is recorded again. Every
//! thread has places of its own for the same accesses: threads that go over the same data in turn would push out each
//! other's at every slice. Memory that gets another life is new to the analyses: then everybody's moment is over.

use std::cell::Cell;

/// Entries of the table: 16 MB, of which only what is used has pages.
const ENTRIES: usize = 1 << 20;
/// Bits of a moment that an entry has room for.
const MOMENT_BITS: u32 = 29;
/// Addresses of data and of code have fewer bits than this.
const ADDRESS_BITS: u32 = 48;
/// Spreads code positions; neighbouring data of one position stays in neighbouring entries.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// An access and its moment, exactly: the address and 16 bits of the moment; the code position, three bits for size and
/// kind, and 13 more of the moment.
type Entry = [u64; 2];

pub struct Repeats {
    // invariant: `ENTRIES` long, or empty if nobody asks
    table: Box<[Entry]>,
    /// The last one that anybody got.
    moments: u64,
    /// Moments up to this one are over.
    over: u64,
    /// Threads that have had a moment.
    threads: u64,
}

impl Repeats {
    pub(crate) fn new(wanted: bool) -> Self {
        Self {
            table: vec![[0; 2]; if wanted { ENTRIES } else { 0 }].into_boxed_slice(),
            moments: 0,
            over: 0,
            threads: 0,
        }
    }

    #[inline(always)]
    fn entry<const WRITE: bool>(moment: u64, addr: u64, size: u32, pc: u64) -> Entry {
        let what = u64::from(size.trailing_zeros()) << 1 | WRITE as u64;
        [addr | moment << ADDRESS_BITS, pc | what << ADDRESS_BITS | moment >> 16 << (ADDRESS_BITS + 3)]
    }

    #[inline(always)]
    fn place(moment: &Moment, addr: u64, size: u32, pc: u64) -> usize {
        let place = (addr >> size.trailing_zeros()).wrapping_add(pc.wrapping_mul(SPREAD) >> 24);
        place.wrapping_add(moment.places.get()) as usize & (ENTRIES - 1)
    }

    /// Whether the thread needs a [new moment](Self::renew) before its next access.
    #[inline(always)]
    pub fn is_over(&self, moment: &Moment) -> bool {
        moment.number.get() <= self.over
    }

    /// Begins a new moment if the thread's is over.
    pub fn renew(&mut self, moment: &Moment) {
        if self.is_over(moment) {
            self.next(moment);
        }
    }

    /// Whether an access of 1, 2, 4 or 8 bytes repeats one that was [noted](Self::note). Not in a moment that is over.
    #[inline(always)]
    pub fn has<const WRITE: bool>(&self, moment: &Moment, addr: u64, size: u32, pc: u64) -> bool {
        let entry = Self::entry::<WRITE>(moment.number.get(), addr, size, pc);
        self.table.get(Self::place(moment, addr, size, pc)) == Some(&entry)
    }

    /// An access of 1, 2, 4 or 8 bytes is recorded. Not in a moment that is over.
    #[inline(always)]
    pub fn note<const WRITE: bool>(&mut self, moment: &Moment, addr: u64, size: u32, pc: u64) {
        let entry = Self::entry::<WRITE>(moment.number.get(), addr, size, pc);
        if let Some(place) = self.table.get_mut(Self::place(moment, addr, size, pc)) {
            *place = entry;
        }
    }

    /// The thread did something else than an access, or is to begin with one.
    #[inline]
    pub(crate) fn next(&mut self, moment: &Moment) {
        if self.table.is_empty() {
            return;
        }
        if moment.number.get() == 0 {
            self.threads += 1;
            moment.places.set(self.threads.wrapping_mul(SPREAD) >> (u64::BITS - ENTRIES.trailing_zeros()));
        }
        self.moments += 1;
        if self.moments.is_multiple_of(1 << MOMENT_BITS) {
            // The numbers in the table come again from here on.
            self.table.fill([0; 2]);
            self.over = self.moments;
            self.moments += 1;
        }
        moment.number.set(self.moments);
    }

    /// Everybody's moment is over.
    pub(crate) fn forget(&mut self) {
        self.over = self.moments;
    }
}

/// The moment that a thread is in. Only the holder of the token touches it.
#[derive(Default)]
pub struct Moment {
    /// 0 before the first one.
    number: Cell<u64>,
    /// Where the thread's places in the table begin.
    places: Cell<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a hook asks.
    fn has<const WRITE: bool>(repeats: &mut Repeats, moment: &Moment, addr: u64, size: u32, pc: u64) -> bool {
        !repeats.is_over(moment) && repeats.has::<WRITE>(moment, addr, size, pc)
    }

    fn note<const WRITE: bool>(repeats: &mut Repeats, moment: &Moment, addr: u64, size: u32, pc: u64) {
        repeats.renew(moment);
        repeats.note::<WRITE>(moment, addr, size, pc);
    }

    /// A table, and a thread that has just begun.
    fn begun() -> (Repeats, Moment) {
        (Repeats::new(true), Moment::default())
    }

    #[test]
    fn a_repetition_is_the_same_in_everything() {
        let (mut repeats, moment) = begun();
        assert!(!has::<true>(&mut repeats, &moment, 64, 4, 9));
        note::<true>(&mut repeats, &moment, 64, 4, 9);
        assert!(has::<true>(&mut repeats, &moment, 64, 4, 9));
        assert!(!has::<false>(&mut repeats, &moment, 64, 4, 9));
        assert!(!has::<true>(&mut repeats, &moment, 64, 8, 9));
        assert!(!has::<true>(&mut repeats, &moment, 65, 4, 9));
        assert!(!has::<true>(&mut repeats, &moment, 64, 4, 10));
        let other = Moment::default();
        assert!(!has::<true>(&mut repeats, &other, 64, 4, 9));
        note::<false>(&mut repeats, &other, 128, 4, 9);
        assert!(!has::<true>(&mut repeats, &other, 64, 4, 9), "of another thread");
        assert!(has::<true>(&mut repeats, &moment, 64, 4, 9), "what others do ends no moment");
    }

    #[test]
    fn a_moment_ends_for_one_or_for_all() {
        let (mut repeats, moment) = begun();
        let other = Moment::default();
        note::<true>(&mut repeats, &moment, 64, 4, 9);
        note::<true>(&mut repeats, &other, 64, 1, 9);
        repeats.next(&moment);
        assert!(!has::<true>(&mut repeats, &moment, 64, 4, 9));
        assert!(has::<true>(&mut repeats, &other, 64, 1, 9));
        note::<true>(&mut repeats, &moment, 64, 4, 9);
        repeats.forget();
        assert!(!has::<true>(&mut repeats, &moment, 64, 4, 9) && !has::<true>(&mut repeats, &other, 64, 1, 9));
        note::<true>(&mut repeats, &moment, 64, 4, 9);
        assert!(has::<true>(&mut repeats, &moment, 64, 4, 9));
        assert!(!has::<true>(&mut repeats, &other, 64, 1, 9));
    }

    #[test]
    fn numbers_of_moments_that_come_again_are_not_taken_for_old_ones() {
        let (mut repeats, moment) = begun();
        note::<true>(&mut repeats, &moment, 64, 4, 9);
        let idle = Moment::default();
        repeats.next(&idle);
        note::<true>(&mut repeats, &idle, 256, 4, 9);
        repeats.moments = (1 << MOMENT_BITS) - 1;
        repeats.next(&moment);
        assert_eq!(moment.number.get() & ((1 << MOMENT_BITS) - 1), 1);
        assert!(!has::<true>(&mut repeats, &moment, 64, 4, 9));
        assert!(!has::<true>(&mut repeats, &idle, 256, 4, 9));
    }

    /// A million entries, of which each thread needs a hundredth: nothing has to be recorded twice.
    #[test]
    fn threads_that_go_over_the_same_data_in_turn_leave_each_other_alone() {
        let (mut repeats, first) = begun();
        let second = Moment::default();
        let mut hits = 0;
        for _ in 0..4 {
            for moment in [&first, &second] {
                for addr in (0x10_0000..0x10_0000 + 8 * 10_000).step_by(8) {
                    if has::<false>(&mut repeats, moment, addr, 8, 9) {
                        hits += 1;
                    } else {
                        note::<false>(&mut repeats, moment, addr, 8, 9);
                    }
                }
            }
        }
        assert_eq!(hits, 3 * 2 * 10_000);
    }

    #[test]
    fn nobody_asked_so_nothing_is_kept() {
        let (mut repeats, moment) = (Repeats::new(false), Moment::default());
        note::<true>(&mut repeats, &moment, 64, 4, 9);
        assert!(!has::<true>(&mut repeats, &moment, 64, 4, 9));
    }

    /// Random accesses and ends of moments against a map that says everything outright.
    #[test]
    fn never_more_than_was_noted() {
        let (mut repeats, moments) = (Repeats::new(true), [Moment::default(), Moment::default(), Moment::default()]);
        let mut noted: std::collections::HashSet<(usize, u64, u32, u64)> = std::collections::HashSet::new();
        let mut random = 0x2545_f491_4f6c_dd1du64;
        let mut hits = 0;
        for _ in 0..200_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let (thread, size) = ((random % 3) as usize, 1u32 << (random >> 24 & 3));
            let (addr, pc) = (0x1000 + (random >> 8) % 64 * 8, 0x40_0000 + (random >> 16) % 5);
            match random >> 32 & 255 {
                0 => {
                    repeats.forget();
                    noted.clear();
                }
                1..=3 => {
                    repeats.next(&moments[thread]);
                    noted.retain(|&(other, ..)| other != thread);
                }
                _ if has::<false>(&mut repeats, &moments[thread], addr, size, pc) => {
                    hits += 1;
                    assert!(noted.contains(&(thread, addr, size, pc)));
                }
                _ => {
                    note::<false>(&mut repeats, &moments[thread], addr, size, pc);
                    noted.insert((thread, addr, size, pc));
                }
            }
        }
        assert!(hits > 5_000, "{hits}");
    }
}

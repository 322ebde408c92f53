//! What kept operations read: the program's buffer, or a copy of it once the program may change it.
//!
//! A call that completes an operation locally (`MPI_Win_flush_local`, waiting for its request) says nothing of the target
//! (R1, R6): the operation may take effect there much later, with the bytes that the buffer had then.

use super::{Handle, abi, active, steering};
use crate::event::Piece;

/// Where an operation reads.
pub struct Source {
    /// What the program gave; null: it reads nothing that can be copied.
    address: u64,
    /// The bytes that it reads.
    lo: u64,
    hi: u64,
    copy: Vec<u8>,
}

impl Source {
    pub const NONE: Source = Source { address: 0, lo: 0, hi: 0, copy: Vec::new() };

    pub fn of(address: u64, pieces: &[Piece]) -> Source {
        let starts = pieces.iter().flat_map(|piece| {
            let last = piece.stride * i64::from(piece.count.max(1) - 1);
            [(piece.offset, piece.len), (piece.offset + last, piece.len)]
        });
        let (mut lo, mut hi) = (i64::MAX, i64::MIN);
        for (start, len) in starts {
            (lo, hi) = (lo.min(start), hi.max(start + len as i64));
        }
        if lo > hi {
            return Source { address, ..Source::NONE };
        }
        Source { address, lo: address.wrapping_add_signed(lo), hi: address.wrapping_add_signed(hi), copy: Vec::new() }
    }

    /// What the call is to be given for its origin.
    pub fn pointer(&self) -> *const u8 {
        if self.copy.is_empty() {
            return self.address as *const u8;
        }
        self.copy.as_ptr().wrapping_offset(self.address.wrapping_sub(self.lo) as isize)
    }

    /// Where the byte of the program's buffer is read from, if the operation reads it.
    pub(super) fn now(&self, place: u64) -> Option<u64> {
        let offset = place.checked_sub(self.lo).filter(|_| place < self.hi)?;
        Some(if self.copy.is_empty() { place } else { self.copy.as_ptr() as u64 + offset })
    }

    /// The program may change its buffer from now on. Returns whether the operation can wait nevertheless.
    pub(super) fn copy(&mut self) -> bool {
        if self.hi <= self.lo {
            return false;
        }
        if self.copy.is_empty() {
            // SAFETY: the program's buffer, which is the operation's until the call that we are in comes back.
            self.copy =
                unsafe { std::slice::from_raw_parts(self.lo as *const u8, (self.hi - self.lo) as usize) }.to_vec();
        }
        true
    }
}

/// A call that completes operations locally: those that are kept have read their origin. What cannot be copied is to be
/// issued now: the target of such an operation, if there is one.
pub fn completing_locally(window: Handle, target: Option<i32>) {
    if !active() {
        return;
    }
    let on = abi().handle(window);
    let all = steering().is_some_and(|mut steering| {
        let late = steering
            .late
            .iter_mut()
            .filter(|late| abi().handle(late.window) == on && target.is_none_or(|target| target == late.target));
        // Each is copied, whatever becomes of the others.
        let operations = late.map(|late| late.source.copy()).filter(|copied| !copied).count() == 0;
        steering.copy_requests(on, target) && operations
    });
    if !all {
        super::completing(window, target);
    }
}

/// A type that is freed goes on to be what kept operations were given: it is left.
pub fn keeps_types() -> bool {
    active() && steering().is_some_and(|steering| !steering.late.is_empty() || steering.has_requests())
}

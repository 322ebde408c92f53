//! Copies of strings.

use super::bytes::memmove;
use super::searches::{see_text, strlen, strnlen};
use super::{Seen, conductor, copied, look, put, ranges, see};
use crate::runtime::{Inside, memory};
use reweave_conductor::Thread;

/// Copies a string with its terminator; returns its length.
///
/// # Safety
/// As for libc's strcpy.
pub unsafe fn copy_text(thread: &mut Thread, to: *mut u8, from: *const u8, pc: u64) -> usize {
    // SAFETY: by the contract.
    unsafe {
        let (seen, length) = see_text(thread, from, pc);
        put(thread, to, length + 1, pc, || {
            memmove::real()(to, seen.at, length + 1);
        });
        length
    }
}

/// Reads at most `limit` bytes of a string; returns its length within that.
unsafe fn see_some(thread: &mut Thread, from: *const u8, limit: usize, pc: u64) -> (Seen, usize) {
    conductor().point(thread);
    // SAFETY: the program's own argument.
    let length = unsafe { strnlen::real()(from, limit) };
    (see(thread, from, limit.min(length + 1), pc), length)
}

/// Fills exactly `size` bytes with a string and zeros; returns the string's length.
///
/// # Safety
/// As for libc's strncpy.
pub unsafe fn copy_padded(thread: &mut Thread, to: *mut u8, from: *const u8, size: usize, pc: u64) -> usize {
    // SAFETY: by the contract; what was seen ends with a zero unless it has `size` bytes.
    unsafe {
        let (seen, length) = see_some(thread, from, size, pc);
        put(thread, to, size, pc, || {
            strncpy::real()(to, seen.at, size);
        });
        length
    }
}

/// Finds the end of the string to append to.
unsafe fn end(thread: &mut Thread, to: *mut u8, pc: u64) -> *mut u8 {
    let length = look(thread, pc, || {
        // SAFETY: the program's own argument.
        let length = unsafe { strlen::real()(to) };
        (length, to, length + 1)
    });
    to.wrapping_add(length)
}

/// # Safety
/// As for libc's strcat.
pub unsafe fn append(thread: &mut Thread, to: *mut u8, from: *const u8, pc: u64) {
    // SAFETY: by the contract.
    unsafe {
        let to = end(thread, to, pc);
        copy_text(thread, to, from, pc);
    }
}

/// # Safety
/// As for libc's strncat.
pub unsafe fn append_some(thread: &mut Thread, to: *mut u8, from: *const u8, limit: usize, pc: u64) {
    // SAFETY: by the contract.
    unsafe {
        let to = end(thread, to, pc);
        let (seen, length) = see_some(thread, from, limit, pc);
        put(thread, to, length + 1, pc, || {
            memmove::real()(to, seen.at, length);
            to.add(length).write(0);
        });
    }
}

/// A new block with a copy of the first `length` bytes at `from`, terminated. `read` bytes are read.
unsafe fn duplicate(inside: &mut Inside, from: *const u8, length: usize, read: usize, pc: u64) -> *mut u8 {
    ranges::reads(inside.thread, from, read, pc);
    // Others may run while memory is allocated.
    let seen = copied(from, length);
    // SAFETY: a plain allocation, recorded as the program's own.
    let block: *mut u8 = inside.outside(|| unsafe { memory::malloc::body(length + 1, pc) }).cast();
    if !block.is_null() {
        // SAFETY: the block has `length + 1` bytes.
        put(inside.thread, block, length + 1, pc, || unsafe {
            memmove::real()(block, seen.at, length);
            block.add(length).write(0);
        });
    }
    block
}

strings! {
    fn strcpy(to: *mut u8, from: *const u8; inside, pc) -> *mut u8 {
        copy_text(inside.thread, to, from, pc);
        to
    }

    fn stpcpy(to: *mut u8, from: *const u8; inside, pc) -> *mut u8 {
        to.wrapping_add(copy_text(inside.thread, to, from, pc))
    }

    fn strncpy(to: *mut u8, from: *const u8, size: usize; inside, pc) -> *mut u8 {
        copy_padded(inside.thread, to, from, size, pc);
        to
    }

    fn stpncpy(to: *mut u8, from: *const u8, size: usize; inside, pc) -> *mut u8 {
        to.wrapping_add(copy_padded(inside.thread, to, from, size, pc))
    }

    fn strcat(to: *mut u8, from: *const u8; inside, pc) -> *mut u8 {
        append(inside.thread, to, from, pc);
        to
    }

    fn strncat(to: *mut u8, from: *const u8, limit: usize; inside, pc) -> *mut u8 {
        append_some(inside.thread, to, from, limit, pc);
        to
    }

    fn strdup(from: *const u8; inside, pc) -> *mut u8 {
        conductor().point(inside.thread);
        let length = strlen::real()(from);
        duplicate(inside, from, length, length + 1, pc)
    }

    fn __strdup(from: *const u8; inside, pc) -> *mut u8 {
        conductor().point(inside.thread);
        let length = strlen::real()(from);
        duplicate(inside, from, length, length + 1, pc)
    }

    fn strndup(from: *const u8, limit: usize; inside, pc) -> *mut u8 {
        conductor().point(inside.thread);
        let length = strnlen::real()(from, limit);
        duplicate(inside, from, length, limit.min(length + 1), pc)
    }
}

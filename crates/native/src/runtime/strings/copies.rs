//! Copies of strings.

use super::Token;
use super::bytes::memmove;
use super::searches::{see_text, strlen, strnlen};
use super::{BytesRead, copied, look, put, ranges, see};
use crate::runtime::{Inside, memory};

/// Copies a string with its terminator; returns its length.
///
/// # Safety
/// As for libc's strcpy.
pub unsafe fn copy_text(token: &mut Token<'_>, to: *mut u8, from: *const u8, pc: u64) -> usize {
    // SAFETY: by the contract.
    unsafe {
        let (seen, length) = see_text(token, from, pc);
        put(token, to, length + 1, pc, || {
            memmove::real()(to, seen.at, length + 1);
        });
        length
    }
}

/// Reads at most `limit` bytes of a string; returns its length within that.
unsafe fn see_some(token: &mut Token<'_>, from: *const u8, limit: usize, pc: u64) -> (BytesRead, usize) {
    token.point();
    // SAFETY: the program's own argument.
    let length = unsafe { strnlen::real()(from, limit) };
    (see(token, from, limit.min(length + 1), pc), length)
}

/// Fills exactly `size` bytes with a string and zeros; returns the string's length.
///
/// # Safety
/// As for libc's strncpy.
pub unsafe fn copy_padded(token: &mut Token<'_>, to: *mut u8, from: *const u8, size: usize, pc: u64) -> usize {
    // SAFETY: by the contract; what was seen ends with a zero unless it has `size` bytes.
    unsafe {
        let (seen, length) = see_some(token, from, size, pc);
        put(token, to, size, pc, || {
            strncpy::real()(to, seen.at, size);
        });
        length
    }
}

/// Finds the end of the string to append to.
unsafe fn end(token: &mut Token<'_>, to: *mut u8, pc: u64) -> *mut u8 {
    let length = look(token, pc, || {
        // SAFETY: the program's own argument.
        let length = unsafe { strlen::real()(to) };
        (length, to, length + 1)
    });
    to.wrapping_add(length)
}

/// # Safety
/// As for libc's strcat.
pub unsafe fn append(token: &mut Token<'_>, to: *mut u8, from: *const u8, pc: u64) {
    // SAFETY: by the contract.
    unsafe {
        let to = end(token, to, pc);
        copy_text(token, to, from, pc);
    }
}

/// # Safety
/// As for libc's strncat.
pub unsafe fn append_some(token: &mut Token<'_>, to: *mut u8, from: *const u8, limit: usize, pc: u64) {
    // SAFETY: by the contract.
    unsafe {
        let to = end(token, to, pc);
        let (seen, length) = see_some(token, from, limit, pc);
        put(token, to, length + 1, pc, || {
            memmove::real()(to, seen.at, length);
            to.add(length).write(0);
        });
    }
}

/// A new block with a copy of the first `length` bytes at `from`, terminated. `read` bytes are read.
unsafe fn duplicate(inside: &mut Inside, from: *const u8, length: usize, read: usize, pc: u64) -> *mut u8 {
    ranges::reads(inside, from, read, pc);
    // Others may run while memory is allocated.
    let seen = copied(from, length);
    // SAFETY: a plain allocation, recorded as the program's own.
    let block: *mut u8 = inside.call_back(|| unsafe { memory::malloc::body(length + 1, pc) }).cast();
    if !block.is_null() {
        // SAFETY: the block has `length + 1` bytes.
        put(inside, block, length + 1, pc, || unsafe {
            memmove::real()(block, seen.at, length);
            block.add(length).write(0);
        });
    }
    block
}

strings! {
    fn strcpy(to: *mut u8, from: *const u8; inside, pc) -> *mut u8 {
        copy_text(inside, to, from, pc);
        to
    }

    fn stpcpy(to: *mut u8, from: *const u8; inside, pc) -> *mut u8 {
        to.wrapping_add(copy_text(inside, to, from, pc))
    }

    fn strncpy(to: *mut u8, from: *const u8, size: usize; inside, pc) -> *mut u8 {
        copy_padded(inside, to, from, size, pc);
        to
    }

    fn stpncpy(to: *mut u8, from: *const u8, size: usize; inside, pc) -> *mut u8 {
        to.wrapping_add(copy_padded(inside, to, from, size, pc))
    }

    fn strcat(to: *mut u8, from: *const u8; inside, pc) -> *mut u8 {
        append(inside, to, from, pc);
        to
    }

    fn strncat(to: *mut u8, from: *const u8, limit: usize; inside, pc) -> *mut u8 {
        append_some(inside, to, from, limit, pc);
        to
    }

    fn strdup(from: *const u8; inside, pc) -> *mut u8 {
        inside.point();
        let length = strlen::real()(from);
        duplicate(inside, from, length, length + 1, pc)
    }

    fn __strdup(from: *const u8; inside, pc) -> *mut u8 {
        inside.point();
        let length = strlen::real()(from);
        duplicate(inside, from, length, length + 1, pc)
    }

    fn strndup(from: *const u8, limit: usize; inside, pc) -> *mut u8 {
        inside.point();
        let length = strnlen::real()(from, limit);
        duplicate(inside, from, length, limit.min(length + 1), pc)
    }
}

//! mem* functions.

use super::Token;
use super::{look, plain, put, see};
use libc::c_int;

/// Copies `size` bytes: one read, one write.
///
/// # Safety
/// As for libc's memmove.
pub unsafe fn copy(token: &mut Token<'_>, to: *mut u8, from: *const u8, size: usize, pc: u64) {
    let seen = see(token, from, size, pc);
    // SAFETY: by the contract.
    put(token, to, size, pc, || unsafe {
        memmove::real()(to, seen.at, size);
    });
}

/// # Safety
/// As for libc's memset.
pub unsafe fn fill(token: &mut Token<'_>, to: *mut u8, byte: c_int, size: usize, pc: u64) {
    // SAFETY: by the contract.
    put(token, to, size, pc, || unsafe {
        memset::real()(to, byte, size);
    });
}

/// The bytes a search took: up to and including what it found.
fn up_to(start: *const u8, found: *const u8, all: usize) -> usize {
    if found.is_null() { all } else { found as usize - start as usize + 1 }
}

strings! {
    fn memcpy(to: *mut u8, from: *const u8, size: usize; inside, pc) -> *mut u8 [early plain::memcpy] {
        copy(inside, to, from, size, pc);
        to
    }

    fn memmove(to: *mut u8, from: *const u8, size: usize; inside, pc) -> *mut u8 [early plain::memmove] {
        copy(inside, to, from, size, pc);
        to
    }

    fn mempcpy(to: *mut u8, from: *const u8, size: usize; inside, pc) -> *mut u8 {
        copy(inside, to, from, size, pc);
        to.wrapping_add(size)
    }

    fn bcopy(from: *const u8, to: *mut u8, size: usize; inside, pc) -> () {
        copy(inside, to, from, size, pc);
    }

    fn memccpy(to: *mut u8, from: *const u8, last: c_int, limit: usize; inside, pc) -> *mut u8 {
        inside.point();
        let found = memchr::real()(from, last, limit);
        let size = up_to(from, found, limit);
        copy(inside, to, from, size, pc);
        if found.is_null() { found } else { to.wrapping_add(size) }
    }

    fn memset(to: *mut u8, byte: c_int, size: usize; inside, pc) -> *mut u8 [early plain::memset] {
        fill(inside, to, byte, size, pc);
        to
    }

    fn bzero(to: *mut u8, size: usize; inside, pc) -> () {
        fill(inside, to, 0, size, pc);
    }

    fn explicit_bzero(to: *mut u8, size: usize; inside, pc) -> () {
        fill(inside, to, 0, size, pc);
    }

    fn memchr(at: *const u8, wanted: c_int, size: usize; inside, pc) -> *mut u8 {
        look(inside, pc, || {
            let found = real()(at, wanted, size);
            (found, at, up_to(at, found, size))
        })
    }

    fn rawmemchr(at: *const u8, wanted: c_int; inside, pc) -> *mut u8 {
        look(inside, pc, || {
            let found = real()(at, wanted);
            (found, at, up_to(at, found, 0))
        })
    }

    /// Searches from the end.
    fn memrchr(at: *const u8, wanted: c_int, size: usize; inside, pc) -> *mut u8 {
        look(inside, pc, || {
            let found = real()(at, wanted, size);
            let first = if found.is_null() { at } else { found };
            (found, first, size - (first as usize - at as usize))
        })
    }

    fn memmem(at: *const u8, size: usize, wanted: *const u8, length: usize; inside, pc) -> *mut u8 {
        let wanted = see(inside, wanted, length, pc);
        look(inside, pc, || {
            let found = real()(at, size, wanted.at, length);
            (found, at, if found.is_null() { size } else { found as usize - at as usize + length })
        })
    }

    fn swab(from: *const u8, to: *mut u8, size: isize; inside, pc) -> () {
        let bytes = size.max(0) as usize & !1;
        let seen = see(inside, from, bytes, pc);
        put(inside, to, bytes, pc, || real()(seen.at, to, size));
    }
}

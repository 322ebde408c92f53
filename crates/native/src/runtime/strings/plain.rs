//! Versions that need nothing: no relocation, no look-up, no calls. ifunc resolvers run while libraries are still being
//! relocated, and they may compare CPU names or fill tables.
//!
//! Every byte is moved by an instruction that the compiler cannot take for a loop it knows: it would call `memcpy` or
//! `strlen`, which is where we come from.

use libc::c_int;

/// # Safety
/// As for libc's memcpy.
pub unsafe extern "C-unwind" fn memcpy(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    // SAFETY: by the contract.
    unsafe {
        std::arch::asm!(
            "rep movsb",
            inout("rcx") size => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags)
        );
    }
    to
}

/// # Safety
/// As for libc's memmove.
pub unsafe extern "C-unwind" fn memmove(to: *mut u8, from: *const u8, size: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= size {
        // SAFETY: going up, no byte is overwritten before it is read.
        return unsafe { memcpy(to, from, size) };
    }
    // SAFETY: by the contract; going down for the same reason.
    unsafe {
        std::arch::asm!(
            "std", "rep movsb", "cld",
            inout("rcx") size => _,
            inout("rdi") to.wrapping_add(size).wrapping_sub(1) => _,
            inout("rsi") from.wrapping_add(size).wrapping_sub(1) => _,
            options(nostack)
        );
    }
    to
}

/// # Safety
/// As for libc's memset.
pub unsafe extern "C-unwind" fn memset(to: *mut u8, byte: c_int, size: usize) -> *mut u8 {
    // SAFETY: by the contract.
    unsafe {
        std::arch::asm!(
            "rep stosb",
            inout("rcx") size => _, inout("rdi") to => _, in("al") byte as u8,
            options(nostack, preserves_flags)
        );
    }
    to
}

fn byte(at: *const u8, index: usize) -> c_int {
    // SAFETY: callers stay inside their memory; volatile, so that no loop is recognised.
    unsafe { at.add(index).read_volatile().into() }
}

/// # Safety
/// As for libc's memcmp.
pub unsafe extern "C-unwind" fn memcmp(a: *const u8, b: *const u8, size: usize) -> c_int {
    (0..size).map(|i| byte(a, i) - byte(b, i)).find(|&difference| difference != 0).unwrap_or(0)
}

/// # Safety
/// As for libc's strlen.
pub unsafe extern "C-unwind" fn strlen(text: *const u8) -> usize {
    let mut length = 0;
    while byte(text, length) != 0 {
        length += 1;
    }
    length
}

/// # Safety
/// As for libc's strcmp.
pub unsafe extern "C-unwind" fn strcmp(a: *const u8, b: *const u8) -> c_int {
    // SAFETY: by the contract.
    unsafe { strncmp(a, b, usize::MAX) }
}

/// # Safety
/// As for libc's strncmp.
pub unsafe extern "C-unwind" fn strncmp(a: *const u8, b: *const u8, limit: usize) -> c_int {
    for i in 0..limit {
        let (x, y) = (byte(a, i), byte(b, i));
        if x != y || x == 0 {
            return x - y;
        }
    }
    0
}

/// # Safety
/// As for libc's strchr.
pub unsafe extern "C-unwind" fn strchr(text: *const u8, wanted: c_int) -> *mut u8 {
    let mut at = 0;
    loop {
        let found = byte(text, at);
        if found == wanted & 0xff {
            return text.wrapping_add(at).cast_mut();
        }
        if found == 0 {
            return std::ptr::null_mut();
        }
        at += 1;
    }
}

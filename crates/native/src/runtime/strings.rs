//! mem* and str* functions.

use super::enter;
use libc::{c_int, c_void, size_t};

type Copy = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, size_t) -> *mut c_void;

/// Copies without calling anything: the runtime's own copies end up here too.
unsafe fn plain_copy(to: *mut c_void, from: *const c_void, size: size_t) -> *mut c_void {
    // SAFETY: the caller's contract.
    unsafe {
        std::arch::asm!("rep movsb", inout("rcx") size => _, inout("rdi") to => _, inout("rsi") from => _, options(nostack, preserves_flags));
    }
    to
}

interpose! {
    fn memcpy(to: *mut c_void, from: *const c_void, size: size_t; pc) -> *mut c_void {
        match enter() {
            Some(inside) => {
                super::super::ranges::reads(inside.thread, from.cast(), size, pc);
                super::super::ranges::writes(inside.thread, to.cast(), size, pc);
                real!(memcpy: Copy)(to, from, size)
            }
            None => plain_copy(to, from, size),
        }
    }

    fn memmove(to: *mut c_void, from: *const c_void, size: size_t; pc) -> *mut c_void {
        match enter() {
            Some(inside) => {
                super::super::ranges::reads(inside.thread, from.cast(), size, pc);
                super::super::ranges::writes(inside.thread, to.cast(), size, pc);
                real!(memmove: Copy)(to, from, size)
            }
            None => real!(memmove: Copy)(to, from, size),
        }
    }

    fn memset(to: *mut c_void, byte: c_int, size: size_t; pc) -> *mut c_void {
        match enter() {
            Some(inside) => {
                super::super::ranges::writes(inside.thread, to.cast(), size, pc);
            }
            None => {}
        }
        std::arch::asm!("rep stosb", inout("rcx") size => _, inout("rdi") to => _, in("al") byte as u8, options(nostack, preserves_flags));
        to
    }
}

//! The functions behind the interposers.

use std::sync::atomic::{AtomicPtr, Ordering};

/// Looks `name` (zero terminated) up once.
///
/// # Panics
/// Aborts if libc has no such function: the interposer should not exist then.
pub fn find(cell: &AtomicPtr<()>, name: &'static str) -> *mut () {
    let known = cell.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    let name = name.as_ptr().cast();
    // Condition variables have an old version that dlsym prefers.
    // SAFETY: a zero-terminated name.
    let found = unsafe {
        let versioned = libc::dlvsym(libc::RTLD_NEXT, name, c"GLIBC_2.3.2".as_ptr());
        if versioned.is_null() { libc::dlsym(libc::RTLD_NEXT, name) } else { versioned }
    };
    if found.is_null() {
        // SAFETY: dying with a message.
        unsafe {
            libc::write(2, c"reweave: missing libc function: ".as_ptr().cast(), 32);
            libc::write(2, name.cast(), libc::strlen(name));
            libc::abort();
        }
    }
    cell.store(found.cast(), Ordering::Relaxed);
    found.cast()
}

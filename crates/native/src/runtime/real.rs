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
    // The loader may allocate, and holds its lock meanwhile: no hook may hand the token over now.
    // SAFETY: the row of this very thread.
    let thread = unsafe { super::tls::thread().as_mut() };
    let inside = thread.map(|thread| (std::mem::replace(&mut thread.inside, 1), thread));
    // Condition variables have an old version, which a look-up by name alone finds first.
    let versioned = name.starts_with("pthread_cond_") && !name.contains("clock");
    let name = name.as_ptr().cast();
    // SAFETY: a zero-terminated name.
    let found = unsafe {
        if versioned {
            libc::dlvsym(libc::RTLD_NEXT, name, c"GLIBC_2.3.2".as_ptr())
        } else {
            libc::dlsym(libc::RTLD_NEXT, name)
        }
    };
    if let Some((before, thread)) = inside {
        thread.inside = before;
    }
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

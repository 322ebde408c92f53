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
    // SAFETY: touches a word.
    let inside = unsafe { super::own_row() }.map(|thread| (thread.own.inside.replace(1), thread));
    // Condition variables have an old version, which a look-up by name alone finds first.
    let versioned = name.starts_with("pthread_cond_") && !name.contains("clock");
    let name = name.as_ptr().cast();
    // SAFETY: a zero-terminated name.
    let found = unsafe {
        if versioned {
            libc::dlvsym(libc::RTLD_NEXT, name, c"GLIBC_2.3.2".as_ptr())
        } else {
            let next = libc::dlsym(libc::RTLD_NEXT, name);
            if next.is_null() { in_plugins(name) } else { next }
        }
    };
    if let Some((before, thread)) = inside {
        thread.own.inside.set(before);
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

/// Looks `name` up in libc itself, whatever other library defines it, too. Null: it has none.
pub fn find_in_libc(cell: &AtomicPtr<()>, name: &'static std::ffi::CStr) -> *mut () {
    type Open = unsafe extern "C" fn(*const libc::c_char, libc::c_int) -> *mut libc::c_void;
    if cell.load(Ordering::Relaxed).is_null() {
        // SAFETY: zero-terminated names; libc is loaded, and stays.
        let found = unsafe {
            let library = real!(dlopen: Open)(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() { library } else { libc::dlsym(library, name.as_ptr()) }
        };
        cell.store(found.cast(), Ordering::Relaxed);
    }
    cell.load(Ordering::Relaxed)
}

/// Looks into libraries that came with a plugin (RTLD_LOCAL), where the next definition is not looked for.
fn in_plugins(name: *const libc::c_char) -> *mut libc::c_void {
    type Open = unsafe extern "C" fn(*const libc::c_char, libc::c_int) -> *mut libc::c_void;
    for library in [c"libstdc++.so.6", c"libglib-2.0.so.0"] {
        // SAFETY: zero-terminated names. The handle is kept: what was found must stay.
        let found = unsafe {
            let library = real!(dlopen: Open)(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if library.is_null() { library } else { libc::dlsym(library, name) }
        };
        if !found.is_null() {
            return found;
        }
    }
    std::ptr::null_mut()
}

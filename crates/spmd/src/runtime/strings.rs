//! Functions on strings as the program calls them: libc has no hooks.
//!
//! They are replaced for the whole process, also for code that runs before the loader is done: until libc's own are
//! known, each does its work byte by byte. Reads are exact: `strcmp` reads up to the first difference. What `printf` and
//! the like read of a string is not seen.

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::memory::{is_watched, note};

/// A libc function, once it is known.
struct Libc {
    cell: AtomicPtr<()>,
    name: &'static CStr,
}

impl Libc {
    const fn new(name: &'static CStr) -> Libc {
        Libc { cell: AtomicPtr::new(std::ptr::null_mut()), name }
    }

    fn get(&self) -> Option<*mut ()> {
        let found = self.cell.load(Ordering::Relaxed);
        (!found.is_null()).then_some(found)
    }
}

/// A byte; volatile, so that no loop is taken for a function of libc, which is where we come from.
fn byte(at: *const u8, index: usize) -> u8 {
    // SAFETY: callers stay inside what the program asked for.
    unsafe { at.add(index).read_volatile() }
}

/// The length of a text, at most `limit`.
fn length(text: *const u8, limit: usize) -> usize {
    let mut length = 0;
    while length < limit && byte(text, length) != 0 {
        length += 1;
    }
    length
}

/// How many bytes of each side a comparison reads, and the difference.
fn difference(a: *const u8, b: *const u8, limit: usize, text: bool) -> (usize, i32) {
    let mut index = 0;
    while index < limit {
        let (x, y) = (byte(a, index), byte(b, index));
        index += 1;
        if x != y || (text && x == 0) {
            return (index, i32::from(x) - i32::from(y));
        }
    }
    (limit, 0)
}

fn put(to: *mut u8, index: usize, byte: u8) {
    // SAFETY: the program's own buffer, as large as it says.
    unsafe { to.add(index).write_volatile(byte) };
}

/// Copies the text, at most `limit` bytes of it; returns how long it is.
fn copied(to: *mut u8, from: *const u8, limit: usize) -> usize {
    let length = length(from, limit);
    (0..length).for_each(|index| put(to, index, byte(from, index)));
    length
}

/// `|pc| body`: what is done for calls from code with hooks, and until libc's function is known.
macro_rules! strings {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty { |$pc:ident| $body:expr })*) => {
        $(
            /// # Safety
            /// As libc has it.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $type),*) -> $result {
                let $pc = caller!();
                match known::$name.get().filter(|_| !is_watched($pc)) {
                    // SAFETY: libc's function of that name; somebody else's call.
                    Some(real) => unsafe {
                        std::mem::transmute::<*mut (), unsafe extern "C" fn($($type),*) -> $result>(real)($($arg),*)
                    },
                    None => $body,
                }
            }
        )*

        #[expect(non_upper_case_globals, reason = "each has the name of its function")]
        mod known {
            use super::Libc;
            $(pub static $name: Libc = {
                // SAFETY: ends with a zero, and has no other.
                let name = unsafe { std::ffi::CStr::from_bytes_with_nul_unchecked(concat!(stringify!($name), "\0").as_bytes()) };
                Libc::new(name)
            };)*
        }

        const ALL: &[&Libc] = &[$(&known::$name),*];
    };
}

strings! {
    fn memcmp(a: *const u8, b: *const u8, len: usize) -> i32 { |pc| compare(pc, a, b, len, false) }
    fn bcmp(a: *const u8, b: *const u8, len: usize) -> i32 { |pc| compare(pc, a, b, len, false) }
    fn strcmp(a: *const u8, b: *const u8) -> i32 { |pc| compare(pc, a, b, usize::MAX, true) }
    fn strncmp(a: *const u8, b: *const u8, limit: usize) -> i32 { |pc| compare(pc, a, b, limit, true) }
    fn strlen(text: *const u8) -> usize { |pc| seen(pc, text, usize::MAX) }
    fn strnlen(text: *const u8, limit: usize) -> usize { |pc| seen(pc, text, limit) }
    fn strcpy(to: *mut u8, from: *const u8) -> *mut u8 { |pc| {
        copy(pc, to, from, usize::MAX);
        to
    } }
    fn stpcpy(to: *mut u8, from: *const u8) -> *mut u8 { |pc| to.wrapping_add(copy(pc, to, from, usize::MAX)) }
    fn strncpy(to: *mut u8, from: *const u8, size: usize) -> *mut u8 { |pc| {
        note(pc, from as u64, size.min(length(from, size) + 1), false);
        note(pc, to as u64, size, true);
        let length = copied(to, from, size);
        (length..size).for_each(|index| put(to, index, 0));
        to
    } }
    fn strcat(to: *mut u8, from: *const u8) -> *mut u8 { |pc| {
        let end = to.wrapping_add(seen(pc, to, usize::MAX));
        copy(pc, end, from, usize::MAX);
        to
    } }
    fn strncat(to: *mut u8, from: *const u8, limit: usize) -> *mut u8 { |pc| {
        let end = to.wrapping_add(seen(pc, to, usize::MAX));
        copy(pc, end, from, limit);
        to
    } }
    fn mempcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 { |pc| {
        note(pc, from as u64, len, false);
        note(pc, to as u64, len, true);
        (0..len).for_each(|index| put(to, index, byte(from, index)));
        to.wrapping_add(len)
    } }
}

fn compare(pc: u64, a: *const u8, b: *const u8, limit: usize, text: bool) -> i32 {
    let (read, difference) = difference(a, b, limit, text);
    note(pc, a as u64, read, false);
    note(pc, b as u64, read, false);
    difference
}

/// Reads a text to its end.
fn seen(pc: u64, text: *const u8, limit: usize) -> usize {
    let length = length(text, limit);
    note(pc, text as u64, limit.min(length.saturating_add(1)), false);
    length
}

/// Copies a text with its end; at most `limit` bytes of it. Returns how long it is.
fn copy(pc: u64, to: *mut u8, from: *const u8, limit: usize) -> usize {
    let length = seen(pc, from, limit);
    note(pc, to as u64, length + 1, true);
    copied(to, from, length);
    put(to, length, 0);
    length
}

/// Finds all functions when the library is loaded: later the program may be anywhere.
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = {
    extern "C" fn loaded() {
        for function in ALL {
            // SAFETY: a zero-terminated name.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, function.name.as_ptr()) };
            function.cell.store(found.cast(), Ordering::Relaxed);
        }
    }
    loaded
};

//! Lengths and searches in strings.

use super::Token;
use super::{BytesRead, look, plain, see};
use libc::c_int;

/// Bytes of a string with its terminator.
///
/// # Safety
/// `text` is a string.
unsafe fn whole(text: *const u8) -> usize {
    // SAFETY: by the contract.
    unsafe { strlen::real()(text) + 1 }
}

/// Reads a string that the next step uses.
///
/// # Safety
/// `text` is a string.
pub unsafe fn see_text(token: &mut Token<'_>, text: *const u8, pc: u64) -> (BytesRead, usize) {
    token.point();
    // SAFETY: by the contract.
    let size = unsafe { whole(text) };
    (see(token, text, size, pc), size - 1)
}

/// The bytes of `text` it took to find `found`, of which the match has `length`.
unsafe fn through(text: *const u8, found: *const u8, length: usize) -> usize {
    // SAFETY: `text` is a string.
    if found.is_null() { unsafe { whole(text) } } else { found as usize - text as usize + length }
}

strings! {
    fn strlen(text: *const u8; inside, pc) -> usize [early plain::strlen] {
        look(inside, pc, || {
            let length = real()(text);
            (length, text, length + 1)
        })
    }

    fn strnlen(text: *const u8, limit: usize; inside, pc) -> usize {
        look(inside, pc, || {
            let length = real()(text, limit);
            (length, text, limit.min(length + 1))
        })
    }

    fn strchr(text: *const u8, wanted: c_int; inside, pc) -> *mut u8 [early plain::strchr] {
        look(inside, pc, || {
            let found = real()(text, wanted);
            (found, text, through(text, found, 1))
        })
    }

    fn index(text: *const u8, wanted: c_int; inside, pc) -> *mut u8 {
        look(inside, pc, || {
            let found = real()(text, wanted);
            (found, text, through(text, found, 1))
        })
    }

    fn strchrnul(text: *const u8, wanted: c_int; inside, pc) -> *mut u8 {
        look(inside, pc, || {
            let found = real()(text, wanted);
            (found, text, through(text, found, 1))
        })
    }

    fn strrchr(text: *const u8, wanted: c_int; inside, pc) -> *mut u8 {
        look(inside, pc, || (real()(text, wanted), text, whole(text)))
    }

    fn rindex(text: *const u8, wanted: c_int; inside, pc) -> *mut u8 {
        look(inside, pc, || (real()(text, wanted), text, whole(text)))
    }

    fn strstr(text: *const u8, wanted: *const u8; inside, pc) -> *mut u8 {
        let (wanted, length) = see_text(inside, wanted, pc);
        look(inside, pc, || {
            let found = real()(text, wanted.at);
            (found, text, through(text, found, length))
        })
    }

    fn strcasestr(text: *const u8, wanted: *const u8; inside, pc) -> *mut u8 {
        let (wanted, length) = see_text(inside, wanted, pc);
        look(inside, pc, || {
            let found = real()(text, wanted.at);
            (found, text, through(text, found, length))
        })
    }

    fn strspn(text: *const u8, set: *const u8; inside, pc) -> usize {
        let (set, _) = see_text(inside, set, pc);
        look(inside, pc, || {
            let length = real()(text, set.at);
            (length, text, length + 1)
        })
    }

    fn strcspn(text: *const u8, set: *const u8; inside, pc) -> usize {
        let (set, _) = see_text(inside, set, pc);
        look(inside, pc, || {
            let length = real()(text, set.at);
            (length, text, length + 1)
        })
    }

    fn strpbrk(text: *const u8, set: *const u8; inside, pc) -> *mut u8 {
        let (set, _) = see_text(inside, set, pc);
        look(inside, pc, || {
            let found = real()(text, set.at);
            (found, text, through(text, found, 1))
        })
    }
}

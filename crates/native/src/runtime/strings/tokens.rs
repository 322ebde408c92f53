//! Functions that cut a string into tokens, and write into it as they go.

use super::Token;
use super::searches::{see_text, strcspn, strspn};
use super::{BytesRead, put, ranges};
use std::ptr::null_mut;

/// Where `strtok` goes on. It is shared by all threads: that is the well-known race, so accesses are recorded.
static mut NEXT: *mut u8 = null_mut();

const POINTER: usize = size_of::<*mut u8>();

fn load(token: &mut Token<'_>, place: *mut *mut u8, pc: u64) -> *mut u8 {
    ranges::reads(token, place.cast(), POINTER, pc);
    // SAFETY: the program's own variable, or ours.
    unsafe { *place }
}

fn store(token: &mut Token<'_>, place: *mut *mut u8, value: *mut u8, pc: u64) {
    // SAFETY: the program's own variable, or ours.
    put(token, place.cast(), POINTER, pc, || unsafe { *place = value });
}

/// Reads up to the end of a piece and ends it there; returns the end, and whether more follows.
unsafe fn cut(token: &mut Token<'_>, piece: *mut u8, set: &BytesRead, pc: u64) -> (*mut u8, bool) {
    token.point();
    // SAFETY: both are strings.
    let length = unsafe { strcspn::real()(piece, set.at) };
    ranges::reads(token, piece, length + 1, pc);
    let end = piece.wrapping_add(length);
    // SAFETY: the string's own byte, read just now.
    if unsafe { *end } == 0 {
        return (end, false);
    }
    // SAFETY: as above.
    put(token, end, 1, pc, || unsafe { *end = 0 });
    (end, true)
}

unsafe fn next_token(token: &mut Token<'_>, text: *mut u8, set: *const u8, place: *mut *mut u8, pc: u64) -> *mut u8 {
    // SAFETY: the program's own arguments.
    unsafe {
        let text = if text.is_null() { load(token, place, pc) } else { text };
        if text.is_null() {
            return null_mut();
        }
        // The set is short: a copy of it lasts for both searches.
        let (set, length) = see_text(token, set, pc);
        let set = if token.me().own.budget.get() == 0 { set } else { super::copied(set.at, length + 1) };
        token.point();
        let skipped = strspn::real()(text, set.at);
        ranges::reads(token, text, skipped + 1, pc);
        let piece = text.wrapping_add(skipped);
        if *piece == 0 {
            store(token, place, piece, pc);
            return null_mut();
        }
        let (end, more) = cut(token, piece, &set, pc);
        store(token, place, end.wrapping_add(more.into()), pc);
        piece
    }
}

strings! {
    fn strtok(text: *mut u8, set: *const u8; inside, pc) -> *mut u8 {
        next_token(inside, text, set, &raw mut NEXT, pc)
    }

    fn strtok_r(text: *mut u8, set: *const u8, place: *mut *mut u8; inside, pc) -> *mut u8 {
        next_token(inside, text, set, place, pc)
    }

    fn __strtok_r(text: *mut u8, set: *const u8, place: *mut *mut u8; inside, pc) -> *mut u8 {
        next_token(inside, text, set, place, pc)
    }

    fn strsep(place: *mut *mut u8, set: *const u8; inside, pc) -> *mut u8 {
        let piece = load(inside, place, pc);
        if piece.is_null() {
            return piece;
        }
        let (set, _) = see_text(inside, set, pc);
        let (end, more) = cut(inside, piece, &set, pc);
        store(inside, place, if more { end.wrapping_add(1) } else { null_mut() }, pc);
        piece
    }
}

//! Functions that cut a string into tokens, and write into it as they go.

use super::searches::{see_text, strcspn, strspn};
use super::{Seen, conductor, put, ranges};
use reweave_conductor::Thread;
use std::ptr::null_mut;

/// Where `strtok` goes on. It is shared by all threads: that is the well-known race, so accesses are recorded.
static mut NEXT: *mut u8 = null_mut();

const POINTER: usize = size_of::<*mut u8>();

fn load(thread: &mut Thread, place: *mut *mut u8, pc: u64) -> *mut u8 {
    ranges::reads(thread, place.cast(), POINTER, pc);
    // SAFETY: the program's own variable, or ours.
    unsafe { *place }
}

fn store(thread: &mut Thread, place: *mut *mut u8, value: *mut u8, pc: u64) {
    // SAFETY: the program's own variable, or ours.
    put(thread, place.cast(), POINTER, pc, || unsafe { *place = value });
}

/// Reads up to the end of a token and ends it there; returns the end, and whether more follows.
unsafe fn cut(thread: &mut Thread, token: *mut u8, set: &Seen, pc: u64) -> (*mut u8, bool) {
    conductor().point(thread);
    // SAFETY: both are strings.
    let length = unsafe { strcspn::real()(token, set.at) };
    ranges::reads(thread, token, length + 1, pc);
    let end = token.wrapping_add(length);
    // SAFETY: the string's own byte, read just now.
    if unsafe { *end } == 0 {
        return (end, false);
    }
    // SAFETY: as above.
    put(thread, end, 1, pc, || unsafe { *end = 0 });
    (end, true)
}

unsafe fn next_token(thread: &mut Thread, text: *mut u8, set: *const u8, place: *mut *mut u8, pc: u64) -> *mut u8 {
    // SAFETY: the program's own arguments.
    unsafe {
        let text = if text.is_null() { load(thread, place, pc) } else { text };
        if text.is_null() {
            return null_mut();
        }
        // The set is short: a copy of it lasts for both searches.
        let (set, length) = see_text(thread, set, pc);
        let set = if thread.budget == 0 { set } else { super::copied(set.at, length + 1) };
        conductor().point(thread);
        let skipped = strspn::real()(text, set.at);
        ranges::reads(thread, text, skipped + 1, pc);
        let token = text.wrapping_add(skipped);
        if *token == 0 {
            store(thread, place, token, pc);
            return null_mut();
        }
        let (end, more) = cut(thread, token, &set, pc);
        store(thread, place, end.wrapping_add(more.into()), pc);
        token
    }
}

strings! {
    fn strtok(text: *mut u8, set: *const u8; inside, pc) -> *mut u8 {
        next_token(inside.thread, text, set, &raw mut NEXT, pc)
    }

    fn strtok_r(text: *mut u8, set: *const u8, place: *mut *mut u8; inside, pc) -> *mut u8 {
        next_token(inside.thread, text, set, place, pc)
    }

    fn __strtok_r(text: *mut u8, set: *const u8, place: *mut *mut u8; inside, pc) -> *mut u8 {
        next_token(inside.thread, text, set, place, pc)
    }

    fn strsep(place: *mut *mut u8, set: *const u8; inside, pc) -> *mut u8 {
        let token = load(inside.thread, place, pc);
        if token.is_null() {
            return token;
        }
        let (set, _) = see_text(inside.thread, set, pc);
        let (end, more) = cut(inside.thread, token, &set, pc);
        store(inside.thread, place, if more { end.wrapping_add(1) } else { null_mut() }, pc);
        token
    }
}

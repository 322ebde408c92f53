//! gcc copies a structure as write hook, read hook, copy: the write's value is there one hook later than for other
//! writes.

use super::load::load;
use super::{Native, Thread};
use reweave_conductor::recorder::Recorder;

/// Whether the write that awaits its value was recorded right before and is as long as the read that comes now.
#[inline(always)]
pub fn follows_write(recorder: &Recorder<Native>, thread: &Thread, size: u32) -> bool {
    let (pending, _, pending_size) = thread.own.announced();
    let words = (size as usize).div_ceil(8);
    let follows = pending_size == size && pending.wrapping_add(words) == recorder.cursor() && !pending.is_null();
    // What was foreseen between them leaves no record.
    follows && !recorder.write_is_past()
}

/// Whether the thread, about to read these bytes, seems to be in the middle of copying them: the place of the announced
/// write still holds what it held then, and something else than what is to be copied. Another thread must not
/// come in between: for it the write would have happened, and has not.
pub fn is_copying(recorder: &Recorder<Native>, thread: &Thread, from: u64, size: u32) -> bool {
    if !follows_write(recorder, thread, size) {
        return false;
    }
    let (pending, addr, _) = thread.own.announced();
    let mut differs = false;
    for i in 0..size.div_ceil(8) {
        let (at, len) = (u64::from(i) * 8, (size - i * 8).min(8));
        // SAFETY: the payload of the announced write, filled with the old bytes.
        let old = unsafe { *pending.add(i as usize) };
        if load(addr + at, len) != old {
            return false;
        }
        differs |= load(from + at, len) != old;
    }
    differs
}

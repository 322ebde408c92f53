//! Values in runs of foreseen accesses: nothing is known of them, but most have many zero bytes at one end. Each becomes
//! a byte (bits 0..3: zero bytes at the lower end, bits 3..7: bytes that count) and those that count.

use super::packer::Literals;
use super::unpacker::Taken;

#[inline(always)]
pub(super) fn put(value: u64, out: &mut Literals<'_>) {
    let below = (value.trailing_zeros() / 8) & 7;
    let counting = 8 - value.leading_zeros() / 8 - if value == 0 { 0 } else { below };
    out.put((counting << 3 | below).into(), 1);
    out.put(value >> (8 * below), counting as usize);
}

#[inline(always)]
pub(super) fn take(taken: &mut Taken<'_>) -> u64 {
    let shape = taken.take(1) as u32 & 0x7f;
    let (below, counting) = (shape & 7, (shape >> 3).min(8));
    let bytes = taken.take(counting as usize);
    if counting == 0 { 0 } else { (bytes & u64::MAX >> (64 - 8 * counting)) << (8 * below) }
}

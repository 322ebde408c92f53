//! Packing of event chunks: words that a simple predictor guesses are left out, the rest goes through LZ4.
//!
//! After value-prediction trace compressors (Burtscher's VPC). LZ4 alone costs 24 bytes of input per access; here a
//! loop that strides over an array is one zero byte per access before LZ4 sees it, so packing costs some
//! nanoseconds per event rather than some tens. Lossless: unpacking runs the same predictors.
//!
//! Each record becomes one code byte and its literals, least significant byte first:
//!
//! ```text
//! bit  0     the first word is not the one that followed the last four first words before; 8 bytes follow
//! bits 1..3  word 1: 0 last + stride at this first word · 1, 2, 3: its distance from the last in 2, 4, 8 bytes
//! bits 3..6  word 2: 0 as last seen with this word 1 · 1 as last seen at this first word
//!            2 distance from the former in 1 byte · 3, 4, 5 distance from the latter in 2, 4, 5 bytes · 6 all 8 bytes
//! ```
//!
//! Words from the third on are literals; those of foreseen accesses are all literals of a kind of their own (see
//! `values`). The payload is four `u32` (number of codes, bytes of literals, and the bytes
//! either takes as stored), then the codes and the literals, each one LZ4 block, or as they are where the two lengths
//! are equal. Codes stand first so that a chunk cut short still unpacks up to the cut. The predictors start empty in
//! every chunk, so that chunks are independent.

mod lz4;
mod packer;
mod pcs;
mod unpacker;
mod values;

pub(crate) use lz4::{compress, decompress};
pub use packer::{Packed, Packer};
pub(crate) use pcs::{PcHasher, Pcs};
pub use unpacker::Unpacker;

const NEXT_BITS: u32 = 12;
const SLOT_BITS: u32 = 11;
const VALUE_BITS: u32 = 14;
/// The golden ratio: spreads neighbouring numbers over the upper bits.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

const HEAD_MISS: u8 = 1;
const WORD1_SHIFT: u8 = 1;
const WORD2_SHIFT: u8 = 3;
/// Bytes of the literals of words 1 and 2 by class.
const WORD1_LEN: [usize; 4] = [0, 2, 4, 8];
const WORD2_LEN: [usize; 8] = [0, 0, 1, 2, 4, 5, 8, 8];

/// Bytes before the codes.
const PACK_HEADER_LEN: usize = 16;

/// What was last seen with a first word.
#[derive(Clone, Copy, Default)]
struct Slot {
    word1: u64,
    stride: u64,
    word2: u64,
}

/// Predictor tables. Untagged: a collision costs a few bytes, never correctness.
struct Tables {
    next: Box<[u64; 1 << NEXT_BITS]>,
    slots: Box<[Slot; 1 << SLOT_BITS]>,
    values: Box<[u64; 1 << VALUE_BITS]>,
}

impl Tables {
    fn new() -> Self {
        Self { next: boxed(0), slots: boxed(Slot::default()), values: boxed(0) }
    }

    fn clear(&mut self) {
        self.next.fill(0);
        self.slots.fill(Slot::default());
        self.values.fill(0);
    }
}

#[inline(always)]
fn next_at(context: u64) -> usize {
    (context.wrapping_mul(MIX) >> (64 - NEXT_BITS)) as usize
}

/// The last four first words make the context, 16 bits each.
#[inline(always)]
fn context_after(context: u64, mixed_head: u64) -> u64 {
    context << 16 ^ mixed_head >> 40
}

/// `head * MIX`, which context and slot share.
#[inline(always)]
fn mix(head: u64) -> u64 {
    head.wrapping_mul(MIX)
}

#[inline(always)]
fn slot_at(mixed_head: u64) -> usize {
    (mixed_head >> (64 - SLOT_BITS)) as usize
}

#[inline(always)]
fn value_at(word1: u64) -> usize {
    (word1.wrapping_mul(MIX) >> (64 - VALUE_BITS)) as usize
}

fn boxed<T: Copy, const N: usize>(value: T) -> Box<[T; N]> {
    match vec![value; N].into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("the vector was made with this length"),
    }
}

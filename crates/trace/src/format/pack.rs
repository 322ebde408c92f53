//! Packing of event chunks: words that a simple predictor guesses are left out, the rest goes through LZ4.
//!
//! After value-prediction trace compressors (Burtscher's VPC). LZ4 alone costs 24 bytes of input per access; here a
//! loop that strides over an array is one zero byte per access before LZ4 sees it, so packing costs a few
//! nanoseconds per event rather than some tens. Lossless: unpacking runs the same predictors.
//!
//! Each record becomes one code byte and its literals:
//!
//! ```text
//! bit  0     the first word is not what followed the last few first words before; 8 bytes follow
//! bits 1..3  word 1: 0 last + stride at this first word · 1 i16, 2 i32 from the last one · 3 all 8 bytes
//! bits 3..6  word 2: 0 as last seen with this word 1 · 1 as last seen at this first word · 2 i8 from the former
//!            3 i32 from the latter · 4 u32 · 5 all 8 bytes
//! ```
//!
//! Words from the third on are literals. The payload is `u32` number of codes, `u32` bytes of literals, then one
//! LZ4 block of codes followed by literals. Codes stand first so that a block cut short still unpacks up to the cut.
//! The predictors start empty in every chunk, so that chunks are independent.

use reweave_model::wire::{Malformed, kind as k};

use super::record::{Shape, has_pc, payload_words};

const NEXT_BITS: u32 = 12;
const SLOT_BITS: u32 = 11;
const VALUE_BITS: u32 = 14;
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

const HEAD_MISS: u8 = 1;
const WORD1_SHIFT: u8 = 1;
const WORD2_SHIFT: u8 = 3;

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
    context: u64,
}

impl Tables {
    fn new() -> Self {
        Self { next: boxed(0), slots: boxed(Slot::default()), values: boxed(0), context: 0 }
    }

    fn clear(&mut self) {
        self.next.fill(0);
        self.slots.fill(Slot::default());
        self.values.fill(0);
        self.context = 0;
    }

    #[inline]
    fn next_at(&self) -> usize {
        (self.context.wrapping_mul(MIX) >> (64 - NEXT_BITS)) as usize
    }

    /// The last four first words make the context.
    #[inline]
    fn seen(&mut self, head: u64) {
        self.context = self.context << 16 ^ head.wrapping_mul(MIX) >> 40;
    }
}

#[inline]
fn slot_at(head: u64) -> usize {
    (head.wrapping_mul(MIX) >> (64 - SLOT_BITS)) as usize
}

#[inline]
fn value_at(word1: u64) -> usize {
    (word1.wrapping_mul(MIX) >> (64 - VALUE_BITS)) as usize
}

fn boxed<T: Copy, const N: usize>(value: T) -> Box<[T; N]> {
    match vec![value; N].into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("the vector was made with this length"),
    }
}

/// What walking the records of a chunk tells, beside the packed bytes.
pub struct Packed {
    /// Words of whole, known records: what was packed.
    pub words: usize,
    /// Why it stopped there, if that is not the end, and the number of the record.
    pub stopped: Option<(usize, Malformed)>,
    pub events: u32,
}

pub struct Packer {
    tables: Tables,
    codes: Vec<u8>,
    literals: Vec<u8>,
    /// Records by kind, over all chunks.
    pub counts: [u64; 256],
}

impl Default for Packer {
    fn default() -> Self {
        Self { tables: Tables::new(), codes: Vec::new(), literals: Vec::new(), counts: [0; 256] }
    }
}

impl Packer {
    /// Packs `words` onto `out`. `new_head` sees every first word that was not predicted, hence at least once per
    /// chunk each one that occurs, with its record: the cheap place to look at code addresses and rare records.
    pub fn pack(&mut self, words: &[u64], out: &mut Vec<u8>, mut new_head: impl FnMut(u64, &[u64])) -> Packed {
        self.tables.clear();
        self.codes.clear();
        // Literals never outgrow the words. Eight bytes are stored at a time and the position moves by what counts.
        if self.literals.len() < words.len() * 8 + 8 {
            self.literals.resize(words.len() * 8 + 8, 0);
        }
        let tables = &mut self.tables;
        let literals = &mut self.literals[..];
        let mut put = 0usize;
        let mut literal = |value: u64, len: usize| {
            literals[put..put + 8].copy_from_slice(&value.to_le_bytes());
            put += len;
            put
        };
        let mut literals_len = 0;
        let (mut at, mut events, mut stopped) = (0, 0u32, None);
        while at < words.len() {
            let head = words[at];
            let shape = Shape::of(head);
            let fixed = shape.fixed();
            if fixed == 0 || at + fixed > words.len() {
                let why = if fixed == 0 { Malformed::UnknownKind(head as u8) } else { Malformed::Truncated };
                stopped = Some((self.codes.len(), why));
                break;
            }
            let mut len = fixed;
            if shape.has_payload() {
                len += payload_words(words[at + fixed - 1]);
                if at + len > words.len() {
                    stopped = Some((self.codes.len(), Malformed::Truncated));
                    break;
                }
            }
            let mut code = 0;
            let next = tables.next_at();
            if tables.next[next] != head {
                tables.next[next] = head;
                code = HEAD_MISS;
                literals_len = literal(head, 8);
                new_head(head, &words[at..at + len]);
            } else if head as u8 == k::STACK_DEF || head as u8 == k::MODULE {
                new_head(head, &words[at..at + len]);
            }
            tables.seen(head);
            self.counts[head as u8 as usize] += 1;
            events += u32::from(super::record::is_event(head as u8));
            if len > 1 {
                let slot = &mut tables.slots[slot_at(head)];
                let word1 = words[at + 1];
                let delta = word1.wrapping_sub(slot.word1);
                if delta != slot.stride {
                    let class = if delta as i64 == delta as i16 as i64 {
                        literals_len = literal(delta, 2);
                        1
                    } else if delta as i64 == delta as i32 as i64 {
                        literals_len = literal(delta, 4);
                        2
                    } else {
                        literals_len = literal(word1, 8);
                        3
                    };
                    code |= class << WORD1_SHIFT;
                    slot.stride = delta;
                }
                slot.word1 = word1;
                if len > 2 {
                    let word2 = words[at + 2];
                    let value = &mut tables.values[value_at(word1)];
                    if word2 != *value {
                        let from_value = word2.wrapping_sub(*value) as i64;
                        let from_slot = word2.wrapping_sub(slot.word2) as i64;
                        let class = if from_slot == 0 {
                            1
                        } else if from_value == from_value as i8 as i64 {
                            literals_len = literal(from_value as u64, 1);
                            2
                        } else if from_slot == from_slot as i32 as i64 {
                            literals_len = literal(from_slot as u64, 4);
                            3
                        } else if word2 == word2 as u32 as u64 {
                            literals_len = literal(word2, 4);
                            4
                        } else {
                            literals_len = literal(word2, 8);
                            5
                        };
                        code |= class << WORD2_SHIFT;
                        *value = word2;
                    }
                    slot.word2 = word2;
                    for &word in &words[at + 3..at + len] {
                        literals_len = literal(word, 8);
                    }
                }
            }
            self.codes.push(code);
            at += len;
        }
        out.extend_from_slice(&(self.codes.len() as u32).to_le_bytes());
        out.extend_from_slice(&(literals_len as u32).to_le_bytes());
        self.codes.extend_from_slice(&self.literals[..literals_len]);
        compress(&self.codes, out);
        Packed { words: at, stopped, events }
    }
}

/// Appends one LZ4 block.
pub(crate) fn compress(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start + lz4_flex::block::get_maximum_output_size(bytes.len()), 0);
    let len = lz4_flex::block::compress_into(bytes, &mut out[start..]).expect("the output has the maximal size");
    out.truncate(start + len);
}

/// Unpacks one LZ4 block of known length.
pub(crate) fn decompress(stored: &[u8], raw_len: usize, out: &mut Vec<u8>) -> Result<(), &'static str> {
    // No LZ4 block grows more than 255-fold: refuse before allocating.
    if raw_len > stored.len().saturating_mul(255).saturating_add(64) {
        return Err("impossible length");
    }
    out.clear();
    out.resize(raw_len, 0);
    match lz4_flex::block::decompress_into(stored, out) {
        Ok(len) if len == raw_len => Ok(()),
        _ => Err("not a whole LZ4 block"),
    }
}

/// As much of an LZ4 block as is there: a block that was cut short unpacks from its start.
pub(crate) fn decompress_prefix(stored: &[u8], limit: usize, out: &mut Vec<u8>) {
    out.clear();
    let mut bytes = stored.iter().copied();
    let extended = |base: u8, bytes: &mut dyn Iterator<Item = u8>| -> Option<usize> {
        let mut len = base as usize;
        if base == 15 {
            loop {
                let more = bytes.next()?;
                len += more as usize;
                if more != 255 {
                    break;
                }
            }
        }
        Some(len)
    };
    let mut step = || -> Option<()> {
        let token = bytes.next()?;
        let literals = extended(token >> 4, &mut bytes)?;
        for _ in 0..literals {
            if out.len() == limit {
                return None;
            }
            out.push(bytes.next()?);
        }
        let offset = u16::from_le_bytes([bytes.next()?, bytes.next()?]) as usize;
        let matched = extended(token & 15, &mut bytes)? + 4;
        let from = out.len().checked_sub(offset)?;
        if offset == 0 {
            return None;
        }
        for i in 0..matched {
            if out.len() == limit {
                return None;
            }
            out.push(out[from + i]);
        }
        Some(())
    };
    while step().is_some() {}
}

pub struct Unpacker {
    tables: Tables,
    bytes: Vec<u8>,
}

impl Default for Unpacker {
    fn default() -> Self {
        Self { tables: Tables::new(), bytes: Vec::new() }
    }
}

impl Unpacker {
    /// Unpacks a whole chunk of `raw_len` bytes into `words`.
    pub fn unpack(&mut self, stored: &[u8], raw_len: usize, words: &mut Vec<u64>) -> Result<(), &'static str> {
        let (codes, literals) = lengths(stored, raw_len)?;
        decompress(&stored[8..], codes + literals, &mut self.bytes)?;
        self.run(codes, raw_len / 8, words);
        if words.len() * 8 == raw_len { Ok(()) } else { Err("packed records do not fill the chunk") }
    }

    /// Unpacks what is there of a chunk that was cut short: a whole number of records from its start.
    pub fn unpack_prefix(&mut self, stored: &[u8], raw_len: usize, words: &mut Vec<u64>) {
        words.clear();
        if let Ok((codes, literals)) = lengths(stored, raw_len) {
            decompress_prefix(&stored[8..], codes + literals, &mut self.bytes);
            if self.bytes.len() >= codes {
                self.run(codes, raw_len / 8, words);
            }
        }
    }

    /// Rebuilds records until the codes or the literals end.
    fn run(&mut self, codes: usize, limit: usize, out: &mut Vec<u64>) {
        out.clear();
        out.reserve(limit);
        self.tables.clear();
        let tables = &mut self.tables;
        let (codes, literals) = self.bytes.split_at(codes);
        let mut taken = 0usize;
        // The `len` bytes that come next; upper bytes are whatever follows them.
        let mut literal = |len: usize| -> Option<u64> {
            let value = if let Some(bytes) = literals.get(taken..taken + 8) {
                u64::from_le_bytes(bytes.try_into().ok()?)
            } else {
                let mut padded = [0; 8];
                let bytes = literals.get(taken..taken + len)?;
                padded[..len].copy_from_slice(bytes);
                u64::from_le_bytes(padded)
            };
            taken += len;
            Some(value)
        };
        for &code in codes {
            let start = out.len();
            let mut record = || -> Option<()> {
                let next = tables.next_at();
                let head = if code & HEAD_MISS != 0 {
                    let head = literal(8)?;
                    tables.next[next] = head;
                    head
                } else {
                    tables.next[next]
                };
                tables.seen(head);
                let shape = Shape::of(head);
                let mut len = shape.fixed();
                if len == 0 || out.len() + len > limit {
                    return None;
                }
                out.push(head);
                if len > 1 {
                    let slot = &mut tables.slots[slot_at(head)];
                    let delta = match code >> WORD1_SHIFT & 3 {
                        0 => slot.stride,
                        1 => literal(2)? as i16 as u64,
                        2 => literal(4)? as i32 as u64,
                        _ => literal(8)?.wrapping_sub(slot.word1),
                    };
                    let word1 = slot.word1.wrapping_add(delta);
                    slot.stride = delta;
                    slot.word1 = word1;
                    out.push(word1);
                    if len == 2 && shape.has_payload() {
                        len += payload_words(word1);
                    }
                    if len > 2 {
                        let value = &mut tables.values[value_at(word1)];
                        let word2 = match code >> WORD2_SHIFT & 7 {
                            0 => *value,
                            1 => slot.word2,
                            2 => value.wrapping_add(literal(1)? as i8 as u64),
                            3 => slot.word2.wrapping_add(literal(4)? as i32 as u64),
                            4 => literal(4)? as u32 as u64,
                            _ => literal(8)?,
                        };
                        *value = word2;
                        slot.word2 = word2;
                        out.push(word2);
                        let fixed = shape.fixed();
                        for _ in 3..fixed {
                            out.push(literal(8)?);
                        }
                        if shape.has_payload() && fixed > 2 {
                            len = fixed + payload_words(out[start + fixed - 1]);
                        }
                        if start + len > limit {
                            return None;
                        }
                        for _ in fixed.max(3)..len {
                            out.push(literal(8)?);
                        }
                    }
                }
                Some(())
            };
            if record().is_none() {
                out.truncate(start);
                return;
            }
        }
    }
}

fn lengths(stored: &[u8], raw_len: usize) -> Result<(usize, usize), &'static str> {
    let (Some(codes), Some(literals)) = (stored.first_chunk::<4>(), stored.get(4..8)) else {
        return Err("too short");
    };
    let codes = u32::from_le_bytes(*codes) as usize;
    let literals = u32::from_le_bytes([literals[0], literals[1], literals[2], literals[3]]) as usize;
    if !raw_len.is_multiple_of(8) || codes > raw_len / 8 || literals > raw_len {
        return Err("impossible lengths");
    }
    Ok((codes, literals))
}

/// Collects the distinct code addresses: a direct-mapped filter in front of a hash set.
pub struct Pcs {
    recent: Box<[u64; 1 << 12]>,
    all: std::collections::HashSet<u64>,
}

impl Default for Pcs {
    fn default() -> Self {
        Self { recent: boxed(0), all: Default::default() }
    }
}

impl Pcs {
    #[inline]
    pub fn see(&mut self, head: u64) {
        let pc = head >> 16;
        let slot = &mut self.recent[(pc.wrapping_mul(MIX) >> (64 - 12)) as usize];
        if *slot != pc && has_pc(head as u8) {
            *slot = pc;
            self.all.insert(pc);
        }
    }

    pub fn sorted(&self) -> Vec<reweave_model::Pc> {
        let mut pcs: Vec<_> = self.all.iter().copied().filter(|&pc| pc != 0).map(reweave_model::Pc).collect();
        pcs.sort_unstable();
        pcs
    }
}

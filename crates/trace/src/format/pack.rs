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
//! Words from the third on are literals. The payload is four `u32` (number of codes, bytes of literals, and the bytes
//! either takes as stored), then the codes and the literals, each one LZ4 block, or as they are where the two lengths
//! are equal. Codes stand first so that a chunk cut short still unpacks up to the cut. The predictors start empty in
//! every chunk, so that chunks are independent.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

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
}

#[inline(always)]
fn next_at(context: u64) -> usize {
    (context.wrapping_mul(MIX) >> (64 - NEXT_BITS)) as usize
}

/// The last four first words make the context.
#[inline(always)]
fn context_after(context: u64, head: u64) -> u64 {
    context << 16 ^ head.wrapping_mul(MIX) >> 40
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

/// Bytes of the literals of words 1 and 2 by class.
const WORD1_LEN: [usize; 4] = [0, 2, 4, 8];
const WORD2_LEN: [usize; 8] = [0, 0, 1, 4, 4, 8, 8, 8];

/// Bytes before the codes.
const PACK_HEADER_LEN: usize = 16;

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
        if self.literals.len() < words.len() * 8 + 8 {
            self.literals.resize(words.len() * 8 + 8, 0);
            self.codes.resize(words.len(), 0);
        }
        let Self { tables, codes, literals, counts } = self;
        let mut put = Literals { bytes: &mut literals[..], len: 0 };
        let context_before = counts[..=k::STACK_DEF as usize].iter().sum::<u64>();
        let (mut at, mut records, mut stopped) = (0, 0, None);
        while at < words.len() {
            let head = words[at];
            let shape = Shape::of(head);
            let mut len = shape.fixed();
            if shape.has_payload() && at + len <= words.len() {
                len += payload_words(words[at + len - 1]);
            }
            if len == 0 || at + len > words.len() {
                let why = if len == 0 { Malformed::UnknownKind(head as u8) } else { Malformed::Truncated };
                stopped = Some((records, why));
                break;
            }
            let next = &mut tables.next[next_at(tables.context)];
            let missed = *next != head;
            if missed {
                *next = head;
                new_head(head, &words[at..at + len]);
            } else if matches!(head as u8, k::STACK_DEF | k::MODULE) {
                new_head(head, &words[at..at + len]);
            }
            let mut code = u8::from(missed);
            put.put(head, usize::from(missed) * 8);
            tables.context = context_after(tables.context, head);
            counts[head as u8 as usize] += 1;
            if len > 1 {
                let slot = &mut tables.slots[slot_at(head)];
                let word1 = words[at + 1];
                let delta = word1.wrapping_sub(slot.word1);
                // Without branches: which class it is follows no pattern that the processor could learn.
                let mut class = 3;
                class = if delta as i64 == i64::from(delta as i32) { 2 } else { class };
                class = if delta as i64 == i64::from(delta as i16) { 1 } else { class };
                class = if delta == slot.stride { 0 } else { class };
                put.put(if class == 3 { word1 } else { delta }, WORD1_LEN[class]);
                code |= (class as u8) << WORD1_SHIFT;
                slot.stride = delta;
                slot.word1 = word1;
                if len > 2 {
                    let word2 = words[at + 2];
                    let value = &mut tables.values[value_at(word1)];
                    let from_value = word2.wrapping_sub(*value);
                    let from_slot = word2.wrapping_sub(slot.word2);
                    let (mut class, mut literal) = (5, word2);
                    class = if word2 >> 32 == 0 { 4 } else { class };
                    (class, literal) =
                        if from_slot as i64 == i64::from(from_slot as i32) { (3, from_slot) } else { (class, literal) };
                    (class, literal) = if from_value as i64 == i64::from(from_value as i8) {
                        (2, from_value)
                    } else {
                        (class, literal)
                    };
                    class = if from_slot == 0 { 1 } else { class };
                    class = if from_value == 0 { 0 } else { class };
                    put.put(literal, WORD2_LEN[class]);
                    code |= (class as u8) << WORD2_SHIFT;
                    *value = word2;
                    slot.word2 = word2;
                    if len > 3 {
                        for &word in &words[at + 3..at + len] {
                            put.put(word, 8);
                        }
                    }
                }
            }
            codes[records] = code;
            records += 1;
            at += len;
        }
        let context = counts[..=k::STACK_DEF as usize].iter().sum::<u64>() - context_before;
        let literals_len = put.len;
        let start = out.len();
        out.resize(start + PACK_HEADER_LEN, 0);
        let stored_codes = compress_if_smaller(&codes[..records], out);
        let stored_literals = compress_if_smaller(&literals[..literals_len], out);
        for (i, len) in [records, literals_len, stored_codes, stored_literals].into_iter().enumerate() {
            out[start + 4 * i..][..4].copy_from_slice(&(len as u32).to_le_bytes());
        }
        Packed { words: at, stopped, events: (records as u64 - context) as u32 }
    }
}

/// Literals being written: eight bytes are stored at a time, and the position moves by those that count.
struct Literals<'a> {
    // invariant: eight bytes longer than all literals together can be
    bytes: &'a mut [u8],
    len: usize,
}

impl Literals<'_> {
    #[inline(always)]
    fn put(&mut self, value: u64, len: usize) {
        self.bytes[self.len..self.len + 8].copy_from_slice(&value.to_le_bytes());
        self.len += len;
    }
}

/// Appends one LZ4 block, or the bytes themselves if that is no longer; returns the stored length.
fn compress_if_smaller(bytes: &[u8], out: &mut Vec<u8>) -> usize {
    const SAMPLE: usize = 4 << 10;
    let start = out.len();
    // Values that do not repeat cost LZ4 the most time for nothing: look at a piece from the middle first.
    let mut worth_it = true;
    if bytes.len() >= 8 * SAMPLE {
        compress(&bytes[bytes.len() / 2..][..SAMPLE], out);
        worth_it = out.len() - start < SAMPLE - SAMPLE / 8;
        out.truncate(start);
    }
    if worth_it {
        compress(bytes, out);
    }
    if !worth_it || out.len() - start >= bytes.len() {
        out.truncate(start);
        out.extend_from_slice(bytes);
    }
    out.len() - start
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
    codes: Vec<u8>,
    literals: Vec<u8>,
}

impl Default for Unpacker {
    fn default() -> Self {
        Self { tables: Tables::new(), codes: Vec::new(), literals: Vec::new() }
    }
}

impl Unpacker {
    /// Unpacks a whole chunk of `raw_len` bytes into `words`.
    pub fn unpack(&mut self, stored: &[u8], raw_len: usize, words: &mut Vec<u64>) -> Result<(), &'static str> {
        let [codes, literals, stored_codes, stored_literals] = lengths(stored, raw_len)?;
        let stored = &stored[PACK_HEADER_LEN..];
        if stored.len() != stored_codes + stored_literals {
            return Err("impossible lengths");
        }
        let (stored_codes, stored_literals) = stored.split_at(stored_codes);
        restore(stored_codes, codes, &mut self.codes)?;
        restore(stored_literals, literals, &mut self.literals)?;
        self.run(raw_len / 8, words);
        if words.len() * 8 == raw_len { Ok(()) } else { Err("packed records do not fill the chunk") }
    }

    /// Unpacks what is there of a chunk that was cut short: a whole number of records from its start.
    pub fn unpack_prefix(&mut self, stored: &[u8], raw_len: usize, words: &mut Vec<u64>) {
        words.clear();
        let Ok([codes, literals, stored_codes, stored_literals]) = lengths(stored, raw_len) else {
            return;
        };
        let stored = &stored[PACK_HEADER_LEN..];
        let (first, rest) = stored.split_at(stored_codes.min(stored.len()));
        for (stored, stored_len, len, out) in
            [(first, stored_codes, codes, &mut self.codes), (rest, stored_literals, literals, &mut self.literals)]
        {
            out.clear();
            if stored_len == len {
                out.extend_from_slice(&stored[..len.min(stored.len())]);
            } else {
                decompress_prefix(stored, len, out);
            }
        }
        self.run(raw_len / 8, words);
    }

    /// Rebuilds records until the codes or the literals end.
    fn run(&mut self, limit: usize, out: &mut Vec<u64>) {
        self.tables.clear();
        let Self { tables, codes, literals } = self;
        let literals_len = literals.len();
        // Whole words are loaded at any position: the padding keeps that inside.
        literals.extend_from_slice(&[0; 8]);
        let mut take = Taken { bytes: literals, at: 0, end: literals_len };
        out.clear();
        // Two words more than asked for, so that a record of three fits wherever one of one does.
        out.resize(limit + 2, 0);
        let mut filled = 0;
        for &code in codes.iter() {
            if filled == limit {
                break;
            }
            let next = &mut tables.next[next_at(tables.context)];
            let literal = take.take(if code & HEAD_MISS != 0 { 8 } else { 0 });
            let head = if code & HEAD_MISS != 0 { literal } else { *next };
            *next = head;
            tables.context = context_after(tables.context, head);
            let shape = Shape::of(head);
            let mut len = shape.fixed();
            if len == 0 {
                break;
            }
            let record = &mut out[filled..filled + 3];
            record[0] = head;
            if len > 1 {
                let slot = &mut tables.slots[slot_at(head)];
                let class = (code >> WORD1_SHIFT & 3) as usize;
                let literal = take.take(WORD1_LEN[class]);
                let mut delta = literal.wrapping_sub(slot.word1);
                delta = if class == 2 { literal as i32 as u64 } else { delta };
                delta = if class == 1 { literal as i16 as u64 } else { delta };
                delta = if class == 0 { slot.stride } else { delta };
                let word1 = slot.word1.wrapping_add(delta);
                slot.stride = delta;
                slot.word1 = word1;
                record[1] = word1;
                if len == 2 && shape.has_payload() {
                    len += payload_words(word1);
                }
                if len > 2 {
                    let value = &mut tables.values[value_at(word1)];
                    let class = (code >> WORD2_SHIFT & 7) as usize;
                    let literal = take.take(WORD2_LEN[class]);
                    let mut word2 = literal;
                    word2 = if class == 4 { literal as u32 as u64 } else { word2 };
                    word2 = if class == 3 { slot.word2.wrapping_add(literal as i32 as u64) } else { word2 };
                    word2 = if class == 2 { value.wrapping_add(literal as i8 as u64) } else { word2 };
                    word2 = if class == 1 { slot.word2 } else { word2 };
                    word2 = if class == 0 { *value } else { word2 };
                    *value = word2;
                    slot.word2 = word2;
                    record[2] = word2;
                    if len > 3 || shape.has_payload() {
                        let fixed = shape.fixed();
                        if filled + fixed > limit {
                            break;
                        }
                        for at in 3..fixed {
                            out[filled + at] = take.take(8);
                        }
                        if shape.has_payload() {
                            len = fixed + payload_words(out[filled + fixed - 1]);
                        }
                        if filled + len > limit {
                            break;
                        }
                        for at in fixed.max(3)..len {
                            out[filled + at] = take.take(8);
                        }
                    }
                }
            }
            if filled + len > limit || take.at > take.end {
                break;
            }
            filled += len;
        }
        out.truncate(filled);
    }
}

/// Literals being read. Reading past the end gives zeros; who reads checks `at` once per record.
struct Taken<'a> {
    // invariant: padded with eight bytes after `end`
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl Taken<'_> {
    /// Eight bytes of which `len` count; the rest is whatever follows.
    #[inline(always)]
    fn take(&mut self, len: usize) -> u64 {
        let at = self.at.min(self.end);
        let mut word = [0; 8];
        word.copy_from_slice(&self.bytes[at..at + 8]);
        self.at += len;
        u64::from_le_bytes(word)
    }
}

/// Undoes [`compress_if_smaller`].
fn restore(stored: &[u8], len: usize, out: &mut Vec<u8>) -> Result<(), &'static str> {
    if stored.len() == len {
        out.clear();
        out.extend_from_slice(stored);
        return Ok(());
    }
    decompress(stored, len, out)
}

fn lengths(stored: &[u8], raw_len: usize) -> Result<[usize; 4], &'static str> {
    let header: &[u8; PACK_HEADER_LEN] = stored.first_chunk().ok_or("too short")?;
    let mut lengths = [0; 4];
    for (len, bytes) in lengths.iter_mut().zip(header.chunks_exact(4)) {
        *len = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
    }
    let [codes, literals, stored_codes, stored_literals] = lengths;
    let possible = codes <= raw_len / 8 && literals <= raw_len && stored_codes <= codes && stored_literals <= literals;
    if raw_len.is_multiple_of(8) && possible { Ok(lengths) } else { Err("impossible lengths") }
}

/// Collects the distinct code addresses: a direct-mapped filter in front of a hash set.
pub struct Pcs {
    recent: Box<[u64; 1 << 12]>,
    all: HashSet<u64, BuildHasherDefault<PcHasher>>,
}

/// Code addresses are no attack: one multiplication mixes them well enough.
#[derive(Default)]
pub(crate) struct PcHasher(u64);

impl Hasher for PcHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(byte.into());
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(MIX).rotate_left(26);
    }
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

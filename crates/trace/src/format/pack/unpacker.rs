//! The unpacking half.

use reweave_model::wire::{ACCESS_WORDS, kind as k};

use super::*;
use crate::format::foreseen::Expander;
use reweave_model::wire::kind::{Shape, payload_words};

pub struct Unpacker {
    tables: Tables,
    codes: Vec<u8>,
    literals: Vec<u8>,
    expander: Expander,
    /// What a chunk was before it was expanded.
    runs: Vec<u64>,
}

impl Default for Unpacker {
    fn default() -> Self {
        let (tables, expander) = (Tables::new(), Expander::default());
        Self { tables, codes: Vec::new(), literals: Vec::new(), expander, runs: Vec::new() }
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
        lz4::restore(stored_codes, codes, &mut self.codes)?;
        lz4::restore(stored_literals, literals, &mut self.literals)?;
        self.run(raw_len / 8, words);
        if words.len() * 8 == raw_len { Ok(()) } else { Err("packed records do not fill the chunk") }
    }

    /// Makes records of the runs of foreseen accesses in a chunk of so many events.
    pub fn expand(&mut self, events: u64, words: &mut Vec<u64>) -> Result<(), &'static str> {
        std::mem::swap(&mut self.runs, words);
        words.clear();
        self.expander.expand(&self.runs, events, words)
    }

    /// Unpacks what is there of a chunk that was cut short: a whole number of records from its start.
    pub fn unpack_prefix(&mut self, stored: &[u8], raw_len: usize, words: &mut Vec<u64>) {
        words.clear();
        let Ok([codes, literals, stored_codes, stored_literals]) = lengths(stored, raw_len) else {
            return;
        };
        let stored = &stored[PACK_HEADER_LEN..];
        let (first, rest) = stored.split_at(stored_codes.min(stored.len()));
        lz4::restore_prefix(first, stored_codes, codes, &mut self.codes);
        lz4::restore_prefix(rest, stored_literals, literals, &mut self.literals);
        self.run(raw_len / 8, words);
    }

    /// Rebuilds records until the codes or the literals end.
    fn run(&mut self, limit: usize, out: &mut Vec<u64>) {
        self.tables.clear();
        let Self { tables, codes, literals, .. } = self;
        let literals_len = literals.len();
        // Whole words are loaded at any position: the padding keeps that inside.
        literals.extend_from_slice(&[0; 8]);
        let mut take = Taken { bytes: literals, at: 0, end: literals_len };
        // Two words more than asked for, so that a record of three fits wherever one of one does. What is there from
        // before is overwritten: clearing it would cost as much as some events.
        out.resize(limit + 2, 0);
        let (mut filled, mut context) = (0, 0);
        for &code in codes.iter() {
            if filled >= limit {
                break;
            }
            let next = &mut tables.next[next_at(context)];
            if code & HEAD_MISS != 0 {
                *next = take.take(8);
            }
            let head = *next;
            let mixed = mix(head);
            context = context_after(context, mixed);
            let record = &mut out[filled..filled + ACCESS_WORDS];
            record[0] = head;
            let mut len = ACCESS_WORDS;
            let rest = !matches!(head as u8, k::READ | k::WRITE);
            if rest {
                len = Shape::of(head).fixed();
                if len == 0 {
                    break;
                }
            }
            if !rest || len > 1 {
                let slot = &mut tables.slots[slot_at(mixed)];
                let word1 = word1(slot, code, &mut take);
                record[1] = word1;
                if rest && len == 2 && Shape::of(head).has_payload() {
                    len += payload_words(word1);
                }
                if head as u8 == k::FORESEEN {
                    if filled + len > limit {
                        break;
                    }
                    for value in &mut out[filled + 2..filled + len] {
                        *value = values::take(&mut take);
                    }
                } else if !rest || len > 2 {
                    let value = &mut tables.values[value_at(word1)];
                    record[2] = word2(slot, value, code, &mut take);
                    if rest {
                        match tail(&mut out[filled..limit], &mut take) {
                            Some(found) => len = found,
                            None => break,
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

/// Words from the third on of a record whose first three are there; returns its length.
#[inline(never)]
fn tail(record: &mut [u64], take: &mut Taken<'_>) -> Option<usize> {
    let shape = Shape::of(*record.first()?);
    let fixed = shape.fixed();
    for at in 3..fixed {
        *record.get_mut(at)? = take.take(8);
    }
    let mut len = fixed;
    if shape.has_payload() {
        len += payload_words(*record.get(fixed - 1)?);
    }
    for word in record.get_mut(fixed.max(3)..len.max(fixed.max(3)))? {
        *word = take.take(8);
    }
    Some(len)
}

#[inline(always)]
fn word1(slot: &mut Slot, code: u8, take: &mut Taken<'_>) -> u64 {
    /// How far to shift a literal up and down again to extend its sign.
    const SHIFT: [u32; 4] = [0, 48, 32, 0];
    let class = (code >> WORD1_SHIFT & 3) as usize;
    let literal = take.take(WORD1_LEN[class]);
    let distance = ((literal << SHIFT[class]) as i64 >> SHIFT[class]) as u64;
    let distance = if class == 0 { slot.stride } else { distance };
    slot.stride = distance;
    slot.word1 = slot.word1.wrapping_add(distance);
    slot.word1
}

#[inline(always)]
fn word2(slot: &mut Slot, value: &mut u64, code: u8, take: &mut Taken<'_>) -> u64 {
    const SHIFT: [u32; 8] = [0, 0, 56, 48, 32, 24, 0, 0];
    /// Clears the literal of the classes that have none.
    const MASK: [u64; 8] = [0, 0, !0, !0, !0, !0, !0, !0];
    let class = (code >> WORD2_SHIFT & 7) as usize;
    let literal = take.take(WORD2_LEN[class]) & MASK[class];
    let distance = ((literal << SHIFT[class]) as i64 >> SHIFT[class]) as u64;
    let mut base = if class & !2 == 0 { *value } else { slot.word2 };
    base = if class >= 6 { 0 } else { base };
    let word2 = base.wrapping_add(distance);
    *value = word2;
    slot.word2 = word2;
    word2
}

/// Literals being read. Reading past the end gives what is there; who reads checks `at` once per record.
pub(super) struct Taken<'a> {
    // invariant: padded with eight bytes after `end`
    bytes: &'a [u8],
    at: usize,
    end: usize,
}

impl Taken<'_> {
    /// Eight bytes of which `len` count; the rest is whatever follows.
    #[inline(always)]
    pub(super) fn take(&mut self, len: usize) -> u64 {
        let at = self.at.min(self.end);
        let mut word = [0; 8];
        word.copy_from_slice(&self.bytes[at..at + 8]);
        self.at += len;
        u64::from_le_bytes(word)
    }
}

fn lengths(stored: &[u8], raw_len: usize) -> Result<[usize; 4], &'static str> {
    let header: &[u8; PACK_HEADER_LEN] = stored.first_chunk().ok_or("too short")?;
    let mut lengths = [0; 4];
    for (len, bytes) in lengths.iter_mut().zip(header.chunks_exact(4)) {
        *len = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
    }
    let [codes, literals, stored_codes, stored_literals] = lengths;
    let possible =
        codes <= raw_len / 8 && literals <= raw_len / 8 * 9 && stored_codes <= codes && stored_literals <= literals;
    if raw_len.is_multiple_of(8) && possible { Ok(lengths) } else { Err("impossible lengths") }
}

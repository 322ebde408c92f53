//! The packing half.

use reweave_model::wire::{ACCESS_WORDS, Malformed, kind as k};

use super::*;
use crate::format::foreseen::run_counts;
use reweave_model::wire::kind::{Shape, payload_words};

/// What walking the records of a chunk tells, beside the packed bytes.
pub struct Packed {
    /// Words of whole, known records: what was packed.
    pub words: usize,
    /// Why it stopped there, if that is not the end, and the number of the record.
    pub stopped: Option<(usize, Malformed)>,
    pub events: u32,
    /// Runs of foreseen accesses are among them.
    pub foreseen: bool,
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
        if self.literals.len() < words.len() * 9 + 8 {
            self.literals.resize(words.len() * 9 + 8, 0);
            self.codes.resize(words.len(), 0);
        }
        let Self { tables, codes, literals, counts } = self;
        let mut put = Literals { bytes: &mut literals[..], len: 0 };
        let context_before = counts[..=k::STACK_DEF as usize].iter().sum::<u64>();
        let (mut at, mut records, mut stopped, mut context) = (0, 0, None, 0);
        let (mut reads, mut writes) = (0u64, 0u64);
        let (mut runs, mut in_runs) = (0, 0);
        while at < words.len() {
            let (run, run_writes) = foreseen(tables, &words[at..], &mut codes[records..], &mut put, &mut context);
            reads += run as u64 - run_writes;
            writes += run_writes;
            records += run;
            at += run * ACCESS_WORDS;
            if at == words.len() {
                break;
            }
            let head = words[at];
            let (mut len, mut rest) = (ACCESS_WORDS, false);
            if !matches!(head as u8, k::READ | k::WRITE) || at + ACCESS_WORDS > words.len() {
                match length(&words[at..]) {
                    Ok(found) => len = found,
                    Err(why) => {
                        stopped = Some((records, why));
                        break;
                    }
                }
                rest = true;
            }
            let next = &mut tables.next[next_at(context)];
            let mut code = 0;
            if *next != head {
                *next = head;
                code = HEAD_MISS;
                put.put(head, 8);
                new_head(head, &words[at..at + len]);
            } else if rest && matches!(head as u8, k::STACK_DEF | k::MODULE) {
                new_head(head, &words[at..at + len]);
            }
            let mixed = mix(head);
            context = context_after(context, mixed);
            counts[head as u8 as usize] += 1;
            if head as u8 == k::FORESEEN {
                let (all, written) = run_counts(&words[at..]);
                (runs, in_runs) = (runs + 1, in_runs + all);
                reads += all.saturating_sub(written);
                writes += written;
            }
            if !rest || len > 1 {
                let slot = &mut tables.slots[slot_at(mixed)];
                let word1 = words[at + 1];
                code |= word1_code(slot, word1, &mut put);
                if head as u8 == k::FORESEEN {
                    for &value in &words[at + 2..at + len] {
                        values::put(value, &mut put);
                    }
                } else if !rest || len > 2 {
                    let value = &mut tables.values[value_at(word1)];
                    code |= word2_code(slot, value, words[at + 2], &mut put);
                    if rest {
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
        counts[k::READ as usize] += reads;
        counts[k::WRITE as usize] += writes;
        let context = counts[..=k::STACK_DEF as usize].iter().sum::<u64>() - context_before;
        let literals_len = put.len;
        let start = out.len();
        out.resize(start + PACK_HEADER_LEN, 0);
        let stored_codes = lz4::compress_if_smaller(&codes[..records], out);
        let stored_literals = lz4::compress_if_smaller(&literals[..literals_len], out);
        for (i, len) in [records, literals_len, stored_codes, stored_literals].into_iter().enumerate() {
            out[start + 4 * i..][..4].copy_from_slice(&(len as u32).to_le_bytes());
        }
        let events = (records as u64 - context - runs + in_runs) as u32;
        Packed { words: at, stopped, events, foreseen: runs > 0 }
    }
}

/// Packs accesses as long as it is foreseen which they are and where; their values may be new. Most of a loop goes this
/// way, and one that only reads costs one zero byte and a branch that the processor learns for each; apart from the rest
/// so that everything stays in registers. Returns how many, and how many of them are writes.
#[inline(never)]
fn foreseen(
    tables: &mut Tables,
    words: &[u64],
    codes: &mut [u8],
    put: &mut Literals<'_>,
    context_of_last: &mut u64,
) -> (usize, u64) {
    let Tables { next, slots, values } = tables;
    let (mut context, mut writes, mut run) = (*context_of_last, 0, 0);
    // What is pointed to would be stored for every access.
    let mut out = Literals { bytes: &mut *put.bytes, len: put.len };
    for (&[head, word1, word2], code) in words.as_chunks::<ACCESS_WORDS>().0.iter().zip(codes) {
        if !matches!(head as u8, k::READ | k::WRITE) {
            break;
        }
        let mixed = mix(head);
        let slot = &mut slots[slot_at(mixed)];
        let hit = (next[next_at(context)] == head) & (word1.wrapping_sub(slot.word1) == slot.stride);
        if !hit {
            break;
        }
        let value = &mut values[value_at(word1)];
        slot.word1 = word1;
        *code = if *value == word2 {
            slot.word2 = word2;
            0
        } else {
            word2_code(slot, value, word2, &mut out)
        };
        context = context_after(context, mixed);
        writes += u64::from(head as u8 == k::WRITE);
        run += 1;
    }
    put.len = out.len;
    *context_of_last = context;
    (run, writes)
}

/// Length of a record that is not an access.
#[inline(never)]
fn length(words: &[u64]) -> Result<usize, Malformed> {
    let shape = Shape::of(words[0]);
    let mut len = shape.fixed();
    if len == 0 {
        return Err(Malformed::UnknownKind(words[0] as u8));
    }
    if shape.has_payload() && len <= words.len() {
        len += payload_words(words[len - 1]);
    }
    if len > words.len() { Err(Malformed::Truncated) } else { Ok(len) }
}

/// Significant bits of a distance, its sign included.
#[inline(always)]
fn width(distance: u64) -> u32 {
    65 - (distance ^ (distance as i64 >> 63) as u64).leading_zeros()
}

// Without branches where the class follows no pattern that the processor could learn.

#[inline(always)]
fn word1_code(slot: &mut Slot, word1: u64, put: &mut Literals<'_>) -> u8 {
    /// Class by width.
    const CLASS: [u8; 66] = {
        let mut class = [3; 66];
        let mut width = 0;
        while width <= 32 {
            class[width] = if width <= 16 { 1 } else { 2 };
            width += 1;
        }
        class
    };
    let distance = word1.wrapping_sub(slot.word1);
    let class = if distance == slot.stride { 0 } else { CLASS[width(distance) as usize] };
    put.put(distance, WORD1_LEN[class as usize & 3]);
    slot.stride = distance;
    slot.word1 = word1;
    class << WORD1_SHIFT
}

#[inline(always)]
fn word2_code(slot: &mut Slot, value: &mut u64, word2: u64, put: &mut Literals<'_>) -> u8 {
    const CLASS: [u8; 66] = {
        let mut class = [6; 66];
        let mut width = 0;
        while width <= 40 {
            class[width] = match width {
                0..=16 => 3,
                17..=32 => 4,
                _ => 5,
            };
            width += 1;
        }
        class
    };
    let from_value = word2.wrapping_sub(*value);
    let from_slot = word2.wrapping_sub(slot.word2);
    let mut class = CLASS[width(from_slot) as usize];
    let mut literal = if class == 6 { word2 } else { from_slot };
    let near = from_value.wrapping_add(128) < 256;
    class = if near { 2 } else { class };
    literal = if near { from_value } else { literal };
    class = if from_slot == 0 { 1 } else { class };
    class = if from_value == 0 { 0 } else { class };
    put.put(literal, WORD2_LEN[class as usize & 7]);
    *value = word2;
    slot.word2 = word2;
    class << WORD2_SHIFT
}

/// Literals being written: eight bytes are stored at a time, and the position moves by those that count.
pub(super) struct Literals<'a> {
    // invariant: eight bytes longer than all literals together can be
    bytes: &'a mut [u8],
    len: usize,
}

impl Literals<'_> {
    #[inline(always)]
    pub(super) fn put(&mut self, value: u64, len: usize) {
        self.bytes[self.len..self.len + 8].copy_from_slice(&value.to_le_bytes());
        self.len += len;
    }
}

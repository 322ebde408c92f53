//! Which memory is worth looking at: words that several threads access and somebody writes, or that somebody changed
//! unseen. An over-approximation: a word counts as shared even if its users had it in different lives.

use crate::linear::FastMap;
use reweave_model::{Addr, Event, Op, Value};
use reweave_trace::{Symbols, WordAccess};

const PAGE_WORDS: u64 = 512;
const NOBODY: u32 = 0;
const SHARED: u32 = u32::MAX >> 1;
/// Somebody writes the word.
const WRITTEN: u32 = 1 << 31;

struct Page {
    /// For each word the only thread (plus one), or [`SHARED`], and [`WRITTEN`].
    users: [u32; PAGE_WORDS as usize],
    /// What is there by the recorded accesses, and which bytes of it are known.
    values: [u64; PAGE_WORDS as usize],
    known: [u8; PAGE_WORDS as usize],
}

#[derive(Default)]
pub(super) struct Sharing {
    pages: FastMap<u64, Box<Page>>,
}

/// The bytes of a word that an access covers, as a mask of bytes.
fn covered(word: u64, addr: u64, end: u64) -> u8 {
    let (from, to) = (addr.max(word * 8) - word * 8, end.min((word * 8).saturating_add(8)) - word * 8);
    (0xffu16 >> (8 - (to - from)) << from) as u8
}

/// A mask of bytes as one of bits.
const fn bits(mask: u8) -> u64 {
    BITS[mask as usize]
}

const BITS: [u64; 256] = {
    let mut all = [0; 256];
    let mut mask = 0;
    while mask < 256 {
        let mut byte = 0;
        while byte < 8 {
            if mask >> byte & 1 != 0 {
                all[mask] |= 0xff << (8 * byte);
            }
            byte += 1;
        }
        mask += 1;
    }
    all
};

/// The part of a value that lies in a word, at its place there.
fn part(value: Value<'_>, word: u64, addr: u64) -> Option<u64> {
    match value {
        Value::Word(value) if word * 8 <= addr => Some(value << (8 * (addr - word * 8))),
        Value::Word(value) => Some(value.checked_shr(8 * (word * 8 - addr) as u32).unwrap_or(0)),
        Value::Bytes(bytes) => {
            let mut part = [0; 8];
            for (i, byte) in part.iter_mut().enumerate() {
                let at = (word * 8 + i as u64).checked_sub(addr);
                *byte = at.and_then(|at| bytes.get(at as usize)).copied().unwrap_or(0);
            }
            Some(u64::from_le_bytes(part))
        }
        Value::Unknown => None,
    }
}

impl Sharing {
    /// As [`Sharing::event`], for accesses of up to eight bytes.
    pub fn access(&mut self, access: &WordAccess, initial: Option<&Symbols>) {
        let (addr, word) = (access.addr.0, access.addr.0 / 8);
        let end = addr.saturating_add(access.size().into());
        if end > (word * 8).saturating_add(8) {
            return self.event(&access.event(), initial);
        }
        let number = word / PAGE_WORDS;
        let page = self.pages.entry(number).or_insert_with(|| Page::new(number, initial));
        let value = Some(Some(access.value() << (8 * (addr - word * 8))));
        let (read, written) = if access.is_write() { (None, value) } else { (value, None) };
        let mask = covered(word, addr, end);
        page.touch((word % PAGE_WORDS) as usize, access.thread.0 + 1, mask, read, written);
    }

    /// `initial`: what globals held before the trace, if that is known.
    pub fn event(&mut self, event: &Event<'_>, initial: Option<&Symbols>) {
        let (addr, size, read, written) = match event.op {
            Op::Read { addr, size, value, .. } => (addr.0, u64::from(size), Some(value), None),
            Op::Write { addr, size, value, .. } => (addr.0, u64::from(size), None, Some(value)),
            Op::Atomic { addr, size, kind, read, written, .. } => {
                let (read, written) = (kind.reads().then_some(read), kind.writes().then_some(written));
                (addr.0, u64::from(size), read, written)
            }
            Op::Free { addr, size } => (addr.0, size, None, Some(Value::Unknown)),
            Op::Alloc { addr, size } => (addr.0, size, None, None),
            _ => return,
        };
        let tag = event.thread.0 + 1;
        // What nobody accessed is not of interest to `malloc` and `free` either.
        let only_known = matches!(event.op, Op::Free { .. } | Op::Alloc { .. });
        let fresh = matches!(event.op, Op::Alloc { .. });
        let end = addr.saturating_add(size);
        let (mut word, last) = (addr / 8, end.div_ceil(8));
        while word < last {
            let stop = last.min((word / PAGE_WORDS + 1) * PAGE_WORDS);
            let page = match self.pages.get_mut(&(word / PAGE_WORDS)) {
                Some(page) => page,
                None if only_known => {
                    word = stop;
                    continue;
                }
                None => self.pages.entry(word / PAGE_WORDS).or_insert_with(|| Page::new(word / PAGE_WORDS, initial)),
            };
            while word < stop {
                let i = (word % PAGE_WORDS) as usize;
                let mask = covered(word, addr, end);
                if fresh {
                    page.known[i] &= !mask;
                } else {
                    page.touch(
                        i,
                        tag,
                        mask,
                        read.map(|value| part(value, word, addr)),
                        written.map(|value| part(value, word, addr)),
                    );
                }
                word += 1;
            }
        }
    }

    /// Whether several threads use some of these bytes and somebody writes them, or somebody changed them unseen.
    #[inline]
    pub fn matters(&self, addr: u64, size: u64) -> bool {
        let mut word = addr / 8;
        if size <= 8 - addr % 8 && size > 0 {
            let page = self.pages.get(&(word / PAGE_WORDS));
            return page.is_some_and(|page| page.users[(word % PAGE_WORDS) as usize] == SHARED | WRITTEN);
        }
        let end = addr.saturating_add(size).div_ceil(8);
        while word < end {
            let stop = end.min((word / PAGE_WORDS + 1) * PAGE_WORDS);
            if let Some(page) = self.pages.get(&(word / PAGE_WORDS))
                && page.users[(word % PAGE_WORDS) as usize..((stop - 1) % PAGE_WORDS) as usize + 1]
                    .contains(&(SHARED | WRITTEN))
            {
                return true;
            }
            word = stop;
        }
        false
    }
}

impl Page {
    fn new(number: u64, initial: Option<&Symbols>) -> Box<Self> {
        const WORDS: usize = PAGE_WORDS as usize;
        let mut page = Box::new(Self { users: [NOBODY; WORDS], values: [0; WORDS], known: [0; WORDS] });
        let initial = initial.filter(|symbols| symbols.has_initial(Addr(number * PAGE_WORDS * 8), PAGE_WORDS * 8));
        for i in 0..initial.map_or(0, |_| WORDS) {
            let addr = Addr((number * PAGE_WORDS + i as u64) * 8);
            if let Some(bytes) = initial.and_then(|symbols| symbols.initial(addr, 8)) {
                page.values[i] = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
                page.known[i] = 0xff;
            }
        }
        page
    }

    /// A thread reads and writes some bytes of a word; an inner `None` is a value that is not known.
    fn touch(&mut self, i: usize, tag: u32, mask: u8, read: Option<Option<u64>>, written: Option<Option<u64>>) {
        let user = &mut self.users[i];
        let owner = *user & !WRITTEN;
        if owner == NOBODY {
            *user |= tag;
        } else if owner != tag && owner != SHARED {
            *user = *user & WRITTEN | SHARED;
        }
        if let Some(Some(value)) = read {
            let expected = bits(self.known[i] & mask);
            if (self.values[i] ^ value) & expected != 0 {
                // Nobody was seen to write that.
                *user = SHARED | WRITTEN;
            }
            self.set(i, mask, value);
        }
        match written {
            Some(Some(value)) => self.set(i, mask, value),
            Some(None) => self.known[i] &= !mask,
            None => return,
        }
        self.users[i] |= WRITTEN;
    }

    fn set(&mut self, i: usize, mask: u8, value: u64) {
        let new = bits(mask);
        self.values[i] = self.values[i] & !new | value & new;
        self.known[i] |= mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_values() {
        assert_eq!(part(Value::Word(0x1234), 1, 10), Some(0x1234_0000));
        assert_eq!(part(Value::Word(0x1122_3344_5566_7788), 2, 12), Some(0x1122_3344));
        assert_eq!(part(Value::Bytes(&[1, 2, 3, 4, 5, 6]), 2, 14), Some(0x0605_0403));
        assert_eq!((covered(1, 10, 12), covered(2, 12, 20), covered(2, 0, 99)), (0b1100, 0b1111, 0xff));
    }
}

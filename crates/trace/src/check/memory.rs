//! Shadow memory, byte by byte: what the recorded accesses say is there, and word by word, who uses it.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use reweave_model::{Addr, ThreadId};

use crate::format::pack::PcHasher;

const PAGE_BITS: u32 = 12;
const PAGE: usize = 1 << PAGE_BITS;
/// Bytes that have one owner together.
const WORD: usize = 8;
const NOBODY: u32 = 0;
const SHARED: u32 = u32::MAX;

struct Page {
    bytes: [u8; PAGE],
    /// Whether the byte is known, by a write or by a read before; 0 or 1.
    known: [u8; PAGE],
    /// The only thread (plus one) that accessed the word in this life of it, [`NOBODY`] or [`SHARED`].
    owners: [u32; PAGE / WORD],
}

const ALL_KNOWN: u64 = 0x0101_0101_0101_0101;

fn get(bytes: &[u8; 8]) -> u64 {
    u64::from_le_bytes(*bytes)
}

#[derive(Default)]
pub(super) struct Memory {
    pages: HashMap<u64, u32, BuildHasherDefault<PcHasher>>,
    store: Vec<Box<Page>>,
    /// Pages used lately, by the low bits of their number: number and index.
    recent: Recent,
}

struct Recent([(u64, u32); 64]);

impl Default for Recent {
    fn default() -> Self {
        // No page has this number: addresses have 64 bits.
        Self([(u64::MAX, 0); 64])
    }
}

/// What a read met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ReadCheck {
    Same,
    /// At least one byte was not known, and none differed.
    Initial,
    Other {
        at: u64,
        expected: u8,
        found: u8,
    },
}

impl Memory {
    fn page(&mut self, number: u64) -> &mut Page {
        let recent = &mut self.recent.0[number as usize % 64];
        if recent.0 != number {
            let store = &mut self.store;
            let index = *self.pages.entry(number).or_insert_with(|| {
                store.push(Box::new(Page { bytes: [0; PAGE], known: [0; PAGE], owners: [NOBODY; PAGE / WORD] }));
                store.len() as u32 - 1
            });
            *recent = (number, index);
        }
        let index = recent.1 as usize;
        &mut self.store[index]
    }

    /// The thread uses these bytes. Calls `shared` with each word (address / 8) that was another's alone until now.
    pub fn owned_by(&mut self, thread: ThreadId, addr: u64, size: usize, mut shared: impl FnMut(u64)) {
        let tag = thread.0 + 1;
        self.pieces(addr, size, |page, done, range| {
            let first = addr.wrapping_add(done as u64) / WORD as u64;
            for (i, owner) in page.owners[range.start / WORD..range.end.div_ceil(WORD)].iter_mut().enumerate() {
                if *owner == tag || *owner == SHARED {
                    continue;
                }
                if *owner == NOBODY {
                    *owner = tag;
                } else {
                    *owner = SHARED;
                    shared(first + i as u64);
                }
            }
        });
    }

    /// Whether one thread alone used these bytes so far.
    pub fn is_private(&mut self, addr: u64, size: usize) -> bool {
        let mut private = true;
        self.pieces(addr, size, |page, _, range| {
            private &= !page.owners[range.start / WORD..range.end.div_ceil(WORD)].contains(&SHARED);
        });
        private
    }

    /// For an access of at most eight bytes inside a page: the eight bytes there (known, value), which of them count,
    /// and the new ones. Nearly all accesses are such.
    fn as_word(&mut self, addr: u64, bytes: &[u8]) -> Option<(&mut [u8; 8], &mut [u8; 8], u64, u64)> {
        let start = addr as usize % PAGE;
        if !(1..=8).contains(&bytes.len()) || start + 8 > PAGE {
            return None;
        }
        let mut new = [0; 8];
        new[..bytes.len()].copy_from_slice(bytes);
        let page = self.page(addr >> PAGE_BITS);
        let known = page.known[start..].first_chunk_mut()?;
        let old = page.bytes[start..].first_chunk_mut()?;
        Some((known, old, u64::MAX >> (64 - 8 * bytes.len()), u64::from_le_bytes(new)))
    }

    /// Calls `f` for each page the bytes touch, with the bytes' offset in the access and their place in the page.
    fn pieces(&mut self, addr: u64, len: usize, mut f: impl FnMut(&mut Page, usize, std::ops::Range<usize>)) {
        let mut done = 0;
        while done < len {
            let at = addr.wrapping_add(done as u64);
            let start = at as usize % PAGE;
            let piece = (PAGE - start).min(len - done);
            f(self.page(at >> PAGE_BITS), done, start..start + piece);
            done += piece;
        }
    }

    /// Compares, and takes what was read as what is there from now on.
    pub fn read(&mut self, addr: u64, bytes: &[u8]) -> ReadCheck {
        if let Some((known, old, mask, new)) = self.as_word(addr, bytes)
            && (get(known) ^ ALL_KNOWN) & mask == 0
            && (get(old) ^ new) & mask == 0
        {
            return ReadCheck::Same;
        }
        let mut found = ReadCheck::Same;
        self.pieces(addr, bytes.len(), |page, done, range| {
            let new = &bytes[done..done + range.len()];
            let known = &mut page.known[range.clone()];
            let old = &mut page.bytes[range];
            if known.iter().all(|&known| known == 1) && old == new {
                return;
            }
            for (i, (&byte, (known, old))) in new.iter().zip(known.iter_mut().zip(old)).enumerate() {
                if *known == 0 {
                    if found == ReadCheck::Same {
                        found = ReadCheck::Initial;
                    }
                } else if *old != byte && !matches!(found, ReadCheck::Other { .. }) {
                    let at = addr.wrapping_add((done + i) as u64);
                    found = ReadCheck::Other { at, expected: *old, found: byte };
                }
                (*known, *old) = (1, byte);
            }
        });
        found
    }

    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
        if let Some((known, old, mask, new)) = self.as_word(addr, bytes) {
            *known = (get(known) & !mask | ALL_KNOWN & mask).to_le_bytes();
            *old = (get(old) & !mask | new & mask).to_le_bytes();
            return;
        }
        self.pieces(addr, bytes.len(), |page, done, range| {
            page.bytes[range.clone()].copy_from_slice(&bytes[done..done + range.len()]);
            page.known[range].fill(1);
        });
    }

    /// The bytes are new (allocated), gone (freed) or written with something that was not captured.
    pub fn forget(&mut self, addr: Addr, size: u64) {
        let (start, end) = (addr.0, addr.0.saturating_add(size));
        let clear = |number: u64, page: &mut Page| {
            let base = number << PAGE_BITS;
            let from = start.saturating_sub(base).min(PAGE as u64) as usize;
            let to = end.saturating_sub(base).min(PAGE as u64) as usize;
            page.known[from..to].fill(0);
            // A word that only in part belongs to the block keeps its owner: shared is the safe answer.
            let (first, end) = (from.div_ceil(WORD), to / WORD);
            if first < end {
                page.owners[first..end].fill(NOBODY);
            }
        };
        let numbers = start >> PAGE_BITS..=end.saturating_sub(1).max(start) >> PAGE_BITS;
        // A huge block has few known pages: look at those instead.
        if numbers.end() - numbers.start() < self.pages.len() as u64 {
            for number in numbers {
                if let Some(&index) = self.pages.get(&number) {
                    clear(number, &mut self.store[index as usize]);
                }
            }
        } else {
            for (&number, &index) in &self.pages {
                if numbers.contains(&number) {
                    clear(number, &mut self.store[index as usize]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_overlap_and_cross_pages() {
        let mut memory = Memory::default();
        let edge = 0x7000 - 3;
        memory.write(edge, &[1, 2, 3, 4, 5, 6]);
        assert_eq!(memory.read(edge + 1, &[2, 3, 4]), ReadCheck::Same);
        memory.write(edge + 2, &[9]);
        assert_eq!(memory.read(edge, &[1, 2, 9, 4]), ReadCheck::Same);
        assert_eq!(memory.read(edge + 3, &[7]), ReadCheck::Other { at: edge + 3, expected: 4, found: 7 });
        assert_eq!(memory.read(edge + 3, &[7]), ReadCheck::Same, "taken as what is there");
        assert_eq!(memory.read(edge + 5, &[6, 0]), ReadCheck::Initial);
        memory.forget(Addr(edge), 2);
        assert_eq!(memory.read(edge, &[8, 8, 9]), ReadCheck::Initial);
        memory.forget(Addr(0), u64::MAX);
        assert_eq!(memory.read(edge, &[1]), ReadCheck::Initial);
    }
}

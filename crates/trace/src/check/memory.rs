//! Shadow memory, byte by byte: what the recorded accesses say is there.

use std::collections::HashMap;

use reweave_model::Addr;

const PAGE_BITS: u32 = 12;
const PAGE: usize = 1 << PAGE_BITS;

struct Page {
    bytes: [u8; PAGE],
    /// Whether the byte is known, by a write or by a read before; 0 or 1.
    known: [u8; PAGE],
}

#[derive(Default)]
pub(super) struct Memory {
    pages: HashMap<u64, usize>,
    store: Vec<Box<Page>>,
    /// The page used last: most accesses stay on it.
    last: Option<(u64, usize)>,
}

/// What a read met.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
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
        let index = match self.last {
            Some((last, index)) if last == number => index,
            _ => {
                let store = &mut self.store;
                let index = *self.pages.entry(number).or_insert_with(|| {
                    store.push(Box::new(Page { bytes: [0; PAGE], known: [0; PAGE] }));
                    store.len() - 1
                });
                self.last = Some((number, index));
                index
            }
        };
        &mut self.store[index]
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
    pub fn read(&mut self, addr: u64, bytes: &[u8]) -> Found {
        let mut found = Found::Same;
        self.pieces(addr, bytes.len(), |page, done, range| {
            let new = &bytes[done..done + range.len()];
            let known = &mut page.known[range.clone()];
            let old = &mut page.bytes[range];
            if known.iter().all(|&known| known == 1) && old == new {
                return;
            }
            for (i, (&byte, (known, old))) in new.iter().zip(known.iter_mut().zip(old)).enumerate() {
                if *known == 0 {
                    if found == Found::Same {
                        found = Found::Initial;
                    }
                } else if *old != byte && !matches!(found, Found::Other { .. }) {
                    let at = addr.wrapping_add((done + i) as u64);
                    found = Found::Other { at, expected: *old, found: byte };
                }
                (*known, *old) = (1, byte);
            }
        });
        found
    }

    pub fn write(&mut self, addr: u64, bytes: &[u8]) {
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
        };
        let numbers = start >> PAGE_BITS..=end.saturating_sub(1).max(start) >> PAGE_BITS;
        // A huge block has few known pages: look at those instead.
        if numbers.end() - numbers.start() < self.pages.len() as u64 {
            for number in numbers {
                if let Some(&index) = self.pages.get(&number) {
                    clear(number, &mut self.store[index]);
                }
            }
        } else {
            for (&number, &index) in &self.pages {
                if numbers.contains(&number) {
                    clear(number, &mut self.store[index]);
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
        assert_eq!(memory.read(edge + 1, &[2, 3, 4]), Found::Same);
        memory.write(edge + 2, &[9]);
        assert_eq!(memory.read(edge, &[1, 2, 9, 4]), Found::Same);
        assert_eq!(memory.read(edge + 3, &[7]), Found::Other { at: edge + 3, expected: 4, found: 7 });
        assert_eq!(memory.read(edge + 3, &[7]), Found::Same, "taken as what is there");
        assert_eq!(memory.read(edge + 5, &[6, 0]), Found::Initial);
        memory.forget(Addr(edge), 2);
        assert_eq!(memory.read(edge, &[8, 8, 9]), Found::Initial);
        memory.forget(Addr(0), u64::MAX);
        assert_eq!(memory.read(edge, &[1]), Found::Initial);
    }
}

//! From addresses to dense numbers of eight-byte words: a table of pages, found by a small cache and a hash behind it.

use super::Word;
use super::hash::FastMap;

const PAGE_BITS: u32 = 9;
const PAGE: usize = 1 << PAGE_BITS;
const CACHE: usize = 256;

/// Number 0 in a page stands for a word never touched in this life.
type Page = [u32; PAGE];

pub(super) struct Words {
    pages: FastMap<u64, u32>,
    store: Vec<Page>,
    /// Pages used lately, by the low bits of their number: number and index. No page has the number `u64::MAX`.
    recent: Box<[(u64, u32); CACHE]>,
    /// Numbers that are free again.
    free: Vec<Word>,
    next: u32,
}

impl Default for Words {
    fn default() -> Self {
        Self {
            pages: FastMap::default(),
            store: Vec::new(),
            recent: Box::new([(u64::MAX, 0); CACHE]),
            free: Vec::new(),
            next: 0,
        }
    }
}

impl Words {
    /// How many words there are, live or not.
    pub const fn len(&self) -> usize {
        self.next as usize
    }

    /// The word that holds the address.
    #[inline]
    pub fn at(&mut self, addr: u64) -> Word {
        let (page, place) = (addr >> (3 + PAGE_BITS), (addr >> 3) as usize % PAGE);
        let recent = self.recent[page as usize % CACHE];
        let index = if recent.0 == page { recent.1 } else { self.page(page) };
        let number = self.store[index as usize][place];
        if number != 0 { Word(number - 1) } else { self.new_word(index, place) }
    }

    #[cold]
    fn page(&mut self, page: u64) -> u32 {
        let store = &mut self.store;
        let index = *self.pages.entry(page).or_insert_with(|| {
            store.push([0; PAGE]);
            store.len() as u32 - 1
        });
        self.recent[page as usize % CACHE] = (page, index);
        index
    }

    #[cold]
    fn new_word(&mut self, index: u32, place: usize) -> Word {
        let word = self.free.pop().unwrap_or_else(|| {
            self.next += 1;
            assert!(self.next < u32::MAX, "more than four thousand million words of memory");
            Word(self.next - 1)
        });
        self.store[index as usize][place] = word.0 + 1;
        word
    }

    /// Calls `f` with the word address (in words) and the entry of every known word among the given ones.
    fn known(&mut self, first: u64, last: u64, mut f: impl FnMut(u64, &mut u32)) {
        let pages = first >> PAGE_BITS..=last >> PAGE_BITS;
        let mut visit = |number: u64, page: &mut Page| {
            let base = number << PAGE_BITS;
            let from = first.saturating_sub(base).min(PAGE as u64) as usize;
            let to = (last - base.min(last) + 1).min(PAGE as u64) as usize;
            for (i, entry) in page.iter_mut().enumerate().take(to).skip(from) {
                if *entry != 0 {
                    f(base + i as u64, entry);
                }
            }
        };
        // A huge block has few known pages: look at those instead.
        if pages.end() - pages.start() < self.pages.len() as u64 {
            for number in pages {
                if let Some(&index) = self.pages.get(&number) {
                    visit(number, &mut self.store[index as usize]);
                }
            }
        } else {
            let mut within: Vec<_> = self.pages.iter().map(|(&number, &index)| (number, index)).collect();
            within.retain(|(number, _)| pages.contains(number));
            within.sort_unstable();
            within.into_iter().for_each(|(number, index)| visit(number, &mut self.store[index as usize]));
        }
    }

    /// Words of the range that have been touched, with the address of each, ascending.
    pub fn touched(&mut self, addr: u64, size: u64, mut f: impl FnMut(u64, Word)) {
        if size > 0 {
            let last = addr.saturating_add(size - 1);
            self.known(addr >> 3, last >> 3, |word, entry| f(word << 3, Word(*entry - 1)));
        }
    }

    /// Ends the life of the words that the range touches and calls `f` with each.
    pub fn forget(&mut self, addr: u64, size: u64, mut f: impl FnMut(u64, Word)) {
        if size == 0 {
            return;
        }
        let mut free = std::mem::take(&mut self.free);
        let last = addr.saturating_add(size - 1);
        self.known(addr >> 3, last >> 3, |place, entry| {
            let word = Word(std::mem::take(entry) - 1);
            f(place << 3, word);
            free.push(word);
        });
        self.free = free;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lives_get_numbers_of_their_own() {
        let mut words = Words::default();
        let (a, b) = (words.at(0x1000), words.at(0x1008));
        assert_ne!(a, b);
        assert_eq!(words.at(0x1007), a);
        let mut seen = Vec::new();
        words.touched(0, u64::MAX, |addr, word| seen.push((addr, word)));
        assert_eq!(seen, [(0x1000, a), (0x1008, b)]);
        let mut gone = Vec::new();
        words.forget(0x1008, 8, |_, word| gone.push(word));
        assert_eq!(gone, [b]);
        let far = words.at(0xffff_ffff_ffff_fff8);
        assert_eq!(far, b, "numbers are used again");
        assert_ne!(words.at(0x1008), b);
        words.forget(0, u64::MAX, |_, _| {});
        words.touched(0, u64::MAX, |_, _| panic!("all are gone"));
    }
}

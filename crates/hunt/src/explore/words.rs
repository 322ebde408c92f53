//! The words of memory that a state keeps. States differ in few of them: those that are the same are there once.

use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// Which bytes of a word are known (a bit each), and what they are.
pub type Word = (u8, u64);

/// Words that are copied together when one of them changes.
const PAGE: usize = 16;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words {
    pages: Vec<Rc<[Word; PAGE]>>,
    /// Of all words. invariant: follows from them, whatever the order of the writes
    digest: u64,
}

impl Words {
    pub fn new(words: &[Word]) -> Self {
        let mut pages = Vec::with_capacity(words.len().div_ceil(PAGE));
        for chunk in words.chunks(PAGE) {
            let mut page = [(0, 0); PAGE];
            page[..chunk.len()].copy_from_slice(chunk);
            pages.push(Rc::new(page));
        }
        let digest = words.iter().enumerate().fold(0, |digest, (at, &word)| digest ^ mixed(at, word));
        Self { pages, digest }
    }

    pub fn get(&self, at: usize) -> Word {
        self.pages[at / PAGE][at % PAGE]
    }

    pub fn set(&mut self, at: usize, word: Word) {
        let before = self.get(at);
        if before != word {
            self.digest ^= mixed(at, before) ^ mixed(at, word);
            Rc::make_mut(&mut self.pages[at / PAGE])[at % PAGE] = word;
        }
    }

    /// What one more of these takes if it differs from another one in a word.
    pub fn bytes(words: usize) -> usize {
        words.div_ceil(PAGE) * size_of::<Rc<[Word; PAGE]>>() + size_of::<[Word; PAGE]>()
    }
}

impl Hash for Words {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.digest);
    }
}

/// A number for a word at its place (the finisher of SplitMix64 over both).
fn mixed(at: usize, (known, value): Word) -> u64 {
    let mut number = value;
    for part in [u64::from(known), at as u64] {
        number = number.wrapping_add(part.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^= number >> 31;
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_writes_does_not_matter() {
        let start = Words::new(&[(0, 0); 40]);
        let (mut one, mut two) = (start.clone(), start.clone());
        for (at, value) in [(3, 7), (38, 9), (3, 8)] {
            one.set(at, (0xff, value));
        }
        for (at, value) in [(38, 9), (3, 8)] {
            two.set(at, (0xff, value));
        }
        assert!(one == two && one.digest == two.digest && one != start);
        for at in [3, 38] {
            one.set(at, (0, 0));
        }
        assert!(one == start && one.digest == start.digest);
        one.set(4, (0xff, 8));
        two.set(5, (0xff, 8));
        assert_ne!(one.digest, two.digest);
    }
}

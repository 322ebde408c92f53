//! Records that stay in memory at half their size: most of their words are small numbers.
//!
//! Much quicker to make and to read than packing, which pays for files: a trace that was converted from text is read
//! once by every pass of an analysis.

use std::sync::Arc;

use super::v1::ChunkHeader;

/// A chunk of events that was never packed.
pub(crate) struct UnpackedChunk {
    pub header: ChunkHeader,
    pub words: Unpacked,
}

/// Its records.
pub(crate) enum Unpacked {
    Wide(Arc<Vec<u64>>),
    Narrow(Narrow),
}

impl Unpacked {
    pub fn len(&self) -> usize {
        match self {
            Self::Wide(words) => words.len() * 8,
            Self::Narrow(narrow) => narrow.len(),
        }
    }
}

/// Numbers from here on stand for the words of [`Narrow::large`].
const LARGE: u32 = 0xfff0_0000;
/// Words that can be told apart if all of them are large. Only a chunk with a very long value has more.
const MOST_WORDS: usize = (u32::MAX - LARGE) as usize;

/// The records of one chunk.
pub(crate) struct Narrow {
    /// Empty where there are too many: then all of them are in `large`.
    words: Box<[u32]>,
    large: Vec<u64>,
}

/// Large words used lately, and their places: addresses of locks come again and again.
const RECENT: usize = 256;

impl Narrow {
    pub fn new(words: &[u64]) -> Self {
        if words.len() > MOST_WORDS {
            return Self { words: Box::default(), large: words.to_vec() };
        }
        let mut large: Vec<u64> = Vec::new();
        let mut recent = [0u32; RECENT];
        let narrow = |&word: &u64| {
            if word < u64::from(LARGE) {
                return word as u32;
            }
            let recent = &mut recent[(word.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize];
            if large.get(*recent as usize) != Some(&word) {
                *recent = large.len() as u32;
                large.push(word);
            }
            LARGE + *recent
        };
        let words = words.iter().map(narrow).collect();
        large.shrink_to_fit();
        Self { words, large }
    }

    /// The words as they were.
    pub fn widen(&self, into: &mut Vec<u64>) {
        into.clear();
        if self.words.is_empty() {
            into.extend_from_slice(&self.large);
        }
        into.extend(self.words.iter().map(|&word| match word.checked_sub(LARGE) {
            None => u64::from(word),
            Some(place) => self.large[place as usize],
        }));
    }

    /// What it takes in memory.
    pub fn len(&self) -> usize {
        self.words.len() * 4 + self.large.len() * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_come_back() {
        let edge = u64::from(LARGE);
        let mut words = vec![0, 1, edge - 1, edge, edge + 1, u64::from(u32::MAX), u64::MAX, 1 << 32, 1 << 46, edge];
        words.extend((0..3000u64).map(|n| ((n % 700) << 40) | n));
        words.extend((0..3000u64).map(|n| (n % 9) * 16 + (1 << 46)));
        let narrow = Narrow::new(&words);
        let mut back = vec![7];
        narrow.widen(&mut back);
        assert_eq!(back, words);
        assert!(narrow.large.len() < 3100, "what comes again is kept once: {}", narrow.large.len());
        let long: Vec<u64> = (0..MOST_WORDS as u64 + 1).map(|n| n << 20).collect();
        Narrow::new(&long).widen(&mut back);
        assert!(back == long);
    }
}

//! The last write of each byte.

use super::order::at;
use super::{Touch, Word};

/// Some bytes of a word and who wrote them.
#[derive(Clone, Debug)]
pub struct Source<T> {
    pub mask: u8,
    pub write: T,
}

/// What `T` tells about a write is up to the analysis.
pub struct LastWrites<T> {
    // invariant: the masks of a word are disjoint
    words: Vec<Sources<T>>,
}

struct Sources<T> {
    /// Nearly always the only one; with an empty mask, nothing.
    one: Option<Source<T>>,
    more: Vec<Source<T>>,
}

impl<T> Default for Sources<T> {
    fn default() -> Self {
        Self { one: None, more: Vec::new() }
    }
}

impl<T> Default for LastWrites<T> {
    fn default() -> Self {
        Self { words: Vec::new() }
    }
}

impl<T> LastWrites<T> {
    #[inline]
    pub fn write(&mut self, touch: Touch, write: T) {
        let sources = at(&mut self.words, touch.word.index());
        if !sources.more.is_empty() {
            sources.more.iter_mut().for_each(|source| source.mask &= !touch.mask);
            sources.more.retain(|source| source.mask != 0);
        }
        let new = Source { mask: touch.mask, write };
        match &mut sources.one {
            Some(one) if one.mask & !touch.mask != 0 => {
                one.mask &= !touch.mask;
                sources.more.push(new);
            }
            one => *one = Some(new),
        }
    }

    /// The writes that a read of these bytes returns.
    #[inline]
    pub fn sources(&self, touch: Touch) -> impl Iterator<Item = &T> {
        let sources = self.words.get(touch.word.index());
        let all = sources.into_iter().flat_map(|sources| sources.one.iter().chain(&sources.more));
        all.filter(move |source| source.mask & touch.mask != 0).map(|source| &source.write)
    }

    pub fn forget(&mut self, word: Word) {
        if let Some(sources) = self.words.get_mut(word.index()) {
            *sources = Sources::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_their_own_last_write() {
        let mut writes = LastWrites::default();
        let touch = |mask| Touch { word: Word(3), mask };
        let sources = |writes: &LastWrites<u32>, mask| {
            let mut all: Vec<u32> = writes.sources(touch(mask)).copied().collect();
            all.sort_unstable();
            all
        };
        assert!(sources(&writes, 0xff).is_empty());
        writes.write(touch(0x0f), 1);
        writes.write(touch(0xf0), 2);
        writes.write(touch(0x03), 3);
        assert_eq!(sources(&writes, 0xff), [1, 2, 3]);
        assert_eq!(sources(&writes, 0x1c), [1, 2]);
        writes.write(touch(0xff), 4);
        assert_eq!(sources(&writes, 0x10), [4]);
        writes.forget(Word(3));
        assert!(sources(&writes, 0xff).is_empty());
    }
}

//! Sets of small numbers.

/// A set of numbers, by bit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
// invariant: the last word is not zero
pub struct Bits(Vec<u64>);

impl Bits {
    pub fn contains(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    /// Whether it was not there.
    pub fn insert(&mut self, at: usize) -> bool {
        if self.0.len() <= at / 64 {
            self.0.resize(at / 64 + 1, 0);
        }
        let word = &mut self.0[at / 64];
        let before = *word;
        *word |= 1 << (at % 64);
        *word != before
    }

    pub fn remove(&mut self, at: usize) {
        if let Some(word) = self.0.get_mut(at / 64) {
            *word &= !(1 << (at % 64));
        }
        self.trim();
    }

    /// Whether it grew.
    pub fn add_all(&mut self, other: &Self) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut grew = false;
        for (word, more) in self.0.iter_mut().zip(&other.0) {
            grew |= more & !*word != 0;
            *word |= more;
        }
        grew
    }

    /// Whether it shrank.
    pub fn keep_all(&mut self, other: &Self) -> bool {
        let mut shrank = false;
        for (at, word) in self.0.iter_mut().enumerate() {
            let keep = *word & other.0.get(at).copied().unwrap_or(0);
            shrank |= keep != *word;
            *word = keep;
        }
        self.trim();
        shrank
    }

    pub fn remove_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, gone)| *word &= !gone);
        self.trim();
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = |at: usize, word: u64| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit);
        self.0.iter().enumerate().flat_map(move |(at, word)| bits(at, *word))
    }
}

impl FromIterator<usize> for Bits {
    fn from_iter<I: IntoIterator<Item = usize>>(all: I) -> Self {
        let mut bits = Self::default();
        all.into_iter().for_each(|at| {
            bits.insert(at);
        });
        bits
    }
}

//! Which memory is worth looking at: words that several threads access and somebody writes. An over-approximation:
//! a word counts as shared even if its users had it in different lives.

use std::collections::HashMap;

use reweave_model::{Event, Op};

const PAGE_WORDS: u64 = 512;
const NOBODY: u32 = 0;
const SHARED: u32 = u32::MAX >> 1;
/// Somebody writes the word.
const WRITTEN: u32 = 1 << 31;

#[derive(Default)]
pub(super) struct Sharing {
    /// By page: for each word the only thread (plus one), or [`SHARED`], and [`WRITTEN`].
    pages: HashMap<u64, Box<[u32; PAGE_WORDS as usize]>>,
    /// The page used last.
    last: u64,
}

impl Sharing {
    pub fn event(&mut self, event: &Event<'_>) {
        let (addr, size, writes) = match event.op {
            Op::Read { addr, size, .. } => (addr.0, u64::from(size), false),
            Op::Write { addr, size, .. } => (addr.0, u64::from(size), true),
            Op::Atomic { addr, size, kind, .. } => (addr.0, u64::from(size), kind.writes()),
            Op::Free { addr, size } => (addr.0, size, true),
            _ => return,
        };
        let tag = event.thread.0 + 1;
        let freed = matches!(event.op, Op::Free { .. });
        let (mut word, end) = (addr / 8, addr.saturating_add(size).div_ceil(8));
        while word < end {
            let page_end = (word / PAGE_WORDS + 1) * PAGE_WORDS;
            let stop = end.min(page_end);
            self.last = word / PAGE_WORDS;
            // What nobody accessed is not of interest to `free` either.
            let page = match self.pages.get_mut(&self.last) {
                Some(page) => page,
                None if freed => {
                    word = stop;
                    continue;
                }
                None => self.pages.entry(self.last).or_insert_with(|| Box::new([NOBODY; PAGE_WORDS as usize])),
            };
            for word in &mut page[(word % PAGE_WORDS) as usize..((stop - 1) % PAGE_WORDS) as usize + 1] {
                let owner = *word & !WRITTEN;
                if owner == NOBODY {
                    *word |= tag;
                } else if owner != tag && owner != SHARED {
                    *word = *word & WRITTEN | SHARED;
                }
                if writes {
                    *word |= WRITTEN;
                }
            }
            word = stop;
        }
    }

    /// Whether several threads use some of these bytes and somebody writes them.
    pub fn matters(&self, addr: u64, size: u64) -> bool {
        let mut word = addr / 8;
        let end = addr.saturating_add(size).div_ceil(8);
        while word < end {
            let stop = end.min((word / PAGE_WORDS + 1) * PAGE_WORDS);
            if let Some(page) = self.pages.get(&(word / PAGE_WORDS))
                && page[(word % PAGE_WORDS) as usize..((stop - 1) % PAGE_WORDS) as usize + 1]
                    .contains(&(SHARED | WRITTEN))
            {
                return true;
            }
            word = stop;
        }
        false
    }
}

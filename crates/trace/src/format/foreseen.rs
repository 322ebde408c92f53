//! Accesses that were foreseen stand in a chunk as runs: how many, and what could not be known. Here they become
//! records again, by the model that the writer had ([`foresight`](reweave_model::wire::foresight)).
//!
//! The words are those that would have been written without foresight: the same records in the same order.

use reweave_model::wire::foresight::{self, Foreseeable, Foresight};
use reweave_model::wire::{self, ACCESS_WORDS, kind as k};

use super::v1::MAX_RAW;

/// Goes through chunks, one after the other.
#[derive(Default)]
pub struct Expander {
    model: Option<Box<Foresight>>,
    /// Chunks so far: what the model knows of earlier ones does not count.
    chunks: u64,
}

/// The chunk being expanded.
struct Chunk<'a> {
    model: &'a mut Foresight,
    out: &'a mut Vec<u64>,
    generation: u64,
    /// Of the current thread; `None` until it is said.
    stack: Option<u32>,
    /// The value of the write that is late.
    late: u64,
    /// Accesses that may still come.
    left: u64,
    /// Accesses are not noted.
    rests: bool,
}

impl Expander {
    /// Appends the records that `words` stand for to `out`: all of them, unless an access in a run lacks its value, as
    /// where recording was cut off. `events`: no more accesses than so many are there.
    ///
    /// # Errors
    /// What the words cannot be. The records before that stand in `out`.
    pub fn expand(&mut self, words: &[u64], events: u64, out: &mut Vec<u64>) -> Result<(), &'static str> {
        self.chunks += 1;
        let model = self.model.get_or_insert_default();
        model.start();
        let generation = self.chunks << 32;
        let mut chunk = Chunk { model, out, generation, stack: Some(0), late: 0, left: events, rests: false };
        let mut at = 0;
        while let Some(&head) = words.get(at) {
            let Ok(len) = wire::length(&words[at..]) else { return Err("a record cut short") };
            let record = &words[at..at + len];
            at += len;
            match head as u8 {
                k::READ | k::WRITE => chunk.access(record),
                k::FORESEEN => {
                    if !chunk.run(record)? {
                        return Ok(());
                    }
                    continue;
                }
                k::STACK => chunk.stack = Some((head >> 16) as u32),
                k::SWITCH => chunk.switch(),
                _ => {}
            }
            chunk.out.extend_from_slice(record);
        }
        Ok(())
    }
}

impl Chunk<'_> {
    fn context(&self) -> u64 {
        self.generation | u64::from(self.stack.unwrap_or(u32::MAX))
    }

    #[inline(always)]
    fn settle(&mut self, access: &Foreseeable) {
        if self.model.is_due(access) {
            self.model.settle(self.late);
        }
    }

    fn access(&mut self, record: &[u64]) {
        let access = Foreseeable { head: record[0], context: self.context(), addr: record[1] };
        if !self.rests && Foresight::knows_size(access.size()) {
            self.settle(&access);
            self.model.note(&access, record[2]);
            if access.is_write() {
                self.late = record[2];
            }
        }
    }

    fn settle_any(&mut self) {
        if self.model.has_late() {
            self.model.settle(self.late);
        }
    }

    fn switch(&mut self) {
        self.settle_any();
        self.model.switch();
        // It says so before its first access.
        self.stack = None;
    }

    /// Whether the run is complete.
    fn run(&mut self, record: &[u64]) -> Result<bool, &'static str> {
        let count = record[0] >> 16;
        if (count, record[1] >> 32) == (0, foresight::RESTS) {
            self.settle_any();
            self.model.switch();
            self.rests = true;
        }
        if count > self.left || (self.out.len() as u64 + count * (ACCESS_WORDS as u64 + 1)) * 8 > MAX_RAW as u64 {
            return Err("more foreseen accesses than there can be");
        }
        self.left -= count;
        let mut values = record[2..].iter();
        self.out.reserve(count as usize * ACCESS_WORDS);
        for _ in 0..count {
            let slot = self.model.slots[self.model.expected as usize];
            if slot.head == 0 {
                return Err("an access that nobody could have foreseen");
            }
            let (stack, addr) = (slot.context as u32, slot.addr & !foresight::SPELLED);
            if self.stack != Some(stack) {
                self.out.push(u64::from(k::STACK) | u64::from(stack) << 16);
                self.stack = Some(stack);
            }
            let access = Foreseeable { head: slot.head, context: slot.context, addr };
            self.settle(&access);
            let value = if access.is_write() {
                let Some(&value) = values.next() else { return Ok(false) };
                self.late = value;
                self.model.pass(&access, None);
                value
            } else if self.model.spells_out() {
                let Some(&value) = values.next() else { return Ok(false) };
                self.model.pass(&access, Some(value));
                value
            } else {
                let value = self.model.load(addr, access.size());
                self.model.pass(&access, None);
                value
            };
            self.out.extend_from_slice(&[slot.head, addr, value]);
        }
        Ok(true)
    }
}

/// The records of one chunk that may hold runs.
pub fn expanded(words: &[u64]) -> Vec<u64> {
    let mut out = Vec::with_capacity(words.len());
    // What is damaged ends there, as a record that is none would.
    let _ = Expander::default().expand(words, u64::MAX, &mut out);
    out
}

/// Gives a run that was being written when its program was killed the length of what is there.
/// `run`: where its record begins.
pub fn complete(words: &mut Vec<u64>, run: usize) {
    match words.get(run..).map_or(0, <[u64]>::len).checked_sub(2) {
        None => words.truncate(run),
        Some(values) => words[run + 1] = (words[run + 1] >> 32 << 32) | (values as u64 * 8),
    }
}

/// Accesses in a run, and how many of them are writes: each has a value, and so have some reads.
pub(super) const fn run_counts(record: &[u64]) -> (u64, u64) {
    if record[0] >> 16 == 0 {
        return (0, 0);
    }
    (record[0] >> 16, ((record[1] as u32 / 8) as u64).saturating_sub(record[1] >> 32))
}

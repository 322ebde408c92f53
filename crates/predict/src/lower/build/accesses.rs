//! Accesses: which cells matter, what they hold, and writes that nobody was seen to make.

use reweave_model::{Addr, MemoryOrder, ThreadId};
use reweave_trace::Symbols;

use super::super::buffer::{Data, Kept, What};
use super::Builder;
use crate::history::*;

/// Tells values apart, nearly always.
fn fingerprint(data: &Data, part: &std::ops::Range<u64>, whole: &std::ops::Range<u64>) -> Option<u64> {
    let (offset, len) = ((part.start - whole.start) as usize, (part.end - part.start) as usize);
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    match data {
        Data::Unknown => None,
        Data::Word(word) => Some(word.to_le_bytes()[offset..offset + len].iter().fold(0xcbf2_9ce4, |h, &b| mix(h, b))),
        Data::Long(bytes) => Some(bytes[offset..offset + len].iter().fold(0xcbf2_9ce4, |hash, &byte| mix(hash, byte))),
    }
}

impl Builder {
    /// Only cells that several threads use and somebody writes are in the history.
    pub(super) fn number_cells(&mut self, kept: &[Kept], initial: Option<&Symbols>) {
        let mut users: Vec<(Option<ThreadId>, bool, bool)> = vec![(None, false, false); self.cells.len()];
        // What each cell holds, as a fingerprint, to see what changed unseen.
        let at_first = |cell: usize| {
            let bytes = self.cells.bytes(cell);
            let known = initial.filter(|_| self.cells.life(cell) == 0)?;
            let known = known.initial(Addr(bytes.start), (bytes.end - bytes.start) as usize)?;
            fingerprint(&Data::Long(known.into()), &bytes, &bytes)
        };
        let mut held: Vec<Option<u64>> = (0..self.cells.len()).map(at_first).collect();
        for (event, place) in kept.iter().zip(&self.places) {
            let Some((life, bytes)) = place else { continue };
            let writes = match &event.what {
                What::Access { written, .. } => written.is_some(),
                What::Free { .. } => true,
                _ => continue,
            };
            for cell in self.cells.within(*life, bytes.clone()) {
                let (user, shared, written) = &mut users[cell];
                *shared |= user.replace(event.thread).is_some_and(|before| before != event.thread);
                *written |= writes;
                let part = self.cells.bytes(cell);
                if let What::Access { read: Some(read), .. } = &event.what
                    && let Some(found) = fingerprint(read, &part, bytes)
                {
                    if held[cell].is_some_and(|held| held != found) {
                        (*shared, *written) = (true, true);
                    }
                    held[cell] = Some(found);
                }
                match &event.what {
                    What::Access { written: Some(new), .. } => held[cell] = fingerprint(new, &part, bytes),
                    What::Free { .. } => held[cell] = None,
                    _ => {}
                }
            }
        }
        for (cell, (_, shared, written)) in users.into_iter().enumerate() {
            if shared && written {
                self.now[cell].number = Some(self.history.initial.len() as u32);
                self.history.initial.push(Val::UNKNOWN);
            }
        }
        for place in self.places.iter().flatten().filter(|(life, _)| *life > 0) {
            if self.cells.within(place.0, place.1.clone()).any(|cell| self.now[cell].number.is_some()) {
                self.lives_that_matter.insert(place.0);
            }
        }
    }

    /// Global variables hold at first what the program's file says.
    pub(super) fn initial_values(&mut self, symbols: &Symbols) {
        for cell in 0..self.cells.len() {
            let Some(number) = self.now[cell].number.filter(|_| self.cells.life(cell) == 0) else { continue };
            let bytes = self.cells.bytes(cell);
            if let Some(known) = symbols.initial(Addr(bytes.start), (bytes.end - bytes.start) as usize) {
                let value = self.value(&Data::Long(known.into()), bytes.clone(), &bytes);
                self.history.initial[number as usize] = value;
                self.now[cell].value = Some(value);
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of an access")]
    pub(super) fn access(
        &mut self,
        index: usize,
        thread: Thread,
        kept: &Kept,
        kind: AccessKind,
        order: MemoryOrder,
        read: Option<&Data>,
        written: Option<&Data>,
    ) {
        let Some((life, bytes)) = self.places[index].clone() else { return };
        let mut access = Access { kind, order, reads: Vec::new(), writes: Vec::new() };
        let mut after = Vec::new();
        let cells = self.cells.within(life, bytes.clone());
        for cell in cells.clone() {
            let Some(number) = self.now[cell].number else { continue };
            let part = self.cells.bytes(cell);
            if let Some(read) = read {
                let value = self.observed(cell, number, part.clone(), &bytes, read);
                access.reads.push((Cell(number), value));
            }
            if let Some(written) = written {
                let value = self.value(written, part, &bytes);
                access.writes.push((Cell(number), value));
            }
        }
        if access.reads.is_empty() && access.writes.is_empty() {
            // No reordering can tell. It still carries its guard (an outcome is one): nothing else stands for it.
            let outcome = Action::Access(access).is_outcome();
            if kept.guarded || kept.doubtful || outcome || matches!(kept.what, What::Free { .. }) {
                let pos = self.push(thread, Action::Nothing, Vec::new(), Some(kept));
                self.history.steps[pos.index()].guarded |= outcome;
            }
            return;
        }
        for cell in cells.clone() {
            if let Some((pin, done)) = &mut self.now[cell].pinned
                && !done.contains(&thread)
            {
                done.push(thread);
                after.push(*pin);
            }
        }
        if let Some((alloc, done)) = self.allocs.get_mut(&life)
            && !done.contains(&thread)
        {
            done.push(thread);
            after.push(*alloc);
        }
        let writes = access.writes.clone();
        let pos = self.push(thread, Action::Access(access), after, Some(kept));
        for cell in cells {
            let now = &mut self.now[cell];
            let Some(number) = now.number else { continue };
            if let Ok(at) = writes.binary_search_by_key(&Cell(number), |(cell, _)| *cell) {
                if now.value.is_none() {
                    self.history.initial[number as usize] = Val(self.values);
                    self.values += 1;
                }
                now.value = Some(writes[at].1);
            }
            match now.last.iter_mut().find(|(who, _)| *who == thread) {
                Some((_, last)) => *last = pos,
                None => now.last.push((thread, pos)),
            }
        }
    }

    /// What a read found in a cell; what no write explains becomes an `extern` write just before.
    pub(super) fn observed(
        &mut self,
        cell: usize,
        number: u32,
        part: std::ops::Range<u64>,
        whole: &std::ops::Range<u64>,
        read: &Data,
    ) -> Val {
        let before = self.now[cell].value;
        let value = match read {
            Data::Unknown => before.unwrap_or_else(|| self.fresh()),
            known => self.value(known, part, whole),
        };
        match before {
            None => self.history.initial[number as usize] = value,
            Some(before) if before == value => {}
            Some(_) => {
                let after = self.now[cell].last.iter().map(|(_, pos)| *pos).collect();
                let access = Access {
                    kind: AccessKind::Plain,
                    order: MemoryOrder::Relaxed,
                    reads: Vec::new(),
                    writes: vec![(Cell(number), value)],
                };
                let pin = self.push(self.outside, Action::Access(access), after, None);
                self.history.steps[pin.index()].doubtful = true;
                self.now[cell].last.push((self.outside, pin));
                self.now[cell].pinned = Some((pin, Vec::new()));
            }
        }
        self.now[cell].value = Some(value);
        value
    }

    pub(super) fn fresh(&mut self) -> Val {
        self.values += 1;
        Val(self.values - 1)
    }

    /// The part of a value that lies in a cell.
    pub(super) fn value(&mut self, data: &Data, part: std::ops::Range<u64>, whole: &std::ops::Range<u64>) -> Val {
        let (offset, len) = ((part.start - whole.start) as usize, (part.end - part.start) as usize);
        let next = Val(self.values);
        let value = match data {
            Data::Unknown => return self.fresh(),
            Data::Word(word) => {
                let bits = if len >= 8 { u64::MAX } else { (1 << (8 * len)) - 1 };
                *self.words.entry((len as u64, word >> (8 * offset) & bits)).or_insert(next)
            }
            Data::Long(bytes) => {
                let part = &bytes[offset..offset + len];
                if let Some(bytes) = part.first_chunk::<8>().filter(|_| len == 8) {
                    *self.words.entry((8, u64::from_le_bytes(*bytes))).or_insert(next)
                } else if len < 8 {
                    let mut word = [0; 8];
                    word[..len].copy_from_slice(part);
                    *self.words.entry((len as u64, u64::from_le_bytes(word))).or_insert(next)
                } else {
                    *self.texts.entry(part.into()).or_insert(next)
                }
            }
        };
        if value == next {
            self.values += 1;
        }
        value
    }
}

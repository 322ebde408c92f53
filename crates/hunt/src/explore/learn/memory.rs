//! Learns accesses to memory: which words, and what was read and written by names that hold in every run.

use std::collections::HashMap;

use reweave_model::{ThreadId, Value};

use super::super::tree::{Base, Part, Request, StepResult, bits, value_of, write};
use super::{Cursor, HANDLES, LARGE, Learning};
use crate::classes::Digest;
use crate::names::{Code, Name};

impl Learning<'_> {
    /// Whether the thread is still in the library call it was in. A call reads and then writes: the same again is
    /// another call at the same place.
    pub(super) fn in_call(&self, thread: ThreadId, code: Code, writes: bool) -> bool {
        let same = |cursor: &Cursor| cursor.call == Some((code, !writes)) && writes && cursor.lead == 0;
        self.cursors.get(&thread).is_some_and(same)
    }

    /// The thread is in a library call: what it does next there follows at once. `inside`: this one did too.
    pub(super) fn fuse(&mut self, thread: ThreadId, code: Code, writes: bool, inside: bool) {
        let Some(cursor) = self.cursors.get_mut(&thread) else { return };
        cursor.call = Some((code, writes));
        if inside && !cursor.lost {
            self.tree.nodes[cursor.from as usize].fused = true;
        }
    }

    #[expect(clippy::too_many_arguments, reason = "an access has that many sides")]
    pub(super) fn access(
        &mut self,
        thread: ThreadId,
        code: Code,
        addr: u64,
        size: u32,
        read: Option<Value<'_>>,
        written: Option<Value<'_>>,
        (library, atomic): (bool, bool),
    ) {
        if size > LARGE || matches!(read, Some(Value::Unknown)) || matches!(written, Some(Value::Unknown)) {
            self.tree.doubts.foreign = true;
        }
        if size > LARGE {
            return self.local(thread);
        }
        let parts = self.parts(thread, addr, size.into());
        let bytes = read.map(|value| self.bytes(thread, value, size));
        let mut answer = if read.is_some() { StepResult::Unknown } else { StepResult::Done };
        if let Some(Some(bytes)) = &bytes {
            answer = StepResult::Value(value_of(bytes));
            for &(part, from) in &parts {
                let found = word(part.mask, &bytes[from..]);
                self.found(part, found);
            }
        }
        let mut writes = Vec::new();
        // An exchange that puts back what it finds changes nothing, however often it is tried again.
        let mut silent = false;
        if let Some(value) = written {
            match self.bytes(thread, value, size) {
                Some(bytes) => {
                    silent = atomic && answer == StepResult::Value(value_of(&bytes));
                    for &(part, from) in &parts {
                        let value = word(part.mask, &bytes[from..]);
                        let memory = self.memory.entry(part.word).or_insert((0, 0));
                        write(memory, part.mask, value);
                        writes.push((part.word, part.mask, value));
                    }
                }
                None => {
                    for (part, _) in &parts {
                        self.memory.insert(part.word, (0, 0));
                        self.seen.insert(part.word);
                        // Known to be unknown.
                        writes.push((part.word, 0, 0));
                    }
                }
            }
        }
        let parts = parts.into_iter().map(|(part, _)| part).collect();
        let ask = Request::Access { parts, reads: read.is_some(), writes: written.is_some(), atomic };
        let inside = library && self.in_call(thread, code, written.is_some());
        self.take(thread, code, ask, answer, 1, (writes.into(), silent));
        if library {
            self.fuse(thread, code, written.is_some(), inside);
        }
    }

    /// Some bytes of a word were read.
    fn found(&mut self, part: Part, value: u64) {
        let memory = self.memory.entry(part.word).or_insert((0, 0));
        let known = memory.0 & part.mask;
        let mut explained = (memory.1 ^ value) & bits(known) == 0;
        let new = part.mask & !memory.0;
        if new != 0 && !self.seen.contains(&part.word) {
            // Nobody wrote it before.
            let initial = &mut self.tree.initial[part.word as usize];
            explained &= (initial.1 ^ value) & bits(initial.0 & new) == 0;
            write(initial, new, value);
        }
        write(memory, part.mask, value);
        match self.tree.bases[part.word as usize] {
            _ if explained => {}
            Base::Stack(_) => drop(self.tree.unexplained.insert(part.word)),
            _ => self.tree.doubts.foreign = true,
        }
    }

    /// The bytes of a value. What differs from run to run goes by name: what a pointer points to, whose handle it is.
    fn bytes(&mut self, thread: ThreadId, value: Value<'_>, size: u32) -> Option<Vec<u8>> {
        let mut bytes = match value {
            Value::Word(word) => word.to_le_bytes()[..(size as usize).min(8)].to_vec(),
            Value::Bytes(bytes) => bytes.to_vec(),
            Value::Unknown => return None,
        };
        if bytes.len() % 8 == 0 {
            for word in bytes.as_chunks_mut::<8>().0 {
                *word = self.by_name(thread, u64::from_le_bytes(*word))?.to_le_bytes();
            }
        }
        Some(bytes)
    }

    fn by_name(&mut self, thread: ThreadId, word: u64) -> Option<u64> {
        if let Some(who) = self.handles.get(&word) {
            return Some(HANDLES | self.tree.descent[usize::from(*who)] >> 16);
        }
        let Name::Heap { thread, allocation, offset } = self.names.name(thread, word) else { return Some(word) };
        let mut digest = Digest::NEW;
        digest.word(self.tree.descent[usize::from(self.cursors.get(&thread)?.who)]);
        digest.word(allocation.into());
        Some(digest.number().wrapping_add(offset))
    }

    pub(super) fn base(&mut self, thread: ThreadId, addr: u64) -> (Base, i64) {
        let who = |thread: ThreadId, cursors: &HashMap<ThreadId, Cursor>| cursors.get(&thread).map_or(0, |c| c.who);
        match self.names.name(thread, addr) {
            Name::Global { module, offset } => (Base::Global(module), offset as i64),
            Name::Heap { thread, allocation, offset } => {
                (Base::Heap(who(thread, &self.cursors), allocation), offset as i64)
            }
            Name::Stack { thread, offset } => (Base::Stack(who(thread, &self.cursors)), offset),
            Name::Argument { .. } | Name::Id(_) | Name::Unknown => (Base::Raw, addr as i64),
        }
    }

    /// The words of a range, and where in it each begins.
    pub(super) fn parts(&mut self, thread: ThreadId, addr: u64, size: u64) -> Vec<(Part, usize)> {
        let (base, start) = self.base(thread, addr);
        let end = start + size as i64;
        let mut parts = Vec::new();
        let mut at = start;
        while at < end {
            let index = at.div_euclid(8);
            let until = end.min((index + 1) * 8);
            let (from, to) = (at.rem_euclid(8), until - index * 8);
            let mask = (((1u16 << to) - 1) & !((1u16 << from) - 1)) as u8;
            parts.push((Part { word: self.tree.thing(base, index, false), mask }, (at - start) as usize));
            at = until;
        }
        parts
    }
}

/// Bytes as they lie in a word.
fn word(mask: u8, bytes: &[u8]) -> u64 {
    let places = (0..8).filter(|byte| mask & 1 << byte != 0);
    places.zip(bytes).fold(0, |word, (place, &byte)| word | u64::from(byte) << (place * 8))
}

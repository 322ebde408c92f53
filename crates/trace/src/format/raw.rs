//! The events of one chunk as the program wrote it, where they stand: for those who do not want a file in between.
//!
//! Reads the same records as [`Events`](super::Events), without packing and unpacking them.

use std::collections::HashMap;

use reweave_model::wire::{self, Malformed, Record, kind as k};
use reweave_model::{Addr, Event, EventId, Pc, StackId, ThreadId};

use super::events::{WordAccess, valid_size};

/// A lending iterator over the events of one chunk.
pub struct RawEvents<'a> {
    words: &'a [u64],
    /// The next record to look at.
    at: usize,
    next_id: u64,
    thread: ThreadId,
    stack: StackId,
    /// Stacks of the threads that are not current. Every thread says its own again in each chunk.
    stacks: HashMap<ThreadId, StackId>,
    definitions: Vec<(StackId, StackId, Pc)>,
    stopped: Option<Malformed>,
}

impl<'a> RawEvents<'a> {
    /// Whole records; the first ones are performed by `thread`, and the first event has the id `first`.
    pub fn new(words: &'a [u64], first: EventId, thread: ThreadId) -> Self {
        Self {
            words,
            at: 0,
            next_id: first.0,
            thread,
            stack: StackId(0),
            stacks: HashMap::new(),
            definitions: Vec::new(),
            stopped: None,
        }
    }

    /// The next event if it is an access of up to eight bytes, as nearly all are. `None` says nothing about what
    /// follows: ask [`RawEvents::next`].
    #[inline(always)]
    pub fn next_access(&mut self) -> Option<WordAccess> {
        let &[head, addr, value] = self.words.get(self.at..)?.first_chunk()?;
        if !matches!(head as u8, k::READ | k::WRITE) || !valid_size(head) {
            return None;
        }
        self.at += wire::ACCESS_WORDS;
        let id = EventId(self.next_id);
        self.next_id += 1;
        Some(WordAccess { id, thread: self.thread, stack: self.stack, head, addr: Addr(addr), value })
    }

    /// The next event, or `None` after the last or at a record that is none ([`RawEvents::stopped`] tells).
    #[expect(clippy::should_implement_trait, reason = "the shape of the other readers of events")]
    #[inline(never)]
    pub fn next(&mut self) -> Option<Event<'a>> {
        while self.at < self.words.len() {
            let (record, len) = match wire::decode(&self.words[self.at..]) {
                Ok(decoded) => decoded,
                Err(why) => {
                    self.stopped = Some(why);
                    self.at = self.words.len();
                    return None;
                }
            };
            self.at += len;
            match record {
                Record::Event { pc, op } => {
                    let id = EventId(self.next_id);
                    self.next_id += 1;
                    return Some(Event { id, thread: self.thread, pc, stack: self.stack, op });
                }
                Record::Switch { thread } => {
                    self.stacks.insert(self.thread, self.stack);
                    self.stack = self.stacks.get(&thread).copied().unwrap_or(StackId(0));
                    self.thread = thread;
                }
                Record::Stack { stack } => self.stack = stack,
                Record::StackDef { stack, parent, pc } => self.definitions.push((stack, parent, pc)),
                Record::Pad => {}
            }
        }
        None
    }

    /// The id that the event after the last one read will have.
    pub const fn next_id(&self) -> EventId {
        EventId(self.next_id)
    }

    /// Stacks defined since this was last asked: stack, parent, call.
    pub fn definitions(&mut self) -> Vec<(StackId, StackId, Pc)> {
        std::mem::take(&mut self.definitions)
    }

    /// Why the rest of the chunk could not be read.
    pub const fn stopped(&self) -> Option<Malformed> {
        self.stopped
    }
}

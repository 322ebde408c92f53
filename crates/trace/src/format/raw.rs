//! The events of one chunk as the program wrote it, where they stand: for those who do not want a file in between.
//!
//! Reads the same records as [`Events`](super::Events), without packing and unpacking them.

use std::collections::HashMap;

use reweave_model::wire::{self, Malformed, Record, kind as k};
use reweave_model::{Addr, Event, EventId, Pc, StackId, ThreadId};

use super::events::{WordAccess, valid_size};

/// Who acts, and where: what a piece of a chunk goes on with.
#[derive(Clone, Default, Debug)]
pub struct Context {
    next_id: EventId,
    thread: ThreadId,
    stack: StackId,
    /// Stacks of the threads that are not current. Every thread says its own again in each chunk.
    stacks: HashMap<ThreadId, StackId>,
}

impl Context {
    /// At the start of a chunk whose first event has the id `first`; the first records are performed by `thread`.
    pub fn start(first: EventId, thread: ThreadId) -> Self {
        Self { next_id: first, thread, ..Self::default() }
    }
}

/// The events of one chunk, or of a piece of one.
pub struct RawEvents<'a> {
    words: &'a [u64],
    /// The next record to look at.
    at: usize,
    context: Context,
    definitions: Vec<(StackId, StackId, Pc)>,
    stopped: Option<Malformed>,
}

impl<'a> RawEvents<'a> {
    /// Whole records.
    pub fn new(words: &'a [u64], context: Context) -> Self {
        Self { words, at: 0, context, definitions: Vec::new(), stopped: None }
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
        let Context { next_id: id, thread, stack, .. } = self.context;
        self.context.next_id.0 += 1;
        Some(WordAccess { id, thread, stack, head, addr: Addr(addr), value })
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
            let context = &mut self.context;
            match record {
                Record::Event { pc, op } => {
                    let Context { next_id: id, thread, stack, .. } = *context;
                    context.next_id.0 += 1;
                    return Some(Event { id, thread, pc, stack, op });
                }
                Record::Switch { thread } => {
                    context.stacks.insert(context.thread, context.stack);
                    context.stack = context.stacks.get(&thread).copied().unwrap_or_default();
                    context.thread = thread;
                }
                Record::Stack { stack } => context.stack = stack,
                Record::StackDef { stack, parent, pc } => self.definitions.push((stack, parent, pc)),
                Record::Pad => {}
            }
        }
        None
    }

    /// The id that the event after the last one read will have.
    pub const fn next_id(&self) -> EventId {
        self.context.next_id
    }

    /// For the next piece of the same chunk.
    pub fn context(self) -> Context {
        self.context
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

//! Single events of a trace, read in one pass: whoever describes many findings would unpack a chunk for each event
//! otherwise.

use std::collections::HashMap;

use reweave_model::wire::{self, Record};
use reweave_model::{Event, EventId, StackId, ThreadId};

/// An event's record, as the program wrote it, and who performed it.
pub(super) struct KeptEvent {
    pub thread: ThreadId,
    pub stack: StackId,
    pub words: Box<[u64]>,
}

#[derive(Default)]
pub(super) struct Excerpt {
    events: HashMap<EventId, KeptEvent>,
}

impl Excerpt {
    pub fn has(&self, id: EventId) -> bool {
        self.events.contains_key(&id)
    }

    pub fn put(&mut self, id: EventId, kept: KeptEvent) {
        self.events.insert(id, kept);
    }

    pub fn event(&self, id: EventId) -> Option<Event<'_>> {
        let KeptEvent { thread, stack, words } = self.events.get(&id)?;
        match wire::decode(words) {
            Ok((Record::Event { pc, op }, _)) => Some(Event { id, thread: *thread, pc, stack: *stack, op }),
            _ => None,
        }
    }
}

//! Chunks of a text that is being converted, for those who read it meanwhile.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::v1::ChunkHeader;

/// Chunks converted and not yet read, of about a megabyte each.
const AHEAD: usize = 4;

/// A chunk, and how much of the text has been converted by then, from 0 to 1.
pub(super) struct Grown {
    pub header: ChunkHeader,
    pub words: Arc<Vec<u64>>,
    pub progress: f64,
}

/// The chunks of a text in the order of its events; [`Events::of_text`](super::Events::of_text) reads them.
pub struct Growing(Receiver<Grown>);

impl Growing {
    /// Waits for the next one. Should the converter fail, these were all.
    pub(super) fn next(&self) -> Option<Grown> {
        self.0.recv().ok()
    }
}

/// Who gets a trace while it is made.
#[derive(Default)]
pub(crate) struct Readers(Vec<SyncSender<Grown>>);

impl Readers {
    pub fn new(count: usize) -> (Self, Vec<Growing>) {
        let (senders, growing) = (0..count).map(|_| sync_channel(AHEAD)).map(|(to, from)| (to, Growing(from))).unzip();
        (Self(senders), growing)
    }

    /// Waits where a reader is far behind.
    pub fn give(&mut self, header: ChunkHeader, words: &Arc<Vec<u64>>, progress: f64) {
        // A reader may stop early.
        self.0.retain(|reader| reader.send(Grown { header, words: words.clone(), progress }).is_ok());
    }
}

//! Unpacks the chunks of a trace on a thread of its own, a few ahead of who reads them: that takes about as long as the
//! cheaper analyses do.

use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::thread::{Builder, Scope, available_parallelism};

use super::pack::Unpacker;
use super::reader::Trace;
use super::v1::ChunkHeader;

/// Chunks unpacked and not yet read, of about a megabyte each. One more is being read, and one being unpacked.
const AHEAD: usize = 2;

pub(super) struct ReadAhead {
    unpacked: Receiver<(ChunkHeader, Vec<u64>)>,
    /// Memory goes back to be used again.
    spent: Sender<Vec<u64>>,
}

impl ReadAhead {
    /// `None` where a thread would be of no use: a short trace, one that needs no unpacking, a single processor, or no
    /// thread to be had.
    pub fn start<'scope, 't: 'scope>(trace: &'t Trace, scope: &'scope Scope<'scope, '_>) -> Option<Self> {
        let packed = trace.packed_chunks();
        if packed.len() <= AHEAD || available_parallelism().is_ok_and(|count| count.get() == 1) {
            return None;
        }
        let (sender, unpacked) = sync_channel(AHEAD);
        let (spent, free) = channel();
        let unpack = move || {
            let mut unpacker = Unpacker::default();
            for chunk in packed {
                let mut words = free.try_recv().unwrap_or_default();
                let Some(header) = trace.unpack(chunk, &mut unpacker, &mut words) else { break };
                // The reader may stop early.
                if sender.send((header, words)).is_err() {
                    break;
                }
            }
        };
        Builder::new().name("unpack".into()).spawn_scoped(scope, unpack).ok()?;
        Some(Self { unpacked, spent })
    }

    /// Exchanges `words` for those of the next chunk. Should the thread have panicked, the scope does after this.
    pub fn next(&self, words: &mut Vec<u64>) -> Option<ChunkHeader> {
        let (header, unpacked) = self.unpacked.recv().ok()?;
        let spent = std::mem::replace(words, unpacked);
        // Nobody takes it after the last chunk.
        self.spent.send(spent).ok();
        Some(header)
    }
}

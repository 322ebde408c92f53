//! Chunks that were unpacked more than once: whoever goes through a trace again finds them as they were.

use std::collections::HashMap;
use std::sync::Arc;

/// Words that are kept at most: of a longer trace the first chunks that are asked for twice.
const MOST: usize = 8 << 20;

#[derive(Default)]
pub(super) struct UnpackedCache {
    chunks: HashMap<usize, CachedChunk>,
    words: usize,
}

enum CachedChunk {
    Once,
    Kept(Arc<[u64]>),
}

impl UnpackedCache {
    pub fn get(&self, chunk: usize) -> Option<Arc<[u64]>> {
        match self.chunks.get(&chunk)? {
            CachedChunk::Once => None,
            CachedChunk::Kept(words) => Some(Arc::clone(words)),
        }
    }

    /// A chunk was unpacked.
    pub fn see(&mut self, chunk: usize, words: &[u64]) {
        let again = self.chunks.insert(chunk, CachedChunk::Once).is_some();
        if again && self.words + words.len() <= MOST {
            self.words += words.len();
            self.chunks.insert(chunk, CachedChunk::Kept(words.into()));
        }
    }
}

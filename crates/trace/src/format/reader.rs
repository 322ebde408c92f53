//! Opens a trace file. Only the chunk headers are read at first; events are unpacked as they are asked for.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};
use std::thread::Scope;

use memmap2::Mmap;
use reweave_model::wire::kind;
use reweave_model::{Event, EventId};

use super::events::Events;
use super::excerpt::Excerpt;
use super::narrow::{Unpacked, UnpackedChunk};
use super::pack::{self, Unpacker};
use super::unpacked_cache::UnpackedCache;
use super::v1::{self, CHUNK_HEADER_LEN, CHUNK_MAGIC, ChunkHeader, FILE_HEADER_LEN, chunk_kind, packing};
use crate::blocks::Blocks;
use crate::symbols::Symbols;
use crate::{Error, Footer, Meta, Result, Stacks};

/// Something in the file that could not be read; reading went on after it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Damage {
    /// Byte position in the file.
    pub position: u64,
    pub what: String,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "byte {}: {}", self.position, self.what)
    }
}

enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
    Nothing,
}

impl std::ops::Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned(bytes) => bytes,
            Self::Nothing => &[],
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    /// Of its header.
    pub position: usize,
    pub header: ChunkHeader,
    /// The file ends inside it.
    pub cut: bool,
}

impl Chunk {
    /// The id of the event after its last one.
    fn next_event(&self) -> u64 {
        self.header.first_event.saturating_add(self.header.events.into())
    }
}

/// A trace, open for reading. Shared freely between threads; each makes its own [`Events`].
pub struct Trace {
    bytes: Bytes,
    path: PathBuf,
    meta: Meta,
    footer: Option<Footer>,
    // invariant: first_event grows, and no two overlap
    chunks: Vec<Chunk>,
    /// The first chunks of a trace that was made in memory and never packed.
    // invariant: wide ones come before narrow ones
    at_hand: Vec<Unpacked>,
    stack_chunks: Vec<Chunk>,
    symbol_chunk: Option<Chunk>,
    damage: Mutex<Vec<Damage>>,
    stacks: OnceLock<Stacks>,
    symbols: OnceLock<Symbols>,
    blocks: OnceLock<Blocks>,
    excerpt: RwLock<Excerpt>,
    again: Mutex<UnpackedCache>,
}

impl Trace {
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = File::open(path).map_err(Error::io(path))?;
        let about = file.metadata().map_err(Error::io(path))?;
        if !about.is_file() {
            return Err(Error::NotATrace { path: path.to_owned(), why: "not a regular file" });
        }
        let bytes = if about.len() == 0 {
            Bytes::Nothing
        } else {
            // SAFETY: a recording only appends, and nobody else is expected to write; should the file shrink while we
            // read, the process gets SIGBUS, never wrong data.
            Bytes::Mapped(unsafe { Mmap::map(&file) }.map_err(Error::io(path))?)
        };
        Self::index(bytes, path.to_owned(), Vec::new())
    }

    /// A trace held in memory.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self> {
        Self::made(bytes, Vec::new())
    }

    /// A trace held in memory, the first chunks of it unpacked.
    pub(crate) fn made(bytes: Vec<u8>, unpacked: Vec<UnpackedChunk>) -> Result<Self> {
        Self::index(Bytes::Owned(bytes), PathBuf::from("memory"), unpacked)
    }

    fn index(bytes: Bytes, path: PathBuf, unpacked: Vec<UnpackedChunk>) -> Result<Self> {
        let not = |why| Error::NotATrace { path: path.clone(), why };
        if !bytes.starts_with(&v1::FILE_MAGIC) {
            return Err(not(if bytes.is_empty() { "the file is empty" } else { "it starts differently" }));
        }
        let header: &[u8; FILE_HEADER_LEN] = bytes.first_chunk().ok_or(not("its header is cut short"))?;
        let version = u32::from_le_bytes(header[v1::FILE_VERSION_AT..][..4].try_into().expect("four bytes"));
        match version {
            // A damaged version number must not send people looking for a newer build.
            _ if !(1..=super::VERSION).contains(&version) && !v1::file_header_is_sound(header) => {
                return Err(not("its header is damaged"));
            }
            0 => return Err(not("format 0 does not exist")),
            found if found > super::VERSION => return Err(Error::TooNew { found, known: super::VERSION }),
            _ => {}
        }
        let mut trace = Self {
            bytes,
            path,
            meta: Meta::default(),
            footer: None,
            chunks: Vec::new(),
            at_hand: Vec::new(),
            stack_chunks: Vec::new(),
            symbol_chunk: None,
            damage: Mutex::default(),
            stacks: OnceLock::new(),
            symbols: OnceLock::new(),
            blocks: OnceLock::new(),
            excerpt: RwLock::default(),
            again: Mutex::default(),
        };
        for UnpackedChunk { header, words } in unpacked {
            trace.chunks.push(Chunk { position: 0, header, cut: false });
            trace.at_hand.push(words);
        }
        trace.index_chunks();
        Ok(trace)
    }

    fn index_chunks(&mut self) {
        let mut position = FILE_HEADER_LEN;
        let (mut next_event, mut meta_seen) = (self.chunks.last().map_or(0, Chunk::next_event), false);
        while position < self.bytes.len() {
            let Some(header) = ChunkHeader::from_bytes(&self.bytes[position..]) else {
                let next = self.find_chunk(position + 1);
                let what = match next {
                    Some(next) => format!("{} bytes are not a chunk; reading continues after them", next - position),
                    None => format!("the file ends in {} bytes that are not a chunk", self.bytes.len() - position),
                };
                self.report(position as u64, what);
                match next {
                    Some(next) => position = next,
                    None => break,
                }
                continue;
            };
            let end = position + CHUNK_HEADER_LEN + header.stored_len as usize;
            let chunk = Chunk { position, header, cut: end > self.bytes.len() };
            if chunk.cut {
                self.report(position as u64, format!("the file ends inside the chunk {}", header.sequence));
            }
            match header.kind {
                chunk_kind::META => {
                    if let Some(meta) = self.json(&chunk) {
                        self.meta = meta;
                        meta_seen = true;
                    }
                }
                chunk_kind::EVENTS => {
                    if header.first_event < next_event {
                        self.report(position as u64, format!("events from {} on appear twice", header.first_event));
                    } else {
                        if header.first_event > next_event {
                            let what = format!("events {next_event} to {} are lost", header.first_event - 1);
                            self.report(position as u64, what);
                        }
                        next_event = chunk.next_event();
                        self.chunks.push(chunk);
                    }
                }
                chunk_kind::STACKS => self.stack_chunks.push(chunk),
                chunk_kind::SYMBOLS => self.symbol_chunk = Some(chunk),
                chunk_kind::FOOTER => self.footer = self.json(&chunk),
                // A later build may add kinds.
                _ => {}
            }
            position = end;
        }
        if !meta_seen {
            self.report(FILE_HEADER_LEN as u64, "how the run was started is not known: no readable meta chunk".into());
        }
        if let Some(footer) = &self.footer
            && footer.events > next_event
        {
            let what = format!("events {next_event} to {} are lost", footer.events - 1);
            self.report(self.bytes.len() as u64, what);
        }
    }

    fn find_chunk(&self, from: usize) -> Option<usize> {
        let mut at = from;
        loop {
            at += self.bytes.get(at..)?.iter().position(|&byte| byte == CHUNK_MAGIC[0])?;
            if ChunkHeader::from_bytes(&self.bytes[at..]).is_some() {
                return Some(at);
            }
            at += 1;
        }
    }

    fn json<T: serde::de::DeserializeOwned>(&self, chunk: &Chunk) -> Option<T> {
        let raw = self.raw(chunk)?;
        match serde_json::from_slice(&raw) {
            Ok(value) => Some(value),
            Err(error) => {
                self.report(chunk.position as u64, format!("meta or footer: {error}"));
                None
            }
        }
    }

    /// The payload as stored, if it is whole and its checksum is right.
    fn payload(&self, chunk: &Chunk) -> Option<&[u8]> {
        if chunk.cut {
            return None;
        }
        let start = chunk.position + CHUNK_HEADER_LEN;
        let payload = &self.bytes[start..start + chunk.header.stored_len as usize];
        if crc32fast::hash(payload) != chunk.header.payload_crc {
            let ChunkHeader { sequence, first_event, events, .. } = chunk.header;
            let lost = if events == 0 {
                String::new()
            } else {
                format!(": events {first_event} to {} are lost", first_event.saturating_add(u64::from(events) - 1))
            };
            self.report(chunk.position as u64, format!("chunk {sequence} is damaged{lost}"));
            return None;
        }
        Some(payload)
    }

    fn raw(&self, chunk: &Chunk) -> Option<Vec<u8>> {
        let payload = self.payload(chunk)?;
        let raw_len = chunk.header.raw_len as usize;
        let mut raw = Vec::new();
        let result = match chunk.header.packing {
            packing::PLAIN if payload.len() == raw_len => {
                raw.extend_from_slice(payload);
                Ok(())
            }
            packing::LZ4 => pack::decompress(payload, raw_len, &mut raw),
            _ => Err("stored in an unknown way"),
        };
        match result {
            Ok(()) => Some(raw),
            Err(why) => {
                self.report(chunk.position as u64, format!("chunk {}: {why}", chunk.header.sequence));
                None
            }
        }
    }

    /// Unpacks the records of an events chunk: all of them, those before the end of the file, or none if it is damaged.
    pub(super) fn unpack(&self, index: usize, unpacker: &mut Unpacker, words: &mut Vec<u64>) -> Option<ChunkHeader> {
        let chunk = self.chunks.get(index)?;
        let header = chunk.header;
        words.clear();
        if let Some(Unpacked::Narrow(narrow)) = self.at_hand.get(index) {
            narrow.widen(words);
            return Some(header);
        }
        let again = || self.again.lock().unwrap_or_else(PoisonError::into_inner);
        let known = again().get(index);
        if let Some(known) = known {
            words.extend_from_slice(&known);
        } else if chunk.cut {
            let start = (chunk.position + CHUNK_HEADER_LEN).min(self.bytes.len());
            if matches!(header.packing, packing::PREDICTED | packing::FORESEEN) {
                unpacker.unpack_prefix(&self.bytes[start..], header.raw_len as usize, words);
            }
            if header.packing == packing::FORESEEN {
                // As far as it goes: that the chunk is cut is known.
                let _ = unpacker.expand(header.events.into(), words);
            }
        } else if let Some(payload) = self.payload(chunk) {
            let result = match header.packing {
                packing::PREDICTED => unpacker.unpack(payload, header.raw_len as usize, words),
                packing::FORESEEN => unpacker
                    .unpack(payload, header.raw_len as usize, words)
                    .and_then(|()| unpacker.expand(header.events.into(), words)),
                _ => match self.raw(chunk) {
                    Some(raw) => {
                        words.extend(raw.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().expect("eight"))));
                        Ok(())
                    }
                    None => Ok(()),
                },
            };
            match result {
                Ok(()) => again().see(index, words),
                Err(why) => self.report(chunk.position as u64, format!("chunk {}: {why}", header.sequence)),
            }
        }
        Some(header)
    }

    /// A chunk that needs no unpacking.
    pub(super) fn at_hand(&self, index: usize) -> Option<(ChunkHeader, &[u64])> {
        match self.chunks.get(index).zip(self.at_hand.get(index))? {
            (chunk, Unpacked::Wide(words)) => Some((chunk.header, words)),
            (_, Unpacked::Narrow(_)) => None,
        }
    }

    /// The chunks that do.
    pub(crate) fn packed_chunks(&self) -> std::ops::Range<usize> {
        let is_wide = |words: &Unpacked| matches!(words, Unpacked::Wide(_));
        self.at_hand.partition_point(is_wide).min(self.chunks.len())..self.chunks.len()
    }

    pub(super) fn chunk_position(&self, index: usize) -> u64 {
        self.chunks.get(index).map_or(0, |chunk| chunk.position as u64)
    }

    pub(super) fn chunk_of(&self, event: EventId) -> usize {
        self.chunks.partition_point(|chunk| chunk.header.first_event <= event.0).saturating_sub(1)
    }

    pub(super) fn report(&self, position: u64, what: String) {
        let mut damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        let new = Damage { position, what };
        // Every pass over the events finds the same damage again.
        if !damage.contains(&new) {
            damage.push(new);
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// How the run ended; `None` if the recording was cut off.
    pub fn footer(&self) -> Option<&Footer> {
        self.footer.as_ref()
    }

    /// How many records of this kind (see [`reweave_model::wire::kind`]) there are; `None`: the recording was cut off.
    pub fn count_of(&self, kind: u8) -> Option<u64> {
        self.footer().map(|footer| footer.count_of(kind))
    }

    /// Whether there may be such records.
    pub fn may_have(&self, kind: u8) -> bool {
        self.count_of(kind).is_none_or(|count| count > 0)
    }

    /// Keeps the first so many events (a chunk more or less), as if the recording had been cut off there.
    pub fn cut_to(&mut self, events: u64) {
        let kept = self.chunks.partition_point(|chunk| chunk.header.first_event < events).max(1);
        if kept < self.chunks.len() {
            self.chunks.truncate(kept);
            self.footer = None;
        }
    }

    /// What could not be read so far, in order of position. Damage inside events shows only once they are read.
    pub fn damage(&self) -> Vec<Damage> {
        let mut damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner).clone();
        damage.sort();
        damage
    }

    /// The number of events, lost ones included, as far as the file tells.
    pub fn event_count(&self) -> u64 {
        let last = self.chunks.last();
        let seen = last.map_or(0, Chunk::next_event);
        self.footer.as_ref().map_or(seen, |footer| footer.events.max(seen))
    }

    /// The number of event chunks, for [`Events::next_chunk`] and progress bars.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// What it takes in its file, or in memory.
    pub fn file_len(&self) -> u64 {
        (self.bytes.len() + self.at_hand.iter().map(Unpacked::len).sum::<usize>()) as u64
    }

    /// All events from the first on.
    pub fn events(&self) -> Events<'_> {
        Events::new(self, 0)
    }

    /// All events from the first on, unpacked on a thread of its own if that helps: for who reads them all.
    pub fn events_ahead<'scope, 't: 'scope>(&'t self, scope: &'scope Scope<'scope, '_>) -> Events<'t> {
        Events::ahead(self, scope)
    }

    /// Events from the given one on (or from the next one that is readable).
    pub fn events_from(&self, first: EventId) -> Result<Events<'_>> {
        let mut events = Events::new(self, self.chunk_of(first));
        events.skip_to(first)?;
        Ok(events)
    }

    /// Has these events at hand for [`Trace::look_at`]: all of them are read in one pass.
    pub fn keep(&self, events: impl IntoIterator<Item = EventId>) -> Result<()> {
        let mut excerpt = self.excerpt.write().unwrap_or_else(PoisonError::into_inner);
        let mut wanted: Vec<EventId> = events.into_iter().filter(|id| !excerpt.has(*id)).collect();
        wanted.sort_unstable();
        wanted.dedup();
        let mut events = self.events();
        for id in wanted {
            if let Some(kept) = events.kept(id)? {
                excerpt.put(id, kept);
            }
        }
        Ok(())
    }

    /// Shows one event (or the next one that is readable). For many of them, [`Trace::keep`] them first.
    pub fn look_at<R>(&self, id: EventId, see: impl FnOnce(&Event<'_>) -> R) -> Result<Option<R>> {
        let excerpt = self.excerpt.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(event) = excerpt.event(id) {
            return Ok(Some(see(&event)));
        }
        drop(excerpt);
        Ok(self.events_from(id)?.next()?.as_ref().map(see))
    }

    /// Call stacks. Cheap if the recording was finished; otherwise all events are read once.
    pub fn stacks(&self) -> &Stacks {
        self.stacks.get_or_init(|| {
            let mut stacks = Stacks::default();
            let stored_apart = |footer: &Footer| !self.stack_chunks.is_empty() || footer.count_of(kind::STACK_DEF) == 0;
            if self.footer.as_ref().is_some_and(stored_apart) {
                for chunk in &self.stack_chunks {
                    if let Some(raw) = self.raw(chunk) {
                        let words = raw.chunks_exact(8).map(|w| u64::from_le_bytes(w.try_into().expect("eight")));
                        stacks.read(&words.collect::<Vec<u64>>());
                    }
                }
            } else {
                let mut events = self.events();
                while let Some(chunk) = events.next_chunk() {
                    stacks.read(chunk.words);
                }
            }
            stacks
        })
    }

    /// What was allocated during the run; it is read off the whole trace once. What cannot be read is left out.
    pub fn blocks(&self) -> &Blocks {
        self.blocks.get_or_init(|| Blocks::of(self).unwrap_or_default())
    }

    /// Symbols as stored with the trace; empty if there are none.
    pub fn symbols(&self) -> &Symbols {
        self.symbols.get_or_init(|| {
            let Some(chunk) = &self.symbol_chunk else {
                return Symbols::default();
            };
            let Some(raw) = self.raw(chunk) else {
                return Symbols::default();
            };
            Symbols::from_bytes(&raw).unwrap_or_else(|why| {
                self.report(chunk.position as u64, format!("symbols: {why}"));
                Symbols::default()
            })
        })
    }
}

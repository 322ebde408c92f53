//! Writes a trace file, chunk by chunk. Each chunk is one write, and a write that fails is undone, so that the file is
//! readable at any moment: up to the last chunk that is whole.

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use reweave_model::wire::{self, Record, kind as k};
use reweave_model::{EventId, Op, Pc, ThreadId};

use super::pack::{self, Packer, Pcs};
use super::v1::{self, ChunkHeader, chunk_kind, packing};
use crate::symbols::{Module, Symbols};
use crate::{Error, Footer, Meta, Result};

/// Payloads below this are stored as they are: compressing them gains nothing.
const WORTH_COMPRESSING: usize = 64;

enum Sink {
    File(File),
    Memory(Vec<u8>),
}

/// The recording end of a trace. Dropped without [`Writer::finish`], it leaves a file without symbols and footer, which
/// is readable all the same.
pub struct Writer {
    sink: Sink,
    path: PathBuf,
    /// Bytes of header and whole chunks. invariant: the file ends here between calls
    written: u64,
    sequence: u32,
    next_event: u64,
    failed: bool,
    packer: Packer,
    pcs: Pcs,
    modules: Vec<Module>,
    /// All `StackDef` records once more: kept apart from the events so that stacks survive a damaged chunk and can be
    /// resolved without reading everything.
    stack_defs: Vec<u64>,
    buffer: Vec<u8>,
    aligned: Vec<u64>,
}

impl Writer {
    /// Creates (or empties) the file and writes its beginning.
    pub fn create(path: impl AsRef<Path>, meta: &Meta) -> Result<Self> {
        let path = path.as_ref();
        let file = File::create(path).map_err(Error::io(path))?;
        Self::start(Sink::File(file), path, meta)
    }

    /// Writes into memory; see [`Writer::into_bytes`].
    pub fn in_memory(meta: &Meta) -> Self {
        Self::start(Sink::Memory(Vec::new()), Path::new("memory"), meta).expect("memory takes every write")
    }

    fn start(sink: Sink, path: &Path, meta: &Meta) -> Result<Self> {
        let mut writer = Self {
            sink,
            path: path.to_owned(),
            written: 0,
            sequence: 0,
            next_event: 0,
            failed: false,
            packer: Packer::default(),
            pcs: Pcs::default(),
            modules: Vec::new(),
            stack_defs: Vec::new(),
            buffer: Vec::new(),
            aligned: Vec::new(),
        };
        writer.buffer.extend_from_slice(&v1::file_header(super::VERSION));
        writer.flush()?;
        writer.meta(meta)?;
        Ok(writer)
    }

    /// Writes what is known about the run once more: the last one counts.
    pub fn meta(&mut self, meta: &Meta) -> Result<()> {
        let json = serde_json::to_vec(meta).expect("plain data");
        self.chunk(chunk_kind::META, &json)
    }

    /// Gives the next event this id, because those before it are lost.
    pub fn skip_to(&mut self, next: EventId) {
        self.next_event = self.next_event.max(next.0);
    }

    /// Takes the records of one chunk as the program wrote them: whole records, the first ones performed by
    /// `thread_at_start`, and every thread's stack announced before its first event (unless it is empty).
    ///
    /// # Errors
    /// After [`Error::BadRecord`] what stands before the bad record is stored and writing may go on. After an I/O error
    /// the file ends with the chunk before, and every later call fails.
    pub fn events(&mut self, raw: &[u8], thread_at_start: ThreadId) -> Result<()> {
        if raw.len() > v1::MAX_RAW {
            return Err(Error::ChunkTooLarge { len: raw.len(), limit: v1::MAX_RAW });
        }
        let whole = raw.len() / 8 * 8;
        let mut aligned = std::mem::take(&mut self.aligned);
        // SAFETY: every bit pattern is a u64.
        let words = match unsafe { raw[..whole].align_to::<u64>() } {
            ([], words, []) if cfg!(target_endian = "little") => words,
            _ => {
                aligned.clear();
                aligned.extend(raw.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight"))));
                &aligned
            }
        };
        let result = self.event_words(words, thread_at_start);
        self.aligned = aligned;
        result
    }

    /// As [`Writer::events`], for records already in words.
    pub fn event_words(&mut self, words: &[u64], thread_at_start: ThreadId) -> Result<()> {
        if self.failed {
            return Err(Error::Stopped);
        }
        self.buffer.clear();
        self.buffer.resize(v1::CHUNK_HEADER_LEN, 0);
        let Self { packer, pcs, modules, stack_defs, buffer, .. } = self;
        let packed = packer.pack(words, buffer, |head, record| {
            pcs.see(head);
            match head as u8 {
                k::STACK_DEF => stack_defs.extend_from_slice(record),
                k::MODULE => modules.extend(Module::from_record(record)),
                _ => {}
            }
        });
        if packed.words > 0 {
            let header = ChunkHeader {
                kind: chunk_kind::EVENTS,
                packing: if packed.foreseen { packing::FORESEEN } else { packing::PREDICTED },
                sequence: self.sequence,
                first_event: self.next_event,
                events: packed.events,
                thread: thread_at_start.0,
                raw_len: (packed.words * 8) as u32,
                stored_len: 0,
                payload_crc: 0,
            };
            self.seal(header)?;
            self.next_event += u64::from(packed.events);
        }
        match packed.stopped {
            None => Ok(()),
            Some((record, why)) => Err(Error::BadRecord { record, why }),
        }
    }

    /// As [`Writer::event_words`], for whole records that stay in memory as they are: nothing is written.
    pub(crate) fn keep_unpacked(&mut self, words: &[u64], thread_at_start: ThreadId) -> ChunkHeader {
        let (first_event, mut at) = (self.next_event, 0);
        while let Ok(len) = wire::length(&words[at..]) {
            let kind = words[at] as u8;
            if matches!(kind, k::READ | k::WRITE) {
                // Nearly all of them.
                self.packer.counts[kind as usize] += 1;
                self.next_event += 1;
                at += len;
                continue;
            }
            self.packer.counts[kind as usize] += 1;
            self.next_event += u64::from(k::is_event(kind));
            match kind {
                k::STACK_DEF => self.stack_defs.extend_from_slice(&words[at..at + len]),
                k::MODULE => self.modules.extend(Module::from_record(&words[at..at + len])),
                _ => {}
            }
            at += len;
        }
        ChunkHeader {
            kind: chunk_kind::EVENTS,
            packing: packing::PLAIN,
            sequence: self.sequence,
            first_event,
            events: (self.next_event - first_event) as u32,
            thread: thread_at_start.0,
            raw_len: (words.len() * 8) as u32,
            stored_len: 0,
            payload_crc: 0,
        }
    }

    /// Writes symbols and footer. The totals of the footer are filled in here.
    pub fn finish(&mut self, mut footer: Footer, symbols: Option<&Symbols>) -> Result<()> {
        if !self.stack_defs.is_empty() {
            let words = std::mem::take(&mut self.stack_defs);
            // Pieces, so that no number of stacks outgrows a chunk. Each record has two words.
            for piece in words.chunks(1 << 20) {
                let bytes: Vec<u8> = piece.iter().flat_map(|word| word.to_le_bytes()).collect();
                self.chunk(chunk_kind::STACKS, &bytes)?;
            }
        }
        if let Some(symbols) = symbols {
            let bytes = symbols.to_bytes();
            if bytes.len() <= v1::MAX_RAW {
                self.chunk(chunk_kind::SYMBOLS, &bytes)?;
            } else {
                footer.warnings.push(format!("symbols left out: {} MB are too many", bytes.len() >> 20));
            }
        }
        footer.events = self.next_event;
        let kinds = self.packer.counts.iter().enumerate().filter(|(kind, count)| {
            **count > 0 && (k::is_event(*kind as u8) || matches!(*kind as u8, k::SWITCH | k::STACK_DEF))
        });
        footer.kinds = kinds.map(|(kind, &count)| (k::name(kind as u8).to_owned(), count)).collect();
        let json = serde_json::to_vec(&footer).expect("plain data");
        self.chunk(chunk_kind::FOOTER, &json)
    }

    pub fn bytes_written(&self) -> u64 {
        self.written
    }

    /// Events so far.
    pub fn event_count(&self) -> u64 {
        self.next_event
    }

    /// Records of a kind (see [`wire::kind`]) so far.
    pub fn count_of(&self, kind: u8) -> u64 {
        self.packer.counts[kind as usize]
    }

    /// The code that was mapped, in order of appearance.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Every code address that occurred, sorted: what symbols are wanted for.
    pub fn pcs(&self) -> Vec<Pc> {
        self.pcs.sorted()
    }

    /// The file, for a writer made by [`Writer::in_memory`]; empty otherwise.
    pub fn into_bytes(self) -> Vec<u8> {
        match self.sink {
            Sink::Memory(bytes) => bytes,
            Sink::File(_) => Vec::new(),
        }
    }

    fn chunk(&mut self, kind: u8, raw: &[u8]) -> Result<()> {
        if self.failed {
            return Err(Error::Stopped);
        }
        self.buffer.clear();
        self.buffer.resize(v1::CHUNK_HEADER_LEN, 0);
        let mut packing = packing::PLAIN;
        if raw.len() >= WORTH_COMPRESSING {
            pack::compress(raw, &mut self.buffer);
            packing = packing::LZ4;
        }
        if packing == packing::PLAIN || self.buffer.len() - v1::CHUNK_HEADER_LEN >= raw.len() {
            packing = packing::PLAIN;
            self.buffer.truncate(v1::CHUNK_HEADER_LEN);
            self.buffer.extend_from_slice(raw);
        }
        self.seal(ChunkHeader {
            kind,
            packing,
            sequence: self.sequence,
            first_event: self.next_event,
            events: 0,
            thread: 0,
            raw_len: raw.len() as u32,
            stored_len: 0,
            payload_crc: 0,
        })
    }

    /// Completes the header of the chunk in the buffer and writes it.
    fn seal(&mut self, mut header: ChunkHeader) -> Result<()> {
        let payload = &self.buffer[v1::CHUNK_HEADER_LEN..];
        header.stored_len = payload.len() as u32;
        header.payload_crc = crc32fast::hash(payload);
        self.buffer[..v1::CHUNK_HEADER_LEN].copy_from_slice(&header.to_bytes());
        self.flush()?;
        self.sequence += 1;
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        match &mut self.sink {
            Sink::Memory(bytes) => bytes.extend_from_slice(&self.buffer),
            Sink::File(file) => {
                if let Err(error) = file.write_all(&self.buffer) {
                    self.failed = true;
                    // Best effort: a half-written chunk is also recognised when reading.
                    let _ = file.set_len(self.written);
                    let _ = file.seek(SeekFrom::Start(self.written));
                    return Err(Error::io(&self.path)(error));
                }
            }
        }
        self.written += self.buffer.len() as u64;
        Ok(())
    }
}

impl Module {
    fn from_record(words: &[u64]) -> Option<Self> {
        match wire::decode(words) {
            Ok((Record::Event { op, .. }, _)) => Self::from_op(&op),
            _ => None,
        }
    }

    /// What a module event says.
    pub fn from_op(op: &Op<'_>) -> Option<Self> {
        match *op {
            Op::Module { base, size, bias, path } => {
                Some(Self { path: String::from_utf8_lossy(path).into_owned(), base: base.0, size, bias })
            }
            _ => None,
        }
    }
}

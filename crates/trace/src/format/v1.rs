//! Version 1 of the file layout. Frozen: a change makes a new version with its own module.
//!
//! Little endian throughout. A file is a [`FileHeader`] followed by chunks, each a [`ChunkHeader`] and its payload.
//! `docs/trace-format.md` draws it byte by byte.

pub const VERSION: u32 = 1;

/// The last byte is no text, so that a file mangled as text is refused.
pub const FILE_MAGIC: [u8; 8] = *b"reweave\x9a";
const FILE_MAGIC_AT: usize = 0;
pub const FILE_VERSION_AT: usize = FILE_MAGIC_AT + 8;
const FILE_HEADER_LEN_AT: usize = FILE_VERSION_AT + 4;
const FILE_RESERVED_AT: usize = FILE_HEADER_LEN_AT + 4;
const FILE_CRC_AT: usize = FILE_RESERVED_AT + 12;
pub const FILE_HEADER_LEN: usize = FILE_CRC_AT + 4;

/// Starts every chunk, so that reading can go on after damage.
pub const CHUNK_MAGIC: [u8; 8] = *b"\xf5rwchunk";
const MAGIC_AT: usize = 0;
const KIND_AT: usize = MAGIC_AT + 8;
const PACKING_AT: usize = KIND_AT + 1;
const RESERVED_AT: usize = PACKING_AT + 1;
const SEQUENCE_AT: usize = RESERVED_AT + 2;
const FIRST_EVENT_AT: usize = SEQUENCE_AT + 4;
const EVENTS_AT: usize = FIRST_EVENT_AT + 8;
const THREAD_AT: usize = EVENTS_AT + 4;
const RAW_LEN_AT: usize = THREAD_AT + 4;
const STORED_LEN_AT: usize = RAW_LEN_AT + 4;
const PAYLOAD_CRC_AT: usize = STORED_LEN_AT + 4;
const CRC_AT: usize = PAYLOAD_CRC_AT + 4;
pub const CHUNK_HEADER_LEN: usize = CRC_AT + 4;

const _: () = assert!(FILE_HEADER_LEN == 32);
const _: () = assert!(CHUNK_HEADER_LEN == 48);
const _: () = assert!(FIRST_EVENT_AT.is_multiple_of(8) && CHUNK_HEADER_LEN.is_multiple_of(8));

/// What a chunk holds. Numbers are part of the format: never reuse one. Unknown ones are skipped.
pub mod chunk_kind {
    pub const META: u8 = 1;
    pub const EVENTS: u8 = 2;
    pub const STACKS: u8 = 3;
    pub const SYMBOLS: u8 = 4;
    pub const FOOTER: u8 = 5;
}

/// How a payload is stored.
pub mod packing {
    pub const PLAIN: u8 = 0;
    /// One LZ4 block.
    pub const LZ4: u8 = 1;
    /// Predicted words left out, then one LZ4 block: see [`crate::format::pack`].
    pub const PREDICTED: u8 = 2;
    /// The same, and runs of foreseen accesses stand for their records: see [`crate::format::foreseen`]. Version 2.
    pub const FORESEEN: u8 = 3;
}

/// No chunk is larger than this when unpacked: bounds what a damaged length can make us allocate.
pub const MAX_RAW: usize = 256 << 20;

/// `version`: 1, or a later one that is laid out in the same way.
pub fn file_header(version: u32) -> [u8; FILE_HEADER_LEN] {
    let mut bytes = [0; FILE_HEADER_LEN];
    bytes[FILE_MAGIC_AT..FILE_VERSION_AT].copy_from_slice(&FILE_MAGIC);
    put32(&mut bytes, FILE_VERSION_AT, version);
    put32(&mut bytes, FILE_HEADER_LEN_AT, FILE_HEADER_LEN as u32);
    let crc = crc32fast::hash(&bytes[..FILE_CRC_AT]);
    put32(&mut bytes, FILE_CRC_AT, crc);
    bytes
}

/// Whether the whole header is as it was written.
pub fn file_header_is_sound(bytes: &[u8; FILE_HEADER_LEN]) -> bool {
    get32(bytes, FILE_CRC_AT) == crc32fast::hash(&bytes[..FILE_CRC_AT])
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChunkHeader {
    pub kind: u8,
    pub packing: u8,
    /// Chunks are numbered from 0 in the order they were written.
    pub sequence: u32,
    /// For events: the id of the first one.
    pub first_event: u64,
    pub events: u32,
    /// The thread that performs the first records.
    pub thread: u32,
    /// Bytes when unpacked, and as stored in the file.
    pub raw_len: u32,
    pub stored_len: u32,
    /// Of the payload as stored.
    pub payload_crc: u32,
}

impl ChunkHeader {
    pub fn to_bytes(self) -> [u8; CHUNK_HEADER_LEN] {
        let mut bytes = [0; CHUNK_HEADER_LEN];
        bytes[MAGIC_AT..KIND_AT].copy_from_slice(&CHUNK_MAGIC);
        bytes[KIND_AT] = self.kind;
        bytes[PACKING_AT] = self.packing;
        put32(&mut bytes, SEQUENCE_AT, self.sequence);
        bytes[FIRST_EVENT_AT..EVENTS_AT].copy_from_slice(&self.first_event.to_le_bytes());
        put32(&mut bytes, EVENTS_AT, self.events);
        put32(&mut bytes, THREAD_AT, self.thread);
        put32(&mut bytes, RAW_LEN_AT, self.raw_len);
        put32(&mut bytes, STORED_LEN_AT, self.stored_len);
        put32(&mut bytes, PAYLOAD_CRC_AT, self.payload_crc);
        let crc = crc32fast::hash(&bytes[..CRC_AT]);
        put32(&mut bytes, CRC_AT, crc);
        bytes
    }

    /// `None` unless magic, checksum and lengths are right.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; CHUNK_HEADER_LEN] = bytes.first_chunk()?;
        if bytes[MAGIC_AT..KIND_AT] != CHUNK_MAGIC || get32(bytes, CRC_AT) != crc32fast::hash(&bytes[..CRC_AT]) {
            return None;
        }
        let mut first_event = [0; 8];
        first_event.copy_from_slice(&bytes[FIRST_EVENT_AT..EVENTS_AT]);
        let header = Self {
            kind: bytes[KIND_AT],
            packing: bytes[PACKING_AT],
            sequence: get32(bytes, SEQUENCE_AT),
            first_event: u64::from_le_bytes(first_event),
            events: get32(bytes, EVENTS_AT),
            thread: get32(bytes, THREAD_AT),
            raw_len: get32(bytes, RAW_LEN_AT),
            stored_len: get32(bytes, STORED_LEN_AT),
            payload_crc: get32(bytes, PAYLOAD_CRC_AT),
        };
        (header.raw_len as usize <= MAX_RAW).then_some(header)
    }
}

fn put32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn get32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

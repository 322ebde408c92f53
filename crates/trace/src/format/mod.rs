//! The `.rwt` file: versioned, chunked, checksummed, compressed. Reader and writer stand together here.
//!
//! A recording that was cut off is readable up to where it was cut; a damaged chunk is reported with its position and
//! skipped, and the ids of the events after it are still right.

mod ahead;
mod events;
mod excerpt;
pub mod foreseen;
pub(crate) mod growing;
pub(crate) mod narrow;
pub mod pack;
mod raw;
pub mod reader;
mod unpacked_cache;
pub mod v1;
mod writer;

pub(crate) use events::MAX_THREADS;
pub use events::{Events, RawChunk, WordAccess};
pub use growing::Growing;
pub use raw::{Context, RawEvents};
pub use writer::Writer;

/// The version this build writes; it reads all up to this one. Version 2 is laid out as version 1; runs of accesses that
/// were foreseen are new in it.
pub const VERSION: u32 = 2;

//! Traces at rest: the file format (reader and writer together), runs as sets of traces, symbol tables, what is known
//! of the program's language, the consistency checker, and the text formats.
//!
//! A recording goes through [`Writer`]; every analysis reads it back through [`Trace`], whatever it came from. Reading
//! is streaming: memory follows the size of one chunk, never the length of the run. Nothing here knows an analysis.

mod blocks;
mod builder;
pub mod check;
mod error;
pub mod format;
mod language;
mod meta;
pub mod reorder;
pub mod schedule;
pub mod set;
mod stacks;
pub mod symbols;
pub mod text;

pub use blocks::{Block, Blocks};
pub use builder::TraceBuilder;
pub use error::{Error, Result};
pub use format::reader::{Damage, Trace};
pub use format::{Context, Events, Growing, RawChunk, RawEvents, WordAccess, Writer};
pub use language::{Language, StackMemory};
pub use meta::{ARGUMENTS, Aslr, BUILD, Footer, Meta, Outcome, PARTIAL};
pub use schedule::schedule_of;
pub use set::{ProcessTrace, RunSet};
pub use stacks::Stacks;
pub use symbols::{Facts, Frame, FrameAccess, Module, Shape, Symbols, SymbolsBuilder, TypeId};
pub use text::{convert, open, open_beside};

//! What the code addresses and variables of native programs mean, from their files: DWARF, symbol tables, and the
//! machine code itself. The tables that this fills are `reweave-trace`'s.

mod code;
mod data;
mod disassemble;
mod frames;
mod resolve;
mod scopes;
mod types;

pub(crate) use resolve::demangle;
pub use resolve::resolve;

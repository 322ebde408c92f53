//! The language of `.rwi` files: a small typed three-address language into which real code can be lowered.
//!
//! Text becomes a [`Program`] by [`parse`], which also checks it ([`check`]); [`print`] makes text of it again.
//! Its grammar and its meaning are written down in `docs/rwi.md`.
//! Deliberately absent: expressions, scopes, implicit conversions, anything that knows how programs are run.

pub mod arithmetic;
mod check;
mod error;
mod ir;
mod lex;
mod parse;
mod print;
mod words;

pub use error::Error;
pub use ir::{
    Allocation, Base, Block, BlockId, FileId, Function, FunctionId, Global, GlobalId, Literal, Mode, Object, Operand,
    Part, Place, Position, Program, Register, RegisterInfo, Slot, Source, Statement, StatementId, StatementKind,
    TypeId,
};
pub use parse::parse;
pub use print::{print, print_statement};
pub use words::{BinaryOp, Order, Test, Type, UnaryOp, UpdateOp};

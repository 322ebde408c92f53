//! Findings, events and traces as text and JSON. Findings are data; only this crate makes text of them, and it decides
//! nothing.

pub mod describe;
pub mod overview;

pub use describe::Describer;

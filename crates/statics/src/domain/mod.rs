//! What values may be. Domains see values and identifiers of locations, nothing of threads or the heap.

pub mod float;
pub mod number;
pub mod value;
pub mod views;

//! One file per analysis.

pub mod hb;

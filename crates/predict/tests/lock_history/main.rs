//! Lock histories: the paper's example step by step, and random histories against the oracle.

mod analysis;
mod paper;
mod random;

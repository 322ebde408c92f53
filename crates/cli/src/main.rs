//! The reweave command.
fn main() {}

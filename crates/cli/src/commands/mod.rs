//! The subcommands.

pub mod completions;
pub mod confirm;
pub mod convert;
pub mod demo;
pub mod determinism;
pub mod explain;
pub mod inspect;
pub mod interpret;
pub mod parallelise;
pub mod predict;
pub mod record;
pub mod replay;
pub mod report;
pub mod test;
pub mod verify;
pub mod watch;

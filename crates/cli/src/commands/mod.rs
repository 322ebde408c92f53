//! The subcommands.

pub mod inspect;
pub mod record;

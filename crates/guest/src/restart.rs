//! A program that another one starts, and that has to be started differently to be recorded: it starts itself again,
//! with further arguments, once. The launcher says so to everything that is started.

use crate::connection::environment;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::{ffi::OsStr, fs};

/// The name of a program's file and the arguments to put in front of its own, with [`SEPARATOR`]s in between.
pub const ENV_RESTART: &str = "REWEAVE_RESTART";
pub const SEPARATOR: char = '\x1f';

/// The process that was started again, or that the launcher has started as it should be: then [`STARTED_BY`] and the
/// number of the launcher's process.
pub const ENV_RESTARTED: &str = "REWEAVE_RESTARTED";

pub const STARTED_BY: char = '<';

/// Whether the calling process was started as the launcher wants it.
fn is_as_wanted() -> bool {
    let Some(known) = environment(ENV_RESTARTED).and_then(|value| std::str::from_utf8(value).ok()) else {
        return false;
    };
    match known.strip_prefix(STARTED_BY) {
        Some(launcher) => launcher == std::os::unix::process::parent_id().to_string(),
        None => known == std::process::id().to_string(),
    }
}

/// Starts the calling process again if the launcher wants it to be started differently. Returns whether it is such a
/// process: one that was started again already, or for which that does not work.
pub fn if_wanted() -> bool {
    let Some(wanted) = environment(ENV_RESTART) else { return false };
    let mut words = wanted.split(|byte| *byte == SEPARATOR as u8).map(OsStr::from_bytes);
    let Ok(file) = fs::read_link("/proc/self/exe") else { return false };
    if file.file_name() != words.next() {
        return false;
    }
    if is_as_wanted() {
        return true;
    }
    let Ok(line) = fs::read("/proc/self/cmdline") else { return true };
    let mut own = line.strip_suffix(b"\0").unwrap_or(&line).split(|byte| *byte == 0).map(OsStr::from_bytes);
    let name = own.next().unwrap_or_default();
    // Only a failure returns: the program then runs as it was started, and the launcher says that nobody saw it.
    let _ =
        Command::new(file).arg0(name).args(words).args(own).env(ENV_RESTARTED, std::process::id().to_string()).exec();
    true
}

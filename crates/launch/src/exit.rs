//! Exit codes of `reweave`: part of the stable command line contract, documented here and nowhere else.

/// Nothing confirmed or predicted; for `replay`: the bug did not happen.
pub const CLEAN: i32 = 0;
/// Findings; for `replay`: the bug happened again.
pub const FINDINGS: i32 = 1;
/// Wrong usage or environment, a replay that diverged, or nothing that could be checked.
pub const USAGE: i32 = 2;
/// The program cannot be run at all.
pub const CANNOT_RUN: i32 = 3;
/// An error inside `reweave`.
pub const INTERNAL: i32 = 4;

/// What a shell shows for a program that ended like this: its status, or 128 plus the signal. `record` returns it.
pub fn of_program(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

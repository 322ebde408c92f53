//! The forms of a report, on a finding of each kind. The samples in `tests/reports` are folders as `reweave test`
//! leaves them (`cargo xtask report-samples` makes them anew); `cargo insta review` or `INSTA_UPDATE=always` takes over
//! what changed on purpose.

mod browser;
mod cards;
#[path = "../common/mod.rs"]
mod common;
mod cxx;
mod forms;
mod hostile;
mod known;
mod names;
mod printed;
mod schema;
mod stable;
mod stories;

use std::path::PathBuf;
use std::process::Command;

pub const KINDS: [&str; 6] = ["race", "deadlock", "atomicity", "failure", "misuse", "nondeterminism"];

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub fn sample(kind: &str) -> PathBuf {
    root().join("tests/reports").join(kind)
}

pub struct Said {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// Runs `reweave` in a folder: the samples name their sources relative to their own.
pub fn reweave(folder: &std::path::Path, arguments: &[&str]) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.args(arguments).current_dir(folder).env_remove("LD_PRELOAD");
    let output = command.output().expect("reweave starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

/// A form of a sample's report, as text.
pub fn form(kind: &str, form: &str) -> String {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let file = scratch.path().join("out");
    let said = reweave(&sample(kind), &["report", ".", form, &file.display().to_string()]);
    assert!(said.code <= 1, "{}", said.stderr);
    std::fs::read_to_string(&file).expect("it was written")
}

//! What `reweave test` says while it works: a finding as soon as it is confirmed, each bug once, nothing with
//! `--quiet`.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use super::{reweave, root};

/// Tests the bank with stderr in a plain file, and returns what is in it.
fn said(folder: &Path, more: &[&str]) -> String {
    let file = folder.join("stderr");
    let mut command = Command::new(env!("CARGO_BIN_EXE_reweave"));
    command.args(["test", "--budget", "30s", "-o", "out"]).args(more).args(["--", "./bank"]);
    command.current_dir(folder).env_remove("LD_PRELOAD").stderr(File::create(&file).expect("a file"));
    let output = command.output().expect("reweave starts");
    let said = fs::read_to_string(file).expect("what it said");
    assert_eq!(output.status.code(), Some(1), "{said}");
    said
}

#[test]
fn findings_are_printed_as_they_are_confirmed() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let folder = scratch.path();
    fs::copy(root().join("crates/cli/demo/bank.c"), folder.join("bank.c")).expect("copied");
    assert_eq!(reweave(folder, &["cc", "-g", "-o", "bank", "bank.c", "-lpthread"]).code, 0);
    let loud = said(folder, &[]);
    let told: Vec<&str> = loud.lines().filter(|line| line.starts_with("reweave: confirmed [")).collect();
    assert_eq!(told.len(), 1, "one bug, one line: {loud}");
    assert!(told[0].contains("data race on balance") && told[0].contains("bank.c:15"), "{told:?}");
    let line = loud.find("reweave: confirmed [").expect("a line");
    let block = loud.find("\n[1] confirmed: ").expect("a block");
    let counts = loud.find(" confirmed, ").expect("a summary");
    assert!(line < block && block < counts, "{loud}");
    assert!(!loud.contains(['\x1b', '\r']), "plain where nobody watches: {loud:?}");

    let quiet = said(folder, &["--quiet"]);
    assert!(!quiet.contains("reweave: confirmed") && !quiet.contains("[1] confirmed"), "{quiet}");
    assert!(quiet.contains(" confirmed, "), "{quiet}");
}

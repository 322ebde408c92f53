//! The identity of a finding: it stays when lines move, and is gone when the bug is mended.

use std::fs;
use std::path::Path;

use super::{reweave, root};

/// Builds and tests a version of the bank.
fn test(folder: &Path, source: &str, out: &str, more: &[&str]) -> super::Said {
    fs::write(folder.join("bank.c"), source).expect("written");
    let built = reweave(folder, &["cc", "-g", "-o", "bank", "bank.c", "-lpthread"]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    reweave(folder, &[&["test", "--budget", "60s", "-o", out], more, &["--", "./bank"]].concat())
}

#[test]
fn a_line_above_keeps_it_known_and_fixing_makes_it_gone() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let folder = scratch.path();
    let bank = fs::read_to_string(root().join("crates/cli/demo/bank.c")).expect("the demo");
    assert_eq!(test(folder, &bank, "first", &[]).code, 1);
    let baseline = ["--baseline", "first/report.json"];

    let shifted = bank.replace("static int balance", "// A comment that was not there before.\n\nstatic int balance");
    assert_ne!(shifted, bank);
    let said = test(folder, &shifted, "second", &baseline);
    assert_eq!(said.code, 0, "nothing new: {}", said.stderr);
    assert!(said.stderr.contains(": 0 new,"), "{}", said.stderr);

    let mended = bank.replace(
        "        balance += AMOUNT;",
        "        pthread_mutex_lock(&account_lock), balance += AMOUNT, pthread_mutex_unlock(&account_lock);",
    );
    assert_ne!(mended, bank);
    let said = test(folder, &mended, "third", &baseline);
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stderr.contains(": 0 new, 0 known, ") && !said.stderr.contains(" 0 gone"), "{}", said.stderr);
    assert!(said.stderr.contains("gone: data race on balance"), "{}", said.stderr);
}

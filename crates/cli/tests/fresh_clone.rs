//! What somebody does who has just cloned the repository: the README from the top, as it is written. Left out, with a
//! message, where the sources are not a git repository. It compiles everything once more: `cargo xtask survey readme`
//! runs it.

mod common;

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use common::console::{console, follow};
use common::run::run_with;
use common::{Scratch, has, root, skip};

/// Where cargo and rustup keep their things: the reader of this test has a home of their own.
fn kept(variable: &'static str, folder: &str) -> (&'static str, OsString) {
    let usual = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(folder).into_os_string();
    (variable, std::env::var_os(variable).unwrap_or_else(usual))
}

#[test]
fn the_readme_from_a_fresh_clone() {
    if std::env::var_os("REWEAVE_FRESH_CLONE").is_none() {
        skip("the README from a fresh clone", "it takes minutes: cargo xtask survey readme");
        return;
    }
    if !root().join(".git").exists() || !has("git") {
        skip("the README from a fresh clone", "the sources are not a git repository, or there is no git");
        return;
    }
    let scratch = Scratch::new("fresh");
    // Always at the same place: what cargo compiled for the clone before is replaced instead of piling up.
    let below = root().join("target/fresh-clone");
    let clone = below.join("reweave");
    let _ = fs::remove_dir_all(&clone);
    fs::create_dir_all(&below).expect("a folder");
    // Whoever the repository belongs to.
    let config = scratch.file("gitconfig", "[safe]\n\tdirectory = *\n");
    let mut git = Command::new("git");
    git.args(["clone", "--quiet"]).arg(root()).arg(&clone).env("GIT_CONFIG_GLOBAL", config);
    run_with(&mut git, None, Duration::from_secs(300)).expect(0);

    let readme = fs::read_to_string(clone.join("README.md")).expect("a README");
    let lines = console(&readme);
    for wanted in ["cargo run --release -- demo", "cargo install --path crates/cli", "reweave explain reweave-out/1"] {
        assert!(lines.iter().any(|line| line.command == wanted), "the README has no {wanted}");
    }
    let installed = scratch.join("installed");
    let settings = [
        kept("CARGO_HOME", ".cargo"),
        kept("RUSTUP_HOME", ".rustup"),
        ("CARGO_TARGET_DIR", below.join("target").into()),
        ("CARGO_INSTALL_ROOT", installed.clone().into()),
        // As quick to compile as can be: other tests look at what it does, this one whether it can be had.
        ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0".into()),
        ("CARGO_PROFILE_RELEASE_DEBUG", "false".into()),
        ("CARGO_INCREMENTAL", "0".into()),
    ];
    let done = follow(&lines, &clone, &scratch.join("home"), &installed.join("bin"), &settings);
    assert!(installed.join("bin/reweave").is_file(), "{}", done.stderr);
    assert!(done.stderr.contains("confirmed: data race on balance"), "{}", done.stderr);
    for told in
        ["What happens", "what T1 wrote (130) is lost, T2 had read 120 before that", "they have no lock in common"]
    {
        assert!(done.stdout.contains(told), "explain does not say {told:?}: {}", done.stdout);
    }
    assert!(clone.join("tour/report.html").is_file());
}

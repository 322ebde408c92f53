//! What a watched program leaves out because it only repeats something (`reweave watch` without `--every-access`) changes
//! no finding, of any golden program.
//!
//! A normal run takes some of them; `REWEAVE_SOAK=N` (`cargo xtask soak`) takes all.

mod common;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use common::Scratch;
use common::golden::{GCC, Program, folders, programs};
use common::run::run_with;

/// For one watched run, on however busy a machine.
const LIMIT: Duration = Duration::from_secs(120);
/// A program that looks at the clock or waits for others may do something else each time.
const TRIES: usize = 4;
/// One of so many programs in a normal run.
const SHARE: usize = 24;

/// What was found, and how many events it took.
fn watch(
    scratch: &Scratch,
    program: &Program,
    built: &Path,
    seed: usize,
    every_access: bool,
) -> (BTreeSet<String>, u64) {
    let json = scratch.join("findings.json");
    let mut command = scratch.reweave(["watch", "--analysis", "hb,goodlock,lockset", "--seed", &seed.to_string()]);
    command.args(["--quantum", ["50", "1000"][seed % 2]]).args(every_access.then_some("--every-access"));
    command.arg("--json").arg(&json).arg("--").arg(built);
    let done = run_with(&mut command, program.stdin.as_deref(), LIMIT);
    let text = std::fs::read_to_string(&json).unwrap_or_else(|error| panic!("{}: {error}: {done:?}", program.name()));
    let report: serde_json::Value =
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}: {done:?}", program.name()));
    let findings = report["findings"].as_array().expect("a list");
    let name = |item: &serde_json::Value| format!("{} {} {}", item["kind"], item["strength"], item["fingerprint"]);
    (findings.iter().map(name).collect(), report["stats"]["events"].as_u64().expect("a number"))
}

#[test]
fn leaving_out_repetitions_changes_no_finding() {
    let soak = std::env::var_os("REWEAVE_SOAK").is_some();
    let all: Vec<Program> = folders().iter().flat_map(|folder| programs(folder)).collect();
    let (mut found, mut events, mut fewer, mut failures) = (0, 0, 0, Vec::new());
    for (index, program) in all.iter().enumerate().filter(|(index, _)| soak || index % SHARE == 0) {
        let scratch = Scratch::new("repeats");
        let Ok(built) = program.build(&scratch, GCC, "-O2") else { continue };
        let mut told = String::new();
        let same = (0..TRIES).any(|_| {
            let (every, all_events) = watch(&scratch, program, &built, index, true);
            let (ours, our_events) = watch(&scratch, program, &built, index, false);
            told = format!("{}: {every:?} became {ours:?}", program.name());
            (found, events, fewer) = (found + every.len(), events + all_events, fewer + our_events);
            every == ours
        });
        if !same {
            failures.push(told);
        }
    }
    println!("repeats: {found} findings, {fewer} of {events} events");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(fewer < events && found > 0, "{fewer} of {events} events, {found} findings");
}

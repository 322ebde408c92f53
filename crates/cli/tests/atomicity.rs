//! Atomicity on programs: the thesis' examples with the verdicts it states, declared blocks of golden programs, blocks
//! of STD traces.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::golden::{GCC, Program, compilers, programs};
use common::{Scratch, root, run};
use serde_json::Value;

fn predict(scratch: &Scratch, trace: &Path, more: &[&str]) -> Vec<Value> {
    let findings = scratch.join("findings.json");
    let mut command = scratch.reweave(["predict", "--json"]);
    let done = run(command.arg(&findings).arg(trace).args(more));
    assert!(matches!(done.code, Some(0 | 1)), "{}: {}", trace.display(), done.stderr);
    let report: Value = serde_json::from_slice(&fs::read(&findings).expect("written")).expect("JSON");
    assert_eq!(report["stats"]["refused_witnesses"].as_u64().unwrap_or(0), 0, "the checker accepts every order");
    report["findings"].as_array().expect("findings").clone()
}

fn record(scratch: &Scratch, program: &Path, arguments: &[&str]) -> PathBuf {
    let trace = scratch.join("run.rwt");
    let mut command = scratch.reweave(["record"]);
    run(command.args(arguments).arg("-o").arg(&trace).arg("--").arg(program));
    trace
}

/// Labels of declared blocks, or functions of inferred ones, that findings are about.
fn blocks(findings: &[Value], wanted: impl Fn(&Value) -> bool) -> BTreeSet<String> {
    let name = |finding: &Value| {
        let at = &finding["block_at"];
        at["label"].as_str().or(at["enter"]["function"].as_str()).unwrap_or_default().to_owned()
    };
    findings.iter().filter(|finding| finding["kind"] == "atomicity" && wanted(finding)).map(name).collect()
}

fn predicted(finding: &Value) -> bool {
    finding["strength"] == "predicted"
}

/// Chapters 2 and 6 of the active-testing thesis, by what the headers say: no race; which function, declared atomic, is
/// violated; which one the patterns warn of, with nothing declared, and no more than that.
#[test]
fn examples_of_the_thesis() {
    let mut sources: Vec<PathBuf> = fs::read_dir(root().join("tests/papers_blocks"))
        .expect("the folder")
        .map(|entry| entry.unwrap().path())
        .collect();
    sources.sort();
    assert_eq!(sources.len(), 4, "the examples are there");
    for source in sources {
        let text = fs::read_to_string(&source).expect("readable");
        let says = |key: &str| -> BTreeSet<String> {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("// {key}: "))).expect("in the header");
            line.split_whitespace().filter(|word| *word != "none").map(str::to_owned).collect()
        };
        for compiler in compilers() {
            for level in ["-O0", "-O2"] {
                let what = format!("{} {} {level}", source.display(), compiler.cc);
                let scratch = Scratch::new("blocks");
                let built = Program::read(&source).build(&scratch, compiler, level).expect("it builds");
                let trace = record(&scratch, &built, &[]);
                let names = scratch.join("atomic.txt");
                fs::write(&names, says("declared").into_iter().collect::<Vec<_>>().join("\n")).expect("writable");
                let declared = predict(&scratch, &trace, &["--atomic", names.to_str().expect("ASCII")]);
                assert!(declared.iter().all(|finding| finding["kind"] != "race"), "{what}: {declared:?}");
                assert_eq!(blocks(&declared, predicted), says("violated"), "{what}");
                let asked = ["--analysis", "serializability,access-triple,lock-reacquire,reduction"];
                let warned = predict(&scratch, &trace, &asked);
                assert!(blocks(&warned, predicted).is_empty(), "{what}: what is inferred stays potential");
                assert_eq!(blocks(&warned, |finding| finding["block"] == "inferred"), says("warned"), "{what}");
            }
        }
    }
}

/// Declared blocks: every recording of a `_bad` program shows the violation, at the lines of the header; no recording
/// of an `_ok` program shows anything.
#[test]
fn declared_blocks() {
    for program in programs("atomicity") {
        let text = fs::read_to_string(&program.path).expect("readable");
        let lines = text.lines().find_map(|line| line.strip_prefix("// lines: ")).unwrap_or_default();
        let lines: BTreeSet<u64> = lines.split_whitespace().map(|line| line.parse().expect("a number")).collect();
        let own = program.path.file_name().and_then(|name| name.to_str()).expect("ASCII");
        let scratch = Scratch::new("declared");
        let built = program.build(&scratch, GCC, "-O0").expect("it builds");
        for seed in ["0", "1", "2"] {
            let trace = record(&scratch, &built, &["--policy", "random", "--seed", seed]);
            let found = predict(&scratch, &trace, &[]);
            let strong: Vec<&Value> = found.iter().filter(|finding| predicted(finding)).collect();
            let what = format!("{} seed {seed}", program.name());
            if program.is_ok() {
                assert!(strong.is_empty(), "{what}: {strong:?}");
                continue;
            }
            assert!(strong.iter().all(|finding| finding["kind"] == "atomicity"), "{what}: {strong:?}");
            assert!(strong.iter().all(|finding| finding["block"] == "declared"), "{what}: {strong:?}");
            let at: BTreeSet<u64> = strong
                .iter()
                .flat_map(|finding| finding["accesses"].as_array().into_iter().flatten())
                .filter(|access| access["location"]["file"].as_str().is_some_and(|file| file.ends_with(own)))
                .filter_map(|access| access["location"]["line"].as_u64())
                .collect();
            assert!(!at.is_empty() && at.is_subset(&lines), "{what}: at {at:?}, not {lines:?}");
        }
    }
}

/// `begin` and `end` of STD are declared blocks.
#[test]
fn blocks_of_text_traces() {
    let scratch = Scratch::new("std");
    for (between, violated) in [("", true), ("T1|acq(m)|9\n", false)] {
        let release = if between.is_empty() { "" } else { "T1|rel(m)|10\n" };
        let other = if between.is_empty() { ("", "") } else { ("T2|acq(m)|11\n", "T2|rel(m)|12\n") };
        let text = format!(
            "T0|fork(T1)|1\nT0|fork(T2)|2\nT1|begin(b)|3\n{between}T1|r(x)|4\nT1|w(x)|5\n{release}T1|end(b)|6\n{}T2|w(x)|7\n{}",
            other.0, other.1
        );
        let trace = scratch.join("blocks.std");
        fs::write(&trace, text).expect("writable");
        let found = predict(&scratch, &trace, &["--analysis", "access-triple"]);
        assert_eq!(!blocks(&found, predicted).is_empty() || found.iter().any(predicted), violated, "{found:?}");
    }
}

/// A name that no event is in is told.
#[test]
fn unknown_functions_are_reported() {
    let scratch = Scratch::new("unknown");
    let (trace, names) = (scratch.join("t.std"), scratch.join("names"));
    fs::write(&trace, "T0|w(x)|1\n").expect("writable");
    fs::write(&names, "# what should be atomic\nnowhere # not there\n").expect("writable");
    let mut command = scratch.reweave(["predict", "--atomic"]);
    let done = run(command.arg(&names).arg(&trace));
    assert!(done.stderr.contains("`nowhere`"), "{}", done.stderr);
    let mut command = scratch.reweave(["predict", "--atomic"]);
    let done = run(command.arg(scratch.join("absent")).arg(&trace));
    assert_eq!(done.code, Some(2), "{}", done.stderr);
}

//! The command line: names, help, exit codes, conversions there and back, and the contract of `report.json`.

mod common;

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use common::{REWEAVE, Scratch, run};
use serde_json::Value;

const COMMANDS: [&str; 12] = [
    "test",
    "record",
    "replay",
    "predict",
    "confirm",
    "verify",
    "explain",
    "report",
    "inspect",
    "convert",
    "determinism",
    "demo",
];

#[test]
fn help_lists_every_command_and_the_exit_codes() {
    let scratch = Scratch::new("cli");
    let help = scratch.run(["--help"]).expect(0).stdout;
    for part in COMMANDS.iter().copied().chain(["cc", "c++", "fc", "Examples:", "Exit codes: 0", "reweave replay"]) {
        assert!(help.contains(part), "no `{part}` in {help}");
    }
    for command in COMMANDS {
        let long = scratch.run([command, "--help"]).expect(0).stdout;
        assert!(long.contains("Example"), "{command}: {long}");
        assert!(long.contains(&format!("reweave {command}")), "{command}: {long}");
    }
}

#[test]
fn wrong_usage_is_two() {
    let scratch = Scratch::new("cli");
    for words in [
        &[] as &[&str],
        &["frobnicate"],
        &["record"],
        &["record", "--seed", "x", "--", "true"],
        &["record", "--max-trace", "much", "--", "true"],
        &["record", "--policy", "whim", "--", "true"],
        &["replay"],
        &["inspect"],
        &["convert", "only-one.rwt"],
        &["report", "no-such-folder"],
        &["explain", "no-such-folder/1"],
        &["replay", "."],
    ] {
        let done = scratch.run(words);
        assert_eq!(done.code, Some(2), "{words:?}: {done:?}");
        assert!(!done.stderr.is_empty(), "{words:?} says nothing");
    }
}

#[test]
fn mistakes_are_answered_with_the_next_step() {
    let scratch = Scratch::new("cli");
    scratch.build("golden/mutex/bank_ok.c");
    scratch.file("taken", "");
    scratch.run(["test", "--budget", "-5s", "--", "./bank_ok"]).expect(2).says("try 5s");
    scratch.run(["test", "-o", "taken", "--", "./bank_ok"]).expect(2).says("a folder is needed");
    for words in [&["inspect", "no.rwt"][..], &["predict", "no.std"], &["test", "--suppress", "no", "--", "./bank_ok"]]
    {
        scratch.run(words).expect(2).says("check the name");
    }
    for words in [&["confirm", "no"][..], &["verify", "no"], &["report", "no"]] {
        scratch.run(words).expect(2).says("name the folder of a `reweave test`");
    }
    let quiet = scratch.run(["test", "-q", "--budget", "5s", "--", "./bank_ok"]).expect(0).stderr;
    assert!(quiet.starts_with("no findings\n") && !quiet.contains("events of"), "{quiet}");
}

#[test]
fn a_program_without_dashes_before_it_gets_a_hint() {
    let scratch = Scratch::new("cli");
    for command in ["test", "record", "watch"] {
        let said = scratch.run([command, "./bank", "--fast"]).expect(2).stderr;
        assert!(said.contains(&format!("reweave {command} -- ./bank")), "{said}");
    }
    let other = scratch.run(["test", "--frobnicate", "--", "true"]).expect(2).stderr;
    assert!(!other.contains("goes after"), "{other}");
}

#[test]
fn record_returns_the_status_of_the_program() {
    let scratch = Scratch::new("cli");
    for status in [0, 1, 42, 255] {
        let line = format!("exit {status}");
        scratch.run(["record", "--", "sh", "-c", &line]).expect(status);
    }
    scratch.run(["record", "--", "sh", "-c", "kill -TERM $$"]).expect(143);
}

#[test]
fn the_output_of_the_program_is_its_own() {
    let scratch = Scratch::new("cli");
    let done = scratch.run(["record", "--", "sh", "-c", "echo out; echo err >&2"]).expect(0);
    assert_eq!(done.stdout, "out\n");
    assert!(done.stderr.starts_with("err\n"), "{}", done.stderr);
}

#[test]
fn compilers_by_the_name_of_the_command() {
    let scratch = Scratch::new("cli");
    scratch.file("one.c", "int main(void) { return 0; }\n");
    scratch.file("one.cpp", "#include <string>\nint main() { return std::string().size(); }\n");
    for (name, source) in [("reweave-cc", "one.c"), ("reweave-c++", "one.cpp")] {
        let link = scratch.join(name);
        symlink(REWEAVE, &link).expect("a link");
        run(scratch.command(&link).args(["-o", "one", source])).expect(0);
        scratch.run(["record", "-o", "run.rwt", "--", "./one"]).expect(0);
        assert!(reweave_trace::Trace::open(scratch.join("run.rwt")).expect("a trace").meta().instrumented, "{name}");
        let version = run(scratch.command(&link).arg("--version")).expect(0).stdout;
        assert!(!version.contains("reweave"), "the compiler answers itself: {version}");
    }
}

/// A recording of a small program with locks and accesses of several threads.
fn recorded(scratch: &Scratch) {
    let program = scratch.build("golden/mutex/bank_bad.c");
    run(scratch.reweave(["record", "-o", "run.rwt", "--"]).arg(program)).expect(0);
}

/// Thread, code address and operation of every event.
fn events(scratch: &Scratch, name: &str) -> Vec<String> {
    let trace = reweave_trace::open(scratch.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut events = trace.events();
    let mut all = vec![];
    while let Some(event) = events.next().expect("readable") {
        all.push(format!("{} {:?} {:?}", event.thread.0, event.pc, event.op));
    }
    assert!(!all.is_empty(), "{name}");
    all
}

#[test]
fn conversion_to_json_lines_and_back_keeps_every_event() {
    let scratch = Scratch::new("cli");
    recorded(&scratch);
    for middle in ["run.jsonl", "run.csv"] {
        scratch.run(["convert", "run.rwt", middle]).expect(0);
        scratch.run(["convert", middle, "again.rwt"]).expect(0);
        assert_eq!(events(&scratch, "again.rwt"), events(&scratch, "run.rwt"), "by way of {middle}");
    }
}

#[test]
fn conversion_to_std_and_back() {
    let scratch = Scratch::new("cli");
    recorded(&scratch);
    scratch.run(["convert", "run.rwt", "one.std"]).expect(0);
    scratch.run(["convert", "one.std", "one.rwt"]).expect(0);
    scratch.run(["convert", "one.rwt", "two.std"]).expect(0);
    let read = |name: &str| std::fs::read_to_string(scratch.join(name)).expect("a text");
    assert_eq!(read("one.std").lines().count(), read("two.std").lines().count());
    scratch.file("known.std", "T0|fork(T1)|1\nT0|acq(L)|2\nT0|w(V)|3\nT0|rel(L)|4\nT1|w(V)|5\nT0|join(T1)|6\n");
    scratch.run(["convert", "known.std", "known.rwt"]).expect(0);
    let imported = reweave_trace::open(scratch.join("known.rwt")).expect("a trace");
    assert!(imported.meta().abstract_values);
    let found = scratch.run(["predict", "known.std"]).expect(1);
    assert!(found.stdout.contains("predicted: data race on V"), "{found:?}");
    assert!(found.stdout.contains("holding L (taken at"), "{found:?}");
    // No program stands behind it.
    scratch.run(["replay", "known.rwt"]).expect(2).says("an imported trace has no program to run");
    assert!(events(&scratch, "one.rwt").iter().any(|event| event.contains("Acquire")));
}

#[test]
fn conversion_to_an_unknown_format_is_refused() {
    let scratch = Scratch::new("cli");
    recorded(&scratch);
    scratch.run(["convert", "run.rwt", "run.what"]).expect(2).says("run.what");
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().map(|object| object.keys().map(String::as_str).collect()).unwrap_or_default()
}

#[track_caller]
fn has_keys(value: &Value, wanted: &[&str]) {
    let missing: Vec<_> = wanted.iter().filter(|&&key| !keys(value).contains(key)).collect();
    assert!(missing.is_empty(), "no {missing:?} in {value:#}");
}

#[test]
fn test_finds_and_confirms_the_race_and_reports_it_by_the_contract() {
    let scratch = Scratch::new("cli");
    let program = scratch.build("golden/mutex/bank_bad.c");
    let done = run(scratch.reweave(["test", "--"]).arg(program)).expect(1);
    let text = std::fs::read_to_string(scratch.join("reweave-out/report.json")).expect("a report");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    has_keys(&report, &["reweave", "schema", "program", "findings", "stats"]);
    has_keys(&report["stats"], &["unknown_pairs"]);
    let findings = report["findings"].as_array().expect("a list");
    assert!(!findings.is_empty());
    for finding in findings {
        let wanted = [
            "id",
            "fingerprint",
            "kind",
            "strength",
            "analysis",
            "summary",
            "block",
            "accesses",
            "witness",
            "schedule",
            "outcome",
            "why_unconfirmed",
        ];
        has_keys(finding, &wanted);
        for access in finding["accesses"].as_array().expect("a list") {
            has_keys(access, &["thread", "op", "location", "stack", "locks_held"]);
            has_keys(&access["location"], &["file", "line", "function"]);
        }
        for path in [&finding["witness"], &finding["schedule"]].into_iter().filter_map(Value::as_str) {
            assert!(scratch.join("reweave-out").join(path).exists(), "{path}");
        }
    }
    let race = findings.iter().find(|one| one["kind"] == "race" && one["strength"] == "confirmed");
    let race = race.unwrap_or_else(|| panic!("no confirmed race: {report:#}"));
    // The command that is printed with a finding replays it.
    let id = race["id"].to_string();
    let command = format!("reweave replay reweave-out/{}", id.trim_matches('"'));
    assert!(done.stderr.contains(&command), "{}", done.stderr);
    scratch.run(command.split(' ').skip(1)).expect(1).says("it happened again");
    scratch.run(["report", "reweave-out"]).expect(1);
    scratch.run(["explain", &format!("reweave-out/{}", id.trim_matches('"'))]).expect(0);
}

#[test]
fn test_of_a_right_program_finds_nothing() {
    let scratch = Scratch::new("cli");
    let program = scratch.build("golden/mutex/bank_ok.c");
    run(scratch.reweave(["test", "--"]).arg(program)).expect(0).says("no findings");
}

#[test]
fn demo() {
    let scratch = Scratch::new("cli");
    scratch.run(["demo"]).expect(0).says("it happened again");
}

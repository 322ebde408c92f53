//! Findings of analyses of the program's text, made by hand: they have places and a reason, and no run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use reweave_model::{AnalysisId, Claim, Finding, Kind, OpName, Place, ProcessId, StaticAccess, Strength, ThreadId};
use reweave_report::resolve::{self, ProgramText};
use reweave_report::{Dossier, Item, Report, Sources, Style, html, sarif, text};
use reweave_trace::Language;

const WHY: &str = "both may run at once, and no lock is held at both";

fn access(thread: u32, op: OpName, line: u32, function: &str) -> StaticAccess {
    let place = |line, function: &str| Place { file: "/src/bank.x".into(), line, function: function.into() };
    StaticAccess {
        process: Some(ProcessId(thread)),
        thread: ThreadId(thread),
        op,
        place: place(line, function),
        callers: vec![place(3, "begin")],
        locks_held: if op == OpName::Read { vec!["account".into()] } else { Vec::new() },
    }
}

fn item(kind: Kind) -> Item {
    let places = vec![access(1, OpName::Write, 24, "deposit"), access(2, OpName::Read, 15, "withdraw")];
    let finding = Finding::of_text(kind, AnalysisId::new("by-hand", Claim::Other), places, WHY.into());
    resolve::item(7, &finding, &ProgramText::new(&Language::default()))
}

fn report() -> Report {
    Report { reweave: "0".into(), schema: 1, findings: vec![item(Kind::Race)], ..Report::default() }
}

#[test]
fn an_item_has_places_and_a_reason() {
    let item = item(Kind::Race);
    assert_eq!((item.kind, item.strength), (Kind::Race, Strength::Potential));
    assert_eq!(item.summary, "data race: write and read are not ordered");
    assert_eq!(item.of_text.as_ref().map(|of_text| of_text.why.as_str()), Some(WHY));
    let lines: Vec<u32> = item.accesses.iter().map(|access| access.location.line).collect();
    assert_eq!(lines, [24, 15]);
    assert_eq!(item.accesses[0].stack[0].function, "begin");
    assert_eq!(item.accesses[1].locks_held[0].to_string(), "account");
    assert!(item.accesses.iter().all(|access| access.event.is_none()));
    assert_eq!(self::item(Kind::Deadlock).summary, "2 threads may wait for each other");
    assert_ne!(item.fingerprint, self::item(Kind::Deadlock).fingerprint);
}

#[test]
fn json_is_read_back() {
    let report = report();
    let json = report.to_json();
    assert!(json.contains(&format!("\"static\": {{\n        \"why\": \"{WHY}\"")), "{json}");
    assert!(json.contains("\"process\": 2"), "{json}");
    let again = Report::from_json(&json).expect("our own JSON");
    assert_eq!((again.to_json(), &again.findings), (json, &report.findings));
    assert!(!again.has_findings(), "without a run nothing is proven");
}

#[test]
fn text_says_that_no_run_was_looked_at() {
    let mut out = Vec::new();
    text::write_item(&report().findings[0], Style::PLAIN, &mut out).expect("memory takes every write");
    let out = String::from_utf8(out).expect("text");
    for part in [
        "[7] potential: data race: write and read are not ordered",
        "(1) write by thread 1 of process 1 at /src/bank.x:24 in deposit",
        "(2) read by thread 2 of process 2 at /src/bank.x:15 in withdraw",
        "called from /src/bank.x:3 in begin",
        "holding account",
        &format!("by the program's text: {WHY}"),
    ] {
        assert!(out.contains(part), "{part:?} in {out}");
    }
}

#[test]
fn pages_and_code_scanning_have_the_reason() {
    let (report, sources) = (report(), Sources::new(|_| None));
    let dossier = Dossier {
        report: &report,
        folder: "out".into(),
        evidence: BTreeMap::new(),
        sources: &sources,
        root: PathBuf::from("/src"),
    };
    let mut page = Vec::new();
    html::write(&dossier, &mut page).expect("memory takes every write");
    assert!(String::from_utf8_lossy(&page).contains(WHY));
    let mut log = Vec::new();
    sarif::write(&dossier, &mut log).expect("memory takes every write");
    let log: serde_json::Value = serde_json::from_slice(&log).expect("JSON");
    let result = &log["runs"][0]["results"][0];
    assert_eq!((result["ruleId"].as_str(), result["level"].as_str()), (Some("reweave/race"), Some("note")));
    assert!(result["message"]["text"].as_str().is_some_and(|text| text.contains(WHY)), "{result}");
    assert_eq!(result["relatedLocations"].as_array().map(Vec::len), Some(2));
    assert!(result.get("codeFlows").is_none());
}

//! What we write validates: `report.json` against the schema we publish, SARIF against the part of the standard's
//! schema that we rely on, and against the official one. That comes with a crate that carries it (`serde-sarif`, which
//! is never compiled), or is the file that `REWEAVE_SARIF_SCHEMA` names.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::{KINDS, form, root, sample};

#[track_caller]
fn validate(schema: Value, instance: &Value, what: &str) {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("schema.json", schema).expect("a schema");
    let index = compiler.compile("schema.json", &mut schemas).unwrap_or_else(|error| panic!("{error:#}"));
    if let Err(error) = schemas.validate(instance, index) {
        panic!("{what}: {error:#}");
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("a file")).expect("JSON")
}

fn published() -> Value {
    read(&root().join("docs/report.schema.json"))
}

#[test]
fn reports_validate_against_the_published_schema() {
    for kind in KINDS {
        validate(published(), &read(&sample(kind).join("report.json")), kind);
    }
}

#[test]
fn the_published_schema_refuses_what_is_wrong() {
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("schema.json", published()).expect("a schema");
    let index = compiler.compile("schema.json", &mut schemas).expect("compiles");
    let right = read(&sample("race").join("report.json"));
    for (pointer, wrong) in [
        ("/schema", json!(2)),
        ("/findings/0/strength", json!("sure")),
        ("/findings/0/accesses/0/location/line", json!("15")),
        ("/findings/0/fingerprint", json!("x")),
        ("/findings/0/baseline", json!("old")),
    ] {
        let mut report = right.clone();
        // Fields that are left out by default are put in.
        report["findings"][0]["baseline"] = json!("new");
        *report.pointer_mut(pointer).expect(pointer) = wrong;
        assert!(schemas.validate(&report, index).is_err(), "{pointer}");
    }
}

/// Each field that can be written is described, so that the schema cannot lag behind.
#[test]
fn every_field_is_in_the_published_schema() {
    let location = reweave_report::Location { file: "a.c".into(), line: 1, function: "f".into() };
    let item = reweave_report::Item {
        fingerprint: "0123456789abcdef".into(),
        block_at: Some(reweave_report::data::BlockItem {
            label: None,
            enter: location.clone(),
            exit: location.clone(),
        }),
        accesses: vec![reweave_report::AccessItem {
            process: Some(1),
            rank: Some(1),
            thread: 0,
            thread_name: Some("clerk".into()),
            op: reweave_model::OpName::Read.into(),
            location: location.clone(),
            through: vec![location.clone()],
            stack: vec![location],
            locks_held: Vec::new(),
            memory: Some(reweave_report::memory::MemoryItem {
                object: "a.c:3 f".into(),
                part: "+8".into(),
                allocated: true,
                holds: Some("a.c:4 f".into()),
            }),
            event: Some(1),
        }],
        view: Some(reweave_report::ViewItem {
            variable: "x".into(),
            read: Some(1),
            seen: None,
            other: None,
            seen_value: Some(1),
            other_value: None,
            feeds: reweave_model::Feeds::Choice,
        }),
        preemptions: Some(1),
        harm: Some(reweave_model::Harm::Crash),
        tries: Some(reweave_report::data::AttemptCounts::default()),
        suppressed: Some("why".into()),
        baseline: Some(reweave_model::Novelty::New),
        of_text: Some(reweave_report::data::StaticItem { why: "why".into() }),
        ..reweave_report::Item::new(reweave_model::Kind::Race, reweave_model::Strength::Confirmed)
    };
    let gone = reweave_report::data::GoneFinding {
        fingerprint: "0123456789abcdef".into(),
        kind: reweave_model::Kind::Race,
        summary: "s".into(),
    };
    let report = reweave_report::Report {
        reweave: "0".into(),
        schema: reweave_report::data::SCHEMA,
        program: vec!["./a".into()],
        findings: vec![item],
        stats: [("unknown_pairs".to_owned(), 0)].into(),
        baseline: Some(reweave_report::data::ComparedReport { file: "b.json".into(), gone: vec![gone] }),
        ..reweave_report::Report::default()
    };
    let report: Value = serde_json::from_str(&report.to_json()).expect("JSON");
    validate(published(), &report, "a report with everything");
    let keys =
        |value: &Value| value.as_object().map(|all| all.keys().cloned().collect::<BTreeSet<_>>()).unwrap_or_default();
    let schema = published();
    for (written, described) in [
        ("", ""),
        ("/baseline", "/properties/baseline"),
        ("/baseline/gone/0", "/properties/baseline/properties/gone/items"),
        ("/findings/0", "/$defs/finding"),
        ("/findings/0/block_at", "/$defs/finding/properties/block_at/anyOf/1"),
        ("/findings/0/tries", "/$defs/finding/properties/tries"),
        ("/findings/0/accesses/0", "/$defs/access"),
        ("/findings/0/accesses/0/location", "/$defs/location"),
        ("/findings/0/view", "/$defs/view"),
    ] {
        let written = keys(report.pointer(written).expect(written));
        let described = keys(schema.pointer(&format!("{described}/properties")).expect(described));
        let missing: Vec<_> = written.difference(&described).collect();
        assert!(missing.is_empty(), "docs/report.schema.json does not describe {missing:?}");
    }
}

/// What code scanning needs of SARIF 2.1.0, in our own words: the parts that we write, and nothing that the standard
/// does not know.
fn sarif_subset() -> Value {
    serde_json::from_str(include_str!("sarif-subset.schema.json")).expect("JSON")
}

/// The schema of the standard. Whoever has no network and no such crate names a file.
fn official_schema() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| match std::env::var_os("REWEAVE_SARIF_SCHEMA") {
        Some(path) => path.into(),
        None => carried_schema(),
    })
}

/// Where cargo keeps the crate that `Cargo.lock` names; it is fetched if it is not there yet.
fn carried_schema() -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut metadata = Command::new(cargo);
    metadata.args(["metadata", "--format-version", "1", "--locked"]).current_dir(root());
    let output = metadata.output().expect("cargo starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "the official schema of SARIF: set REWEAVE_SARIF_SCHEMA=FILE, or let cargo: {said}"
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let carrier = packages.iter().find(|package| package["name"] == "serde-sarif").expect("a dependency");
    let manifest = Path::new(carrier["manifest_path"].as_str().expect("a path"));
    manifest.with_file_name("src").join("schema.json")
}

#[test]
fn the_official_schema_is_the_one_of_the_standard_and_refuses_what_is_wrong() {
    let mut schema = read(official_schema());
    schema.as_object_mut().expect("a schema").remove("$id");
    let title = schema["title"].as_str().unwrap_or_default();
    assert!(title.contains("(SARIF) Version 2.1.0"), "{title}");
    let log: Value = serde_json::from_str(&form("race", "--sarif")).expect("JSON");
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.add_resource("schema.json", schema).expect("a schema");
    let index = compiler.compile("schema.json", &mut schemas).expect("compiles");
    assert!(schemas.validate(&log, index).is_ok());
    for (pointer, wrong) in [("/version", json!("2.0.0")), ("/runs/0/results/0/level", json!("bad"))] {
        let mut log = log.clone();
        *log.pointer_mut(pointer).expect(pointer) = wrong;
        assert!(schemas.validate(&log, index).is_err(), "{pointer}");
    }
}

/// Validates a SARIF log, by what we rely on and by the official schema.
#[track_caller]
pub fn check_sarif(log: &Value, what: &str) {
    validate(sarif_subset(), log, what);
    let mut official = read(official_schema());
    // It names itself by an address of its own; here it is a file.
    if let Some(schema) = official.as_object_mut() {
        schema.remove("$id");
        schema.remove("id");
    }
    validate(official, log, what);
    // What no schema can say: rules are where they are said to be, and links lead somewhere.
    let run = &log["runs"][0];
    for result in run["results"].as_array().expect("results") {
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"], "{what}");
        let ids: BTreeSet<u64> =
            result["relatedLocations"].as_array().into_iter().flatten().filter_map(|one| one["id"].as_u64()).collect();
        let text = result["message"]["text"].as_str().expect("a text");
        // A bracket behind a backslash is no link.
        let links = text.match_indices("](").filter(|(at, _)| !text[..*at].ends_with('\\'));
        for (_, after) in links.map(|(at, _)| text.split_at(at + 2)) {
            let id: u64 = after.split(')').next().and_then(|id| id.parse().ok()).expect("a number");
            assert!(ids.contains(&id), "{what}: no related location {id}: {text}");
        }
        let mut orders: Vec<u64> = result["codeFlows"][0]["threadFlows"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|flow| flow["locations"].as_array().into_iter().flatten())
            .filter_map(|one| one["executionOrder"].as_u64())
            .collect();
        orders.sort_unstable();
        assert_eq!(orders, (1..=orders.len() as u64).collect::<Vec<_>>(), "{what}: one order over all threads");
    }
}

#[test]
fn sarif_validates() {
    for kind in KINDS {
        let log: Value = serde_json::from_str(&form(kind, "--sarif")).expect("JSON");
        check_sarif(&log, kind);
    }
}

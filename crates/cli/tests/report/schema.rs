//! What we write validates: `report.json` against the schema we publish, SARIF against the part of the standard's schema that we
//! rely on, and against the official one where `REWEAVE_SARIF_SCHEMA` names it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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
        kind: "race".into(),
        strength: "confirmed".into(),
        block_at: Some(reweave_report::data::BlockItem {
            label: None,
            enter: location.clone(),
            exit: location.clone(),
        }),
        accesses: vec![reweave_report::AccessItem {
            thread: 0,
            op: "read".into(),
            location: location.clone(),
            stack: vec![location],
            locks_held: Vec::new(),
        }],
        view: Some(reweave_report::ViewItem {
            variable: "x".into(),
            read: Some(1),
            seen: None,
            other: None,
            seen_value: Some(1),
            other_value: None,
            feeds: "choice".into(),
        }),
        preemptions: Some(1),
        tries: Some(reweave_report::data::Tries::default()),
        suppressed: Some("why".into()),
        baseline: Some("new".into()),
        ..reweave_report::Item::default()
    };
    let gone =
        reweave_report::data::Gone { fingerprint: "0123456789abcdef".into(), kind: "race".into(), summary: "s".into() };
    let report = reweave_report::Report {
        reweave: "0".into(),
        schema: reweave_report::data::SCHEMA,
        program: vec!["./a".into()],
        findings: vec![item],
        stats: [("unknown_pairs".to_owned(), 0)].into(),
        baseline: Some(reweave_report::data::Against { file: "b.json".into(), gone: vec![gone] }),
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

/// What code scanning needs of SARIF 2.1.0, in our own words: the parts that we write, and nothing that the standard does not
/// know.
fn sarif_subset() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object", "required": ["version", "runs"], "additionalProperties": false,
        "properties": {
            "$schema": { "type": "string", "format": "uri" },
            "version": { "const": "2.1.0" },
            "runs": { "type": "array", "items": { "$ref": "#/$defs/run" } },
        },
        "$defs": {
            "message": {
                "type": "object", "additionalProperties": false, "required": ["text"],
                "properties": { "text": { "type": "string", "minLength": 1 }, "markdown": { "type": "string" } },
            },
            "run": {
                "type": "object", "required": ["tool", "results"], "additionalProperties": false,
                "properties": {
                    "tool": {
                        "type": "object", "required": ["driver"], "additionalProperties": false,
                        "properties": { "driver": {
                            "type": "object", "required": ["name", "rules"], "additionalProperties": false,
                            "properties": {
                                "name": { "type": "string" }, "version": { "type": "string" },
                                "semanticVersion": { "type": "string" }, "informationUri": { "type": "string" },
                                "rules": { "type": "array", "uniqueItems": true, "items": { "$ref": "#/$defs/rule" } },
                            },
                        } },
                    },
                    "originalUriBaseIds": { "type": "object", "additionalProperties": { "$ref": "#/$defs/artifact" } },
                    "columnKind": { "enum": ["utf16CodeUnits", "unicodeCodePoints"] },
                    "results": { "type": "array", "items": { "$ref": "#/$defs/result" } },
                    "properties": { "type": "object" },
                },
            },
            "rule": {
                "type": "object", "additionalProperties": false,
                "required": ["id", "shortDescription", "fullDescription", "help", "defaultConfiguration"],
                "properties": {
                    "id": { "type": "string" }, "name": { "type": "string", "pattern": "^[A-Z][A-Za-z]+$" },
                    "shortDescription": { "$ref": "#/$defs/message" }, "fullDescription": { "$ref": "#/$defs/message" },
                    "help": { "$ref": "#/$defs/message" },
                    "defaultConfiguration": { "type": "object", "properties": { "level": { "$ref": "#/$defs/level" } } },
                    "properties": { "type": "object" },
                },
            },
            "level": { "enum": ["none", "note", "warning", "error"] },
            "artifact": {
                "type": "object", "additionalProperties": false, "required": ["uri"],
                "properties": {
                    "uri": { "type": "string", "format": "uri-reference", "minLength": 1 }, "uriBaseId": { "type": "string" },
                },
            },
            "location": {
                "type": "object", "additionalProperties": false,
                "properties": {
                    "id": { "type": "integer", "minimum": 0 },
                    "message": { "$ref": "#/$defs/message" },
                    "physicalLocation": {
                        "type": "object", "additionalProperties": false, "required": ["artifactLocation", "region"],
                        "properties": {
                            "artifactLocation": { "$ref": "#/$defs/artifact" },
                            "region": {
                                "type": "object", "additionalProperties": false, "required": ["startLine"],
                                "properties": {
                                    "startLine": { "type": "integer", "minimum": 1 },
                                    "snippet": { "type": "object", "properties": { "text": { "type": "string" } } },
                                },
                            },
                        },
                    },
                    "logicalLocations": { "type": "array", "items": { "type": "object", "additionalProperties": false,
                        "properties": { "name": { "type": "string" }, "kind": { "type": "string" } } } },
                },
            },
            "result": {
                "type": "object", "additionalProperties": false,
                "required": ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints"],
                "properties": {
                    "ruleId": { "type": "string" }, "ruleIndex": { "type": "integer", "minimum": 0 },
                    "level": { "$ref": "#/$defs/level" },
                    "message": { "$ref": "#/$defs/message" },
                    "locations": { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/location" } },
                    "relatedLocations": { "type": "array", "uniqueItems": true, "items": { "$ref": "#/$defs/location" } },
                    "stacks": { "type": "array", "uniqueItems": true, "items": {
                        "type": "object", "additionalProperties": false, "required": ["frames"],
                        "properties": {
                            "message": { "$ref": "#/$defs/message" },
                            "frames": { "type": "array", "items": { "type": "object", "additionalProperties": false,
                                "properties": { "location": { "$ref": "#/$defs/location" } } } },
                        },
                    } },
                    "codeFlows": { "type": "array", "items": {
                        "type": "object", "additionalProperties": false, "required": ["threadFlows"],
                        "properties": {
                            "message": { "$ref": "#/$defs/message" },
                            "threadFlows": { "type": "array", "minItems": 1, "items": { "$ref": "#/$defs/flow" } },
                        },
                    } },
                    "partialFingerprints": { "type": "object", "additionalProperties": { "type": "string" } },
                    "suppressions": { "type": "array", "uniqueItems": true, "items": {
                        "type": "object", "additionalProperties": false, "required": ["kind"],
                        "properties": {
                            "kind": { "enum": ["inSource", "external"] },
                            "status": { "enum": ["accepted", "underReview", "rejected"] },
                            "justification": { "type": "string" },
                        },
                    } },
                    "baselineState": { "enum": ["new", "unchanged", "updated", "absent"] },
                    "properties": { "type": "object" },
                },
            },
            "flow": {
                "type": "object", "additionalProperties": false, "required": ["locations"],
                "properties": {
                    "id": { "type": "string" }, "message": { "$ref": "#/$defs/message" },
                    "locations": { "type": "array", "minItems": 1, "items": {
                        "type": "object", "additionalProperties": false,
                        "properties": {
                            "location": { "$ref": "#/$defs/location" },
                            "executionOrder": { "type": "integer", "minimum": 1 },
                            "importance": { "enum": ["important", "essential", "unimportant"] },
                            "state": { "type": "object", "additionalProperties": { "$ref": "#/$defs/message" } },
                        },
                    } },
                },
            },
        },
    })
}

/// Validates a SARIF log, here and by the official schema if it is at hand.
#[track_caller]
pub fn check_sarif(log: &Value, what: &str) {
    validate(sarif_subset(), log, what);
    match std::env::var_os("REWEAVE_SARIF_SCHEMA") {
        Some(path) => {
            let mut official = read(Path::new(&path));
            // It names itself by an address of its own; here it is a file.
            if let Some(schema) = official.as_object_mut() {
                schema.remove("$id");
                schema.remove("id");
            }
            validate(official, log, what);
        }
        None => eprintln!("not compared with the official schema: REWEAVE_SARIF_SCHEMA does not name it"),
    }
    // What no schema can say: rules are where they are said to be, and links lead somewhere.
    let run = &log["runs"][0];
    for result in run["results"].as_array().expect("results") {
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"], "{what}");
        let ids: BTreeSet<u64> =
            result["relatedLocations"].as_array().into_iter().flatten().filter_map(|one| one["id"].as_u64()).collect();
        let text = result["message"]["text"].as_str().expect("a text");
        for (_, after) in text.match_indices("](").map(|(at, _)| text.split_at(at + 2)) {
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

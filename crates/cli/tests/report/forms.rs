//! Every form, by snapshots.

use serde_json::Value;

use super::{KINDS, form, reweave, sample};

/// JSON with one line for whatever fits into it: a snapshot is read by people.
fn compact(value: &Value, indent: usize) -> String {
    const WIDTH: usize = 150;
    let flat = value.to_string();
    if flat.chars().count() + indent <= WIDTH {
        return flat;
    }
    let pad = " ".repeat(indent + 1);
    let (open, close, inside): (char, char, Vec<String>) = match value {
        Value::Array(all) => ('[', ']', all.iter().map(|one| compact(one, indent + 1)).collect()),
        Value::Object(all) => {
            ('{', '}', all.iter().map(|(key, one)| format!("{key:?}: {}", compact(one, indent + 1))).collect())
        }
        _ => return flat,
    };
    format!("{open}\n{pad}{}\n{}{close}", inside.join(&format!(",\n{pad}")), " ".repeat(indent))
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

/// Folders of this machine.
fn neutral(text: &str, kind: &str) -> String {
    let here = sample(kind).canonicalize().expect("a sample");
    text.replace(&here.display().to_string(), "/HERE").replace(env!("CARGO_PKG_VERSION"), "VERSION")
}

#[test]
fn text() {
    for kind in KINDS {
        let said = reweave(&sample(kind), &["report", "."]);
        assert_eq!(said.code, i32::from(kind != "nondeterminism"), "{}", said.stderr);
        insta::assert_snapshot!(format!("text-{kind}"), said.stdout);
    }
}

#[test]
fn text_in_full() {
    for kind in KINDS {
        insta::assert_snapshot!(
            format!("verbose-{kind}"),
            reweave(&sample(kind), &["report", ".", "--verbose"]).stdout
        );
    }
    assert_eq!(reweave(&sample("race"), &["report", ".", "--quiet"]).stdout, "1 confirmed, 0 predicted, 0 potential\n");
}

/// What a program that reads reports gets; what is read and written again is the same.
#[test]
fn report_json() {
    for kind in KINDS {
        let text = std::fs::read_to_string(sample(kind).join("report.json")).expect("a report");
        let again = reweave_report::Report::from_json(&text).expect("a report").to_json();
        let again = json(&neutral(&again, kind));
        assert_eq!(again["findings"].as_array().map(Vec::len), json(&text)["findings"].as_array().map(Vec::len));
        insta::assert_snapshot!(format!("json-{kind}"), compact(&again, 0));
    }
}

#[test]
fn stories() {
    for kind in KINDS {
        let said = reweave(&sample(kind), &["explain", "./1", "--steps", "6"]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        insta::assert_snapshot!(format!("explain-{kind}"), said.stdout);
    }
}

#[test]
fn sarif() {
    for kind in KINDS {
        let mut log = json(&neutral(&form(kind, "--sarif"), kind));
        // The rules are the same in all of them.
        if kind != "race" {
            log["runs"][0]["tool"]["driver"]["rules"] = Value::Null;
        }
        insta::assert_snapshot!(format!("sarif-{kind}"), compact(&log, 0));
    }
}

#[test]
fn junit() {
    for kind in KINDS {
        insta::assert_snapshot!(format!("junit-{kind}"), form(kind, "--junit"));
    }
}

#[test]
fn perfetto() {
    for kind in KINDS {
        let text = form(kind, "--perfetto");
        assert!(json(&text)["traceEvents"].is_array(), "{text}");
        insta::assert_snapshot!(format!("perfetto-{kind}"), text);
    }
}

#[test]
fn html() {
    for kind in KINDS {
        let page = neutral(&form(kind, "--html"), kind);
        let (_, rest) = page.split_once("<body>").expect("a body");
        let (markup, rest) = rest.split_once("<script type=\"application/json\" id=\"data\">").expect("data");
        let (data, _) = rest.split_once("</script>").expect("the end of the data");
        insta::assert_snapshot!(format!("html-{kind}"), markup);
        insta::assert_snapshot!(format!("html-data-{kind}"), compact(&json(data), 0));
    }
}

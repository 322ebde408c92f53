//! Names that want to be something else: every form keeps them names.

use std::fs;

use serde_json::{Value, json};

use super::{reweave, sample, schema};

/// A copy of the race's folder with hostile names everywhere a program can put them.
pub fn folder() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let from = sample("race");
    fs::create_dir(scratch.path().join("1")).expect("a folder");
    for file in ["recording.rwt", "1/trace.rwt", "1/command.json", "1/schedule.rws"] {
        fs::copy(from.join(file), scratch.path().join(file)).expect("a copy");
    }
    let text = fs::read_to_string(from.join("report.json")).expect("a report");
    let mut report: Value = serde_json::from_str(&text).expect("JSON");
    let script = "</script><script>document.title='owned'</script>";
    let long = "x".repeat(10_000);
    report["program"] = json!(["./<img src=x onerror=alert(1)>", "\"quoted\" & 'single'", "\u{202e}txt.exe\u{0}\u{7}"]);
    let finding = &mut report["findings"][0];
    finding["summary"] = json!(format!("race on {script} [link](http://example.com) ]]> \u{1b}[31m"));
    finding["accesses"][0]["location"]["function"] = json!(format!("ns::{long}<{script}>::f()"));
    // What non-UTF-8 names become when they are read.
    finding["accesses"][1]["location"]["function"] = json!("caf\u{fffd}\u{fffd}() 'a\"b");
    finding["accesses"][1]["location"]["file"] = json!("/src/a b/\"><b>.c");
    finding["accesses"][0]["locks_held"] = json!([script, long]);
    finding["outcome"] = json!("--><!-- ended");
    // Several, so that the filters are there.
    let mut second = finding.clone();
    second["id"] = json!(2);
    second["schedule"] = Value::Null;
    report["findings"].as_array_mut().expect("findings").push(second);
    fs::write(scratch.path().join("report.json"), report.to_string()).expect("written");
    scratch
}

#[test]
fn html_has_no_markup_of_the_program() {
    let folder = folder();
    assert_eq!(reweave(folder.path(), &["report", ".", "--html", "page.html"]).code, 1);
    let page = fs::read_to_string(folder.path().join("page.html")).expect("a page");
    // The two of the page itself.
    assert_eq!(page.matches("<script").count(), 2, "only our own");
    assert_eq!(page.matches("</script").count(), 2);
    assert!(!page.contains("<img") && !page.contains("<b>.c"));
    assert!(!page.contains('\u{202e}') && !page.contains('\u{0}'));
    assert!(page.len() < 400_000, "long names are cut: {} bytes", page.len());
}

#[test]
fn xml_stays_xml() {
    let folder = folder();
    assert_eq!(reweave(folder.path(), &["report", ".", "--junit", "out.xml"]).code, 1);
    let text = fs::read_to_string(folder.path().join("out.xml")).expect("XML");
    // Every `<` opens or closes one of our own elements, and every `&` begins an entity.
    for (at, _) in text.match_indices('<') {
        let name: String =
            text[at + 1..].chars().skip_while(|c| *c == '/' || *c == '?').take_while(|c| c.is_alphabetic()).collect();
        let ours = ["xml", "testsuites", "testsuite", "testcase", "failure", "skipped"];
        assert!(ours.contains(&name.as_str()), "<{name}");
    }
    for (at, _) in text.match_indices('&') {
        let entity: String = text[at + 1..].chars().take_while(|c| *c != ';').take(6).collect();
        assert!(["lt", "gt", "amp", "quot"].contains(&entity.as_str()) || entity.starts_with('#'), "&{entity}");
    }
    assert!(text.chars().all(|c| !c.is_control() || c == '\n'), "no control characters");
}

#[test]
fn sarif_and_the_trace_stay_valid() {
    let folder = folder();
    assert_eq!(reweave(folder.path(), &["report", ".", "--sarif", "out.sarif", "--perfetto", "out.json"]).code, 1);
    let read = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(folder.path().join(name)).expect("a file")).expect("JSON")
    };
    schema::check_sarif(&read("out.sarif"), "hostile");
    assert!(read("out.json")["traceEvents"].is_array());
}

#[test]
fn the_terminal_gets_no_commands() {
    let folder = folder();
    let said = reweave(folder.path(), &["report", "."]);
    assert_eq!(said.code, 1);
    assert!(said.stdout.chars().all(|c| !c.is_control() || c == '\n'), "{:?}", said.stdout);
    let told = reweave(folder.path(), &["explain", "./1", "--steps", "5"]);
    assert!(told.stdout.chars().all(|c| !c.is_control() || c == '\n'), "{:?}", told.stdout);
}

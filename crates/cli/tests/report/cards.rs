//! One bug is one entry in every form, however many findings it is to the analyses, and memory has a name.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::common::{has, skip};
use super::reweave;

const PUBLISH: &str = "#include <cstdio>
#include <thread>
#include <vector>
struct Settings {
    int timeout = 0;
    int retries = 0;
    std::vector<int> ports;
};
static Settings *current;
static void reload() {
    Settings *fresh = new Settings;
    current = fresh;
    fresh->timeout = 30;
    fresh->retries = 3;
    fresh->ports.push_back(80);
    fresh->ports.push_back(443);
}
static void serve() {
    Settings *now = current;
    if (!now)
        return;
    int n = now->timeout + now->retries;
    for (int port : now->ports)
        n += port;
    std::printf(\"%d\\n\", n);
}
int main() {
    std::thread a(reload), b(serve);
    a.join();
    b.join();
}
";

/// Builds and tests a program; its folder is `out`.
pub fn tested(folder: &Path, name: &str, source: &str, budget: &str) -> Value {
    let file = format!("{name}.cpp");
    fs::write(folder.join(&file), source).expect("written");
    let built = reweave(folder, &["c++", "-g", "-O1", "-o", name, &file, "-pthread"]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    let tested = reweave(folder, &["test", "--budget", budget, "-o", "out", "--", &format!("./{name}")]);
    let report = fs::read_to_string(folder.join("out/report.json"));
    let report = report.unwrap_or_else(|error| panic!("{error}: {}", tested.stderr));
    serde_json::from_str(&report).expect("JSON")
}

#[test]
fn an_object_that_is_published_too_early_is_one_card() {
    if !has("g++") {
        skip("one bug, one card", "no g++");
        return;
    }
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let folder = scratch.path();
    let report = tested(folder, "publish", PUBLISH, "6s");
    let proven = |finding: &&Value| finding["strength"] != "potential" && finding["kind"] != "nondeterminism";
    let findings: Vec<&Value> = report["findings"].as_array().expect("findings").iter().filter(proven).collect();
    assert!(findings.len() > 2, "the pointer, and fields behind it: {report:#}");
    let places = format!("{findings:?}");
    assert!(places.contains("Settings.timeout in the block of 32 bytes allocated at publish.cpp:11 by T1"), "{places}");
    let bugs = report["bugs"].as_array().expect("bugs");
    let proven =
        bugs.iter().filter(|bug| bug["findings"].as_array().is_some_and(|all| all.contains(&findings[0]["id"])));
    let all: Vec<&Value> = proven.flat_map(|bug| bug["findings"].as_array().expect("ids")).collect();
    assert_eq!(all.len(), findings.len(), "one bug: {bugs:#?}");
    let forms = reweave(folder, &["report", "out", "--sarif", "out.sarif", "--junit", "out.xml"]);
    assert_eq!(forms.code, 1, "{}", forms.stderr);
    let text = reweave(folder, &["report", "out"]);
    assert!(text.stdout.contains("early publication: "), "{}", text.stdout);
    assert!(text.stdout.contains("(probably 1 bug)"), "{}", text.stdout);
    let sarif: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("out.sarif")).expect("a file")).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.iter().filter(|result| result["level"] == "error").count(), 1);
    let junit = fs::read_to_string(folder.join("out.xml")).expect("a file");
    assert_eq!(junit.matches("<failure ").count(), 1, "{junit}");
    // Suppressing it silences all of it.
    let lead = bugs[0]["fingerprint"].as_str().expect("a fingerprint");
    fs::write(folder.join("known"), format!("any fingerprint={lead} : known\n")).expect("written");
    let silent = reweave(folder, &["report", "out", "--suppress", "known"]);
    assert_eq!(silent.code, 0, "{}", silent.stdout);
}

const NAMES: &str = "#include <list>
#include <mutex>
#include <shared_mutex>
#include <thread>
struct Account { long id; long balance; std::mutex lock; };
static Account accounts[3];
static std::list<int> busy{1, 2, 3}, idle;
static std::shared_mutex door;
static void pay() { accounts[1].balance += 5; }
static void move_one() {
    std::shared_lock<std::shared_mutex> in(door);
    idle.splice(idle.end(), busy, busy.begin());
}
int main() {
    std::thread a(pay), b(pay);
    a.join();
    b.join();
    std::thread c(move_one), d(move_one);
    c.join();
    d.join();
}
";

/// Fields and elements have names, and what the library does to a list is seen.
#[test]
fn variables_have_fields_and_lists_have_links() {
    if !has("g++") {
        skip("names of fields", "no g++");
        return;
    }
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let report = tested(scratch.path(), "names", NAMES, "5s");
    let findings = report["findings"].as_array().expect("findings");
    let races = findings.iter().filter(|finding| finding["kind"] == "race" && finding["strength"] != "potential");
    let races: Vec<&str> = races.filter_map(|finding| finding["summary"].as_str()).collect();
    assert!(races.iter().any(|race| race.starts_with("data race on accounts[1].balance: ")), "{races:?}");
    let about_list = |finding: &&Value| {
        let library = finding["accesses"][0]["through"].to_string() + &finding["accesses"][0]["location"].to_string();
        finding["kind"] == "race" && library.contains("names.cpp") && finding["accesses"][0]["location"]["line"] == 12
    };
    assert!(findings.iter().any(|finding| about_list(&finding)), "the links of the lists: {races:?}");
}

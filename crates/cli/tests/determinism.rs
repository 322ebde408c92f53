//! `reweave determinism`: exit codes, text and JSON.

mod common;

use common::{Scratch, has, root, skip};

fn script(name: &str) -> String {
    root().join("tests/statics").join(name).display().to_string()
}

#[test]
fn what_is_required_decides_the_exit_code() {
    let scratch = Scratch::new("determinism");
    let account = script("account.rwi");
    scratch.run(["determinism", &account]).expect(0);
    let proved = scratch.run(["determinism", &account, "--require", "deterministic:amount"]).expect(0);
    assert!(proved.stderr.contains("required: deterministic:amount: proved"), "{}", proved.stderr);
    assert!(proved.stdout.contains("SAME VALUE  amount"), "{}", proved.stdout);
    let withdraw = script("withdraw2.rwi");
    let not = scratch.run(["determinism", &withdraw, "--require", "deterministic:amount"]).expect(1);
    assert!(not.stderr.contains("not proved: can differ: amount"), "{}", not.stderr);
    scratch.run(["determinism", &withdraw, "--require", "weak(sign):amount"]).expect(0);
    scratch.run(["determinism", &account, "--rule", "paper", "--require", "deterministic:amount"]).expect(1);
    scratch.run(["determinism", &account, "--require", "deterministic:nothing"]).expect(2);
    scratch.run(["determinism", &account, "--require", "always"]).expect(2);
    scratch.run(["determinism", "no-such.rwi"]).expect(2);
    std::fs::create_dir(scratch.join("empty")).expect("a folder");
    scratch.run(["determinism", "empty"]).expect(3);
}

#[test]
fn the_answer_is_a_report_too() {
    let scratch = Scratch::new("determinism");
    scratch.run(["determinism", &script("withdraw2.rwi"), "--json", "answer.json"]).expect(0);
    let text = std::fs::read_to_string(scratch.join("answer.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let kinds: Vec<&str> =
        report["findings"].as_array().expect("findings").iter().filter_map(|one| one["kind"].as_str()).collect();
    assert!(kinds.contains(&"nondeterminism"), "{text}");
    assert_eq!(report["findings"][0]["strength"], "potential");
    assert_eq!(report["findings"][0]["analysis"], "determinism");
    let locations = report["determinism"]["locations"].as_array().expect("locations");
    assert!(locations.iter().any(|one| one["name"] == "amount" && one["verdict"] == "can-differ"), "{text}");
}

#[test]
fn a_jar_is_analysed_without_running_it() {
    if !has("javac") || !has("jar") {
        return skip("a_jar_is_analysed_without_running_it", "no JDK (javac, jar)");
    }
    let scratch = Scratch::new("determinism");
    let source = root().join("tests/java/determinism/Report.java");
    common::run(scratch.command("javac").args(["-g", "-d", "classes"]).arg(source)).expect(0);
    common::run(scratch.command("jar").args(["cfe", "report.jar", "Report", "-C", "classes", "."])).expect(0);
    let done = scratch.run(["determinism", "report.jar", "--require", "deterministic:Report.total"]).expect(0);
    assert!(done.stdout.contains("Worker@Report.java"), "{}", done.stdout);
    assert!(done.stdout.contains("CAN DIFFER  Report.last"), "{}", done.stdout);
    scratch.run(["determinism", "report.jar", "--require", "deterministic:Report.last"]).expect(1);
}

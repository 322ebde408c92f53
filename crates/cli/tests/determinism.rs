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

#[test]
fn what_runs_do_is_possible() {
    let scratch = Scratch::new("determinism");
    for name in ["account.rwi", "withdraw2.rwi", "read_after_joins.rwi"] {
        let program = script(name);
        scratch.run(["test", "-o", "out", "--", &program]);
        let done = scratch.run(["determinism", &program, "--against", "out"]).expect(0);
        assert!(done.stderr.contains("are as they may be"), "{name}: {}", done.stderr);
    }
    // The runs of another program that has the same name.
    let other = std::fs::read_to_string(script("read_after_joins.rwi")).expect("a program");
    std::fs::create_dir(scratch.join("other")).expect("a folder");
    std::fs::write(scratch.join("other/disjoint_blocks.rwi"), other).expect("a program");
    scratch.run(["test", "-o", "out", "--", "other/disjoint_blocks.rwi"]);
    let hole = scratch.run(["determinism", &script("disjoint_blocks.rwi"), "--against", "out"]).expect(4);
    assert!(hole.stderr.contains("this is a bug in reweave"), "{}", hole.stderr);
}

#[test]
fn what_can_differ_is_written_in_other_forms() {
    let scratch = Scratch::new("determinism");
    let withdraw = script("withdraw2.rwi");
    scratch.run(["determinism", &withdraw, "--sarif", "a.sarif", "--html", "a.html"]).expect(0);
    let sarif = std::fs::read_to_string(scratch.join("a.sarif")).expect("SARIF");
    assert!(sarif.contains("withdraw2.rwi") && sarif.contains("nondeterminism"), "{sarif}");
    assert!(std::fs::read_to_string(scratch.join("a.html")).expect("a page").contains("</html>"));
}

const CALLS: &str = "global x: i32\nglobal y: i32\n\nfunc one() {\nentry:\n  store x, 1\n  return\n}\n\n\
    func two() {\nentry:\n  store y, 2\n  return\n}\n\nfunc three() {\nentry:\n  %a: i32 = load y\n  \
    store x, %a\n  return\n}\n\nfunc main() {\nentry:\n  call one()\n  call two()\n  call three()\n  \
    return\n}\n";

#[test]
fn calls_that_could_run_at_the_same_time_are_told() {
    let scratch = Scratch::new("determinism");
    std::fs::write(scratch.join("calls.rwi"), CALLS).expect("a program");
    let line = |what: &str| (1 + CALLS.lines().position(|line| line.contains(what)).expect("a call")).to_string();
    let (one, two, three) = (line("call one"), line("call two"), line("call three"));
    let yes = scratch.run(["parallelise", "calls.rwi", &one, &two]).expect(0);
    assert!(yes.stdout.contains(": parallelisable"), "{}", yes.stdout);
    let no = scratch.run(["parallelise", "calls.rwi", &two, &three]).expect(1);
    assert!(no.stdout.contains("not: what line"), "{}", no.stdout);
    let all = scratch.run(["parallelise", "calls.rwi", "--all"]).expect(0);
    assert_eq!(all.stdout.lines().count(), 2, "{}", all.stdout);
    scratch.run(["parallelise", "calls.rwi", "1", "2"]).expect(2);
    scratch.run(["parallelise", "calls.rwi"]).expect(2);
    scratch.run(["parallelise", "calls.jar", "1", "2"]).expect(2);
}

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

#[test]
fn some_threads_locations_and_states_are_judged() {
    let scratch = Scratch::new("determinism");
    let withdraw = script("withdraw2.rwi");
    let required = ["--require", "deterministic:amount"];
    let judge = |only: &str, code: i32| {
        scratch.run(["determinism", &withdraw, "--only", only, required[0], required[1]]).expect(code);
    };
    judge("locations=amount", 1);
    judge("threads=nobody", 0);
    judge("states=nowhere", 0);
    judge("colour=red", 2);
    let other = scratch.run(["determinism", &withdraw, "--only", "locations=nothing"]).expect(0);
    assert!(!other.stdout.contains("amount"), "{}", other.stdout);
    scratch
        .run(["determinism", &withdraw, "--rule", "paper", "--only", "threads=nobody", required[0], required[1]])
        .expect(0);
    scratch.run(["determinism", &withdraw, "--rule", "paper", required[0], required[1]]).expect(1);
}

#[test]
fn facts_are_for_the_code_that_they_are_about() {
    let scratch = Scratch::new("determinism");
    let text = std::fs::read_to_string(script("withdraw2.rwi")).expect("a program");
    std::fs::write(scratch.join("prog.rwi"), &text).expect("a program");
    scratch.run(["determinism", "prog.rwi", "--facts", "facts.json"]).expect(0);
    let facts = std::fs::read_to_string(scratch.join("facts.json")).expect("facts");
    assert!(facts.contains("\"prog.rwi:"), "{facts}");
    scratch.run(["test", "--hints", "facts.json", "--facts", "facts.json", "-o", "out", "--", "./prog.rwi"]).expect(0);
    std::fs::write(scratch.join("prog.rwi"), text + "\n").expect("a program");
    let stale = scratch.run(["test", "--facts", "facts.json", "-o", "out", "--", "./prog.rwi"]).expect(2);
    assert!(stale.stderr.contains("about another build"), "{}", stale.stderr);
    scratch.run(["test", "--facts", "prog.rwi", "-o", "out", "--", "./prog.rwi"]).expect(2);
}

const LIBRARY: &str = "public class Account {\n    private int amount;\n    private int total;\n    \
    public synchronized void deposit(int money) { total += money; }\n    \
    public void set(int money) { amount = money; }\n    public int amount() { return amount; }\n}\n";

#[test]
fn a_library_is_called_by_anybody() {
    if !has("javac") {
        return skip("a_library_is_called_by_anybody", "no JDK (javac)");
    }
    let scratch = Scratch::new("determinism");
    std::fs::write(scratch.join("Account.java"), LIBRARY).expect("a class");
    common::run(scratch.command("javac").args(["-g", "-d", "classes", "Account.java"])).expect(0);
    let all = scratch.run(["determinism", "classes", "--calls", "calls.txt"]).expect(0);
    assert!(all.stdout.contains("Account.set (many)"), "{}", all.stdout);
    assert!(all.stdout.contains("CAN DIFFER  Account.amount"), "{}", all.stdout);
    let calls = std::fs::read_to_string(scratch.join("calls.txt")).expect("calls");
    assert!(calls.contains("-> Account.set"), "{calls}");
    let one = ["determinism", "classes", "--entry", "Account.deposit", "--require", "deterministic:Account.total"];
    scratch.run(one).expect(0);
    scratch.run(["determinism", "classes", "--entry", "Account.nothing"]).expect(2);
    scratch.run(["determinism", "classes", "--barrier", "Account.nothing"]).expect(2);
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

/// Loops and calls of a Java program, by their lines and by their method.
#[test]
fn loops_of_java_that_could_run_at_the_same_time_are_told() {
    if !has("javac") {
        return skip("loops_of_java_that_could_run_at_the_same_time_are_told", "no JDK (javac)");
    }
    let scratch = Scratch::new("determinism");
    let path = root().join("tests/java/parallelise/Kernels.java");
    let text = std::fs::read_to_string(&path).expect("a program");
    let source = path.display().to_string();
    common::run(scratch.command("javac").args(["-g", "-encoding", "UTF-8", "-d", "classes", &source])).expect(0);
    let place = |words: &str, behind: usize| {
        let line = text.lines().position(|line| line.contains(words)).expect("a line");
        format!("Kernels.java:{}", line + 1 + behind)
    };
    let yes = scratch.run(["parallelise", "classes", &place("static void twice()", 1)]).expect(0);
    assert!(yes.stdout.contains(": parallelisable (about"), "{}", yes.stdout);
    let no = scratch.run(["parallelise", "classes", &place("static void shift()", 1)]).expect(1);
    assert!(no.stdout.contains("touch Kernels.a[], in no order"), "{}", no.stdout);
    let calls = place("setOther(); // calls", 0);
    scratch.run(["parallelise", "classes", &place("void calls() {", 1), &calls]).expect(0);
    let method = scratch.run(["parallelise", "classes", "Kernels.shared"]).expect(0);
    assert!(method.stdout.contains("reduction(Kernels.total)"), "{}", method.stdout);
    scratch.run(["parallelise", "classes", "Kernels.nothing"]).expect(3);
    scratch.run(["parallelise", "classes"]).expect(2);
}

/// Values of a Java program, in the words of `--weak` and the published rule.
#[test]
fn values_of_java_are_told() {
    if !has("javac") {
        return skip("values_of_java_are_told", "no JDK (javac)");
    }
    let scratch = Scratch::new("determinism");
    let source = root().join("tests/java/values/Withdraw2.java").display().to_string();
    common::run(scratch.command("javac").args(["-g", "-encoding", "UTF-8", "-d", "classes", &source])).expect(0);
    let said = scratch.run(["determinism", "classes", "--weak", "sign"]).expect(0);
    assert!(said.stdout.contains("sees {300, 400, 1000}"), "{}", said.stdout);
    scratch.run(["determinism", "classes", "--require", "weak(sign):Withdraw2.amount"]).expect(0);
    scratch.run(["determinism", "classes", "--require", "weak(parity):Withdraw2.amount"]).expect(0);
    scratch.run(["determinism", "classes", "--require", "weak(const):Withdraw2.amount"]).expect(1);
    let paper = ["determinism", "classes", "--rule", "paper", "--require", "deterministic:Withdraw2.amount"];
    scratch.run(paper).expect(1);
}

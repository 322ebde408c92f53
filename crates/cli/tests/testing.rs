//! `reweave test` and `confirm` beyond the first finding: exploration, endings, breakpoints, care for the target.

mod lab;

use lab::Lab;
use serde_json::Value;

fn findings(lab: &Lab) -> Vec<Value> {
    let report = std::fs::read_to_string(lab.path("out/report.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    report["findings"].as_array().expect("a list").clone()
}

#[test]
fn exploration_says_when_everything_is_covered() {
    let lab = Lab::new();
    lab.build("explore/upgrade_bad.c", "upgrade");
    let said = lab.reweave(&["test", "--explore", "-o", "out", "--", "./upgrade"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("all 4 classes of executions covered"), "{said:?}");
    let found = findings(&lab);
    let failed = found.iter().find(|finding| finding["kind"] == "failure").expect("it fails in one of them");
    assert_eq!(failed["harm"], "crash");
    let outcome = failed["outcome"].as_str().expect("a text");
    assert!(outcome.contains("Assertion `made == 1' failed"), "{outcome}");
}

#[test]
fn clean_programs_are_covered_without_a_failure() {
    let lab = Lab::new();
    lab.build("explore/rwlock.c", "rwlock");
    let said = lab.reweave(&["test", "-o", "out", "--", "./rwlock"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.stderr.contains("all 4 classes of executions covered"), "{said:?}");
    assert!(said.stderr.contains("no failure"), "{said:?}");
}

#[test]
fn freed_memory_is_a_failure_that_replays() {
    let lab = Lab::new();
    lab.build("golden/heap/calloc_bad.c", "calloc");
    let said = lab.reweave(&["test", "-o", "out", "--budget", "20s", "--", "./calloc"]);
    assert_eq!(said.code, 1, "{said:?}");
    let found = findings(&lab);
    let is_freed = |finding: &&Value| finding["kind"] == "failure" && finding["harm"] == "freed memory";
    let freed = found.iter().find(is_freed).expect("such a finding");
    let lines: Vec<_> = (0..2).map(|i| freed["accesses"][i]["location"]["line"].as_u64()).collect();
    assert_eq!(lines, [Some(20), Some(17)]);
    let again = lab.reweave(&["replay", &format!("out/{}", freed["id"])]);
    assert!(again.stderr.contains("identically"), "{again:?}");
}

#[test]
fn a_broken_update_counts_if_something_comes_of_it() {
    let lab = Lab::new();
    lab.build("golden/atomics/fetch_add_bad.c", "add");
    let said = lab.reweave(&["test", "-o", "out", "--", "./add"]);
    assert_eq!(said.code, 1, "{said:?}");
    let found = findings(&lab);
    let broken = found.iter().find(|finding| finding["kind"] == "atomicity").expect("such a finding");
    assert_eq!((broken["strength"].as_str(), broken["block"].as_str()), (Some("confirmed"), Some("inferred")));
    assert_eq!(broken["harm"], "output");
    for _ in 0..3 {
        let again = lab.reweave(&["replay", &format!("out/{}", broken["id"])]);
        assert_eq!(again.code, 1, "{again:?}");
    }
}

#[test]
fn two_threads_are_brought_to_two_lines() {
    let lab = Lab::new();
    lab.build("explore/lost_update.c", "lost");
    assert_eq!(lab.reweave(&["test", "-o", "out", "--", "./lost"]).code, 1);
    let said = lab.reweave(&["confirm", "out", "--pause", "lost_update.c:9", "--with", "lost_update.c:9"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("were at lost_update.c:9 and lost_update.c:9 at the same time"), "{said:?}");
    assert!(said.stderr.contains("Assertion `counter == 2' failed"), "{said:?}");
    assert_eq!(lab.reweave(&["replay", "out/breakpoint"]).code, 1);
    let nowhere = lab.reweave(&["confirm", "out", "--pause", "lost_update.c:99", "--with", "lost_update.c:9"]);
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
    assert!(nowhere.stderr.contains("no thread reached lost_update.c:99"), "{nowhere:?}");
    let half = lab.reweave(&["confirm", "out", "--pause", "lost_update.c:9"]);
    assert_eq!(half.code, 2, "{half:?}");
}

/// What the report says of pairs of places that lock histories leave, show to be reachable, and that a run did.
fn table(lab: &Lab) -> [u64; 4] {
    let report = std::fs::read_to_string(lab.path("out/report.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    let number = |name: &str| report["stats"][format!("lock-history.{name}")].as_u64().expect("a number");
    ["upper", "pred", "true", "along_its_way"].map(number)
}

#[test]
fn what_lock_histories_show_is_tried() {
    let lab = Lab::new();
    lab.build("golden/mutex/bank_bad.c", "bank");
    assert_eq!(lab.reweave(&["test", "-o", "out", "--", "./bank"]).code, 1);
    let confirm = ["confirm", "out", "--analysis", "lock-history", "--stats"];
    let said = lab.reweave(&confirm);
    assert_eq!(said.code, 1, "{said:?}");
    let [upper, pred, happened, along] = table(&lab);
    assert!(upper >= pred && pred > 0 && happened == pred && along == pred, "{said:?}");
    assert!(said.stderr.contains("\nlock-history\n"), "{said:?}");
    // With nothing known, what happened is a finding like any other.
    let known: Value = serde_json::json!({ "reweave": "", "schema": 1, "program": [], "findings": [], "stats": {} });
    std::fs::write(lab.path("out/report.json"), known.to_string()).expect("a report");
    assert_eq!(lab.reweave(&confirm).code, 1);
    assert_eq!(table(&lab), [upper, pred, happened, along]);
    let found = findings(&lab);
    assert!(!found.is_empty() && found.iter().all(|finding| finding["strength"] == "confirmed"), "{found:?}");
    let again = lab.reweave(&["replay", &format!("out/{}", found[0]["id"])]);
    assert_eq!(again.code, 1, "{again:?}");
    let unknown = lab.reweave(&["confirm", "out", "--analysis", "guess"]);
    assert_eq!(unknown.code, 2, "{unknown:?}");
}

/// Lock histories know no values: who reads only what a flag says is there is shown to come too early, and never does.
#[test]
fn what_only_values_prevent_is_not_confirmed() {
    let lab = Lab::new();
    let source = "#include <pthread.h>\nint data, ready;\npthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;\n\
        void *write_it(void *p) { data = 1;\n\
        pthread_mutex_lock(&lock); ready = 1; pthread_mutex_unlock(&lock); return p; }\n\
        int is_ready(void) { pthread_mutex_lock(&lock); int is = ready; pthread_mutex_unlock(&lock); return is; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, write_it, 0);\n\
        while (!is_ready()); int got = data; pthread_join(t, 0); return got - 1; }\n";
    lab.build_text(source, "flag");
    assert_eq!(lab.reweave(&["test", "--budget", "10s", "-o", "out", "--", "./flag"]).code, 0);
    let said = lab.reweave(&["confirm", "out", "--analysis", "lock-history"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(table(&lab), [1, 1, 0, 0], "{said:?}");
}

#[test]
fn a_replay_in_another_environment_is_the_same() {
    let lab = Lab::new();
    let source = "int main(int n, char **words) { int sum = 0; while (n--) sum += words[n][0]; return sum == 0; }\n";
    lab.build_text(source, "words");
    assert_eq!(lab.reweave(&["record", "--", "./words", "one", "two"]).code, 0);
    for length in [1, 3, 40] {
        // The words lie below the environment: how long that is moves them.
        let mut command = lab.command(lab::reweave());
        let output = command.args(["replay", "reweave.rwt"]).env("MORE", "x".repeat(length)).output();
        let said: lab::Said = output.expect("reweave starts").into();
        assert!(said.code == 0 && said.stderr.contains("identically"), "{said:?}");
    }
}

#[test]
fn a_run_that_is_ended_leaves_no_process_behind() {
    let lab = Lab::new();
    let source = "#include <unistd.h>\nvolatile int n;\nint main(void) { for (;;) { n++; usleep(1000); } }\n";
    lab.build_text(source, "serves");
    std::fs::write(lab.path("drive.sh"), "./serves &\nwait\n").expect("a script");
    lab.reweave(&["test", "--budget", "4s", "-o", "out", "--", "sh", "drive.sh"]);
    let folder = lab.path("").canonicalize().expect("it is there");
    let ours = |entry: &std::fs::DirEntry| {
        std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder)
            && std::fs::read_link(entry.path().join("exe")).is_ok_and(|exe| exe.ends_with("serves"))
    };
    let left: Vec<_> = std::fs::read_dir("/proc").expect("proc").flatten().filter(ours).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn isolated_runs_leave_no_files_behind() {
    let lab = Lab::new();
    let source = "#include <pthread.h>\n#include <stdio.h>\nint n;\n\
        void *work(void *p) { n++; return p; }\n\
        int main(void) { pthread_t t; pthread_create(&t, 0, work, 0); n++; pthread_join(t, 0);\n\
        FILE *f = fopen(\"left\", \"w\"); if (f) fclose(f); return 0; }\n";
    std::fs::write(lab.path("leaves.c"), source).expect("a source");
    assert_eq!(lab.reweave(&["cc", "-g", "-O1", "-o", "leaves", "leaves.c", "-lpthread"]).code, 0);
    let said = lab.reweave(&["test", "--isolate", "-o", "out", "--", "./leaves"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(!lab.path("left").exists());
    assert_eq!(lab.reweave(&["test", "-o", "out", "--", "./leaves"]).code, 1);
    assert!(lab.path("left").exists());
}

#[test]
fn how_many_run_at_a_time_does_not_matter() {
    let lab = Lab::new();
    lab.build("golden/mutex/bank_bad.c", "bank");
    let found = |jobs: &str| {
        let said = lab.reweave(&["test", "--jobs", jobs, "-o", "out", "--", "./bank"]);
        assert_eq!(said.code, 1, "{said:?}");
        let mut all: Vec<String> = findings(&lab).iter().map(|finding| finding["fingerprint"].to_string()).collect();
        all.sort();
        all
    };
    assert_eq!(found("1"), found("4"));
}

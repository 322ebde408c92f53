//! What is given is not exceeded: memory and time, and no more of them than it takes.

mod lab;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use lab::Lab;

/// Threads that are all there at once: clocks have an entry for each of them, in every analysis.
fn crowd(threads: usize) -> String {
    let mut text = String::new();
    (1..=threads).for_each(|n| writeln!(text, "T0|fork(T{n})|1").expect("memory"));
    for n in 1..=threads {
        let (lock, variable) = (n % 7, n % 50);
        let _ =
            writeln!(text, "T{n}|acq(L{lock})|2\nT{n}|r(V{variable})|3\nT{n}|w(V{variable})|4\nT{n}|rel(L{lock})|5");
    }
    text
}

#[test]
fn many_threads_stay_within_the_memory_that_is_allowed() {
    let lab = Lab::new();
    std::fs::write(lab.path("crowd.std"), crowd(6000)).expect("written");
    // The limit of the system stands well above ours: whoever passes ours by far is ended.
    let said = lab.shell("ulimit -v 1500000; \"$REWEAVE\" predict crowd.std --max-memory 150M --budget 20s --stats");
    assert!(said.code <= 1, "{said:?}");
    assert!(said.stdout.contains("memory was at its limit"), "{said:?}");
}

/// Two at a time, thousands in all: what they did is ordered by the thread that joined them.
fn coming_and_going(threads: usize) -> String {
    let mut text = String::new();
    for n in (1..=threads).step_by(2) {
        let _ = writeln!(text, "T0|fork(T{n})|1\nT0|fork(T{})|2", n + 1);
        for (thread, outer, inner, line) in [(n, "A", "B", 10), (n + 1, "B", "A", 20)] {
            let _ = writeln!(text, "T{thread}|acq({outer})|{line}\nT{thread}|acq({inner})|{}", line + 1);
            let _ = writeln!(text, "T{thread}|r(V)|{}\nT{thread}|w(V)|{}", line + 2, line + 3);
            let _ = writeln!(text, "T{thread}|rel({inner})|{}\nT{thread}|rel({outer})|{}", line + 4, line + 5);
        }
        let _ = writeln!(text, "T0|join(T{n})|3\nT0|join(T{})|4", n + 1);
    }
    text
}

#[test]
fn threads_that_have_ended_cost_no_memory() {
    let lab = Lab::new();
    std::fs::write(lab.path("going.std"), coming_and_going(4000)).expect("written");
    let said = lab.reweave(&["predict", "going.std", "--max-memory", "250M", "--budget", "120s"]);
    assert_eq!(said.code, 1, "the deadlock is found: {said:?}");
    assert!(!said.stdout.contains("memory was at its limit"), "{said:?}");
}

#[test]
fn where_everything_races_with_everything_some_of_it_is_shown() {
    let lab = Lab::new();
    let mut text = String::new();
    (1..=4).for_each(|n| writeln!(text, "T0|fork(T{n})|1").expect("memory"));
    for place in 0..600 {
        (1..=4).for_each(|n| writeln!(text, "T{n}|w(V)|{}", 10 + place * 5 + n).expect("memory"));
    }
    std::fs::write(lab.path("pairs.std"), text).expect("written");
    let said = lab.reweave(&["predict", "pairs.std", "--budget", "30s", "--json", "out.json"]);
    assert_eq!(said.code, 1, "{said:?}");
    let report = std::fs::read_to_string(lab.path("out.json")).expect("written");
    let report = reweave_report::Report::from_json(&report).expect("JSON");
    assert!(report.findings.iter().any(reweave_report::Item::is_proven), "{said:?}");
    assert!(report.stats["unknown_pairs"] > 1000, "what is left out is counted: {:?}", report.stats);
}

#[test]
fn the_first_failure_can_be_enough() {
    let lab = Lab::new();
    lab.build("golden/mutex/bank_bad.c", "bank");
    let said = lab.reweave(&["test", "--fail-fast", "-o", "out", "--", "./bank"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(said.stderr.contains("at the first failure (--fail-fast)"), "{said:?}");
    let said = lab.reweave(&["test", "--budget", "60s", "-o", "out", "--", "./bank"]);
    assert_eq!(said.code, 1, "{said:?}");
    let all =
        said.stderr.contains("classes of executions covered") || said.stderr.contains("class of executions covered");
    assert!(all || said.stderr.contains("nothing else was found for"), "the budget is a ceiling: {said:?}");
}

/// Nothing is predicted here: exploration runs into it within a second or two.
#[test]
fn exploration_ends_with_what_it_finds() {
    let lab = Lab::new();
    lab.build("lock_free/aba_bad.c", "aba");
    let test = |more: &[&str]| {
        let began = Instant::now();
        let said = lab.reweave(&[&["test", "-o", "out"], more, &["--", "./aba"]].concat());
        assert_eq!(said.code, 1, "{said:?}");
        (said, began.elapsed())
    };
    let (said, took) = test(&["--fail-fast"]);
    assert!(said.stderr.contains("at the first failure (--fail-fast)") && took < Duration::from_secs(10), "{took:?}");
    let (said, took) = test(&[]);
    assert!(said.stderr.contains("nothing else was found for") && took < Duration::from_secs(25), "{took:?} {said:?}");
}

#[test]
fn a_test_that_used_all_of_its_time_says_so() {
    let lab = Lab::new();
    lab.build("lock_free/safe_stack_bad.c", "stack");
    let said = lab.reweave(&["test", "--budget", "2s", "-o", "out", "--", "./stack"]);
    assert!(said.stderr.contains("used all of its 2 s: there was more to try"), "{said:?}");
}

/// It takes about five preemptions among three threads that spin; on a quiet machine some ten seconds.
#[test]
fn exploration_comes_past_loops_that_spin() {
    let lab = Lab::new();
    lab.build("lock_free/safe_stack_bad.c", "stack");
    let said = lab.reweave(&["test", "--budget", "180s", "--fail-fast", "-o", "out", "--", "./stack"]);
    assert!(said.code == 1 && said.stderr.contains("ended by SIGABRT (safe_stack_bad.c:43)"), "{said:?}");
}

/// Older versions of clang leave accesses out, and whoever builds with one is told.
#[test]
fn what_a_compiler_leaves_out_is_said() {
    let lab = Lab::new();
    let version = lab.shell("clang --version").stdout;
    let version = version.split("clang version ").nth(1).and_then(|rest| rest.split('.').next()?.parse::<u32>().ok());
    let Some(version) = version else {
        eprintln!("skipped: blind spots of clang: no clang");
        return;
    };
    lab.write("one.c", "int main(void) { return 0; }\n");
    let build = "REWEAVE_CC=clang \"$REWEAVE\" cc -g -o one one.c";
    let said = lab.shell(&format!("{build} && \"$REWEAVE\" record -o one.rwt -- ./one"));
    assert_eq!(said.stderr.contains("leaves out accesses to fields of local objects"), version < 20, "{said:?}");
    let said = lab.shell("REWEAVE_CC=gcc \"$REWEAVE\" cc -g -o one one.c && \"$REWEAVE\" record -o one.rwt -- ./one");
    assert!(!said.stderr.contains("leaves out accesses"), "{said:?}");
}

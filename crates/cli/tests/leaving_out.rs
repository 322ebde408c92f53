//! Where the events come from (`--profile`), and functions that are not to be looked at (`--ignore`).

mod common;

use common::{Scratch, run};

const TWO: &str = r#"
#include <pthread.h>
static int busy[64], shared;
__attribute__((noinline)) void inner(int i) { busy[i & 63] += i; }
__attribute__((noinline)) void hot(void) {
    for (int i = 0; i < 200; i++) inner(i);
}
__attribute__((noinline)) void cool(void) { shared++; }
static void *work(void *arg) {
    hot();
    cool();
    return arg;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    work(0);
    pthread_join(thread, 0);
    return 0;
}
"#;

fn built() -> Scratch {
    let scratch = Scratch::new("leave");
    scratch.file("two.c", TWO);
    scratch.run(["cc", "-g", "-O1", "-o", "two", "two.c", "-lpthread"]).expect(0);
    scratch
}

#[test]
fn a_profile_names_the_function_that_costs_most_first() {
    let scratch = built();
    let done = scratch.run(["record", "--profile", "--", "./two"]).expect(0);
    let table: Vec<&str> = done.stderr.lines().skip_while(|line| !line.ends_with("function")).collect();
    assert!(table[1].ends_with(" inner"), "{table:#?}");
    assert!(table[1].trim_start().starts_with("800 "), "two accesses in 400 calls: {table:#?}");
}

/// With what it calls, and in a replay, too.
#[test]
fn a_function_is_left_out_and_the_report_says_so() {
    let scratch = built();
    let done = scratch.run(["record", "--profile", "--ignore", "hot", "-o", "run.rwt", "--", "./two"]).expect(0);
    assert!(done.stderr.contains("left out (--ignore): accesses of hot"), "{}", done.stderr);
    assert!(!done.stderr.contains(" inner") && done.stderr.contains(" cool"), "{}", done.stderr);
    scratch.run(["replay", "run.rwt"]).expect(0).says("identically");
    for free in [&[][..], &["--free"]] {
        let mut command = scratch.reweave(["watch", "--ignore", "hot"]);
        let done = run(command.args(free).args(["--", "./two"])).expect(0);
        assert!(done.stderr.contains("race on shared") && !done.stderr.contains("race on busy"), "{}", done.stderr);
    }
    let done = scratch.run(["test", "--ignore", "hot", "-o", "out", "--budget", "20s", "--", "./two"]).expect(1);
    assert!(done.stderr.contains("accesses of 1 function, and of what it calls, were left out"), "{}", done.stderr);
    assert!(!done.stderr.contains("busy"), "{}", done.stderr);
}

#[test]
fn a_function_that_is_not_there_is_told() {
    let scratch = built();
    let done = scratch.run(["record", "--ignore", "absent", "--", "./two"]).expect(0);
    assert!(done.stderr.contains("has no function absent"), "{}", done.stderr);
}

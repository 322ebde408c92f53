//! Threads that run free between synchronizations: what is recorded is a sound trace, what is watched for is found, and
//! correct programs are left alone.

mod common;

use std::path::Path;

use common::traces::Checked;
use common::{Scratch, root, run};
use reweave_model::Kind;
use reweave_report::Report;

/// Programs of `tests/golden`, some of each kind of synchronization: the `_bad` ones have a race, the `_ok` ones none.
const PAIRS: &[(&str, &str)] = &[
    ("atomics/flag", "c"),
    ("c11/mtx", "c"),
    ("cond/signal", "cpp"),
    ("cxx/future", "cpp"),
    ("cxx/shared_ptr", "cpp"),
    ("heap/malloc", "c"),
    ("io/pipe", "c"),
    ("libc/memcpy", "c"),
    ("memory/struct_copy", "c"),
    ("mutex/bank", "c"),
    ("rwlock/rwlock", "c"),
    ("signal/raise", "c"),
    ("spin/lock", "c"),
    ("stack/exception", "cpp"),
    ("thread/cleanup", "c"),
    ("thread/create", "c"),
    ("thread/once", "c"),
];

/// How often a race is looked for: who comes first, and so what is ordered, is up to the machine.
const TRIES: u32 = 10;

/// What `watch --free` reports of a program.
fn watched(scratch: &Scratch, built: &Path) -> Report {
    run(scratch.reweave(["watch", "--free", "--json", "found.json", "--"]).arg(built));
    let text = std::fs::read_to_string(scratch.join("found.json")).expect("a report");
    serde_json::from_str(&text).expect("what we wrote")
}

#[test]
fn what_races_is_found_and_what_does_not_is_left_alone() {
    let scratch = Scratch::new("free");
    for (name, suffix) in PAIRS {
        let built = |kind: &str| scratch.build(&format!("golden/{name}_{kind}.{suffix}"));
        let bad = built("bad");
        let found = (0..TRIES).any(|_| watched(&scratch, &bad).findings.iter().any(|item| item.kind == Kind::Race));
        assert!(found, "{name}: the race is not seen");
        let ok = watched(&scratch, &built("ok"));
        assert!(ok.findings.is_empty(), "{name}: {:?}", ok.findings);
    }
}

/// Records a program whose threads run free; the trace must be whole.
#[track_caller]
fn recorded(scratch: &Scratch, source: &str) -> Checked {
    let program = scratch.build(source);
    run(scratch.reweave(["record", "--free", "-o", "run.rwt", "--"]).arg(program)).expect(0);
    let checked = Checked::sound(&scratch.join("run.rwt"));
    assert_eq!(checked.trace.meta().policy, "free");
    checked
}

#[test]
fn where_nothing_races_the_recording_is_exact_and_replays() {
    let scratch = Scratch::new("free");
    for source in ["golden/mutex/bank_ok.c", "golden/cond/signal_ok.c"] {
        let checked = recorded(&scratch, source);
        assert_eq!(checked.unexplained(), [], "{source}");
        scratch.run(["replay", "run.rwt"]).expect(0).says("identically");
    }
}

#[test]
fn a_race_in_a_recording_is_predicted_and_a_run_is_steered_to_it() {
    let scratch = Scratch::new("free");
    let is_predicted = || {
        recorded(&scratch, "golden/mutex/bank_bad.c");
        // Where updates really met, a value has no recorded origin, and the race is only potential.
        scratch.run(["predict", "run.rwt"]).stdout.contains("predicted: data race on balance")
    };
    assert!((0..TRIES).any(|_| is_predicted()), "the race is never predicted");
    let folder = scratch.join("found");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::rename(scratch.join("run.rwt"), folder.join("recording.rwt")).expect("in the same file system");
    let done = scratch.run(["confirm", "found", "--budget", "20s"]).expect(1);
    assert!(done.stderr.contains("confirmed: data race on balance"), "{}", done.stderr);
    scratch.run(["replay", "found/1"]).expect(1).says("it happened again");
}

const NOBODY_WAITS: &str = r#"
#include <pthread.h>
#include <unistd.h>
static volatile int shared, begun;
static void *work(void *arg) {
    shared = 1;
    begun = 1;
    for (;;) begun = 2;
    return arg;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    while (!begun) {}
    return shared != 1;
}
"#;

/// The second thread never comes to a synchronization.
#[test]
fn what_threads_did_that_nobody_waits_for_is_recorded_when_the_process_ends() {
    let scratch = Scratch::new("free");
    scratch.file("nobody.c", NOBODY_WAITS);
    scratch.run(["cc", "-g", "-O1", "-o", "nobody", "nobody.c", "-lpthread"]).expect(0);
    scratch.run(["watch", "--free", "--", "./nobody"]).expect(0).says("data race on shared");
}

const COUNTER: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
static atomic_int narrow;
static _Atomic long wide;
static void *work(void *arg) {
    for (int i = 0; i < 2000; i++) {
        narrow++;
        long old = atomic_load(&wide);
        while (!atomic_compare_exchange_weak(&wide, &old, old + 2)) {}
    }
    return arg;
}
int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    printf("%d %ld\n", narrow, wide);
    return 0;
}
"#;

#[test]
fn atomics_are_atomic() {
    let scratch = Scratch::new("free");
    scratch.file("counter.c", COUNTER);
    scratch.run(["cc", "-g", "-O1", "-o", "counter", "counter.c", "-lpthread"]).expect(0);
    let done = scratch.run(["record", "--free", "-o", "run.rwt", "--", "./counter"]).expect(0);
    assert_eq!(done.stdout, "8000 16000\n");
    assert_eq!(Checked::sound(&scratch.join("run.rwt")).unexplained(), []);
}

#[test]
fn only_native_programs_run_free() {
    let scratch = Scratch::new("free");
    std::fs::copy(root().join("tests/statics/account.rwi"), scratch.join("a.rwi")).expect("a script");
    for command in ["record", "watch"] {
        let done = scratch.run([command, "--free", "--", "a.rwi"]).expect(2);
        assert!(done.stderr.contains("leave --free out"), "{}", done.stderr);
        let done = scratch.run([command, "--free", "--seed", "3", "--", "./a"]).expect(2);
        assert!(done.stderr.contains("cannot be used with"), "{}", done.stderr);
    }
}

const PAIR: &str = r#"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
struct pair { unsigned long value, version; };
static _Atomic(struct pair) cell;
static void *work(void *arg) {
    for (int i = 0; i < 500; i++) {
        struct pair before = atomic_load(&cell), after;
        do
            after = (struct pair){before.value + 5, before.version + 1};
        while (!atomic_compare_exchange_strong(&cell, &before, after));
    }
    return arg;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    struct pair end = atomic_load(&cell);
    printf("%lu %lu\n", end.value, end.version);
    return 0;
}
"#;

/// Each exchange that was done is recorded as done.
#[test]
fn sixteen_bytes_are_exchanged_at_once() {
    let scratch = Scratch::new("free");
    scratch.file("pair.c", PAIR);
    scratch.run(["cc", "-g", "-O1", "-mcx16", "-o", "pair", "pair.c", "-latomic", "-lpthread"]).expect(0);
    for free in [&[][..], &["--free"]] {
        let mut command = scratch.reweave(["record", "-o", "run.rwt"]);
        let done = run(command.args(free).args(["--", "./pair"])).expect(0);
        assert_eq!(done.stdout, "5000 1000\n");
        assert_eq!(Checked::sound(&scratch.join("run.rwt")).unexplained(), []);
    }
}

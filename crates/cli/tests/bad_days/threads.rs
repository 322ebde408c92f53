//! Threads: very many, without end, or not made by the program.

use super::{Day, library};
use crate::common::{Scratch, has, root, run};
use reweave_trace::Outcome;

#[test]
fn two_thousand_threads() {
    let day = Day::new("many_threads.c");
    day.record();
    assert_eq!(day.checked().threads(), 2001);
    day.replays(false);
}

#[test]
fn threads_that_never_end() {
    let day = Day::new("never_ending.c");
    day.record();
    let checked = day.checked();
    assert_eq!(checked.outcome(), Outcome::Exited { status: 0 });
    assert_eq!(checked.threads(), 4);
    day.replays(false);
}

#[test]
fn sigev_thread() {
    let day = Day::new("sigev_thread.c");
    day.record();
    let checked = day.checked();
    assert!(checked.threads() >= 2, "the library's thread is seen when it calls the program");
}

#[test]
fn foreign_threads() {
    let scratch = Scratch::new("day");
    if !has("gcc") {
        return crate::common::skip("foreign_threads", "no gcc");
    }
    let lib = library(&scratch, &["gcc"], "foreign_thread_lib.c");
    let source = root().join("tests/bad_days/foreign_thread.c");
    let mut build = scratch.reweave(["cc", "-g", "-O1", "-pthread", "-Wl,-rpath,$ORIGIN", "-o", "foreign_thread"]);
    run(build.arg(&source).arg(&lib)).expect(0);
    let done = scratch.run(["record", "-o", "run.rwt", "--", "./foreign_thread"]).expect(0);
    assert_eq!(done.stdout, "sum 36\n");
    let checked = crate::common::traces::Checked::sound(&scratch.join("run.rwt"));
    assert_eq!(checked.threads(), 2);
}

/// Made by the `clone` system call: nothing of it is seen, and only the kernel wakes who waits for its end. When it
/// ends is not under control, so that a replay may go otherwise; then it says so.
#[test]
fn threads_made_by_clone() {
    let day = Day::new("raw_clone.c");
    day.record();
    assert_eq!(day.checked().outcome(), Outcome::Exited { status: 0 });
    let again = day.scratch.run(["replay", "run.rwt"]);
    match again.code {
        Some(0) => again.says("identically"),
        _ => again.expect(2).says("next: "),
    };
}

#[test]
fn recursion_a_hundred_thousand_deep() {
    let day = Day::new("deep_recursion.c");
    day.record();
    day.checked();
    day.replays(false);
}

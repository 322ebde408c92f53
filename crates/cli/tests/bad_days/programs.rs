//! Programs with bad manners of their own.

use super::Day;
use reweave_trace::Outcome;

#[track_caller]
fn ends_well(source: &str) {
    let day = Day::new(source);
    day.record();
    assert_eq!(day.checked().outcome(), Outcome::Exited { status: day.expected });
}

#[test]
fn computes_without_an_access() {
    ends_well("busy_cpu.c");
}

#[test]
fn throws_and_catches() {
    ends_well("caught_exception.cpp");
}

#[test]
fn closes_descriptors_that_are_not_its_own() {
    ends_well("close_all.c");
}

#[test]
fn spins_without_yielding() {
    ends_well("spin_busy.c");
}

#[test]
fn spins_and_yields() {
    ends_well("spin_yield.c");
}

#[test]
fn prints_from_all_threads_at_once() {
    ends_well("stdio_threads.c");
}

//! How processes end, multiply and become others.

use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

use super::Day;
use crate::common::run::{LIMIT, Running};
use crate::common::traces::Checked;
use crate::common::{Scratch, run};
use reweave_model::Op;
use reweave_trace::Outcome;

/// A fatal signal is the last thing in the trace, and how the process ended.
fn fatal(source: &str, signal: i32) {
    let day = Day::new(source);
    day.record();
    let checked = day.checked();
    assert!(matches!(checked.outcome(), Outcome::Signalled { signal: found, .. } if found == signal));
    assert_eq!(checked.count(|op| matches!(op, Op::Fatal { number, .. } if *number as i32 == signal)), 1);
    assert!(checked.last().starts_with("Fatal"), "{}", checked.last());
    assert!(checked.threads() > 1);
    day.replays(true);
}

#[test]
fn sigsegv_leaves_a_complete_trace() {
    fatal("segv.c", libc::SIGSEGV);
}

#[test]
fn sigabrt_leaves_a_complete_trace() {
    fatal("abort.c", libc::SIGABRT);
}

#[test]
fn uncaught_exception_leaves_a_complete_trace() {
    fatal("uncaught_exception.cpp", libc::SIGABRT);
}

#[test]
fn fork_gives_the_child_a_trace_of_its_own() {
    let day = Day::new("fork_threads.c");
    day.record();
    let traces = day.all();
    assert_eq!(traces.len(), 2);
    // The child returns how much its own threads counted.
    for (checked, status) in traces.iter().zip([0, 6]) {
        assert_eq!(checked.outcome(), Outcome::Exited { status });
        assert!(checked.threads() > 1, "parent and child create threads");
    }
    assert_ne!(traces[0].trace.meta().pid, traces[1].trace.meta().pid);
    day.replays(false);
}

#[test]
fn vfork_and_exec() {
    let day = Day::new("vfork_exec.c");
    day.record();
    assert_eq!(day.checked().threads(), 3);
}

#[test]
fn exec_of_itself_closes_one_trace_and_opens_another() {
    let day = Day::new("exec_self.c");
    day.record();
    let ends: Vec<Outcome> = day.all().iter().map(Checked::outcome).collect();
    assert_eq!(ends, [Outcome::Exec, Outcome::Exec, Outcome::Exited { status: 0 }]);
}

#[test]
fn an_alarm_that_would_kill_does_not_go_off_because_sleeps_are_skipped() {
    let day = Day::new("deadly_alarm.c");
    day.record();
    let done = day.record_with(&[], &["500"]);
    assert_eq!(done.last_line(), "still there, in time", "{}", done.stderr);
    day.checked();
    day.replays(false);
}

#[test]
fn a_signal_from_outside_comes_at_the_same_step_again() {
    let day = Day::new("signalled_outside.c");
    for _ in 0..3 {
        let done = day.record_with(&[], &[]);
        assert_eq!(day.checked().count(|op| matches!(op, Op::Signal { .. })), 1);
        let mut replay = day.scratch.reweave(["replay", "run.rwt"]);
        let again = run(replay.env("TMPDIR", day.scratch.path())).expect(0).says("identically");
        assert_eq!(again.last_line(), done.last_line());
    }
}

#[test]
fn underscore_exit_in_a_thread() {
    let day = Day::new("exit_in_thread.c");
    day.record();
    let checked = day.checked();
    assert_eq!(checked.outcome(), Outcome::Exited { status: 5 });
    assert_eq!(checked.count(|op| matches!(op, Op::Exit { status: 5 })), 1);
    day.replays(true);
}

#[test]
fn sigkill_of_the_target_by_itself() {
    let day = Day::new("kill_self.c");
    day.record();
    let checked = day.checked();
    assert!(matches!(checked.outcome(), Outcome::Signalled { signal: libc::SIGKILL, .. }));
    assert!(checked.report.events > 10);
    day.replays(true);
}

/// Starts recording a program that writes for a long time; returns `reweave` and the pid of the program.
fn writing(day: &Day, millions: &str) -> (Running, i32) {
    let running = Running::start(&mut day.command(&[], &[millions]));
    let children = format!("/proc/{0}/task/{0}/children", running.pid());
    let deadline = Instant::now() + LIMIT;
    loop {
        let target = std::fs::read_to_string(&children).unwrap_or_default();
        let written = std::fs::metadata(day.trace()).map_or(0, |about| about.len());
        if let (Ok(target), true) = (target.trim().parse(), written > 100_000) {
            return (running, target);
        }
        if Instant::now() > deadline {
            panic!("no trace is written: {:?}", running.wait(Duration::ZERO));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn sigkill_of_the_target_from_outside() {
    let day = Day::new("endless_writer.c");
    let (running, target) = writing(&day, "0");
    // SAFETY: the program that we had started.
    unsafe { libc::kill(target, libc::SIGKILL) };
    running.wait(LIMIT).expect(137).says("SIGKILL");
    let checked = day.checked();
    assert!(matches!(checked.outcome(), Outcome::Signalled { signal: libc::SIGKILL, .. }));
    assert!(checked.report.events > 1000);
}

#[test]
fn sigkill_of_reweave_lets_the_program_go_on_to_its_end() {
    let day = Day::new("endless_writer.c");
    let plain = run(day.scratch.command(&day.program).arg("20")).expect(0);
    let (running, _) = writing(&day, "20");
    // SAFETY: our own child, which has not been waited for.
    unsafe { libc::kill(running.pid(), libc::SIGKILL) };
    // Its output ends when the program does, which by then is nobody's child.
    let done = running.wait(LIMIT).expect(137);
    assert_eq!(done.stdout, plain.stdout, "{}", done.stderr);
    let checked = Checked::open(&day.trace()).expect("readable");
    assert!(checked.report.events > 1000 && checked.report.is_consistent());
    assert!(checked.trace.footer().is_none(), "nobody was left to write how it ended");
    day.scratch.run(["inspect", "run.rwt"]).expect(0);
}

#[test]
fn script_that_runs_several_instrumented_children() {
    let scratch = Scratch::new("day");
    scratch.build("golden/mutex/bank_ok.c");
    scratch.build("bad_days/many_threads.c");
    scratch.script("all.sh", "#!/bin/sh\n./bank_ok && ./many_threads | tail -1\n./bank_ok\nexit 9\n");
    scratch.run(["record", "-o", "run.rwt", "--", "./all.sh"]).expect(9);
    let traces = crate::common::traces::all(&scratch.join("run.rwt"));
    let mut threads: Vec<usize> = traces.iter().map(|path| Checked::sound(path).threads()).collect();
    threads.sort_unstable();
    assert_eq!(threads.len(), 3, "{traces:?}");
    assert_eq!(threads[0], threads[1]);
    assert_eq!(threads[2], 2001);
}

#[test]
fn program_not_found() {
    let scratch = Scratch::new("day");
    for words in [["record", "--", "./nothing"], ["test", "--", "./nothing"], ["record", "--", "nothing-in-path"]] {
        scratch.run(words).expect(3).says("no such program");
    }
}

#[test]
fn program_not_executable() {
    let scratch = Scratch::new("day");
    scratch.file("notes", "hello");
    for command in ["record", "test"] {
        scratch.run([command, "--", "./notes"]).expect(3).says("not executable");
    }
}

#[test]
fn closed_stdout_of_the_program() {
    let day = Day::new("closed_stdout.c");
    day.record();
    assert_eq!(day.checked().outcome(), Outcome::Exited { status: 0 });
}

#[test]
fn closed_stdout_of_reweave() {
    let day = Day::new("closed_stdout.c");
    let mut command = day.command(&[], &[]);
    // SAFETY: closes descriptors of the new process.
    unsafe {
        command.pre_exec(|| {
            libc::close(0);
            libc::close(1);
            Ok(())
        });
    }
    run(&mut command).expect(0);
    assert_eq!(day.checked().outcome(), Outcome::Exited { status: 0 });
}

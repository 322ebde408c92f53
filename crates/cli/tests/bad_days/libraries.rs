//! Code that is not instrumented, comes late or goes early.

use super::{Day, library};
use crate::common::{REWEAVE, Scratch, has, root, run, skip};
use reweave_model::Op;

#[test]
fn dlopen_and_dlclose_of_an_instrumented_library() {
    let day = Day::new("plugin.c");
    let lib = library(&day.scratch, &[REWEAVE, "cc"], "plugin_lib.c");
    let lib = lib.to_str().expect("ASCII");
    let plain = run(day.scratch.command(&day.program).arg(lib)).expect(0);
    let done = day.record_with(&[], &[lib]);
    assert_eq!(done.stdout, plain.stdout);
    let checked = day.checked();
    let inside = |event: &reweave_model::Event<'_>| {
        checked.trace.symbols().frames(event.pc).any(|frame| frame.file.ends_with("plugin_lib.c"))
    };
    let mut events = checked.trace.events();
    let mut seen = 0;
    while let Some(event) = events.next().expect("checked before") {
        seen += usize::from(matches!(event.op, Op::Write { .. }) && inside(&event));
    }
    assert!(seen >= 3 * 6, "only {seen} writes of the library, by its own source lines");
    day.replays(false);
}

#[test]
fn program_not_built_with_reweave_cc() {
    let scratch = Scratch::new("day");
    if !has("gcc") {
        return skip("program_not_built_with_reweave_cc", "no gcc");
    }
    let source = root().join("tests/bad_days/plain_program.c");
    run(scratch.command("gcc").args(["-O1", "-pthread", "-o", "plain"]).arg(&source)).expect(0);
    let plain = run(&mut scratch.command(scratch.join("plain"))).expect(0);
    let done = scratch.run(["record", "-o", "run.rwt", "--", "./plain"]).expect(0);
    assert_eq!(done.stdout, plain.stdout);
    let done = done.says("was not built with reweave cc: only lock-level events were recorded");
    assert!(done.stderr.contains("build it with `reweave cc`"), "{}", done.stderr);
    let checked = crate::common::traces::Checked::sound(&scratch.join("run.rwt"));
    assert!(!checked.trace.meta().instrumented);
    assert!(checked.count(|op| matches!(op, Op::Acquire { .. })) > 0);
    assert!(checked.count(|op| matches!(op, Op::Wait { .. })) > 0);
    assert!(checked.count(|op| matches!(op, Op::Join { .. })) > 0);
}

#[test]
fn openmp() {
    let scratch = Scratch::new("day");
    let probe = scratch.file("probe.c", "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n");
    if run(scratch.command("gcc").args(["-fopenmp", "-o", "probe"]).arg(&probe)).code != Some(0) {
        return skip("openmp", "gcc has no OpenMP library here");
    }
    uninstrumented("openmp.c", &["-fopenmp".to_owned()]);
}

#[test]
fn glib() {
    let scratch = Scratch::new("day");
    if !has("pkg-config") {
        return skip("glib", "no pkg-config");
    }
    let flags = run(scratch.command("pkg-config").args(["--cflags", "--libs", "glib-2.0"]));
    if flags.code != Some(0) {
        return skip("glib", "the GLib development files are missing (libglib2.0-dev)");
    }
    let flags: Vec<String> = flags.stdout.split_whitespace().map(str::to_owned).collect();
    uninstrumented("glib.c", &flags);
}

/// A program on top of a library that synchronises out of sight runs to its end with the right output.
fn uninstrumented(source: &str, flags: &[String]) {
    let scratch = Scratch::new("day");
    let path = root().join("tests/bad_days").join(source);
    let mut build = scratch.reweave(["cc", "-g", "-O1", "-pthread", "-o", "program"]);
    run(build.arg(&path).args(flags)).expect(0);
    let plain = run(&mut scratch.command(scratch.join("program"))).expect(0);
    for seed in ["0", "1", "2"] {
        let done = scratch.run(["record", "-o", "run.rwt", "--seed", seed, "--", "./program"]).expect(0);
        assert_eq!(done.last_line(), plain.last_line(), "seed {seed}: {}", done.stderr);
        let checked = crate::common::traces::Checked::sound(&scratch.join("run.rwt"));
        assert!(checked.threads() > 1, "{source}: the library's threads are seen");
    }
}

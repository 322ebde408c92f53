//! Code that is not instrumented, comes late or goes early.

use super::{Day, library};
use crate::common::golden::{GCC, Program, compilers};
use crate::common::traces::Checked;
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
fn plugin_that_brings_the_cxx_library_into_a_c_program() {
    let day = Day::new("plugin.c");
    let lib = library(&day.scratch, &[REWEAVE, "c++"], "map_plugin_lib.cpp");
    let lib = lib.to_str().expect("ASCII");
    let plain = run(day.scratch.command(&day.program).arg(lib)).expect(0);
    let done = day.record_with(&[], &[lib]);
    assert_eq!(done.stdout, plain.stdout);
    assert_eq!(day.checked().unexplained(), []);
    day.replays(false);
}

/// The C++ library balances the trees of `std::map` out of the compiler's sight, but not out of ours.
#[test]
fn nodes_of_a_map() {
    let day = Day::new("map_nodes.cpp");
    for seed in ["0", "1", "2"] {
        day.record_with(&["--policy", "random", "--seed", seed], &[]);
        assert_eq!(day.checked().unexplained(), []);
    }
    day.replays(false);
}

/// A known limit: clang (19 still) takes a local variable for private if the address of the field that is accessed does
/// not escape, even if that of the variable does. The next read is then explained by no write, which is said; no more.
#[test]
fn writes_that_clang_does_not_instrument() {
    let program = Program::read(&root().join("tests/bad_days/escaped_local.c"));
    let text = std::fs::read_to_string(&program.path).expect("the program");
    let line = 1 + text.lines().position(|line| line.contains("pair.second += 6")).expect("the write");
    for compiler in compilers() {
        let scratch = Scratch::new("day");
        program.build(&scratch, compiler, "-O1").unwrap_or_else(|why| panic!("{why}"));
        let plain = run(&mut scratch.command(scratch.join("escaped_local"))).expect(0);
        let done = scratch.run(["record", "-o", "run.rwt", "--", "./escaped_local"]).expect(0);
        assert_eq!(done.stdout, plain.stdout);
        let checked = Checked::sound(&scratch.join("run.rwt"));
        let mut events = checked.trace.events();
        let mut seen = false;
        while let Some(event) = events.next().expect("checked before") {
            let here = checked.trace.symbols().frames(event.pc).any(|frame| frame.line as usize == line);
            seen |= here && matches!(event.op, Op::Write { .. });
        }
        assert!(seen || compiler != GCC, "gcc instruments it");
        let count = u64::from(!seen);
        assert_eq!(checked.report.unexplained_reads(), count, "{compiler:?}");
        let told = scratch.run(["inspect", "run.rwt"]).expect(0).stdout;
        assert!(told.contains(&format!("reads no recorded write explains: {count} of ")), "{told}");
        assert_eq!(told.contains("1 at escaped_local.c:12 work"), !seen, "{told}");
        scratch.run(["replay", "run.rwt"]).expect(0).says("identically");
    }
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
    let checked = Checked::sound(&scratch.join("run.rwt"));
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
        let checked = Checked::sound(&scratch.join("run.rwt"));
        assert!(checked.threads() > 1, "{source}: the library's threads are seen");
    }
}

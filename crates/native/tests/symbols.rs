//! Symbols and code facts, on programs compiled here. Without a compiler these tests say so and pass.

use std::path::{Path, PathBuf};
use std::process::Command;

use reweave_model::{Addr, Pc};
use reweave_native::symbols::resolve;
use reweave_trace::{Module, Symbols};

const SOURCE: &str = include_str!("data/code/program.c");

struct Hook {
    pc: Pc,
    addr: u64,
    line: u32,
}

struct Run {
    symbols: Symbols,
    hooks: Vec<Hook>,
    /// Compiler and flags, for messages.
    how: String,
    _folder: tempfile::TempDir,
}

impl Run {
    fn at(&self, marker: &str) -> Vec<&Hook> {
        let hooks = self.maybe_at(marker);
        assert!(!hooks.is_empty(), "{}: no hook ran at {marker}", self.how);
        hooks
    }

    /// Compilers may leave out the hook of an access that they prove harmless.
    fn maybe_at(&self, marker: &str) -> Vec<&Hook> {
        let line = SOURCE.lines().position(|line| line.ends_with(&format!("// {marker}"))).expect(marker) as u32 + 1;
        self.hooks.iter().filter(|hook| hook.line == line).collect()
    }

    fn straight(&self, first: &str, second: &str) -> bool {
        self.symbols.facts().straight_line(self.at(first).last().unwrap().pc, self.at(second)[0].pc)
    }

    fn constant(&self, marker: &str) -> bool {
        self.maybe_at(marker).iter().all(|hook| self.symbols.facts().constant_address(hook.pc))
    }
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/code")
}

/// Compiles and runs the program in every available way.
fn runs() -> Vec<Run> {
    let mut runs = Vec::new();
    for compiler in ["gcc", "clang", "clang-19"] {
        if !Command::new(compiler).arg("--version").output().is_ok_and(|out| out.status.success()) {
            eprintln!("left out: no {compiler} here");
            continue;
        }
        for level in ["-O0", "-O1", "-O2"] {
            for pic in [&["-fno-pie", "-no-pie"][..], &["-fPIC", "-no-pie"]] {
                let folder = tempfile::tempdir().unwrap();
                let at = |name: &str| folder.path().join(name);
                let run = |args: &[&str], extra: &[PathBuf]| {
                    let out = Command::new(compiler).args(args).args(extra).output().unwrap();
                    assert!(out.status.success(), "{compiler} {args:?}: {}", String::from_utf8_lossy(&out.stderr));
                };
                let mut args = vec!["-g", level, "-fsanitize=thread", "-c"];
                args.extend(pic.iter().filter(|flag| flag.starts_with("-f")));
                args.push("-o");
                run(&args, &[at("program.o"), sources().join("program.c")]);
                run(&["-O1", "-fno-pie", "-c", "-o"], &[at("hooks.o"), sources().join("hooks.c")]);
                run(&["-no-pie", "-o"], &[at("program"), at("program.o"), at("hooks.o")]);
                let out = Command::new(at("program")).output().unwrap();
                let hex = |word: &str| u64::from_str_radix(word, 16).unwrap();
                let text = String::from_utf8(out.stdout).unwrap();
                let words: Vec<Vec<&str>> = text.lines().map(|line| line.split(' ').collect()).collect();
                let mut pcs: Vec<Pc> = words.iter().map(|line| Pc(hex(line[1]))).collect();
                let modules =
                    [Module { path: at("program").display().to_string(), base: 0x400000, size: 1 << 20, bias: 0 }];
                let order = pcs.clone();
                pcs.sort_unstable();
                pcs.dedup();
                let symbols = resolve(&modules, &pcs);
                let stored = symbols.to_bytes();
                assert!(Symbols::from_bytes(&stored).unwrap().to_bytes() == stored, "stored and loaded");
                let hooks = order.iter().zip(&words).map(|(&pc, line)| {
                    let addr = hex(line[2]);
                    Hook { pc, addr, line: symbols.place(pc).line }
                });
                let how = format!("{compiler} {level} {pic:?}");
                runs.push(Run { hooks: hooks.collect(), symbols, how, _folder: folder });
            }
        }
    }
    runs
}

#[test]
fn code_facts() {
    for run in runs() {
        let how = &run.how;
        assert!(run.straight("straight-1", "straight-2"), "{how}");
        assert!(!run.straight("straight-2", "straight-1"), "{how}: backwards");
        assert!(!run.straight("branch-1", "branch-2"), "{how}");
        assert!(!run.straight("branch-2", "branch-3"), "{how}: the other way leads there too");
        assert!(!run.straight("call-1", "call-2"), "{how}: the call may do anything");
        assert!(!run.straight("switch-2", "switch-3"), "{how}: other cases come in between");
        let (first, second) = (run.at("loop-1"), run.at("loop-2"));
        let facts = run.symbols.facts();
        assert!(facts.straight_line(first[0].pc, second[0].pc), "{how}: within one round");
        assert!(facts.branch_between(second[0].pc, first[1].pc), "{how}: from round to round");
        for marker in ["straight-1", "straight-2", "branch-2", "branch-3", "call-1", "call-2", "loop-2", "switch-1"] {
            assert!(run.constant(marker), "{how}: {marker}");
        }
        for marker in ["data-1", "data-2", "loop-1", "vla-1", "switch-3"] {
            let constant = run.maybe_at(marker).iter().any(|hook| facts.constant_address(hook.pc));
            assert!(!constant, "{how}: {marker} depends on data");
        }
        assert!(run.constant("frame-1"), "{how}");
        assert!(run.constant("tls-1"), "{how}");
        assert!(run.constant("extern-1"), "{how}: a global of elsewhere, directly or through the offset table");
        // The pointer is loaded from a constant place; what it points to is not one.
        let hooks = run.at("data-3");
        let constant: Vec<_> = hooks.iter().map(|hook| facts.constant_address(hook.pc)).collect();
        assert_eq!(constant, [true, false], "{how}");
    }
}

#[test]
fn positions_and_variables() {
    for run in runs() {
        let how = &run.how;
        for (marker, function, variable) in [
            ("straight-1", "straight", "balance"),
            ("loop-2", "looping", "balance"),
            ("branch-3", "branching", "table"),
        ] {
            let hook = run.at(marker)[0];
            let place = run.symbols.place(hook.pc);
            assert_eq!(place.function, function, "{how}");
            assert!(place.file.ends_with("program.c"), "{how}: {}", place.file);
            let found = run.symbols.variable(Addr(hook.addr)).expect(variable);
            assert_eq!((found.name, found.offset), (variable, if variable == "table" { 4 } else { 0 }), "{how}");
        }
    }
}

#[test]
fn without_a_file_the_module_and_offset_remain() {
    let modules = [Module { path: "/no/such/library.so".into(), base: 0x1000, size: 0x1000, bias: 0x1000 }];
    let symbols = resolve(&modules, &[Pc(0x1234), Pc(0x9999)]);
    assert_eq!(symbols.place(Pc(0x1234)).function, "library.so+0x234");
    assert_eq!(symbols.place(Pc(0x9999)).function, "0x9999");
    assert_eq!(symbols.place(Pc(0x5)).function, "0x5");
    assert!(symbols.variable(Addr(1)).is_none());
}

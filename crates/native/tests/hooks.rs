//! The stub archive: complete, self-contained, and taken over by a runtime that is preloaded.

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use reweave_native::{Instrumentation, STUBS};
use support::*;

/// All hooks, from the archive itself.
fn hooks(scratch: &Scratch) -> BTreeSet<String> {
    fs::write(scratch.path.join("stubs.a"), STUBS).unwrap();
    scratch
        .symbols("--defined-only", "stubs.a")
        .into_iter()
        .filter(|symbol| ["__tsan_", "__reweave_", "Annotate"].iter().any(|prefix| symbol.starts_with(prefix)))
        .collect()
}

#[test]
fn every_hook_that_a_compiler_emits_is_there() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        let hooks = hooks(&scratch);
        scratch.file("stress.c", include_str!("programs/stress.c"));
        scratch.file("counter.cpp", COUNTER_CPP);
        let volatile = if compiler.cc == "gcc" {
            "--param=tsan-distinguish-volatile=1"
        } else {
            "-mllvm -tsan-distinguish-volatile=1 -mllvm -tsan-compound-read-before-write=1"
        };
        let mut emitted = BTreeSet::new();
        for flags in ["-O0", "-O2", &format!("-O2 {volatile}")] {
            scratch.run(&format!("reweave-cc -mcx16 {flags} -w -c stress.c"));
            scratch.run(&format!("reweave-c++ {flags} -c counter.cpp"));
            emitted.extend(scratch.symbols("-u", "stress.o"));
            emitted.extend(scratch.symbols("-u", "counter.o"));
        }
        emitted.retain(|symbol| symbol.starts_with("__tsan_"));
        assert!(emitted.len() > 60, "{compiler:?} emitted only {emitted:?}");
        let missing: Vec<_> = emitted.difference(&hooks).collect();
        assert!(missing.is_empty(), "{compiler:?}: {missing:?}");
    }
}

/// What libtsan offers to programs, apart from what programs offer to libtsan.
#[test]
fn the_public_interface_is_complete() {
    const CALLBACKS: [&str; 7] = [
        "__tsan_on_report",
        "__tsan_on_initialize",
        "__tsan_on_finalize",
        "__tsan_default_options",
        "__tsan_default_suppressions",
        "__tsan_symbolize_external",
        "__tsan_symbolize_external_ex",
    ];
    if !installed("gcc") {
        return;
    }
    let scratch = Scratch::new(GCC);
    let library = scratch.run("gcc -print-file-name=libtsan.so");
    if !Path::new(library.trim()).is_absolute() {
        installed("libtsan");
        return;
    }
    let hooks = hooks(&scratch);
    let missing: Vec<String> = scratch
        .symbols("-D --defined-only", library.trim())
        .into_iter()
        .filter(|symbol| symbol.starts_with("__tsan_") || symbol.starts_with("Annotate"))
        .filter(|symbol| !hooks.contains(symbol) && !CALLBACKS.contains(&symbol.as_str()))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_archive_needs_nothing_but_weak_references() {
    let Some(compiler) = compilers().into_iter().next() else { return };
    let scratch = Scratch::new(compiler);
    fs::write(scratch.path.join("stubs.a"), STUBS).unwrap();
    let needed: BTreeSet<String> = scratch
        .run("nm -u stubs.a")
        .lines()
        .filter_map(|line| line.trim().strip_prefix("U "))
        .filter(|symbol| !symbol.starts_with("reweave_") && *symbol != "_GLOBAL_OFFSET_TABLE_")
        .map(str::to_owned)
        .collect();
    assert!(needed.is_empty(), "{needed:?}");
}

/// The defaults of the atomics, against the compilers' own.
#[test]
fn atomics_without_a_runtime() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch.file("atomics.c", include_str!("programs/atomics.c"));
        for flags in ["-O0", "-O2", "-O2 -static"] {
            scratch.quiet(&format!("reweave-cc -mcx16 -Wall -Werror {flags} atomics.c -o program"));
            assert_eq!(scratch.run("./program"), "ok\n", "{compiler:?} {flags}");
        }
    }
}

#[test]
fn a_preloaded_runtime_takes_over() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch
            .file("runtime.c", include_str!("programs/fake_runtime.c"))
            .file("part.c", "int total; int part(int n) { return total += n; }\n")
            .file(
                "main.c",
                "#include <dlfcn.h>
                #include <stdio.h>
                int main(void) {
                  void *library = dlopen(\"./libpart.so\", RTLD_NOW);
                  int (*part)(int) = (int (*)(int))dlsym(library, \"part\");
                  part(1);
                  dlclose(library);
                  return 0;
                }\n",
            );
        scratch.run("gcc -shared -fPIC -O1 runtime.c -o runtime.so");
        scratch.quiet("reweave-cc -O1 -shared -fPIC part.c -o libpart.so");
        for flags in ["-O1", "-O1 -no-pie -fno-pie", "-O1 -flto"] {
            scratch.quiet(&format!("reweave-cc {flags} main.c -o program"));
            let output = scratch.command("./program").env("LD_PRELOAD", "./runtime.so").output().unwrap();
            assert!(output.status.success());
            assert_eq!(
                String::from_utf8_lossy(&output.stderr),
                "register program\nentry\nregister libpart.so\nentry\nwrite\nexit\nunregister\nexit\nunregister\n",
                "{compiler:?} {flags}"
            );
        }
    }
}

#[test]
fn kinds_of_programs() {
    use std::os::unix::fs::PermissionsExt;
    let Some(compiler) = compilers().into_iter().next() else { return };
    let scratch = Scratch::new(compiler);
    scratch.file("main.c", "int main(void) { return 0; }\n");
    let at = |name: &str| scratch.path.join(name);
    scratch.quiet("reweave-cc main.c -o hooked");
    scratch.run("strip --strip-all hooked");
    assert_eq!(kind(&at("hooked")), Instrumentation::Instrumented);
    scratch.run(&format!("{} main.c -o plain", compiler.cc));
    assert_eq!(kind(&at("plain")), Instrumentation::Plain);
    for flags in ["-static", "-static-pie"] {
        scratch.run(&format!("{} {flags} main.c -o static", compiler.cc));
        assert_eq!(kind(&at("static")), Instrumentation::Static);
    }
    scratch.run(&format!("{} -shared -fPIC main.c -o library.so", compiler.cc));
    assert_eq!(kind(&at("library.so")), Instrumentation::NotExecutable);

    scratch.file("script", "#! /usr/bin/env bash\necho\n");
    assert_eq!(kind(&at("script")), Instrumentation::NotExecutable);
    fs::set_permissions(at("script"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(kind(&at("script")), Instrumentation::Script { interpreter: "/usr/bin/env".into() });

    // Damaged files: no panic, whatever is cut off or changed.
    let bytes = fs::read(at("hooked")).unwrap();
    for length in (0..bytes.len()).step_by(97).chain(0..200) {
        fs::write(at("static"), &bytes[..length]).unwrap();
        kind(&at("static"));
    }
    for position in 0..1024 {
        let mut bytes = bytes.clone();
        bytes[position] ^= 0xff;
        fs::write(at("static"), &bytes).unwrap();
        kind(&at("static"));
    }
    assert!(reweave_native::is_instrumented(&at("missing")).is_err());
}

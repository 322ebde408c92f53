//! Programs built with the wrapper, in every way of linking, run as if built without it.

mod support;

use std::fs;

use reweave_native::Instrumentation;
use support::*;

#[test]
fn every_kind_of_executable_runs() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch.file("counter.c", COUNTER_C).file("counter.cpp", COUNTER_CPP);
        for (wrapper, source) in [("reweave-cc", "counter.c"), ("reweave-c++", "counter.cpp")] {
            for (flags, expected) in [
                ("-O0", Instrumentation::Instrumented),
                ("-O2", Instrumentation::Instrumented),
                ("-O2 -no-pie -fno-pie", Instrumentation::Instrumented),
                ("-O2 -flto", Instrumentation::Instrumented),
                ("-O2 -static", Instrumentation::Static),
                ("-O1 -static-pie -fPIE", Instrumentation::Static),
                ("-O1 -s -Wl,--gc-sections -ffunction-sections", Instrumentation::Instrumented),
            ] {
                scratch.quiet(&format!("{wrapper} {flags} -Wall -Wextra -Werror {source} -o program -pthread"));
                assert_eq!(scratch.run("./program"), COUNTER_OUTPUT, "{compiler:?} {source} {flags}");
                assert_eq!(kind(&scratch.path.join("program")), expected, "{compiler:?} {source} {flags}");
            }
        }
    }
}

#[test]
fn compiled_and_linked_apart() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch.file("counter.c", COUNTER_C);
        for flags in ["-O0", "-O2 -flto"] {
            scratch.quiet(&format!("reweave-cc {flags} -c counter.c -pthread"));
            // The flag of link-time optimisation is not needed again with gcc.
            scratch.quiet(&format!("reweave-cc {flags} -o program counter.o -pthread"));
            assert_eq!(scratch.run("./program"), COUNTER_OUTPUT);
            assert_eq!(kind(&scratch.path.join("program")), Instrumentation::Instrumented);
        }
    }
}

/// `-flto` objects reach the plugin even if the link line does not mention it.
#[test]
fn link_time_optimisation_without_its_flag() {
    if !installed("gcc") {
        return;
    }
    let scratch = Scratch::new(GCC);
    scratch.file("counter.c", COUNTER_C);
    scratch.quiet("reweave-cc -O2 -flto -c counter.c");
    scratch.quiet("reweave-cc -o program counter.o -pthread");
    assert_eq!(scratch.run("./program"), COUNTER_OUTPUT);
    assert!(scratch.symbols("", "program").iter().any(|symbol| symbol == "__tsan_atomic32_fetch_add"));
}

#[test]
fn needs_neither_libtsan_nor_the_cache() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch.file("counter.c", COUNTER_C);
        scratch.quiet("reweave-cc -fsanitize=thread -O2 counter.c -o program -pthread");
        let needed = scratch.run("readelf -dW program");
        assert!(!needed.contains("tsan") && !needed.contains("RPATH") && !needed.contains("RUNPATH"), "{needed}");
        fs::remove_dir_all(scratch.cache()).unwrap();
        fs::create_dir(scratch.path.join("elsewhere")).unwrap();
        fs::rename(scratch.path.join("program"), scratch.path.join("elsewhere/copied")).unwrap();
        assert_eq!(scratch.run("./elsewhere/copied"), COUNTER_OUTPUT);
    }
}

#[test]
fn shared_libraries_loaded_early_and_late() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch.file("part.c", "static int total; int part(int n) { total += n; return total; }").file(
            "main.c",
            r#"#include <dlfcn.h>
                #include <stdio.h>
                int part(int);
                int main(void) {
                  void *late = dlopen("./liblate.so", RTLD_NOW);
                  if (!late) return puts(dlerror());
                  const char *stale = dlerror();
                  if (stale) return puts(stale);
                  int (*again)(int) = (int (*)(int))dlsym(late, "part");
                  int sum = part(1) + again(2);
                  dlclose(late);
                  printf("%d\n", sum);
                  return 0;
                }"#,
        );
        scratch.quiet("reweave-cc -O1 -shared -fPIC -Wl,-z,defs part.c -o libearly.so");
        scratch.quiet("reweave-cc -O1 -shared -fPIC part.c -o liblate.so");
        scratch.quiet("reweave-cc -O1 main.c -o program -L. -learly -Wl,-rpath,. -ldl");
        assert_eq!(scratch.run("./program"), "3\n");
        // Every module has hooks of its own and exports none.
        let exported = scratch.symbols("-D --defined-only", "libearly.so");
        assert_eq!(exported, ["part"], "{compiler:?}");
    }
}

/// As libtool links C++ libraries.
#[test]
fn a_library_linked_without_standard_libraries() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch
            .file("part.c", "int total; int part(int n) { return total += n; }")
            .file("main.c", "int part(int); int main(void) { return part(3) != 3; }");
        scratch.quiet("reweave-cc -fPIC -c part.c");
        scratch.quiet("reweave-cc -shared -nostdlib -Wl,-z,defs part.o -o libpart.so");
        scratch.quiet("reweave-cc main.c -o program -L. -lpart -Wl,-rpath,.");
        scratch.run("./program");
    }
}

#[test]
fn static_archives_and_open_linker_groups() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch
            .file("part.c", "int total; int part(int n) { return total += n; }")
            .file("main.c", "int part(int); int main(void) { return part(3) != 3; }");
        scratch.quiet("reweave-cc -c part.c main.c");
        scratch.run("ar rcs libpart.a part.o");
        for line in [
            "main.o libpart.a",
            "main.o -L. -lpart -Wl,--as-needed",
            "-Wl,--whole-archive libpart.a main.o -Wl,--no-whole-archive",
            "-Wl,--start-group main.o libpart.a -Wl,--end-group",
            "main.c -L. -Wl,-Bstatic -lpart -Wl,-Bdynamic",
        ] {
            scratch.quiet(&format!("reweave-cc {line} -o program"));
            scratch.run("./program");
        }
        // Combined objects keep their calls open; the last link supplies the hooks.
        scratch.quiet("reweave-cc -r -nostdlib main.o part.o -o both.o");
        assert!(scratch.is_hooked("both.o"));
        scratch.quiet("reweave-cc both.o -o program");
        scratch.run("./program");
    }
}

#[test]
fn programs_keep_their_own_annotations() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch.file(
            "main.c",
            "static int calls;
             void AnnotateHappensBefore(const char *file, int line, const volatile void *at) {
               (void)file; (void)line; (void)at; calls++;
             }
             int main(void) { AnnotateHappensBefore(__FILE__, __LINE__, &calls); return calls != 1; }",
        );
        scratch.quiet("reweave-cc main.c -o program");
        scratch.run("./program");
    }
}

#[test]
fn atomic_blocks_from_the_header() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        let c = "#include <reweave.h>
            int main(void) { REWEAVE_ATOMIC_BEGIN(\"main\"); REWEAVE_ATOMIC_END(); return 0; }\n";
        let cpp = "#include <reweave.h>
            int main() { reweave::atomic_block block(\"main\"); return 0; }\n";
        scratch.file("block.c", c).file("block.cpp", cpp);
        scratch.quiet("reweave-cc -std=c99 -pedantic -Wall -Wextra -Werror block.c -o c");
        scratch.quiet("reweave-c++ -Wall -Wextra -Werror block.cpp -o cpp");
        assert!(scratch.symbols("", "c").iter().any(|symbol| symbol == "__reweave_atomic_begin"));
        assert!(scratch.symbols("", "cpp").iter().any(|symbol| symbol == "__reweave_atomic_end"));
        scratch.run("./c");
        scratch.run("./cpp");
        // Copied beside a program, it compiles to nothing under another compiler.
        scratch.file("reweave.h", std::str::from_utf8(reweave_native::HEADER).unwrap());
        for line in [format!("{} -I. block.c -o c", compiler.cc), format!("{} -I. block.cpp -o cpp", compiler.cxx)] {
            scratch.quiet(&line);
        }
        scratch.run("./c");
        scratch.run("./cpp");
    }
}

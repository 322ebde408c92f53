//! The wrapper as a compiler driver: every way of calling one that builds rely on.

mod support;

use std::io::Write;
use std::process::Stdio;

use support::*;

const SMALL: &str = "int shared; int bump(void) { return shared++; }\n";

#[test]
fn questions_get_the_compilers_own_answer() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        for question in [
            "--version",
            "-dumpversion",
            "-dumpmachine",
            "-print-search-dirs",
            "-print-prog-name=ld",
            "-print-file-name=libc.so",
            "-v",
            "-Wl,--version",
            "-###",
            "",
            "-fsanitize=thread",
            "no_such_file.c",
            "--no-such-option",
        ] {
            let ours = scratch.try_run(&format!("reweave-cc {question}"));
            let theirs = scratch.try_run(&format!("{} {question}", compiler.cc));
            assert_eq!(ours.status.code(), theirs.status.code(), "{compiler:?} {question}");
            assert_eq!(ours.stdout, theirs.stdout, "{compiler:?} {question}");
        }
        assert!(!scratch.exists("a.out"));
    }
}

#[test]
fn preprocessing_and_assembly() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch
            .file("small.c", SMALL)
            .file("where.c", "#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)\nhooked\n#endif\n")
            .file("where_gcc.c", "#ifdef __SANITIZE_THREAD__\nhooked\n#endif\n")
            .file("asm.s", ".globl nothing\nnothing: ret\n.section .note.GNU-stack,\"\",@progbits\n")
            .file("cpp.S", "#define NAME nothing\n.globl NAME\nNAME: ret\n.section .note.GNU-stack,\"\",@progbits\n");
        let probe = if compiler.cc == "gcc" { "where_gcc.c" } else { "where.c" };
        assert!(scratch.run(&format!("reweave-cc -E {probe}")).contains("\nhooked"));
        assert!(!scratch.run(&format!("reweave-cc -E -fno-sanitize=all {probe}")).contains("\nhooked"));

        scratch.quiet("reweave-cc -O2 -S small.c");
        assert!(scratch.read("small.s").contains("__tsan_func_entry"));
        assert!(scratch.run("reweave-cc -S small.c -o -").contains("__tsan_write4"));
        scratch.quiet("reweave-cc -E small.c -o small.i");
        scratch.quiet("reweave-cc -Werror -c small.i -o small.o");
        assert!(scratch.is_hooked("small.o"));
        scratch.quiet("reweave-cc -Werror -c asm.s cpp.S");
        assert_eq!(scratch.symbols("", "asm.o"), ["nothing"]);
        assert_eq!(scratch.symbols("", "cpp.o"), ["nothing"]);
        scratch.quiet("reweave-cc -fsyntax-only small.c");

        // Compiler, assembler and linker in one go.
        scratch.file("main.c", "void nothing(void); int main(void) { nothing(); return 0; }\n");
        scratch.quiet("reweave-cc -Werror main.c asm.s -o program");
        scratch.run("./program");
    }
}

#[test]
fn source_from_standard_input() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        for (line, checked) in [("-x c -c - -o small.o", true), ("-x c - -shared -fPIC -o libsmall.so", false)] {
            let wrapper = scratch.path.join("bin/reweave-cc");
            let mut command = scratch.command(wrapper.to_str().unwrap());
            let mut child = command.args(line.split(' ')).stdin(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(SMALL.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success(), "{line}");
            assert!(!checked || scratch.is_hooked("small.o"));
        }
        assert!(scratch.symbols("", "libsmall.so").iter().any(|symbol| symbol == "__tsan_write4"));
    }
}

#[test]
fn dependency_files() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch.file("small.h", "extern int shared;\n");
        scratch.file("small.c", "#include \"small.h\"\nint shared; int main(void) { return shared; }\n");
        assert_eq!(scratch.run("reweave-cc -MM small.c"), "small.o: small.c small.h\n");
        assert!(scratch.run("reweave-cc -M small.c").contains("small.h"));
        scratch.quiet("reweave-cc -MMD -MF deps.d -MT target -c small.c -o out.o");
        assert_eq!(scratch.read("deps.d"), "target: small.c small.h\n");
        scratch.quiet("reweave-cc -MD -c small.c");
        assert!(scratch.read("small.d").starts_with("small.o: small.c"));
        // In one step with the link.
        scratch.quiet("reweave-cc -MMD -MF one.d small.c -o program");
        assert!(scratch.read("one.d").contains("small.h"));
    }
}

#[test]
fn several_sources_in_one_step() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch.file("small.c", SMALL).file("main.c", "int bump(void); int main(void) { return bump(); }\n");
        scratch.quiet("reweave-cc -o program main.c small.c");
        scratch.run("./program");
        scratch.quiet("reweave-cc main.c small.c");
        scratch.run("./a.out");
        // Not quiet: clang warns about checksums here by itself.
        scratch.run("reweave-cc -save-temps main.c small.c -o program");
        scratch.run("./program");
        let kept: Vec<String> = std::fs::read_dir(&scratch.path)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .filter(|name| name.ends_with("small.s"))
            .collect();
        assert_eq!(kept.len(), 1, "{kept:?}");
        assert!(scratch.read(&kept[0]).contains("__tsan_func_entry"), "{compiler:?}");
    }
}

#[test]
fn response_files() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch
            .file("with space.c", "int main(void) { return VALUE; }\n")
            .file("inner.rsp", "-fsanitize=thread -DVALUE=0")
            .file("compile.rsp", "-c \"with space.c\"\n-o with\\ space.o @inner.rsp")
            .file("link.rsp", "'with space.o' -o program -fsanitize=thread")
            .file("bad.rsp", "-fsanitize=address");
        scratch.quiet("reweave-cc @compile.rsp");
        scratch.quiet("reweave-cc @link.rsp");
        scratch.run("./program");
        assert!(!scratch.run("readelf -dW program").contains("tsan"));
        assert_eq!(scratch.try_run("reweave-cc @bad.rsp -c x.c").status.code(), Some(2));
    }
}

#[test]
fn precompiled_headers() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch
            .file("all.h", "#ifndef ALL_H\n#define ALL_H\nstatic inline int twice(int n) { return 2 * n; }\n#endif\n")
            .file("main.c", "#include \"all.h\"\nint main(void) { return twice(0); }\n");
        if compiler.cc == "gcc" {
            scratch.quiet("reweave-cc -O1 all.h");
            assert!(scratch.exists("all.h.gch"));
            scratch.quiet("reweave-cc -O1 -Winvalid-pch -Werror main.c -c");
            scratch.quiet("reweave-cc -O1 -Winvalid-pch -Werror main.c -o program");
        } else {
            scratch.quiet("reweave-cc -O1 -x c-header all.h -o all.pch");
            scratch.quiet("reweave-cc -O1 -include-pch all.pch main.c -o program");
        }
        scratch.run("./program");
    }
}

#[test]
fn other_sanitizers_are_refused() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch.file("small.c", SMALL);
        for flags in ["-fsanitize=address", "-fsanitize=thread,undefined", "-fsanitize=undefined -fsanitize-trap"] {
            let output = scratch.try_run(&format!("reweave-cc {flags} -c small.c"));
            assert_eq!(output.status.code(), Some(2), "{flags}");
            let text = String::from_utf8_lossy(&output.stderr);
            assert!(text.starts_with("reweave cc: -fsanitize=") && text.contains("remove it"), "{text}");
            assert!(!scratch.exists("small.o"));
        }
        scratch.quiet("reweave-cc -fsanitize=address -fno-sanitize=address -c small.c");
        assert!(scratch.is_hooked("small.o"));
    }
}

#[test]
fn code_that_must_stay_plain() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch.file("small.c", SMALL).file(
            "start.c",
            "void _start(void) { __asm__ volatile(\"syscall\" : : \"a\"(60), \"D\"(0)); __builtin_unreachable(); }\n",
        );
        for flags in
            ["-ffreestanding", "-fno-sanitize=thread", "-fno-sanitize=all", "-mcmodel=kernel -fno-pic -fno-pie"]
        {
            scratch.quiet(&format!("reweave-cc {flags} -c small.c"));
            assert!(!scratch.is_hooked("small.o"), "{compiler:?} {flags}");
        }
        scratch.quiet("reweave-cc -fno-sanitize=thread -fsanitize=thread -c small.c");
        assert!(scratch.is_hooked("small.o"));
        // A program without libc and start-up code.
        scratch.quiet("reweave-cc -ffreestanding -nostdlib -static start.c -o program");
        scratch.run("./program");
        assert!(!scratch.symbols("", "program").iter().any(|symbol| symbol.contains("tsan")));
    }
}

/// What instrumented code would do wrong if the flags of `-Werror` builds were not minded.
#[test]
fn strict_builds() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch.file(
            "strict.c",
            "#include <stdatomic.h>
            #include <string.h>
            static const size_t length = sizeof \"abc\";
            int shared;
            void publish(char *to) {
              strcpy(to, \"abc\");
              atomic_thread_fence(memory_order_release);
              shared = (int)length;
            }\n",
        );
        for flags in ["-O0", "-O2", "-O2 -D_FORTIFY_SOURCE=2", "-O2 -Wp,-D_FORTIFY_SOURCE=2", "-Os -g3", "-O3 -g0"] {
            scratch.quiet(&format!("reweave-cc -Wall -Wextra -Werror {flags} -c strict.c"));
            assert!(scratch.is_hooked("strict.o"));
        }
        // gcc folds this; so must the wrapper.
        scratch.file(
            "folded.c",
            "#include <string.h>\nstatic unsigned long n = strlen(\"abc\"); int main(void) { return n != 3; }\n",
        );
        if compiler.cc == "gcc" {
            scratch.quiet("reweave-cc -O2 folded.c -o program");
            scratch.run("./program");
        }
    }
}

#[test]
fn memory_functions_stay_visible() {
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch.file(
            "memory.c",
            "#include <string.h>
            void copy(char *to, const char *from) { memcpy(to, from, 40); }
            void clear(char *at) { memset(at, 0, 40); }
            int same(const char *a, const char *b) { return memcmp(a, b, 16) == 0; }
            void text(char *to) { strcpy(to, \"hello, world\"); }
            int is(const char *a) { return strcmp(a, \"ab\") == 0; }\n",
        );
        for flags in ["-O0", "-O2", "-O2 -D_FORTIFY_SOURCE=2"] {
            scratch.quiet(&format!("reweave-cc {flags} -c memory.c"));
            let called = scratch.symbols("-u", "memory.o");
            // clang makes hooked accesses of short comparisons and a hooked copy of constant text.
            let expected: &[&[&str]] = if compiler.cc == "gcc" {
                &[&["memcpy"], &["memset"], &["memcmp"], &["strcpy"], &["strcmp"]]
            } else {
                &[&["__tsan_memcpy", "memcpy"], &["__tsan_memset", "memset"], &["memcmp", "bcmp"]]
            };
            for names in expected {
                let seen = called.iter().any(|symbol| names.contains(&symbol.as_str()));
                assert!(seen, "{compiler:?} {flags}: {names:?} not in {called:?}");
            }
        }
    }
}

#[test]
fn configured_compilers() {
    if !installed("gcc") {
        return;
    }
    let scratch = Scratch::new(GCC);
    scratch.file("small.c", SMALL);
    let wrapper = scratch.path.join("bin/reweave-cc");
    let run = |value: &str| {
        let mut command = scratch.command(wrapper.to_str().unwrap());
        command.args(["-c", "small.c"]).env("REWEAVE_CC", value).output().unwrap()
    };
    assert!(run("env gcc -DEXTRA").status.success());
    assert!(scratch.is_hooked("small.o"));
    for wrong in ["no-such-compiler", wrapper.to_str().unwrap(), " "] {
        let output = run(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("REWEAVE_CC"), "{wrong}");
    }
    let output = run("true");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("neither gcc nor clang"));
}

#[test]
fn an_unsafe_cache_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    for compiler in compilers() {
        let scratch = Scratch::new(compiler);
        scratch.file("small.c", SMALL);
        std::fs::create_dir(scratch.cache()).unwrap();
        std::fs::set_permissions(scratch.cache(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let output = scratch.try_run("reweave-cc -c small.c");
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("can be written by other users") && text.contains("REWEAVE_CACHE"), "{text}");
    }
}

//! The wrapper as the compiler of build systems: small projects, built the way their users do.

mod support;

use reweave_native::Instrumentation;
use support::*;

const MAIN: &str = "#include <stdio.h>
#include \"part.h\"
int main(void) {
  printf(\"part %d\\n\", part(2));
  return 0;
}
";
const PART: &str = "#include \"part.h\"
static int total;
int part(int n) { return total += n; }
";
const PART_H: &str = "#ifndef PART_H
#define PART_H
#ifdef __cplusplus
extern \"C\"
#endif
int part(int n);
#endif
";

fn project(compiler: Compiler) -> Scratch {
    let scratch = Scratch::new(compiler);
    scratch.file("main.c", MAIN).file("part.c", PART).file("part.h", PART_H);
    scratch
}

fn check(scratch: &Scratch, program: &str) {
    assert_eq!(scratch.run(&format!("./{program}")), "part 2\n");
    assert_eq!(kind(&scratch.path.join(program)), Instrumentation::Instrumented);
}

#[test]
fn make_with_its_built_in_rules() {
    if !installed("make") {
        return;
    }
    for compiler in compilers() {
        let scratch = project(compiler);
        scratch.file("Makefile", "CFLAGS = -O2 -Wall -Werror -MMD\nmain: main.o part.o\n-include main.d part.d\n");
        scratch.run("make CC=reweave-cc");
        check(&scratch, "main");
        assert!(scratch.run("make CC=reweave-cc").contains("up to date"));
    }
}

#[test]
fn autotools_with_libtool() {
    if !["autoreconf", "automake", "libtoolize", "make"].into_iter().all(installed) {
        return;
    }
    for compiler in compilers() {
        let scratch = project(compiler);
        scratch
            .file(
                "configure.ac",
                "AC_INIT([mini], [1])
AM_INIT_AUTOMAKE([foreign])
AC_CONFIG_HEADERS([config.h])
LT_INIT
AC_PROG_CC
AC_PROG_CXX
AC_CHECK_HEADERS([pthread.h])
AC_CHECK_FUNCS([memcpy strlen no_such_function])
AC_SEARCH_LIBS([pthread_create], [pthread])
AC_CHECK_SIZEOF([long])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
",
            )
            .file(
                "Makefile.am",
                "lib_LTLIBRARIES = libpart.la libmore.la
libpart_la_SOURCES = part.c part.h
libmore_la_SOURCES = more.cpp
bin_PROGRAMS = main
main_SOURCES = main.c
main_LDADD = libpart.la libmore.la
",
            )
            .file("more.cpp", "#include <string>\nint more(const char *text) { return std::string(text).size(); }\n");
        scratch.run("autoreconf -i");
        scratch.run("./configure CC=reweave-cc CXX=reweave-c++");
        let config = scratch.read("config.h");
        assert!(config.contains("#define HAVE_MEMCPY 1") && config.contains("#define HAVE_STRLEN 1"), "{config}");
        assert!(config.contains("#define SIZEOF_LONG 8") && !config.contains("#define HAVE_NO_SUCH"), "{config}");
        scratch.run("make");
        // What libtool puts beside the program is a script that finds the libraries.
        assert_eq!(scratch.run("./main"), "part 2\n");
        assert_eq!(kind(&scratch.path.join(".libs/main")), Instrumentation::Instrumented);
        assert!(scratch.symbols("", ".libs/libmore.so").iter().any(|symbol| symbol == "__tsan_func_entry"));
    }
}

#[test]
fn cmake() {
    if !["cmake", "make"].into_iter().all(installed) {
        return;
    }
    for compiler in compilers() {
        let scratch = project(compiler);
        scratch.file("more.cpp", "#include <thread>\nint more() { std::thread t([] {}); t.join(); return 0; }\n").file(
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.16)
project(mini C CXX)
find_package(Threads REQUIRED)
include(CheckFunctionExists)
check_function_exists(memcpy HAVE_MEMCPY)
if(NOT HAVE_MEMCPY)
  message(FATAL_ERROR \"memcpy not found\")
endif()
include(CheckIPOSupported)
add_library(part SHARED part.c)
add_library(more STATIC more.cpp)
add_executable(main main.c)
target_compile_options(main PRIVATE -Wall -Wextra -Werror)
target_link_libraries(main part more Threads::Threads)
file(WRITE ${CMAKE_BINARY_DIR}/id \"${CMAKE_C_COMPILER_ID} ${CMAKE_CXX_COMPILER_ID}\")
",
        );
        scratch.run("cmake -S . -B build -DCMAKE_C_COMPILER=reweave-cc -DCMAKE_CXX_COMPILER=reweave-c++");
        let expected = if compiler.cc == "gcc" { "GNU GNU" } else { "Clang Clang" };
        assert_eq!(scratch.read("build/id"), expected);
        scratch.run("cmake --build build");
        check(&scratch, "build/main");
    }
}

#[test]
fn meson() {
    if !["meson", "ninja"].into_iter().all(installed) {
        return;
    }
    for compiler in compilers() {
        let scratch = project(compiler);
        scratch
            .file("more.cpp", "#include <string>\nint more(const char *text) { return std::string(text).size(); }\n")
            .file(
                "meson.build",
                "project('mini', 'c', 'cpp', default_options: ['werror=true', 'warning_level=2', 'b_lto=false'])
cc = meson.get_compiler('c')
assert(cc.has_function('memcpy'))
assert(cc.has_argument('-Wall'))
assert(not cc.has_argument('-Wno-such-warning-at-all-positively'))
part = shared_library('part', 'part.c')
more = static_library('more', 'more.cpp')
executable('main', 'main.c', link_with: [part, more], dependencies: dependency('threads'))
message('compiler is ' + cc.get_id())
",
            );
        let output = scratch
            .command("meson")
            .args(["setup", "build"])
            .env("CC", "reweave-cc")
            .env("CXX", "reweave-c++")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}");
        let expected = if compiler.cc == "gcc" { "compiler is gcc" } else { "compiler is clang" };
        assert!(text.contains(expected), "{text}");
        scratch.run("ninja -C build");
        check(&scratch, "build/main");
    }
}

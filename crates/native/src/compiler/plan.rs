//! The flags that the wrapper adds.
//!
//! Compiling needs the compilers' ThreadSanitizer instrumentation, linking must not see it: the
//! drivers would add libtsan. In an invocation that does both, the flag goes to the compiler
//! proper only: through a specs file for gcc, through `-Xclang` for clang. So every invocation
//! stays one invocation, and `-save-temps`, `-MD`, several sources and `-o` keep their meaning.

use std::ffi::OsString;
use std::path::Path;

use super::arguments::{Invocation, Stage};
use super::toolchain::Family;
use crate::cache::Installed;

/// gcc expands these inline after instrumentation, so that their accesses would be invisible; as
/// calls they reach the runtime's interposers. (An explicit `__builtin_memcpy` of constant size
/// stays inline, and unseen: no flag of gcc prevents it without doubling struct copies.) Only functions whose calls are never constant
/// expressions: `static int n = strlen("x");` must go on compiling, and what gcc does with
/// strlen, strchr and the like is either a call or a constant.
const CALLED_NOT_EXPANDED: [&str; 17] = [
    "memcpy", "memmove", "memset", "memcmp", "mempcpy", "bcopy", "bzero", "bcmp", "strcpy", "stpcpy", "strncpy",
    "stpncpy", "strcat", "strncat", "strdup", "strndup", "memccpy",
];

/// The compiler's arguments for `invocation`.
pub fn arguments(invocation: &Invocation, family: Family, installed: &Installed) -> Vec<OsString> {
    let foreign = invocation.foreign || family == Family::Foreign;
    let mut front = Vec::new();
    let mut back = Vec::new();
    if invocation.compiles() && !foreign && !invocation.stays_plain() {
        instrument(invocation, family, installed, &mut front, &mut back);
    }
    if invocation.stage == Stage::Link && !foreign && !invocation.relocatable {
        link(invocation, family, installed, &mut front, &mut back);
    }

    // After `--` everything is an input, so what goes to the back goes before it. The hooks then
    // precede the objects, which is why `link` asks for them by name.
    let rest = &invocation.rest;
    let end = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
    let mut all = front;
    all.extend_from_slice(&rest[..end]);
    all.extend(back);
    all.extend_from_slice(&rest[end..]);
    all
}

/// Flags in `front` yield to the user's, flags in `back` overrule them.
fn instrument(
    invocation: &Invocation,
    family: Family,
    installed: &Installed,
    front: &mut Vec<OsString>,
    back: &mut Vec<OsString>,
) {
    let generates_code = invocation.stage != Stage::Preprocess;
    let word = |text: &str| OsString::from(text);
    if generates_code {
        front.push(word("-g"));
    }
    match family {
        // With the linker to come, `link` passes the specs file instead.
        Family::Gcc if invocation.stage == Stage::Link => {}
        Family::Gcc => front.push(word("-fsanitize=thread")),
        Family::Clang => front.extend([word("-Xclang"), word("-fsanitize=thread")]),
        Family::Foreign => unreachable!("foreign code is not instrumented"),
    }
    if generates_code && family == Family::Gcc {
        front.extend(CALLED_NOT_EXPANDED.map(|name| OsString::from(format!("-fno-builtin-{name}"))));
        // Comparisons with short constant strings are expanded too, at a length of our choice.
        front.push(word("--param=builtin-string-cmp-inline-length=0"));
        // `atomic_thread_fence` is supported here, whatever gcc says of libtsan; and
        // instrumentation makes its flow analysis see uninitialised variables where none are.
        front.push(word("-Wno-tsan"));
        back.push(word("-Wno-error=maybe-uninitialized"));
    }
    if generates_code && family == Family::Clang {
        // Otherwise the read of `counter++` has no hook.
        front.extend([word("-mllvm"), word("-tsan-instrument-read-before-write=1")]);
    }
    if invocation.preprocesses() {
        front.push(word("-D__REWEAVE__=1"));
        front.extend([word("-idirafter"), installed.include.clone().into_os_string()]);
        // Fortified functions are expanded inline, past hooks and interposers.
        back.push(word("-U_FORTIFY_SOURCE"));
        if invocation.fortified_by_preprocessor_flag {
            back.push(word("-Wp,-U_FORTIFY_SOURCE"));
        }
    }
}

fn link(
    invocation: &Invocation,
    family: Family,
    installed: &Installed,
    front: &mut Vec<OsString>,
    back: &mut Vec<OsString>,
) {
    if family == Family::Gcc && !invocation.stays_plain() {
        // Also for objects alone: with link-time optimisation the compiler proper runs now.
        front.push(joined("-specs=", &installed.gcc_specs));
        front.push(OsString::from("-Wno-tsan"));
    }
    // A program without start-up code gets the hooks only if it calls one. Elsewhere they are
    // asked for by name: link-time optimisation makes the calls when archives have been searched.
    if !invocation.bare || invocation.shared || invocation.lto {
        back.push(OsString::from("-Wl,-u,reweave_stubs_anchor"));
    }
    // An `-x c` still in force would make the archive a C source.
    back.extend([OsString::from("-x"), OsString::from("none")]);
    back.push(installed.stubs.clone().into_os_string());
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

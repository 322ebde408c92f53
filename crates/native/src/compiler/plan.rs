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
/// stays inline, and unseen: no flag of gcc prevents it without doubling struct copies.) Only functions whose calls are
/// never constant expressions: `static int n = strlen("x");` must go on compiling, and what gcc does with
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
    if generates_code && family == Family::Gcc && invocation.is_fortran() {
        front.push(word("-fno-store-merging"));
        return;
    }
    if generates_code && family == Family::Gcc {
        front.extend(CALLED_NOT_EXPANDED.map(|name| OsString::from(format!("-fno-builtin-{name}"))));
        // Comparisons with short constant strings are expanded too, at a length of our choice.
        front.push(word("--param=builtin-string-cmp-inline-length=0"));
        // Two neighbouring stores become one behind the hook of the second: the value of the first would be taken too
        // early.
        front.push(word("-fno-store-merging"));
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
    // Not as an input of the driver: an `-x c` still in force would make the archive a C source.
    back.push(OsString::from("-Xlinker"));
    back.push(installed.stubs.clone().into_os_string());
}

fn joined(option: &str, path: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(path);
    word
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::Language;
    use std::path::PathBuf;

    /// The plan for a line of words, as one line.
    fn planned(line: &str, family: Family) -> String {
        let installed = Installed {
            root: PathBuf::from("/c"),
            stubs: PathBuf::from("/c/stubs.a"),
            include: PathBuf::from("/c/include"),
            gcc_specs: PathBuf::from("/c/gcc.specs"),
        };
        let words = line.split_whitespace().map(OsString::from).collect();
        let invocation = Invocation::read(words, Language::C).expect("no other sanitizer");
        assert!(invocation.does_work(), "{line}");
        let words = arguments(&invocation, family, &installed);
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    fn instruments(plan: &str) -> bool {
        plan.contains("-fsanitize=thread") || (plan.contains("-specs=") && plan.contains("-D__REWEAVE__"))
    }

    #[test]
    fn objects_alone_get_only_the_hooks() {
        let link = "-o a a.o -lm -Wl,-u,reweave_stubs_anchor -Xlinker /c/stubs.a";
        assert_eq!(planned("-o a a.o -lm", Family::Clang), link);
        assert_eq!(planned("-o a a.o -lm", Family::Gcc), format!("-specs=/c/gcc.specs -Wno-tsan {link}"));
        assert_eq!(planned("-fsanitize=thread -o a a.o -lm", Family::Clang), link);
    }

    #[test]
    fn the_driver_that_links_never_sees_the_sanitizer() {
        let plan = planned("-fsanitize=thread a.c -o a", Family::Gcc);
        assert!(instruments(&plan) && !plan.contains("-fsanitize"), "{plan}");
        let plan = planned("-fsanitize=thread a.c -o a", Family::Clang);
        assert_eq!(plan.matches("-fsanitize=thread").count(), plan.matches("-Xclang -fsanitize=thread").count());
    }

    #[test]
    fn foreign_and_freestanding_code_is_left_alone() {
        for line in ["-m32 a.c -o a", "--target=aarch64-linux-gnu a.c", "-target wasm32 a.c", "-c -ffreestanding a.c"] {
            assert_eq!(planned(line, Family::Clang), line);
        }
        assert_eq!(planned("a.c -o a", Family::Foreign), "a.c -o a");
        assert!(instruments(&planned("--target=x86_64-pc-linux-gnu -c a.c", Family::Clang)));
        assert!(instruments(&planned("-m32 -m64 -c a.c", Family::Gcc)));
    }

    #[test]
    fn other_languages_and_assembler_are_not_compiled_with_our_flags() {
        for line in ["-c a.s", "-c a.S", "-c a.f90", "-x assembler -c a.c", "-c -xada a.c"] {
            assert_eq!(planned(line, Family::Gcc), line);
        }
        assert!(instruments(&planned("-x c -c a.s", Family::Gcc)));
        assert!(instruments(&planned("-x assembler a.c -x none -c b.c", Family::Gcc)));
    }

    #[test]
    fn fortran_is_instrumented_for_its_compiler_without_flags_for_c() {
        let installed = Installed {
            root: PathBuf::from("/c"),
            stubs: PathBuf::from("/c/stubs.a"),
            include: PathBuf::from("/c/include"),
            gcc_specs: PathBuf::from("/c/gcc.specs"),
        };
        let words = ["-c", "halo.f90"].map(OsString::from).to_vec();
        let invocation = Invocation::read(words, Language::Fortran).expect("no other sanitizer");
        let plan = arguments(&invocation, Family::Gcc, &installed);
        assert_eq!(plan, ["-g", "-fsanitize=thread", "-fno-store-merging", "-c", "halo.f90"].map(OsString::from));
    }

    #[test]
    fn arguments_of_options_are_not_inputs() {
        assert_eq!(planned("-c -o a.c -MF b.c -include d.h a.s", Family::Gcc), "-c -o a.c -MF b.c -include d.h a.s");
    }

    #[test]
    fn combined_objects_stay_open() {
        for line in ["-r a.o -o b.o", "-Wl,-r a.o", "-Xlinker -r a.o", "-nostdlib -Wl,--relocatable,-x a.o"] {
            assert_eq!(planned(line, Family::Gcc), line);
        }
    }

    #[test]
    fn what_comes_after_a_double_dash_stays_there() {
        let plan = planned("-O1 -o a -- -strange.c", Family::Clang);
        assert!(plan.ends_with("-Xlinker /c/stubs.a -- -strange.c"), "{plan}");
    }

    #[test]
    fn bare_programs_get_the_hooks_on_demand() {
        assert!(!planned("-nostdlib a.o", Family::Clang).contains("-u,"));
        assert!(planned("-nostdlib -shared a.o", Family::Clang).contains("-u,"));
    }
}

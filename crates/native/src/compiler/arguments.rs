//! What an invocation asks for: how far to go, from which inputs, and what would get in the way
//! of instrumentation.
//!
//! The command lines of gcc and clang are read together; where they differ, both readings lead
//! to the same plan. Response files are looked into but handed on as they are, unless they
//! contain a flag that must not reach the driver.

use std::ffi::{OsStr, OsString};

use super::{Language, response};

/// The last step that the compiler is to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// `-E`, `-M`, `-MM`
    Preprocess,
    /// `-S`, `-c`, `-fsyntax-only`, precompiled headers
    Compile,
    /// Everything, or the linker alone.
    Link,
}

/// What an input file is, as far as it matters here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    /// C, C++ or Objective-C that still has to be preprocessed.
    Source,
    Header,
    Preprocessed,
    /// Fortran, for a Fortran compiler.
    Fortran,
    /// Assembler, or a language whose compiler is not ours to instrument.
    Other,
    /// Objects, archives, libraries: for the linker.
    Linker,
}

/// One invocation, read.
#[derive(Debug)]
pub struct Invocation {
    given: Vec<OsString>,
    /// As given, but without the flags that we replace.
    pub rest: Vec<OsString>,
    pub stage: Stage,
    inputs: Vec<Input>,
    /// A question to the driver: `--version`, `-print-search-dirs`.
    question: bool,
    /// The code is for a machine that we have no hooks for (`-m32`, `--target=`).
    pub foreign: bool,
    /// `-fno-sanitize=thread`, with no later word to the contrary.
    declined: bool,
    /// Code that has no libc below it: `-ffreestanding`, kernels.
    freestanding: bool,
    pub shared: bool,
    /// `-r`: the output is an object; the hooks come with the final link.
    pub relocatable: bool,
    /// `-nostdlib` and the like: the program may have no start-up code, and no libc.
    pub bare: bool,
    pub lto: bool,
    /// `_FORTIFY_SOURCE` set behind the driver's back with `-Wp,`.
    pub fortified_by_preprocessor_flag: bool,
}

/// Options whose argument is the next word.
const WITH_ARGUMENT: [&str; 64] = [
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-A",
    "-B",
    "-F",
    "-G",
    "-T",
    "-u",
    "-z",
    "-e",
    "-h",
    "-b",
    "-V",
    "-include",
    "-imacros",
    "-isystem",
    "-idirafter",
    "-iquote",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-isysroot",
    "-imultilib",
    "-imultiarch",
    "-iframework",
    "-include-pch",
    "-MF",
    "-MT",
    "-MQ",
    "-MJ",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "-target",
    "--target",
    "--param",
    "--sysroot",
    "--output",
    "--language",
    "--include",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-wrapper",
    "-framework",
    "-arch",
    "-rpath",
    "-working-directory",
    "-gcc-toolchain",
    "--serialize-diagnostics",
    "-Xanalyzer",
    "-Xopenmp-target",
    "-cxx-isystem",
    "-stdlib++-isystem",
    "-ivfsoverlay",
    "--config",
];

/// Options that make the driver answer instead of work.
const QUESTIONS: [&str; 10] = [
    "--version",
    "--help",
    "--target-help",
    "-dumpversion",
    "-dumpfullversion",
    "-dumpmachine",
    "-dumpspecs",
    "-cc1",
    "-cc1as",
    "--autocomplete",
];

impl Invocation {
    /// Reads the arguments; the error is for the user.
    pub fn read(given: Vec<OsString>, language: Language) -> Result<Invocation, String> {
        let mut invocation = Invocation {
            rest: Vec::with_capacity(given.len()),
            given: Vec::new(),
            stage: Stage::Link,
            inputs: Vec::new(),
            question: false,
            foreign: false,
            declined: false,
            freestanding: false,
            shared: false,
            relocatable: false,
            bare: false,
            lto: false,
            fortified_by_preprocessor_flag: false,
        };
        let mut reader = Reader {
            fortran: language == Language::Fortran,
            language: None,
            sanitizers: Vec::new(),
            pending: None,
            only_inputs: false,
        };
        for argument in &given {
            match response::expand(argument) {
                None => {
                    if reader.take(argument, &mut invocation) {
                        invocation.rest.push(argument.clone());
                    }
                }
                Some(words) => {
                    let mut kept = Vec::with_capacity(words.len());
                    let total = words.len();
                    for word in words {
                        if reader.take(&word, &mut invocation) {
                            kept.push(word);
                        }
                    }
                    if kept.len() == total {
                        invocation.rest.push(argument.clone());
                    } else {
                        invocation.rest.extend(kept);
                    }
                }
            }
        }
        invocation.given = given;
        if let Some(other) = reader.sanitizers.iter().find(|name| *name != "thread") {
            return Err(format!(
                "-fsanitize={other} cannot be combined with reweave's instrumentation: \
                 remove it, or build that variant with {} itself",
                match language {
                    Language::C => "gcc or clang",
                    Language::Cxx => "g++ or clang++",
                    Language::Fortran => "gfortran",
                }
            ));
        }
        let headers_only =
            !invocation.inputs.is_empty() && invocation.inputs.iter().all(|input| *input == Input::Header);
        if headers_only {
            invocation.stage = invocation.stage.min(Stage::Compile);
        }
        Ok(invocation)
    }

    /// Whether there is anything to compile or link.
    pub fn does_work(&self) -> bool {
        !self.question && !self.inputs.is_empty()
    }

    /// The arguments exactly as they came.
    pub fn into_given(self) -> Vec<OsString> {
        self.given
    }

    /// Whether the user, or the kind of code, asks for no instrumentation.
    pub fn stays_plain(&self) -> bool {
        self.declined || self.freestanding
    }

    /// Whether a compiler proper will run that we instrument.
    pub fn compiles(&self) -> bool {
        let ours = [Input::Source, Input::Header, Input::Preprocessed, Input::Fortran];
        self.inputs.iter().any(|input| ours.contains(input))
    }

    /// Whether what is compiled is Fortran: flags for C only would make its compiler complain.
    pub fn is_fortran(&self) -> bool {
        self.inputs.contains(&Input::Fortran)
    }

    /// Whether a preprocessor will run on C or C++.
    pub fn preprocesses(&self) -> bool {
        self.inputs.iter().any(|input| matches!(input, Input::Source | Input::Header))
    }
}

/// The state that one argument leaves for the next.
struct Reader {
    /// For a Fortran compiler: Fortran is instrumented.
    fortran: bool,
    /// `-x`, if it is not `none`.
    language: Option<String>,
    /// In force, in order of appearance.
    sanitizers: Vec<String>,
    /// The option whose argument comes next.
    pending: Option<String>,
    /// After `--`.
    only_inputs: bool,
}

impl Reader {
    /// Reads one word; false if it must not be handed on.
    fn take(&mut self, argument: &OsStr, invocation: &mut Invocation) -> bool {
        let text = argument.to_string_lossy();
        if let Some(option) = self.pending.take() {
            self.take_argument_of(&option, &text, invocation);
            return true;
        }
        if self.only_inputs || text == "-" || !text.starts_with('-') {
            let input = self.input(&text);
            invocation.inputs.push(input);
            return true;
        }
        if WITH_ARGUMENT.contains(&text.as_ref()) {
            self.pending = Some(text.into_owned());
            return true;
        }
        self.take_option(&text, invocation)
    }

    fn take_option(&mut self, text: &str, invocation: &mut Invocation) -> bool {
        // Which sanitizer runs is decided here: the driver would link libtsan, and an earlier
        // `-fno-sanitize=` would still overrule the flag that we add in front.
        if let Some(names) = text.strip_prefix("-fsanitize=") {
            self.sanitizers.extend(names.split(',').map(str::to_owned));
            invocation.declined &= !names.split(',').any(|name| name == "thread");
            return false;
        }
        if let Some(names) = text.strip_prefix("-fno-sanitize=") {
            for name in names.split(',') {
                self.sanitizers.retain(|known| name != "all" && known != name);
                invocation.declined |= matches!(name, "all" | "thread");
            }
            return false;
        }
        if let Some(words) = text.strip_prefix("-Wl,") {
            for word in words.split(',') {
                linker_word(word, invocation);
            }
            return true;
        }
        match text {
            "-E" | "-M" | "-MM" | "--preprocess" => {
                invocation.stage = Stage::Preprocess;
            }
            "-c" | "-S" | "-fsyntax-only" | "--compile" | "--assemble" | "--precompile" | "-emit-ast" | "--analyze" => {
                invocation.stage = invocation.stage.min(Stage::Compile);
            }
            "-shared" | "--shared" => invocation.shared = true,
            "-r" => invocation.relocatable = true,
            "-nostdlib" | "-nostartfiles" | "-nodefaultlibs" | "-nolibc" => invocation.bare = true,
            "-m32" | "-mx32" | "-m16" | "-miamcu" => invocation.foreign = true,
            "-m64" => invocation.foreign = false,
            "-ffreestanding" | "-fno-hosted" | "-mcmodel=kernel" | "-D__KERNEL__" => {
                invocation.freestanding = true;
            }
            "--" => self.only_inputs = true,
            _ if QUESTIONS.contains(&text) => invocation.question = true,
            _ => self.take_joined(text, invocation),
        }
        true
    }

    /// Options with the argument in the same word.
    fn take_joined(&mut self, text: &str, invocation: &mut Invocation) {
        let starts = |prefix: &str| text.starts_with(prefix);
        if starts("-print-") || starts("--print-") || starts("--help=") || starts("-help") {
            invocation.question = true;
        } else if starts("-l") {
            invocation.inputs.push(Input::Linker);
        } else if let Some(language) = text.strip_prefix("-x").or(text.strip_prefix("--language=")) {
            self.take_argument_of("-x", language, invocation);
        } else if let Some(target) = text.strip_prefix("--target=") {
            self.take_argument_of("--target", target, invocation);
        } else if starts("-flto") {
            invocation.lto = true;
        } else if starts("-Wp,") && text.contains("_FORTIFY_SOURCE") {
            invocation.fortified_by_preprocessor_flag = true;
        } else if starts("-D__KERNEL__=") {
            invocation.freestanding = true;
        }
    }

    fn take_argument_of(&mut self, option: &str, text: &str, invocation: &mut Invocation) {
        match option {
            "-x" | "--language" => {
                self.language = (text != "none").then(|| text.to_owned());
            }
            "-l" => invocation.inputs.push(Input::Linker),
            "-target" | "--target" => {
                invocation.foreign = !(text.starts_with("x86_64") && text.contains("linux"));
            }
            "-Xlinker" => linker_word(text, invocation),
            "-D" if text == "__KERNEL__" => invocation.freestanding = true,
            _ => {}
        }
    }

    fn input(&self, name: &str) -> Input {
        match &self.language {
            Some(language) => input_by_language(language),
            None if self.fortran && is_fortran(name) => Input::Fortran,
            None => input_by_suffix(name),
        }
    }
}

fn linker_word(word: &str, invocation: &mut Invocation) {
    match word {
        "-r" | "-i" | "--relocatable" => invocation.relocatable = true,
        "-shared" | "--shared" | "-Bshareable" => invocation.shared = true,
        _ => {}
    }
}

fn input_by_language(language: &str) -> Input {
    match language {
        "c" | "c++" | "objective-c" | "objective-c++" | "c++-system-module" | "c++-module" => Input::Source,
        "c-header"
        | "c++-header"
        | "objective-c-header"
        | "objective-c++-header"
        | "c++-system-header"
        | "c++-user-header" => Input::Header,
        "cpp-output" | "c++-cpp-output" | "objective-c-cpp-output" | "objective-c++-cpp-output" | "ir" => {
            Input::Preprocessed
        }
        _ => Input::Other,
    }
}

fn is_fortran(name: &str) -> bool {
    let suffixes = ["f", "for", "ftn", "fpp", "f77", "f90", "f95", "f03", "f08", "f18"];
    name.rsplit_once('.').is_some_and(|(_, suffix)| suffixes.contains(&suffix.to_ascii_lowercase().as_str()))
}

fn input_by_suffix(name: &str) -> Input {
    let file = name.rsplit('/').next().unwrap_or(name);
    match file.rsplit_once('.').map(|(_, suffix)| suffix) {
        Some(
            "c" | "cc" | "cp" | "cxx" | "cpp" | "CPP" | "c++" | "C" | "m" | "mm" | "M" | "cppm" | "ixx" | "ccm"
            | "cxxm" | "c++m",
        ) => Input::Source,
        Some("h" | "hh" | "H" | "hp" | "hxx" | "hpp" | "HPP" | "h++" | "tcc") => Input::Header,
        Some("i" | "ii" | "mi" | "mii" | "bc" | "ll") => Input::Preprocessed,
        Some(
            "s" | "S" | "sx" | "f" | "for" | "ftn" | "F" | "FOR" | "fpp" | "FPP" | "FTN" | "f90" | "f95" | "f03"
            | "f08" | "F90" | "F95" | "F03" | "F08" | "go" | "d" | "di" | "adb" | "ads",
        ) => Input::Other,
        // Standard input without -x, as in `-E -`, is a source; every other name is the linker's.
        None if name == "-" => Input::Source,
        _ => Input::Linker,
    }
}

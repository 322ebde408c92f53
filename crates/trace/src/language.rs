//! What a front end knows of the language its programs are written in, as data: a trace carries it, so that analyses
//! and reports name no language.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use reweave_model::Pc;
use serde::{Deserialize, Serialize};

use crate::{Meta, Trace};

/// Where the stacks of threads lie in memory, for naming what is on them in the same way in every run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StackMemory {
    /// None lies below this address.
    pub lowest: u64,
    /// How far from the first address that a thread uses its stack reaches.
    pub reach: u64,
}

#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Language {
    /// For people: `C and C++`.
    pub name: String,
    /// Files that belong to libraries begin with one of these …
    pub library_prefixes: Vec<String>,
    /// … or contain one of these.
    pub library_parts: Vec<String>,
    /// Code modules that are the front end's own runtime, by file name: their frames are no part of the program.
    pub runtime_modules: Vec<String>,
    /// Source files of the front end whose frames are never the user's, by how they end.
    pub own_files: Vec<String>,
    /// The function that a program begins in: nothing below it is the user's.
    pub entry: String,
    /// In lower case, parts of the messages with which its programs say that they fail.
    pub failure_words: Vec<String>,
    /// Signals that a thread causes itself when it fails.
    pub failure_signals: Vec<i32>,
    /// What to do about a kind of finding, by its name in reports (`race`, `deadlock` …).
    pub advice: BTreeMap<String, String>,
    /// What a program is built with so that everything is visible.
    pub how_to_instrument: String,
    /// `None`: addresses on stacks are no part of its traces, or the same in every run.
    pub stacks: Option<StackMemory>,
    /// A thread that nobody waits for is nothing to speak of.
    pub threads_need_no_join: bool,
    /// What library code does with its own data is its own business: no race of the program, and nothing between taking
    /// a lock and giving it back, or between reading and writing, is an atomic block of the program.
    pub libraries_guard_themselves: bool,
    /// Who is recorded to wait for a lock waits until it has it.
    pub locks_wait_for_ever: bool,
    /// How functions are called that make objects of a class, behind the name of the class; empty if none do.
    pub constructor: String,
}

impl Language {
    /// Traces say so themselves since there is more than one front end. Those before are all of C and C++ programs.
    pub fn of_older_traces() -> Self {
        let all = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        Self {
            name: "C and C++".into(),
            library_prefixes: all(&["/usr/include/", "/usr/lib/", "/usr/local/include/", "/rustc/"]),
            library_parts: all(&["/include/c++/"]),
            runtime_modules: all(&["libreweave_runtime.so"]),
            own_files: all(&["reweave.h"]),
            entry: "main".into(),
            advice: native_advice(),
            failure_words: all(&[
                "assert",
                "terminate called",
                "what():",
                "free()",
                "malloc",
                "corrupt",
                "panicked",
                "fatal",
                "abort",
                "fail",
                "error",
            ]),
            // SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS and SIGTRAP.
            failure_signals: vec![11, 7, 8, 4, 6, 31, 5],
            how_to_instrument: "reweave cc".into(),
            // Main's stack and those of threads lie above this on x86-64 Linux, as do mappings. Threads' stacks are
            // mapped 8 MB apart unless asked otherwise.
            stacks: Some(StackMemory { lowest: 0x7000_0000_0000, reach: 4 << 20 }),
            threads_need_no_join: false,
            libraries_guard_themselves: false,
            locks_wait_for_ever: false,
            constructor: String::new(),
        }
    }

    /// Whether a source file belongs to a library and not to the program.
    pub fn is_library(&self, file: &str) -> bool {
        self.library_prefixes.iter().any(|prefix| file.starts_with(prefix.as_str()))
            || self.library_parts.iter().any(|part| file.contains(part.as_str()))
    }

    /// Whether a source file is the front end's own.
    pub fn is_own_file(&self, file: &str) -> bool {
        self.own_files.iter().any(|own| file.ends_with(own.as_str()))
    }
}

/// What to do about findings in C and C++, in Markdown.
fn native_advice() -> BTreeMap<String, String> {
    let all = [
        (
            "race",
            "Hold the **same** lock at both accesses, or make the variable atomic (`_Atomic`, `std::atomic`) if each access \
             stands for itself. A race labelled *memory-order* has atomics in between that are too weak: a release on the writing \
             side and an acquire on the reading side order them.",
        ),
        (
            "deadlock",
            "Take locks in one order everywhere, or both at once (`std::scoped_lock`, `std::lock`). A wait for a notify needs its \
             condition checked under the lock, in a loop, and the notify after the change.",
        ),
        (
            "misuse",
            "Keep lock and unlock in pairs in one thread (`std::lock_guard`), join or detach every thread once, and destroy locks \
             only when nobody uses them.",
        ),
    ];
    all.into_iter().map(|(kind, text)| (kind.to_owned(), text.to_owned())).collect()
}

static OLDER: LazyLock<Language> = LazyLock::new(Language::of_older_traces);

impl Meta {
    /// What the program is written in.
    pub fn language(&self) -> &Language {
        self.language.as_ref().unwrap_or_else(|| &OLDER)
    }
}

impl Trace {
    /// Whether code at that address belongs to a library that guards itself: what it does with its own data is none of
    /// the program's business.
    pub fn guards_itself(&self, pc: Pc) -> bool {
        let language = self.language();
        if !language.libraries_guard_themselves {
            return false;
        }
        let mut frames = self.symbols().frames(pc).peekable();
        frames.peek().is_some() && frames.all(|frame| language.is_library(frame.file))
    }

    /// What the program is written in.
    pub fn language(&self) -> &Language {
        self.meta().language()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_without_a_language_are_of_c_programs() {
        let meta = Meta::default();
        assert_eq!(*meta.language(), Language::of_older_traces());
        let own = Language { name: "script".into(), ..Language::default() };
        let meta = Meta { language: Some(own.clone()), ..meta };
        let text = serde_json::to_string(&meta).expect("written");
        let back: Meta = serde_json::from_str(&text).expect("read");
        assert_eq!(*back.language(), own);
    }

    #[test]
    fn what_a_newer_build_does_not_know_is_left_empty() {
        let language: Language = serde_json::from_str(r#"{"name": "Java", "unheard_of": 3}"#).expect("read");
        assert_eq!(language, Language { name: "Java".into(), ..Language::default() });
    }
}

//! What a front end knows of the language its programs are written in, as data: a trace carries it, so that analyses
//! and reports name no language.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    /// Begins of the messages with which its programs say that they fail, most telling first.
    pub failure_words: Vec<String>,
    /// What to do about a kind of finding, by its name in reports (`race`, `deadlock` …).
    pub advice: BTreeMap<String, String>,
    /// What a program is built with so that everything is visible.
    pub how_to_instrument: String,
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
            how_to_instrument: "reweave cc".into(),
            ..Self::default()
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

//! The border between the core and its front ends: what the core may depend on, which words it may use, and where it
//! may call the system. The map in ARCHITECTURE.md says why.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Crates that know no front end.
const CORE: &[&str] = &["conductor", "hunt", "model", "order", "predict", "report"];
/// These start programs and run inside them, still without knowing which.
const AROUND: &[&str] = &["guest", "launch", "trace"];
/// Crates that read programs' files.
const FILE_READERS: &[&str] = &["addr2line", "cpp_demangle", "gimli", "iced-x86", "object", "rustc-demangle"];
/// Crates that hold a front end.
const FRONT_ENDS: &[&str] = &["reweave-jvm", "reweave-native", "reweave-script", "reweave-spmd"];
/// Words of front ends, in lower case. The words of a name are those between its underscores and its capitals.
const WORDS: &[&str] = &[
    "clang", "dwarf", "elf", "gcc", "glibc", "hotspot", "jni", "jvm", "jvmti", "libc", "libstdc", "mpi", "openmp",
    "preload", "pthread", "shmem", "tsan",
];
/// Files of a front end's kind, by their ending.
const ENDINGS: &[&str] = &[".class"];
/// The only module of the core that calls the system: waiting, waking, time.
const SYSTEM_MODULE: &str = "conductor/src/sys.rs";
/// Reads the suppression files of another tool, whose name it has to know.
const FOREIGN_FORMAT: &[&str] =
    &["report/src/suppress/mod.rs", "report/src/suppress/tests.rs", "report/src/suppress/tsan.rs"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

/// Every Rust file below a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder can be read").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The words of a line in lower case: `pthread_create`, `PthreadMutex` and "a pthread" all have `pthread`.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in line.chars() {
        let begins = c.is_uppercase() && before.is_lowercase();
        if begins || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words
}

/// The forbidden word that a line uses, if any.
fn forbidden_word(line: &str) -> Option<&'static str> {
    let lower = line.to_lowercase();
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let used = words(line);
    let named = |word: &&&str| used.iter().any(|used| used == **word);
    // `known.class` is a field, "Bank.class" a file: a field stands behind a name in code, a file in quotes or
    // backticks.
    let file = |ending: &&&str| {
        lower.match_indices(**ending).any(|(at, _)| {
            let after = lower[at + ending.len()..].chars().next();
            let ends = !after.is_some_and(|c| c.is_alphanumeric() || c == '_');
            let quoted = matches!(after, Some('"' | '`' | '\''));
            ends && (quoted || !is_letter(lower[..at].chars().next_back()))
        })
    };
    WORDS.iter().find(named).or_else(|| ENDINGS.iter().find(file)).copied()
}

/// Whether a line calls the system, or the processor, by itself.
fn calls_the_system(line: &str) -> bool {
    ["libc::", "syscall(", "asm!("].iter().any(|call| line.contains(call))
}

#[test]
fn the_core_names_no_front_end() {
    let mut offences = Vec::new();
    for name in CORE {
        let mut files = Vec::new();
        sources(&crates().join(name).join("src"), &mut files);
        assert!(files.len() > 3, "{name} has sources");
        for file in files {
            let text = fs::read_to_string(&file).expect("sources are text");
            let short = file.strip_prefix(crates()).unwrap_or(&file).to_string_lossy().into_owned();
            for (number, line) in (1..).zip(text.lines()) {
                if let Some(word) = forbidden_word(line).filter(|_| !FOREIGN_FORMAT.contains(&short.as_str())) {
                    offences.push(format!("{short}:{number}: `{word}` is a word of a front end"));
                }
                if calls_the_system(line) && short != SYSTEM_MODULE {
                    offences.push(format!("{short}:{number}: the system is called in {SYSTEM_MODULE} only"));
                }
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn words_are_recognised() {
    for line in [
        "libc::pthread_mutex_lock(lock)",
        "// what tsan calls a mutex",
        "command.env(\"LD_PRELOAD\", runtime)",
        "//! Reads ELF and more",
        "dwarf::line(pc)",
        "PthreadMutex::new()",
        "impl Lowered for LoweredElf {",
        "fn mpi_window(rank: u32)",
        "name.ends_with(\".class\")",
        "`Bank.class`",
        "/// A .class file",
    ] {
        assert!(forbidden_word(line).is_some(), "{line}");
    }
    for line in
        ["self.class", "known.class == class", "let itself = half;", "shelf", "the classes", "step.class, what)"]
    {
        assert!(forbidden_word(line).is_none(), "{line}");
    }
    assert!(calls_the_system("unsafe { libc::getpid() }") && !calls_the_system("use std::fs;"));
}

/// All that a crate is built from, itself left out: names by name.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let names: BTreeMap<String, String> =
        list(&metadata["packages"]).iter().map(|package| (text(&package["id"]), text(&package["name"]))).collect();
    let mut direct: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        // What only tests or build scripts use is not part of the crate.
        let is_part = |dep: &&serde_json::Value| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
        let used = list(&node["deps"]).iter().filter(is_part).map(|dep| text(&dep["pkg"])).collect();
        direct.insert(text(&node["id"]), used);
    }
    let mut all = BTreeMap::new();
    for (id, name) in &names {
        let mut found = BTreeSet::new();
        let mut open = direct.get(id).cloned().unwrap_or_default();
        while let Some(next) = open.pop() {
            if found.insert(names[&next].clone()) {
                open.extend(direct.get(&next).cloned().unwrap_or_default());
            }
        }
        all.insert(name.clone(), found);
    }
    all
}

#[test]
fn the_core_depends_on_no_front_end() {
    let dependencies = dependencies();
    let mut offences = Vec::new();
    for name in CORE.iter().chain(AROUND) {
        let package = format!("reweave-{name}");
        let used = dependencies.get(&package).unwrap_or_else(|| panic!("{package} is a crate of the workspace"));
        let forbidden = FILE_READERS.iter().chain(FRONT_ENDS).filter(|other| used.contains(**other));
        offences.extend(forbidden.map(|other| format!("{package} is built from {other}")));
    }
    // Nor does one front end on another.
    for name in FRONT_ENDS {
        let used = &dependencies[*name];
        let others = FRONT_ENDS.iter().filter(|other| *other != name && used.contains(**other));
        offences.extend(others.map(|other| format!("{name} is built from {other}")));
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
    assert!(dependencies["reweave"].contains("reweave-native"), "the command has its front ends");
}

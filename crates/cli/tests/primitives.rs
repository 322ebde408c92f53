//! The table of primitives and the golden programs belong together: none is missing on either side, every bug has its
//! right counterpart, and everything the runtime promises to control is in the table.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use common::golden::{Program, folders, programs};
use common::root;

/// What the runtime controls and records. Each must be named in the first column of the table: `C` has programs in C,
/// `Cxx` in C++.
const REQUIRED: &[(Language, &[&str])] = &[
    (
        Language::C,
        &[
            // threads
            "pthread_create",
            "pthread_join",
            "pthread_detach",
            "pthread_exit",
            "pthread_cancel",
            "pthread_once",
            "pthread_key_create",
            // locks
            "pthread_mutex_lock",
            "PTHREAD_MUTEX_NORMAL",
            "PTHREAD_MUTEX_RECURSIVE",
            "PTHREAD_MUTEX_ERRORCHECK",
            "PTHREAD_MUTEX_ADAPTIVE_NP",
            "pthread_mutex_trylock",
            "pthread_mutex_timedlock",
            "pthread_mutex_clocklock",
            "pthread_spin_lock",
            "pthread_rwlock_rdlock",
            "pthread_rwlock_wrlock",
            // waiting
            "pthread_cond_signal",
            "pthread_cond_broadcast",
            "pthread_cond_timedwait",
            "pthread_barrier_wait",
            "sem_wait",
            "sem_trywait",
            "sem_timedwait",
            // C11
            "thrd_create",
            "mtx_lock",
            "cnd_wait",
            "call_once",
            "atomic_fetch_add",
            "atomic_compare_exchange_strong",
            "atomic_thread_fence",
            // plain accesses, and calls that touch memory
            "plain access of 1 byte",
            "plain access of 2 bytes",
            "plain access of 4 bytes",
            "plain access of 8 bytes",
            "plain access of 16 bytes",
            "memcpy",
            "memset",
            "memmove",
            "strcpy",
            "strlen",
            "read",
            "recv",
            "fgets",
            "sprintf",
            "qsort",
            // stacks
            "longjmp",
            // memory
            "malloc",
            "calloc",
            "realloc",
            "posix_memalign",
            "mmap",
            "munmap",
            "a reused heap address",
            // time
            "nanosleep",
            "clock_gettime",
            // messages
            "pipe",
            "socketpair",
            "eventfd",
            "poll",
            "select",
            "epoll_wait",
            "pthread_kill",
            "sigwait",
            "waitpid",
            "blocking call",
            // the interface of ThreadSanitizer
            "__tsan_acquire",
            "__tsan_mutex_pre_lock",
            "AnnotateHappensBefore",
            "REWEAVE_ATOMIC_BEGIN",
            "no_sanitize",
        ],
    ),
    (
        Language::Cxx,
        &[
            "std::thread",
            "reweave::atomic_block",
            "std::mutex",
            "std::recursive_mutex",
            "std::timed_mutex",
            "std::shared_mutex",
            "std::condition_variable::notify_one",
            "std::condition_variable::wait_for",
            "std::condition_variable_any",
            "std::call_once",
            "std::future",
            "std::latch",
            "std::barrier",
            "std::counting_semaphore",
            "std::atomic::wait",
            "static-local guard",
            "std::atomic::fetch_add",
            "std::atomic_thread_fence",
            "vptr update",
            "C++ exception",
            "new",
            "delete",
        ],
    ),
];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Language {
    C,
    Cxx,
}

/// The programs of one row of the table.
struct Row {
    primitive: String,
    /// Paths below `tests/golden`.
    programs: BTreeMap<Language, Vec<String>>,
}

fn table() -> Vec<Row> {
    let text = fs::read_to_string(root().join("docs/primitives.md")).expect("docs/primitives.md");
    let rows = text.lines().filter(|line| line.starts_with("| ")).map(|line| line.split('|').collect::<Vec<_>>());
    rows.filter(|cells| cells.len() == 6 && !cells[1].contains("---") && cells[1].trim() != "primitive")
        .map(|cells| Row {
            primitive: cells[1].trim().to_owned(),
            programs: [(Language::C, links(cells[2])), (Language::Cxx, links(cells[3]))].into(),
        })
        .collect()
}

/// What the links in a piece of the page lead to.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](../tests/golden/").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(str::to_owned).collect()
}

#[test]
fn every_program_is_listed_and_every_listed_program_exists() {
    let text = fs::read_to_string(root().join("docs/primitives.md")).expect("docs/primitives.md");
    let listed: BTreeSet<String> = links(&text).into_iter().collect();
    let found: BTreeSet<String> = folders().iter().flat_map(|folder| programs(folder)).map(|one| one.name()).collect();
    let missing: Vec<_> = listed.difference(&found).collect();
    assert!(missing.is_empty(), "listed, but not there: {missing:?}");
    let unlisted: Vec<_> = found.difference(&listed).collect();
    assert!(unlisted.is_empty(), "not listed in docs/primitives.md: {unlisted:?}");
}

#[test]
fn every_primitive_has_an_ok_beside_its_bad() {
    let rows = table();
    assert!(rows.len() > 100, "the table was read: {} rows", rows.len());
    for row in &rows {
        let all: Vec<&String> = row.programs.values().flatten().collect();
        assert!(!all.is_empty(), "{}: no program", row.primitive);
        for programs in row.programs.values().filter(|programs| !programs.is_empty()) {
            let stems = |ending: &str| -> BTreeSet<String> {
                let stems = programs.iter().filter_map(|path| path.rsplit_once('.')?.0.strip_suffix(ending));
                stems.map(str::to_owned).collect()
            };
            let (ok, bad) = (stems("_ok"), stems("_bad"));
            assert!(!ok.is_empty() && ok == bad, "{}: {programs:?}", row.primitive);
        }
    }
}

#[test]
fn headers_say_what_the_table_says() {
    for row in table() {
        for path in row.programs.values().flatten() {
            let program = Program::read(&root().join("tests/golden").join(path));
            assert_eq!(program.primitive, row.primitive, "{path}");
            assert_eq!(program.kind == "ok", program.is_ok(), "{path}: kind: {}", program.kind);
            assert!(!program.about.is_empty(), "{path}: no `about`");
            let kinds = ["ok", "race", "deadlock", "atomicity", "nondeterminism", "failure", "misuse"];
            assert!(kinds.contains(&program.kind.as_str()), "{path}: kind: {}", program.kind);
        }
    }
}

#[test]
fn every_required_primitive_is_in_the_table() {
    let rows = table();
    let mut missing = vec![];
    for &(language, names) in REQUIRED {
        for &name in names {
            let here = |row: &&Row| mentions(&row.primitive, name) && !row.programs[&language].is_empty();
            if rows.iter().find(here).is_none() {
                missing.push(format!("{name} ({language:?})"));
            }
        }
    }
    assert!(missing.is_empty(), "no golden programs for {missing:?}");
}

/// Whether a name stands in a text as a whole: `read` is not in `pread`.
fn mentions(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

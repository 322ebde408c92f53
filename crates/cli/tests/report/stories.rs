//! What `explain` tells is true: labels stand on the events that did it, of one round of a loop and of the threads that
//! are named, and what the recorded run did is not told as something else when it did it, too.

use std::fs;
use std::path::Path;

use super::reweave;

/// Two threads go round a loop of check-then-act, through functions.
const ROUNDS: &str = "#include <assert.h>
#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int balance;
static int get(void) {
    pthread_mutex_lock(&m);
    int b = balance;
    pthread_mutex_unlock(&m);
    return b;
}
static void set(int b) {
    pthread_mutex_lock(&m);
    balance = b;
    pthread_mutex_unlock(&m);
}
static void *deposit(void *p) {
    for (int i = 0; i < 2; i++) {
        int b = get();
        set(b + 1);
    }
    return p;
}
int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, deposit, 0);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    assert(balance == 4);
}
";

/// A notify that comes before the wait.
const LOST: &str = "#include <pthread.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static int ready;
static void *waiter(void *p) {
    pthread_mutex_lock(&m);
    int r = ready;
    pthread_mutex_unlock(&m);
    pthread_mutex_lock(&m);
    if (!r) pthread_cond_wait(&c, &m);
    pthread_mutex_unlock(&m);
    return p;
}
int main(void) {
    pthread_t t;
    pthread_create(&t, 0, waiter, 0);
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_signal(&c);
    pthread_mutex_unlock(&m);
    pthread_join(t, 0);
}
";

/// Both may see the last one; the block can be torn by one of the other's accesses, or by both.
const LAST: &str = "#include <pthread.h>
#include <reweave.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int items = 2;
static int is_empty(void) {
    pthread_mutex_lock(&m);
    int empty = items == 0;
    pthread_mutex_unlock(&m);
    return empty;
}
static void take(void) {
    pthread_mutex_lock(&m);
    items--;
    pthread_mutex_unlock(&m);
}
static void *consume(void *p) {
    REWEAVE_ATOMIC_BEGIN(\"consume\");
    if (!is_empty()) take();
    REWEAVE_ATOMIC_END();
    return p;
}
int main(void) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, consume, 0);
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
}
";

/// Two findings of one run that hangs.
const TWICE: &str = "#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
int main(void) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&a);
}
";

/// The stories of all findings of a program, by kind.
fn stories(folder: &Path, source: &str, optimise: &str) -> Vec<(String, String)> {
    fs::write(folder.join("prog.c"), source).expect("written");
    assert_eq!(reweave(folder, &["cc", "-g", optimise, "-o", "prog", "prog.c", "-lpthread"]).code, 0);
    let tested = reweave(folder, &["test", "--budget", "10s", "-o", "out", "--", "./prog"]);
    assert_eq!(tested.code, 1, "{}", tested.stderr);
    let report = fs::read_to_string(folder.join("out/report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&report).expect("JSON");
    let confirmed =
        report["findings"].as_array().expect("findings").iter().filter(|item| item["strength"] == "confirmed");
    let tell = |item: &serde_json::Value| {
        let story = reweave(folder, &["explain", &format!("out/{}", item["id"])]);
        (item["kind"].as_str().expect("a kind").to_owned(), story.stdout)
    };
    confirmed.map(tell).collect()
}

fn of_kind<'a>(stories: &'a [(String, String)], kind: &str) -> &'a str {
    let found = stories.iter().find(|(other, _)| other == kind);
    &found.unwrap_or_else(|| panic!("no {kind}: {stories:?}")).1
}

#[test]
fn a_torn_block_is_named_by_the_function_that_has_it_and_its_accesses_are_of_one_round() {
    for optimise in ["-O0", "-O2"] {
        let scratch = tempfile::tempdir().expect("a temporary folder");
        let stories = stories(scratch.path(), ROUNDS, optimise);
        let story = of_kind(&stories, "atomicity");
        assert!(story.contains("inferred atomic block in deposit (prog.c:18-19)"), "{story}");
        // Between the first and the last access of the block its thread makes no other one.
        let happens = &story[story.find("What happens").expect("a story")..];
        let own = story.lines().find(|line| line.trim_start().starts_with("(1) ")).expect("(1)");
        let thread = own.split("by thread ").nth(1).and_then(|rest| rest.split(' ').next()).expect("its thread");
        let turns: Vec<&str> = happens.split(". T").collect();
        let first = turns.iter().position(|turn| turn.contains("(1) ")).expect("(1) is told");
        assert!(turns[first].starts_with(thread), "{story}");
        let after = &turns[first][turns[first].find("(1) ").expect("there")..];
        assert!(!after.contains("writes"), "{story}");
    }
}

#[test]
fn a_lost_wake_up_is_explained_by_what_was_read_and_who_notified_in_vain() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let stories = stories(scratch.path(), LOST, "-O0");
    let story = of_kind(&stories, "deadlock");
    for told in ["reads ready (= 0)", "writes ready (= 1)", "notifies c (wakes no thread)", "waits for a notify on c"] {
        assert!(story.contains(told), "{told}: {story}");
    }
}

#[test]
fn a_recorded_run_that_did_it_did_nothing_instead() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let stories = stories(scratch.path(), TWICE, "-O0");
    for kind in ["deadlock", "misuse"] {
        let story = of_kind(&stories, kind);
        assert!(
            !story.contains("did instead") && story.contains("The recorded run is the one that did it."),
            "{story}"
        );
    }
    assert!(of_kind(&stories, "misuse").contains("(1) second lock by the owner of a"), "{stories:?}");
}

#[test]
fn however_far_it_is_shrunk_a_torn_block_is_torn_by_the_accesses_that_are_named() {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let stories = stories(scratch.path(), LAST, "-O1");
    let torn: Vec<&String> = stories.iter().filter(|(kind, _)| kind == "atomicity").map(|(_, story)| story).collect();
    assert!(torn.len() > 1, "several ways to tear it: {stories:?}");
    for story in torn {
        let (head, happens) = story.split_once("What happens").unwrap_or((story, ""));
        let named = head.lines().filter(|line| line.starts_with("  (")).count();
        assert!(named > 2 && (1..=named).all(|at| happens.contains(&format!("({at}) "))), "{story}");
    }
}

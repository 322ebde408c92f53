//! C++: between a program's own lines lies much that is the library's. Findings stand in the user's file, stacks end
//! where the user's code does, and threads are called after the user's functions.

use std::fs;

use serde_json::Value;

use super::common::{has, skip};
use super::reweave;

const SOURCE: &str = "#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

static std::atomic<int> ready{0};
static std::mutex door;
static std::vector<int> orders;
static int till;

static void order(int number) {
    orders.push_back(number);
}

int main() {
    std::thread clerk([] {
        ready.store(1, std::memory_order_relaxed);
        {
            std::lock_guard<std::mutex> guard(door);
            till += 5;
        }
        order(1);
    });
    {
        std::lock_guard<std::mutex> guard(door);
        till += 5;
    }
    order(2);
    clerk.join();
    return ready.load() == 1 && till == 10 ? 0 : 1;
}
";

#[test]
fn findings_stand_in_the_users_own_code() {
    if !has("g++") {
        skip("C++ in reports", "no g++");
        return;
    }
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let folder = scratch.path();
    fs::write(folder.join("shop.cpp"), SOURCE).expect("written");
    let built = reweave(folder, &["c++", "-g", "-o", "shop", "shop.cpp", "-pthread"]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    let tested = reweave(folder, &["test", "--budget", "20s", "-o", "out", "--", "./shop"]);
    assert_eq!(tested.code, 1, "{}", tested.stderr);
    let report: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("out/report.json")).expect("a report")).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    let races: Vec<&Value> = findings.iter().filter(|finding| finding["kind"] == "race").collect();
    assert!(!races.is_empty(), "{}", tested.stderr);
    for finding in findings {
        for access in finding["accesses"].as_array().expect("accesses") {
            let place = &access["location"];
            assert!(place["file"].as_str().is_some_and(|file| file.ends_with("shop.cpp")), "{access:#}");
            let stack = access["stack"].as_array().expect("a stack");
            let outermost = stack.last().unwrap_or(place)["function"].as_str().expect("a name");
            // What a read can see instead may be what the initialisers of the program put there.
            let begins = outermost == "main" || outermost.contains("lambda");
            assert!(begins || outermost.starts_with("_GLOBAL__sub_I_"), "{access:#}");
            assert!(!access.to_string().contains("__libc"), "{access:#}");
        }
    }
    // The vector is what they race on: where it is used, in two threads.
    let lines = |race: &&&Value| {
        (0..2).all(|k| race["accesses"][k]["location"]["line"] == 12)
            && race["accesses"][0]["thread"] != race["accesses"][1]["thread"]
    };
    assert!(races.iter().any(|race| lines(&race)), "{}", tested.stderr);
    let id = races[0]["id"].to_string();
    let story = reweave(folder, &["explain", &format!("out/{id}")]).stdout;
    assert!(story.contains("T1 (lambda in main)") && !story.contains("libstdc++"), "{story}");
}

/// The report of a test of such a program, as optimised code has it.
fn report_of(source: &str, arguments: &[&str]) -> (tempfile::TempDir, Value) {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let folder = scratch.path();
    fs::write(folder.join("prog.cpp"), source).expect("written");
    let built = reweave(folder, &["c++", "-g", "-O1", "-o", "prog", "prog.cpp", "-pthread"]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    let all: Vec<&str> = ["test", "-o", "out"].iter().chain(arguments).chain(&["--", "./prog"]).copied().collect();
    let tested = reweave(folder, &all);
    assert_eq!(tested.code, 1, "{}", tested.stderr);
    let text = fs::read_to_string(folder.join("out/report.json")).expect("a report");
    let report = serde_json::from_str(&text).expect("JSON");
    (scratch, report)
}

const POOL: &str = "#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>
struct Pool {
    std::mutex door;
    std::condition_variable bell;
    bool stop = false;
    std::vector<std::thread> threads;
    Pool() {
        for (int i = 0; i < 2; i++) threads.emplace_back([this] { work(); });
    }
    void work() {
        std::unique_lock<std::mutex> guard(door);
        while (!stop) bell.wait(guard);
    }
    ~Pool() {
        {
            std::lock_guard<std::mutex> guard(door);
            stop = true;
        }
        bell.notify_one();
        for (auto &thread : threads) thread.join();
    }
};
int main() { Pool pool; }
";

/// The join happens in the library, for the destructor; and the notify was not too early, but for one of two.
#[test]
fn a_destructor_that_joins_is_where_it_waits() {
    if !has("g++") {
        skip("joins of C++ in reports", "no g++");
        return;
    }
    let (_scratch, report) = report_of(POOL, &["--budget", "20s"]);
    let hang = &report["findings"][0];
    assert_eq!((&hang["kind"], &hang["strength"]), (&"deadlock".into(), &"confirmed".into()), "{report:#}");
    let joins = &hang["accesses"][0];
    assert_eq!(joins["location"]["line"], 23, "{hang:#}");
    assert!(joins["location"]["function"].as_str().is_some_and(|name| name.contains("~Pool")), "{hang:#}");
    assert_eq!(hang["turn"], "notify for another", "{hang:#}");
    assert_eq!(report["bugs"][0]["pattern"], "woken-for-another", "{report:#}");
}

const SCALER: &str = "#include <cassert>
#include <mutex>
#include <thread>
struct Config {
    std::mutex door;
    int width = 1, height = 1;
    int get_width() { std::lock_guard<std::mutex> guard(door); return width; }
    int get_height() { std::lock_guard<std::mutex> guard(door); return height; }
    void reload(int size) { std::lock_guard<std::mutex> guard(door); width = height = size; }
};
struct Scaler {
    Config &config;
    int scale() { int w = config.get_width(); int h = config.get_height(); assert(w == h); return w * h; }
};
int main() {
    Config config;
    Scaler scaler{config};
    std::thread reader([&] { scaler.scale(); });
    std::thread writer([&] { config.reload(2); });
    reader.join();
    writer.join();
}
";

/// All of it is compiled into one function of the library's, which nobody has heard of.
#[test]
fn a_torn_block_is_named_after_the_users_function() {
    if !has("g++") {
        skip("blocks of C++ in reports", "no g++");
        return;
    }
    let (_scratch, report) = report_of(SCALER, &["--budget", "20s"]);
    let findings = report["findings"].as_array().expect("findings");
    let torn = findings.iter().find(|finding| finding["kind"] == "atomicity").expect("a torn block");
    let summary = torn["summary"].as_str().expect("a summary");
    assert!(summary.starts_with("inferred atomic block in Scaler::scale (prog.cpp:13)"), "{summary}");
    assert_eq!(torn["block_at"]["label"], Value::Null, "{torn:#}");
}

const STREAM: &str = "#include <sstream>
#include <thread>
static std::ostringstream out;
static void say(int number) {
    out << \"line \" << number;
}
int main() {
    std::thread one(say, 1), two(say, 2);
    one.join();
    two.join();
}
";

/// The library moves the end of the text long before it could be seen: somebody else has to come first.
#[test]
fn two_threads_that_use_one_stream_are_made_to_meet() {
    if !has("g++") {
        skip("streams of C++", "no g++");
        return;
    }
    let (_scratch, report) = report_of(STREAM, &["--budget", "20s", "--fail-fast"]);
    let race = &report["findings"][0];
    assert_eq!((&race["kind"], &race["strength"]), (&"race".into(), &"confirmed".into()), "{report:#}");
    assert_eq!(race["accesses"][0]["location"]["line"], 5, "{race:#}");
}

/// Fails without a race: the updates are atomic, but each is two steps. What the destructor reads is not where it went
/// wrong.
const COUNTER: &str = "#include <atomic>
#include <cstdlib>
#include <thread>

struct Counter {
    std::atomic<int> value{0};
    ~Counter() {
        if (value.load() < 0) std::abort();
    }
};

static void add(Counter &counter) {
    int seen = counter.value.load();
    counter.value.store(seen + 1);
}

int main() {
    Counter counter;
    std::thread other([&] { add(counter); });
    add(counter);
    other.join();
    return counter.value.load() == 2 ? 0 : 1;
}
";

#[test]
fn a_failure_without_accesses_stands_where_threads_met() {
    if !has("g++") {
        skip("places of failures", "no g++");
        return;
    }
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let folder = scratch.path();
    fs::write(folder.join("count.cpp"), COUNTER).expect("written");
    let built = reweave(folder, &["c++", "-g", "-O1", "-o", "count", "count.cpp", "-pthread"]);
    assert_eq!(built.code, 0, "{}", built.stderr);
    let tested = reweave(folder, &["test", "--fail-fast", "--budget", "20s", "-o", "out", "--", "./count"]);
    assert_eq!(tested.code, 1, "{}", tested.stderr);
    reweave(folder, &["report", "out", "--sarif", "count.sarif"]);
    let sarif: Value =
        serde_json::from_str(&fs::read_to_string(folder.join("count.sarif")).expect("SARIF")).expect("JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let failures: Vec<&Value> = results.iter().filter(|result| result["ruleId"] == "reweave/failure").collect();
    assert!(!failures.is_empty(), "{}", tested.stderr);
    for failure in failures {
        let place = &failure["locations"][0];
        let line = place["physicalLocation"]["region"]["startLine"].as_u64().expect("a line");
        assert!((13..=14).contains(&line), "where threads meet: {place:#}");
    }
    // The recorded run came to the same functions: nothing is said of lines that it passed.
    let told = reweave(folder, &["explain", "out/1"]).stdout;
    assert!(!told.contains("did nothing at") && !told.contains("made no step in main"), "{told}");
}

//! Memory by name: variables on stacks, parts of blocks however they were allocated, lambdas by whose they are, and
//! whether a lock that did not help was shared.

use std::fs;

use super::common::{has, skip};
use super::reweave;

const LOCALS: &str = "#include <pthread.h>
#include <stdlib.h>
struct job { int id; int done; char name[16]; };
struct node { struct node *next; int value; };
static void *count_up(void *p) { int *x = p; (*x)++; return 0; }
static void *finish(void *p) { struct job *j = p; j->done = 1; return 0; }
static void *add(void *p) { struct node *n = p; n->value++; return 0; }
int main(void) {
    int count = 0;
    struct job jobs[2] = {{0}};
    pthread_t t[3];
    struct node *n;
    n = malloc(sizeof(*n));
    n->value = 0;
    pthread_create(&t[0], 0, count_up, &count);
    pthread_create(&t[1], 0, finish, &jobs[1]);
    pthread_create(&t[2], 0, add, n);
    count++;
    jobs[1].done = 2;
    n->value++;
    for (int i = 0; i < 3; i++) pthread_join(t[i], 0);
    return count + jobs[1].done + n->value == 0;
}
";

const OBJECTS: &str = "#include <iostream>
#include <list>
#include <memory>
#include <shared_mutex>
#include <sstream>
#include <thread>
struct Pool { std::mutex m; int done = 0; };
static std::shared_mutex table;
static std::list<int> from{1, 2, 3}, to;
static std::ostringstream notes;
static void move_one() {
    std::shared_lock<std::shared_mutex> guard(table);
    to.splice(to.end(), from, from.begin());
}
int main() {
    auto pool = std::make_shared<Pool>();
    int local = 0;
    std::thread a([&] { local++; pool->done++; std::cout << \"a\"; });
    std::thread b([&] { pool->done++; std::cout << 1 << 2.5; });
    local++;
    a.join();
    b.join();
    std::thread c(move_one), d(move_one);
    c.join();
    d.join();
    std::thread e([] { notes << \"hello \"; }), f([] { notes << 1; });
    e.join();
    f.join();
    return notes.str().empty() || local == 0;
}
";

const SCOPED: &str = "#include <array>
#include <cstdio>
#include <mutex>
#include <thread>
struct Bucket { std::mutex m; int used = 0; };
struct Table {
    std::array<Bucket, 3> buckets;
    int size = 0;
    void add(int at) {
        std::lock_guard<std::mutex> guard(buckets[at].m);
        buckets[at].used++;
        size++;
    }
};
int main() {
    {
        Table table;
        std::thread one([&] { table.add(1); }), two([&] { table.add(2); });
        one.join();
        two.join();
        if (table.size > 2) return 1;
    }
    std::puts(\"done\");
    return 0;
}
";

/// What `predict` says of a recording of a program.
fn predicted(source: &str, name: &str, build: &[&str]) -> String {
    let scratch = tempfile::tempdir().expect("a temporary folder");
    let folder = scratch.path();
    fs::write(folder.join(name), source).expect("written");
    let built = reweave(folder, &[build, &["-o", "prog", name, "-pthread"]].concat());
    assert_eq!(built.code, 0, "{}", built.stderr);
    assert_eq!(reweave(folder, &["record", "-o", "prog.rwt", "--", "./prog"]).code, 0);
    let said = reweave(folder, &["predict", "prog.rwt"]);
    assert_eq!(said.code, 1, "{}", said.stderr);
    said.stdout
}

/// Nothing of `bus` is touched by `main` itself: only its members know where they are.
const OUT_OF_LINE: &str = "#include <mutex>
#include <thread>
#include <vector>
#define APART __attribute__((noinline))
class Bus {
    std::mutex door;
    std::vector<int> subscribers;
    int sent = 0;
public:
    APART Bus() { subscribers.push_back(1); }
    APART void add(int number) { std::lock_guard<std::mutex> guard(door); subscribers.push_back(number); sent++; }
    APART int emit() { return ++sent; }
};
int main() {
    int result = 0;
    Bus bus;
    std::thread one([&] { bus.add(2); }), two([&] { result = bus.emit(); });
    one.join();
    two.join();
    return result > 2;
}
";

#[test]
fn objects_of_main_have_names_in_the_code_of_others() {
    if !has("g++") {
        skip("names of C++ objects", "no g++");
        return;
    }
    for optimise in ["-O1", "-O2"] {
        let said = predicted(OUT_OF_LINE, "bus.cpp", &["c++", "-g", optimise]);
        for told in ["data race on main::bus.sent: ", "holding main::bus.door (taken at bus.cpp:11 Bus::add)"] {
            assert!(said.contains(told), "{told} {optimise}: {said}");
        }
    }
}

#[test]
fn variables_on_stacks_and_parts_of_blocks_have_names() {
    for optimise in ["-O0", "-O2"] {
        let said = predicted(LOCALS, "locals.c", &["cc", "-g", optimise]);
        for told in [
            "data race on main::count:",
            "data race on main::jobs[1].done:",
            "data race on node.value in the block of 16",
        ] {
            assert!(said.contains(told), "{told} {optimise}: {said}");
        }
    }
}

/// An object of a block of main, and elements of a library's array: two locks of one name would be taken for one.
#[test]
fn elements_of_objects_in_blocks_have_names() {
    if !has("g++") {
        skip("names of objects in blocks", "no g++");
        return;
    }
    for optimise in ["-O1", "-O2"] {
        let said = predicted(SCOPED, "table.cpp", &["c++", "-g", optimise]);
        for name in ["race on main::table.size", "main::table.buckets[1].m", "main::table.buckets[2].m"] {
            assert!(said.contains(name), "{name} {optimise}: {said}");
        }
    }
}

#[test]
fn objects_of_the_library_and_lambdas_have_names() {
    if !has("g++") {
        skip("names of C++ objects", "no g++");
        return;
    }
    let said = predicted(OBJECTS, "objects.cpp", &["c++", "-g", "-O1"]);
    for told in [
        "data race on main::local:",
        "data race on Pool.done in the block of",
        "in lambda in main",
        "in lambda 2 in main",
        "holding table (shared, taken at objects.cpp:12 move_one)",
        "data race on notes",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
    let races: Vec<&str> = said.lines().filter(|line| line.contains("data race on")).collect();
    assert!(!races.iter().any(|race| race.contains("cout")), "it may be used by all: {races:?}");
}

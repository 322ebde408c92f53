//! What is said of a folder is said of the program that is there now: replays compare values and builds, and `verify`
//! tells whether a finding is gone, still there, or nobody can tell.

mod common;

use common::{Done, Scratch};

/// A lost update; `FIXED` takes the lock, `GONE` does not come to it any more.
const BANK: &str = "#include <assert.h>
#include <pthread.h>
#ifndef AMOUNT
#define AMOUNT 10
#endif
static int balance = 100;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *deposit(void *unused) {
#ifdef FIXED
    pthread_mutex_lock(&lock);
#endif
    int seen = balance;
    balance = seen + AMOUNT;
#ifdef FIXED
    pthread_mutex_unlock(&lock);
#endif
    return unused;
}
static void *nothing(void *unused) { return unused; }
int main(void) {
    pthread_t threads[2];
#ifdef GONE
    void *(*work)(void *) = balance ? nothing : deposit;
#else
    void *(*work)(void *) = balance ? deposit : nothing;
#endif
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
#ifndef GONE
    assert(balance == 100 + 2 * AMOUNT);
#endif
    return 0;
}
";

fn build(scratch: &Scratch, name: &str, define: &str) {
    scratch.file("bank.c", BANK);
    scratch.run(["cc", "-g", define, "-o", name, "bank.c", "-pthread"]).expect(0);
}

/// A folder with the findings of the program as it is at first.
fn tested(scratch: &Scratch) -> Done {
    build(scratch, "bank", "-DFIRST");
    scratch.run(["test", "-o", "out", "--budget", "20s", "--", "./bank"]).expect(1)
}

#[test]
fn a_replay_reports_other_values_and_another_build() {
    let scratch = Scratch::new("verify");
    tested(&scratch);
    scratch.run(["replay", "out/1"]).expect(1).says("events identically");
    build(&scratch, "bank", "-DAMOUNT=20");
    let again = scratch.run(["replay", "out/1"]).expect(1).says("the program was rebuilt since (build id ");
    assert!(!again.stderr.contains("identically"), "{}", again.stderr);
    again.says("writes 120 in balance, recorded 110").says("it happened again");
    scratch.run(["report", "out"]).expect(1).says("this is about the recorded one");
    scratch.run(["explain", "out/1"]).expect(0).says("this is about the recorded one");
    let often = scratch.run(["replay", "out/1", "--times", "3"]).expect(1).says("the program was rebuilt since (");
    often.says("it happened again in 3 of 3").says("in 3 of them some values were not").says("recorded 110");
}

#[test]
fn what_is_confirmed_is_so_of_the_program_that_is_there() {
    let scratch = Scratch::new("verify");
    tested(&scratch);
    build(&scratch, "bank", "-DFIXED");
    let said = scratch.run(["confirm", "out"]).expect(0).says("the program was rebuilt since").says(" 0 still there");
    assert!(!said.stderr.contains(" confirmed"), "{}", said.stderr);
    scratch.run(["confirm", "out", "--analysis", "lock-history"]).expect(2).says("run `reweave test` again");
}

#[test]
fn a_fixed_program_is_distinguished_from_one_that_is_not() {
    let scratch = Scratch::new("verify");
    tested(&scratch);
    let same = scratch.run(["verify", "out"]).expect(1).says("the program is the one that was recorded");
    same.says("still there: [1] data race on balance").says(" 0 unclear");
    // Another number, and nothing else.
    build(&scratch, "bank", "-DAMOUNT=20");
    let there = scratch.run(["verify", "out"]).expect(1).says("still there: [1] data race on balance").says("0 gone, ");
    let replay = there.stderr.lines().find_map(|line| line.trim().strip_prefix("replay: reweave replay "));
    let replay = replay.unwrap_or_else(|| panic!("no schedule: {}", there.stderr));
    assert!(replay.starts_with("out/verify/"), "{replay}");
    scratch.run(["replay", replay]).expect(1).says("identically").says("it happened again");
    build(&scratch, "bank_fixed", "-DFIXED");
    let gone = scratch.run(["verify", "out", "--", "./bank_fixed"]).expect(0);
    let gone = gone.says("gone: [1] data race on balance").says("the recorded schedule, by name: ");
    gone.says("runs steered to the same places").says(" 0 still there, 0 unclear");
}

#[test]
fn reads_that_runs_take_from_different_writes_depend_on_the_schedule() {
    let scratch = Scratch::new("verify");
    // Under the lock, and right: who comes last is another one from run to run, and main reads what it wrote.
    build(&scratch, "bank", "-DFIXED");
    let denied = ["test", "-o", "out", "--budget", "10s", "--deny", "nondeterminism", "--", "./bank"];
    let said = scratch.run(denied).expect(1);
    let line = 1 + BANK.lines().position(|line| line.contains("assert(balance")).expect("an assertion");
    let read = format!("this read of bank.c:{line} (balance) can also see the write of bank.c:");
    assert!(said.stderr.lines().any(|told| told.starts_with("denied: [") && told.contains(&read)), "{}", said.stderr);
    let page = scratch.run(["report", "out", "--html", "page.html"]);
    let page = std::fs::read_to_string(scratch.join("page.html")).unwrap_or_else(|why| panic!("{why}: {page:?}"));
    let badges = page.split_once("<div id=\"findings\">").expect("findings").1;
    assert!(badges.contains("badge information") && !badges.contains("badge confirmed"), "a read is no red card");
    let told = scratch.run(["report", "out", "--verbose"]).expect(0).stdout;
    assert!(!told.contains("confirmed") || told.contains("the confirmed run"), "{told}");
    assert!(told.starts_with("[1] information (a run showed it): "), "{told}");
}

/// What some of the bugs are called, whichever run shows them.
const NAMES: [(&str, &str); 4] = [
    ("config_reload", "use-after-free"),
    ("connection_pool", "check-then-act"),
    ("reference_count", "use-after-free"),
    ("thread_pool", "lost-update"),
];

/// Whatever was found is one bug, and it has its name.
fn is_one_bug(scratch: &Scratch, name: &str) {
    let text = std::fs::read_to_string(scratch.join("out/report.json")).expect("a report");
    let report = reweave_report::Report::from_json(&text).expect("JSON");
    let sure = |id: &u32| report.findings.iter().any(|item| item.id == *id && item.is_proven());
    let bugs = report.bugs.iter().filter(|bug| bug.findings.iter().any(sure));
    let bugs: Vec<_> =
        bugs.map(|bug| (bug.pattern.map(|pattern| pattern.name().replace(' ', "-")), &bug.summary)).collect();
    assert_eq!(bugs.len(), 1, "{name}: {bugs:?}");
    if let Some((_, known)) = NAMES.iter().find(|(program, _)| *program == name) {
        assert_eq!(bugs[0].0.as_deref(), Some(*known), "{name}: {bugs:?}");
    }
}

/// Found as one bug, not found in the twin, still there in itself, and gone in the twin.
fn found_and_fixed(name: &str) {
    let scratch = Scratch::new("verify");
    let [bad, ok] = ["bad", "ok"].map(|which| scratch.build(&format!("realistic/{name}_{which}.c")));
    let said = |mut command: std::process::Command, code: i32| {
        let done = common::run(&mut command);
        assert_eq!(done.code, Some(code), "{name}: {command:?}\n{}", done.stderr);
    };
    for (folder, program, code) in [("out", &bad, 1), ("twin", &ok, 0)] {
        let mut test = scratch.reweave(["test", "-o", folder, "--budget", "20s", "--"]);
        test.arg(program);
        said(test, code);
    }
    is_one_bug(&scratch, name);
    said(scratch.reweave(["verify", "out", "--budget", "20s"]), 1);
    let mut twin = scratch.reweave(["verify", "out", "--budget", "20s", "--"]);
    twin.arg(&ok);
    said(twin, 0);
}

/// Two of them; all with `REWEAVE_REALISTIC=1` (`cargo xtask survey realistic`).
#[test]
fn realistic_programs_and_their_twins() {
    let folder = common::root().join("tests/realistic");
    let files = std::fs::read_dir(folder).expect("the programs").flatten().map(|entry| entry.file_name());
    let names = files.filter_map(|file| Some(file.to_str()?.strip_suffix("_bad.c")?.to_owned()));
    let mut names: Vec<String> = names.collect();
    names.sort();
    assert_eq!(names.len(), 10);
    let all = std::env::var_os("REWEAVE_REALISTIC").is_some();
    for name in names.iter().filter(|name| all || ["connection_pool", "producer_consumer"].contains(&name.as_str())) {
        found_and_fixed(name);
    }
}

#[test]
fn code_that_is_not_reached_is_not_fixed() {
    let scratch = Scratch::new("verify");
    tested(&scratch);
    build(&scratch, "bank", "-DGONE");
    let said = scratch.run(["verify", "out"]).expect(2).says("unclear: [1] data race on balance");
    said.says("no run of the new build reached deposit");
    // Without instrumentation nothing was looked at.
    common::run(scratch.command("cc").args(["-g", "-o", "bank", "bank.c", "-pthread"])).expect(0);
    scratch.run(["verify", "out"]).expect(2).says("0 gone, 0 still there").says("was not built with reweave cc");
    // Nor where there is nothing to look for.
    build(&scratch, "bank", "-DFIXED");
    scratch.run(["test", "-o", "clean", "--budget", "5s", "--", "./bank"]).expect(0);
    scratch.run(["verify", "clean"]).expect(2).says("nothing to verify");
    scratch.run(["verify", "nowhere"]).expect(2).says("name the folder of a `reweave test`");
}

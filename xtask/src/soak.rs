//! Long runs of tests: many more schedules or random histories than a normal run takes, and the sum of what they say.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::{root, tools};

/// Every golden program: both compilers, -O0 and -O2, this many schedules of each.
pub fn golden(schedules: &str) -> bool {
    tools::provide(&root());
    let what = ["runs", "events", "inconsistencies", "unexplained reads", "failures"];
    let passed = soak("reweave", "golden", ("REWEAVE_SOAK", schedules), &what);
    tools::print_missing(&root());
    passed
}

/// Every program of `tests/golden/replay`: this many schedules, each recorded and replayed.
pub fn replay(schedules: &str) -> bool {
    tools::provide(&root());
    let passed = soak("reweave", "replay", ("REWEAVE_SOAK", schedules), &["seeds"]);
    tools::print_missing(&root());
    passed
}

/// Every golden program whose name has this text through `reweave test`, and so many replays of what it confirms.
pub fn survey(replays: &str, text: &str) -> bool {
    soak("reweave", "survey", ("REWEAVE_SURVEY", &format!("{replays},{text}")), &[])
}

/// Realistic programs and their fixed twins, all of them.
pub fn realistic() -> bool {
    soak("reweave", "verify", ("REWEAVE_REALISTIC", "1"), &[])
}

/// The README from the top, from a fresh clone.
pub fn readme() -> bool {
    soak("reweave", "fresh_clone", ("REWEAVE_FRESH_CLONE", "1"), &[])
}

/// The static analysis against all executions of so many random programs.
pub fn statics(programs: &str) -> bool {
    soak("reweave-statics", "soundness", ("REWEAVE_STATICS_PROGRAMS", programs), &[])
}

/// Mistakes put into the static analysis are noticed.
pub fn faults() -> bool {
    soak("reweave-statics", "soundness", ("REWEAVE_FAULTS", "1"), &[])
}

/// Every golden program in Java through `reweave test`, and so many replays of what it confirms.
pub fn java(replays: &str) -> bool {
    soak("reweave", "java", ("REWEAVE_JAVA", replays), &[])
}

/// Programs in Java recorded so often with one seed.
pub fn traces(runs: &str) -> bool {
    soak("reweave", "java", ("REWEAVE_TRACES", runs), &[])
}

/// All golden programs of many ranks.
pub fn ranks() -> bool {
    soak("reweave", "ranks", ("REWEAVE_RANKS", "1"), &[])
}

/// So many runs of active testing for each deadlock, in every variant.
pub fn active(runs: &str) -> bool {
    soak("reweave", "active", ("REWEAVE_ACTIVE", runs), &[])
}

/// The engine against the oracle, races and reads, and the errors of the published rule for reads: so many small and so
/// many larger histories.
pub fn oracle(small: &str, large: &str) -> bool {
    let races = ["control-flow races", "prefix races", "said races", "data-abstract races"];
    let what = [&["histories", "pairs asked"], races.as_slice()].concat();
    let counts = format!("{small},{large}");
    let races = soak("reweave-predict", "feasible", ("REWEAVE_ORACLE", &counts), &what);
    let what =
        ["histories", "questions", "control-flow views", "prefix views", "said views", "data-abstract views", "ends"];
    let published = ["pairs", "published views", "wrongly published", "not published"];
    let what = [what.as_slice(), published.as_slice()].concat();
    soak("reweave-predict", "nondeterminism", ("REWEAVE_ORACLE", &counts), &what) && races
}

/// Lock histories against the oracle: so many histories of each kind.
pub fn lock_history(count: &str) -> bool {
    let by = ["reachable by the oracle", "by strategy I", "by strategy II", "witnesses checked"];
    let what = [&["histories", "pairs asked"], by.as_slice()].concat();
    soak("reweave-predict", "lock_history", ("REWEAVE_LOCK_HISTORY", count), &what)
}

/// Predicted atomicity violations against the oracle.
pub fn oracle_blocks(small: &str, large: &str) -> bool {
    let violations = ["control-flow violations", "prefix violations", "said violations", "data-abstract violations"];
    let what = [&["histories", "blocks judged", "cycles asked"], violations.as_slice()].concat();
    soak("reweave-predict", "atomicity", ("REWEAVE_BLOCKS", &format!("{small},{large}")), &what)
}

/// Deadlocks and stalls against the oracle: so many small and so many larger histories.
pub fn oracle_deadlocks(small: &str, large: &str) -> bool {
    let deadlocks =
        ["control-flow deadlocks", "prefix deadlocks", "data-abstract deadlocks", "of more than two threads"];
    let streamed = ["traces", "goodlock cycles", "sync-preserving deadlocks"];
    let stalls = ["control-flow stalls", "prefix stalls", "data-abstract stalls"];
    let what = [&["histories"], deadlocks.as_slice(), &streamed, &stalls].concat();
    soak("reweave-predict", "deadlocks", ("REWEAVE_ORACLE", &format!("{small},{large}")), &what)
}

/// Exploration against the enumeration of all schedules.
pub fn enumerate() -> bool {
    let what = ["classes", "schedules", "runs of exploration"];
    soak("reweave", "exploration", ("REWEAVE_ENUMERATE", "1"), &what)
}

/// Random scripts through the whole command against all of their schedules.
pub fn scripts(count: &str, seed: &str) -> bool {
    let what = ["programs", "failures", "deadlocks", "racy pairs", "classes", "states", "replays"];
    soak("reweave", "scripts", ("REWEAVE_SCRIPTS", &format!("{count},{seed}")), &what)
}

/// Runs one test file and adds up what its summaries (`golden mutex: 56 runs, 3180 events, …`) say.
fn soak(package: &str, test: &str, (variable, value): (&str, &str), what: &[&str]) -> bool {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["test", "--release", "--package", package, "--test", test, "--", "--nocapture"])
        .env(variable, value)
        .current_dir(root())
        .stdout(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            eprintln!("xtask: cannot run cargo: {error}");
            return false;
        }
    };
    let mut sums = vec![0u64; what.len()];
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            println!("{line}");
            add(&line, test, what, &mut sums);
        }
    }
    let passed = child.wait().is_ok_and(|status| status.success());
    let totals: Vec<String> = sums.iter().zip(what).map(|(sum, what)| format!("{sum} {what}")).collect();
    if what.is_empty() {
        return passed;
    }
    println!("total: {}{}", totals.join(", "), if passed { "" } else { " (FAILED)" });
    passed
}

/// Adds the numbers of a summary line. The harness may have put the name of a test before it.
fn add(line: &str, test: &str, what: &[&str], sums: &mut [u64]) {
    let Some((head, numbers)) = line.split_once(": ") else { return };
    if !head.contains(&format!("{test} ")) {
        return;
    }
    for part in numbers.split(", ") {
        let Some((number, name)) = part.split_once(' ') else { continue };
        if let (Ok(number), Some(at)) = (number.parse::<u64>(), what.iter().position(|one| *one == name)) {
            sums[at] += number;
        }
    }
}

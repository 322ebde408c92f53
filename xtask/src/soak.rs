//! Long runs of the tests of the command: many more schedules than a normal run takes, and the sum of what they say.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::{root, tools};

/// Every golden program: both compilers, -O0 and -O2, this many schedules of each.
pub fn golden(schedules: &str) -> bool {
    soak("golden", schedules, &["runs", "events", "inconsistencies", "unexplained reads", "failures"])
}

/// Every program of `tests/golden/replay`: this many schedules, each recorded and replayed.
pub fn replay(schedules: &str) -> bool {
    soak("replay", schedules, &["seeds"])
}

/// Runs one test file and adds up what its summaries (`golden mutex: 56 runs, 3180 events, …`) say.
fn soak(test: &str, schedules: &str, what: &[&str]) -> bool {
    tools::provide();
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .args(["test", "--release", "--package", "reweave", "--test", test, "--", "--nocapture"])
        .env("REWEAVE_SOAK", schedules)
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
    tools::tell_missing();
    let totals: Vec<String> = sums.iter().zip(what).map(|(sum, what)| format!("{sum} {what}")).collect();
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

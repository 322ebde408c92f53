//! One program two ways: what enumerating all schedules says it can do, and what `reweave test --explore` reports.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use reweave_script::language::parse;
use reweave_script::testing::enumerate::{Behaviours, enumerate};
use serde_json::Value;

use crate::common::REWEAVE;

/// States that are enumerated.
const STATES: usize = 60_000;
/// For one program, and if that is too little on a busy machine: runs that take too long are ended, and then not
/// everything is explored.
const BUDGETS: [&str; 4] = ["10s", "30s", "60s", "240s"];
const REPLAYS: &str = "3";

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Everything that is not as it should be.
    pub differences: Vec<String>,
    pub failures: usize,
    pub deadlocks: usize,
    pub races: usize,
    pub classes: usize,
    pub states: usize,
    pub replays: usize,
    /// Tests that had to be made again with more time.
    pub again: usize,
    /// Findings that no time was left to confirm: a share of it, not all, so that more of it does not help.
    pub late: usize,
    /// For the command alone.
    pub took: Duration,
}

/// `None`: there are too many states to enumerate.
pub fn compare(text: &str, folder: &Path) -> Option<Compared> {
    let program = parse("random.rwi", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let all = enumerate(&program, STATES);
    if !all.complete {
        return None;
    }
    let script = folder.join("random.rwi");
    fs::write(&script, text).expect("the program");
    let mut compared = Compared {
        failures: all.failures.len(),
        deadlocks: all.deadlocks.len(),
        races: all.races.len(),
        classes: all.classes.len(),
        states: all.states,
        ..Compared::default()
    };
    for budget in BUDGETS {
        let out = folder.join("out");
        let began = Instant::now();
        let words = ["test", "--explore", "--jobs", "1", "--budget", budget, "-o"];
        let told = Command::new(REWEAVE).args(words).arg(&out).arg("--").arg(&script).stdin(Stdio::null()).output();
        let told = told.expect("reweave");
        compared.took += began.elapsed();
        let report = fs::read(out.join("report.json")).unwrap_or_default();
        let Ok(report) = serde_json::from_slice::<Value>(&report) else {
            compared.differences = vec![format!("no report: {}", String::from_utf8_lossy(&told.stderr))];
            return Some(compared);
        };
        compared.differences = differences(&all, &report);
        compared.late = items(&report).filter(|item| is_late(item)).count();
        if report["stats"]["explored_all"] != 1 && budget != BUDGETS[BUDGETS.len() - 1] {
            compared.again += 1;
            continue;
        }
        for item in items(&report).filter(|item| !item["schedule"].is_null()) {
            compared.replays += 1;
            compared.differences.extend(replays(&out, item));
        }
        break;
    }
    Some(compared)
}

fn items(report: &Value) -> impl Iterator<Item = &Value> {
    report["findings"].as_array().into_iter().flatten()
}

/// Races, deadlocks and failures.
fn counts(item: &Value) -> bool {
    let kind = item["kind"].as_str().unwrap_or_default();
    ["race", "deadlock", "failure"].contains(&kind) && !is_weak(item)
}

/// A race by the memory model alone: its accesses come next to each other in no run, and so enumeration has none.
fn is_weak(item: &Value) -> bool {
    item["summary"].as_str().is_some_and(|summary| summary.contains("(memory-order)"))
}

/// There was no time for it.
fn is_late(item: &Value) -> bool {
    let why = item["why_unconfirmed"].as_str().unwrap_or_default();
    counts(item) && why.contains("--budget")
}

fn lines(item: &Value) -> Vec<u32> {
    let accesses = item["accesses"].as_array().into_iter().flatten();
    accesses.map(|access| access["location"]["line"].as_u64().unwrap_or(0) as u32).collect()
}

fn differences(all: &Behaviours, report: &Value) -> Vec<String> {
    let mut differences = Vec::new();
    let stats = &report["stats"];
    if stats["explored_all"] != 1 {
        differences.push(format!("not explored to the end: {stats}"));
    } else if stats["explored_classes"] != all.classes.len() {
        differences.push(format!("{} classes explored, not {}", stats["explored_classes"], all.classes.len()));
    }
    let found = |kind: &'static str| items(report).filter(move |item| counts(item) && item["kind"] == kind);
    let hangs = |item: &Value| item["harm"] == "hang";
    let failures: BTreeSet<u32> =
        found("failure").filter(|item| !hangs(item)).flat_map(|item| lines(item).first().copied()).collect();
    if failures != all.failures {
        differences.push(format!("failures at {failures:?}, not {:?}", all.failures));
    }
    let races: BTreeSet<(u32, u32)> = found("race").map(pair).collect();
    let missing: Vec<_> = all.races.difference(&races).collect();
    let wrong: Vec<_> = races.difference(&all.races).collect();
    if !missing.is_empty() || !wrong.is_empty() {
        differences.push(format!("races missing: {missing:?}, wrong: {wrong:?}"));
    }
    let unconfirmed = |item: &&Value| counts(item) && item["strength"] != "confirmed" && !is_late(item);
    for item in items(report).filter(unconfirmed) {
        let why = &item["why_unconfirmed"];
        differences.push(format!("only {}: {} at {:?}: {why}", item["strength"], item["summary"], lines(item)));
    }
    // A finding names those that wait for each other; others may wait for them.
    let stuck: Vec<BTreeMap<u32, usize>> = items(report)
        .filter(|item| item["kind"] == "deadlock" || item["kind"] == "failure" && hangs(item))
        .map(|item| counted(lines(item).into_iter()))
        .collect();
    let states: Vec<BTreeMap<u32, usize>> =
        all.deadlocks.iter().map(|waiting| counted(waiting.iter().map(|wait| wait.line))).collect();
    let within = |part: &BTreeMap<u32, usize>, whole: &BTreeMap<u32, usize>| {
        part.iter().all(|(line, count)| whole.get(line).is_some_and(|there| there >= count))
    };
    for state in states.iter().filter(|state| !stuck.iter().any(|found| within(found, state))) {
        differences.push(format!("nobody is said to wait at {state:?} (line: threads)"));
    }
    for found in stuck.iter().filter(|found| !states.iter().any(|state| within(found, state))) {
        differences.push(format!("nobody can wait at {found:?} (line: threads)"));
    }
    differences
}

fn pair(item: &Value) -> (u32, u32) {
    let mut lines = lines(item);
    lines.sort_unstable();
    (lines.first().copied().unwrap_or(0), lines.last().copied().unwrap_or(0))
}

fn counted(lines: impl Iterator<Item = u32>) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    lines.for_each(|line| *counts.entry(line).or_insert(0) += 1);
    counts
}

/// A finding happens again, each time.
fn replays(out: &Path, item: &Value) -> Option<String> {
    let own = out.join(item["id"].to_string());
    let mut command = Command::new(REWEAVE);
    command.args(["replay", "--times", REPLAYS]).arg(own).stdin(Stdio::null());
    let done = command.output().expect("reweave");
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    let again = done.status.code() == Some(1);
    (!again).then(|| format!("{} {} does not replay ({:?}): {text}", item["kind"], item["id"], done.status.code()))
}

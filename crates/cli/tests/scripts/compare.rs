//! One program two ways: what enumerating all schedules says it can do, and what `reweave test --explore` finds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use reweave_model::{Harm, Kind, Strength};
use reweave_report::{Item, Report};
use reweave_script::language::parse;
use reweave_script::testing::enumerate::{Behaviours, enumerate};

use crate::common::REWEAVE;

/// States that are enumerated.
const STATES: usize = 60_000;
/// For one program. It is over long before that; where it is not, that is a difference.
const BUDGET: &str = "60s";
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
    let out = folder.join("out");
    let began = Instant::now();
    let words = ["test", "--explore", "--budget", BUDGET, "--jobs", "1", "-o"];
    let told = Command::new(REWEAVE).args(words).arg(&out).arg("--").arg(&script).stdin(Stdio::null()).output();
    let told = told.expect("reweave");
    let took = began.elapsed();
    let report = fs::read_to_string(out.join("report.json")).unwrap_or_default();
    let Ok(report) = Report::from_json(&report) else {
        let difference = format!("no report: {}", String::from_utf8_lossy(&told.stderr));
        return Some(Compared { differences: vec![difference], took, ..Compared::default() });
    };
    let mut compared = Compared {
        failures: all.failures.len(),
        deadlocks: all.deadlocks.len(),
        races: all.races.len(),
        classes: all.classes.len(),
        states: all.states,
        took,
        ..Compared::default()
    };
    compared.differences = differences(&all, &report);
    if !compared.differences.iter().all(|difference| difference.contains("explored")) {
        // What it said about itself helps to see why.
        compared.differences.push(String::from_utf8_lossy(&told.stderr).into_owned());
    }
    for item in report.findings.iter().filter(|item| item.schedule.is_some()) {
        compared.replays += 1;
        compared.differences.extend(replays(&out, item));
    }
    Some(compared)
}

fn differences(all: &Behaviours, report: &Report) -> Vec<String> {
    let mut differences = Vec::new();
    let stat = |name: &str| report.stats.get(name).copied().unwrap_or(0);
    if stat("explored_all") != 1 {
        differences.push(format!("not explored to the end: {:?}", report.stats));
    } else if stat("explored_classes") != all.classes.len() as u64 {
        let (found, classes) = (stat("explored_classes"), all.classes.len());
        differences.push(format!("{found} classes explored, not {classes}"));
    }
    let found = |kind: Kind| report.findings.iter().filter(move |item| item.kind == kind);
    let line_of = |item: &Item| item.accesses.first().map_or(0, |access| access.location.line);
    let is_hang = |item: &Item| item.harm == Some(Harm::Hang);
    let failures: BTreeSet<u32> = found(Kind::Failure).filter(|item| !is_hang(item)).map(line_of).collect();
    if failures != all.failures {
        differences.push(format!("failures at {failures:?}, not {:?}", all.failures));
    }
    let races: BTreeSet<(u32, u32)> = found(Kind::Race).map(|item| pair(item)).collect();
    if races != all.races {
        let missing: Vec<_> = all.races.difference(&races).collect();
        let wrong: Vec<_> = races.difference(&all.races).collect();
        differences.push(format!("races missing: {missing:?}, wrong: {wrong:?}"));
    }
    for item in report.findings.iter().filter(|item| [Kind::Race, Kind::Deadlock, Kind::Failure].contains(&item.kind)) {
        if item.strength != Strength::Confirmed {
            let why = item.why_unconfirmed.as_deref().unwrap_or("");
            differences.push(format!("only {}: {} {}: {why}", item.strength, item.kind, item.summary));
        }
    }
    // A finding names those that wait for each other; others may wait for them.
    let stuck: Vec<BTreeMap<u32, usize>> = report
        .findings
        .iter()
        .filter(|item| item.kind == Kind::Deadlock || item.kind == Kind::Failure && is_hang(item))
        .map(|item| counted(item.accesses.iter().map(|access| access.location.line)))
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

fn pair(item: &Item) -> (u32, u32) {
    let mut lines: Vec<u32> = item.accesses.iter().map(|access| access.location.line).collect();
    lines.sort_unstable();
    (lines.first().copied().unwrap_or(0), lines.last().copied().unwrap_or(0))
}

fn counted(lines: impl Iterator<Item = u32>) -> BTreeMap<u32, usize> {
    let mut counts = BTreeMap::new();
    lines.for_each(|line| *counts.entry(line).or_insert(0) += 1);
    counts
}

/// A finding happens again, each time.
fn replays(out: &Path, item: &Item) -> Option<String> {
    let own = out.join(item.id.to_string());
    let mut command = Command::new(REWEAVE);
    command.args(["replay", "--times", REPLAYS]).arg(own).stdin(Stdio::null());
    let done = command.output().expect("reweave");
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    let again = done.status.code() == Some(1);
    (!again).then(|| format!("{} {} does not replay ({:?}): {text}", item.kind, item.id, done.status.code()))
}

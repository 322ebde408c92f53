//! Random programs in Java: nothing that is called proved is contradicted by one of their executions.

mod language;
mod machine;
mod programs;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use reweave_report::determinism::{Determinism, Verdict};
use reweave_statics::java::answer;
use reweave_statics::question::{Question, requirement};

use machine::{LeftOut, Machine, Observed};

/// Programs that a plain test run looks at; `REWEAVE_STATICS_PROGRAMS` asks for more, `REWEAVE_STATICS_SEED` for
/// others.
fn seeds(usual: u64) -> std::ops::Range<u64> {
    let ask = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let first = ask("REWEAVE_STATICS_SEED").unwrap_or(0);
    first..first + ask("REWEAVE_STATICS_PROGRAMS").unwrap_or(usual)
}

/// How often something was proved, of how often it is true.
#[derive(Default, Debug)]
struct Looked {
    programs: usize,
    too_large: usize,
    throw: usize,
    never_end: usize,
    outputs: [usize; 2],
    locations: [usize; 2],
    /// Locations that do differ, of those that are said to.
    differ: [usize; 2],
    races: [usize; 2],
}

const BATCH: usize = 200;

#[test]
fn executions_of_java_programs_contradict_nothing_that_is_proved() {
    let mut looked = Looked::default();
    let mut batch: Vec<(u64, String, Observed)> = Vec::new();
    for seed in seeds(300) {
        let program = programs::program(seed);
        match Machine::new(&program).run(60_000) {
            Err(LeftOut::TooLarge) => looked.too_large += 1,
            Err(LeftOut::Throws) => looked.throw += 1,
            Ok(observed) if observed.ends == 0 => looked.never_end += 1,
            Ok(observed) => batch.push((seed, language::java(&program, &format!("P{seed}")), observed)),
        }
        if batch.len() == BATCH && !look(&std::mem::take(&mut batch), &mut looked) {
            eprintln!("SKIPPED executions_of_java_programs_contradict_nothing_that_is_proved: no JDK (javac)");
            return;
        }
    }
    look(&batch, &mut looked);
    println!("{looked:?}");
}

/// Whether there is a JDK.
fn look(batch: &[(u64, String, Observed)], looked: &mut Looked) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |seed: &u64| folder.path().join(format!("P{seed}.java"));
    batch.iter().for_each(|(seed, text, _)| fs::write(file(seed), text).expect("a file"));
    let files = batch.iter().map(|(seed, ..)| file(seed));
    let done = Command::new("javac").args(["-g", "-nowarn", "-d"]).arg(folder.path()).args(files).output();
    let Ok(done) = done else { return false };
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let mut wrong = Vec::new();
    for (seed, text, observed) in batch {
        looked.programs += 1;
        if let Err(why) = hold(folder.path(), &format!("P{seed}"), observed, looked) {
            wrong.push(format!("seed {seed}: {why}\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{} programs\n{}", wrong.len(), wrong.join("\n"));
    true
}

fn hold(folder: &Path, name: &str, observed: &Observed, looked: &mut Looked) -> Result<(), String> {
    let required = ["no-output-differs", "no-race"].map(|what| requirement(what).expect("a requirement"));
    let question = Question { main: Some(name.to_owned()), required: required.to_vec(), ..Question::default() };
    let classes: Vec<_> = ["", "$Worker"]
        .iter()
        .map(|inner| folder.join(format!("{name}{inner}.class")))
        .filter(|path| path.exists())
        .collect();
    let said: Determinism = answer(&classes, &question).map_err(|why| format!("{why:?}"))?;
    if observed.printed.len() == 1 {
        looked.outputs[1] += 1;
    }
    if said.required[0].verdict == Verdict::Proved {
        looked.outputs[0] += 1;
        if observed.printed.len() > 1 {
            return Err(format!("the output is proved the same, but {:?}", observed.printed));
        }
    }
    if observed.races.is_empty() {
        looked.races[1] += 1;
    }
    if said.required[1].verdict == Verdict::Proved {
        looked.races[0] += 1;
        if !observed.races.is_empty() {
            return Err(format!("no race is proved, but {:?}", observed.races));
        }
    }
    let mut verdicts: BTreeMap<&str, Verdict> = BTreeMap::new();
    for item in &said.locations {
        let known = verdicts.entry(&item.name).or_default();
        *known = (*known).max(item.verdict);
    }
    for (location, ways) in &observed.by_location {
        let Some(verdict) = verdicts.get(format!("{name}.{location}").as_str()) else { continue };
        // Whether what does not change any more is read may depend on a choice.
        if !observed.changed.contains(location) {
            continue;
        }
        looked.locations[1] += usize::from(ways.len() == 1);
        if *verdict == Verdict::CanDiffer {
            looked.differ[0] += usize::from(ways.len() > 1);
            looked.differ[1] += 1;
        }
        if *verdict == Verdict::Proved {
            looked.locations[0] += 1;
            if ways.len() > 1 {
                let two: Vec<_> = ways.iter().take(2).collect();
                return Err(format!("{location} is proved the same, but {two:?}"));
            }
        }
    }
    Ok(())
}

//! Java programs with the verdicts that their last lines name; programs whose values differ must never be proved.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use reweave_report::determinism::{self, Determinism, OutputItem, TextOptions, Verdict, Why};
use reweave_statics::java::{NoAnswer, answer};
use reweave_statics::question::{Question, requirement};

fn programs(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/java").join(folder)
}

/// A folder with the class files of all programs of a folder; none without a JDK.
fn compiled(test: &str, folder: &str) -> Option<tempfile::TempDir> {
    let out = tempfile::tempdir().expect("a folder");
    let files = fs::read_dir(programs(folder)).expect("programs").flatten().map(|file| file.path());
    let files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|ending| ending == "java")).collect();
    let javac =
        Command::new("javac").args(["-g", "-nowarn", "-encoding", "UTF-8", "-d"]).arg(out.path()).args(files).output();
    match javac {
        Err(_) => {
            eprintln!("SKIPPED {test}: no JDK (javac)");
            None
        }
        Ok(done) => {
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            Some(out)
        }
    }
}

fn ask(classes: &Path, main: &str) -> Determinism {
    let question = Question { main: Some(main.to_owned()), ..Question::default() };
    answer(&[classes.to_owned()], &question).unwrap_or_else(|why| panic!("{main}: {why:?}"))
}

/// The worst verdict for each name.
fn verdicts(determinism: &Determinism) -> BTreeMap<&str, Verdict> {
    let mut all: BTreeMap<&str, Verdict> = BTreeMap::new();
    for item in &determinism.locations {
        let known = all.entry(&item.name).or_default();
        *known = (*known).max(item.verdict);
    }
    all
}

const WORDS: [(&str, Verdict); 3] =
    [("proved", Verdict::Proved), ("can differ", Verdict::CanDiffer), ("unknown", Verdict::Unknown)];

#[test]
fn verdicts_are_those_that_programs_name() {
    let Some(classes) = compiled("verdicts_are_those_that_programs_name", "determinism") else { return };
    let (mut looked, mut wrong) = (0, Vec::new());
    for file in fs::read_dir(programs("determinism")).expect("programs").flatten() {
        let name = file.file_name().to_string_lossy().trim_end_matches(".java").to_owned();
        let text = fs::read_to_string(file.path()).expect("a program");
        let determinism = ask(classes.path(), &name);
        let verdicts = verdicts(&determinism);
        for line in text.lines().filter_map(|line| line.strip_prefix("// ")) {
            let Some((word, names)) = line.split_once(": ") else { continue };
            if word == "threads" && names != determinism.threads.len().to_string() {
                wrong.push(format!("{name}: threads: {:?}", determinism.threads));
            }
            // Of one output, like the exit status, or of all.
            if let Some(of) = word.strip_prefix("output") {
                let of = of.strip_prefix(" of ");
                let is_meant = |output: &&OutputItem| of.is_none_or(|name| output.at.file == name);
                let all = determinism.outputs.iter().filter(is_meant);
                let worst = all.map(|output| output.verdict).max().unwrap_or_default();
                let expected = WORDS.iter().find(|(word, _)| *word == names).expect("a verdict").1;
                // What depends on unknown code may be called either.
                let unknown = expected == Verdict::Unknown && worst == Verdict::CanDiffer;
                if worst != expected && !unknown {
                    wrong.push(format!("{name}: output: {:?}", determinism.outputs));
                }
                looked += 1;
                continue;
            }
            let Some((_, expected)) = WORDS.iter().find(|(known, _)| *known == word) else { continue };
            for location in names.split(", ") {
                if verdicts.get(location) != Some(expected) {
                    wrong.push(format!(
                        "{name}: {location}: {verdicts:?}, not understood {:?}",
                        determinism.not_understood
                    ));
                }
                looked += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(looked > 30, "{looked}");
}

/// Programs with a data race are never proved to have none, and those that fail now and then never proved to end and
/// print the same.
#[test]
fn what_races_or_fails_is_never_proved() {
    let Some(classes) = compiled("what_races_or_fails_is_never_proved", "golden") else { return };
    let mut looked = [0, 0];
    for file in fs::read_dir(programs("golden")).expect("programs").flatten() {
        let name = file.file_name().to_string_lossy().trim_end_matches(".java").to_owned();
        let text = fs::read_to_string(file.path()).expect("a program");
        let says = |kind: &str| text.lines().any(|line| line.starts_with(kind));
        if text.contains("in every run. */") {
            // Nothing differs then.
            continue;
        }
        let kinds = [("/** race:", "no-race"), ("/** failure:", "no-output-differs")];
        for (at, (_, what)) in kinds.into_iter().enumerate().filter(|(_, (kind, _))| says(kind)) {
            let required = vec![requirement(what).expect("a requirement")];
            let question = Question { main: Some(name.clone()), required, ..Question::default() };
            let determinism = answer(&[classes.path().to_owned()], &question).unwrap_or_else(|why| panic!("{why:?}"));
            assert_ne!(determinism.required[0].verdict, Verdict::Proved, "{name}: {what} is proved");
            looked[at] += 1;
        }
    }
    assert!(looked[0] >= 10 && looked[1] >= 10, "{looked:?}");
}

/// A class that was not given may do anything to its fields: nothing about them is proved, and it is said.
#[test]
fn fields_of_classes_that_are_not_there_are_unknown() {
    let Some(classes) = compiled("fields_of_classes_that_are_not_there_are_unknown", "determinism") else { return };
    fs::remove_file(classes.path().join("Elsewhere.class")).expect("a class");
    let required = vec![requirement("no-race").expect("a requirement")];
    let question = Question { main: Some("UsesElsewhere".to_owned()), required, ..Question::default() };
    let determinism = answer(&[classes.path().to_owned()], &question).unwrap_or_else(|why| panic!("{why:?}"));
    assert_ne!(determinism.required[0].verdict, Verdict::Proved);
    assert_eq!(verdicts(&determinism)["UsesElsewhere.found"], Verdict::Unknown);
    assert!(determinism.not_understood.iter().any(|item| item.what.contains("Elsewhere")), "{determinism:?}");
}

#[test]
fn requirements_are_judged() {
    let Some(classes) = compiled("requirements_are_judged", "determinism") else { return };
    let judge = |main: &str, what: &str| {
        let required = vec![requirement(what).expect("a requirement")];
        let question = Question { main: Some(main.to_owned()), required, ..Question::default() };
        answer(&[classes.path().to_owned()], &question).map(|determinism| determinism.required[0].verdict)
    };
    assert_eq!(judge("Report", "deterministic:Report.total"), Ok(Verdict::Proved));
    assert_eq!(judge("Report", "deterministic:Report.*"), Ok(Verdict::CanDiffer));
    assert_eq!(judge("Report", "no-output-differs"), Ok(Verdict::Proved));
    assert_eq!(judge("Account", "no-race"), Ok(Verdict::Proved));
    assert_eq!(judge("OwnLocks", "no-race"), Ok(Verdict::CanDiffer));
    assert_eq!(judge("Reflection", "deterministic:Reflection.touched"), Ok(Verdict::Unknown));
    assert!(matches!(judge("Report", "deterministic:Report.nothing"), Err(NoAnswer::Usage(_))));
    let none = answer(&[classes.path().to_owned()], &Question::default());
    assert!(matches!(none, Err(NoAnswer::Usage(_))), "which of many mains");
}

/// Class files that are cut off or changed: an answer or an error, never a panic.
#[test]
fn broken_class_files_are_no_panic() {
    let Some(classes) = compiled("broken_class_files_are_no_panic", "determinism") else { return };
    let good = fs::read(classes.path().join("Report$Worker.class")).expect("a class");
    let broken = tempfile::tempdir().expect("a folder");
    let report = classes.path().join("Report.class");
    let question = Question { main: Some("Report".to_owned()), ..Question::default() };
    let path = broken.path().join("Worker.class");
    let mut state = 7u64;
    for round in 0..400 {
        let mut bytes = good.clone();
        if round % 4 == 0 {
            bytes.truncate(good.len() * round / 400);
        } else {
            for _ in 0..1 + round % 3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (state >> 33) as usize % bytes.len();
                bytes[at] = (state >> 20) as u8;
            }
        }
        fs::write(&path, bytes).expect("a file");
        let _ = answer(&[report.clone(), path.clone()], &question);
    }
}

/// What derives from a choice names it: the words of the lines `why of` in the programs are printed for that location.
#[test]
fn reads_that_depend_on_a_choice_name_it() {
    let Some(classes) = compiled("reads_that_depend_on_a_choice_name_it", "determinism") else { return };
    let (mut looked, mut wrong, mut unnamed) = (0, Vec::new(), Vec::new());
    for file in fs::read_dir(programs("determinism")).expect("programs").flatten() {
        let name = file.file_name().to_string_lossy().trim_end_matches(".java").to_owned();
        let text = fs::read_to_string(file.path()).expect("a program");
        let determinism = ask(classes.path(), &name);
        let reads = determinism.locations.iter().flat_map(|item| item.reads.iter().map(move |read| (item, read)));
        for (item, read) in reads.filter(|(_, read)| read.why == Why::Derived && read.derived.is_none()) {
            unnamed.push(format!("{name}: {}: {read:?}", item.name));
        }
        for line in text.lines().filter_map(|line| line.strip_prefix("// why of ")) {
            let (location, words) = line.split_once(": ").expect("a location and words");
            let mut printed = Vec::new();
            let shown = TextOptions { all: true, explain: (location != "output").then(|| location.to_owned()) };
            determinism::write(&determinism, &shown, &mut printed).expect("memory");
            let printed = String::from_utf8(printed).expect("text");
            let start = if location == "output" { "OUTPUT" } else { "why" };
            let is_meant = |line: &str| line.trim_start().starts_with(start) && line.ends_with(&format!("   {words}"));
            if !printed.lines().any(is_meant) {
                wrong.push(format!("{name}: {location}: {words}\n{printed}"));
            }
            looked += 1;
        }
    }
    assert!(wrong.is_empty() && unnamed.is_empty(), "{}\n{}", wrong.join("\n"), unnamed.join("\n"));
    assert!(looked >= 6, "{looked}");
}

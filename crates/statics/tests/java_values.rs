//! Values of Java programs, weak determinism and the paper's own rule: the golden numbers, and the table of what the
//! paper leaves open, by both rules. The last lines of the programs say what is expected.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use reweave_report::determinism::{Determinism, Verdict};
use reweave_statics::domain::value::{Domain, Precision};
use reweave_statics::java::{Effort, Told, answer, levels};
use reweave_statics::question::{Question, Rule, partition};

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/java/values")
}

struct Asked {
    classes: PathBuf,
    main: String,
}

impl Asked {
    fn question(&self, rule: Rule, weak: Option<&str>) -> Question {
        let weak = weak.map(|text| partition(text).expect("a partition"));
        Question { main: Some(self.main.clone()), rule, weak, ..Question::default() }
    }

    fn said(&self, rule: Rule, weak: Option<&str>) -> Determinism {
        let question = self.question(rule, weak);
        answer(std::slice::from_ref(&self.classes), &question).unwrap_or_else(|why| panic!("{}: {why:?}", self.main))
    }

    fn told(&self, precision: Precision, patience: u8) -> Told {
        let question = self.question(Rule::Sources, None);
        // Widening at once goes all the way.
        let effort = Effort { domain: Domain { precision, wraps: true }, patience, thresholds: patience > 1 };
        let told = levels(std::slice::from_ref(&self.classes), &question, effort);
        let told = told.unwrap_or_else(|why| panic!("{}: {why:?}", self.main));
        assert_eq!(told.lacking, 0, "{}: equations do not hold", self.main);
        told
    }

    /// What is said instead of a line.
    fn instead(&self, what: &str, line: &str) -> Option<String> {
        if what == "rounds" {
            let rounds = self.told(Precision::Intervals, 4).rounds.to_string();
            return (rounds != line).then_some(rounds);
        }
        let (location, rest) = line.split_once(' ').expect("a location");
        let verdict = |rule: Rule| {
            let said = self.said(rule, None);
            let item = said.locations.into_iter().find(|item| item.name == location);
            match item.map(|item| item.verdict) {
                Some(Verdict::Proved) => "proved",
                Some(Verdict::CanDiffer) => "can differ",
                Some(Verdict::Unknown) => "unknown",
                None => "not there",
            }
        };
        let weak = |rule: Rule, by: &str| {
            let said = self.said(rule, Some(by));
            let item = said.locations.into_iter().find(|item| item.name == location);
            match item.and_then(|item| item.weak) {
                Some(true) => "yes",
                Some(false) => "no",
                None => "not said",
            }
        };
        let written = |precision: Precision, patience: u8| {
            let told = self.told(precision, patience);
            let all = told.locations.get(location).map(|one| one.writes.clone()).unwrap_or_default();
            all.iter().map(|(by, value)| format!("{by} {value}")).collect::<Vec<_>>().join(", ")
        };
        let together = |precision: Precision| self.told(precision, 4).locations[location].both.clone();
        let said = match what.split_once(' ') {
            _ if what == "sources" => verdict(Rule::Sources).to_owned(),
            _ if what == "paper" => verdict(Rule::Paper).to_owned(),
            _ if what == "intervals" => written(Precision::Intervals, 4),
            _ if what == "signs" => written(Precision::Signs, 4),
            _ if what == "hasty" => {
                let (by, from) = rest.split_once(' ').expect("a thread");
                let all = written(Precision::Intervals, 1);
                let found = all.contains(&format!("{by} [{from}..")) || all.contains(&format!("{by} any number"));
                return (!found).then_some(all);
            }
            _ if what == "sees" => {
                let said = self.said(Rule::Sources, None);
                let item = said.locations.into_iter().find(|item| item.name == location);
                let read = item.and_then(|item| item.reads.into_iter().find(|read| !read.is_end));
                read.and_then(|read| read.sees).unwrap_or_default()
            }
            Some(("intervals", "together")) => together(Precision::Intervals),
            Some(("signs", "together")) => together(Precision::Signs),
            Some(("weak", by)) => match by.strip_suffix(" by paper") {
                Some(by) => weak(Rule::Paper, by).to_owned(),
                None => weak(Rule::Sources, by).to_owned(),
            },
            _ => panic!("{what}"),
        };
        (said != rest).then_some(said)
    }
}

#[test]
fn values_and_both_rules_are_as_programs_say() {
    let out = tempfile::tempdir().expect("a folder");
    let files: Vec<PathBuf> = fs::read_dir(programs()).expect("programs").flatten().map(|file| file.path()).collect();
    let mut javac = Command::new("javac");
    javac.args(["-g", "-nowarn", "-encoding", "UTF-8", "-d"]).arg(out.path()).args(&files);
    match javac.output() {
        Err(_) => return eprintln!("SKIPPED values_and_both_rules_are_as_programs_say: no JDK (javac)"),
        Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr)),
    }
    let (mut looked, mut wrong) = (0, Vec::new());
    for file in &files {
        let main = file.file_stem().expect("a name").to_string_lossy().into_owned();
        let asked = Asked { classes: out.path().to_owned(), main };
        let text = fs::read_to_string(file).expect("a program");
        for line in text.lines().filter_map(|line| line.strip_prefix("// ")) {
            let (what, rest) = line.split_once(": ").expect("what is expected");
            if let Some(said) = asked.instead(what, rest) {
                wrong.push(format!("{}: {what}: {rest}: it says {said}", asked.main));
            }
            looked += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(looked > 40, "{looked}");
}

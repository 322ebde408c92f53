//! Every golden program through `reweave test`: what is wrong in the `_bad` ones is made to happen, of the right kind
//! and at the right lines, and replays; nothing is said against the `_ok` ones.
//!
//! A normal run takes a sample. `REWEAVE_SURVEY=REPLAYS[,TEXT]` (`cargo xtask survey`) takes every program whose name
//! has that text, replays each confirmed finding so often, and prints what it took.

mod bugs;
mod claims;
#[path = "../common/mod.rs"]
mod common;
mod numbers;
mod run;
mod story;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use claims::{Evidence, Explained};
use common::Scratch;
use common::golden::{GCC, Program, folders, programs};
use common::run::run_with;
use reweave_trace::Trace;
use run::Ran;
use serde_json::Value;

/// For one program, in seconds.
const BUDGET: u64 = 10;
/// A normal run takes one of so many …
const SAMPLE: usize = 40;
/// … and one of so many until the first failure only, to read back what is said of it.
const READ_BACK: usize = 17;
/// On a machine so busy that no budget is kept.
const LIMIT: Duration = Duration::from_secs(120);

#[derive(Default)]
struct Survey {
    bad: u32,
    confirmed: u32,
    ok: u32,
    replays: u32,
    /// Stories that were compared with the runs they tell of.
    stories: u32,
    /// Runs that it took to confirm a finding, and preemptions that were left.
    attempts: Vec<u64>,
    preemptions: Vec<u64>,
    /// Seconds beyond the budget.
    over: f64,
    complaints: Vec<String>,
}

/// Lines of the program itself that an access stands for: its own, or those of the calls it was made in.
fn lines(access: &Value, file: &str) -> BTreeSet<u64> {
    let stack = access["stack"].as_array().into_iter().flatten();
    let own = |place: &&Value| place["file"].as_str().is_some_and(|path| path.ends_with(file));
    std::iter::once(&access["location"]).chain(stack).filter(own).filter_map(|place| place["line"].as_u64()).collect()
}

/// Whether a finding is about what the header says.
fn fits(finding: &Value, program: &Program) -> bool {
    let file = program.path.file_name().and_then(|name| name.to_str()).expect("a name");
    let accesses = finding["accesses"].as_array().expect("a list");
    let wanted: BTreeSet<u64> = program.lines.iter().copied().collect();
    // Whoever waits for a thread that is stuck is only a consequence.
    let follows = |access: &Value| access["op"].as_str().is_some_and(|op| op.starts_with("wait for the end of"));
    let is_meant = |access: &Value| !lines(access, file).is_disjoint(&wanted);
    let meant = accesses.iter().any(is_meant) && accesses.iter().all(|one| is_meant(one) || follows(one));
    finding["kind"].as_str() == Some(&program.kind) && (wanted.is_empty() || meant)
}

impl Survey {
    /// `whole`: all that is wrong is to be found; otherwise the first failure will do.
    fn try_out(&mut self, program: &Program, replays: u32, whole: bool) {
        let scratch = Scratch::new("survey");
        let name = program.name();
        let built = match program.build(&scratch, GCC, "-O1") {
            Ok(built) => built,
            Err(why) => return self.complaints.push(why),
        };
        let budget = format!("{BUDGET}s");
        let command = scratch.reweave(["test", "-o", "out", "--budget", &budget, "--"]);
        let quick = scratch.reweave(["test", "-o", "out", "--fail-fast", "--budget", &budget, "--"]);
        let mut command = if whole { command } else { quick };
        command.arg(&built);
        let began = Instant::now();
        let done = run_with(&mut command, program.stdin.as_deref(), LIMIT);
        let took = began.elapsed().as_secs_f64();
        self.over = self.over.max(took - BUDGET as f64);
        let report = fs::read_to_string(scratch.join("out/report.json")).unwrap_or_default();
        let Ok(report) = serde_json::from_str::<Value>(&report) else {
            return self.complaints.push(format!("{name}: no report: {done:?}"));
        };
        let findings = report["findings"].as_array().expect("a list");
        let wrong = numbers::complaints(&done.stderr, &report);
        self.complaints.extend(wrong.into_iter().map(|wrong| format!("{name}: untrue: {wrong}")));
        let strong = |finding: &&Value| finding["strength"] != "potential" && finding["kind"] != "nondeterminism";
        if program.is_ok() {
            self.ok += 1;
            for finding in findings.iter().filter(strong) {
                self.complaints.push(format!("{name}: {} {}", finding["strength"], finding["summary"]));
            }
            println!("survey {name}: {took:.1} s");
            return;
        }
        self.bad += u32::from(whole);
        let confirmed = || findings.iter().filter(|finding| finding["strength"] == "confirmed");
        let folders = confirmed().map(|finding| scratch.join(&format!("out/{}", finding["id"])));
        let runs: Vec<(Ran, Trace)> =
            folders.flat_map(|folder| traces(&folder)).map(|trace| (Ran::of(&trace), trace)).collect();
        let mut again = 0;
        for finding in confirmed() {
            let (times, what) = (replays.to_string(), format!("out/{}", finding["id"]));
            // As long as it takes: endless ones are ended by us.
            let done = run_with(&mut scratch.reweave(["replay", "--times", &times, &what]), None, LIMIT * 10);
            if done.code == Some(1) {
                again += replays;
            } else {
                self.complaints.push(format!("{name}: {}: replay: {}", finding["summary"], done.stderr.trim()));
            }
            self.read_back(&scratch, &what, &name, &runs);
        }
        self.replays += again;
        if !whole {
            println!("survey {name}: {took:.1} s, until the first failure");
            return;
        }
        let meant: Vec<&Value> = confirmed().filter(|finding| fits(finding, program)).collect();
        let attempts: Vec<u64> = meant.iter().filter_map(|finding| finding["tries"]["first"].as_u64()).collect();
        let preemptions: Vec<u64> = meant.iter().filter_map(|finding| finding["preemptions"].as_u64()).collect();
        println!("survey {name}: {took:.1} s, {} meant, tries {attempts:?}, preemptions {preemptions:?}", meant.len());
        self.attempts.extend(attempts);
        self.preemptions.extend(preemptions);
        if !meant.is_empty() {
            self.confirmed += 1;
            return;
        }
        let told = |one: &Value| {
            format!("\n    {} {} {}: {}", one["strength"], one["kind"], one["summary"], one["why_unconfirmed"])
        };
        let found: String = findings.iter().map(told).collect();
        self.complaints.push(format!("{name}: not confirmed as {} {:?}{found}", program.kind, program.lines));
    }

    /// What is said of a finding against the runs that it is said of.
    fn read_back(&mut self, scratch: &Scratch, what: &str, name: &str, others: &[(Ran, Trace)]) {
        let text = run_with(&mut scratch.reweave(["explain", what]), None, LIMIT).stdout;
        self.stories += 1;
        let (folder, recorded) = (scratch.join(what), scratch.join("out/recording.rwt"));
        for wrong in untrue(&text, &folder, &recorded, others) {
            println!("untrue: {name}: {what}: {wrong}");
            self.complaints.push(format!("{name}: {what}: untrue: {wrong}"));
        }
    }

    fn conclude(mut self) {
        let over = self.over.max(0.0);
        println!(
            "survey: {} of {} bad programs confirmed, {} right ones, {} replays, {} stories; at most {over:.1} s over {BUDGET} s",
            self.confirmed, self.bad, self.ok, self.replays, self.stories
        );
        println!("runs to confirm: {}", spread(&mut self.attempts));
        println!("preemptions left: {}", spread(&mut self.preemptions));
        assert!(self.complaints.is_empty(), "{} complaints\n{}", self.complaints.len(), self.complaints.join("\n"));
    }
}

/// What is wrong with the text of a finding. Of several processes one has done all of it.
fn untrue(text: &str, folder: &Path, recorded: &Path, others: &[(Ran, Trace)]) -> Vec<String> {
    let explained = Explained::new(text);
    let recorded = Trace::open(recorded).ok().map(|trace| Ran::of(&trace));
    let of = |trace: Trace| {
        let ran = Ran::of(&trace);
        let mut wrong = ran.complaints(explained.section(claims::HAPPENS));
        let output = folder.join("output.txt");
        let evidence = Evidence { failing: (&ran, &trace), recorded: recorded.as_ref(), others, output: &output };
        wrong.extend(evidence.complaints(&explained));
        wrong
    };
    traces(folder).map(of).min_by_key(Vec::len).unwrap_or_else(|| vec!["there is no run that did it".into()])
}

/// The traces in the folder of a finding.
fn traces(folder: &Path) -> impl Iterator<Item = Trace> + use<> {
    fs::read_dir(folder).expect("a folder").filter_map(|entry| Trace::open(entry.ok()?.path()).ok())
}

fn spread(numbers: &mut [u64]) -> String {
    numbers.sort_unstable();
    let at = |percent: usize| numbers.get((numbers.len() * percent / 100).min(numbers.len().saturating_sub(1)));
    format!("median {:?}, 95 % {:?}, most {:?}, of {}", at(50), at(95), numbers.last(), numbers.len())
}

/// The samples of the report's forms: a finding of each kind, without a run.
#[test]
fn what_is_said_of_the_samples_is_so() {
    let samples = common::root().join("tests/reports");
    let mut read = 0;
    for sample in fs::read_dir(&samples).expect("the samples").flatten() {
        let folder = sample.path().join("1");
        if !folder.is_dir() {
            continue;
        }
        let mut explain = std::process::Command::new(common::REWEAVE);
        let text = run_with(explain.args(["explain", "./1"]).current_dir(sample.path()), None, LIMIT).stdout;
        let wrong = untrue(&text, &folder, &sample.path().join("recording.rwt"), &[]);
        assert!(wrong.is_empty(), "{}: {wrong:#?}\n{text}", sample.path().display());
        read += 1;
    }
    assert!(read >= 5, "{read} samples");
}

/// A sentence that is not so is found, whichever it is.
#[test]
fn what_is_not_so_is_found() {
    let folder = common::root().join("tests/reports/race");
    let mut explain = std::process::Command::new(common::REWEAVE);
    let text = run_with(explain.args(["explain", "./1"]).current_dir(&folder), None, LIMIT).stdout;
    let wrong = |text: &str| untrue(text, &folder.join("1"), &folder.join("recording.rwt"), &[]);
    assert_eq!(wrong(&text), Vec::<String>::new(), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    // Numbers of lines, values, threads and steps are all checked: another one is noticed, wherever it stands.
    let told = |line: &&str| {
        let words = line.trim();
        !words.is_empty()
            && !words.starts_with('[')
            && !words.starts_with("replay: ")
            && !words.contains(": do all of it")
    };
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| told(line)) {
        let Some(changed) = another(line) else { continue };
        let mut all: Vec<&str> = lines.clone();
        all[at] = &changed;
        assert!(!wrong(&all.join("\n")).is_empty(), "nobody noticed: {changed}");
    }
}

/// The line with its last number another one, or with another verb.
fn another(line: &str) -> Option<String> {
    let verbs = [
        ("holds no lock", "holds door"),
        ("holding no lock", "holding door (taken at bank.c:1 f)"),
        (" normally", " with status 9"),
    ];
    if let Some((one, other)) = verbs.iter().find(|(one, _)| line.contains(one)) {
        return Some(line.replacen(one, other, 1));
    }
    let end = line.rfind(|letter: char| letter.is_ascii_digit())? + 1;
    let start = line[..end].rfind(|letter: char| !letter.is_ascii_digit())? + 1;
    let number: u64 = line[start..end].parse().ok()?;
    Some(format!("{}{}{}", &line[..start], number + 3, &line[end..]))
}

#[test]
fn survey() {
    let asked = std::env::var("REWEAVE_SURVEY").ok();
    let (replays, text) = match asked.as_deref().map(|asked| asked.split_once(',').unwrap_or((asked, ""))) {
        Some((replays, text)) => (replays.parse().expect("a number of replays"), text),
        None => (2, ""),
    };
    let all: Vec<Program> = folders().iter().flat_map(|folder| programs(folder)).collect();
    let mut survey = Survey::default();
    for (index, program) in all.iter().enumerate() {
        let is_meant = (program.is_ok() || program.is_bad()) && program.name().contains(text);
        let whole = asked.is_some() || index % SAMPLE == 0;
        if is_meant && (whole || program.is_bad() && index % READ_BACK == 0) {
            survey.try_out(program, replays, whole);
        }
    }
    survey.conclude();
}

//! What a run came to, for people: how it ended and what it said, and how bad that is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use reweave_model::{Harm, TurningPoint};
use reweave_predict::endings::{self, Freed};
use reweave_report::describe;
use reweave_trace::{Language, Outcome, Trace};

use crate::replay::same_outcome;
use reweave_launch::Result;

/// The longest message of a program that is shown.
const MESSAGE: usize = 200;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ending {
    pub outcome: Outcome,
    pub harm: Harm,
    pub text: String,
    /// What it turned on, if something went wrong.
    pub turn: Option<TurningPoint>,
}

impl Ending {
    /// How it ended, if nobody ended it.
    pub fn by_itself(&self) -> Option<Outcome> {
        let ended = matches!(self.outcome, Outcome::Exited { .. } | Outcome::Signalled { .. } | Outcome::Hung);
        ended.then(|| self.outcome.clone())
    }

    pub fn is_harmless(&self) -> bool {
        self.harm == Harm::Nothing
    }

    /// Whether it fails as the program does anyway: then nothing of it comes from what this run did.
    pub fn is_as_ever(&self, normal: &NormalBehaviour) -> bool {
        matches!(self.harm, Harm::Crash | Harm::Hang) && same_outcome(&self.outcome, &normal.outcome)
    }

    /// `output`: what the run printed; `normal`: what it prints when nothing goes wrong, and how that ends.
    pub fn of(trace: &Trace, outcome: &Outcome, output: &Path, normal: Option<&NormalBehaviour>) -> Result<Self> {
        let printed = fs::read(output).unwrap_or_default();
        let mut text = match outcome {
            Outcome::Unknown => "did not end in time".into(),
            outcome => describe::outcome(outcome).unwrap_or_else(|| describe::NORMALLY.into()),
        };
        // One that had to be ended can be very long.
        let freed = if *outcome == Outcome::Unknown { None } else { Freed::of(trace)?.or(Freed::lock_of(trace)?) };
        let fails = matches!(outcome, Outcome::Signalled { .. } | Outcome::Exited { status: 1.. });
        if let Some(message) = message(&printed, trace.language()).filter(|_| fails) {
            text = format!("{text}: {message}");
        }
        let harm =
            match outcome {
                Outcome::Signalled { .. } => Harm::Crash,
                Outcome::Hung => Harm::Hang,
                _ if freed.is_some() => Harm::FreedMemory,
                Outcome::Exited { status } if *status != 0 => {
                    if normal.is_some_and(|normal| normal.outcome == *outcome) { Harm::Nothing } else { Harm::Status }
                }
                _ => Harm::Nothing,
            };
        if let Some(freed) = freed {
            text = format!("{text}; it {}", freed_text(freed.twice));
        }
        let difference = normal.and_then(|normal| normal.difference(&printed));
        if harm == Harm::Status
            && let Some(line) = &difference
            && !text.contains(line.as_str())
        {
            text = format!("{text}; it printed something else: {line}");
        }
        let (harm, text) = match difference {
            _ if harm != Harm::Nothing || normal.is_none() => (harm, text),
            Some(line) => (Harm::OtherOutput, format!("{text}; it printed something else: {line}")),
            None => (harm, format!("{text}; no visible effect")),
        };
        let wrong = harm != Harm::Nothing && *outcome != Outcome::Unknown;
        let turn = if wrong { endings::turn(trace)? } else { None };
        Ok(Self { outcome: outcome.clone(), harm, text, turn })
    }
}

/// What the program does when nothing goes wrong.
#[derive(Clone, Debug)]
pub struct NormalBehaviour {
    /// By several runs, in which threads run one after the other, in different orders.
    pub printed: Vec<Vec<u8>>,
    pub outcome: Outcome,
}

impl NormalBehaviour {
    /// A line by which this differs from all that the program prints when its threads run one after the other. The same
    /// in another order, of lines or of their pieces, is no difference: who prints first is nobody's bug. Where that
    /// depends on who comes first, a line has to differ from those of all of these runs; and of one that is another in
    /// every run anyway (a process id, who got which job) nothing is said.
    fn difference(&self, printed: &[u8]) -> Option<String> {
        let (first, others) = self.printed.split_first()?;
        let differences: Vec<_> = self.printed.iter().map(|usual| difference(usual, printed)).collect();
        if differences.iter().any(Option::is_none) {
            return None;
        }
        let steady = others.iter().all(|other| difference(first, other).is_none());
        if steady { differences.into_iter().next()? } else { self.beyond_all(printed) }
    }

    /// A line that comes more often than in any of the usual runs, or more seldom.
    fn beyond_all(&self, printed: &[u8]) -> Option<String> {
        let counted: Vec<_> = self.printed.iter().map(|usual| lines_of(usual)).collect();
        let count = |lines: &BTreeMap<&[u8], usize>, line: &[u8]| lines.get(line).copied().unwrap_or(0);
        // Whether all lines of this shape that the usual runs print are printed by two of them at least: then they are
        // all there are, as far as anybody knows.
        let is_known = |line: &[u8]| {
            let shape = shape_of(line);
            let alike = counted.iter().flat_map(BTreeMap::keys).filter(|other| shape_of(other) == shape);
            alike.into_iter().all(|other| counted.iter().filter(|lines| lines.contains_key(other)).count() > 1)
        };
        let now = lines_of(printed);
        let more = |line: &&&[u8]| counted.iter().all(|lines| count(lines, line) < count(&now, line));
        let fewer = |line: &&&[u8]| counted.iter().all(|lines| count(lines, line) > count(&now, line));
        if let Some(line) = now.keys().filter(more).find(|line| is_known(line)) {
            return Some(shown(line));
        }
        let missing = counted.first()?.keys().filter(fewer).find(|line| is_known(line))?;
        Some(format!("`{}` is missing", shown(missing)))
    }
}

/// How often each line comes, empty ones apart.
fn lines_of(text: &[u8]) -> BTreeMap<&[u8], usize> {
    let mut lines = BTreeMap::new();
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        *lines.entry(line).or_default() += 1;
    }
    lines
}

/// A line without its numbers, however long they are.
fn shape_of(line: &[u8]) -> Vec<u8> {
    let mut shape: Vec<u8> = line.iter().map(|byte| if byte.is_ascii_digit() { b'#' } else { *byte }).collect();
    shape.dedup_by(|one, other| *one == b'#' && *other == b'#');
    shape
}

/// The first line that is not in the usual output, or not so often, or is missing.
fn difference(usual: &[u8], printed: &[u8]) -> Option<String> {
    // The same bytes, but other lines: pieces of them in another order, unless the lines look as they do anyway.
    if bytes_of(usual) == bytes_of(printed) && shapes_of(usual) != shapes_of(printed) {
        return None;
    }
    let mut lines: BTreeMap<&[u8], i64> = BTreeMap::new();
    for line in usual.split(|byte| *byte == b'\n') {
        *lines.entry(line).or_default() += 1;
    }
    for line in printed.split(|byte| *byte == b'\n') {
        let left = lines.entry(line).or_default();
        *left -= 1;
        if *left < 0 && !line.is_empty() {
            return Some(shown(line));
        }
    }
    let missing = lines.iter().find(|(line, left)| **left > 0 && !line.is_empty());
    missing.map(|(line, _)| format!("`{}` is missing", shown(line)))
}

/// How often each byte comes.
fn bytes_of(text: &[u8]) -> [usize; 256] {
    let mut counts = [0; 256];
    text.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    counts
}

/// The lines without their numbers, sorted.
fn shapes_of(text: &[u8]) -> Vec<Vec<u8>> {
    let shape = |line: &[u8]| line.iter().map(|byte| if byte.is_ascii_digit() { b'#' } else { *byte }).collect();
    let mut shapes: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(shape).collect();
    shapes.sort_unstable();
    shapes
}

fn shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text: String = text.trim().chars().filter(|char| !char.is_control()).take(MESSAGE).collect();
    text
}

/// What a program that fails says last: mostly why.
fn message(printed: &[u8], language: &Language) -> Option<String> {
    let lines: Vec<&[u8]> = printed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let telling = |line: &&&[u8]| {
        let text = String::from_utf8_lossy(line).to_lowercase();
        language.failure_words.iter().any(|word| text.contains(word.as_str()))
    };
    lines.iter().rev().take(20).find(telling).map(|line| shown(line))
}

/// What a program did with freed memory.
pub const fn freed_text(twice: bool) -> &'static str {
    if twice { "freed memory twice" } else { "used memory that had been freed" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_always_hangs_does_not_hang_because_of_a_torn_block() {
        let hung = |outcome: Outcome| NormalBehaviour { printed: vec![Vec::new()], outcome };
        let ending = Ending { outcome: Outcome::Hung, harm: Harm::Hang, text: String::new(), turn: None };
        assert!(ending.is_as_ever(&hung(Outcome::Hung)));
        assert!(!ending.is_as_ever(&hung(Outcome::Exited { status: 0 })));
        let freed = Ending { harm: Harm::FreedMemory, ..ending };
        assert!(!freed.is_as_ever(&hung(Outcome::Hung)), "that is more than the others do");
    }

    #[test]
    fn lines_in_another_order_are_the_same() {
        let mut usual =
            NormalBehaviour { printed: vec![b"one\ntwo\n".to_vec()], outcome: Outcome::Exited { status: 0 } };
        assert_eq!(usual.difference(b"two\none\n"), None);
        assert_eq!(usual.difference(b"two\ntwo\n").as_deref(), Some("two"));
        assert_eq!(usual.difference(b"two\n").as_deref(), Some("`one` is missing"));
        let torn = NormalBehaviour { printed: vec![b"hello 0\nhello 1\n".to_vec()], ..usual.clone() };
        assert_eq!(torn.difference(b"hello hello 01\n\n"), None, "pieces in another order");
        let toggled = NormalBehaviour { printed: vec![b"left=0 right=1\n".to_vec()], ..usual.clone() };
        assert_eq!(toggled.difference(b"left=1 right=0\n").as_deref(), Some("left=1 right=0"));
        usual.printed.push(b"two\n".to_vec());
        assert_eq!(usual.difference(b"two\n"), None, "it says this or that anyway");
        assert_eq!(usual.difference(b"two\ntwo\n").as_deref(), Some("two"), "but not twice");
    }

    #[test]
    fn a_line_that_no_order_of_threads_explains() {
        let runs = |runs: &[&str]| NormalBehaviour {
            printed: runs.iter().map(|run| run.as_bytes().to_vec()).collect(),
            outcome: Outcome::Exited { status: 0 },
        };
        let account =
            runs(&["first 110\nend 120\n", "first 120\nend 120\n", "first 110\nend 120\n", "first 120\nend 120\n"]);
        assert_eq!(account.difference(b"first 120\nend 120\n"), None);
        assert_eq!(account.difference(b"first 110\nend 110\n").as_deref(), Some("end 110"));
        assert_eq!(account.difference(b"first 110\ntorn!\nend 120\n").as_deref(), Some("torn!"));
        assert_eq!(account.difference(b"first 110\n").as_deref(), Some("`end 120` is missing"));
        let pids = runs(&["pid 4711\nend 1\n", "pid 4712\nend 1\n", "pid 4713\nend 1\n"]);
        assert_eq!(pids.difference(b"pid 99999\nend 1\n"), None, "another one in every run");
        assert_eq!(pids.difference(b"pid 99999\nend 2\n").as_deref(), Some("end 2"));
    }

    #[test]
    fn what_a_program_says_last() {
        let message = |printed: &[u8]| message(printed, &Language::of_older_traces());
        let said = b"hello\nbank.c:3: main: Assertion `x' failed.\nAborted\n";
        assert_eq!(message(said).as_deref(), Some("Aborted"));
        assert_eq!(message(b"hello\na: Assertion `x' failed.\n").as_deref(), Some("a: Assertion `x' failed."));
        assert_eq!(message(b"hello\n"), None);
    }
}

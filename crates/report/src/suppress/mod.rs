//! Findings that nobody wants to hear of, and why.
//!
//! A file has one suppression per line; `#` begins a comment. Ours say what they cover and, after a colon, why:
//!
//! ```text
//! race function=log_* : the counters need not be exact
//! any file=third_party/* : reported upstream
//! race pair=bank.c:15,bank.c:24 : gone with the new ledger
//! deadlock fingerprint=92b43991cbe295bb : only at shutdown
//! ```
//!
//! Several conditions on a line must all hold. Files of ThreadSanitizer (`race:log_*`, `deadlock:…`) are read as they
//! are ([`tsan`]); what they say is kept as the reason. A suppressed finding stays in the report, with its reason, and
//! fails nothing. What is the same bug ([`related`]) goes with it.

mod pattern;
mod tsan;

use reweave_model::Kind;

use crate::data::{AccessItem, Item, Location, Report};
use crate::describe::file_name;
use crate::related;
use pattern::Glob;

/// What is wrong with a file, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    pub file: String,
    /// From 1.
    pub line: usize,
    pub what: String,
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

impl std::error::Error for Mistake {}

/// Stands for all kinds.
const ANY: &str = "any";

#[derive(Clone, PartialEq, Eq, Debug)]
struct Suppression {
    /// None: of every kind.
    kind: Option<Kind>,
    conditions: Vec<Condition>,
    reason: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Condition {
    /// An access is in it, or was called from it.
    Function(Glob),
    File(Glob),
    /// Two accesses, in either order.
    Pair(SourcePattern, SourcePattern),
    Fingerprint(String),
    /// As ThreadSanitizer means it.
    Tsan(tsan::Template),
}

/// One side of a pair: a file, a file and line, or a function.
#[derive(Clone, PartialEq, Eq, Debug)]
struct SourcePattern {
    name: Glob,
    line: Option<u32>,
}

/// All suppressions of some files.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Suppressions {
    all: Vec<Suppression>,
}

impl Suppressions {
    /// Adds those of a file, given its text.
    ///
    /// # Errors
    /// The first line that cannot be understood, or that gives no reason.
    pub fn add(&mut self, file: &str, text: &str) -> Result<(), Mistake> {
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let parsed = match tsan::template(line) {
                Some(template) => Ok(template.map(|template| template.suppression(file, number))),
                None => parse(line).map(Some),
            };
            let parsed = parsed.map_err(|what| Mistake { file: file.to_owned(), line: number, what })?;
            self.all.extend(parsed);
        }
        Ok(())
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Marks what they cover, and what is the same bug; says how many findings that are.
    pub fn apply(&self, report: &mut Report) -> usize {
        for item in &mut report.findings {
            item.suppressed = None;
        }
        // A bug goes with its strongest finding, or with any that is named by its fingerprint: which one is the
        // strongest can be another one in the next test.
        let groups = related::folded(&report.findings);
        let reason = |item: &Item| {
            let group = groups.iter().find(|group| group.items().any(|one| std::ptr::eq(one, item)))?;
            let of_bug = self.reason(group.lead).or_else(|| group.items().find_map(|one| self.by_fingerprint(one)));
            of_bug.or_else(|| self.reason(item)).map(str::to_owned)
        };
        let reasons: Vec<Option<String>> = report.findings.iter().map(reason).collect();
        let covered = reasons.iter().flatten().count();
        for (item, reason) in report.findings.iter_mut().zip(reasons) {
            item.suppressed = reason;
        }
        covered
    }

    fn by_fingerprint(&self, item: &Item) -> Option<&str> {
        let named = |one: &Suppression| one.conditions.iter().any(|on| matches!(on, Condition::Fingerprint(_)));
        self.all.iter().find(|one| named(one) && one.covers(item)).map(|one| one.reason.as_str())
    }

    fn reason(&self, item: &Item) -> Option<&str> {
        self.all.iter().find(|one| one.covers(item)).map(|one| one.reason.as_str())
    }
}

impl Suppression {
    fn covers(&self, item: &Item) -> bool {
        self.kind.is_none_or(|kind| kind == item.kind) && self.conditions.iter().all(|one| one.holds(item))
    }
}

impl Condition {
    fn holds(&self, item: &Item) -> bool {
        let any_frame = |holds: &dyn Fn(&Location) -> bool| item.accesses.iter().any(|a| a.frames().any(holds));
        match self {
            Self::Function(glob) => any_frame(&|frame| glob.matches(&frame.function)),
            Self::File(glob) => any_frame(&|frame| glob.matches_path(&frame.file)),
            Self::Pair(one, two) => {
                let at = |spot: &SourcePattern, not: Option<usize>| {
                    let here = |(i, a): &(usize, &AccessItem)| {
                        Some(*i) != not && a.through.iter().chain([&a.location]).any(|at| spot.is(at))
                    };
                    item.accesses.iter().enumerate().filter(here).map(|(i, _)| i).collect::<Vec<_>>()
                };
                at(one, None).into_iter().any(|first| !at(two, Some(first)).is_empty())
            }
            Self::Fingerprint(wanted) => item.fingerprint == *wanted,
            Self::Tsan(template) => template.covers(item),
        }
    }
}

impl SourcePattern {
    fn is(&self, location: &Location) -> bool {
        match self.line {
            Some(line) => location.line == line && self.name.matches_path(&location.file),
            None => self.name.matches(&location.function) || self.name.matches_path(&location.file),
        }
    }

    fn parse(text: &str) -> Self {
        match text.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?))) {
            Some((file, line)) => Self { name: Glob::new(file), line: Some(line) },
            None => Self { name: Glob::new(text), line: None },
        }
    }
}

/// `KIND [CONDITION]… : REASON`
fn parse(line: &str) -> Result<Suppression, String> {
    let Some((head, reason)) = line.split_once(" :").or_else(|| line.strip_suffix(':').map(|head| (head, ""))) else {
        return Err(
            "no reason: say why after a colon, as in `race function=log_* : the counters need not be exact`".into()
        );
    };
    let reason = reason.trim();
    if reason.is_empty() {
        return Err("the reason is empty: say after the colon why this needs no attention".into());
    }
    let mut words = head.split_whitespace();
    let word = words.next().unwrap_or_default();
    let kind = Kind::from_name(word);
    if kind.is_none() && word != ANY {
        let all: Vec<&str> = [ANY].into_iter().chain(Kind::ALL.iter().map(|kind| kind.name())).collect();
        return Err(format!("`{word}` is no kind of finding: begin with one of {}", all.join(", ")));
    }
    let conditions = words.map(condition).collect::<Result<Vec<_>, _>>()?;
    if conditions.is_empty() {
        return Err("nothing says which ones: add function=, file=, pair= or fingerprint= (function=* for all)".into());
    }
    Ok(Suppression { kind, conditions, reason: reason.to_owned() })
}

fn condition(word: &str) -> Result<Condition, String> {
    let wrong =
        || format!("`{word}` is no condition: use function=NAME, file=PATH, pair=PLACE,PLACE or fingerprint=HEX");
    let (key, value) = word.split_once('=').filter(|(_, value)| !value.is_empty()).ok_or_else(wrong)?;
    match key {
        "function" => Ok(Condition::Function(Glob::new(value))),
        "file" => Ok(Condition::File(Glob::new(value))),
        "fingerprint" => Ok(Condition::Fingerprint(value.to_owned())),
        "pair" => {
            let sides = value.split_once(',').filter(|(one, two)| !one.is_empty() && !two.is_empty());
            let (one, two) = sides.ok_or_else(|| {
                format!("`{word}` needs two places, as in pair=bank.c:15,bank.c:24 or pair=deposit,withdraw")
            })?;
            Ok(Condition::Pair(SourcePattern::parse(one), SourcePattern::parse(two)))
        }
        _ => Err(wrong()),
    }
}

/// Whether a path is the file that somebody named by its last parts.
fn ends_with_path(path: &str, wanted: &str) -> bool {
    path == wanted || file_name(path) == wanted || path.strip_suffix(wanted).is_some_and(|before| before.ends_with('/'))
}

#[cfg(test)]
mod tests;

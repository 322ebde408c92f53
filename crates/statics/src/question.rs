//! What is asked: requirements, partitions of values, the rule to go by.

use std::time::Duration;

use reweave_report::determinism::{Determinism, LocationItem, OutputItem, RequiredItem, Verdict};
use reweave_script::language::Test;

use crate::domain::views::Partition;
use crate::only::Only;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Rule {
    /// Sources of reads: the definitions of this crate.
    #[default]
    Sources,
    /// As published.
    Paper,
}

#[derive(Clone, Debug, Default)]
pub struct Question {
    pub rule: Rule,
    pub weak: Option<Partition>,
    pub required: Vec<Requirement>,
    /// The class whose `main` is run.
    pub main: Option<String>,
    /// Methods that others call at any time, instead of a `main`.
    pub entries: Vec<String>,
    pub only: Only,
    /// Methods of the program that are barriers.
    pub barriers: Vec<String>,
    pub context: Option<usize>,
    /// Names and texts of files with models.
    pub models: Vec<(String, String)>,
    pub budget: Option<Duration>,
    pub assumed: Vec<Assumption>,
}

/// What a user takes upon himself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Assumption {
    /// Limits of waits, of a second or more, do not run out.
    Limits,
}

/// `limits`.
pub fn assumption(text: &str) -> Result<Assumption, String> {
    match text {
        "limits" => Ok(Assumption::Limits),
        _ => Err(format!("`{text}` is nothing to assume: limits (waits of a second or more do not run out)")),
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    Deterministic(String),
    Weak(Partition, String),
    NoOutputDiffers,
    NoRace,
}

/// Something that must be proved.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    pub text: String,
    pub what: What,
}

/// `sign`, `parity`, `mod:3`, `null`, `const`, `x >= 0`.
pub fn partition(text: &str) -> Result<Partition, String> {
    let text = text.trim();
    let wrong = || format!("`{text}` is no partition: sign, parity, mod:N, null, const, or a comparison like `x >= 0`");
    match text {
        "sign" => return Ok(Partition::Sign),
        "parity" => return Ok(Partition::Parity),
        "null" => return Ok(Partition::Null),
        "const" => return Ok(Partition::Constant),
        _ => {}
    }
    if let Some(modulus) = text.strip_prefix("mod:") {
        let modulus = modulus.parse().ok().filter(|modulus| *modulus > 0);
        return modulus.map(Partition::Modulo).ok_or_else(wrong);
    }
    let tests =
        [(">=", Test::Ge), ("<=", Test::Le), ("==", Test::Eq), ("!=", Test::Ne), (">", Test::Gt), ("<", Test::Lt)];
    let (word, test) = tests.into_iter().find(|(word, _)| text.contains(word)).ok_or_else(wrong)?;
    let (left, right) = text.split_once(word).ok_or_else(wrong)?;
    if left.trim() != "x" {
        return Err(wrong());
    }
    right.trim().parse().map(|bound| Partition::Predicate(test, bound)).map_err(|_| wrong())
}

/// `deterministic:LOC`, `weak(sign):LOC`, `no-output-differs`, `no-race`.
pub fn requirement(text: &str) -> Result<Requirement, String> {
    let what = match text {
        "no-output-differs" => What::NoOutputDiffers,
        "no-race" => What::NoRace,
        _ => {
            let wrong = || {
                format!(
                    "`{text}` is no requirement: deterministic:LOCATION, weak(PARTITION):LOCATION, no-output-differs \
                     or no-race"
                )
            };
            if let Some(location) = text.strip_prefix("deterministic:") {
                What::Deterministic(location.to_owned())
            } else {
                let rest = text.strip_prefix("weak(").ok_or_else(wrong)?;
                let (by, location) = rest.split_once("):").ok_or_else(wrong)?;
                What::Weak(partition(by)?, location.to_owned())
            }
        }
    };
    Ok(Requirement { text: text.to_owned(), what })
}

/// Whether a name fits what was asked for: the name itself or its end behind a dot, `*` for anything; what a container
/// holds belongs to the field that holds it.
pub fn fits(wanted: &str, name: &str) -> bool {
    let name = name.strip_suffix(CONTENTS).unwrap_or(name);
    let ends = name.strip_suffix(wanted).is_some_and(|before| before.ends_with(['.', '/']));
    name == wanted || ends || wanted.contains('*') && glob(wanted.as_bytes(), name.as_bytes())
}

/// Behind the name of a field: what the object it refers to holds.
pub const CONTENTS: &str = " contents";

fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|at| glob(rest, &text[at..])),
        Some((one, rest)) => text.first() == Some(one) && glob(rest, &text[1..]),
    }
}

/// What can be said if the analysis did not come to an end: nothing.
pub fn unfinished(question: &Question, why: String) -> Determinism {
    let unknown = |one: &Requirement| RequiredItem {
        what: one.text.clone(),
        verdict: Verdict::Unknown,
        because: vec!["the analysis did not end".to_owned()],
    };
    let required = question.required.iter().map(unknown).collect();
    Determinism { required, gave_up: Some(why), ..Determinism::default() }
}

/// Judges what is required. `weak` says of a location, by its number, whether all its values lie in one class.
pub fn judge(
    determinism: &mut Determinism,
    required: &[Requirement],
    weak: &dyn Fn(usize, Partition) -> bool,
) -> Result<(), String> {
    for one in required {
        let (verdict, because) = match &one.what {
            What::NoOutputDiffers => outputs(&determinism.outputs, ""),
            What::NoRace => {
                let racy = determinism.locations.iter().filter(|item| item.race.is_some());
                let mut because: Vec<String> = racy.map(|item| item.name.clone()).collect();
                let blind = !determinism.not_understood.is_empty() || determinism.gave_up.is_some();
                let verdict = match (because.is_empty(), blind) {
                    (false, _) => Verdict::CanDiffer,
                    (true, true) => Verdict::Unknown,
                    (true, false) => Verdict::Proved,
                };
                because.dedup();
                (verdict, because)
            }
            What::Deterministic(location) if location == "output" => outputs(&determinism.outputs, ""),
            What::Deterministic(location) if location.starts_with("output:") => {
                outputs(&determinism.outputs, &location["output:".len()..])
            }
            What::Deterministic(location) => locations(determinism, location, &|_, item: &LocationItem| item.verdict)?,
            What::Weak(by, location) => {
                locations(determinism, location, &|at, item: &LocationItem| match item.verdict {
                    Verdict::CanDiffer if weak(at, *by) => Verdict::Proved,
                    other => other,
                })?
            }
        };
        determinism.required.push(RequiredItem { what: one.text.clone(), verdict, because });
    }
    Ok(())
}

fn locations(
    determinism: &Determinism,
    wanted: &str,
    verdict: &dyn Fn(usize, &LocationItem) -> Verdict,
) -> Result<(Verdict, Vec<String>), String> {
    let all: Vec<(usize, &LocationItem)> =
        determinism.locations.iter().enumerate().filter(|(_, item)| fits(wanted, &item.name)).collect();
    if all.is_empty() {
        return Err(format!("no location is called `{wanted}`: --all lists them"));
    }
    let worst = all.iter().map(|(at, item)| verdict(*at, item)).max().unwrap_or_default();
    let mut because: Vec<String> = all
        .iter()
        .filter(|(at, item)| verdict(*at, item) != Verdict::Proved)
        .map(|(_, item)| item.name.clone())
        .collect();
    because.dedup();
    Ok((worst, because))
}

fn outputs(all: &[OutputItem], place: &str) -> (Verdict, Vec<String>) {
    let meant = |output: &&OutputItem| place.is_empty() || output.at.short() == place;
    let worst = all.iter().filter(meant).map(|output| output.verdict).max().unwrap_or_default();
    let differing = all.iter().filter(meant).filter(|output| output.verdict != Verdict::Proved);
    (worst, differing.map(|output| output.at.short()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_read() {
        let what = |text: &str| requirement(text).map(|one| one.what);
        assert_eq!(what("deterministic:Report.total"), Ok(What::Deterministic("Report.total".to_owned())));
        assert_eq!(what("weak(sign):A.b"), Ok(What::Weak(Partition::Sign, "A.b".to_owned())));
        assert_eq!(what("weak(x >= 0):A.b"), Ok(What::Weak(Partition::Predicate(Test::Ge, 0), "A.b".to_owned())));
        assert_eq!(what("no-race"), Ok(What::NoRace));
        assert!(what("weak(mod:0):x").is_err() && what("always").is_err() && what("weak(y > 1):x").is_err());
    }

    #[test]
    fn names_fit_from_their_end_and_by_stars() {
        assert!(fits("Report.total", "Report.total") && fits("Report.total", "org.bank.Report.total"));
        assert!(fits("Report.*", "Report.total") && fits("*", "x") && fits("A.list", "A.list contents"));
        assert!(!fits("total", "Subtotal") && !fits("Report.total", "MyReport.total") && !fits("a[]", "a"));
    }
}

//! Reads the numbers back that `reweave test` says: how many findings, how many bugs, what was covered and explored.
//! They are counted anew from the report.

use serde_json::Value;

/// What is wrong with the lines that have numbers.
pub fn complaints(stderr: &str, report: &Value) -> Vec<String> {
    let counted = stderr.lines().filter_map(|line| {
        let wrong = match () {
            () if line.contains(" confirmed, ") && line.contains(" predicted") => counts(line, report),
            () if line.starts_with("covered: ") => covered(line, report),
            () if line.starts_with("reweave: explored: ") => explored(line, report),
            () => return None,
        };
        wrong.err().map(|why| format!("{line}: {why}"))
    });
    let mut all: Vec<String> = counted.collect();
    let has = |start: &str| stderr.lines().any(|line| line.starts_with(start));
    let defects = report["findings"].as_array().into_iter().flatten().filter(|one| one["kind"] != "nondeterminism");
    if has("no findings") != (defects.count() == 0 && report["unchecked"].is_null()) {
        all.push("`no findings` is said where there are some, or not where there are none".into());
    }
    all
}

fn so(is_so: bool) -> Result<(), String> {
    if is_so { Ok(()) } else { Err("the report has other numbers".into()) }
}

/// All numbers of a line; commas part their thousands.
fn numbers(line: &str) -> Vec<u64> {
    let words = line.split(|letter: char| !letter.is_ascii_digit() && letter != ',');
    words.filter_map(|digits| digits.trim_matches(',').replace(',', "").parse().ok()).collect()
}

/// `2 confirmed, 1 predicted (probably 1 bug), 3 potential`
fn counts(line: &str, report: &Value) -> Result<(), String> {
    let findings: Vec<&Value> = report["findings"].as_array().into_iter().flatten().collect();
    let defect = |one: &&&Value| one["kind"] != "nondeterminism" && one["suppressed"].is_null();
    let of = |strength: &str| findings.iter().filter(defect).filter(|one| one["strength"] == strength).count() as u64;
    let proven: Vec<&Value> =
        findings.iter().filter(|one| one["strength"] != "potential").map(|one| &one["id"]).collect();
    let is_proven =
        |bug: &&Value| bug["findings"].as_array().is_some_and(|ids| ids.iter().any(|id| proven.contains(&id)));
    let bugs = report["bugs"].as_array().into_iter().flatten().filter(is_proven).count() as u64;
    let wanted = match numbers(line)[..] {
        [confirmed, predicted, potential] => (confirmed, predicted, None, potential),
        [confirmed, predicted, bugs, potential] => (confirmed, predicted, Some(bugs), potential),
        _ => return Err("which numbers?".into()),
    };
    let (confirmed, predicted) = (of("confirmed"), of("predicted"));
    so((wanted.0, wanted.1, wanted.3) == (confirmed, predicted, of("potential"))
        && wanted.2.unwrap_or(confirmed + predicted) == bugs)
}

/// `covered: 29 events of 3 threads in the recorded run, 4 runs under other schedules, …`
fn covered(line: &str, report: &Value) -> Result<(), String> {
    let stat = |name: &str| report["stats"][name].as_u64().unwrap_or(0);
    for part in line.trim_start_matches("covered: ").split(", ") {
        let said = numbers(part);
        so(match () {
            () if part.ends_with(" in the recorded run") => {
                said.starts_with(&[stat("recorded_events")]) && said[1..].iter().all(|n| *n == stat("recorded_threads"))
            }
            () if part.ends_with(" under other schedules") => said == [stat("schedules")],
            () if part.contains(" explored in ") => {
                let all = part.contains("(all ");
                said == [stat("explored_classes"), stat("explored_runs")] && all == (stat("explored_all") > 0)
            }
            () if part.ends_with(" of exploration") => said == [stat("explored_runs")],
            () => return Err(format!("nobody knows what this means: {part}")),
        })?;
    }
    Ok(())
}

/// `reweave: explored: all 3 classes of executions covered in 5 runs`
fn explored(line: &str, report: &Value) -> Result<(), String> {
    let stat = |name: &str| report["stats"][name].as_u64().unwrap_or(0);
    let said = numbers(line);
    let all = line.contains("explored: all ") || line.contains("explored: the only class ");
    so(all == (stat("explored_all") > 0))?;
    so(said.contains(&stat("explored_runs")))?;
    let failures = report["findings"].as_array().into_iter().flatten().filter(|one| one["kind"] != "nondeterminism");
    let failed = failures.filter(|one| one["strength"] != "potential").count() > 0;
    so(!line.contains(", no failure") || !failed)?;
    so(line.contains("the only class ") == (all && stat("explored_classes") == 1))
}

//! SARIF 2.1.0 (OASIS), for code scanning: each bug is a result (its strongest finding, which names the others) with the rule of its kind, its other accesses as
//! related locations, the schedule that shows it as thread flows, and a fingerprint that stays when lines move.
//!
//! A path below the root is given relative to `%SRCROOT%`, so that a service finds it in the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use reweave_model::{Novelty, OpKind, Strength};
use reweave_trace::Language;
use serde_json::{Value, json};

use crate::data::{AccessItem, Item, Location};
use crate::dossier::Dossier;
use crate::escape::uri;
use crate::pattern::Pattern;
use crate::related::{self, Group};
use crate::rules::{Level, RULES, Rule};
use crate::view::{Class, Evidence, Run, Step};
use crate::{story, text};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// Steps of a schedule that are told; services cut far more than that.
const MOST_STEPS: usize = 200;
const LONGEST: usize = 1000;

pub fn write(dossier: &Dossier<'_>, out: &mut dyn Write) -> io::Result<()> {
    let log = log(dossier);
    serde_json::to_writer_pretty(&mut *out, &log)?;
    writeln!(out)
}

fn log(dossier: &Dossier<'_>) -> Value {
    let report = dossier.report;
    let root = format!("file://{}/", uri(&dossier.root.display().to_string()).trim_end_matches('/'));
    let command = report.program.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
    let mut log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "reweave",
                "version": report.reweave,
                "semanticVersion": report.reweave,
                "informationUri": "https://github.com/reweave/reweave",
                "rules": RULES.iter().map(|one| rule(one, &report.language)).collect::<Vec<_>>(),
            } },
            "originalUriBaseIds": { "%SRCROOT%": { "uri": root } },
            "columnKind": "unicodeCodePoints",
            "results": related::folded(&report.findings).iter().map(|bug| result(dossier, bug)).collect::<Vec<_>>(),
            "properties": { "program": command },
        }],
    });
    if let Some(why) = &report.unchecked {
        let told = json!({ "level": "error", "message": { "text": format!("not checked: {why}") } });
        log["runs"][0]["invocations"] = json!([{ "executionSuccessful": false, "toolExecutionNotifications": [told] }]);
    }
    log
}

fn rule(rule: &Rule, language: &Language) -> Value {
    let (id, help) = (rule.kind.name(), rule.help(language));
    let level = if rule.level == Level::Note { "note" } else { "error" };
    json!({
        "id": format!("reweave/{id}"),
        "name": rule.name,
        "shortDescription": { "text": rule.short },
        "fullDescription": { "text": rule.full },
        "help": { "text": help.replace(['*', '`'], ""), "markdown": help },
        "defaultConfiguration": { "level": level },
        "properties": { "tags": ["concurrency", id], "precision": "very-high" },
    })
}

/// A bug: its strongest finding, which names the others.
fn result(dossier: &Dossier<'_>, group: &Group<'_>) -> Value {
    let item = group.lead;
    let evidence = dossier.evidence(item);
    let mut result = json!({
        "ruleId": format!("reweave/{}", item.kind),
        "ruleIndex": RULES.iter().position(|rule| rule.kind == item.kind),
        "level": level(item),
        "message": { "text": message(dossier, group) },
        "partialFingerprints": {
            "reweave/v1": item.fingerprint,
            // What GitHub goes by; other services ignore it.
            "primaryLocationLineHash": format!("{}:1", item.fingerprint),
        },
        "properties": {
            "strength": item.strength,
            "analysis": item.analysis,
            "outcome": item.outcome,
            "also": group.others.iter().map(|(other, _)| other.fingerprint.as_str()).collect::<Vec<_>>(),
        },
    });
    let mut accesses = item.accesses.iter().zip(1..).filter(|(access, _)| access.location.line != 0);
    if let Some((first, _)) = accesses.next() {
        result["locations"] = json!([location(dossier, &first.location, None, None)]);
    } else if let Some(place) = last_place(&evidence) {
        // Services want a place for everything.
        result["locations"] = json!([location(dossier, place, None, None)]);
    }
    let related: Vec<Value> = item
        .accesses
        .iter()
        .zip(1..)
        .filter(|(access, _)| access.location.line != 0)
        .map(|(access, number): (_, usize)| {
            let text = format!("({number}) {}", described(access));
            location(dossier, &access.location, Some(number), Some(&text))
        })
        .collect();
    if !related.is_empty() {
        result["relatedLocations"] = Value::Array(related);
    }
    let stacks: Vec<Value> =
        item.accesses.iter().zip(1..).map(|(access, number)| stack(dossier, access, number)).collect();
    if !stacks.is_empty() {
        result["stacks"] = Value::Array(stacks);
    }
    if let Some(run) = evidence.happening()
        && let Some(flow) = code_flow(dossier, run)
    {
        result["codeFlows"] = json!([flow]);
    }
    if let Some(reason) = &item.suppressed {
        result["suppressions"] = json!([{ "kind": "external", "status": "accepted", "justification": cut(reason) }]);
    }
    match item.baseline {
        Some(Novelty::New) => result["baselineState"] = json!("new"),
        Some(Novelty::Known) => result["baselineState"] = json!("unchanged"),
        None => {}
    }
    result
}

/// What stands for a run that failed where no access does: the last one to what threads share, as long as another
/// thread could come in. What is done after that (destructors, the end of the program) is not where anything went wrong.
fn last_place(evidence: &Evidence) -> Option<&Location> {
    let run = evidence.happening().or(evidence.observed.as_ref())?;
    let shared: BTreeSet<String> = story::shared(run).collect();
    let mut others = BTreeSet::new();
    let mut last = None;
    for step in run.shown() {
        if step.kind == OpKind::End {
            others.remove(&step.thread);
            continue;
        }
        others.insert(step.thread);
        if others.len() > 1 && step.place.line != 0 && shared.contains(&step.object) {
            last = Some(&step.place);
        }
    }
    last.or_else(|| run.shown().map(|step| &step.place).filter(|place| place.line != 0).last())
}

/// Services show what is an error first.
fn level(item: &Item) -> &'static str {
    match (Rule::of(item.kind).level, item.strength) {
        (Level::Note, _) | (_, Strength::Potential) => "note",
        (Level::Error, Strength::Confirmed) => "error",
        (Level::Error, Strength::Predicted) => "warning",
    }
}

/// What, where (as links to the related locations), why, and how to see it.
fn message(dossier: &Dossier<'_>, group: &Group<'_>) -> String {
    let item = group.lead;
    let mut text = format!("{} ({}).", plain(&item.summary), item.strength);
    for (access, number) in item.accesses.iter().zip(1..) {
        let place = story::at(&access.location);
        let place = if access.location.line == 0 { plain(&place) } else { format!("[{}]({number})", plain(&place)) };
        let through = access.library_function().map_or(String::new(), |name| format!(" in {}", plain(name)));
        let op = plain(&access.op.to_string());
        text += &format!(" ({number}) {op} by {}{through} at {place}.", access.thread_label());
    }
    for line in story::of_item(item, &Evidence::default()).why {
        text += &format!(" {}", plain(&line));
    }
    if let Some(outcome) = &item.outcome {
        text += &format!(" The run that did it {}.", plain(outcome));
    }
    if let Some(pattern) = Pattern::of(group).filter(|_| item.is_proven()) {
        text += &format!(" This is {}.", plain(&pattern.to_string()));
    }
    for also in text::also(group) {
        text += &format!(" Also {}.", plain(&also));
    }
    if let Some(command) = dossier.replay_command(item) {
        text += &format!(" Replay: {}", plain(&command));
    }
    text
}

/// Brackets would be taken for links.
fn plain(text: &str) -> String {
    cut(text).replace('\\', "\\\\").replace('[', "\\[").replace(']', "\\]")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn described(access: &AccessItem) -> String {
    let held = match access.locks_held[..] {
        [] => String::new(),
        _ => format!(", holding {}", access.held()),
    };
    let through = access.library_function().map_or(String::new(), |name| format!("{name}, called from "));
    cut(&format!("{} by {} in {through}{}{held}", access.op, access.thread_label(), access.location.function))
}

fn artifact(dossier: &Dossier<'_>, file: &str) -> Value {
    let shown = dossier.shown_path(file);
    if shown.starts_with('/') {
        return json!({ "uri": format!("file://{}", uri(&shown)) });
    }
    json!({ "uri": uri(&shown), "uriBaseId": "%SRCROOT%" })
}

fn location(dossier: &Dossier<'_>, place: &Location, id: Option<usize>, text: Option<&str>) -> Value {
    let mut location = json!({});
    if place.line != 0 {
        let mut region = json!({ "startLine": place.line });
        if let Some(line) = dossier.sources.line(&place.file, place.line) {
            region["snippet"] = json!({ "text": cut(line.trim()) });
        }
        location["physicalLocation"] = json!({ "artifactLocation": artifact(dossier, &place.file), "region": region });
    }
    if !place.function.is_empty() {
        location["logicalLocations"] = json!([{ "name": cut(&place.function), "kind": "function" }]);
    }
    if let Some(id) = id {
        location["id"] = json!(id);
    }
    if let Some(text) = text {
        location["message"] = json!({ "text": text });
    }
    location
}

fn stack(dossier: &Dossier<'_>, access: &AccessItem, number: usize) -> Value {
    let frames: Vec<Value> =
        access.frames().map(|frame| json!({ "location": location(dossier, frame, None, None) })).collect();
    json!({ "message": { "text": format!("({number}) {}", access.thread_label()) }, "frames": frames })
}

/// The schedule: a flow for each thread, the order over all of them in `executionOrder`.
fn code_flow(dossier: &Dossier<'_>, run: &Run) -> Option<Value> {
    let marked = run.marked();
    let (first, last) = (*marked.values().min()?, *marked.values().max()?);
    // What leads there, and a little of what follows.
    let from = (last + 20).min(run.rows.len()).saturating_sub(MOST_STEPS).min(first);
    let objects: BTreeSet<&str> =
        run.shown().filter(|step| step.mark.is_some()).map(|step| step.object.as_str()).collect();
    let shown =
        run.rows[from..].iter().filter_map(|row| row.step()).filter(|step| step.place.line != 0).take(MOST_STEPS);
    let mut threads: BTreeMap<u32, Vec<Value>> = BTreeMap::new();
    for (order, step) in (1..).zip(shown) {
        threads.entry(step.thread).or_default().push(flow_location(
            dossier,
            step,
            order,
            objects.contains(step.object.as_str()),
        ));
    }
    let flows: Vec<Value> = threads
        .into_iter()
        .map(|(thread, locations)| {
            json!({
                "id": format!("T{thread}"),
                "message": { "text": cut(&run.thread_name(thread)) },
                "locations": locations,
            })
        })
        .collect();
    Some(json!({ "message": { "text": format!("The run that did it {}", run.outcome) }, "threadFlows": flows }))
}

fn flow_location(dossier: &Dossier<'_>, step: &Step, order: usize, about: bool) -> Value {
    let mark = step.mark.map_or(String::new(), |number| format!("({number}) "));
    let text = format!("{mark}{}", step.what);
    let importance = match step.class {
        _ if step.mark.is_some() => "essential",
        Class::Sync | Class::Wait | Class::End => "important",
        _ if about && !step.object.is_empty() => "important",
        _ => "unimportant",
    };
    let mut state = json!({});
    if let Some(value) = step.value.as_ref().filter(|_| !step.object.is_empty()) {
        state[&step.object] = json!({ "text": value });
    }
    let mut entry = json!({
        "location": location(dossier, &step.place, None, Some(&text)),
        "executionOrder": order,
        "importance": importance,
    });
    if state.as_object().is_some_and(|state| !state.is_empty()) {
        entry["state"] = state;
    }
    entry
}

fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

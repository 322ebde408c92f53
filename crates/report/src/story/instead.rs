//! What the recorded run did instead: the same accesses, in the order and at the distance in which it had them. A
//! failure that no access stands for is told by what was read differently, and by where threads came that did not come
//! there before.

use std::collections::{HashMap, HashSet};

use reweave_model::Kind;

use super::at;
use crate::data::{Item, Location};
use crate::view::{Class, Evidence, Row, Run, Step};

/// Differences that are told.
const MOST: usize = 6;

pub fn instead(item: &Item, run: &Run, evidence: &Evidence) -> Vec<String> {
    let failing = evidence.failing.as_ref();
    let mut marked: Vec<&Step> = run.shown().filter(|step| step.mark.is_some()).collect();
    marked.sort_by_key(|step| step.event);
    let ended = format!("It {}.", run.outcome);
    if evidence.observed_did_it {
        let same = failing.is_some_and(|failing| failing.rows == run.rows);
        return vec![match same {
            true => format!("The recorded run is the one that did it. {ended}"),
            false => format!("It did it, too, along another schedule. {ended}"),
        }];
    }
    if item.kind == Kind::Failure
        && let Some(failing) = failing
    {
        let mut lines = differences(failing, run);
        lines.push(ended);
        return lines;
    }
    let mut lines = Vec::new();
    for (number, step) in marked.iter().enumerate() {
        let when = match number.checked_sub(1).map(|before| step.number - marked[before].number) {
            None => format!("(step {} of {})", step.number, run.steps),
            Some(1) => "right after it".to_owned(),
            Some(steps) => format!("{steps} steps later"),
        };
        lines.push(format!("{} {when}", sentence(step)));
    }
    if failing.is_none() && item.kind == Kind::Race {
        lines.push("No run had one right after the other so far.".into());
    }
    lines.push(ended);
    lines
}

/// What threads read at the same place, the same time through it, but with another value; and the first place that each
/// came to only when it failed.
fn differences(failing: &Run, observed: &Run) -> Vec<String> {
    type Read<'a> = (u32, &'a Location, &'a str, usize);
    let reads = |run| {
        let mut times: HashMap<(u32, &Location, &str), usize> = HashMap::new();
        let reads = Run::shown(run).filter(|step| matches!(step.class, Class::Read | Class::Update));
        let named = reads.filter(|step| step.has_name);
        named
            .map(|step| {
                let time = times.entry((step.thread, &step.place, &step.object)).or_default();
                *time += 1;
                ((step.thread, &step.place, step.object.as_str(), *time), step.value.as_deref())
            })
            .collect::<Vec<(Read<'_>, Option<&str>)>>()
    };
    let then: HashMap<Read<'_>, Option<&str>> = reads(observed).into_iter().collect();
    let mut told = HashSet::new();
    let mut lines = Vec::new();
    for (read, now) in reads(failing) {
        let (thread, place, object, _) = read;
        if let (Some(now), Some(Some(then))) = (now, then.get(&read))
            && now != *then
            && told.insert((thread, place, object))
        {
            lines.push(format!("{} read {object} = {then} at {}, not {now}", observed.thread_name(thread), at(place)));
        }
    }
    let left = lines.len().saturating_sub(MOST);
    if left > 0 {
        // How it ended is told by the last ones as much as how it began by the first.
        lines.splice(MOST / 2..lines.len() - MOST / 2, [format!("… and {left} other reads had other values")]);
    }
    lines.extend(not_there(failing, observed));
    lines
}

/// Functions that threads came to only when it failed. Lines would say too much: an assertion that holds, and a return
/// that is taken, leave no step behind.
fn not_there(failing: &Run, observed: &Run) -> Vec<String> {
    // What is not shown may have been there.
    if observed.rows.iter().any(|row| !matches!(row, Row::Step(_))) {
        return Vec::new();
    }
    let mut there: HashSet<(u32, &str)> = HashSet::new();
    for step in observed.shown() {
        let functions = step.stack.iter().chain([&step.place]).map(|place| place.function.as_str());
        there.extend(functions.chain([step.through.as_str()]).map(|function| (step.thread, function)));
    }
    let mut told = HashSet::new();
    let mut lines = Vec::new();
    for step in failing.shown().filter(|step| step.place.line != 0 && !step.place.function.is_empty()) {
        let place = &step.place;
        if !there.contains(&(step.thread, &place.function)) && told.insert(step.thread) {
            let who = observed.thread_name(step.thread);
            lines.push(format!("{who} made no step in {} ({})", place.function, at(place)));
        }
    }
    lines
}

fn sentence(step: &Step) -> String {
    let number = step.mark.map_or(String::new(), |number| format!("({number}) "));
    format!("{number}T{} {} at {}", step.thread, step.what, at(&step.place))
}

//! What the recorded run did instead: the same accesses, in the order and at the distance in which it had them.

use super::at;
use crate::data::Item;
use crate::view::{Run, Step};

pub fn instead(item: &Item, run: &Run, failing: Option<&Run>) -> Vec<String> {
    let mut marked: Vec<&Step> = run.shown().filter(|step| step.mark.is_some()).collect();
    marked.sort_by_key(|step| step.event);
    let ended = format!("It {}.", run.outcome);
    if failing.is_some_and(|failing| failing.rows == run.rows) || item.kind == "misuse" {
        return vec![format!("The recorded run is the one that did it. {ended}")];
    }
    if item.accesses.is_empty() {
        return vec![ended];
    }
    if marked.is_empty() {
        return vec![format!("It did not come to these places at all. {ended}")];
    }
    let mut lines = Vec::new();
    if marked.len() < item.accesses.len() {
        let missing: Vec<String> = (1..=item.accesses.len())
            .filter(|number| marked.iter().all(|step| step.mark != Some(*number)))
            .map(|number| format!("({number})"))
            .collect();
        lines.push(format!("It did not come to {}.", super::listed(&missing)));
    }
    for (number, step) in marked.iter().enumerate() {
        let when = match number.checked_sub(1).map(|before| step.number - marked[before].number) {
            None => format!("(step {} of {})", step.number, run.steps),
            Some(1) => "right after it".to_owned(),
            Some(steps) => format!("{steps} steps later"),
        };
        lines.push(format!("{} {when}", told(step)));
    }
    if failing.is_none() && item.kind == "race" {
        lines.push("No run did it the other way round so far.".into());
    }
    lines.push(ended);
    lines
}

fn told(step: &Step) -> String {
    let number = step.mark.map_or(String::new(), |number| format!("({number}) "));
    format!("{number}T{} {} at {}", step.thread, step.what, at(&step.place))
}

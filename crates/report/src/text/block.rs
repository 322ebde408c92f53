//! One finding as a block, and as a line.

use std::io::{self, Write};

use super::style::folded;
use super::{Detail, Page};
use reweave_model::{Kind, Novelty, Strength};

use crate::data::{AccessItem, HeldLock, Item, Location, StaticItem};
use crate::describe;
use crate::escape::printable;
use crate::pattern::Pattern;
use crate::reads;
use crate::related::{self, Group, Relation};

/// Callers that are shown where not all are.
const CALLERS: usize = 2;

/// `read and write`
fn operations(item: &Item) -> String {
    item.accesses.iter().map(|access| access.op.to_string()).collect::<Vec<_>>().join(" and ")
}

/// A place, its file as seen from here.
fn shown(location: &Location) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    match std::path::Path::new(&location.file).strip_prefix(&here) {
        Ok(file) => Location { file: file.display().to_string(), ..location.clone() }.to_string(),
        Err(_) => location.to_string().trim_start_matches("./").to_owned(),
    }
}

impl Page<'_> {
    /// One finding, in full.
    pub fn write_item(&self, item: &Item, out: &mut dyn Write) -> io::Result<()> {
        self.write_group(&Group { lead: item, others: Vec::new() }, out)
    }

    /// What a bug is known as; one finding alone takes it from the bug that it is a part of.
    fn pattern(&self, group: &Group<'_>) -> Option<Pattern> {
        /// With more findings it takes too long to put them together for each of them.
        const MOST: usize = 200;
        let known = Pattern::of(group);
        if known.is_some() || !group.others.is_empty() || self.findings.len() > MOST {
            return known;
        }
        // What is merely potential gives nothing that a run did its name.
        let bugs = related::folded(self.findings);
        bugs.iter().find(|bug| bug.items().any(|item| item.id == group.lead.id)).and_then(Pattern::of)
    }

    /// The first of a group in full, and a line for each of the others.
    pub(crate) fn write_group(&self, group: &Group<'_>, out: &mut dyn Write) -> io::Result<()> {
        let item = group.lead;
        let item = &printable_item(item);
        let style = self.style;
        let code = match item.strength {
            _ if item.is_information() => "1;36",
            Strength::Confirmed => "1;31",
            Strength::Predicted => "1;33",
            Strength::Potential => "1;36",
        };
        // The summary of a race says that it is one.
        let kind = if item.kind == Kind::Race { String::new() } else { format!(" {}", item.kind) };
        let strength = match item.strength {
            _ if !item.is_information() => format!("{}{kind}", item.strength),
            Strength::Confirmed => "information (a run showed it)".to_owned(),
            strength => format!("information ({strength})"),
        };
        let strength = style.paint(code, &strength);
        let state = match &item.suppressed {
            Some(_) => " (suppressed)",
            None => match item.baseline {
                Some(Novelty::New) => " (new)",
                Some(Novelty::Known) => " (known)",
                None => "",
            },
        };
        writeln!(out, "{}", style.wrap(&format!("[{}] {strength}{state}: {}", item.id, item.summary), 4))?;
        if let Some(reason) = &item.suppressed {
            writeln!(out, "{}", style.wrap(&format!("  suppressed: {reason}"), 4))?;
        }
        let mut number = 1;
        for alike in item.accesses.chunk_by(is_alike) {
            let told = if self.style.detail == Detail::Full || alike.len() < CROWD { alike.len() } else { 1 };
            for (access, number) in alike[..told].iter().zip(number..) {
                self.write_access(item, number, access, out)?;
            }
            let next = number + told;
            number += alike.len();
            if next < number {
                let threads = describe::some(alike[told..].iter().map(AccessItem::thread_label));
                let line = format!("  ({next})–({}) the same by {threads}", number - 1);
                writeln!(out, "{}", style.wrap(&line, 8))?;
            }
        }
        if let Some(of_text) = &item.of_text {
            writeln!(out, "{}", style.wrap(&format!("  by the program's text: {}", of_text.why), 4))?;
        }
        if let Some(view) = &item.view {
            reads::write(view, out)?;
        }
        if let Some(outcome) = &item.outcome {
            writeln!(out, "{}", style.wrap(&format!("  the confirmed run {outcome}"), 4))?;
        }
        if let Some(why) = &item.why_unconfirmed {
            writeln!(out, "{}", style.wrap(&format!("  not confirmed: {why}"), 4))?;
        }
        if let Some(pattern) = self.pattern(group).filter(|_| item.is_proven()) {
            let name = style.paint("1", pattern.name());
            writeln!(out, "{}", style.wrap(&format!("  {name}: {}", pattern.advice()), 4))?;
        }
        for also in also(group) {
            writeln!(out, "{}", style.wrap(&format!("  also {also}"), 7))?;
        }
        if item.schedule.is_some() {
            writeln!(out, "  replay: {}", style.paint("1", &format!("reweave replay {}", self.finding(item))))?;
        }
        Ok(())
    }

    /// `reweave-out/1`
    fn finding(&self, item: &Item) -> String {
        format!("{}/{}", self.folder, item.id)
    }

    fn write_access(&self, item: &Item, number: usize, access: &AccessItem, out: &mut dyn Write) -> io::Result<()> {
        let style = self.style;
        let role = reads::role(item, number);
        let place = shown(&access.location);
        let through = access.library_function().map_or(String::new(), |name| format!(" in {name}, called"));
        // A thread of a pool that waits for work is in no code of the program.
        let at = if place.is_empty() { String::new() } else { format!(" at {}", style.paint("1", &place)) };
        let head = format!("  ({number}) {}{role} by {}{through}{at}", access.op, access.thread_label());
        writeln!(out, "{}", style.wrap(&head, 8))?;
        let Location { file, line, .. } = &access.location;
        if let Some(text) = self.sources.line(file, *line).filter(|text| !text.trim().is_empty()) {
            writeln!(out, "        {line:>4} | {}", style.cut(&printable(text.trim()), 15))?;
        }
        // What a library does between two functions of the program's own is for who wants everything.
        let full = style.detail == Detail::Full;
        let stack: Vec<&Location> =
            access.stack.iter().filter(|at| full || !self.language.is_library(&at.file)).collect();
        let callers = if full { stack.len() } else { CALLERS };
        for frame in stack.iter().take(callers) {
            writeln!(out, "{}", style.wrap(&format!("        called from {}", shown(frame)), 10))?;
        }
        if stack.len() > callers {
            writeln!(out, "        … and {} more", stack.len() - callers)?;
        }
        match access.locks_held[..] {
            [] if item.kind == Kind::Race => writeln!(out, "        holding no lock"),
            [] => Ok(()),
            _ => writeln!(out, "{}", style.wrap(&format!("        holding {}", access.held()), 10)),
        }
    }

    /// A group in one line: what, and where.
    pub(super) fn write_line(&self, group: &Group<'_>, out: &mut dyn Write) -> io::Result<()> {
        let item = &printable_item(group.lead);
        let kind = if item.kind == Kind::Race { String::new() } else { format!(" {}", item.kind) };
        let strength = self.style.paint("1;33", &format!("{}{kind}", item.strength));
        let places = places(item);
        let others: Vec<String> = group.others.iter().map(|(other, _)| format!("[{}]", other.id)).collect();
        let others = if others.is_empty() { String::new() } else { format!(", also {}", others.join(" ")) };
        let line = format!("[{}] {strength}: {}{places}{others}", item.id, item.summary);
        writeln!(out, "{}", self.style.wrap(&line, 4))
    }
}

/// So many threads that do the same are told by the first of them, and who the others are.
const CROWD: usize = 4;

/// Whether two threads do the same, and came there the same way.
fn is_alike(one: &AccessItem, two: &AccessItem) -> bool {
    one.op == two.op && one.location == two.location && one.stack == two.stack && one.held() == two.held()
}

/// A finding on one line, plain: `[1] data race on balance: … (bank.c:15, bank.c:24)`.
pub fn headline(item: &Item) -> String {
    let item = printable_item(item);
    let kind = if item.kind == Kind::Race { String::new() } else { format!("{}: ", item.kind) };
    let places = places(&item);
    format!("[{}] {kind}{}{places}", item.id, item.summary)
}

/// Others of a group that are told one by one: beyond that, how many.
const OTHERS: usize = 8;

/// The others of a group: races of the same lines differ only in what they do there and share a line, and so do those
/// that are told in the same words.
pub(crate) fn also(group: &Group<'_>) -> Vec<String> {
    let is_same_race = |(other, relation): &&(&Item, Relation)| {
        other.kind == Kind::Race && group.lead.kind == Kind::Race && *relation == Relation::Lines
    };
    let strength = |other: &Item| match other.strength == group.lead.strength {
        true => String::new(),
        false => format!("{} ", other.strength),
    };
    let mut lines = Vec::new();
    let races = group.others.iter().filter(is_same_race);
    let races: Vec<String> =
        races.map(|(other, _)| format!("[{}] {}{}", other.id, strength(other), operations(other))).collect();
    if !races.is_empty() {
        lines.push(format!("{} on the same {}", races.join(", "), if one_line(group.lead) { "line" } else { "lines" }));
    }
    let mut told: Vec<(String, Vec<String>)> = Vec::new();
    for (other, relation) in group.others.iter().filter(|other| !is_same_race(other)) {
        let item = printable_item(other);
        let what = item.summary.split(": ").next().unwrap_or_default();
        let how = match relation {
            Relation::Outcome => ", which ends the same way".into(),
            Relation::Memory | Relation::HandedOver | Relation::Freed => places(&item),
            Relation::Lines => String::new(),
        };
        // The summary of a race says that it is one.
        let kind = if item.kind == Kind::Race { String::new() } else { format!("{}: ", item.kind) };
        let text = format!("{}{kind}{what}{how}", strength(&item));
        match told.iter_mut().find(|(known, _)| *known == text) {
            Some((_, ids)) => ids.push(format!("[{}]", item.id)),
            None => told.push((text, vec![format!("[{}]", item.id)])),
        }
    }
    let more = told.len().saturating_sub(OTHERS);
    lines.extend(told.into_iter().take(OTHERS).map(|(text, ids)| format!("{} {text}", ids.join(", "))));
    if more > 0 {
        lines.push(format!("{more} more of the same bug"));
    }
    lines
}

/// ` (bank.c:15, bank.c:24)`
fn places(item: &Item) -> String {
    let mut places: Vec<String> = item.accesses.iter().map(|access| crate::story::at(&access.location)).collect();
    places.retain(|place| !place.is_empty());
    places.dedup();
    if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) }
}

fn one_line(item: &Item) -> bool {
    item.accesses.windows(2).all(|pair| pair[0].location.line == pair[1].location.line)
}

/// All names of a finding as a terminal may have them: without the line breaks of a name, too.
fn printable_item(item: &Item) -> Item {
    let text = |text: &String| printable(text).replace('\n', " ");
    let function = |name: &String| folded(&text(name));
    let place = |at: &Location| Location { file: text(&at.file), line: at.line, function: function(&at.function) };
    let held = |lock: &HeldLock| HeldLock {
        name: text(&lock.name),
        taken: lock.taken.as_ref().map(function),
        shared: lock.shared,
    };
    let access = |access: &AccessItem| AccessItem {
        thread: access.thread,
        thread_name: access.thread_name.as_ref().map(text),
        process: access.process,
        rank: access.rank,
        op: access.op.map(text),
        location: place(&access.location),
        through: access.through.iter().map(place).collect(),
        stack: access.stack.iter().map(place).collect(),
        locks_held: access.locks_held.iter().map(held).collect(),
        memory: access.memory.clone(),
        event: access.event,
    };
    Item {
        summary: text(&item.summary),
        accesses: item.accesses.iter().map(access).collect(),
        outcome: item.outcome.as_ref().map(text),
        why_unconfirmed: item.why_unconfirmed.as_ref().map(text),
        suppressed: item.suppressed.as_ref().map(text),
        of_text: item.of_text.as_ref().map(|of_text| StaticItem { why: text(&of_text.why) }),
        ..item.clone()
    }
}

#[cfg(test)]
mod tests {
    use reweave_trace::Language;

    use super::*;
    use crate::data::Operation;
    use crate::text::Style;

    #[test]
    fn a_crowd_is_told_by_its_first_and_lines_stay_within_the_width() {
        let location = Location { file: "pool.cpp".into(), line: 7, function: "Pool::run".into() };
        let waits = |thread| AccessItem {
            thread,
            thread_name: Some("a worker of the pool".into()),
            op: Operation::WaitFor("a notify on pool.more".into()),
            location: location.clone(),
            ..AccessItem::default()
        };
        let joins = AccessItem { op: Operation::WaitFor("the end of thread 1".into()), ..waits(0) };
        let mut item = Item::new(Kind::Deadlock, Strength::Confirmed);
        item.summary = describe::some((0..13).map(|thread| format!("T{thread} has to wait for a notify on pool.more")));
        item.accesses = std::iter::once(joins).chain((1..13).map(waits)).collect();
        let said = |detail| {
            let style = Style { colour: false, width: Some(72), detail };
            let sources = crate::Sources::default();
            let page = Page { folder: "", style, sources: &sources, language: &Language::default(), findings: &[] };
            let mut out = Vec::new();
            page.write_item(&item, &mut out).expect("memory");
            String::from_utf8(out).expect("text")
        };
        let short = said(Detail::Normal);
        assert!(short.lines().all(|line| line.chars().count() <= 72), "{short}");
        let words = short.split_whitespace().collect::<Vec<_>>().join(" ");
        let named = |thread| format!("thread {thread} (a worker of the pool)");
        let others = format!("(3)–(13) the same by {}, {}, {}, and 8 more", named(2), named(3), named(4));
        assert!(words.contains(&others) && words.contains("pool.more, and 10 more"), "{words}");
        assert!(words.contains("(2) wait for a notify") && !words.contains("(3) wait"), "{words}");
        let full = said(Detail::Full);
        assert!(full.contains("(13) wait for a notify") && !full.contains("the same by"), "{full}");
    }
}

//! One finding as a block, and as a line.

use std::io::{self, Write};

use super::{Detail, Page};
use crate::data::{AccessItem, Item, Location};
use crate::describe::file_name;
use crate::escape::printable;
use crate::reads;

/// Callers that are shown where not all are.
const CALLERS: usize = 2;

/// `read and write`
pub fn operations(item: &Item) -> String {
    item.accesses.iter().map(|access| access.op.as_str()).collect::<Vec<_>>().join(" and ")
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
        let item = &printable_item(item);
        let style = self.style;
        let code = match item.strength.as_str() {
            "confirmed" => "1;31",
            "predicted" => "1;33",
            _ => "1;36",
        };
        // The summary of a race says that it is one.
        let kind = if item.kind == "race" { String::new() } else { format!(" {}", item.kind) };
        let strength = style.paint(code, &format!("{}{kind}", item.strength));
        let state = match &item.suppressed {
            Some(_) => " (suppressed)",
            None => match item.baseline.as_deref() {
                Some("new") => " (new)",
                Some("known") => " (known)",
                _ => "",
            },
        };
        writeln!(out, "{}", style.wrap(&format!("[{}] {strength}{state}: {}", item.id, item.summary), 4))?;
        if let Some(reason) = &item.suppressed {
            writeln!(out, "{}", style.wrap(&format!("  suppressed: {reason}"), 4))?;
        }
        for (number, access) in item.accesses.iter().enumerate() {
            self.write_access(item, number + 1, access, out)?;
        }
        if let Some(view) = &item.view {
            reads::write(view, out)?;
        }
        if let Some(outcome) = &item.outcome {
            writeln!(out, "  the confirmed run {outcome}")?;
        }
        if let Some(why) = &item.why_unconfirmed {
            writeln!(out, "{}", style.wrap(&format!("  not confirmed: {why}"), 4))?;
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
        let place = style.paint("1", &shown(&access.location));
        let head = format!("  ({number}) {}{role} by thread {} at {place}", access.op, access.thread);
        writeln!(out, "{}", style.wrap(&head, 8))?;
        let Location { file, line, .. } = &access.location;
        if let Some(text) = self.sources.line(file, *line).filter(|text| !text.trim().is_empty()) {
            writeln!(out, "        {line:>4} | {}", style.cut(&printable(text.trim()), 15))?;
        }
        let callers = if style.detail == Detail::Full { access.stack.len() } else { CALLERS };
        for frame in access.stack.iter().take(callers) {
            writeln!(out, "{}", style.wrap(&format!("        called from {}", shown(frame)), 10))?;
        }
        if access.stack.len() > callers {
            writeln!(out, "        … and {} more", access.stack.len() - callers)?;
        }
        match access.locks_held[..] {
            [] if item.kind == "race" => writeln!(out, "        holding no lock"),
            [] => Ok(()),
            _ => writeln!(out, "{}", style.wrap(&format!("        holding {}", access.locks_held.join(", ")), 10)),
        }
    }

    /// A finding in one line: what, and where.
    pub(super) fn write_line(&self, item: &Item, out: &mut dyn Write) -> io::Result<()> {
        let item = &printable_item(item);
        let kind = if item.kind == "race" { String::new() } else { format!(" {}", item.kind) };
        let strength = self.style.paint("1;33", &format!("{}{kind}", item.strength));
        let place = |access: &AccessItem| match access.location.line {
            0 => access.location.function.clone(),
            line => format!("{}:{line}", file_name(&access.location.file)),
        };
        let places: Vec<String> = item.accesses.iter().map(place).collect();
        let line = format!("[{}] {strength}: {} ({})", item.id, item.summary, places.join(", "));
        writeln!(out, "{}", self.style.wrap(&line, 4))
    }
}

/// All names of a finding as a terminal may have them: without the line breaks of a name, too.
fn printable_item(item: &Item) -> Item {
    let text = |text: &String| printable(text).replace('\n', " ");
    let place = |at: &Location| Location { file: text(&at.file), line: at.line, function: text(&at.function) };
    let access = |access: &AccessItem| AccessItem {
        thread: access.thread,
        op: text(&access.op),
        location: place(&access.location),
        stack: access.stack.iter().map(place).collect(),
        locks_held: access.locks_held.iter().map(text).collect(),
    };
    Item {
        summary: text(&item.summary),
        accesses: item.accesses.iter().map(access).collect(),
        outcome: item.outcome.as_ref().map(text),
        why_unconfirmed: item.why_unconfirmed.as_ref().map(text),
        suppressed: item.suppressed.as_ref().map(text),
        ..item.clone()
    }
}

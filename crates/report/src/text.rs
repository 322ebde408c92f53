//! Findings for the terminal. The accesses are numbered (1) and (2); the last line of a finding is the command that replays it.

use std::io::{self, IsTerminal, Write};

use crate::data::{Item, Location, Report};
use crate::reads;

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub colour: bool,
}

impl Style {
    /// Colours if stderr is a terminal and NO_COLOR is not set.
    pub fn for_stderr() -> Self {
        Self { colour: io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// A place, its file as seen from here.
fn shown(location: &Location) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    match std::path::Path::new(&location.file).strip_prefix(&here) {
        Ok(file) => Location { file: file.display().to_string(), ..location.clone() }.to_string(),
        Err(_) => location.to_string(),
    }
}

/// One finding.
pub fn write_item(item: &Item, folder: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let code = match item.strength.as_str() {
        "confirmed" => "1;31",
        "predicted" => "1;33",
        _ => "1;36",
    };
    // The summary of a race says that it is one.
    let kind = if item.kind == "race" { String::new() } else { format!(" {}", item.kind) };
    writeln!(out, "[{}] {}: {}", item.id, style.paint(code, &format!("{}{kind}", item.strength)), item.summary)?;
    for (number, access) in item.accesses.iter().enumerate() {
        let number = number + 1;
        writeln!(
            out,
            "  ({number}) {}{} by thread {} at {}",
            access.op,
            reads::role(item, number),
            access.thread,
            style.paint("1", &shown(&access.location))
        )?;
        for frame in &access.stack {
            writeln!(out, "        called from {}", shown(frame))?;
        }
        match access.locks_held[..] {
            [] if item.kind == "race" => writeln!(out, "        holding no lock")?,
            [] => {}
            _ => writeln!(out, "        holding {}", access.locks_held.join(", "))?,
        }
    }
    if let Some(view) = &item.view {
        reads::write(view, out)?;
    }
    if let Some(outcome) = &item.outcome {
        writeln!(out, "  the confirmed run {outcome}")?;
    }
    if let Some(why) = &item.why_unconfirmed {
        writeln!(out, "  not confirmed: {why}")?;
    }
    if item.schedule.is_some() {
        writeln!(out, "  replay: reweave replay {folder}/{}", item.id)?;
    }
    Ok(())
}

/// The numbers of the analyses, each under the name of its analysis. A number's name says whose it is before the first dot.
pub fn write_stats(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let analysis = |name: &str| name.split_once('.').map_or(String::new(), |(analysis, _)| analysis.to_owned());
    let mut names: Vec<&String> = report.stats.keys().collect();
    names.sort_by_key(|name| (analysis(name), *name));
    let width = names.iter().map(|name| name.len()).max().unwrap_or(0);
    let mut last = None;
    for name in names {
        let whose = analysis(name);
        if last.as_ref() != Some(&whose) {
            writeln!(out, "\n{}", if whose.is_empty() { "numbers" } else { &whose })?;
        }
        let short = name.strip_prefix(&format!("{whose}.")).unwrap_or(name).replace('_', " ");
        writeln!(out, "  {short:<width$} {:>14}", report.stats[name])?;
        last = Some(whose);
    }
    Ok(())
}

/// Everything, with a last line that counts.
pub fn write(report: &Report, folder: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    for item in &report.findings {
        write_item(item, folder, style, out)?;
        writeln!(out)?;
    }
    reads::write_overview(report, out)?;
    let count = |strength: &str| report.findings.iter().filter(|item| item.strength == strength).count();
    let (confirmed, predicted, potential) = (count("confirmed"), count("predicted"), count("potential"));
    if report.findings.is_empty() {
        writeln!(out, "no findings")?;
    } else {
        writeln!(out, "{confirmed} confirmed, {predicted} predicted, {potential} potential")?;
    }
    let stat = |name: &str| report.stats.get(name).copied().unwrap_or(0);
    match stat("unknown_pairs") {
        0 => {}
        1 => writeln!(
            out,
            "1 pair of places may race and was not settled: too many accesses to try them all, or too little time"
        )?,
        n => writeln!(
            out,
            "{n} pairs of places may race and were not settled: too many accesses to try them all, or too little time"
        )?,
    }
    if stat("unknown_deadlocks") > 0 {
        writeln!(out, "{} possible deadlocks or stalls were not settled (see --budget)", stat("unknown_deadlocks"))?;
    }
    if stat("atomicity_unknown") > 0 {
        writeln!(out, "{} atomic blocks (with places that may interfere) were not settled", stat("atomicity_unknown"))?;
    }
    match stat("nondeterminism.unknown_pairs") {
        0 => {}
        1 => writeln!(
            out,
            "1 pair of a read and a write was not settled: too many accesses to try them all, or too little time"
        )?,
        n => writeln!(
            out,
            "{n} pairs of a read and a write were not settled: too many accesses to try them all, or too little time"
        )?,
    }
    if stat("windows") > 1 {
        writeln!(
            out,
            "looked at in {} windows: accesses that lie further apart were not compared (see --window)",
            stat("windows")
        )?;
    }
    if stat("cut_short") > 0 {
        writeln!(out, "cut short: not everything was looked at (see --budget)")?;
    }
    Ok(())
}

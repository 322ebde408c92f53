//! Findings for the terminal. Confirmed ones come first, a block each: the accesses are numbered (1) and (2), and the
//! last line is the command that replays it; other findings of what seems the same bug are lines in it. Then a line for
//! each predicted one, and how many are merely potential.

mod block;
mod coverage;
mod style;

use std::cmp::Reverse;
use std::io::{self, Write};

use reweave_model::{Kind, Novelty, Strength};
use reweave_trace::Language;

use crate::data::{Item, Report};
use crate::reads;
use crate::related::{self, Group};
use crate::source::Sources;

pub(crate) use block::also;
pub use block::headline;
pub use style::{Detail, Style};

/// What findings are shown with.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// Where the findings are, as the user names it.
    pub folder: &'a str,
    pub style: Style,
    pub sources: &'a Sources,
    /// Of the program: frames of its libraries are left out.
    pub language: &'a Language,
    /// The findings are bugs, or parts of them: what a bug is known as is said of all of them.
    pub findings: &'a [Item],
}

/// One finding, in full, with every frame.
pub fn write_item(item: &Item, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let style = style.with_detail(Detail::Full);
    Page { folder: "", style, sources: &Sources::default(), language: &Language::default(), findings: &[] }
        .write_item(item, out)
}

/// Everything, with a last line that counts.
pub fn write(report: &Report, folder: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    Page { folder, style, sources: &Sources::default(), language: &report.language, findings: &report.findings }
        .write(report, out)
}

/// The numbers of the analyses, each under the name of its analysis. A number's name says whose it is before the first
/// dot.
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

/// What fails a run only because somebody says so: each with the command that shows it.
pub fn write_denied(report: &Report, folder: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let denied = report.findings.iter().filter(|item| item.is_information() && item.is_proven() && item.is_news());
    for item in denied {
        let replay = match item.schedule.is_some() {
            true => format!(": reweave replay {folder}/{}", item.id),
            false => String::new(),
        };
        writeln!(out, "{}", style.wrap(&format!("denied: [{}] {}{replay}", item.id, item.summary), 4))?;
    }
    Ok(())
}

impl Page<'_> {
    pub fn write(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        if self.style.detail > Detail::Quiet {
            self.write_findings(report, out)?;
        }
        if self.style.detail == Detail::Full {
            reads::write_overview(report, out)?;
        }
        self.write_counts(report, out)?;
        if self.style.detail > Detail::Quiet {
            write_undecided(report, out)?;
        }
        if self.style.detail == Detail::Full { write_undecided_reads(report, out) } else { Ok(()) }
    }

    /// Blocks of confirmed findings, then lines of predicted ones. What is one bug to people stands together, unless
    /// everything is asked for.
    fn write_findings(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let full = self.style.detail == Detail::Full;
        for proven in [true, false] {
            let shown = report.findings.iter().filter(|item| item.is_proven() == proven);
            let told = |item: &Item| item.is_news() && item.is_proven() && !item.is_information();
            let shown = shown.filter(|item| full || told(item));
            let mut shown: Vec<&Item> = shown.collect();
            shown.sort_by_key(|item| (item.is_information(), Reverse(item.strength)));
            let alone = |item| Group { lead: item, others: Vec::new() };
            let groups = if full { shown.into_iter().map(alone).collect() } else { related::groups(shown) };
            let confirmed = |group: &&Group<'_>| group.lead.strength == Strength::Confirmed;
            let only_minor = groups.iter().filter(confirmed).all(Group::is_minor);
            let mut lines = 0;
            for group in groups {
                if full || group.lead.strength == Strength::Confirmed && (only_minor || !group.is_minor()) {
                    self.write_group(&group, out)?;
                    writeln!(out)?;
                } else {
                    self.write_line(&group, out)?;
                    lines += 1;
                }
            }
            if lines > 0 {
                writeln!(out)?;
            }
        }
        Ok(())
    }

    fn write_counts(&self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let told = || report.findings.iter().filter(|item| item.suppressed.is_none());
        let count = |strength| told().filter(|item| item.strength == strength && !item.is_information()).count();
        let (confirmed, predicted, potential) =
            (count(Strength::Confirmed), count(Strength::Predicted), count(Strength::Potential));
        if report.findings.iter().all(Item::is_information) {
            match &report.unchecked {
                Some(why) => writeln!(out, "not checked: {why}")?,
                None => writeln!(out, "no findings")?,
            }
            if let Some(covered) = coverage::text(report).filter(|_| self.style.detail > Detail::Quiet) {
                writeln!(out, "covered: {covered}")?;
            }
        } else {
            let list = potential > 0 && self.style.detail == Detail::Normal && !self.folder.is_empty();
            let list =
                if list { format!(" (`reweave report {} --verbose` lists them)", self.folder) } else { String::new() };
            // What is one bug to people is one.
            let proven = told().filter(|item| item.is_news() && item.is_proven() && !item.is_information());
            let (groups, proven) = (related::groups(proven.clone()).len(), proven.count());
            let bugs = match groups {
                _ if groups == proven => String::new(),
                1 => " (probably 1 bug)".into(),
                _ => format!(" (probably {groups} bugs)"),
            };
            writeln!(out, "{confirmed} confirmed, {predicted} predicted{bugs}, {potential} potential{list}")?;
            if let Some(why) = &report.unchecked {
                writeln!(out, "not everything was checked: {why}")?;
            }
        }
        let reads = told().filter(|item| item.is_information()).count();
        if reads > 0 {
            let list = self.style.detail == Detail::Normal && !self.folder.is_empty();
            let list =
                if list { format!(": `reweave report {} --verbose` lists them", self.folder) } else { String::new() };
            let what = if reads == 1 { "1 read depends" } else { &format!("{reads} reads depend") };
            writeln!(out, "{what} on the schedule (information, no defect){list}")?;
        }
        let suppressed = report.findings.iter().filter(|item| item.suppressed.is_some()).count();
        if suppressed > 0 {
            writeln!(out, "{suppressed} suppressed")?;
        }
        if let Some(against) = &report.baseline {
            let count = |state| told().filter(|item| item.baseline == Some(state) && !item.is_information()).count();
            let gone = || against.gone.iter().filter(|gone| gone.kind != Kind::Nondeterminism);
            writeln!(
                out,
                "against {}: {} new, {} known, {} gone",
                against.file,
                count(Novelty::New),
                count(Novelty::Known),
                gone().count()
            )?;
            if self.style.detail > Detail::Quiet {
                for gone in gone() {
                    writeln!(out, "  gone: {} ({})", gone.summary, gone.kind)?;
                }
            }
        }
        Ok(())
    }
}

/// What could not be settled.
pub(crate) fn write_undecided(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let stat = |name: &str| report.stats.get(name).copied().unwrap_or(0);
    if stat("left_out") > 0 {
        writeln!(out, "{} more findings between other places were left out", stat("left_out"))?;
    }
    match stat("ignored_functions") {
        0 => {}
        1 => writeln!(
            out,
            "accesses of 1 function, and of what it calls, were left out (--ignore): races there were not looked for"
        )?,
        n => writeln!(
            out,
            "accesses of {n} functions, and of what they call, were left out (--ignore): races there were not looked for"
        )?,
    }
    // Whoever has seen every class of executions has seen every race.
    let unsettled = if stat("explored_all") > 0 { 0 } else { stat("unknown_pairs") };
    match unsettled {
        0 => {}
        1 => writeln!(
            out,
            "1 pair of places may race, but this is undecided: too many accesses to try them all, or too little time"
        )?,
        n => writeln!(
            out,
            "{n} pairs of places may race, but this is undecided: too many accesses to try them all, or too little time"
        )?,
    }
    if stat("unknown_deadlocks") > 0 {
        writeln!(out, "{} possible deadlocks or stalls are undecided (see --budget)", stat("unknown_deadlocks"))?;
    }
    if stat("stalls_not_looked_for") > 0 {
        writeln!(
            out,
            "threads that wait for something that no thread will do were not searched for everywhere: that needs a \
             whole run in which every thread began"
        )?;
    }
    if stat("atomicity_unknown") > 0 {
        match stat("atomicity_unknown") {
            1 => writeln!(out, "1 atomic block (with places that may interfere) is undecided")?,
            n => writeln!(out, "{n} atomic blocks (with places that may interfere) are undecided")?,
        }
    }
    match if stat("explored_all") > 0 { 0 } else { stat("partly_looked_at") } {
        0 => {}
        1 => writeln!(out, "1 run under another schedule was checked only in part (see --budget)")?,
        n => writeln!(out, "{n} runs under other schedules were checked only in part (see --budget)")?,
    }
    if stat("windows") > 1 {
        writeln!(
            out,
            "analysed in {} windows: accesses further apart were not compared (`reweave predict --window N` \
             compares more)",
            stat("windows")
        )?;
    }
    if stat("memory_limit") > 0 {
        writeln!(out, "memory was at its limit, so some work was skipped (see --max-memory)")?;
    }
    if stat("cut_short") > 0 {
        let unread = match stat("unread_events") {
            0 => "all events were read, but not every question about them was asked".to_owned(),
            unread => format!("{unread} events were not read by every analysis"),
        };
        writeln!(out, "cut short: {unread} (see --budget)")?;
    }
    Ok(())
}

/// The same of reads that depend on the schedule: for those who ask.
fn write_undecided_reads(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    match report.stats.get("nondeterminism.unknown_pairs").copied().unwrap_or(0) {
        0 => Ok(()),
        1 => writeln!(
            out,
            "1 pair of a read and a write is undecided: too many accesses to try them all, or too little time"
        ),
        n => writeln!(
            out,
            "{n} pairs of a read and a write are undecided: too many accesses to try them all, or too little time"
        ),
    }
}

//! Nondeterministic reads in words: which write a read can see instead, what the value feeds, and, for the eye, all of
//! them by location.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use reweave_model::{Feeds, Finding};

use crate::data::{AccessItem, Item, Report, ViewItem};
use crate::describe::file_name;
use crate::resolve::Source;

pub fn view_item(finding: &Finding, source: &dyn Source) -> Option<ViewItem> {
    let view = finding.view?;
    let pc = finding.accesses().first().map(|access| access.pc);
    let variable = source.address(finding).map(|addr| source.describer().accessed(addr, pc)).unwrap_or_default();
    let number = |at: Option<usize>| at.map(|at| at + 1);
    Some(ViewItem {
        variable,
        read: number(view.read),
        seen: number(view.seen),
        other: number(view.other),
        seen_value: view.seen_value,
        other_value: view.other_value,
        feeds: view.feeds,
    })
}

/// `bank.c:21`, or the function where no line is known.
fn line(access: &AccessItem) -> String {
    let location = &access.location;
    if location.line == 0 {
        location.function.clone()
    } else {
        format!("{}:{}", file_name(&location.file), location.line)
    }
}

fn other(view: &ViewItem, accesses: &[AccessItem]) -> String {
    match view.other {
        Some(other) => format!("the {} of {}", accesses[other - 1].op, line(&accesses[other - 1])),
        None => "the initial value".to_owned(),
    }
}

/// `this read of bank.c:21 can also see the write of bank.c:34`
pub fn summary(view: &ViewItem, accesses: &[AccessItem]) -> String {
    let other = other(view, accesses);
    let of = if view.variable.is_empty() { String::new() } else { format!(" ({})", view.variable) };
    match view.read {
        Some(read) => {
            let access = &accesses[read - 1];
            format!("this {} of {}{of} can also see {other}", access.op, line(access))
        }
        None => format!("the run can also end with {other}{of}"),
    }
}

/// What an access is to a finding, after its name.
pub fn role(item: &Item, number: usize) -> &'static str {
    match &item.view {
        Some(view) if view.seen == Some(number) => ", seen in the trace,",
        Some(view) if view.other == Some(number) => ", can be seen instead,",
        _ => "",
    }
}

/// Values and what follows, for the end of a finding.
pub fn write(view: &ViewItem, out: &mut dyn Write) -> io::Result<()> {
    if view.read.is_some() && view.seen.is_none() {
        writeln!(out, "  in the trace it saw the initial value")?;
    }
    match (view.seen_value, view.other_value) {
        (Some(seen), Some(other)) if seen == other => writeln!(out, "  the value is the same: {seen}")?,
        (Some(seen), Some(other)) => writeln!(out, "  the value was {seen} and can be {other}")?,
        (Some(seen), None) => writeln!(out, "  the value was {seen} and can be an unknown value")?,
        _ => {}
    }
    match view.feeds {
        Feeds::Choice => {
            writeln!(out, "  a branch or a computed address follows: the thread may continue differently")?
        }
        Feeds::Output => writeln!(out, "  output follows before any branch: the difference may be visible outside")?,
        Feeds::Failure => writeln!(out, "  the run failed before any branch: this value may be the reason")?,
        Feeds::Nothing | Feeds::Unknown => {}
    }
    Ok(())
}

/// Per variable and line that reads it, everything it can see instead; nothing if there are no such findings.
pub fn write_overview(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut reads: BTreeMap<(&str, String), (BTreeSet<String>, bool)> = BTreeMap::new();
    for item in &report.findings {
        let Some(view) = &item.view else { continue };
        let what = match view.read {
            Some(read) => format!("{} of {}", item.accesses[read - 1].op, line(&item.accesses[read - 1])),
            None => "the end of the run".to_owned(),
        };
        let (others, steers) = reads.entry((&view.variable, what)).or_default();
        others.insert(other(view, &item.accesses));
        *steers |= matches!(view.feeds, Feeds::Choice | Feeds::Output | Feeds::Failure);
    }
    if reads.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "reads that depend on the schedule, by location (! where the value decides a branch or leaves the program):"
    )?;
    let mut last = None;
    for ((variable, what), (others, steers)) in reads {
        if last != Some(variable) {
            writeln!(out, "  {}", if variable.is_empty() { "memory without a name" } else { variable })?;
        }
        let others: Vec<String> = others.into_iter().collect();
        writeln!(out, "    {} {what} can also see {}", if steers { '!' } else { ' ' }, others.join(", "))?;
        last = Some(variable);
    }
    writeln!(out)
}

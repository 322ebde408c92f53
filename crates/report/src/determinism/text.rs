//! What can differ, as text.

use std::io::{self, Write};

use super::{
    AccessAt, ChoiceAt, ChoiceKind, DerivedFrom, Determinism, LocationItem, Manner, OutputItem, ReadItem, Same,
    Verdict, Why,
};

/// How much is shown.
#[derive(Clone, Debug, Default)]
pub struct TextOptions {
    /// Also what is fixed, by name.
    pub all: bool,
    /// Everything about locations of this name.
    pub explain: Option<String>,
}

/// Reads and outputs that are told of one location before the rest is counted.
const MOST: usize = 3;
/// Names of fixed locations before the rest is counted.
const MOST_NAMES: usize = 3;

pub fn write(determinism: &Determinism, shown: &TextOptions, out: &mut dyn Write) -> io::Result<()> {
    let threads: Vec<String> = determinism
        .threads
        .iter()
        .map(|thread| {
            let started = thread.started.as_ref().map_or_else(String::new, |at| format!("@{at}"));
            format!("{}{started}{}", thread.name, if thread.many { " (many)" } else { "" })
        })
        .collect();
    writeln!(out, "threads     {}", threads.join(" · "))?;
    let nothing_differs = determinism.locations.iter().all(|item| item.verdict == Verdict::Proved)
        && determinism.outputs.iter().all(|output| output.verdict == Verdict::Proved);
    let is_settled = determinism.not_understood.is_empty() && determinism.gave_up.is_none();
    if threads.len() == 1 && is_settled && nothing_differs {
        writeln!(out, "one thread: nothing can differ")?;
    }
    let is_meant = |item: &&LocationItem| shown.explain.as_ref().is_none_or(|name| item.name == *name);
    let by =
        |verdict: Verdict| determinism.locations.iter().filter(move |item| item.verdict == verdict).filter(is_meant);
    let most = if shown.all || shown.explain.is_some() { usize::MAX } else { MOST };
    for item in by(Verdict::CanDiffer) {
        can_differ(item, most, out)?;
    }
    for item in by(Verdict::Proved).filter(|item| item.same.is_some()) {
        let because = match item.same {
            Some(Same::Constant) => "the same constant in either order",
            _ => "the updates add up to the same in any order",
        };
        writeln!(out, "SAME VALUE  {}   {because}", named(item))?;
    }
    let mut fixed: Vec<&str> =
        by(Verdict::Proved).filter(|item| item.same.is_none()).map(|item| item.name.as_str()).collect();
    fixed.sort_unstable();
    fixed.dedup();
    names("FIXED       ", &fixed, shown.all, out)?;
    let unknown: Vec<&str> = by(Verdict::Unknown).map(|item| item.name.as_str()).collect();
    names("UNKNOWN     ", &unknown, shown.all, out)?;
    let (differing, same): (Vec<&OutputItem>, Vec<&OutputItem>) =
        determinism.outputs.iter().partition(|output| output.verdict != Verdict::Proved);
    for output in differing.iter().take(most) {
        writeln!(out, "OUTPUT      {}   {}", output.at.short(), output_why(output))?;
    }
    if differing.len() > most {
        writeln!(out, "            and {} more (--all lists them)", differing.len() - most)?;
    }
    if differing.is_empty() && !same.is_empty() {
        writeln!(out, "OUTPUT      the same in every run ({} places)", same.len())?;
    }
    for one in &determinism.not_understood {
        writeln!(out, "not understood: {} ({}): everything that it can reach is UNKNOWN", one.what, one.at)?;
    }
    if let Some(why) = &determinism.gave_up {
        writeln!(out, "not finished: {why}: everything undecided is UNKNOWN")?;
    }
    for assumption in determinism.assumptions.iter().filter(|_| shown.all || shown.explain.is_some()) {
        writeln!(out, "assumed: {assumption}")?;
    }
    Ok(())
}

fn named(item: &LocationItem) -> String {
    match &item.object {
        Some(object) => format!("{} (object of {object})", item.name),
        None => item.name.clone(),
    }
}

fn names(title: &str, all: &[&str], everything: bool, out: &mut dyn Write) -> io::Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    if everything || all.len() <= MOST_NAMES + 1 {
        return writeln!(out, "{title}{}", all.join(", "));
    }
    let rest = all.len() - MOST_NAMES;
    writeln!(out, "{title}{} and {rest} more locations (--all lists them)", all[..MOST_NAMES].join(", "))
}

fn can_differ(item: &LocationItem, most: usize, out: &mut dyn Write) -> io::Result<()> {
    let race = if item.race.is_some() { "   (data race)" } else { "" };
    writeln!(out, "CAN DIFFER  {}{race}", named(item))?;
    for read in item.reads.iter().take(most) {
        one_read(read, out)?;
    }
    if item.reads.len() > most {
        writeln!(out, "   and {} more reads (--explain {})", item.reads.len() - most, item.name)?;
    }
    if let Some(weak) = item.weak {
        let answer = if weak { "all values are in one class" } else { "values may be in different classes" };
        writeln!(out, "   weak   {answer}")?;
    }
    Ok(())
}

fn access(at: &AccessAt) -> String {
    format!("{} {} by {}", at.short(), at.function, at.by)
}

fn one_read(read: &ReadItem, out: &mut dyn Write) -> io::Result<()> {
    let what = if read.is_end { "end " } else { "read" };
    let sees = read.sees.as_ref().map_or_else(String::new, |value| format!("   sees {value}"));
    let mut sources: Vec<String> = read.sources.iter().map(access).collect();
    if sources.len() > 3 {
        let rest = sources.len() - 3;
        sources.truncate(3);
        sources.push(format!("{rest} more"));
    }
    let from = if sources.is_empty() { String::new() } else { format!("   written at {}", sources.join(", or ")) };
    match read.is_end {
        true => writeln!(out, "   {what}   when the program ends{sees}{from}")?,
        false => writeln!(out, "   {what}   {}{sees}{from}", access(&read.at))?,
    }
    let why = match (&read.why, &read.pair) {
        (Why::Choice, Some([one, other])) => {
            let who = match one.by == other.by {
                true => format!("two of {} may be there at the same time", one.by),
                false => format!("{} and {} may be there at the same time", one.by, other.by),
            };
            let lock = if read.locked { "; a lock keeps them apart but does not order them" } else { "" };
            format!("{} and {}: {who}{lock}", one.short(), other.short())
        }
        (Why::Choice, None) => "another thread may come before or after it".to_owned(),
        (Why::Derived, _) => match &read.derived {
            Some(derived) => derived_why(derived),
            None => "depends on a choice made elsewhere".to_owned(),
        },
        (Why::Unknown, _) => "code that is not understood may touch it".to_owned(),
    };
    writeln!(out, "   why    {why}")
}

fn derived_why(derived: &DerivedFrom) -> String {
    let what = match (derived.manner, &derived.write) {
        (Manner::Value, Some(write)) => format!("what is written at {}", write.short()),
        (Manner::Value, None) => "what is read".to_owned(),
        (Manner::Executed, Some(write)) => format!("whether it is written at {}", write.short()),
        (Manner::Executed, None) => "whether it is executed".to_owned(),
        (Manner::Place, Some(write)) => format!("which object or element is written at {}", write.short()),
        (Manner::Place, None) => "which object or element is read".to_owned(),
        (Manner::Ends, Some(write)) => return format!("the program may end before it is written at {}", write.short()),
        (Manner::Ends, None) => return "the program may end before".to_owned(),
    };
    match &derived.choice {
        Some(choice) => format!("{what} can depend on {}", choice_at(choice)),
        None => format!("{what} depends on a choice made elsewhere"),
    }
}

fn choice_at(choice: &ChoiceAt) -> String {
    let at = choice.at.short();
    let name = choice.name.as_deref();
    let named = name.map_or_else(String::new, |name| format!(" ({name})"));
    let call = name.unwrap_or("what is called");
    match choice.kind {
        ChoiceKind::Read => format!("the choice at {at}{named}"),
        ChoiceKind::Call => format!("what {call} returns at {at}"),
        ChoiceKind::ThreadName => format!("which name or number a thread has at {at}{named}"),
        ChoiceKind::Throws => format!("whether {call} throws at {at}"),
        ChoiceKind::Changed => format!("whether another thread changes meanwhile what is gone through at {at}{named}"),
        ChoiceKind::Race => format!("how a data race ends at {at}{named}"),
        ChoiceKind::Cancels => format!("whether a task is cancelled in time at {at}{named}"),
        ChoiceKind::NotUnderstood => format!("{call} at {at}, which is not understood"),
        ChoiceKind::Touched => {
            let code = match &choice.unknown[..] {
                [] => String::new(),
                [one] => format!(" ({} at {})", one.what, one.at),
                [one, rest @ ..] => format!(" ({} at {}, or {} more)", one.what, one.at, rest.len()),
            };
            format!("what is read at {at}{named}, which code that is not understood may touch{code}")
        }
    }
}

fn output_why(output: &OutputItem) -> String {
    let mut why = Vec::new();
    if output.tainted {
        why.push(match &output.choice {
            Some(choice) => format!("what is printed, or whether, can depend on {}", choice_at(choice)),
            None => "what is printed, or whether, depends on a choice".to_owned(),
        });
    }
    if let Some(other) = &output.order {
        match other == &output.at {
            true => why.push("two threads may print this in either order".to_owned()),
            false => why.push(format!("may come before or after what {} prints at {}", other.by, other.short())),
        }
    }
    if output.outlived {
        why.push("the program may end before".to_owned());
    }
    if why.is_empty() {
        why.push("code that is not understood decides it".to_owned());
    }
    why.join("; ")
}

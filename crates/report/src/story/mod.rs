//! A finding told as a story: what happens in the run that shows it, why that is possible, and what the recorded run
//! did instead. All of it is read off the runs; nothing is guessed about what the code means.

mod events;
mod instead;
mod steps;
mod why;

use std::io::{self, Write};

use crate::data::Item;
use crate::escape::printable;
use crate::view::Evidence;

pub(crate) use events::shared;
pub use steps::write as write_steps;

/// One thing that a thread does without another one coming in between, as far as the finding is concerned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoryStep {
    pub thread: u32,
    /// `T1 (deposit)`
    pub who: String,
    /// What it does.
    pub clauses: Vec<Clause>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clause {
    pub text: String,
    pub emphasis: Emphasis,
}

/// What makes a clause stand out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Emphasis {
    None,
    /// It is one of the accesses of the finding.
    Marked,
    /// What another thread wrote is lost.
    Lost,
}

impl StoryStep {
    fn text(&self) -> String {
        self.clauses.iter().map(|clause| clause.text.as_str()).collect::<Vec<_>>().join(",\n      ")
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Story {
    pub happenings: Vec<StoryStep>,
    /// No run did it: what happens is what was predicted.
    pub predicted: bool,
    /// What the program said meanwhile.
    pub printed: Vec<String>,
    pub why: Vec<String>,
    pub instead: Vec<String>,
    /// That is the recorded run's, too.
    pub recorded: bool,
}

pub fn of_item(item: &Item, evidence: &Evidence) -> Story {
    let failing = evidence.failing.as_ref();
    Story {
        happenings: evidence.happening().map(|run| events::happenings(item, run)).unwrap_or_default(),
        predicted: failing.is_none(),
        printed: evidence.printed.clone(),
        why: why::why(item),
        // Rows of ranks are in one of the orders that they could have had: there is nothing else that they did instead.
        instead: evidence
            .observed
            .as_ref()
            .filter(|_| item.accesses.iter().all(|access| access.rank.is_none()))
            .map(|run| instead::instead(item, run, evidence))
            .unwrap_or_default(),
        recorded: evidence.observed_did_it,
    }
}

impl Story {
    pub const fn title(&self) -> &'static str {
        if self.predicted { "What would happen" } else { "What happens" }
    }

    /// What is told beside what happens, where there is something to tell.
    pub fn sections(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        let all = [
            ("What it prints", &self.printed),
            ("Why it is possible", &self.why),
            (
                if self.recorded { "What the recorded run did" } else { "What the recorded run did instead" },
                &self.instead,
            ),
        ];
        all.into_iter().map(|(title, lines)| (title, &lines[..])).filter(|(_, lines)| !lines.is_empty())
    }

    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.happenings.is_empty() {
            writeln!(out, "\n{}", self.title())?;
            for (number, happening) in self.happenings.iter().enumerate() {
                writeln!(out, "  {:>2}. {} {}", number + 1, printable(&happening.who), printable(&happening.text()))?;
            }
        }
        for (title, lines) in self.sections() {
            writeln!(out, "\n{title}")?;
            for line in lines {
                writeln!(out, "  {}", printable(line))?;
            }
        }
        Ok(())
    }
}

/// `bank.c:24`, or the function where no line is known.
pub(crate) fn at(place: &crate::data::Location) -> String {
    if place.line == 0 {
        place.function.clone()
    } else {
        format!("{}:{}", crate::describe::file_name(&place.file), place.line)
    }
}

/// `(1)`, `(1) and (2)`, `(1), (2) and (3)`
pub(crate) fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

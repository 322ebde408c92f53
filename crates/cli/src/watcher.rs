//! What somebody sees while `reweave test` runs: the phase, how far it is, the time that is left, and findings as soon
//! as a run did them.

use std::time::Instant;

use reweave_hunt::pipeline::{Plan, Stage};
use reweave_report::text::{self, Detail};
use reweave_report::{Item, Style, related};

use crate::output::{self, counted};
use crate::progress::Bar;
use crate::triage::TriageFiles;

pub struct Watcher<'a> {
    judge: &'a TriageFiles,
    detail: Detail,
    deadline: Instant,
    /// From the recorded run on: until then the terminal is the program's.
    bar: Option<Bar>,
    /// Prediction and confirmation are parts of exploring and of other schedules, not phases of their own.
    within: Option<&'static str>,
    announced: Vec<Item>,
}

impl<'a> Watcher<'a> {
    pub fn new(plan: &Plan, judge: &'a TriageFiles, detail: Detail) -> Self {
        let deadline = Instant::now() + plan.budget;
        Self { judge, detail, deadline, bar: None, within: None, announced: Vec::new() }
    }

    pub fn see(&mut self, stage: Stage<'_>) {
        match stage {
            Stage::Recorded(run) => {
                if self.detail == Detail::Quiet {
                    output::run_warnings(run);
                } else {
                    output::run_summary(run);
                    self.bar = Some(Bar::until(self.deadline));
                }
            }
            Stage::Predicting(done) if self.within.is_none() => {
                self.phase("predicting", (done * 1000.0) as u64, 1000, "");
            }
            Stage::Confirming { done, total } if self.within.is_none() => {
                self.phase("confirming", done as u64, total as u64, &format!("{done} of {total}"));
            }
            Stage::Predicting(_) | Stage::Confirming { .. } => {}
            Stage::Exploring(explored) => {
                self.within = Some("exploring");
                let classes = counted(explored.classes, "class of executions", "classes of executions");
                let note = format!("{}, {classes}", counted(explored.runs, "run", "runs"));
                // How much there is to explore is not known before it is done.
                self.phase("exploring", 0, 1, &note);
            }
            Stage::Trying { done, total } => {
                self.within = Some("other schedules");
                self.phase("other schedules", done.as_millis() as u64, total.as_millis() as u64, "");
            }
            Stage::Stopped(error) => {
                self.print_line(&format!("reweave: warning: no further schedules were tried: {error}"));
            }
            Stage::NewFinding(item) => self.found(item),
        }
    }

    pub fn done(self) {
        if let Some(bar) = self.bar {
            bar.done();
        }
    }

    fn phase(&self, what: &'static str, done: u64, total: u64, note: &str) {
        if let Some(bar) = &self.bar {
            bar.phase(what, done, total, note);
        }
    }

    fn print_line(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.print_line(line),
            None => eprintln!("{line}"),
        }
    }

    /// One line for each bug, unless nobody wants to hear of it. What is mere information is counted at the end.
    fn found(&mut self, item: &Item) {
        let same = |announced: &Item| {
            announced.fingerprint == item.fingerprint || related::relation(announced, item).is_some()
        };
        if self.detail == Detail::Quiet || item.is_information() || !self.judge.is_news(item) {
            return;
        }
        // What is one bug with something that was told is known, and so is what is one bug with that.
        if !self.announced.iter().any(same) {
            self.print_line(&Style::for_stderr().wrap(&format!("reweave: confirmed {}", text::headline(item)), 4));
        }
        self.announced.push(item.clone());
    }
}

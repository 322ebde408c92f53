//! What a test works with: findings that are tried, and what came of it. Items of a report are made from them when one
//! is written.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

use reweave_model::{BlockSource, EventId, Finding, Harm, Kind, Strength};
use reweave_report::data::{AccessItem, AttemptCounts, Facts, Location, Operation, RECORDED_RUN};
use reweave_report::resolve::{self, Description};
use reweave_report::{Item, describe};
use reweave_trace::{Outcome, Trace};

use crate::confirm::{self, Ending, Goal, Missed};
use crate::replay::Repeats;
use reweave_launch::Result;

/// A finding, and how far it is settled.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Also the name of its folder.
    pub id: u32,
    pub finding: Finding,
    /// The same in names and lines, as the run has it that did it.
    pub description: Description,
    pub account: Wording,
    pub state: State,
    /// What it took to make it happen, if somebody tried.
    pub tries: Option<AttemptCounts>,
}

/// What a candidate is told by.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wording {
    /// What the finding is about.
    Finding,
    /// That a run failed.
    Failure { run: WhichRun, outcome: Outcome },
    /// That a run hung: by what its threads wait for.
    Hang { run: WhichRun },
    /// That a run goes round loops for ever.
    Endless,
    /// That freed memory is used, or freed once more.
    FreedMemory { twice: bool },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhichRun {
    Recorded,
    /// It takes a special schedule.
    OtherSchedule,
}

#[derive(Clone, Debug)]
pub enum State {
    /// No run did it, or none that can be shown.
    Open {
        why: Option<Unconfirmed>,
        /// The file with the predicted order.
        witness: Option<String>,
    },
    /// A run did it, and its folder is kept.
    Confirmed(Box<Confirmed>),
}

/// The run that did it.
#[derive(Clone, Debug)]
pub struct Confirmed {
    pub goal: Goal,
    pub ending: Ending,
    /// Of its schedule, if that was shrunk.
    pub preemptions: Option<u32>,
    /// Whether it happens again.
    pub repeats: Repeats,
}

/// Why a candidate is open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unconfirmed {
    /// A run did it, and did something else when it was replayed.
    NotReplayed,
    /// A run did it, and nobody says that it should not be.
    Harmless,
    /// A run did it, and failed as the program does without it.
    AsEver,
    Interrupted,
    OutOfTime,
    /// Another one is confirmed, and the first was asked for.
    NotNeeded,
    Missed(Missed),
}

const NOT_REPLAYED: &str =
    "a run did it, but not every replay does: it also depends on what comes from outside the program";
const NO_TIME_TO_TRY: &str = "it was not tried: no time was left for it, or the test ended early because others were \
     confirmed (--explore continues)";
const NO_TIME_TO_REPLAY: &str = "a run did it, and no time was left to replay it (see --budget)";

impl Unconfirmed {
    fn text(&self) -> String {
        match self {
            Self::NotReplayed => NOT_REPLAYED.into(),
            Self::Harmless => "a run did it, with no visible effect".into(),
            Self::AsEver => "a run did it, and failed as runs do that do not do it".into(),
            Self::Interrupted => "it was interrupted".into(),
            Self::OutOfTime => NO_TIME_TO_TRY.into(),
            Self::NotNeeded => "it was not tried: another one was confirmed first (--fail-fast)".into(),
            Self::Missed(missed) => missed.to_string(),
        }
    }
}

impl Candidate {
    /// As the run has it that it was found in. Events are kept of the recorded run only: no other is kept as it was.
    pub fn found_in(trace: &Trace, id: u32, finding: &Finding, folder: &Path) -> Self {
        let mut description = resolve::describe(finding, trace);
        if trace.path().parent() != Some(folder) {
            description.accesses.iter_mut().for_each(|access| access.event = None);
        }
        Self {
            id,
            finding: finding.clone(),
            description,
            account: Wording::Finding,
            state: State::Open { why: None, witness: None },
            tries: None,
        }
    }

    #[must_use]
    pub fn open(self, why: Unconfirmed, witness: Option<String>) -> Self {
        Self { state: State::Open { why: Some(why), witness }, ..self }
    }

    /// Where the run that did it is kept.
    pub fn folder(&self, all: &Path) -> PathBuf {
        all.join(self.id.to_string())
    }

    pub fn fingerprint(&self) -> &str {
        &self.description.fingerprint
    }

    /// Nobody has tried it: there was no time.
    pub const fn is_out_of_time(&self) -> bool {
        matches!(self.state, State::Open { why: Some(Unconfirmed::OutOfTime), .. })
    }

    pub const fn done(&self) -> Option<&Confirmed> {
        match &self.state {
            State::Confirmed(done) => Some(done),
            State::Open { .. } => None,
        }
    }

    /// The run that did it, if it does it every time.
    pub fn confirmed(&self) -> Option<&Confirmed> {
        self.done().filter(|done| done.repeats == Repeats::Yes)
    }

    pub fn harm(&self) -> Option<Harm> {
        self.done().map(|done| done.ending.harm)
    }

    /// What a run did is confirmed if it is seen to do it again. Otherwise its trace shows it, and that is all there
    /// is.
    pub fn strength(&self) -> Strength {
        match self.done() {
            Some(done) if done.repeats == Repeats::Yes => Strength::Confirmed,
            Some(_) => self.finding.strength.min(Strength::Predicted),
            None => self.finding.strength,
        }
    }

    pub fn rank(&self) -> Rank {
        let is_guessed = self.finding.block.as_ref().is_some_and(|block| !block.declared);
        let places = self.finding.accesses().len();
        let telling = Telling::of(self.finding.kind, is_guessed, places, self.failed_as_recorded());
        Rank::new(self.finding.kind, self.strength(), self.harm(), telling)
    }

    /// A race by the memory model alone is worth less than one whose accesses come next to each other.
    pub const fn is_less_than(&self, finding: &Finding) -> bool {
        self.finding.weak_order && !finding.weak_order
    }

    /// Of two that are the same finding.
    pub fn gives_way_to(&self, other: &Self) -> bool {
        match (self.confirmed(), other.confirmed()) {
            (Some(_), Some(_)) if self.is_less_than(&other.finding) => true,
            // Why it did not happen says more than that nobody tried.
            _ if self.is_out_of_time() && !other.is_out_of_time() => other.rank() <= self.rank(),
            _ => other.rank() < self.rank(),
        }
    }

    /// What threads wait for, and where, in a predicted deadlock that no run did.
    pub fn stuck_at(&self) -> Option<HashSet<(Operation, Location)>> {
        let is_open = self.finding.kind == Kind::Deadlock && self.done().is_none();
        is_open.then(|| self.places())
    }

    /// The same in a run that hung.
    pub fn hung_at(&self) -> Option<HashSet<(Operation, Location)>> {
        let is_hang = matches!(self.account, Wording::Hang { .. }) && self.confirmed().is_some();
        is_hang.then(|| self.places())
    }

    fn places(&self) -> HashSet<(Operation, Location)> {
        self.description.accesses.iter().map(|at| (at.op.clone(), at.location.clone())).collect()
    }

    fn failed_as_recorded(&self) -> bool {
        matches!(self.account, Wording::Failure { run: WhichRun::Recorded, .. })
    }

    /// Puts the accesses of another run in the place of those of the recorded one, whose events stay known where the
    /// same thread did the same.
    pub fn restate(&mut self, mut accesses: Vec<AccessItem>) {
        let before = &self.description.accesses;
        for (at, new) in accesses.iter_mut().enumerate() {
            let same = |old: &&AccessItem| (old.thread, &old.op, &old.location) == (new.thread, &new.op, &new.location);
            let same_place = before.get(at).filter(same);
            new.event = same_place.or_else(|| before.iter().find(same)).and_then(|old| old.event);
        }
        self.description.accesses = accesses;
    }

    /// Describes it as the run has it that did it: who, where and holding what.
    pub fn restate_from(&mut self, run: &Trace, events: Vec<Option<EventId>>) -> Result<()> {
        let Some(events) = events.into_iter().collect::<Option<Vec<EventId>>>() else { return Ok(()) };
        // What a read can see instead is told of the run in which it saw something else.
        if self.finding.kind == Kind::Nondeterminism || events.len() != self.finding.accesses().len() {
            return Ok(());
        }
        let found = reweave_predict::accessors(run, events.iter().copied().collect())?;
        let accesses = events.iter().filter_map(|event| found.get(event).cloned()).collect();
        let done = resolve::describe(&self.finding.in_run(accesses), run);
        // A block is the same in every run, and is named by addresses of the other one.
        if self.finding.block.is_none() {
            self.description.summary = done.summary;
        }
        self.restate(done.accesses);
        Ok(())
    }

    /// As a report has it.
    pub fn item(&self) -> Item {
        let item = self.description.clone().item(self.id, &self.finding);
        let facts = Facts { failed_as_recorded: self.failed_as_recorded(), ..item.facts.clone() };
        let item = Item { strength: self.strength(), summary: self.summary(), tries: self.tries, facts, ..item };
        match &self.state {
            State::Open { why, witness } => {
                Item { why_unconfirmed: why.as_ref().map(Unconfirmed::text), witness: witness.clone(), ..item }
            }
            State::Confirmed(done) => Item {
                schedule: self.confirmed().map(|_| format!("{}/{}", self.id, confirm::SCHEDULE)),
                outcome: Some(done.ending.text.clone()),
                harm: Some(done.ending.harm),
                turn: done.ending.turn,
                why_unconfirmed: self.why_not_repeated(done.repeats),
                preemptions: done.preemptions,
                facts: Facts { ended: done.ending.by_itself(), ..item.facts.clone() },
                ..item
            },
        }
    }

    fn why_not_repeated(&self, repeats: Repeats) -> Option<String> {
        let why = match repeats {
            Repeats::Yes => return None,
            Repeats::No => NOT_REPLAYED,
            Repeats::Untried => NO_TIME_TO_REPLAY,
        };
        Some(format!("{why}; its trace is kept in folder {}", self.id))
    }

    fn summary(&self) -> String {
        let which = |run| match run {
            WhichRun::Recorded => RECORDED_RUN,
            WhichRun::OtherSchedule => "a run under another schedule",
        };
        match &self.account {
            Wording::Finding => self.description.summary.clone(),
            Wording::Failure { run, outcome } => {
                format!("{} {}", which(*run), describe::outcome(outcome).unwrap_or_default())
            }
            Wording::Hang { run } => format!("{} hung: {}", which(*run), self.waits()),
            Wording::Endless => format!("a run does not end: {}", self.waits()),
            Wording::FreedMemory { twice } => format!("the program {}", confirm::freed_text(*twice)),
        }
    }

    /// What its threads wait for.
    fn waits(&self) -> String {
        let wait = |at: &AccessItem| format!("T{} has to {}", at.thread, at.op);
        describe::some(self.description.accesses.iter().map(wait))
    }
}

/// How much a finding says of what went wrong, the most first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Telling {
    /// Or that the recorded run failed, which takes no special schedule.
    Cause,
    /// A run failed, and it is known who did what where: freed the memory that another uses, say.
    Places,
    /// A block that nobody declared was torn.
    Guess,
    /// A run failed.
    Outcome,
}

impl Telling {
    fn of(kind: Kind, is_guessed: bool, places: usize, failed_as_recorded: bool) -> Self {
        match kind {
            Kind::Failure if failed_as_recorded => Self::Cause,
            Kind::Failure if places > 1 => Self::Places,
            Kind::Failure => Self::Outcome,
            _ if is_guessed => Self::Guess,
            _ => Self::Cause,
        }
    }
}

/// Defects before information, then the surest first, and of those the worst; that a run failed comes behind what
/// explains it. The least comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Rank {
    is_information: bool,
    strength: Reverse<Strength>,
    /// Of what no run did nobody knows the harm.
    is_harm_unknown: bool,
    harm: Option<Harm>,
    telling: Telling,
}

impl Rank {
    fn new(kind: Kind, strength: Strength, harm: Option<Harm>, telling: Telling) -> Self {
        Self {
            is_information: kind == Kind::Nondeterminism,
            strength: Reverse(strength),
            is_harm_unknown: harm.is_none(),
            harm,
            telling,
        }
    }

    /// Of a finding in an earlier report.
    pub fn of_item(item: &Item) -> Self {
        let is_guessed = item.block == Some(BlockSource::Inferred);
        let telling = Telling::of(item.kind, is_guessed, item.accesses.len(), item.facts.failed_as_recorded);
        Self::new(item.kind, item.strength, item.harm, telling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_most_comes_first() {
        let of = |kind, is_guessed, places| {
            let telling = Telling::of(kind, is_guessed, places, false);
            Rank::new(kind, Strength::Confirmed, Some(Harm::Crash), telling)
        };
        let race = of(Kind::Race, false, 2);
        let freed_twice = of(Kind::Failure, false, 2);
        let guess = of(Kind::Atomicity, true, 4);
        let crash = of(Kind::Failure, false, 1);
        assert!(race < freed_twice && freed_twice < guess && guess < crash);
        assert_eq!(race, of(Kind::Atomicity, false, 4), "a declared block is what somebody wants");
    }
}

//! When a test ends before its time is over: the budget is a ceiling. With a bug in hand, it goes on only as long as it
//! keeps finding others.

use std::time::{Duration, Instant};

use reweave_model::Kind;

use super::Plan;
use super::candidate::Candidate;
use crate::budget;

/// What ends a search before its time is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopRule {
    /// The first finding that is confirmed.
    AtFirstFailure,
    /// Enough of them, and nothing new for a while.
    WhenQuiet,
    /// Nothing: whoever says that something is gone has looked for it all the time.
    AtDeadline,
}

/// Why a test ended before its time was over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopReason {
    /// A defect is confirmed, and no other one was asked for.
    FirstFailure,
    /// A defect is confirmed, and for so long nothing else turned up.
    Quiet(Duration),
    /// So many other schedules in a row showed nothing new.
    NothingNew { schedules: u32 },
}

/// What it takes to know.
#[derive(Clone, Copy, Debug)]
pub struct IdleTimer {
    pub began: Instant,
    /// When the last finding turned up that is confirmed.
    pub news: Instant,
}

impl IdleTimer {
    pub fn new() -> Self {
        let now = Instant::now();
        Self { began: now, news: now }
    }

    /// After how long the last finding was confirmed.
    pub fn last_found(&self) -> Option<Duration> {
        Some(self.news - self.began).filter(|after| !after.is_zero())
    }

    /// How long it waits for the next one: longer where the first took long.
    fn span(&self) -> Duration {
        budget::QUIET.max((self.news - self.began) / budget::QUIET_SHARE)
    }

    /// `is_first`: of the recorded run everything is tried.
    pub fn reason_to_stop(&self, plan: &Plan, candidates: &[Candidate], is_first: bool) -> Option<StopReason> {
        if !candidates.iter().any(is_defect) {
            return None;
        }
        let quiet = self.news.elapsed();
        match plan.ends {
            StopRule::AtFirstFailure => Some(StopReason::FirstFailure),
            StopRule::WhenQuiet if !plan.explore && !is_first && quiet >= self.span() => Some(StopReason::Quiet(quiet)),
            StopRule::WhenQuiet | StopRule::AtDeadline => None,
        }
    }
}

/// Confirmed, and no mere information.
pub fn is_defect(candidate: &Candidate) -> bool {
    candidate.confirmed().is_some() && candidate.finding.kind != Kind::Nondeterminism
}

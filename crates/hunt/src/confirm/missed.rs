//! Why an attempt at a finding did not do it.

use std::fmt;

use reweave_conductor::shared;
use reweave_launch::collector::Divergence;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Missed {
    /// There is neither a witness nor a place where threads could be paused.
    NothingToSteerBy,
    Interrupted,
    NotRecorded,
    /// The run left the schedule.
    Diverged(Divergence),
    TookTooLong,
    DidNotHappen,
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingToSteerBy => f.write_str("no schedule and no place to pause threads is known for it"),
            Self::Interrupted => f.write_str("it was interrupted"),
            Self::NotRecorded => f.write_str("the program could not be recorded again"),
            Self::Diverged(divergence) => f.write_str(&divergence_text(divergence)),
            Self::TookTooLong => f.write_str("the run took too long"),
            Self::DidNotHappen => f.write_str("it did not happen in the runs that were steered to it"),
        }
    }
}

pub fn divergence_text(divergence: &Divergence) -> String {
    let Divergence { why, segment, thread } = divergence;
    match *why {
        shared::DIVERGED_NOT_ENABLED => {
            format!("at segment {segment} of the schedule thread {thread} was due but could not run")
        }
        shared::DIVERGED_SHORT => {
            format!("in segment {segment} of the schedule thread {thread} stopped before its steps were done")
        }
        shared::DIVERGED_INPUT => {
            format!(
                "in segment {segment} of the schedule thread {thread} asked for an input that was not recorded there"
            )
        }
        other => format!("the schedule was left at segment {segment} (reason {other})"),
    }
}

//! Where the time goes, for who wants to know.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::SearchLimits;

/// What prediction does, one after the other; but a text is read by the streaming analyses while it is converted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Opening the trace; text is converted.
    Read,
    /// The streaming analyses.
    Stream,
    /// From events to histories.
    Lower,
    /// Questions to the engine, and what is looked up for them.
    Ask,
    /// The checker.
    Check,
    /// Events of findings, and schedules.
    Describe,
}

impl Stage {
    pub const ALL: [Self; 6] = [Self::Read, Self::Stream, Self::Lower, Self::Ask, Self::Check, Self::Describe];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Stream => "stream",
            Self::Lower => "lower",
            Self::Ask => "ask",
            Self::Check => "check",
            Self::Describe => "describe",
        }
    }
}

/// The time of each stage, of all threads together.
#[derive(Default, Debug)]
pub struct Stages([AtomicU64; Stage::ALL.len()]);

impl Stages {
    pub fn of(&self, stage: Stage) -> Duration {
        Duration::from_nanos(self.0[stage as usize].load(Ordering::Relaxed))
    }

    pub fn add(&self, stage: Stage, time: Duration) {
        self.0[stage as usize].fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }
}

impl SearchLimits<'_> {
    /// Does something, and counts its time.
    pub fn timed<R>(&self, stage: Stage, work: impl FnOnce() -> R) -> R {
        let Some(stages) = self.stages else { return work() };
        let began = Instant::now();
        let done = work();
        stages.add(stage, began.elapsed());
        done
    }
}

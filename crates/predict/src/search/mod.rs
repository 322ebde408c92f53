//! What every search by questions to the [engine](crate::feasible) shares: the windows of a trace, how long it may
//! take, and how an order of a window's events becomes part of a finding. Each search is a folder here; the analyses
//! call them.

pub mod atomicity;
mod context;
pub mod deadlocks;
pub mod nondeterminism;
mod paths;
pub mod races;
mod stages;
pub mod stalls;
mod ways;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reweave_model::{Accessor, EventId};
use reweave_order::Budget;
use reweave_trace::{Result, Trace};

use crate::history::*;
use crate::lower::{Lowered, Windows};
pub use context::{Context, KeptOrder, all_are_near, near};
pub use paths::{Path, witnesses};
pub use stages::{Stage, Stages};
pub use ways::along;

/// Kept events per window, unless the whole trace has fewer than [`WHOLE`].
pub const WINDOW: usize = 10_000;
/// A trace that keeps no more events than this is one window.
pub const WHOLE: usize = 60_000;
/// For one question.
const PER_QUESTION: Duration = Duration::from_secs(10);
/// How often, and how long apart, somebody looks whether there is memory again.
const LOOKS: u32 = 20;
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The share of the time that is left that one question may take.
const QUESTION_SHARE: u32 = 8;

/// Which reorderings count, and how far to go.
#[derive(Clone, Copy, Debug, Default)]
pub struct SearchLimits<'a> {
    pub mode: Mode,
    /// Kept events per window; `None`: see [`WINDOW`].
    pub window: Option<usize>,
    pub deadline: Option<Instant>,
    pub interrupt: Option<&'a AtomicBool>,
    /// Set while there is no memory for more.
    pub memory: Option<&'a AtomicBool>,
    /// Threads that work at once where that changes nothing; 0 is one, too.
    pub jobs: usize,
    /// Who wants to know where the time goes.
    pub stages: Option<&'a Stages>,
}

impl<'a> SearchLimits<'a> {
    pub fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || [self.interrupt, self.memory].into_iter().flatten().any(|flag| flag.load(Ordering::Relaxed))
    }

    pub fn is_out_of_memory(&self) -> bool {
        self.memory.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Whoever has given memory back is not to be told off for it: it takes a moment until that is seen.
    pub fn wait_for_memory(&self) {
        let patience = (0..LOOKS).take_while(|_| self.is_out_of_memory());
        patience.for_each(|_| std::thread::sleep(LOOK_EVERY));
    }

    /// For a question asked now.
    pub fn question(&self) -> Budget<'a> {
        let now = Instant::now();
        // Others are to be asked, too.
        let share = self.deadline.map(|deadline| deadline.saturating_duration_since(now) / QUESTION_SHARE);
        let deadline = Some(now + share.map_or(PER_QUESTION, |share| share.min(PER_QUESTION)));
        Budget { deadline, conflicts: None, interrupt: self.interrupt }
    }
}

/// Hears how far something is, from 0 to 1.
pub type Progress<'p> = dyn FnMut(f64) + 'p;

/// Shows the windows of a trace to `visit` until the time is over.
pub fn each_window(
    trace: &Trace,
    limits: &SearchLimits<'_>,
    progress: &mut Progress<'_>,
    visit: &mut dyn FnMut(&Lowered, &mut Progress<'_>),
) -> Result<()> {
    let mut windows = windows(trace, limits, progress)?;
    while let Some(window) = limits.timed(Stage::Lower, || windows.next_window())? {
        visit(&window, progress);
        if limits.is_over() {
            break;
        }
        progress(windows.progress());
    }
    Ok(())
}

/// The windows of a trace: one if it is short, and nobody wants them of a certain size.
pub fn windows<'t>(trace: &'t Trace, limits: &SearchLimits<'_>, progress: &mut Progress<'_>) -> Result<Windows<'t>> {
    limits.timed(Stage::Lower, || {
        let mut windows = Windows::new(trace, limits.window.unwrap_or(WHOLE), &mut |done| {
            progress(done);
            !limits.is_over()
        })?;
        if limits.window.is_none() && !windows.is_one()? {
            windows.restart(WINDOW);
        }
        Ok(windows)
    })
}

/// An event of a window, as findings have it.
pub fn accessor(window: &Lowered, pos: Pos) -> Accessor {
    let history = &window.history;
    let step = history.step(pos);
    let mut held: Vec<(Lock, EventId)> = Vec::new();
    for &before in history.threads[step.thread.index()].iter().take_while(|before| **before < pos) {
        let event = history.step(before).event;
        match history.step(before).action {
            Action::Acquire { lock, .. } | Action::Woken { lock, .. } => held.extend(event.map(|event| (lock, event))),
            Action::Release { lock, .. } | Action::Wait { lock, .. } => held.retain(|(other, _)| *other != lock),
            _ => {}
        }
    }
    let origin = window.origin(pos);
    Accessor {
        event: step.event.unwrap_or_default(),
        process: None,
        thread: window.threads[step.thread.index()].unwrap_or_default(),
        pc: origin.pc,
        stack: origin.stack,
        op: origin.op.into(),
        locks_held: held.into_iter().map(|(_, event)| event).collect(),
    }
}

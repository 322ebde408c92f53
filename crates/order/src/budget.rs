//! How long the solver may try.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Limits; none by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget<'a> {
    pub deadline: Option<Instant>,
    /// Conflicts of the search.
    pub conflicts: Option<u64>,
    /// Set by another thread to end the work.
    pub interrupt: Option<&'a AtomicBool>,
}

/// Why there is no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    Deadline,
    Conflicts,
    Interrupted,
}

/// A budget and what has been used of it. Once exceeded, it stays so.
#[derive(Debug)]
pub(crate) struct Meter<'a> {
    budget: Budget<'a>,
    conflicts: Cell<u64>,
    asked: Cell<u32>,
    exceeded: Cell<Option<Why>>,
}

/// The clock is read at every n-th question only: a question is asked at every decision, and reading costs 25 ns or
/// more.
const CLOCK_EVERY: u32 = 16;

impl<'a> Meter<'a> {
    pub fn new(budget: Budget<'a>) -> Meter<'a> {
        Meter { budget, conflicts: Cell::new(0), asked: Cell::new(0), exceeded: Cell::new(None) }
    }

    pub fn conflict(&self) {
        self.conflicts.set(self.conflicts.get() + 1);
    }

    pub fn exceeded(&self) -> Option<Why> {
        if self.exceeded.get().is_some() {
            return self.exceeded.get();
        }
        let asked = self.asked.get();
        self.asked.set(asked.wrapping_add(1));
        let why = if self.budget.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            Some(Why::Interrupted)
        } else if self.budget.conflicts.is_some_and(|limit| self.conflicts.get() >= limit) {
            Some(Why::Conflicts)
        } else if asked.is_multiple_of(CLOCK_EVERY)
            && self.budget.deadline.is_some_and(|deadline| Instant::now() >= deadline)
        {
            Some(Why::Deadline)
        } else {
            None
        };
        self.exceeded.set(why);
        why
    }
}

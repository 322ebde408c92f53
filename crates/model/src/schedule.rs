//! Schedules: who runs for how many steps. A recorded trace is one; so is a witness to be steered along.

use crate::ids::ThreadId;

/// A thread across runs: the n-th child of its parent. The main thread has no parent; a thread nobody created
/// under control (a foreign one) is a child of the main thread's slot with the top bit of `nth` set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadName {
    /// Index into [`Schedule::threads`], `u32::MAX` for none.
    pub parent: u32,
    pub nth: u32,
}

impl ThreadName {
    pub const MAIN: Self = Self { parent: u32::MAX, nth: 0 };
    pub const FOREIGN: u32 = 1 << 31;
}

/// `steps` steps of one thread in a row.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Segment {
    /// Index into [`Schedule::threads`].
    pub thread: ThreadId,
    pub steps: u32,
    /// After the last step the thread was taken off by the watchdog: on replay, wait until it really sleeps.
    pub revoked: bool,
    /// It makes way right after the last step, not before its next one.
    pub at_once: bool,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Schedule {
    // invariant: a thread's parent stands before it
    pub threads: Vec<ThreadName>,
    pub segments: Vec<Segment>,
}

impl Schedule {
    /// Appends steps, joining them to the last segment where it is the same thread.
    pub fn push(&mut self, thread: ThreadId, steps: u32) {
        if let Some(last) =
            self.segments.last_mut().filter(|last| last.thread == thread && !last.revoked && !last.at_once)
            && let Some(sum) = last.steps.checked_add(steps)
        {
            last.steps = sum;
        } else {
            self.segments.push(Segment { thread, steps, revoked: false, at_once: false });
        }
    }

    /// The watchdog takes the thread off after its last step; false if the last step is not its own.
    pub fn revoke(&mut self, thread: ThreadId) -> bool {
        let last = self.segments.last_mut().filter(|last| last.thread == thread);
        last.map(|last| last.revoked = true).is_some()
    }

    /// The thread makes way right after its last step.
    pub fn stop_at_once(&mut self, thread: ThreadId) {
        if let Some(last) = self.segments.last_mut().filter(|last| last.thread == thread) {
            last.at_once = true;
        }
    }

    /// The steps each thread makes in all.
    pub fn lengths(&self) -> Vec<u64> {
        let mut lengths = vec![0; self.threads.len()];
        for segment in &self.segments {
            lengths[segment.thread.index()] += u64::from(segment.steps);
        }
        lengths
    }
}

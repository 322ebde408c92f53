//! The life of threads: forked, begun, ended, joined.

use std::collections::{HashMap, HashSet};

use reweave_model::{Event, Op, ThreadId};

use super::Report;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    Forked,
    Running,
    Ended,
    /// Ended, and nobody may join it (again).
    Gone,
    /// Seen only after a gap: nothing is known about it.
    Unknown,
}

#[derive(Default)]
pub(super) struct Threads {
    lives: HashMap<ThreadId, Life>,
    detached: HashSet<ThreadId>,
    /// Children of each thread so far.
    children: HashMap<ThreadId, u32>,
    after_gap: bool,
    began: bool,
}

impl Threads {
    pub fn after_gap() -> Self {
        Self { after_gap: true, began: true, ..Self::default() }
    }

    fn life(&self, thread: ThreadId) -> Option<Life> {
        self.lives.get(&thread).copied().or(self.after_gap.then_some(Life::Unknown))
    }

    /// What is wrong with the event as one of its thread, if anything.
    pub fn event(&mut self, event: &Event<'_>, report: &mut Report) -> Option<String> {
        let thread = event.thread;
        let life = self.life(thread);
        let wrong = match (event.op, life) {
            (Op::Begin, None) => {
                // The first thread of all is nobody's child; so are those made outside our control.
                report.foreign_threads += u64::from(thread != ThreadId(0));
                None
            }
            (Op::Begin, Some(Life::Forked | Life::Unknown)) => None,
            (Op::Begin, Some(_)) => Some(format!("thread {thread} begins a second time")),
            // A trace of another origin has no begin and end: then threads are known by their fork.
            (_, Some(Life::Running | Life::Unknown)) => None,
            // The last thread of a process ends it.
            (op, _) if !op.is_step() || matches!(op, Op::Exit { .. }) => None,
            (_, Some(Life::Forked)) if self.began => Some(format!("thread {thread} acts before its begin")),
            (_, Some(Life::Forked)) => None,
            (_, None) if self.began => Some(format!("thread {thread} was neither forked nor begun")),
            (_, None) => None,
            (_, Some(Life::Ended | Life::Gone)) => Some(format!("thread {thread} acts after its end")),
        };
        match event.op {
            Op::Begin => {
                self.began = true;
                self.lives.insert(thread, Life::Running);
            }
            Op::End => {
                self.lives.insert(thread, Life::Ended);
            }
            Op::Fork { child, nth } => {
                let known = self.lives.insert(child, Life::Forked);
                if known.is_some() {
                    return wrong.or(Some(format!("thread {child} is forked but exists already")));
                }
                let expected = self.children.entry(thread).or_insert(nth);
                let in_order = *expected == nth;
                *expected = nth.saturating_add(1);
                if !in_order {
                    return wrong.or(Some(format!("child {nth} of thread {thread} is out of order")));
                }
            }
            Op::Join { child } => {
                if self.detached.contains(&child) {
                    return wrong.or(Some(format!("thread {child} is joined although detached")));
                }
                let life = self.life(child);
                self.lives.insert(child, Life::Gone);
                let bad = match life {
                    Some(Life::Ended | Life::Unknown) => None,
                    Some(Life::Gone) => Some("was joined before"),
                    // Without begin and end events nothing tells when it ended.
                    Some(Life::Forked | Life::Running) if self.began => Some("has not ended"),
                    Some(_) => None,
                    None => Some("was never forked"),
                };
                return wrong.or(bad.map(|bad| format!("join of thread {child}, which {bad}")));
            }
            Op::Detach { child } => {
                self.detached.insert(child);
                if self.life(child).is_none() {
                    return wrong.or(Some(format!("detach of thread {child}, which was never forked")));
                }
            }
            _ => {}
        }
        wrong
    }
}

//! A quick no: what a reordering must have if every read that has to keep its value finds the only write of it. Where
//! that goes beyond what a reordering can have, there is none, and nobody needs to be asked.

use super::Question;
use crate::history::*;

/// What every reordering that answers a question has.
struct Needed<'q, 'i, 'h> {
    question: &'q Question<'i, 'h>,
    /// Events of each thread that are in it, and those that have been looked at.
    required: Vec<u32>,
    seen: Vec<u32>,
    /// Reads of each thread that keep their values: those before this place; and those that have been looked at.
    valid: Vec<u32>,
    kept: Vec<u32>,
    /// Threads to be looked at.
    open: Vec<usize>,
}

/// Whether a question has no answer for certain. False says nothing.
pub(super) fn is_refuted(question: &Question<'_, '_>) -> bool {
    if !matches!(question.mode, Mode::ControlFlow | Mode::Prefix) || question.off.is_some() {
        return false;
    }
    let threads = question.limit.len();
    let mut needed = Needed {
        question,
        required: question.required.clone(),
        seen: vec![0; threads],
        valid: vec![0; threads],
        kept: vec![0; threads],
        open: (0..threads).collect(),
    };
    for &next in question.goal.next.iter().filter(|next| question.guards(**next)) {
        let thread = question.index.step(next).thread.index();
        needed.valid[thread] = question.index.place[next.index()];
    }
    needed.is_too_much()
}

impl Needed<'_, '_, '_> {
    fn is_too_much(&mut self) -> bool {
        while let Some(thread) = self.open.pop() {
            if !self.events(thread) || !self.reads(thread) {
                return true;
            }
        }
        false
    }

    /// The thread goes so far; false if it cannot.
    fn require(&mut self, thread: usize, events: u32) -> bool {
        if events > self.required[thread] {
            self.required[thread] = events;
            self.open.push(thread);
        }
        events <= self.question.limit[thread]
    }

    fn keep(&mut self, thread: usize, before: u32) {
        if before > self.valid[thread] {
            self.valid[thread] = before;
            self.open.push(thread);
        }
    }

    /// What the events of a thread need.
    fn events(&mut self, thread: usize) -> bool {
        let index = self.question.index;
        while self.seen[thread] < self.required[thread] {
            let place = self.seen[thread];
            self.seen[thread] += 1;
            let pos = index.history.threads[thread][place as usize];
            for &before in index.needs(pos) {
                let other = index.step(before).thread.index();
                if !self.require(other, index.place[before.index()] + 1) {
                    return false;
                }
            }
            let keeps = match self.question.mode {
                Mode::Prefix => place + 1,
                _ if self.question.needs_valid(index.step(pos)) => place,
                _ => 0,
            };
            self.keep(thread, keeps);
        }
        true
    }

    /// What the reads of a thread need that keep their values.
    fn reads(&mut self, thread: usize) -> bool {
        let index = self.question.index;
        while self.kept[thread] < self.valid[thread] {
            let pos = index.history.threads[thread][self.kept[thread] as usize];
            self.kept[thread] += 1;
            let Some(access) = index.step(pos).action.access() else { continue };
            for &(cell, value) in &access.reads {
                if index.history.initial[cell.index()] == value {
                    continue;
                }
                let Some(&[writer]) = index.writers_of.get(&(cell, value)).map(Vec::as_slice) else { continue };
                let (step, place) = (index.step(writer), index.place[writer.index()]);
                let other = step.thread.index();
                if !self.require(other, place + 1) {
                    return false;
                }
                // Otherwise it writes something else.
                self.keep(other, place);
            }
        }
        true
    }
}

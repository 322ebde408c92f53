//! A cut as a history of its own, so that a question about all of it is one about the cut.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Cut;
use crate::history::*;

/// The prefixes of a cut, what waits after them, and one event after everything.
pub struct Prefixes {
    pub history: History,
    /// Where each step comes from; `None`: it is not in the whole history.
    pub origins: Vec<Option<Pos>>,
    /// What must be next: what threads wait at, and the event after everything.
    pub goals: Vec<Pos>,
}

impl Prefixes {
    /// `None`: the last rounds of barriers cannot come last.
    pub fn new(whole: &History, cut: &Cut) -> Option<Self> {
        let threads = whole.threads.len();
        let history = History {
            steps: Vec::new(),
            threads: vec![Vec::new(); threads + 1],
            pair_unguarded: false,
            ..whole.clone()
        };
        let mut this = Self { history, origins: Vec::new(), goals: Vec::new() };
        let mut now: Vec<Option<Pos>> = vec![None; whole.steps.len()];
        let before = all_before(whole, cut);
        for pos in sorted(whole, cut, &before)? {
            let step = whole.step(pos);
            let after = before[pos.index()].iter().filter_map(|before| now[before.index()]).collect();
            now[pos.index()] = Some(this.push(Step { after, ..step.clone() }, Some(pos)));
        }
        let last: Vec<Pos> = this.history.threads.iter().filter_map(|events| events.last().copied()).collect();
        let mut end = last.clone();
        for &pos in &cut.members {
            let step = whole.step(pos);
            if !cut.unnotified.contains(&step.thread) {
                let after: Vec<Pos> = step.after.iter().filter_map(|before| now[before.index()]).collect();
                let mut goal = Step { after, ..step.clone() };
                if goal.after.len() < step.after.len() {
                    // What it would do does not come into it: an arrival, say, is none of the barrier's.
                    goal.guarded |= goal.action.is_outcome();
                    goal.action = Action::Nothing;
                }
                let goal = this.push(goal, None);
                this.goals.push(goal);
                continue;
            }
            // Not notified at the very end is what a wait that then times out needs. Its lock is its own: it takes part
            // in nothing.
            let Action::Woken { condition, .. } = step.action else { continue };
            let lock = Lock(this.history.locks);
            this.history.locks += 1;
            let action = Action::Woken { condition, lock, how: Waking::TimedOut };
            let after = last.iter().copied().filter(|&last| this.history.step(last).thread != step.thread).collect();
            end.push(this.push(Step { action, after, ..step.clone() }, None));
        }
        let thread = Thread(threads as u32);
        let everything = Step {
            thread,
            action: Action::Nothing,
            guarded: false,
            after: end,
            event: None,
            tried: false,
            doubtful: false,
        };
        let end = this.push(everything, None);
        this.goals.push(end);
        Some(this)
    }

    fn push(&mut self, step: Step, origin: Option<Pos>) -> Pos {
        let pos = Pos(self.history.steps.len() as u32);
        self.history.threads[step.thread.index()].push(pos);
        self.history.steps.push(step);
        self.origins.push(origin);
        pos
    }
}

/// What must come before each event of the cut, besides its thread's events: also all other arrivals before those of a
/// round that threads wait in.
fn all_before(whole: &History, cut: &Cut) -> Vec<Vec<Pos>> {
    let mut before: Vec<Vec<Pos>> = whole.steps.iter().map(|step| step.after.clone()).collect();
    let barrier = |pos: Pos| match whole.step(pos).action {
        Action::Arrive { barrier, .. } => Some(barrier),
        _ => None,
    };
    let prefixes = whole.threads.iter().zip(&cut.done).flat_map(|(events, &done)| &events[..done as usize]);
    let earlier: Vec<Pos> =
        prefixes.copied().filter(|&pos| barrier(pos).is_some() && !cut.arrivals.contains(&pos)).collect();
    for &last in &cut.arrivals {
        let others = earlier.iter().filter(|&&other| barrier(other) == barrier(last));
        let others = others.filter(|&&other| whole.step(other).thread != whole.step(last).thread);
        before[last.index()].extend(others);
    }
    before
}

/// The events of the cut, each after what must come before it, otherwise as observed.
fn sorted(whole: &History, cut: &Cut, before: &[Vec<Pos>]) -> Option<Vec<Pos>> {
    let mut waits_for = vec![0usize; whole.steps.len()];
    let mut followers: Vec<Vec<Pos>> = vec![Vec::new(); whole.steps.len()];
    let mut ready = BinaryHeap::new();
    let mut count = 0;
    for (events, &done) in whole.threads.iter().zip(&cut.done) {
        let events = &events[..done as usize];
        count += events.len();
        for (place, &pos) in events.iter().enumerate() {
            let previous = place.checked_sub(1).map(|previous| events[previous]);
            for &first in before[pos.index()].iter().chain(&previous) {
                followers[first.index()].push(pos);
                waits_for[pos.index()] += 1;
            }
            if waits_for[pos.index()] == 0 {
                ready.push(Reverse(pos));
            }
        }
    }
    let mut order = Vec::with_capacity(count);
    while let Some(Reverse(pos)) = ready.pop() {
        order.push(pos);
        for &follower in &followers[pos.index()] {
            waits_for[follower.index()] -= 1;
            if waits_for[follower.index()] == 0 {
                ready.push(Reverse(follower));
            }
        }
    }
    (order.len() == count).then_some(order)
}

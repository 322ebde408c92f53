//! A cut as a history of its own, so that a question about all of it is one about the cut.

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
    pub fn new(whole: &History, cut: &Cut) -> Self {
        let threads = whole.threads.len();
        let history = History {
            steps: Vec::new(),
            threads: vec![Vec::new(); threads + 1],
            pair_unguarded: false,
            ..whole.clone()
        };
        let mut this = Self { history, origins: Vec::new(), goals: Vec::new() };
        let mut now: Vec<Option<Pos>> = vec![None; whole.steps.len()];
        let mut done = vec![0; threads];
        let mut all_arrivals = Vec::new();
        for pos in whole.positions() {
            let step = whole.step(pos);
            let place = &mut done[step.thread.index()];
            *place += 1;
            if *place > cut.done[step.thread.index()] || cut.arrivals.contains(&pos) {
                continue;
            }
            let after = step.after.iter().filter_map(|before| now[before.index()]).collect();
            let new = this.push(Step { after, ..step.clone() }, Some(pos));
            now[pos.index()] = Some(new);
            if let Action::Arrive { barrier, .. } = step.action {
                all_arrivals.push((barrier, new));
            }
        }
        // The last round of a barrier begins after all others: these arrivals are the last of their threads.
        for &pos in &cut.arrivals {
            let step = whole.step(pos);
            let Action::Arrive { barrier, .. } = step.action else { continue };
            let others = all_arrivals.iter().filter(|(other, _)| *other == barrier).map(|(_, new)| *new);
            let mut after: Vec<Pos> =
                step.after.iter().filter_map(|before| now[before.index()]).chain(others).collect();
            after.retain(|&before| this.history.step(before).thread != step.thread);
            now[pos.index()] = Some(this.push(Step { after, ..step.clone() }, Some(pos)));
        }
        let last: Vec<Pos> = this.history.threads.iter().filter_map(|events| events.last().copied()).collect();
        let mut end = last.clone();
        for &pos in &cut.members {
            let step = whole.step(pos);
            if !cut.unnotified.contains(&step.thread) {
                let after = step.after.iter().filter_map(|before| now[before.index()]).collect();
                let goal = this.push(Step { after, ..step.clone() }, None);
                this.goals.push(goal);
                continue;
            }
            // Not notified at the very end is what a wait that then times out needs. Its lock is its own: it takes part in nothing.
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
        this
    }

    fn push(&mut self, step: Step, origin: Option<Pos>) -> Pos {
        let pos = Pos(self.history.steps.len() as u32);
        self.history.threads[step.thread.index()].push(pos);
        self.history.steps.push(step);
        self.origins.push(origin);
        pos
    }
}

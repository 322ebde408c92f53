//! Makes a history that shows a bug smaller while it still shows it.

use crate::history::{Action, History, Mode, Pos};
use crate::witness::check_order;

/// Whether the observed order is feasible, with every read as observed.
pub fn is_history(history: &History) -> bool {
    let observed: Vec<Pos> = history.positions().collect();
    let earlier = |(at, step): (usize, &crate::history::Step)| step.after.iter().all(|before| before.index() < at);
    history.steps.iter().enumerate().all(earlier) && check_order(history, Mode::Said, &observed).is_ok()
}

/// Removes events, `after` edges and guards for as long as `still_fails` holds and what is left is a history.
pub fn shrink(history: History, mut still_fails: impl FnMut(&History) -> bool) -> History {
    let mut best = history;
    let mut accept = |best: &mut History, smaller: History| {
        let better = is_history(&smaller) && still_fails(&smaller);
        if better {
            *best = smaller;
        }
        better
    };
    loop {
        let before = best.clone();
        shorten_threads(&mut best, &mut accept);
        drop_events(&mut best, &mut accept);
        for at in 0..best.steps.len() {
            for edge in (0..best.steps[at].after.len()).rev() {
                let mut smaller = best.clone();
                smaller.steps[at].after.remove(edge);
                accept(&mut best, smaller);
            }
            if best.steps[at].guarded {
                let mut smaller = best.clone();
                smaller.steps[at].guarded = false;
                accept(&mut best, smaller);
            }
        }
        if best == before {
            return best;
        }
    }
}

fn shorten_threads(best: &mut History, accept: &mut impl FnMut(&mut History, History) -> bool) {
    for thread in 0..best.threads.len() {
        // From nothing to almost all of the thread.
        for length in 0..best.threads[thread].len() {
            let dropped: Vec<Pos> = best.threads[thread][length..].to_vec();
            if drop_all(best, &dropped, accept) {
                break;
            }
        }
    }
}

/// Single events, then pairs of one thread: an acquire and its release only go together.
fn drop_events(best: &mut History, accept: &mut impl FnMut(&mut History, History) -> bool) {
    for at in (0..best.steps.len() as u32).rev().map(Pos) {
        drop_all(best, &[at], accept);
    }
    for at in (0..best.steps.len() as u32).rev().map(Pos) {
        let Some(step) = best.steps.get(at.index()) else { continue };
        if !matches!(
            step.action,
            Action::Acquire { .. } | Action::Wait { .. } | Action::Arrive { .. } | Action::Post { .. }
        ) {
            continue;
        }
        let later: Vec<Pos> = best.positions().filter(|&pos| pos > at).collect();
        later.into_iter().any(|other| drop_all(best, &[at, other], accept));
    }
}

/// Leaves events out, if need be with other values for the reads that depended on them.
fn drop_all(best: &mut History, dropped: &[Pos], accept: &mut impl FnMut(&mut History, History) -> bool) -> bool {
    let smaller = without(best, dropped);
    accept(best, smaller.clone()) || accept(best, observed_again(smaller))
}

/// The history with every read as the observed order makes it.
fn observed_again(mut history: History) -> History {
    let mut memory = history.initial.clone();
    for step in &mut history.steps {
        if let Action::Access(access) = &mut step.action {
            access.reads.iter_mut().for_each(|(cell, val)| *val = memory[cell.index()]);
            access.writes.iter().for_each(|&(cell, val)| memory[cell.index()] = val);
        }
    }
    history
}

/// The history without some events. What had to come after one of them no longer has to.
fn without(history: &History, dropped: &[Pos]) -> History {
    let mut place = vec![None; history.steps.len()];
    let mut smaller =
        History { steps: Vec::new(), threads: vec![Vec::new(); history.threads.len()], ..history.clone() };
    for pos in history.positions().filter(|pos| !dropped.contains(pos)) {
        let mut step = history.step(pos).clone();
        step.after = step.after.iter().filter_map(|before| place[before.index()]).collect();
        let now = Pos(smaller.steps.len() as u32);
        place[pos.index()] = Some(now);
        smaller.threads[step.thread.index()].push(now);
        smaller.steps.push(step);
    }
    smaller
}

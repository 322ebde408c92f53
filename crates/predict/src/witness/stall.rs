//! Whether an order leads to a stall; [`stalls`](crate::search::stalls) has the definition.

use reweave_model::LockMode;

use super::replay::Replay;
use super::{Rejection, Why};
use crate::history::{Action, History, Mode, Pos, Thread, Waking};
use crate::search::stalls::Endings;

/// Whether after `order` every thread is over, or waits for what only others that wait could do. Says where they wait:
/// all but threads that nobody forked.
pub fn check_stall(history: &History, mode: Mode, order: &[Pos], endings: &Endings<'_>) -> Result<Vec<Pos>, Rejection> {
    let replay = Replay::run(history, mode, order)?;
    let mut members = Vec::new();
    let mut unnotified = Vec::new();
    for (index, events) in history.threads.iter().enumerate() {
        let thread = Thread(index as u32);
        let Some(next) = replay.next_of(thread) else {
            if endings.ended[index] {
                continue;
            }
            return Err(Rejection { at: events.last().copied().unwrap_or_default(), why: Why::GoesOn });
        };
        if !waits(history, &replay, endings, next, &mut unnotified) {
            return Err(Rejection { at: next, why: Why::CanGoOn });
        }
        let forked = history.step(next).after.iter().all(|&before| replay.contains(before));
        if events[0] != next || forked {
            members.push(next);
        }
    }
    // No notify may have chosen those who wait for one.
    Replay::run_without_notifying(history, mode, order, &unnotified)?;
    let Some(&first) = members.first() else { return Err(Rejection { at: Pos(0), why: Why::NoRequest }) };
    if let Some(at) = members.iter().copied().find(|&at| in_circle(history, &replay, at)) {
        // That is a deadlock.
        return Err(Rejection { at, why: Why::Circle(first) });
    }
    Ok(members)
}

fn waits(
    history: &History,
    replay: &Replay<'_>,
    endings: &Endings<'_>,
    next: Pos,
    unnotified: &mut Vec<Thread>,
) -> bool {
    let step = history.step(next);
    if !replay.is_permitted(next) {
        return false;
    }
    if step.after.iter().any(|&before| !replay.contains(before)) {
        return (endings.waits)(next);
    }
    let held = |lock, mode| replay.held_against(lock, mode).next().is_some();
    match &step.action {
        Action::Acquire { lock, mode } => !step.tried && held(*lock, *mode),
        Action::Woken { lock, how, .. } => {
            if held(*lock, LockMode::Exclusive) {
                return true;
            }
            unnotified.push(step.thread);
            *how == Waking::Notified && !step.tried
        }
        Action::Leave { barrier, .. } => replay.round_is_open(step.thread, *barrier),
        Action::Take { semaphore } => !step.tried && replay.count(*semaphore) == 0,
        _ => false,
    }
}

/// Whether following who holds what leads back to the thread of this event.
fn in_circle(history: &History, replay: &Replay<'_>, at: Pos) -> bool {
    let holders = |pos: Pos| -> Vec<Thread> {
        match history.step(pos).action {
            Action::Acquire { lock, mode } => replay.held_against(lock, mode).collect(),
            Action::Woken { lock, .. } => replay.held_against(lock, LockMode::Exclusive).collect(),
            _ => Vec::new(),
        }
    };
    let home = history.step(at).thread;
    let (mut seen, mut left) = (Vec::new(), holders(at));
    while let Some(thread) = left.pop() {
        if thread == home {
            return true;
        }
        if !seen.contains(&thread) {
            seen.push(thread);
            left.extend(replay.next_of(thread).into_iter().flat_map(holders));
        }
    }
    false
}

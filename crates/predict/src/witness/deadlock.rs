//! Whether an order leads to a deadlock: threads that wait for locks in a circle.

use reweave_model::LockMode;

use super::replay::Replay;
use super::{Rejection, Why};
use crate::history::{Action, History, Mode, Pos};

/// Whether after `order` these events are next, and each acquires a lock that another one's thread holds against it.
/// Then none of their threads ever moves again, whatever others do. In [`Mode::Said`] the order need not be complete:
/// nothing is, once threads are stuck.
pub fn check_deadlock(history: &History, mode: Mode, order: &[Pos], members: &[Pos]) -> Result<(), Rejection> {
    let because = |at, why| Err(Rejection { at, why });
    let replay = Replay::run(history, mode, order)?;
    for (i, &at) in members.iter().enumerate() {
        if at.index() >= history.steps.len() {
            return because(at, Why::NoSuchEvent);
        }
        if members[..i].contains(&at) {
            return because(at, Why::Repeated);
        }
        replay.check_next(at)?;
        let step = history.step(at);
        let (lock, mode) = match step.action {
            Action::Acquire { lock, mode } if !step.tried => (lock, mode),
            // Notified, timed out or not: without its lock it does not come back.
            Action::Woken { lock, .. } => (lock, LockMode::Exclusive),
            _ => return because(at, Why::NoRequest),
        };
        let others: Vec<_> =
            members.iter().filter(|other| **other != at).map(|&pos| history.step(pos).thread).collect();
        if !replay.held_against(lock, mode).any(|holder| others.contains(&holder)) {
            return because(at, Why::NotBlocked { lock });
        }
    }
    if members.is_empty() { because(Pos(0), Why::NoRequest) } else { Ok(()) }
}

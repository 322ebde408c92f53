//! The judge of witnesses: whether an order of events is what an engine says it is.
//!
//! Source: the definition in [`history`](crate::history). It shares no code with the oracle or any engine (what a block
//! is and which threads ended, it is told), so that nothing
//! they get wrong together can pass. Exact: it accepts an order if and only if it is a feasible reordering, whomever a
//! notify could have chosen. Cost: one pass, independent of how the state looks; see `notifies` for the one exception.

mod blocks;
mod deadlock;
mod notifies;
mod rejection;
mod replay;
mod stall;
mod weak;

pub use blocks::check_violation;
pub use deadlock::check_deadlock;
pub use rejection::{Rejection, Why};
pub use stall::check_stall;
pub use weak::check_weak_order;

use crate::history::{Cell, History, Mode, Pos, Val};
use replay::Replay;

#[cfg(feature = "testing")]
/// Whether `order` is a feasible reordering. In [`Mode::Said`] it must hold every event of the history.
pub fn check_order(history: &History, mode: Mode, order: &[Pos]) -> Result<(), Rejection> {
    Replay::run(history, mode, order)?.check_complete()
}

/// Whether `order` shows that the two accesses race: both are next after it. In [`Mode::Said`] the order is complete
/// and they are in it, side by side.
pub fn check(history: &History, mode: Mode, order: &[Pos], pair: (Pos, Pos)) -> Result<(), Rejection> {
    let (first, second) = pair;
    check_conflict(history, first, second)?;
    if mode != Mode::Said {
        let replay = Replay::run(history, mode, order)?;
        replay.check_next(first)?;
        replay.check_next(second)?;
        return check_exchange(history, mode, order, pair);
    }
    let replay = Replay::run(history, mode, order)?;
    replay.check_complete()?;
    let (i, j) = (replay.place_in_order(first), replay.place_in_order(second));
    if i.abs_diff(j) != 1 {
        return Err(Rejection { at: second, why: Why::NotAdjacent(first) });
    }
    // Side by side is not enough if one of them is only possible after the other.
    Replay::run(history, mode, &order[..i.min(j)]).and_then(|before| {
        before.check_next(first)?;
        before.check_next(second)
    })
}

/// Whether a compare-exchange that has to succeed, lest the pair is two reads, does.
fn check_exchange(history: &History, mode: Mode, order: &[Pos], (first, second): (Pos, Pos)) -> Result<(), Rejection> {
    let Some(exchange) = history.conflict_rests_on(first, second) else { return Ok(()) };
    let order: Vec<Pos> = order.iter().copied().chain([exchange]).collect();
    Replay::run(history, mode, &order).map(drop)
}

/// Whether `order` shows that two events of different threads can both be next.
pub fn check_both_next(history: &History, mode: Mode, order: &[Pos], pair: (Pos, Pos)) -> Result<(), Rejection> {
    let (first, second) = pair;
    for at in [first, second] {
        if at.index() >= history.steps.len() {
            return Err(Rejection { at, why: Why::NoSuchEvent });
        }
    }
    if history.step(first).thread == history.step(second).thread {
        return Err(Rejection { at: second, why: Why::NoConflict(first) });
    }
    let replay = Replay::run(history, mode, order)?;
    replay.check_next(first).and_then(|()| replay.check_next(second))
}

/// Whether `order` shows that `read` can return what `writer` (`None`: nobody) put into the cell: the read is next
/// after it, and nobody else wrote there last. Says what the cell then holds, [`Val::UNKNOWN`] if nobody knows. In
/// [`Mode::Said`] the order is complete and the read is in it.
pub fn check_reads_from(
    history: &History,
    mode: Mode,
    order: &[Pos],
    read: Pos,
    cell: Cell,
    writer: Option<Pos>,
) -> Result<Val, Rejection> {
    let Some(step) = history.steps.get(read.index()) else {
        return Err(Rejection { at: read, why: Why::NoSuchEvent });
    };
    if step.action.access().is_none_or(|access| access.reads.iter().all(|(other, _)| *other != cell)) {
        return Err(Rejection { at: read, why: Why::NotRead(cell) });
    }
    let mut replay = Replay::run(history, mode, order)?;
    if mode == Mode::Said {
        replay.check_complete()?;
        replay = Replay::run(history, mode, &order[..replay.place_in_order(read)])?;
    }
    replay.check_next(read)?;
    replay.check_writer(read, cell, writer)?;
    Ok(replay.value(cell))
}

/// Whether `order` shows that everything can end with what `writer` (`None`: nobody) put into the cell.
pub fn check_ends_with(
    history: &History,
    mode: Mode,
    order: &[Pos],
    cell: Cell,
    writer: Option<Pos>,
) -> Result<Val, Rejection> {
    let replay = Replay::run(history, mode, order)?;
    if let Some(at) = history.positions().find(|&pos| !replay.contains(pos)) {
        return Err(Rejection { at, why: Why::Missing });
    }
    replay.check_writer(order.last().copied().unwrap_or_default(), cell, writer)?;
    Ok(replay.value(cell))
}

fn check_conflict(history: &History, first: Pos, second: Pos) -> Result<(), Rejection> {
    for at in [first, second] {
        if at.index() >= history.steps.len() {
            return Err(Rejection { at, why: Why::NoSuchEvent });
        }
    }
    if history.conflict(first, second) { Ok(()) } else { Err(Rejection { at: second, why: Why::NoConflict(first) }) }
}

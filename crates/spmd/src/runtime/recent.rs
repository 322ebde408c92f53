//! The last loads and stores of each statement, so that most need no look at anything shared.
//!
//! Between two calls a statement that goes on where it was, or touches the same bytes again, says nothing new: here it
//! costs a few nanoseconds. What was put together goes to [`super::gather`] with the next call, or when the statement
//! jumps. A load of the same address as the last time is looked at, because it may poll. Only memory of this rank, of
//! programs without threads, in runs without a plan.

use std::cell::Cell;

/// Statements that are remembered, by their address; others push them out.
const SLOTS: usize = 64;

#[derive(Clone, Copy)]
pub struct Recent {
    pc: u64,
    write: bool,
    /// What the statement touched since the last call.
    lo: u64,
    hi: u64,
    /// Up to here it has been told.
    told: u64,
    /// The watched memory that this lies in.
    end: u64,
    last: u64,
    epoch: u64,
}

/// What is to be told: the statement, where it begins and ends, and whether it was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Untold {
    pub pc: u64,
    pub lo: u64,
    pub hi: u64,
    pub write: bool,
}

const NOTHING: Recent = Recent { pc: 0, write: false, lo: 0, hi: 0, told: 0, end: 0, last: 0, epoch: u64::MAX };

thread_local! {
    static SLOT: [Cell<Recent>; SLOTS] = const { [const { Cell::new(NOTHING) }; SLOTS] };
    /// Calls that were logged.
    static EPOCH: Cell<u64> = const { Cell::new(0) };
    /// Slots with something to tell.
    static UNTOLD: Cell<u64> = const { Cell::new(0) };
}

fn number(pc: u64) -> usize {
    (pc ^ pc >> 6) as usize % SLOTS
}

/// Is this nothing new, or more of the same?
#[inline(always)]
pub fn covers(pc: u64, address: u64, end: u64, write: bool) -> bool {
    let number = number(pc);
    let known = SLOT.try_with(|slots| {
        let slot = &slots[number];
        let mut recent = slot.get();
        let epoch = EPOCH.try_with(Cell::get).unwrap_or(0);
        if recent.pc != pc || recent.epoch != epoch || recent.write != write || (!write && recent.last == address) {
            return false;
        }
        if address == recent.hi && end <= recent.end {
            recent.hi = end;
            let _ = UNTOLD.try_with(|untold| untold.set(untold.get() | 1 << number));
        } else if address < recent.lo || end > recent.hi {
            return false;
        }
        recent.last = address;
        slot.set(recent);
        true
    });
    known.unwrap_or(false)
}

/// Empties the statement's slot: what was not told of whoever had it.
pub fn take(pc: u64) -> Option<Untold> {
    let number = number(pc);
    let old = SLOT.try_with(|slots| slots[number].replace(NOTHING)).unwrap_or(NOTHING);
    let _ = UNTOLD.try_with(|untold| untold.set(untold.get() & !(1 << number)));
    old.untold(EPOCH.try_with(Cell::get).unwrap_or(0))
}

/// The statement's access was told, and lies in watched memory of this rank that ends there.
pub fn remember(pc: u64, (lo, hi): (u64, u64), write: bool, watched: u64) {
    let epoch = EPOCH.try_with(Cell::get).unwrap_or(0);
    let recent = Recent { pc, write, lo, hi, told: hi, end: watched, last: lo, epoch };
    let _ = SLOT.try_with(|slots| slots[number(pc)].set(recent));
}

/// A call is about to be logged: what was not told before it.
pub fn flush(mut tell: impl FnMut(Untold)) {
    let untold = UNTOLD.try_with(|untold| untold.replace(0)).unwrap_or(0);
    let epoch = EPOCH.try_with(|epoch| epoch.replace(epoch.get() + 1)).unwrap_or(0);
    if untold == 0 {
        return;
    }
    for number in (0..SLOTS).filter(|number| untold & 1 << number != 0) {
        let recent = SLOT.try_with(|slots| slots[number].get()).unwrap_or(NOTHING);
        recent.untold(epoch).into_iter().for_each(&mut tell);
    }
}

impl Recent {
    fn untold(self, epoch: u64) -> Option<Untold> {
        let Recent { pc, write, hi, told, .. } = self;
        (self.epoch == epoch && told < hi).then_some(Untold { pc, lo: told, hi, write })
    }
}

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

/// What a thread remembers: one look for it is one call.
struct Here {
    slots: [Cell<Recent>; SLOTS],
    /// Calls that were logged.
    epoch: Cell<u64>,
    /// Slots with something to tell.
    untold: Cell<u64>,
}

thread_local! {
    static HERE: Here = const {
        Here { slots: [const { Cell::new(NOTHING) }; SLOTS], epoch: Cell::new(0), untold: Cell::new(0) }
    };
}

fn number(pc: u64) -> usize {
    (pc ^ pc >> 6) as usize % SLOTS
}

/// Is this nothing new, or more of the same?
#[inline(always)]
pub fn covers(pc: u64, address: u64, end: u64, write: bool) -> bool {
    let number = number(pc);
    let known = HERE.try_with(|here| {
        let slot = &here.slots[number];
        let mut recent = slot.get();
        if recent.pc != pc
            || recent.epoch != here.epoch.get()
            || recent.write != write
            || (!write && recent.last == address)
        {
            return false;
        }
        if address == recent.hi && end <= recent.end {
            recent.hi = end;
            here.untold.set(here.untold.get() | 1 << number);
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
    let taken = HERE.try_with(|here| {
        here.untold.set(here.untold.get() & !(1 << number));
        here.slots[number].replace(NOTHING).untold(here.epoch.get())
    });
    taken.unwrap_or(None)
}

/// The statement's access was told, and lies in watched memory of this rank that ends there.
pub fn remember(pc: u64, (lo, hi): (u64, u64), write: bool, watched: u64) {
    let _ = HERE.try_with(|here| {
        let epoch = here.epoch.get();
        here.slots[number(pc)].set(Recent { pc, write, lo, hi, told: hi, end: watched, last: lo, epoch });
    });
}

/// A call is about to be logged: what was not told before it.
#[inline]
pub fn flush(tell: impl FnMut(Untold)) {
    let (untold, epoch) =
        HERE.try_with(|here| (here.untold.replace(0), here.epoch.replace(here.epoch.get() + 1))).unwrap_or((0, 0));
    if untold != 0 {
        tell_all(untold, epoch, tell);
    }
}

fn tell_all(untold: u64, epoch: u64, mut tell: impl FnMut(Untold)) {
    for number in (0..SLOTS).filter(|number| untold & 1 << number != 0) {
        let recent = HERE.try_with(|here| here.slots[number].get()).unwrap_or(NOTHING);
        recent.untold(epoch).into_iter().for_each(&mut tell);
    }
}

impl Recent {
    fn untold(self, epoch: u64) -> Option<Untold> {
        let Recent { pc, write, hi, told, .. } = self;
        (self.epoch == epoch && told < hi).then_some(Untold { pc, lo: told, hi, write })
    }
}

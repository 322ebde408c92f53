//! Leaving loads and stores out (chapter 8 of the paper; [`crate::look`] has the strategies).
//!
//! Statements and functions have a probability each, by their address, in a table that all threads share: an entry that
//! two of them have, or that two threads change at once, only makes the sample another one. Chance comes from a counter,
//! so that a run without threads takes the same sample again.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::look::{Local, Look, STATEMENTS};

/// Entries of a table.
const ENTRIES: usize = 1 << 12;

/// Probabilities, as the number that chance has to be below, counted down from the top: 0 is certain.
type Table = [AtomicU32; ENTRIES];
static STATEMENT: Table = [const { AtomicU32::new(0) }; ENTRIES];
static FUNCTION: Table = [const { AtomicU32::new(0) }; ENTRIES];

static ACTIVE: AtomicBool = AtomicBool::new(false);
static HOW: OnceLock<(f64, bool)> = OnceLock::new();
/// Changes when more is shared.
static SHARED: AtomicU64 = AtomicU64::new(1);

/// Statements whose last access touched nothing shared, each with [`SHARED`] as it was.
static OFF: [(AtomicU64, AtomicU64); ENTRIES] = [const { (AtomicU64::new(0), AtomicU64::new(0)) }; ENTRIES];

thread_local! {
    /// Functions that have been entered, a bit each, the innermost one first: is it left out?
    static LEFT_OUT: Cell<u64> = const { Cell::new(0) };
    static CHANCE: Cell<u64> = const { Cell::new(0x9e37_79b9_7f4a_7c15) };
}

/// Will functions be sampled? Asked while the program is loaded, before anything has begun.
pub fn asked() -> bool {
    let look = std::env::var(super::steer::PLAN).ok().and_then(|text| text.parse::<Look>().ok());
    matches!(look, Some(Look { local: Local::Sampled { functions, .. }, .. }) if functions < 1.0)
}

pub fn begin(local: Local) {
    if let Local::Sampled { functions, alias } = local {
        let _ = HOW.set((functions, alias));
        ACTIVE.store(true, Ordering::Release);
    }
}

/// Is anything left out?
#[inline(always)]
pub fn active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// Memory is shared that was not.
pub fn more_is_shared() {
    SHARED.fetch_add(1, Ordering::Relaxed);
}

fn number(pc: u64) -> usize {
    (pc ^ pc >> 12) as usize % ENTRIES
}

/// xorshift64
fn chance() -> u32 {
    CHANCE
        .try_with(|chance| {
            let mut state = chance.get();
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            chance.set(state);
            (state >> 32) as u32
        })
        .unwrap_or(0)
}

/// Takes it with its probability, which falls by the factor if it is taken.
fn take(table: &Table, pc: u64, factor: f64) -> bool {
    let entry = &table[number(pc)];
    let left = u32::MAX - entry.load(Ordering::Relaxed);
    if left != u32::MAX && chance() >= left {
        return false;
    }
    entry.store(u32::MAX - (f64::from(left) * factor) as u32, Ordering::Relaxed);
    true
}

/// Is this access of the statement looked at?
pub fn takes(pc: u64) -> bool {
    let Some((functions, alias)) = HOW.get() else { return true };
    if *functions < 1.0 && LEFT_OUT.try_with(Cell::get).unwrap_or(0) & 1 != 0 {
        return false;
    }
    let (off, when) = &OFF[number(pc)];
    if *alias && off.load(Ordering::Relaxed) == pc && when.load(Ordering::Relaxed) == SHARED.load(Ordering::Relaxed) {
        return false;
    }
    take(&STATEMENT, pc, STATEMENTS)
}

/// What the statement accessed is not shared.
pub fn touched_nothing(pc: u64) {
    if HOW.get().is_some_and(|(_, alias)| *alias) {
        let (off, when) = &OFF[number(pc)];
        when.store(SHARED.load(Ordering::Relaxed), Ordering::Relaxed);
        off.store(pc, Ordering::Relaxed);
    }
}

/// A function is entered, from there.
pub unsafe extern "C" fn entered(_: u64) {
    let Some((functions, _)) = HOW.get() else { return };
    let left_out = !take(&FUNCTION, caller!(), *functions);
    let _ = LEFT_OUT.try_with(|bits| bits.set(bits.get() << 1 | u64::from(left_out)));
}

/// A function is left.
pub unsafe extern "C" fn left() {
    let _ = LEFT_OUT.try_with(|bits| bits.set(bits.get() >> 1));
}

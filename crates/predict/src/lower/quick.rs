//! A look at the kept events of a window before a history is made of them: most windows have nothing to ask about.

use reweave_model::{LockChange, LockMode, ObjectId, Pc, ThreadId};

use super::buffer::{Kept, What};
use super::world::World;
use crate::history::AccessKind;
use crate::linear::{FastMap, FastSet};

/// The kept events of a window, and what was so before them.
pub struct Unlowered<'w> {
    pub(super) kept: &'w [Kept],
    pub(super) world: &'w World,
}

/// Pairs of code positions, the smaller first, that are still to be shown or refuted.
pub struct Left {
    pairs: FastSet<(Pc, Pc)>,
    /// Those that occur in them.
    codes: FastSet<Pc>,
}

impl Left {
    pub fn new(pairs: FastSet<(Pc, Pc)>) -> Self {
        let codes = pairs.iter().flat_map(|&(one, two)| [one, two]).collect();
        Self { pairs, codes }
    }

    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    fn has(&self, one: Pc, two: Pc) -> bool {
        self.pairs.contains(&(one.min(two), one.max(two)))
    }
}

/// Ways to use a word that are told apart; a word with more is taken for a racy one.
const MOST: usize = 32;
/// Bytes of an access that is too long to be looked at.
const LONG: u64 = 1 << 16;

/// How a thread used a word: where (if only some places are asked about), with which locks (as a number), whether it
/// wrote, and whether by an atomic operation.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Use {
    thread: ThreadId,
    pc: Option<Pc>,
    locks: u32,
    writes: bool,
    atomic: bool,
}

type Held = Vec<(ObjectId, LockMode)>;

/// Sets of locks as numbers.
#[derive(Default)]
struct Sets {
    numbers: FastMap<Held, u32>,
    all: Vec<Held>,
    now: FastMap<ThreadId, (Held, u32)>,
}

impl Sets {
    fn change(&mut self, thread: ThreadId, change: impl FnOnce(&mut Held)) {
        let (held, number) = self.now.entry(thread).or_default();
        change(held);
        held.sort_unstable_by_key(|(lock, _)| *lock);
        *number = *self.numbers.entry(held.clone()).or_insert_with(|| {
            self.all.push(held.clone());
            // None is number 0 for who holds nothing and never did.
            self.all.len() as u32
        });
    }

    fn of(&self, thread: ThreadId) -> u32 {
        self.now.get(&thread).map_or(0, |(_, number)| *number)
    }

    fn exclude(&self, one: u32, two: u32) -> bool {
        let set = |number: u32| number.checked_sub(1).map_or(&[][..], |at| &self.all[at as usize]);
        set(one).iter().any(|(lock, mode)| {
            set(two).iter().any(|(other, other_mode)| {
                lock == other && (*mode == LockMode::Exclusive || *other_mode == LockMode::Exclusive)
            })
        })
    }
}

impl Unlowered<'_> {
    /// Whether two accesses conflict that no common lock keeps apart, at a pair of places that is left if only these
    /// count. Says yes where it would take long to tell.
    pub fn may_race(&self, left: Option<&Left>) -> bool {
        let mut sets = Sets::default();
        for (&(thread, lock), &mode) in &self.world.held {
            sets.change(thread, |held| held.push((lock, mode)));
        }
        let mut words: FastMap<u64, Vec<Use>> = FastMap::default();
        for kept in self.kept {
            let (addr, size, writes, atomic) = match &kept.what {
                What::Access { addr, size, kind, written, .. } => {
                    (*addr, *size, written.is_some(), *kind != AccessKind::Plain)
                }
                What::Free { addr, size } => (*addr, *size, true, false),
                What::Alloc { .. } => continue,
                What::Sync(op) => {
                    match op.lock_change() {
                        Some(LockChange::Acquired { lock, mode }) => {
                            sets.change(kept.thread, |held| held.push((lock, mode)));
                        }
                        Some(LockChange::Released { lock, .. }) => {
                            sets.change(kept.thread, |held| held.retain(|(other, _)| *other != lock));
                        }
                        None => {}
                    }
                    continue;
                }
            };
            if left.is_some_and(|left| !left.codes.contains(&kept.pc)) {
                continue;
            }
            let pc = left.map(|_| kept.pc);
            let new = Use { thread: kept.thread, pc, locks: sets.of(kept.thread), writes, atomic };
            if size > LONG {
                return true;
            }
            for word in addr / 8..addr.saturating_add(size).div_ceil(8) {
                let uses = words.entry(word).or_default();
                if uses.contains(&new) {
                    continue;
                }
                let races = |old: &Use| {
                    old.thread != new.thread
                        && (old.writes || new.writes)
                        && !(old.atomic && new.atomic)
                        && !sets.exclude(old.locks, new.locks)
                        && left.is_none_or(|left| left.has(old.pc.unwrap_or(kept.pc), kept.pc))
                };
                if uses.len() >= MOST || uses.iter().any(races) {
                    return true;
                }
                uses.push(new);
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use reweave_model::{AccessFlags, Addr, Op, Value};
    use reweave_trace::{Meta, TraceBuilder};

    use super::*;
    use crate::lower::Windows;

    #[test]
    fn only_pairs_that_are_left_count() {
        let mut builder = TraceBuilder::new(&Meta::default());
        let lock = ObjectId(0x9000);
        let write = |addr| Op::Write { addr: Addr(addr), size: 8, value: Value::Word(1), flags: AccessFlags(0) };
        let mut push = |thread, pc, op: Op<'_>| builder.push(ThreadId(thread), Pc(pc), op).expect("memory");
        push(0, 100, Op::Begin);
        push(0, 101, Op::Fork { child: ThreadId(1), nth: 0 });
        push(1, 102, Op::Begin);
        for thread in [0, 1] {
            push(thread, 10, write(0x1000));
            push(thread, 20, write(0x2000));
            push(thread, 103, Op::Acquire { object: lock, mode: LockMode::Exclusive, tried: false });
            push(thread, 30, write(0x3000));
            push(thread, 104, Op::Release { object: lock, mode: LockMode::Exclusive });
        }
        let trace = builder.into_trace().expect("a trace");
        let left = |pairs: &[(u64, u64)]| Left::new(pairs.iter().map(|&(one, two)| (Pc(one), Pc(two))).collect());
        let mut windows = Windows::new(&trace, 100, &mut |_| true).expect("readable");
        let seen = windows.next_window_if(&|window| {
            assert!(window.may_race(None));
            assert!(window.may_race(Some(&left(&[(10, 10)]))) && window.may_race(Some(&left(&[(7, 8), (20, 20)]))));
            assert!(!window.may_race(Some(&left(&[(10, 20)]))), "other memory");
            assert!(!window.may_race(Some(&left(&[(30, 30)]))), "a common lock");
            assert!(!window.may_race(Some(&left(&[(7, 8)]))), "other places");
            true
        });
        assert!(seen.expect("readable").is_some_and(|(_, window)| window.is_some()));
    }
}

//! What a generated history may be made of, and whether it is.

use std::collections::BTreeSet;

use reweave_model::{LockMode, MemoryOrder};

use crate::history::{Access, AccessKind, Action, History, Lock, Waking};

/// Generated values from here on are written once.
pub const FRESH: u32 = 1000;

/// Something that random histories must have often enough.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Construct {
    /// A lock acquired and released while another one is held.
    NestedLocks,
    /// A lock released before one that was acquired after it.
    CrossedLocks,
    SharedLock,
    FailedTry,
    Notified,
    TimedOut,
    Spurious,
    NotifyOne,
    NotifyAll,
    Take,
    TakeFailed,
    Barrier,
    /// A begin after its fork, and a join after an end.
    ForkJoin,
    Relaxed,
    Consume,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
    Exchange,
    Update,
    CasDone,
    CasFailed,
    Fence,
    /// A value that two writes to a cell, or a write and its beginning, have in common.
    RepeatedValue,
    Guarded,
    Unguarded,
    /// Accesses to several cells, some of which another access touches alone.
    WideAccess,
    /// An access that must come after an event of another thread.
    AfterEdge,
    /// A write of its own value to several cells.
    Free,
    /// All events guarded, the pair not, all writes distinct: a trace without branches and values.
    AllGuarded,
    /// A thread that waits or is at a barrier at the end, or will never get its lock back.
    Blocked,
}

impl Construct {
    pub const ALL: [Construct; 32] = [
        Construct::NestedLocks,
        Construct::CrossedLocks,
        Construct::SharedLock,
        Construct::FailedTry,
        Construct::Notified,
        Construct::TimedOut,
        Construct::Spurious,
        Construct::NotifyOne,
        Construct::NotifyAll,
        Construct::Take,
        Construct::TakeFailed,
        Construct::Barrier,
        Construct::ForkJoin,
        Construct::Relaxed,
        Construct::Consume,
        Construct::Acquire,
        Construct::Release,
        Construct::AcqRel,
        Construct::SeqCst,
        Construct::Exchange,
        Construct::Update,
        Construct::CasDone,
        Construct::CasFailed,
        Construct::Fence,
        Construct::RepeatedValue,
        Construct::Guarded,
        Construct::Unguarded,
        Construct::WideAccess,
        Construct::AfterEdge,
        Construct::Free,
        Construct::AllGuarded,
        Construct::Blocked,
    ];

    /// All that a history is made of.
    pub fn found_in(history: &History) -> BTreeSet<Construct> {
        let mut found = BTreeSet::new();
        for step in &history.steps {
            found.insert(if step.guarded { Construct::Guarded } else { Construct::Unguarded });
            if !step.after.is_empty() && step.action != Action::Nothing {
                found.insert(Construct::AfterEdge);
            }
            match &step.action {
                Action::Access(access) => found.extend(of_access(access)),
                Action::Fence(_) => drop(found.insert(Construct::Fence)),
                action => found.extend(of_synchronization(action)),
            }
        }
        let joins = history.steps.iter().filter(|step| step.action == Action::Nothing && !step.after.is_empty());
        if joins.count() >= 2 {
            found.insert(Construct::ForkJoin);
        }
        for (construct, present) in [
            (Construct::RepeatedValue, repeats(history)),
            (Construct::AllGuarded, history.pair_unguarded),
            (Construct::Blocked, blocks(history)),
        ] {
            if present {
                found.insert(construct);
            }
        }
        found.extend(of_nesting(history));
        found
    }
}

fn of_access(access: &Access) -> Vec<Construct> {
    let mut found = Vec::new();
    let wide = access.reads.len().max(access.writes.len()) > 1;
    if wide {
        found.push(Construct::WideAccess);
    }
    if access.kind == AccessKind::Plain {
        let same = access.writes.windows(2).all(|pair| pair[0].1 == pair[1].1 && pair[0].1.0 >= FRESH);
        if wide && same && access.reads.is_empty() {
            found.push(Construct::Free);
        }
        return found;
    }
    found.push(match access.order {
        MemoryOrder::Relaxed => Construct::Relaxed,
        MemoryOrder::Consume => Construct::Consume,
        MemoryOrder::Acquire => Construct::Acquire,
        MemoryOrder::Release => Construct::Release,
        MemoryOrder::AcqRel => Construct::AcqRel,
        MemoryOrder::SeqCst => Construct::SeqCst,
    });
    match access.kind {
        AccessKind::Exchange => found.push(Construct::Exchange),
        AccessKind::Update => found.push(Construct::Update),
        AccessKind::CasDone => found.push(Construct::CasDone),
        AccessKind::CasFailed => found.push(Construct::CasFailed),
        AccessKind::Plain | AccessKind::Load | AccessKind::Store => {}
    }
    found
}

fn of_synchronization(action: &Action) -> Option<Construct> {
    match action {
        Action::Acquire { mode: LockMode::Shared, .. } => Some(Construct::SharedLock),
        Action::AcquireFailed { .. } => Some(Construct::FailedTry),
        Action::Woken { how: Waking::Notified, .. } => Some(Construct::Notified),
        Action::Woken { how: Waking::TimedOut, .. } => Some(Construct::TimedOut),
        Action::Woken { how: Waking::Spurious, .. } => Some(Construct::Spurious),
        Action::Notify { all: false, .. } => Some(Construct::NotifyOne),
        Action::Notify { all: true, .. } => Some(Construct::NotifyAll),
        Action::Take { .. } => Some(Construct::Take),
        Action::TakeFailed { .. } => Some(Construct::TakeFailed),
        Action::Leave { .. } => Some(Construct::Barrier),
        _ => None,
    }
}

/// Whether a cell gets a value that it had or gets elsewhere.
fn repeats(history: &History) -> bool {
    let mut seen: BTreeSet<_> = history.initial.iter().copied().enumerate().collect();
    let writes = history.steps.iter().filter_map(|step| step.action.access()).flat_map(|access| &access.writes);
    writes.fold(false, |repeats, &(cell, val)| repeats | !seen.insert((cell.index(), val)))
}

fn blocks(history: &History) -> bool {
    let last = |events: &Vec<_>| events.last().map(|&pos| &history.step(pos).action);
    history.threads.iter().filter_map(last).any(|action| matches!(action, Action::Wait { .. } | Action::Arrive { .. }))
}

fn of_nesting(history: &History) -> Vec<Construct> {
    let mut found = Vec::new();
    for events in &history.threads {
        let mut held: Vec<Lock> = Vec::new();
        for &pos in events {
            match history.step(pos).action {
                Action::Acquire { lock, .. } => held.push(lock),
                Action::Release { lock, .. } => {
                    let at = held.iter().rposition(|&held| held == lock);
                    match at.map(|at| (at, held.remove(at))) {
                        Some((at, _)) if at < held.len() => found.push(Construct::CrossedLocks),
                        Some((at, _)) if at > 0 => found.push(Construct::NestedLocks),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }
    found
}

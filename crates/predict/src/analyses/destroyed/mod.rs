//! Use of what has been destroyed: a lock, condition variable, barrier or semaphore that is used after somebody
//! destroyed it or freed the memory it lies in, or that is destroyed while another thread holds it.
//!
//! Two parts. What the recorded run did itself ([`recorded`]) is certain. What another order of the same events does
//! ([`predicted`]) is a question to the [engine](crate::feasible): a destruction is to its object what `free` is to a
//! block, so if both it and a use by another thread can be next, nothing keeps the use from coming too late. Sound by
//! the checked witness; complete for each window up to the number of tries per place.
//!
//! No object outlives a new one at the same address: an initialisation by a call, a write to its bytes (a static
//! initialiser again), a new block, or the return of the function in whose frame it lies begin another life. Who has
//! been woken, or has passed a barrier, uses it no more, by the rules of POSIX. What comes after the program's exit is
//! not looked at.

pub mod predicted;
pub mod recorded;

use std::collections::HashSet;

use reweave_model::wire::kind;
use reweave_model::{Finding, Kind, ObjectId, ObjectKind, Op, Strength};
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee};
use crate::prediction::{Prediction, accessors};

/// The analysis `destroyed`.
pub struct UseAfterDestruction;

impl Analysis for UseAfterDestruction {
    fn about(&self) -> About {
        let summary = "locks, conditions, barriers and semaphores that are used after they were destroyed";
        About::new("destroyed", Kind::Misuse, Guarantee::SoundAndComplete, summary).by_default()
    }

    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        let (trace, id) = (prediction.trace, self.id());
        let mut uses = recorded::late_uses(trace)?;
        // What is destroyed too early is one bug, whoever comes too late.
        let mut ends = HashSet::new();
        uses.retain(|late| ends.insert(late.end_pc));
        let accessors = accessors(trace, uses.iter().flat_map(|late| [late.used, late.end]).collect())?;
        for late in &uses {
            let accesses = [late.used, late.end].iter().filter_map(|event| accessors.get(event).cloned()).collect();
            prediction.answer.findings.push(Finding::new(Kind::Misuse, Strength::Confirmed, id, accesses));
        }
        prediction.answer.stats.insert(format!("{id}.events"), uses.len() as u64);
        if !prediction.trace.may_have(kind::DESTROY) {
            return Ok(());
        }
        let limits = &prediction.options.limits;
        let found = predicted::predicted(trace, id, &ends, limits, &mut prediction.progress(id))?;
        prediction.count([
            ("destroyed_questions", found.questions),
            ("unknown_destroyed", found.unknown),
            ("refused_witnesses", found.refused),
        ]);
        prediction.answer.findings.extend(found.findings);
        Ok(())
    }
}

/// What kind of thing an operation takes an object for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Class {
    Lock,
    Condition,
    Barrier,
    Semaphore,
}

impl Class {
    const fn of(kind: ObjectKind) -> Option<Self> {
        Some(match kind {
            ObjectKind::Mutex | ObjectKind::RwLock | ObjectKind::SpinLock => Self::Lock,
            ObjectKind::Condition => Self::Condition,
            ObjectKind::Barrier => Self::Barrier,
            ObjectKind::Semaphore => Self::Semaphore,
            ObjectKind::Once | ObjectKind::Channel => return None,
        })
    }
}

/// The largest of all.
const LARGEST: u64 = bytes(ObjectKind::RwLock);

/// What an object takes in memory: what is written right behind it begins no other life of it.
pub const fn bytes(kind: ObjectKind) -> u64 {
    match kind {
        ObjectKind::Mutex => 40,
        ObjectKind::RwLock => 56,
        ObjectKind::SpinLock | ObjectKind::Once => 4,
        ObjectKind::Condition => 48,
        ObjectKind::Barrier | ObjectKind::Semaphore => 32,
        ObjectKind::Channel => 0,
    }
}

/// The objects that an operation uses. The end of a wait is none of the condition's, and leaving a barrier none of the
/// barrier's: both may be gone by then.
fn uses(op: &Op<'_>) -> [Option<(ObjectId, Class)>; 2] {
    use reweave_model::BlockedOn::{LockExclusive, LockShared, Semaphore};
    let one = |object, class| [Some((object, class)), None];
    match *op {
        Op::Acquire { object, .. }
        | Op::Release { object, .. }
        | Op::Blocked { object, on: LockExclusive | LockShared }
        | Op::Refused { object, on: LockExclusive | LockShared, .. } => one(object, Class::Lock),
        Op::Blocked { object, on: Semaphore } | Op::Refused { object, on: Semaphore, .. } => {
            one(object, Class::Semaphore)
        }
        // Without a mutex it is a futex.
        Op::Wait { mutex: ObjectId(0), .. } | Op::Woken { mutex: ObjectId(0), .. } => [None, None],
        Op::Wait { condition, mutex, .. } => [Some((condition, Class::Condition)), Some((mutex, Class::Lock))],
        Op::Woken { mutex, .. } => one(mutex, Class::Lock),
        Op::Notify { condition, .. } => one(condition, Class::Condition),
        Op::BarrierArrive { barrier, .. } => one(barrier, Class::Barrier),
        Op::SemaphorePost { semaphore, .. } | Op::SemaphoreTake { semaphore, .. } => one(semaphore, Class::Semaphore),
        _ => [None, None],
    }
}

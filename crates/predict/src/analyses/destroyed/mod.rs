//! Use of what has been destroyed: a lock, condition variable, barrier or semaphore that is used after somebody destroyed it or
//! freed the memory it lies in, or that is destroyed while another thread holds it.
//!
//! Two parts. What the recorded run did itself ([`recorded`]) is certain. What another order of the same events does
//! ([`predicted`]) is a question to the [engine](crate::feasible): a destruction is to its object what `free` is to a block, so
//! if both it and a use by another thread can be next, nothing keeps the use from coming too late. Sound by the
//! checked witness; complete for each window up to the number of tries per place.
//!
//! No object outlives a new one at the same address: an initialisation by a call, a write to its bytes (a static initialiser
//! again), a new block, or the return of the function in whose frame it lies begin another life. Who has been woken, or has
//! passed a barrier, uses it no more, by the rules of POSIX. What comes after the program's exit is not looked at.

pub mod predicted;
pub mod recorded;

use reweave_model::{ObjectId, ObjectKind, Op};

pub const NAME: &str = "destroyed";

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

    /// Bytes of the largest such thing.
    const fn size(self) -> u64 {
        match self {
            Self::Lock => 56,
            Self::Condition => 48,
            Self::Barrier | Self::Semaphore => 32,
        }
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

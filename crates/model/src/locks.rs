//! What operations do to locks, written once for everybody who keeps a book of who holds what.
//!
//! The definition of histories (`predict::history`), the oracle, the witness checker and the engine have rules of their
//! own.

use std::collections::HashMap;

use crate::event::{LockMode, Misuse, Op};
use crate::ids::{ObjectId, ThreadId};

/// What an operation does to a lock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LockChange {
    Acquired { lock: ObjectId, mode: LockMode },
    Released { lock: ObjectId, mode: LockMode },
}

impl LockChange {
    pub const fn lock(self) -> ObjectId {
        match self {
            Self::Acquired { lock, .. } | Self::Released { lock, .. } => lock,
        }
    }

    pub const fn mode(self) -> LockMode {
        match self {
            Self::Acquired { mode, .. } | Self::Released { mode, .. } => mode,
        }
    }
}

impl Op<'_> {
    /// The lock that the thread has from here on, or has no more. Whoever waits on a condition releases its mutex, and
    /// holds it again when the wait is over; a wait without a mutex (object 0) changes nothing.
    #[inline]
    pub const fn lock_change(&self) -> Option<LockChange> {
        const EXCLUSIVE: LockMode = LockMode::Exclusive;
        Some(match *self {
            Op::Acquire { object, mode, .. } => LockChange::Acquired { lock: object, mode },
            Op::Release { object, mode } => LockChange::Released { lock: object, mode },
            Op::Wait { mutex: ObjectId(0), .. } | Op::Woken { mutex: ObjectId(0), .. } => return None,
            Op::Wait { mutex, .. } => LockChange::Released { lock: mutex, mode: EXCLUSIVE },
            Op::Woken { mutex, .. } => LockChange::Acquired { lock: mutex, mode: EXCLUSIVE },
            _ => return None,
        })
    }
}

/// The locks that threads hold, each with a note of whoever keeps the book: where it was acquired, say.
#[derive(Clone, Debug)]
pub struct HeldLocks<N> {
    // invariant: of each thread in the order of acquisition
    threads: HashMap<ThreadId, Vec<(ObjectId, N)>>,
}

impl<N> Default for HeldLocks<N> {
    fn default() -> Self {
        Self { threads: HashMap::new() }
    }
}

impl<N> HeldLocks<N> {
    /// Notes what an operation of the thread changes. Returns a lock that it released, with its note.
    pub fn follow(&mut self, thread: ThreadId, op: &Op<'_>, note: N) -> Option<(ObjectId, N)> {
        if let Op::Misused { what: Misuse::UnlockByNonOwner, object } = *op {
            // The library goes ahead, unless the lock is of a kind that refuses: of its owner no more is said.
            self.threads.values_mut().for_each(|held| held.retain(|(lock, _)| *lock != object));
        }
        match op.lock_change()? {
            LockChange::Acquired { lock, .. } => {
                self.threads.entry(thread).or_default().push((lock, note));
                None
            }
            // The last one: shared locks may be acquired again.
            LockChange::Released { lock, .. } => {
                let held = self.threads.get_mut(&thread)?;
                let at = held.iter().rposition(|(held, _)| *held == lock)?;
                Some(held.remove(at))
            }
        }
    }

    /// The locks of a thread, in the order of acquisition.
    pub fn of(&self, thread: ThreadId) -> &[(ObjectId, N)] {
        self.threads.get(&thread).map_or(&[], Vec::as_slice)
    }

    /// Every thread that ever held one, with what it holds.
    pub fn all(&self) -> impl Iterator<Item = (ThreadId, &[(ObjectId, N)])> {
        self.threads.iter().map(|(thread, held)| (*thread, held.as_slice()))
    }

    /// Whether anybody holds the lock.
    pub fn is_held(&self, lock: ObjectId) -> bool {
        self.threads.values().flatten().any(|(held, _)| *held == lock)
    }

    /// The thread is gone.
    pub fn forget(&mut self, thread: ThreadId) -> Option<Vec<(ObjectId, N)>> {
        self.threads.remove(&thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::WakeReason;

    const LOCK: ObjectId = ObjectId(8);
    const CONDITION: ObjectId = ObjectId(9);

    #[test]
    fn a_wait_gives_the_mutex_up_until_it_is_over() {
        let mut held: HeldLocks<u32> = HeldLocks::default();
        let thread = ThreadId(1);
        let wait = |mutex| Op::Wait { condition: CONDITION, mutex, timed: false };
        let woken = |mutex| Op::Woken { condition: CONDITION, mutex, reason: WakeReason::Notified, notify: 1 };
        held.follow(thread, &Op::Acquire { object: LOCK, mode: LockMode::Exclusive, tried: false }, 1);
        assert_eq!(held.of(thread), [(LOCK, 1)]);
        assert_eq!(held.follow(thread, &wait(LOCK), 2), Some((LOCK, 1)));
        assert!(held.of(thread).is_empty() && !held.is_held(LOCK));
        held.follow(thread, &woken(LOCK), 3);
        assert_eq!(held.of(thread), [(LOCK, 3)]);
        // Somebody else opens it.
        held.follow(ThreadId(2), &Op::Misused { what: Misuse::UnlockByNonOwner, object: LOCK }, 4);
        assert!(!held.is_held(LOCK));
        held.follow(thread, &woken(LOCK), 3);
        // Without a mutex nothing changes.
        assert_eq!(wait(ObjectId(0)).lock_change(), None);
        assert_eq!(woken(ObjectId(0)).lock_change(), None);
        assert_eq!(held.follow(ThreadId(2), &Op::Release { object: LOCK, mode: LockMode::Exclusive }, 4), None);
        assert!(held.is_held(LOCK), "another thread does not hold it");
    }

    #[test]
    fn a_shared_lock_may_be_held_twice() {
        let mut held: HeldLocks<u32> = HeldLocks::default();
        let (thread, mode) = (ThreadId(0), LockMode::Shared);
        held.follow(thread, &Op::Acquire { object: LOCK, mode, tried: false }, 1);
        held.follow(thread, &Op::Acquire { object: LOCK, mode, tried: true }, 2);
        assert_eq!(held.follow(thread, &Op::Release { object: LOCK, mode }, 3), Some((LOCK, 2)));
        assert_eq!(held.of(thread), [(LOCK, 1)]);
    }
}

//! A stretch of a trace as the definition of a feasible reordering sees it: threads, cells, locks, and nothing of
//! addresses, code or processes. The oracle, the checker and the engines all read this and share nothing else.
//!
//! **State.** A reordering is run event by event. The state is how far each thread is, what each cell holds, who holds
//! the locks, who waits where, and for each thread whether it is *valid*: whether all its reads so far returned what
//! they returned in the trace.
//!
//! **An event can be next** if
//! 1. it is the next one of its thread, and everything in its [`Step::after`] has happened;
//! 2. its [`Action`] can be done (each action says when);
//! 3. its thread is valid, if the event is [`Step::guarded`] or its outcome steers the program
//!    ([`Action::is_outcome`]).
//!
//! **Doing it.** A read that meets another value than the observed one makes its thread invalid, for good. A write
//! leaves its observed value if its thread is valid (an [`AccessKind::Update`] must be valid after its own read), and
//! otherwise [`Val::UNKNOWN`], which equals no observed value.
//!
//! **Modes** ([`Mode`]) change rule 3 and what an invalid read means.

use reweave_model::{EventId, LockMode, MemoryOrder};

index!(
    /// An event of a history: its position in the observed order.
    Pos
);
index!(
    /// A piece of memory that no access touches in part, during one life of its block.
    Cell
);
index!(
    /// What a cell can hold. Two are equal if the bytes are known to be equal.
    Val
);
index!(
    /// A thread of a history.
    Thread
);
index!(Lock);
index!(Condition);
index!(Barrier);
index!(Semaphore);

impl Val {
    /// Written by a thread that is not valid: no observed read returned it.
    pub const UNKNOWN: Val = Val(u32::MAX);
}

/// Which reorderings count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Mode {
    /// Reads may return something else, as long as nothing that depends on them follows.
    #[default]
    ControlFlow,
    /// Every read of the reordering keeps its value. The accesses in question are not part of it: theirs are free.
    Prefix,
    /// As `Prefix`, and the reordering, the pair in question included and adjacent, can be completed to the whole
    /// history.
    Said,
    /// Reads may return anything: threads are always valid.
    DataAbstract,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AccessKind {
    /// An ordinary read or write (or `free`, which writes all cells of its block, or an `extern` write).
    Plain,
    Load,
    Store,
    /// Reads and writes; what it writes does not depend on what it reads.
    Exchange,
    /// Reads and writes what depends on it.
    Update,
    /// A compare-exchange that succeeded. Its read is an outcome.
    CasDone,
    /// A compare-exchange that failed: reads only. Its read is an outcome.
    CasFailed,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Access {
    pub kind: AccessKind,
    /// `Relaxed` for plain accesses, where it means nothing.
    pub order: MemoryOrder,
    /// Cells and what was observed there. invariant: ascending cells
    pub reads: Vec<(Cell, Val)>,
    /// Cells and what they hold afterwards. invariant: ascending cells
    pub writes: Vec<(Cell, Val)>,
}

/// Why a wait ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Waking {
    /// Needs to have been notified in the reordering.
    Notified,
    /// Must not have been notified in the reordering.
    TimedOut,
    /// Returns whether or not it was notified.
    Spurious,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Begin, end, fork, join, send, receive…: what matters of them stands in [`Step::after`].
    Nothing,
    Access(Access),
    Fence(MemoryOrder),
    /// Exclusive: nobody holds the lock. Shared: nobody holds it exclusively. Outermost acquisitions only.
    Acquire {
        lock: Lock,
        mode: LockMode,
    },
    Release {
        lock: Lock,
        mode: LockMode,
    },
    /// A try or timed acquisition that failed: somebody else holds the lock against it. An outcome.
    AcquireFailed {
        lock: Lock,
        mode: LockMode,
    },
    /// Releases `lock` (held exclusively) and starts to wait.
    Wait {
        condition: Condition,
        lock: Lock,
    },
    /// Ends the thread's wait: as [`Waking`] says, and `lock` is free and acquired again. An outcome.
    Woken {
        condition: Condition,
        lock: Lock,
        how: Waking,
    },
    /// Marks one waiting thread that is not yet notified (any of them; none if there is none), or all of them.
    Notify {
        condition: Condition,
        all: bool,
    },
    /// The n-th arrival of a reordering (from 0) belongs to round n / `count`.
    Arrive {
        barrier: Barrier,
        count: u32,
    },
    /// The round of the thread's last arrival is full. At most one leaves a round as the serial one, and at most
    /// `count` - 1 otherwise. An outcome.
    Leave {
        barrier: Barrier,
        serial: bool,
    },
    Post {
        semaphore: Semaphore,
    },
    /// The count is not 0.
    Take {
        semaphore: Semaphore,
    },
    /// The count is 0. An outcome.
    TakeFailed {
        semaphore: Semaphore,
    },
}

impl Action {
    /// Whether the observed result steers what the program does next: then the event is in a reordering only with that
    /// result, and only if its thread is valid before and after it.
    pub fn is_outcome(&self) -> bool {
        match self {
            Action::Access(access) => matches!(access.kind, AccessKind::CasDone | AccessKind::CasFailed),
            Action::AcquireFailed { .. } | Action::Woken { .. } | Action::Leave { .. } | Action::TakeFailed { .. } => {
                true
            }
            _ => false,
        }
    }

    pub fn access(&self) -> Option<&Access> {
        match self {
            Action::Access(access) => Some(access),
            _ => None,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    pub thread: Thread,
    pub action: Action,
    /// A branch, or an operand that may depend on data, stands before it.
    pub guarded: bool,
    /// Events that must have happened: the fork of a begin, the end of a join, the send of a receive, the allocation of
    /// what is accessed… Events of other threads only; program order is understood. invariant: all earlier in the
    /// history
    pub after: Vec<Pos>,
    /// The event in the trace; `None` for what stands for the time before this history: locks held, waits begun,
    /// barriers arrived at. Such events come first and in their order, by `after` and program order.
    pub event: Option<EventId>,
    /// An acquisition, a take or the end of a wait that a deadline, or a try, would end in another way: whoever stands
    /// before it is not stuck there (except for the lock that the end of a wait needs).
    pub tried: bool,
    /// An `extern` write, or beside synchronization that is not under control: a reordering with it proves nothing.
    pub doubtful: bool,
}

/// The observed order of events, itself a feasible reordering.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct History {
    pub steps: Vec<Step>,
    /// The events of each thread, in order.
    pub threads: Vec<Vec<Pos>>,
    /// What each cell holds at first.
    pub initial: Vec<Val>,
    pub locks: u32,
    pub conditions: u32,
    pub barriers: u32,
    /// The count of each semaphore at first.
    pub semaphores: Vec<u32>,
    /// The accesses in question need no valid thread although they are guarded: the generous reading of traces without
    /// branches, where every event is guarded for want of knowledge. The lowering does not use it: what an access of
    /// such a trace goes to may depend on any read before it, and a race found that way may be none.
    pub pair_unguarded: bool,
}

impl History {
    pub fn step(&self, pos: Pos) -> &Step {
        &self.steps[pos.index()]
    }

    pub fn positions(&self) -> impl DoubleEndedIterator<Item = Pos> + use<> {
        (0..self.steps.len() as u32).map(Pos)
    }

    /// Whether two events are conflicting accesses of different threads, not both atomic.
    pub fn conflict(&self, first: Pos, second: Pos) -> bool {
        let (one, two) = (self.step(first), self.step(second));
        let (Some(a), Some(b)) = (one.action.access(), two.action.access()) else { return false };
        one.thread != two.thread
            && (a.kind == AccessKind::Plain || b.kind == AccessKind::Plain)
            && (share(&a.writes, &b.writes) || share(&a.writes, &b.reads) || share(&a.reads, &b.writes))
    }

    /// The compare-exchange without whose success two accesses do not conflict: the other one only reads. Such a pair
    /// races if the exchange can still be done where both are next.
    pub fn conflict_rests_on(&self, first: Pos, second: Pos) -> Option<Pos> {
        let access = |pos: Pos| self.step(pos).action.access();
        let rests_on = |one: Pos, other: Pos| {
            access(one).is_some_and(|access| access.kind == AccessKind::CasDone)
                && access(other).is_some_and(|access| access.writes.is_empty())
        };
        [(first, second), (second, first)].into_iter().find(|&(one, other)| rests_on(one, other)).map(|(one, _)| one)
    }
}

/// Whether two ascending lists name a common cell.
fn share(one: &[(Cell, Val)], two: &[(Cell, Val)]) -> bool {
    let (mut i, mut j) = (0, 0);
    while i < one.len() && j < two.len() {
        match one[i].0.cmp(&two[j].0) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => return true,
        }
    }
    false
}

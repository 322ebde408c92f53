//! What a thread does at one of the accesses of a finding.

use crate::event::{AtomicKind, BlockedOn, Misuse, Op};
use crate::ids::{Addr, ObjectId};
use crate::named::named;

/// What one of the accesses of a finding does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AccessOp {
    Does(OpName),
    /// It waits, and that is what the finding is about.
    WaitsFor(Awaited),
    /// The signal that ended the run.
    Signal(i32),
    /// An exception that nobody caught ended the thread.
    Exception,
}

/// What a thread waits for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Awaited {
    Object {
        on: BlockedOn,
        object: ObjectId,
        /// A thread of the parent process held it, and that thread is not part of this process.
        orphaned: bool,
    },
    /// It reads the same value again and again.
    Change(Addr),
}

named! {
    /// An operation in the words of a report.
    pub enum OpName {
        Read = "read",
        Write = "write",
        Free = "free",
        AtomicLoad = "atomic load",
        AtomicStore = "atomic store",
        AtomicUpdate = "atomic update",
        AtomicExchange = "atomic exchange",
        CasDone = "cas done",
        CasFailed = "cas failed",
        Acquire = "acquire",
        AcquireAfterWait = "acquire after a wait",
        TryToAcquire = "try to acquire",
        Release = "release",
        Lock = "lock",
        Unlock = "unlock",
        Wait = "wait",
        Notify = "notify",
        Barrier = "barrier",
        Take = "take",
        TryToTake = "try to take",
        Post = "post",
        Fork = "fork",
        Join = "join",
        Begin = "begin",
        End = "end",
        Send = "send",
        Receive = "receive",
        Destroy = "destroy",
        /// Of an atomic block.
        Enter = "enter",
        /// An access of which no more is known.
        Access = "access",
        /// Nothing that a finding is about.
        Unnamed = "",
    }
}

impl OpName {
    /// Of an event. Atomic operations are told apart by whether they read and write; an attempt that has to wait is
    /// called by what it waits to do.
    pub const fn of(op: &Op<'_>) -> Self {
        match op {
            Op::Read { .. } => Self::Read,
            Op::Write { .. } => Self::Write,
            Op::Free { .. } => Self::Free,
            Op::Atomic { kind, .. } if !kind.writes() => Self::AtomicLoad,
            Op::Atomic { kind, .. } if !kind.reads() => Self::AtomicStore,
            Op::Atomic { .. } => Self::AtomicUpdate,
            Op::Acquire { .. } | Op::Blocked { on: BlockedOn::LockExclusive | BlockedOn::LockShared, .. } => {
                Self::Acquire
            }
            Op::Woken { .. } => Self::AcquireAfterWait,
            Op::Release { .. } => Self::Release,
            Op::Wait { .. } => Self::Wait,
            Op::Join { .. } | Op::Blocked { on: BlockedOn::Join, .. } => Self::Join,
            Op::BarrierArrive { .. } | Op::BarrierLeave { .. } => Self::Barrier,
            Op::SemaphoreTake { .. } | Op::Blocked { on: BlockedOn::Semaphore, .. } => Self::Take,
            Op::SemaphorePost { .. } => Self::Post,
            Op::Notify { .. } => Self::Notify,
            Op::Destroy { .. } => Self::Destroy,
            Op::Refused { on: BlockedOn::LockExclusive | BlockedOn::LockShared, .. } => Self::TryToAcquire,
            Op::Refused { on: BlockedOn::Semaphore, .. } => Self::TryToTake,
            Op::Fork { .. } => Self::Fork,
            Op::Begin => Self::Begin,
            Op::End => Self::End,
            Op::Send { .. } => Self::Send,
            Op::Receive { .. } => Self::Receive,
            Op::AtomicEnter { .. } => Self::Enter,
            Op::Misused { what, .. } => match what {
                Misuse::UnlockByNonOwner | Misuse::UnlockUnlocked => Self::Unlock,
                Misuse::DoubleLock => Self::Lock,
                Misuse::DestroyHeld => Self::Destroy,
                Misuse::DoubleFree => Self::Free,
                Misuse::JoinTwice => Self::Join,
            },
            _ => Self::Unnamed,
        }
    }

    /// The same, with atomic operations told apart by what they are.
    pub const fn exactly(op: &Op<'_>) -> Self {
        match op {
            Op::Atomic { kind, .. } => match kind {
                AtomicKind::Load => Self::AtomicLoad,
                AtomicKind::Store => Self::AtomicStore,
                AtomicKind::Exchange => Self::AtomicExchange,
                AtomicKind::Update => Self::AtomicUpdate,
                AtomicKind::CasDone => Self::CasDone,
                AtomicKind::CasFailed => Self::CasFailed,
            },
            op => Self::of(op),
        }
    }
}

impl AccessOp {
    pub const fn is(self, name: OpName) -> bool {
        match self {
            Self::Does(own) => own as u8 == name as u8,
            _ => false,
        }
    }
}

impl From<OpName> for AccessOp {
    fn from(name: OpName) -> Self {
        Self::Does(name)
    }
}

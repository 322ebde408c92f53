//! The kinds of events, by name: what `inspect --kind` takes and the trace view shows.

use crate::event::{AtomicKind, Op};
use crate::named::named;

named! {
    pub enum OpKind {
        Begin = "begin",
        End = "end",
        Fork = "fork",
        Join = "join",
        Detach = "detach",
        Read = "read",
        Write = "write",
        AtomicLoad = "atomic_load",
        AtomicStore = "atomic_store",
        AtomicExchange = "atomic_exchange",
        AtomicUpdate = "atomic_update",
        CasDone = "cas_done",
        CasFailed = "cas_failed",
        Fence = "fence",
        Acquire = "acquire",
        Release = "release",
        Blocked = "blocked",
        Refused = "refused",
        Wait = "wait",
        Woken = "woken",
        Notify = "notify",
        BarrierArrive = "barrier_arrive",
        BarrierLeave = "barrier_leave",
        SemaphorePost = "semaphore_post",
        SemaphoreTake = "semaphore_take",
        OnceBegin = "once_begin",
        OnceEnd = "once_end",
        OnceDone = "once_done",
        Send = "send",
        Receive = "receive",
        Alloc = "alloc",
        Free = "free",
        Create = "create",
        Destroy = "destroy",
        AtomicEnter = "atomic_enter",
        AtomicExit = "atomic_exit",
        Branch = "branch",
        Input = "input",
        Signal = "signal",
        SignalReturn = "signal_return",
        Misused = "misused",
        Leave = "leave",
        Return = "return",
        Revoked = "revoked",
        Stopped = "stopped",
        ClockJump = "clock_jump",
        Module = "module",
        ThreadName = "thread_name",
        Exit = "exit",
        Fatal = "fatal",
        Hang = "hang",
        Put = "put",
        Get = "get",
        Accumulate = "accumulate",
        EpochBegin = "epoch_begin",
        EpochEnd = "epoch_end",
    }
}

impl OpKind {
    /// An atomic access, or the attempt at one.
    pub const fn is_atomic(self) -> bool {
        matches!(
            self,
            Self::AtomicLoad
                | Self::AtomicStore
                | Self::AtomicExchange
                | Self::AtomicUpdate
                | Self::CasDone
                | Self::CasFailed
        )
    }
}

impl Op<'_> {
    pub const fn kind(&self) -> OpKind {
        match self {
            Op::Begin => OpKind::Begin,
            Op::End => OpKind::End,
            Op::Fork { .. } => OpKind::Fork,
            Op::Join { .. } => OpKind::Join,
            Op::Detach { .. } => OpKind::Detach,
            Op::Read { .. } => OpKind::Read,
            Op::Write { .. } => OpKind::Write,
            Op::Atomic { kind, .. } => match kind {
                AtomicKind::Load => OpKind::AtomicLoad,
                AtomicKind::Store => OpKind::AtomicStore,
                AtomicKind::Exchange => OpKind::AtomicExchange,
                AtomicKind::Update => OpKind::AtomicUpdate,
                AtomicKind::CasDone => OpKind::CasDone,
                AtomicKind::CasFailed => OpKind::CasFailed,
            },
            Op::Fence { .. } => OpKind::Fence,
            Op::Acquire { .. } => OpKind::Acquire,
            Op::Release { .. } => OpKind::Release,
            Op::Blocked { .. } => OpKind::Blocked,
            Op::Refused { .. } => OpKind::Refused,
            Op::Wait { .. } => OpKind::Wait,
            Op::Woken { .. } => OpKind::Woken,
            Op::Notify { .. } => OpKind::Notify,
            Op::BarrierArrive { .. } => OpKind::BarrierArrive,
            Op::BarrierLeave { .. } => OpKind::BarrierLeave,
            Op::SemaphorePost { .. } => OpKind::SemaphorePost,
            Op::SemaphoreTake { .. } => OpKind::SemaphoreTake,
            Op::OnceBegin { .. } => OpKind::OnceBegin,
            Op::OnceEnd { .. } => OpKind::OnceEnd,
            Op::OnceDone { .. } => OpKind::OnceDone,
            Op::Send { .. } => OpKind::Send,
            Op::Receive { .. } => OpKind::Receive,
            Op::Alloc { .. } => OpKind::Alloc,
            Op::Free { .. } => OpKind::Free,
            Op::Create { .. } => OpKind::Create,
            Op::Destroy { .. } => OpKind::Destroy,
            Op::AtomicEnter { .. } => OpKind::AtomicEnter,
            Op::AtomicExit => OpKind::AtomicExit,
            Op::Branch => OpKind::Branch,
            Op::Input { .. } => OpKind::Input,
            Op::Signal { .. } => OpKind::Signal,
            Op::SignalReturn { .. } => OpKind::SignalReturn,
            Op::Misused { .. } => OpKind::Misused,
            Op::Leave { .. } => OpKind::Leave,
            Op::Return { .. } => OpKind::Return,
            Op::Revoked => OpKind::Revoked,
            Op::Stopped => OpKind::Stopped,
            Op::ClockJump { .. } => OpKind::ClockJump,
            Op::Module { .. } => OpKind::Module,
            Op::ThreadName { .. } => OpKind::ThreadName,
            Op::Exit { .. } => OpKind::Exit,
            Op::Fatal { .. } => OpKind::Fatal,
            Op::Hang => OpKind::Hang,
            Op::Put { .. } => OpKind::Put,
            Op::Get { .. } => OpKind::Get,
            Op::Accumulate { .. } => OpKind::Accumulate,
            Op::EpochBegin { .. } => OpKind::EpochBegin,
            Op::EpochEnd { .. } => OpKind::EpochEnd,
        }
    }
}

//! Events of a trace, decoded. Their bytes are in [`crate::wire`].

use crate::ids::{Addr, EventId, ObjectId, Pc, StackId, ThreadId};

/// One event of the observed, sequentially consistent execution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Event<'a> {
    pub id: EventId,
    pub thread: ThreadId,
    pub pc: Pc,
    pub stack: StackId,
    pub op: Op<'a>,
}

/// The value an access read or wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value<'a> {
    /// Up to eight bytes, little endian, zero extended.
    Word(u64),
    /// Longer accesses: the bytes themselves.
    Bytes(&'a [u8]),
    /// Not captured: a faulting access, or a range over the payload limit.
    Unknown,
}

/// How an access came about; bits of [`Op::Read`] and [`Op::Write`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AccessFlags(pub u8);

impl AccessFlags {
    pub const VOLATILE: u8 = 1;
    pub const VPTR: u8 = 2;
    /// Made by a library call (memcpy, read…) on behalf of the program.
    pub const LIBRARY: u8 = 4;
    /// `free`, `munmap`: the whole block is written, with no value.
    pub const FREE: u8 = 8;
    pub const fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

/// Declares enums that are a few bits of a record, each value with its number. Numbers are part of the trace format.
macro_rules! coded {
    ($($(#[$about:meta])* $Name:ident { $($(#[$doc:meta])* $Value:ident = $number:literal,)+ })+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(u8)]
        pub enum $Name { $($(#[$doc])* $Value = $number,)+ }

        impl $Name {
            pub const fn from_bits(bits: u8) -> Option<Self> {
                match bits { $($number => Some(Self::$Value),)+ _ => None }
            }
        }
    )+};
}

coded! {
    MemoryOrder {
        Relaxed = 0,
        Consume = 1,
        Acquire = 2,
        Release = 3,
        AcqRel = 4,
        SeqCst = 5,
    }

    AtomicKind {
        Load = 0,
        Store = 1,
        /// Reads and writes whatever was there: the written value does not depend on the read one.
        Exchange = 2,
        /// Reads and writes; the written value depends on the read one (fetch-and-add and the like).
        Update = 3,
        /// A compare-exchange that succeeded.
        CasDone = 4,
        /// A compare-exchange that failed: only a load.
        CasFailed = 5,
    }

    LockMode {
        Exclusive = 0,
        Shared = 1,
    }

    /// What a thread that could not go on is waiting for.
    BlockedOn {
        LockExclusive = 0,
        LockShared = 1,
        Notify = 2,
        /// The object is the thread id.
        Join = 3,
        Barrier = 4,
        Semaphore = 5,
        Once = 6,
        /// A futex word.
        Futex = 7,
        /// A file descriptor.
        Descriptor = 8,
        /// A signal (pause, sigwait).
        Signal = 9,
        /// Virtual time only.
        Sleep = 10,
    }

    RefusedWhy {
        /// A try found it taken (or the semaphore at zero).
        Busy = 0,
        TimedOut = 1,
        /// An error check refused it: the thread holds it already, or may not have it.
        Error = 2,
        Interrupted = 3,
    }

    WakeReason {
        Notified = 0,
        TimedOut = 1,
        Spurious = 2,
        Cancelled = 3,
    }

    ObjectKind {
        Mutex = 0,
        RwLock = 1,
        SpinLock = 2,
        Condition = 3,
        Barrier = 4,
        Semaphore = 5,
        Once = 6,
        Channel = 7,
    }

    Misuse {
        UnlockByNonOwner = 0,
        DoubleLock = 1,
        DestroyHeld = 2,
        UnlockUnlocked = 3,
        DoubleFree = 4,
        JoinTwice = 5,
    }

    /// Where an outside input came from; it is played back on replay.
    InputSource {
        Clock = 0,
        Random = 1,
        /// Bytes read from a descriptor; the value is their count or a negative errno.
        Read = 2,
        /// Which descriptors were ready.
        Poll = 3,
        /// Any other result of the outside world.
        Other = 4,
    }

    /// What keeps one-sided operations on a window together: they may begin when it begins, and are done when it ends.
    EpochKind {
        /// Between two meetings of all processes of the window.
        Fence = 0,
        /// Towards processes that have agreed to it.
        Group = 1,
        /// While the target's memory is locked for everybody who shares the lock.
        LockShared = 2,
        LockExclusive = 3,
    }
}

impl MemoryOrder {
    /// Of the lowest three bits; what no order has is the strongest.
    pub const fn of_bits(bits: u8) -> Self {
        match Self::from_bits(bits & 7) {
            Some(order) => order,
            None => Self::SeqCst,
        }
    }
    pub const fn acquires(self) -> bool {
        matches!(self, Self::Consume | Self::Acquire | Self::AcqRel | Self::SeqCst)
    }
    pub const fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }
}

impl AtomicKind {
    /// Of the lowest three bits; what no kind has only reads.
    pub const fn of_bits(bits: u8) -> Self {
        match Self::from_bits(bits & 7) {
            Some(kind) => kind,
            None => Self::CasFailed,
        }
    }
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Store)
    }
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Load | Self::CasFailed)
    }
}

/// What a mutex does when its holder locks it again: the `value` of its [`Op::Create`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u32)]
pub enum MutexKind {
    /// The holder waits for itself.
    Plain = 0,
    /// The holder gets it once more.
    Recursive = 1,
    /// The holder is refused.
    ErrorChecking = 2,
}

impl MutexKind {
    pub const fn of_value(value: u32) -> Self {
        match value {
            1 => Self::Recursive,
            2 => Self::ErrorChecking,
            _ => Self::Plain,
        }
    }
}

/// Memory of another process, as one-sided operations reach it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Remote {
    /// Names the window in the same way in all processes of the run.
    pub window: ObjectId,
    /// The rank of the process.
    pub target: u32,
    /// In bytes, from the beginning of the target's part of the window.
    pub displacement: u64,
    pub size: u32,
}

impl Remote {
    /// Stands for every process of a window.
    pub const ALL: u32 = u32::MAX;
}

/// What happened. Operations marked *(step)* are the ones a schedule counts; the others ride along.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Op<'a> {
    /// First event of a thread. *(step)*
    Begin,
    /// Last event of a thread. *(step)*
    End,
    /// The `nth` child of this thread was created. *(step)*
    Fork { child: ThreadId, nth: u32 },
    /// *(step)*
    Join { child: ThreadId },
    /// *(step)*
    Detach { child: ThreadId },
    /// *(step)*
    Read { addr: Addr, size: u32, value: Value<'a>, flags: AccessFlags },
    /// *(step)*
    Write { addr: Addr, size: u32, value: Value<'a>, flags: AccessFlags },
    /// `read` is what was there (for a store: nothing), `written` what is there now. *(step)*
    Atomic { kind: AtomicKind, order: MemoryOrder, addr: Addr, size: u32, read: Value<'a>, written: Value<'a> },
    /// *(step)*
    Fence { order: MemoryOrder },
    /// Outermost acquisition. `tried`: it could have been refused instead. *(step)*
    Acquire { object: ObjectId, mode: LockMode, tried: bool },
    /// *(step)*
    Release { object: ObjectId, mode: LockMode },
    /// The thread cannot go on until `object` lets it. *(step)*
    Blocked { on: BlockedOn, object: ObjectId },
    /// A try or timed operation that did not succeed. *(step)*
    Refused { object: ObjectId, on: BlockedOn, why: RefusedWhy },
    /// Releases `mutex` and waits on `condition`; `timed`: not longer than until some time. *(step)*
    Wait { condition: ObjectId, mutex: ObjectId, timed: bool },
    /// The wait is over and `mutex` is held again. `notify` is the number of the waking notify, 0 if none. *(step)*
    Woken { condition: ObjectId, mutex: ObjectId, reason: WakeReason, notify: u32 },
    /// `notify` numbers the notifies of the run from 1; `woken` waiters were chosen. *(step)*
    Notify { condition: ObjectId, all: bool, notify: u32, woken: u32 },
    /// *(step)*
    BarrierArrive { barrier: ObjectId, count: u32 },
    /// *(step)*
    BarrierLeave { barrier: ObjectId, serial: bool },
    /// *(step)*
    SemaphorePost { semaphore: ObjectId, value: u32 },
    /// `tried`: it could have been refused instead. *(step)*
    SemaphoreTake { semaphore: ObjectId, value: u32, tried: bool },
    /// This thread runs the initialiser. *(step)*
    OnceBegin { object: ObjectId },
    /// *(step)*
    OnceEnd { object: ObjectId },
    /// Found it done. *(step)*
    OnceDone { object: ObjectId },
    /// Bytes (or one message) `position..position+size` of a channel. *(step)*
    Send { channel: ObjectId, position: u64, size: u64 },
    /// *(step)*
    Receive { channel: ObjectId, position: u64, size: u64 },
    /// A new object at this address: what was there before is another location. *(step)*
    Alloc { addr: Addr, size: u64 },
    /// *(step)*
    Free { addr: Addr, size: u64 },
    /// `value`: of a semaphore its count, of a barrier the number of threads, of a mutex its [`MutexKind`]. *(step)*
    Create { object: ObjectId, kind: ObjectKind, value: u32 },
    /// *(step)*
    Destroy { object: ObjectId, kind: ObjectKind },
    /// *(step)*
    AtomicEnter { name: Addr },
    /// *(step)*
    AtomicExit,
    /// *(step)*
    Input { source: InputSource, value: i64, bytes: &'a [u8] },
    /// A handler starts on this thread. *(step)*
    Signal { number: u32 },
    /// *(step)*
    SignalReturn { number: u32 },
    /// *(step)*
    Misused { what: Misuse, object: ObjectId },
    /// The thread leaves control for a call that may block. *(step)*
    Leave { call: u32 },
    /// It is back. *(step)*
    Return { call: u32, result: i64 },
    /// Own memory at `origin` is copied into that of another process. It is issued here, and done by the end of its
    /// epoch. *(step)*
    Put { remote: Remote, origin: Addr },
    /// As `Put`, the other way round. *(step)*
    Get { remote: Remote, origin: Addr },
    /// As `Put`, but what is there is combined with what comes, element by element. *(step)*
    Accumulate { remote: Remote, origin: Addr },
    /// `target` is the only process that is reached, or [`Remote::ALL`]. *(step)*
    EpochBegin { window: ObjectId, kind: EpochKind, target: u32 },
    /// *(step)*
    EpochEnd { window: ObjectId, kind: EpochKind, target: u32 },
    /// The program chose its way by what it had read, or computed an operand from it. Only in traces whose
    /// recorder sees branches; for native code they follow from the code itself.
    Branch,
    /// The watchdog took the token from this thread (it is blocked or busy where nothing sees it).
    Revoked,
    /// This thread made way for another right after its last step; otherwise threads do so before their next one.
    Stopped,
    /// Virtual time jumped.
    ClockJump { nanoseconds: u64 },
    /// Executable code mapped at `base..base+size`; `bias` is what to subtract for file addresses.
    Module { base: Addr, size: u64, bias: u64, path: &'a [u8] },
    /// A name the program gave a thread.
    ThreadName { thread: ThreadId, name: &'a [u8] },
    /// The process is about to end by itself.
    Exit { status: i32 },
    /// A fatal signal arrived at this thread; `addr` is the faulting address. Number 0 is no signal: the thread ends by
    /// an exception that nobody catches, and the others go on.
    Fatal { number: u32, addr: Addr },
    /// No thread can ever move again.
    Hang,
}

impl Op<'_> {
    /// What a thread that cannot do it waits for. The end of a wait counts as taking the mutex again.
    pub const fn awaits(&self) -> Option<(BlockedOn, ObjectId)> {
        Some(match *self {
            Op::Acquire { object, mode: LockMode::Shared, .. } => (BlockedOn::LockShared, object),
            Op::Acquire { object, .. } => (BlockedOn::LockExclusive, object),
            Op::Woken { mutex, .. } => (BlockedOn::LockExclusive, mutex),
            Op::Blocked { on, object } => (on, object),
            Op::SemaphoreTake { semaphore, .. } => (BlockedOn::Semaphore, semaphore),
            Op::BarrierArrive { barrier, .. } | Op::BarrierLeave { barrier, .. } => (BlockedOn::Barrier, barrier),
            Op::Join { child } => (BlockedOn::Join, ObjectId(child.0 as u64)),
            _ => return None,
        })
    }

    /// What the thread waits for from here on.
    pub const fn begins_wait(&self) -> Option<(BlockedOn, ObjectId)> {
        Some(match *self {
            Op::Blocked { on, object } => (on, object),
            Op::Wait { condition, .. } => (BlockedOn::Notify, condition),
            Op::BarrierArrive { barrier, .. } => (BlockedOn::Barrier, barrier),
            _ => return None,
        })
    }

    /// Whether schedules count it: exactly those operations before which the scheduler was asked.
    pub const fn is_step(&self) -> bool {
        !matches!(
            self,
            Op::Branch
                | Op::Revoked
                | Op::Stopped
                | Op::ClockJump { .. }
                | Op::Module { .. }
                | Op::ThreadName { .. }
                | Op::Fatal { .. }
                | Op::Hang
        )
    }
}

//! What a rank does, as its log has it: the input of the analysis.
//!
//! A front end that watches a library (MPI, SHMEM) says what its calls mean in these terms; nothing
//! behind this module knows the library. The log of a rank is in the order in which its strands made
//! the calls. A call that may wait has two events: entering it, and coming back.
//!
//! Room is left for what later analyses need (wildcard receives keep what they asked for).

use crate::ids::{Communicator, Context, Datatype, Object, Rank, Request, Site, Window};

/// One entry of a rank's log.
#[derive(Clone, PartialEq, Debug)]
pub struct Logged {
    /// The strand's number in its rank.
    pub strand: u32,
    pub site: Site,
    pub event: Event,
}

/// Where the first byte of an access lies, in terms that its owner understands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Place {
    /// An address of the owner.
    Address(u64),
    /// `units` displacement units of the owner, and `bytes` more, into the owner's part of a window.
    Window { window: Window, units: i64, bytes: i64 },
}

impl Place {
    /// The place that many bytes further.
    pub fn offset(self, by: i64) -> Place {
        match self {
            Place::Address(address) => Place::Address(address.wrapping_add_signed(by)),
            Place::Window { window, units, bytes } => Place::Window { window, units, bytes: bytes + by },
        }
    }
}

/// Some elements of one predefined type, relative to where a buffer starts: `count` blocks of `len`
/// bytes, `stride` bytes apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Piece {
    pub offset: i64,
    pub len: u64,
    pub stride: i64,
    pub count: u32,
    pub datatype: Datatype,
    /// Bytes of one element.
    pub element: u32,
}

/// A buffer of the rank that makes the call.
#[derive(Clone, PartialEq, Debug)]
pub struct Buffer {
    pub address: u64,
    pub pieces: Vec<Piece>,
}

/// The operation that an accumulate applies (R9).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Operator {
    Replace,
    NoOp,
    CompareAndSwap,
    Sum,
    Product,
    Minimum,
    Maximum,
    BitAnd,
    BitOr,
    BitXor,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    Put,
    Get,
    /// Changes the target, returns nothing.
    Accumulate(Operator),
    /// Changes the target and returns what was there (a compare-and-swap too).
    Fetch(Operator),
}

impl Action {
    /// Does it change memory of the target?
    pub fn writes(self) -> bool {
        match self {
            Action::Put => true,
            Action::Get => false,
            Action::Accumulate(operator) | Action::Fetch(operator) => operator != Operator::NoOp,
        }
    }

    /// Does it bring something back?
    pub fn returns(self) -> bool {
        matches!(self, Action::Get | Action::Fetch(_))
    }

    pub fn operator(self) -> Option<Operator> {
        match self {
            Action::Accumulate(operator) | Action::Fetch(operator) => Some(operator),
            Action::Put | Action::Get => None,
        }
    }
}

/// The rules under which an operation is completed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Through {
    /// MPI: completed by calls on the window.
    Window { window: Window, request: Option<Request> },
    /// SHMEM: completed by calls on the context. `domain`: the predefined team that its team comes
    /// from (R18). `pair`: a put and its signal have a number in common, which no others have; otherwise 0.
    Context { context: Context, blocking: bool, domain: u32, pair: u32 },
}

/// A one-sided operation.
#[derive(Clone, PartialEq, Debug)]
pub struct Operation {
    pub action: Action,
    pub target: Rank,
    pub place: Place,
    /// What it touches at the target.
    pub pieces: Vec<Piece>,
    /// Local memory that is read: the origin, and what a compare-and-swap compares with.
    pub reads: Vec<Buffer>,
    /// Local memory that is written.
    pub writes: Option<Buffer>,
    pub through: Through,
    /// What it writes, if that is one element and known.
    pub value: Option<u64>,
    /// Of a compare-and-swap: what it compares with, if known.
    pub compare: Option<u64>,
}

/// Who waits for whom in a collective operation (R14, R21).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Everybody who leaves has waited for `contributors` that entered.
    All { contributors: u32 },
    /// Everybody waits for the root.
    FromRoot { root: Rank },
    /// The root waits for `contributors`.
    ToRoot { root: Rank, contributors: u32 },
    /// Rank i of the group waits for those before it.
    Prefix { before: Vec<Rank> },
    /// Pairs with something to say to each other.
    Pairs { to: Vec<Rank>, from: Vec<Rank> },
}

/// The n-th collective operation on a communicator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Collective {
    pub communicator: Communicator,
    pub number: u32,
}

/// How a satisfied wait compared what it saw (R17).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Comparison {
    Equal,
    NotEqual,
    Greater,
    LessOrEqual,
    Less,
    GreaterOrEqual,
}

impl Comparison {
    pub fn holds(self, seen: i64, wanted: i64) -> bool {
        match self {
            Comparison::Equal => seen == wanted,
            Comparison::NotEqual => seen != wanted,
            Comparison::Greater => seen > wanted,
            Comparison::LessOrEqual => seen <= wanted,
            Comparison::Less => seen < wanted,
            Comparison::GreaterOrEqual => seen >= wanted,
        }
    }
}

/// What a window promises about accumulates (info keys, R9).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Accumulates {
    /// `accumulate_ordering` is not `none`.
    pub ordered: bool,
    /// `accumulate_ops` is `same_op`: not even `MPI_NO_OP` may be mixed in.
    pub same_operator: bool,
}

impl Default for Accumulates {
    fn default() -> Accumulates {
        Accumulates { ordered: true, same_operator: false }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    // Memory
    /// This rank's part of a window. A dynamic window has base 0, unit 1.
    WindowMade {
        window: Window,
        base: u64,
        unit: u32,
        accumulates: Accumulates,
    },
    /// A load or store. `owner` differs from the rank for shared windows and `shmem_ptr` (R11, R22).
    Local {
        owner: Rank,
        place: Place,
        len: u32,
        write: bool,
    },
    Operation(Box<Operation>),
    /// The buffer of a message or collective, touched until the request is done, or by this call.
    Buffer {
        buffer: Buffer,
        write: bool,
        request: Option<Request>,
    },
    /// Memory that is freed, detached, or whose window ends (R12).
    Gone {
        place: Place,
        len: u64,
    },

    // Epochs and completion
    Fence {
        window: Window,
        no_precede: bool,
        members: u32,
    },
    FenceDone {
        window: Window,
    },
    Post {
        window: Window,
        origins: Vec<Rank>,
    },
    Start {
        window: Window,
        targets: Vec<Rank>,
    },
    Complete {
        window: Window,
    },
    /// `MPI_Win_wait`, or a test that succeeded.
    Waited {
        window: Window,
    },
    Lock {
        window: Window,
        target: Rank,
        exclusive: bool,
    },
    Unlock {
        window: Window,
        target: Rank,
    },
    LockAll {
        window: Window,
    },
    UnlockAll {
        window: Window,
    },
    /// `target`: one rank or all. `local`: the origin side only.
    Flush {
        window: Window,
        target: Option<Rank>,
        local: bool,
    },
    RequestDone {
        request: Request,
    },
    /// `barrier`: it is part of one, which in practice completes every context (R18).
    Quiet {
        context: Context,
        barrier: bool,
    },
    ContextFence {
        context: Context,
    },

    // Order
    /// `synchronous`: its request is done ([`Event::Taken`]) when the message was taken.
    Send {
        communicator: Communicator,
        to: Rank,
        tag: i32,
        synchronous: Option<Request>,
    },
    Taken {
        request: Request,
    },
    /// A receive was posted; what it asked for, where it said.
    Posted {
        communicator: Communicator,
        request: Request,
        from: Option<Rank>,
        tag: Option<i32>,
    },
    /// The posted receive got this message.
    Received {
        request: Request,
        from: Rank,
        tag: i32,
    },
    Enter {
        collective: Collective,
        flow: Flow,
        contributes: bool,
    },
    Exit {
        collective: Collective,
    },
    /// A wait or test on a word of this rank was satisfied (R17).
    Waiting {
        place: Place,
        len: u32,
        datatype: Datatype,
        comparison: Comparison,
        wanted: i64,
        initially: bool,
    },
    /// An operation of this strand returned `value` from the word at `place` of `owner`.
    Returned {
        owner: Rank,
        place: Place,
        value: u64,
    },

    // Exclusion and threads
    /// A SHMEM lock, by its place in symmetric memory (R19).
    SetLock {
        word: u64,
    },
    ClearLock {
        word: u64,
    },
    MutexLock {
        mutex: Object,
    },
    MutexUnlock {
        mutex: Object,
    },
    /// What this strand did so far comes before what others do after their next [`Event::Acquire`].
    Release {
        object: Object,
    },
    Acquire {
        object: Object,
    },
}

/// Everything that was logged, by rank.
pub type Logs = Vec<Vec<Logged>>;

//! An access as the definition has it: whose bytes, how, and from when until when.
//!
//! An access is made by the rank whose call or instruction it is, and judged by the rank whose memory
//! it touches, its *owner*. What the maker cannot know (when the owner opened its epoch, when it
//! waited) is named by [`OwnersEvent`] and looked up by the owner: no message has to ask for it.

use crate::event::{Accumulates, Operator, Place};
use crate::ids::{Context, Datatype, Moment, Rank, Site, Strand, Window};

/// What kind of thing touches the memory; for reports and for telling statements apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Role {
    Load,
    Store,
    Put,
    Get,
    Accumulate,
    Fetch,
    /// Local memory that a one-sided operation reads.
    Origin,
    /// Local memory that a one-sided operation fills.
    Result,
    /// The buffer of a message or a collective.
    SendBuffer,
    ReceiveBuffer,
    /// A wait that was satisfied.
    Wait,
    /// Memory that is given back.
    Free,
}

/// What makes an access atomic towards others (R8 to R10, R18).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Atomic {
    pub domain: Domain,
    pub datatype: Datatype,
    pub element: u32,
    pub operator: Operator,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Domain {
    /// Accumulates of one window.
    Window(Window),
    /// SHMEM: teams that come from one predefined team.
    Teams(u32),
}

/// A lock that keeps accesses apart. Of one key, two shared holders do not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Held {
    pub lock: LockName,
    pub exclusive: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LockName {
    /// A window at one target: keeps accesses to that target's memory apart (R7).
    Window(Window, Rank),
    /// A SHMEM lock (R19).
    Word(u64),
    /// A mutex of one rank.
    Mutex(Rank, u64),
}

/// An event of the owner, by a number that the origin can count too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OwnersEvent {
    /// Its n-th entering of a fence on the window (R3).
    Fence(Window, u32),
    /// Its n-th post that names this origin (R4).
    Post(Window, Rank, u32),
    /// Its n-th wait for an epoch that named this origin (R4).
    Waited(Window, Rank, u32),
}

/// When an access is over.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum End {
    /// Not within what was looked at.
    Open,
    /// Where it starts: loads, stores, blocking calls.
    AtStart,
    At(Moment),
    Owners(OwnersEvent),
    /// Before everything that starts in the stretch that is looked at.
    Past,
}

/// The place of an operation in the order that a context keeps towards one target (R16).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ContextOrder {
    pub context: Context,
    /// How many fences and quiets of the context came before it.
    pub epoch: u32,
    /// A put and its signal have this number in common, and the signal comes second; otherwise 0.
    pub pair: u32,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Access {
    pub owner: Rank,
    pub place: Place,
    /// Blocks from `place` on; see [`crate::span::Span`].
    pub len: u64,
    pub stride: i64,
    pub count: u32,
    pub role: Role,
    pub writes: bool,
    pub atomic: Option<Atomic>,
    pub accumulates: Accumulates,
    // invariant: sorted, each lock once
    pub locks: Vec<Held>,
    pub strand: Strand,
    /// The i-th block starts `i * step` later. Accesses that start at the same moment of the same
    /// strand are parts of one operation and do not race with each other.
    pub start: u32,
    pub step: u32,
    /// What else comes before its effect.
    pub opened: Option<OwnersEvent>,
    pub end: End,
    /// As the standard has it, where practice is kinder (R2, R18).
    pub end_by_the_letter: End,
    pub ordered: Option<ContextOrder>,
    pub site: Site,
}

impl Access {
    /// Is it memory of the rank that makes the access, as a buffer of its call?
    pub fn is_near(&self) -> bool {
        !matches!(self.role, Role::Put | Role::Get | Role::Accumulate | Role::Fetch)
    }

    /// When the block starts.
    pub fn start_of(&self, block: u32) -> Moment {
        Moment { strand: self.strand, at: self.start + self.step * block }
    }

    /// When the block is over, where the maker knows it.
    pub fn end_of(&self, end: End, block: u32) -> End {
        match end {
            End::AtStart => End::At(self.start_of(block)),
            other => other,
        }
    }
}

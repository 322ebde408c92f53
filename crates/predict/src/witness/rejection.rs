//! Why an order is no witness, in words.

use std::fmt;

use crate::history::{Barrier, Cell, Lock, Pos, Semaphore, Thread, Val};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rejection {
    /// The event that cannot be where it is.
    pub at: Pos,
    pub why: Why,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Why {
    NoSuchEvent,
    /// It is in the order twice.
    Repeated,
    /// Its thread has this event to do first.
    ProgramOrder(Pos),
    /// This event must have happened before.
    NotAfter(Pos),
    /// Its thread waits on a condition.
    Waits,
    /// It depends on what its thread read, and that was something else here.
    Misread(Pos),
    /// Its read must return what was observed.
    ReadChanged {
        cell: Cell,
        observed: Val,
        found: Val,
    },
    Held {
        lock: Lock,
        by: Thread,
    },
    NotHeld {
        lock: Lock,
    },
    /// A try that failed, although nobody else holds the lock against it.
    NothingRefuses {
        lock: Lock,
    },
    NotWaiting,
    NotNotified,
    /// A notify whose only choices are waits that timed out later in the order.
    NotifiesTimedOut,
    NeverArrived {
        barrier: Barrier,
    },
    RoundNotFull {
        barrier: Barrier,
        missing: u32,
    },
    /// All that could leave the round this way have left it.
    RoundLeft {
        barrier: Barrier,
        serial: bool,
    },
    SemaphoreEmpty {
        semaphore: Semaphore,
    },
    SemaphoreNotEmpty {
        semaphore: Semaphore,
        count: u32,
    },
    /// The order must hold the whole history.
    Missing,
    NoConflict(Pos),
    /// One of the pair, which should be next, already is in the order.
    AlreadyHappened,
    NotAdjacent(Pos),
    NotInOrder,
    NoSuchCell(Cell),
    /// It does not read this cell.
    NotRead(Cell),
    /// The cell was last written by this one (`None`: by nobody).
    OtherWriter {
        cell: Cell,
        found: Option<Pos>,
    },
    /// It waits for no lock, or could give up waiting.
    NoRequest,
    /// Its thread can do it, or something else.
    CanGoOn,
    /// Its thread goes on beyond this history.
    GoesOn,
    /// It waits for a lock in a circle: that is a deadlock.
    Circle(Pos),
    /// None of the others holds the lock it wants against it.
    NotBlocked {
        lock: Lock,
    },
    /// C11 orders it after this one.
    HappensAfter(Pos),
    /// Its block could as well have run in one go.
    Serializable,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} ", self.at.0)?;
        match self.why {
            Why::NoSuchEvent => write!(f, "is not in this history"),
            Why::Repeated => write!(f, "is in the order twice"),
            Why::ProgramOrder(first) => write!(f, "is not the next of its thread: event {} is", first.0),
            Why::NotAfter(first) => write!(f, "must come after event {}", first.0),
            Why::Waits => write!(f, "cannot happen: its thread waits on a condition"),
            Why::Misread(read) => {
                write!(f, "may depend on what event {} read, which is not what it read in the trace", read.0)
            }
            Why::ReadChanged { cell, observed, found } => {
                write!(f, "must read {} from cell {}, which holds ", observed.0, cell.0)?;
                if found == Val::UNKNOWN { write!(f, "an unknown value") } else { write!(f, "{}", found.0) }
            }
            Why::Held { lock, by } => write!(f, "cannot acquire lock {}: thread {} holds it", lock.0, by.0),
            Why::NotHeld { lock } => write!(f, "gives up lock {}, which its thread does not hold", lock.0),
            Why::NothingRefuses { lock } => write!(f, "failed to acquire lock {}, which nobody else holds", lock.0),
            Why::NotWaiting => write!(f, "ends a wait that its thread is not in"),
            Why::NotNotified => write!(f, "was woken by a notify, but no notify can have chosen it"),
            Why::NotifiesTimedOut => write!(f, "can only notify a wait that then timed out"),
            Why::NeverArrived { barrier } => write!(f, "leaves barrier {}, where its thread is not", barrier.0),
            Why::RoundNotFull { barrier, missing } => {
                write!(f, "leaves barrier {} while {missing} are still to arrive", barrier.0)
            }
            Why::RoundLeft { barrier, serial: true } => {
                write!(f, "leaves barrier {} as the serial thread, which another one was", barrier.0)
            }
            Why::RoundLeft { barrier, serial: false } => {
                write!(f, "leaves barrier {}, where only the serial thread is left", barrier.0)
            }
            Why::SemaphoreEmpty { semaphore } => write!(f, "takes semaphore {}, whose count is 0", semaphore.0),
            Why::SemaphoreNotEmpty { semaphore, count } => {
                write!(f, "failed to take semaphore {}, whose count is {count}", semaphore.0)
            }
            Why::Missing => write!(f, "is missing: the order must hold the whole history"),
            Why::NoConflict(other) => write!(f, "does not conflict with event {}", other.0),
            Why::AlreadyHappened => write!(f, "should be next after the order, but is in it"),
            Why::NotAdjacent(other) => write!(f, "is not next to event {}", other.0),
            Why::NoSuchCell(cell) => write!(f, "is about cell {}, which is not in this history", cell.0),
            Why::NotRead(cell) => write!(f, "does not read cell {}", cell.0),
            Why::OtherWriter { cell, found: Some(found) } => {
                write!(f, "finds in cell {} what event {} wrote", cell.0, found.0)
            }
            Why::OtherWriter { cell, found: None } => write!(f, "finds in cell {} what was there at first", cell.0),
            Why::NotInOrder => write!(f, "should be in the order"),
            Why::NoRequest => write!(f, "is no operation that waits for a lock for ever"),
            Why::CanGoOn => write!(f, "is next in a thread that can go on"),
            Why::GoesOn => write!(f, "is the last that is known of its thread, which goes on"),
            Why::Circle(other) => write!(f, "waits for a lock in a circle, beside event {}", other.0),
            Why::NotBlocked { lock } => write!(f, "wants lock {}, which none of the others holds against it", lock.0),
            Why::Serializable => write!(f, "is in a block that no cycle of the order goes through"),
            Why::HappensAfter(other) => write!(f, "happens after event {} by the rules of C11", other.0),
        }
    }
}

impl std::error::Error for Rejection {}

//! What a question asks for: how things stand after the reordering.

use crate::history::{Cell, History, Mode, Pos};

/// The end of a reordering. Everything here must hold at once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Goal {
    /// These events are next.
    pub next: Vec<Pos>,
    /// Every event has happened.
    pub ended: bool,
    pub last_write: Option<LastWrite>,
    /// Both events have happened, the first before the second.
    pub precede: Vec<(Pos, Pos)>,
    /// This event has happened, and nothing after it.
    pub last: Option<Pos>,
}

/// Who wrote last to a cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LastWrite {
    pub cell: Cell,
    /// `None`: nobody, it holds what it held at first.
    pub writer: Option<Pos>,
}

impl Goal {
    /// Two conflicting accesses are both next. A compare-exchange that has to succeed for that is done last of all.
    pub fn race(history: &History, mode: Mode, (first, second): (Pos, Pos)) -> Self {
        match history.conflict_rests_on(first, second).filter(|_| mode != Mode::Said) {
            Some(exchange) => {
                let other = if exchange == first { second } else { first };
                Self { next: vec![other], last: Some(exchange), ..Self::default() }
            }
            None => Self { next: vec![first, second], ..Self::default() },
        }
    }

    /// The read is next and would return what `writer` put into the cell.
    pub fn reads_from(read: Pos, cell: Cell, writer: Option<Pos>) -> Self {
        Self { next: vec![read], last_write: Some(LastWrite { cell, writer }), ..Self::default() }
    }

    /// Everything is over and the cell holds what `writer` put into it.
    pub fn ends_with(cell: Cell, writer: Option<Pos>) -> Self {
        Self { ended: true, last_write: Some(LastWrite { cell, writer }), ..Self::default() }
    }

    /// All these events have happened, of each pair the first before the second.
    pub fn in_order(precede: &[(Pos, Pos)]) -> Self {
        Self { precede: precede.to_vec(), ..Self::default() }
    }
}

impl From<&[Pos]> for Goal {
    fn from(next: &[Pos]) -> Self {
        Self { next: next.to_vec(), ..Self::default() }
    }
}

impl<const N: usize> From<&[Pos; N]> for Goal {
    fn from(next: &[Pos; N]) -> Self {
        Self::from(next.as_slice())
    }
}

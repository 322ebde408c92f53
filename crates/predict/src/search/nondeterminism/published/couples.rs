//! Read-couples, challengers and the three orders that would break a couple (the paper's §III).

use crate::history::{Cell, History, Pos};

/// A read and the write it saw. The time before all writes writes every cell; the end reads every cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Couple {
    pub cell: Cell,
    /// `None`: what was there at first.
    pub writer: Option<Pos>,
    /// `None`: the end.
    pub reader: Option<Pos>,
}

/// An order in which a reader does not see its writer: a witness of nondeterminism.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Order {
    /// Challenger, reader, writer.
    ReaderFirst,
    /// Writer, challenger, reader.
    WriterFirst,
    /// Challenger, reader; the writer does not occur.
    NoWriter,
}

impl Order {
    /// Every triplet counts as three possible witnesses, as in Table A1 (all its numbers are multiples of three).
    pub const ALL: [Order; 3] = [Order::ReaderFirst, Order::WriterFirst, Order::NoWriter];
}

/// All couples of a history, by reader in observed order and the end last; and the writers of each cell.
pub struct Couples {
    pub couples: Vec<Couple>,
    pub writers: Vec<Vec<Pos>>,
}

impl Couples {
    pub fn new(history: &History) -> Self {
        let mut last: Vec<Option<Pos>> = vec![None; history.initial.len()];
        let mut writers = vec![Vec::new(); history.initial.len()];
        let mut couples = Vec::new();
        for pos in history.positions() {
            let Some(access) = history.step(pos).action.access() else { continue };
            for &(cell, _) in &access.reads {
                couples.push(Couple { cell, writer: last[cell.index()], reader: Some(pos) });
            }
            for (cell, _) in &access.writes {
                last[cell.index()] = Some(pos);
                writers[cell.index()].push(pos);
            }
        }
        let ends = last.into_iter().zip(0..).map(|(writer, cell)| Couple { cell: Cell(cell), writer, reader: None });
        couples.extend(ends);
        Self { couples, writers }
    }

    /// Every other writer of the couple's cell. An access that reads and writes does not challenge itself.
    pub fn challengers(&self, couple: Couple) -> impl Iterator<Item = Option<Pos>> + '_ {
        let writers = self.writers[couple.cell.index()].iter().map(|&writer| Some(writer));
        std::iter::once(None)
            .chain(writers)
            .filter(move |writer| *writer != couple.writer && (writer.is_none() || *writer != couple.reader))
    }
}

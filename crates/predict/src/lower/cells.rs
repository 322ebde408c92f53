//! Cuts memory into cells: pieces that no access of a window touches in part, one set for each life of a block.

use std::ops::Range;

use super::buffer::{Kept, What};

/// A life of some memory: 0 until a block is allocated there, then that allocation's number.
pub(super) type Life = u32;

/// Which block an address belongs to, as allocations go by.
#[derive(Default)]
pub(super) struct Lives {
    /// By start: end and life. invariant: disjoint
    blocks: std::collections::BTreeMap<u64, (u64, Life)>,
    next: Life,
}

impl Lives {
    pub fn alloc(&mut self, addr: u64, size: u64) -> Life {
        let end = addr.saturating_add(size.max(1));
        let overlapping: Vec<u64> = self
            .blocks
            .range(..end)
            .rev()
            .take_while(|(_, (other_end, _))| *other_end > addr)
            .map(|(start, _)| *start)
            .collect();
        overlapping.iter().for_each(|start| {
            self.blocks.remove(start);
        });
        self.next += 1;
        self.blocks.insert(addr, (end, self.next));
        self.next
    }

    pub fn at(&self, addr: u64) -> Life {
        self.blocks.range(..=addr).next_back().filter(|(_, (end, _))| addr < *end).map_or(0, |(_, (_, life))| *life)
    }
}

/// All cells of a window, numbered by life and address.
#[derive(Clone)]
pub(super) struct Cells {
    // invariant: sorted, disjoint
    cells: Vec<(Life, u64, u64)>,
}

impl Cells {
    /// The cells of the accesses, each given as life and bytes.
    pub fn new(mut accesses: Vec<(Life, Range<u64>)>) -> Self {
        accesses.sort_unstable_by_key(|(life, range)| (*life, range.start, range.end));
        accesses.dedup();
        let mut edges: Vec<(Life, u64)> =
            accesses.iter().flat_map(|(life, range)| [(*life, range.start), (*life, range.end)]).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut cells = Vec::with_capacity(edges.len());
        // How far the accesses that started so far reach.
        let (mut next, mut reach) = (0, (0, 0));
        for pair in edges.windows(2) {
            let (life, start) = pair[0];
            while next < accesses.len() && (accesses[next].0, accesses[next].1.start) <= (life, start) {
                reach = reach.max((accesses[next].0, accesses[next].1.end));
                next += 1;
            }
            if pair[1].0 == life && reach.0 == life && reach.1 > start {
                cells.push((life, start, pair[1].1));
            }
        }
        Self { cells }
    }

    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// The cells inside these bytes.
    pub fn within(&self, life: Life, bytes: Range<u64>) -> Range<usize> {
        let first = self.cells.partition_point(|cell| (cell.0, cell.1) < (life, bytes.start));
        let end = self.cells.partition_point(|cell| (cell.0, cell.2) <= (life, bytes.end));
        first..end.max(first)
    }

    pub fn life(&self, cell: usize) -> Life {
        self.cells[cell].0
    }

    /// The bytes of a cell.
    pub fn bytes(&self, cell: usize) -> Range<u64> {
        self.cells[cell].1..self.cells[cell].2
    }
}

/// The life and bytes of each access of a window; allocations start new lives. `None` for other events.
pub(super) fn places(kept: &[Kept]) -> Vec<Option<(Life, Range<u64>)>> {
    let mut lives = Lives::default();
    let place = |kept: &Kept| match kept.what {
        What::Access { addr, size, .. } | What::Free { addr, size } if size > 0 => {
            Some((lives.at(addr), addr..addr.saturating_add(size)))
        }
        What::Alloc { addr, size } => Some((lives.alloc(addr, size), addr..addr.saturating_add(size))),
        _ => None,
    };
    kept.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_are_cut_at_every_edge() {
        let cells = Cells::new(vec![(0, 0..8), (0, 4..8), (0, 2..4), (0, 16..20), (1, 0..4)]);
        let all: Vec<_> = (0..cells.len()).map(|cell| cells.bytes(cell)).collect();
        assert_eq!(all, [0..2, 2..4, 4..8, 16..20, 0..4]);
        assert_eq!(cells.within(0, 0..8), 0..3);
        assert_eq!(cells.within(0, 4..8), 2..3);
        assert_eq!(cells.within(0, 9..15), 3..3);
        assert_eq!(cells.within(1, 0..4), 4..5);
    }

    #[test]
    fn a_new_block_is_a_new_life() {
        let mut lives = Lives::default();
        assert_eq!(lives.at(100), 0);
        assert_eq!(lives.alloc(96, 16), 1);
        assert_eq!((lives.at(95), lives.at(96), lives.at(111), lives.at(112)), (0, 1, 1, 0));
        assert_eq!(lives.alloc(100, 4), 2);
        assert_eq!((lives.at(96), lives.at(100)), (0, 2));
    }
}

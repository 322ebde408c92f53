//! What global variables hold before the program runs: without it, a value that the recorded run only overwrote would be
//! unknown.

use super::store::{Put, Take};

/// Some memory: all zeros, or these bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Piece {
    start: u64,
    size: u64,
    // invariant: empty for zeros, else of length `size`
    bytes: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Data {
    // invariant: sorted, disjoint
    pieces: Vec<Piece>,
}

impl Data {
    /// Some memory that no other piece overlaps.
    pub fn add(&mut self, start: u64, size: u64, bytes: Vec<u8>) {
        self.pieces.push(Piece { start, size, bytes });
    }

    pub fn sort(&mut self) {
        self.pieces.sort_by_key(|piece| piece.start);
    }

    /// The bytes at an address before the program ran.
    pub fn at(&self, addr: u64, len: usize) -> Option<Vec<u8>> {
        let after = self.pieces.partition_point(|piece| piece.start <= addr);
        let piece = self.pieces[..after].last()?;
        let offset = addr - piece.start;
        if offset.checked_add(len as u64)? > piece.size {
            return None;
        }
        let offset = offset as usize;
        Some(if piece.bytes.is_empty() { vec![0; len] } else { piece.bytes[offset..offset + len].to_vec() })
    }

    /// Whether anything is known of these bytes.
    pub fn overlaps(&self, addr: u64, len: u64) -> bool {
        let after = self.pieces.partition_point(|piece| piece.start < addr.saturating_add(len));
        self.pieces[..after].last().is_some_and(|piece| piece.start + piece.size > addr)
    }

    pub fn store(&self, put: &mut Put) {
        put.int(self.pieces.len() as u64);
        for piece in &self.pieces {
            put.int(piece.start);
            put.int(piece.size);
            put.bytes(&piece.bytes);
        }
    }

    pub fn load(take: &mut Take<'_>) -> Result<Self, &'static str> {
        let mut data = Self::default();
        for _ in 0..take.count()? {
            let (start, size, bytes) = (take.int()?, take.int()?, take.bytes()?.to_vec());
            if !bytes.is_empty() && bytes.len() as u64 != size {
                return Err("initial data of another length");
            }
            data.pieces.push(Piece { start, size, bytes });
        }
        data.sort();
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_bytes_and_gaps() {
        let piece = |start, size, bytes: &[u8]| Piece { start, size, bytes: bytes.to_vec() };
        let data = Data { pieces: vec![piece(0x100, 4, &[1, 2, 3, 4]), piece(0x200, 64, &[])] };
        assert_eq!(data.at(0x101, 2), Some(vec![2, 3]));
        assert_eq!(data.at(0x103, 2), None, "across the end");
        assert_eq!(data.at(0x23f, 1), Some(vec![0]));
        assert_eq!((data.at(0xff, 1), data.at(0x240, 1), data.at(u64::MAX, 8)), (None, None, None));
    }
}

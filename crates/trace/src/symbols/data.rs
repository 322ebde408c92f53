//! What global variables hold before the program runs, from its files: without it, a value that the recorded run only
//! overwrote would be unknown. Left out: whatever the dynamic linker fills in, and large initialised data.

use object::{Object, ObjectSection, RelocationFlags, SectionKind};

use super::Module;
use super::store::{Put, Take};

/// Initialised data beyond this is not stored.
const MAX_STORED: u64 = 1 << 18;

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
    pub fn add_module(&mut self, file: &object::File<'_>, module: &Module) {
        let mut filled: Vec<(u64, u64)> = Vec::new();
        for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let copied = matches!(relocation.flags(), RelocationFlags::Elf { r_type: object::elf::R_X86_64_COPY });
            // How much is copied stands with the symbol, in another file perhaps: its whole page is unknown then.
            filled.push((address, address + if copied { 4096 } else { 8 }));
        }
        filled.sort_unstable();
        for section in file.sections() {
            let (start, size) = (section.address(), section.size());
            let bytes = match (section.kind(), section.name()) {
                (SectionKind::UninitializedData, _) => Vec::new(),
                (SectionKind::Data, Ok(name)) if name.starts_with(".data") && size <= MAX_STORED => {
                    section.data().unwrap_or_default().to_vec()
                }
                _ => continue,
            };
            if size == 0 || (!bytes.is_empty() && bytes.len() as u64 != size) {
                continue;
            }
            let mut at = start;
            let inside = filled.iter().filter(|(from, to)| *from < start + size && *to > start);
            for (from, to) in inside.copied().chain([(start + size, start + size)]) {
                if from > at {
                    let part = (at - start) as usize..(from - start) as usize;
                    let bytes = if bytes.is_empty() { Vec::new() } else { bytes[part].to_vec() };
                    self.pieces.push(Piece { start: at.wrapping_add(module.bias), size: from - at, bytes });
                }
                at = at.max(to);
            }
        }
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
        data.pieces.sort_by_key(|piece| piece.start);
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

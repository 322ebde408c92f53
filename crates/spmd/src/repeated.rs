//! The entry of an operation that a statement issues again and again: encoded once, and after that only its address,
//! its displacement and its value are written anew.
//!
//! Guarantee: the bytes are read back as what [`crate::wire`] would have written (tested). Those three numbers are LEB128
//! of ten bytes whatever their size, which every reader takes, so that they stay where they are.

use crate::event::{Buffer, Event, Logged, Place};
use crate::wire::Wire;

/// Bytes of a number that is written anew.
const WIDE: usize = 10;

/// Such an entry.
pub struct Repeated {
    bytes: Vec<u8>,
    // invariant: ten bytes follow each of these places
    address: usize,
    units: usize,
    value: Option<usize>,
}

fn room(bytes: &mut Vec<u8>) -> usize {
    let at = bytes.len();
    bytes.resize(at + WIDE, 0);
    at
}

impl Repeated {
    /// The entry of an operation with one buffer, at the beginning of displacement units, that compares nothing.
    pub fn of(logged: &Logged) -> Option<Repeated> {
        let Event::Operation(operation) = &logged.event else { return None };
        let Place::Window { window, bytes: 0, .. } = operation.place else { return None };
        let (buffer, reads) = match (&operation.reads[..], &operation.writes) {
            ([buffer], None) => (buffer, true),
            ([], Some(buffer)) => (buffer, false),
            _ => return None,
        };
        if operation.compare.is_some() {
            return None;
        }
        let mut bytes = Vec::new();
        logged.strand.put(&mut bytes);
        logged.site.put(&mut bytes);
        bytes.push(Event::OPERATION);
        operation.action.put(&mut bytes);
        operation.target.put(&mut bytes);
        bytes.push(Place::WINDOW);
        window.put(&mut bytes);
        let units = room(&mut bytes);
        0i64.put(&mut bytes);
        operation.pieces.put(&mut bytes);
        u64::from(reads).put(&mut bytes);
        if !reads {
            true.put(&mut bytes);
        }
        let address = room(&mut bytes);
        buffer.pieces.put(&mut bytes);
        if reads {
            None::<Buffer>.put(&mut bytes);
        }
        operation.through.put(&mut bytes);
        operation.value.is_some().put(&mut bytes);
        let value = operation.value.map(|_| room(&mut bytes));
        None::<u64>.put(&mut bytes);
        Some(Repeated { bytes, address, units, value })
    }

    pub fn has_value(&self) -> bool {
        self.value.is_some()
    }

    /// The entry with these numbers.
    pub fn entry(&mut self, address: u64, units: i64, value: u64) -> &[u8] {
        self.set(self.address, address);
        self.set(self.units, ((units << 1) ^ (units >> 63)) as u64);
        if let Some(at) = self.value {
            self.set(at, value);
        }
        &self.bytes
    }

    fn set(&mut self, at: usize, number: u64) {
        let wide = &mut self.bytes[at..at + WIDE];
        wide[..8].copy_from_slice(&spread(number).to_le_bytes());
        wide[8] = (number >> 56) as u8 | 0x80;
        wide[9] = (number >> 63) as u8;
    }
}

/// The lower 56 bits, seven in each byte, each byte marked as not the last one.
fn spread(number: u64) -> u64 {
    let halves = (number & 0x0fff_ffff) | (number & 0x00ff_ffff_f000_0000) << 4;
    let quarters = (halves & 0x3fff_0000_3fff) | (halves & 0x0fff_c000_0fff_c000) << 2;
    let bytes = (quarters & 0x007f_007f_007f_007f) | (quarters & 0x3f80_3f80_3f80_3f80) << 1;
    bytes | 0x8080_8080_8080_8080
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::generate::{Style, program};
    use crate::wire::decode;

    #[test]
    fn an_entry_is_read_back_with_its_numbers() {
        let numbers = [0, 1, 127, 128, 0x7fff_ffff_0010, u64::MAX, 1 << 63, 0x0123_4567_89ab_cdef];
        let mut seen = 0;
        for seed in 0..100 {
            for logged in program(seed, Style::Mpi, 3, 30).into_iter().flatten() {
                let Some(mut repeated) = Repeated::of(&logged) else { continue };
                for number in numbers {
                    let mut wanted = logged.clone();
                    let Event::Operation(operation) = &mut wanted.event else { unreachable!("asked above") };
                    let Place::Window { units, .. } = &mut operation.place else { unreachable!("asked above") };
                    *units = number.cast_signed();
                    operation.reads.iter_mut().chain(&mut operation.writes).for_each(|one| one.address = number ^ 1);
                    operation.value = operation.value.map(|_| number ^ 2);
                    assert_eq!(repeated.has_value(), operation.value.is_some());
                    let entry = repeated.entry(number ^ 1, number.cast_signed(), number ^ 2);
                    assert_eq!(decode::<Logged>(entry), [wanted]);
                    seen += 1;
                }
            }
        }
        assert!(seen > 1000, "{seen}");
    }
}

//! What an MPI datatype covers: its predefined parts, as pieces.
//!
//! Types are taken apart by the library's own calls (envelope and contents). What has no such
//! description (a few Fortran types, distributed arrays) is given as one block of its extent, and
//! counted.

use super::abi::{Handle, abi};
use super::quick::Map;
use crate::event::Piece;
use crate::ids::Datatype;

/// Pieces that one type may have. Beyond, neighbours are joined into what covers them: too much, but
/// bounded.
const PIECES: usize = 4096;

#[derive(Default)]
pub struct Datatypes {
    /// By name: numbers that mean the same on every rank, because they are made from the name.
    known: Map<Handle, Piece>,
    pub not_understood: u64,
}

/// Parts of one element: (offset, bytes, number of the type).
struct Parts {
    list: Vec<(i64, u32, u16)>,
    not_understood: bool,
}

impl Datatypes {
    /// Is it a predefined type that was seen before?
    pub fn is_named(&self, datatype: Handle) -> bool {
        self.known.contains_key(&abi().handle(datatype))
    }

    /// What `count` elements of the type cover, relative to the buffer.
    pub fn pieces(&mut self, datatype: Handle, count: i64) -> Vec<Piece> {
        if count <= 0 {
            return Vec::new();
        }
        let datatype = abi().handle(datatype);
        // Predefined types stay what they are.
        let known = self.known.get(&datatype).copied();
        let predefined =
            known.or_else(|| combiner(datatype).is_none_or(|kind| kind.0 == NAMED).then(|| named(datatype)));
        if let Some(one) = predefined {
            if known.is_none() {
                self.known.insert(datatype, one);
            }
            return vec![Piece { len: one.len * count as u64, ..one }];
        }
        // Not kept: the handle of a type that is freed is used again.
        let mut parts = Parts { list: Vec::new(), not_understood: false };
        let extent = extent(datatype);
        for element in 0..count {
            flatten(datatype, element * extent, &mut parts);
            if parts.list.len() > PIECES {
                parts.not_understood = true;
                parts.list.clear();
                parts.list.push((0, (extent * count) as u32, 0));
                break;
            }
        }
        self.not_understood += u64::from(parts.not_understood);
        join(&parts.list)
    }
}

/// Parts that follow each other with the same type become a block; equal blocks at equal distances,
/// three at least, one piece with a stride.
fn join(parts: &[(i64, u32, u16)]) -> Vec<Piece> {
    let mut blocks: Vec<Piece> = Vec::new();
    for &(offset, bytes, number) in parts {
        let part = Piece {
            offset,
            len: u64::from(bytes),
            stride: 0,
            count: 1,
            datatype: Datatype(number),
            element: bytes.max(1),
        };
        match blocks.last_mut() {
            Some(last) if last.datatype == part.datatype && last.offset + last.len as i64 == offset => {
                last.len += part.len;
            }
            _ => blocks.push(part),
        }
    }
    let mut pieces: Vec<Piece> = Vec::new();
    let mut next = 0;
    while next < blocks.len() {
        let first = blocks[next];
        let alike = |block: &Piece| (block.len, block.datatype) == (first.len, first.datatype);
        let stride = blocks.get(next + 1).map_or(0, |second| second.offset - first.offset);
        let run = blocks[next..]
            .iter()
            .enumerate()
            .take_while(|(number, block)| alike(block) && block.offset == first.offset + *number as i64 * stride)
            .count();
        if run >= 3 && stride > 0 {
            pieces.push(Piece { stride, count: run as u32, ..first });
            next += run;
        } else {
            pieces.push(first);
            next += 1;
        }
    }
    pieces
}

// Numbers of combiners in Open MPI; MPICH's are one higher.
const NAMED: i32 = 0;
const DUP: i32 = 1;
const CONTIGUOUS: i32 = 2;
const VECTOR: i32 = 3;
const HVECTOR: i32 = 5;
const INDEXED: i32 = 6;
const HINDEXED: i32 = 8;
const INDEXED_BLOCK: i32 = 9;
const STRUCT: i32 = 11;
const SUBARRAY: i32 = 12;
const RESIZED: i32 = 17;
const HINDEXED_BLOCK: i32 = 18;

/// Combiner, and how many integers, addresses and types describe the type.
fn combiner(datatype: Handle) -> Option<(i32, i32, i32, i32)> {
    let (mut integers, mut addresses, mut types, mut kind) = (0i32, 0i32, 0i32, 0i32);
    let result = pmpi!(PMPI_Type_get_envelope(
        datatype => Handle, &mut integers => *mut i32, &mut addresses => *mut i32, &mut types => *mut i32,
        &mut kind => *mut i32,
    ));
    let kind = if abi().open_mpi { kind } else { kind - 1 };
    (result == 0).then_some((kind, integers, addresses, types))
}

pub fn extent(datatype: Handle) -> i64 {
    let (mut lower, mut extent) = (0i64, 0i64);
    pmpi!(PMPI_Type_get_extent(datatype => Handle, &mut lower => *mut i64, &mut extent => *mut i64));
    extent
}

pub fn size(datatype: Handle) -> i64 {
    let mut size = 0i32;
    pmpi!(PMPI_Type_size(datatype => Handle, &mut size => *mut i32));
    i64::from(size)
}

/// A predefined type. Its number comes from its name, so that ranks need not agree on one.
fn named(datatype: Handle) -> Piece {
    let mut name = [0u8; 256];
    let mut len = 0i32;
    pmpi!(PMPI_Type_get_name(datatype => Handle, name.as_mut_ptr() => *mut u8, &mut len => *mut i32));
    let bytes = size(datatype).max(1) as u32;
    let number = number(&name[..len.clamp(0, 255) as usize]);
    Piece { offset: 0, len: u64::from(bytes), stride: 0, count: 1, datatype: Datatype(number), element: bytes }
}

/// A number for a name.
pub fn number(name: &[u8]) -> u16 {
    Datatype::named(name).0
}

fn flatten(datatype: Handle, offset: i64, parts: &mut Parts) {
    let Some((kind, integers, addresses, types)) = combiner(datatype) else {
        parts.not_understood = true;
        return;
    };
    if kind == NAMED {
        let piece = named(datatype);
        parts.list.push((offset, piece.element, piece.datatype.0));
        return;
    }
    if parts.list.len() > PIECES {
        return;
    }
    let mut ints = vec![0i32; integers as usize + 1];
    let mut places = vec![0i64; addresses as usize + 1];
    let mut raw = vec![0u8; 8 * (types as usize + 1)];
    pmpi!(PMPI_Type_get_contents(
        datatype => Handle, integers => i32, addresses => i32, types => i32, ints.as_mut_ptr() => *mut i32,
        places.as_mut_ptr() => *mut i64, raw.as_mut_ptr() => *mut u8,
    ));
    // SAFETY: the library filled that many.
    let inner: Vec<Handle> = (0..types as usize).map(|number| unsafe { abi().nth(raw.as_ptr(), number) }).collect();
    if let Some(&base) = inner.first() {
        contents(kind, &ints, &places, &inner, (base, extent(base)), offset, parts);
    }
    for mut handle in inner {
        // Derived types that the library handed out are ours to give back.
        if combiner(handle).is_some_and(|(kind, ..)| kind != NAMED) {
            pmpi!(PMPI_Type_free((&raw mut handle).cast() => *mut u8));
        }
    }
}

fn contents(
    kind: i32,
    ints: &[i32],
    places: &[i64],
    inner: &[Handle],
    (base, step): (Handle, i64),
    offset: i64,
    parts: &mut Parts,
) {
    let mut block = |start: i64, count: i32, datatype: Handle, step: i64| {
        for number in 0..i64::from(count) {
            flatten(datatype, start + number * step, parts);
        }
    };
    let count = ints[0];
    match kind {
        DUP | RESIZED => block(offset, 1, base, step),
        CONTIGUOUS => block(offset, count, base, step),
        VECTOR => {
            (0..i64::from(count)).for_each(|n| block(offset + n * i64::from(ints[2]) * step, ints[1], base, step))
        }
        HVECTOR => (0..i64::from(count)).for_each(|n| block(offset + n * places[0], ints[1], base, step)),
        INDEXED => (0..count as usize)
            .for_each(|n| block(offset + i64::from(ints[1 + count as usize + n]) * step, ints[1 + n], base, step)),
        HINDEXED => (0..count as usize).for_each(|n| block(offset + places[n], ints[1 + n], base, step)),
        INDEXED_BLOCK => {
            (0..count as usize).for_each(|n| block(offset + i64::from(ints[2 + n]) * step, ints[1], base, step));
        }
        HINDEXED_BLOCK => (0..count as usize).for_each(|n| block(offset + places[n], ints[1], base, step)),
        STRUCT => {
            (0..count as usize).for_each(|n| block(offset + places[n], ints[1 + n], inner[n], extent(inner[n])));
        }
        SUBARRAY => {
            let dimensions = count as usize;
            let (sizes, wanted, starts) =
                (&ints[1..1 + dimensions], &ints[1 + dimensions..1 + 2 * dimensions], &ints[1 + 2 * dimensions..]);
            let total: i64 = wanted.iter().map(|&size| i64::from(size)).product();
            let in_c = ints[1 + 3 * dimensions] == abi().order_c;
            for element in 0..total {
                let (mut left, mut index, mut weight) = (element, 0, 1);
                let mut dimension = |d: usize| {
                    index += (i64::from(starts[d]) + left % i64::from(wanted[d])) * weight;
                    left /= i64::from(wanted[d]);
                    weight *= i64::from(sizes[d]);
                };
                if in_c {
                    (0..dimensions).rev().for_each(&mut dimension);
                } else {
                    (0..dimensions).for_each(&mut dimension);
                }
                block(offset + index * step, 1, base, step);
            }
        }
        _ => {
            parts.not_understood = true;
        }
    }
}

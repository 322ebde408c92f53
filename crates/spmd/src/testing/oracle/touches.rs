//! What touches which bytes.

use super::{Touch, World};
use crate::access::Role;
use crate::event::{Action, Buffer, Event, Piece, Place};

impl World<'_> {
    pub(super) fn address(&self, owner: usize, place: Place) -> u64 {
        match place {
            Place::Address(address) => address,
            Place::Window { window, units, bytes } => self
                .events(owner)
                .find_map(|(_, event)| match event {
                    Event::WindowMade { window: made, base, unit, .. } if *made == window => {
                        Some((*base as i64 + units * i64::from(*unit) + bytes) as u64)
                    }
                    _ => None,
                })
                .unwrap_or(0),
        }
    }

    /// Everything that touches memory.
    pub(super) fn touches(&self) -> Vec<Touch> {
        let mut touches = Vec::new();
        for rank in 0..self.logs.len() {
            for (at, event) in self.events(rank) {
                let mut add = |owner: usize, start: u64, piece: Option<Piece>, len: u64, role: Role, writes: bool| {
                    let bytes = match piece {
                        Some(piece) => blocks(start, &piece),
                        None => vec![(start, start + len)],
                    };
                    touches.push(Touch { at, owner, bytes, piece, role, writes });
                };
                let mut buffer = |buffer: &Buffer, role: Role, writes: bool| {
                    for piece in &buffer.pieces {
                        add(rank, buffer.address, Some(*piece), 0, role, writes);
                    }
                };
                match event {
                    Event::Local { owner, place, len, write } => {
                        let owner = owner.0 as usize;
                        let role = if *write { Role::Store } else { Role::Load };
                        add(owner, self.address(owner, *place), None, u64::from(*len), role, *write);
                    }
                    Event::Buffer { buffer: touched, write, .. } => {
                        buffer(touched, if *write { Role::ReceiveBuffer } else { Role::SendBuffer }, *write);
                    }
                    Event::Gone { place, len } => add(rank, self.address(rank, *place), None, *len, Role::Free, true),
                    Event::Waiting { place, len, datatype, .. } => {
                        let piece = Piece {
                            offset: 0,
                            len: u64::from(*len),
                            stride: 0,
                            count: 1,
                            datatype: *datatype,
                            element: *len,
                        };
                        add(rank, self.address(rank, *place), Some(piece), 0, Role::Wait, false);
                    }
                    Event::Operation(operation) => {
                        operation.reads.iter().for_each(|read| buffer(read, Role::Origin, false));
                        operation.writes.iter().for_each(|written| buffer(written, Role::Result, true));
                        let role = match operation.action {
                            Action::Put => Role::Put,
                            Action::Get => Role::Get,
                            Action::Accumulate(_) => Role::Accumulate,
                            Action::Fetch(_) => Role::Fetch,
                        };
                        let target = operation.target.0 as usize;
                        for piece in &operation.pieces {
                            let start = self.address(target, operation.place);
                            add(target, start, Some(*piece), 0, role, operation.action.writes());
                        }
                    }
                    _ => {}
                }
            }
        }
        touches
    }
}

fn blocks(start: u64, piece: &Piece) -> Vec<(u64, u64)> {
    (0..i64::from(piece.count))
        .map(|number| {
            let lo = (start as i64 + piece.offset + number * piece.stride) as u64;
            (lo, lo + piece.len)
        })
        .collect()
}

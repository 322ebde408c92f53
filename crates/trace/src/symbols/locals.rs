//! Variables of functions by where they lie in the frame: code that names none of them still tells where the frame is.

use reweave_model::Pc;

use super::store::{Put, Take};
use super::types::TypeId;

/// A variable of a function that is there as long as the frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LocalVariable {
    /// The number of its function.
    frame: u32,
    /// From where the frame of the caller ends.
    offset: i64,
    size: u64,
    name: u32,
    of: TypeId,
}

/// Code that accesses its own frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameAccess {
    /// The number of the function.
    pub frame: u32,
    /// How far what it accesses lies from where the frame of the caller ends.
    pub offset: i64,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Locals {
    frames: u32,
    variables: Vec<LocalVariable>,
    // invariant: sorted by pc once it is built, no two equal
    accesses: Vec<(Pc, FrameAccess)>,
}

impl Locals {
    pub fn new_frame(&mut self) -> u32 {
        self.frames += 1;
        self.frames - 1
    }

    pub fn variable(&mut self, frame: u32, offset: i64, size: u64, name: u32, of: TypeId) {
        self.variables.push(LocalVariable { frame, offset, size, name, of });
    }

    pub fn access(&mut self, pc: Pc, access: FrameAccess) {
        self.accesses.push((pc, access));
    }

    pub fn sort(&mut self) {
        self.accesses.sort_unstable_by_key(|(pc, _)| *pc);
        self.accesses.dedup_by_key(|(pc, _)| *pc);
    }

    pub fn at(&self, pc: Pc) -> Option<FrameAccess> {
        let at = self.accesses.binary_search_by_key(&pc, |(own, _)| *own).ok()?;
        Some(self.accesses[at].1)
    }

    /// The variable that lies there, its type, and how far from its beginning: if there is just one.
    pub fn there(&self, frame: u32, offset: i64) -> Option<(u32, TypeId, u64)> {
        let inside = |variable: &LocalVariable| {
            let from = u64::try_from(offset.checked_sub(variable.offset)?).ok()?;
            (variable.frame == frame && from < variable.size).then_some((variable.name, variable.of, from))
        };
        let mut all = self.variables.iter().filter_map(inside);
        all.next().filter(|_| all.next().is_none())
    }

    pub fn store(&self, put: &mut Put) {
        put.int(self.frames.into());
        put.int(self.variables.len() as u64);
        for LocalVariable { frame, offset, size, name, of } in &self.variables {
            put.int((*frame).into());
            put.signed(*offset);
            put.int(*size);
            put.int((*name).into());
            put.int(of.0.into());
        }
        put.int(self.accesses.len() as u64);
        let mut last = 0;
        for (pc, FrameAccess { frame, offset }) in &self.accesses {
            put.int(pc.0 - last);
            last = pc.0;
            put.int((*frame).into());
            put.signed(*offset);
        }
    }

    pub fn load(take: &mut Take<'_>) -> Result<Self, &'static str> {
        let mut locals = Self { frames: take.int32()?, ..Self::default() };
        for _ in 0..take.count()? {
            let (frame, offset, size) = (take.int32()?, take.signed()?, take.int()?);
            let (name, of) = (take.int32()?, TypeId(take.int32()?));
            locals.variables.push(LocalVariable { frame, offset, size, name, of });
        }
        let mut last = 0u64;
        for _ in 0..take.count()? {
            last = last.checked_add(take.int()?).ok_or("address too large")?;
            let access = FrameAccess { frame: take.int32()?, offset: take.signed()? };
            locals.accesses.push((Pc(last), access));
        }
        Ok(locals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locals() -> Locals {
        let mut locals = Locals::default();
        let (one, other) = (locals.new_frame(), locals.new_frame());
        locals.variable(one, -64, 40, 1, TypeId(3));
        locals.variable(one, -24, 4, 2, TypeId(0));
        locals.variable(other, -40, 8, 3, TypeId(0));
        locals.variable(other, -40, 16, 4, TypeId(0));
        locals.access(Pc(9), FrameAccess { frame: other, offset: -40 });
        locals.access(Pc(7), FrameAccess { frame: one, offset: -24 });
        locals.sort();
        locals
    }

    #[test]
    fn a_variable_is_named_if_it_is_the_only_one_there() {
        let locals = locals();
        assert_eq!(locals.at(Pc(7)), Some(FrameAccess { frame: 0, offset: -24 }));
        assert_eq!(locals.at(Pc(8)), None);
        assert_eq!(locals.there(0, -56), Some((1, TypeId(3), 8)));
        assert_eq!(locals.there(0, -24), Some((2, TypeId(0), 0)));
        assert_eq!(locals.there(0, -20), None, "behind it");
        assert_eq!(locals.there(1, -40), None, "two lie there");
        assert_eq!(locals.there(1, -28), Some((4, TypeId(0), 12)));
    }

    #[test]
    fn tables_are_read_back() {
        let locals = locals();
        let mut put = Put::default();
        locals.store(&mut put);
        let bytes = put.into_bytes();
        assert_eq!(Locals::load(&mut Take::new(&bytes)), Ok(locals));
        for end in 0..bytes.len() {
            assert!(Locals::load(&mut Take::new(&bytes[..end])).is_err(), "cut at {end}");
        }
    }
}

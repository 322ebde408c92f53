//! How variables and blocks are laid out: names of fields and elements in place of offsets.

use std::collections::BTreeMap;

use reweave_model::{Addr, Pc};

use super::store::{Put, Take};

/// A type of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TypeId(pub(super) u32);

/// What a type is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Nothing that has a name of its own.
    Plain,
    /// Each with its offset. One without a name is a part whose own fields are named as if they were its.
    Fields(Vec<(u64, String, TypeId)>),
    Elements(TypeId),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Type {
    name: String,
    size: u64,
    shape: Shape,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Types {
    // invariant: a type's parts come before it
    all: Vec<Type>,
    variables: BTreeMap<u64, TypeId>,
    /// What is allocated at a code position: one of these, or several.
    allocated: BTreeMap<u64, TypeId>,
}

/// Fields of fields of fields: nobody reads more.
const DEEPEST: usize = 8;

impl Types {
    /// A type whose parts are there already.
    pub fn add(&mut self, name: &str, size: u64, shape: Shape) -> TypeId {
        self.all.push(Type { name: name.to_owned(), size, shape });
        TypeId(self.all.len() as u32 - 1)
    }

    pub fn of_variable(&mut self, address: Addr, of: TypeId) {
        self.variables.insert(address.0, of);
    }

    pub fn of_allocation(&mut self, pc: Pc, of: TypeId) {
        self.allocated.insert(pc.0, of);
    }

    /// `.queue.head`, `[3].id`: what lies that far from the beginning of a variable; empty: all of it.
    pub fn in_variable(&self, address: Addr, offset: u64) -> Option<String> {
        self.path(*self.variables.get(&address.0)?, offset)
    }

    /// The type of what was allocated there, and what lies that far from the beginning of a block of that size.
    pub fn in_block(&self, pc: Pc, size: u64, offset: u64) -> Option<(&str, String)> {
        let of = *self.allocated.get(&pc.0)?;
        let Type { name, size: one, .. } = self.get(of)?;
        let several = size > *one;
        // Another one than the text of the line made us believe.
        if *one == 0 || !size.is_multiple_of(*one) {
            return None;
        }
        let path = self.path(of, offset % one)?;
        Some((name, if several { format!("[{}]{path}", offset / one) } else { path }))
    }

    pub fn size(&self, of: TypeId) -> Option<u64> {
        self.get(of).map(|of| of.size)
    }

    pub fn name(&self, of: TypeId) -> Option<&str> {
        self.get(of).map(|of| of.name.as_str())
    }

    fn get(&self, id: TypeId) -> Option<&Type> {
        self.all.get(id.0 as usize)
    }

    pub fn path(&self, of: TypeId, mut offset: u64) -> Option<String> {
        let (mut path, mut of) = (String::new(), of);
        for _ in 0..DEEPEST {
            let Type { size, shape, .. } = self.get(of)?;
            if offset >= (*size).max(1) {
                return None;
            }
            match shape {
                Shape::Plain => return Some(path),
                Shape::Elements(element) => {
                    let one = self.get(*element)?.size.max(1);
                    path += &format!("[{}]", offset / one);
                    (of, offset) = (*element, offset % one);
                }
                Shape::Fields(fields) => {
                    let reaches = |(at, _, field): &&(u64, String, TypeId)| {
                        *at <= offset && self.get(*field).is_some_and(|field| offset - at < field.size.max(1))
                    };
                    // Padding, or what is hidden.
                    let Some((at, name, field)) = fields.iter().find(reaches) else { return Some(path) };
                    if !name.is_empty() {
                        path += &format!(".{name}");
                    }
                    (of, offset) = (*field, offset - at);
                }
            }
        }
        Some(path)
    }

    pub fn store(&self, put: &mut Put) {
        put.int(self.all.len() as u64);
        for Type { name, size, shape } in &self.all {
            put.text(name);
            put.int(*size);
            match shape {
                Shape::Plain => put.int(0),
                Shape::Elements(of) => {
                    put.int(1);
                    put.int(of.0.into());
                }
                Shape::Fields(fields) => {
                    put.int(2);
                    put.int(fields.len() as u64);
                    for (at, name, of) in fields {
                        put.int(*at);
                        put.text(name);
                        put.int(of.0.into());
                    }
                }
            }
        }
        for table in [&self.variables, &self.allocated] {
            put.int(table.len() as u64);
            for (address, of) in table {
                put.int(*address);
                put.int(of.0.into());
            }
        }
    }

    pub fn load(take: &mut Take<'_>) -> Result<Self, &'static str> {
        let mut types = Self::default();
        let count = take.count()?;
        for number in 0..count {
            let (name, size) = (take.text()?, take.int()?);
            let part = |take: &mut Take<'_>| match take.int32()? {
                of if (of as usize) < number => Ok(TypeId(of)),
                _ => Err("a type that is a part of itself"),
            };
            let shape = match take.int()? {
                0 => Shape::Plain,
                1 => Shape::Elements(part(take)?),
                2 => {
                    let mut fields = Vec::new();
                    for _ in 0..take.count()? {
                        fields.push((take.int()?, take.text()?, part(take)?));
                    }
                    Shape::Fields(fields)
                }
                _ => return Err("an unknown shape"),
            };
            types.all.push(Type { name, size, shape });
        }
        for table in [&mut types.variables, &mut types.allocated] {
            for _ in 0..take.count()? {
                let (address, of) = (take.int()?, take.int32()?);
                if of as usize >= count {
                    return Err("an unknown type");
                }
                table.insert(address, TypeId(of));
            }
        }
        Ok(types)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types() -> Types {
        let mut types = Types::default();
        let int = types.add("int", 4, Shape::Plain);
        let ints = types.add("int[3]", 12, Shape::Elements(int));
        let job = types.add("Job", 16, Shape::Fields(vec![(0, "id".into(), int), (4, "results".into(), ints)]));
        let base = types.add("", 16, Shape::Fields(vec![(0, String::new(), job)]));
        types.of_variable(Addr(0x100), base);
        types.of_allocation(Pc(7), job);
        types
    }

    #[test]
    fn parts_have_names() {
        let types = types();
        assert_eq!(types.in_variable(Addr(0x100), 0).as_deref(), Some(".id"));
        assert_eq!(types.in_variable(Addr(0x100), 9).as_deref(), Some(".results[1]"));
        assert_eq!(types.in_variable(Addr(0x100), 16), None, "behind it");
        assert_eq!(types.in_variable(Addr(0x200), 0), None, "nobody knows");
        assert_eq!(types.in_block(Pc(7), 16, 0), Some(("Job", ".id".into())));
        assert_eq!(types.in_block(Pc(7), 48, 36), Some(("Job", "[2].results[0]".into())));
        assert_eq!(types.in_block(Pc(7), 24, 0), None, "no number of them is so large");
    }

    #[test]
    fn tables_are_read_back() {
        let types = types();
        let mut put = Put::default();
        types.store(&mut put);
        let bytes = put.into_bytes();
        assert_eq!(Types::load(&mut Take::new(&bytes)), Ok(types));
        for end in 0..bytes.len() {
            assert!(Types::load(&mut Take::new(&bytes[..end])).is_err(), "cut at {end}");
        }
    }
}

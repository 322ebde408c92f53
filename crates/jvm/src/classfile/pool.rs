//! The constant pool. Constants that were there keep their bytes and their indices; new ones follow them.

use super::bytes::{Malformed, Reader, Result};
use super::put_u2;
use std::collections::HashMap;

/// Tags of constants.
mod tag {
    pub const UTF8: u8 = 1;
    pub const INTEGER: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const LONG: u8 = 5;
    pub const DOUBLE: u8 = 6;
    pub const CLASS: u8 = 7;
    pub const STRING: u8 = 8;
    pub const FIELD: u8 = 9;
    pub const METHOD: u8 = 10;
    pub const INTERFACE_METHOD: u8 = 11;
    pub const NAME_AND_TYPE: u8 = 12;
    pub const METHOD_HANDLE: u8 = 15;
    pub const METHOD_TYPE: u8 = 16;
    pub const DYNAMIC: u8 = 17;
    pub const INVOKE_DYNAMIC: u8 = 18;
    pub const MODULE: u8 = 19;
    pub const PACKAGE: u8 = 20;
}

/// A constant, decoded; numbers are indices of other constants.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Constant<'p> {
    Utf8(&'p [u8]),
    Integer(i32),
    Float(f32),
    Long(i64),
    Double(f64),
    Class { name: u16 },
    String { text: u16 },
    Field { class: u16, name_and_type: u16 },
    Method { class: u16, name_and_type: u16 },
    InterfaceMethod { class: u16, name_and_type: u16 },
    NameAndType { name: u16, descriptor: u16 },
    MethodHandle { kind: u8, reference: u16 },
    MethodType { descriptor: u16 },
    Dynamic { bootstrap: u16, name_and_type: u16 },
    InvokeDynamic { bootstrap: u16, name_and_type: u16 },
    Module { name: u16 },
    Package { name: u16 },
}

/// A field or method that an instruction names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference<'p> {
    pub class: &'p [u8],
    pub name: &'p [u8],
    pub descriptor: &'p [u8],
}

#[derive(Clone, Debug)]
pub struct Pool<'a> {
    /// The constants as they were read.
    original: &'a [u8],
    /// Those that were added.
    added: Vec<u8>,
    /// Where each constant starts, in `original` and, beyond its end, in `added`. Index 0 and what follows a long or a
    /// double are no constants.
    // invariant: at most 65,535 of them
    starts: Vec<u32>,
    /// Index of each added constant by its bytes, those of [`Pool::add_integer`] excepted.
    known: HashMap<Vec<u8>, u16>,
}

const NO_CONSTANT: u32 = u32::MAX;

impl<'a> Pool<'a> {
    /// A pool without constants, for a class that is made from nothing.
    pub fn empty() -> Self {
        Self { original: &[], added: Vec::new(), starts: vec![NO_CONSTANT], known: HashMap::new() }
    }

    pub fn parse(reader: &mut Reader<'a>) -> Result<Self> {
        let count = usize::from(reader.u2()?);
        let from = reader.position();
        let mut whole = reader.clone();
        let mut starts = Vec::with_capacity(count + 64);
        starts.push(NO_CONSTANT);
        while starts.len() < count {
            starts.push((reader.position() - from) as u32);
            let tag = reader.u1()?;
            let len = match tag {
                tag::UTF8 => usize::from(reader.u2()?),
                tag::INTEGER | tag::FLOAT | tag::FIELD | tag::METHOD | tag::INTERFACE_METHOD => 4,
                tag::NAME_AND_TYPE | tag::DYNAMIC | tag::INVOKE_DYNAMIC => 4,
                tag::LONG | tag::DOUBLE => 8,
                tag::CLASS | tag::STRING | tag::METHOD_TYPE | tag::MODULE | tag::PACKAGE => 2,
                tag::METHOD_HANDLE => 3,
                _ => return Err(reader.malformed("unknown kind of constant")),
            };
            reader.take(len)?;
            if matches!(tag, tag::LONG | tag::DOUBLE) {
                starts.push(NO_CONSTANT);
            }
        }
        if starts.len() > count.max(1) {
            return Err(reader.malformed("a long constant is cut off by the end of the pool"));
        }
        let original = whole.take(reader.position() - from)?;
        Ok(Self { original, added: Vec::new(), starts, known: HashMap::new() })
    }

    pub fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        put_u2(out, u16::try_from(self.starts.len()).map_err(|_| Malformed::too_large("the constant pool"))?);
        out.extend_from_slice(self.original);
        out.extend_from_slice(&self.added);
        Ok(())
    }

    pub fn byte_len(&self) -> usize {
        self.original.len() + self.added.len()
    }

    /// One more than the largest index.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Forgets what was added since the pool had that many constants.
    pub fn truncate(&mut self, count: usize) {
        if let Some(start) = self.starts.get(count) {
            self.added.truncate((*start as usize).saturating_sub(self.original.len()));
            self.starts.truncate(count);
            self.known.retain(|_, index| usize::from(*index) < count);
        }
    }

    fn bytes(&self, index: u16) -> Result<Reader<'_>> {
        let start = self.starts.get(usize::from(index)).copied().filter(|start| *start != NO_CONSTANT);
        let start = start.ok_or(Malformed::new("there is no such constant", usize::from(index)))? as usize;
        let bytes = match start.checked_sub(self.original.len()) {
            None => self.original.get(start..),
            Some(start) => self.added.get(start..),
        };
        Ok(Reader::new(bytes.unwrap_or_default()))
    }

    pub fn get(&self, index: u16) -> Result<Constant<'_>> {
        let mut reader = self.bytes(index)?;
        Ok(match reader.u1()? {
            tag::UTF8 => {
                let len = reader.u2()?.into();
                Constant::Utf8(reader.take(len)?)
            }
            tag::INTEGER => Constant::Integer(reader.i4()?),
            tag::FLOAT => Constant::Float(f32::from_bits(reader.u4()?)),
            tag::LONG => Constant::Long(reader.u8()? as i64),
            tag::DOUBLE => Constant::Double(f64::from_bits(reader.u8()?)),
            tag::CLASS => Constant::Class { name: reader.u2()? },
            tag::STRING => Constant::String { text: reader.u2()? },
            tag::FIELD => Constant::Field { class: reader.u2()?, name_and_type: reader.u2()? },
            tag::METHOD => Constant::Method { class: reader.u2()?, name_and_type: reader.u2()? },
            tag::INTERFACE_METHOD => Constant::InterfaceMethod { class: reader.u2()?, name_and_type: reader.u2()? },
            tag::NAME_AND_TYPE => Constant::NameAndType { name: reader.u2()?, descriptor: reader.u2()? },
            tag::METHOD_HANDLE => Constant::MethodHandle { kind: reader.u1()?, reference: reader.u2()? },
            tag::METHOD_TYPE => Constant::MethodType { descriptor: reader.u2()? },
            tag::DYNAMIC => Constant::Dynamic { bootstrap: reader.u2()?, name_and_type: reader.u2()? },
            tag::INVOKE_DYNAMIC => Constant::InvokeDynamic { bootstrap: reader.u2()?, name_and_type: reader.u2()? },
            tag::MODULE => Constant::Module { name: reader.u2()? },
            tag::PACKAGE => Constant::Package { name: reader.u2()? },
            _ => return Err(Malformed::new("unknown kind of constant", usize::from(index))),
        })
    }

    pub fn utf8(&self, index: u16) -> Result<&[u8]> {
        match self.get(index)? {
            Constant::Utf8(text) => Ok(text),
            _ => Err(Malformed::new("this constant should be text", usize::from(index))),
        }
    }

    pub fn class_name(&self, index: u16) -> Result<&[u8]> {
        match self.get(index)? {
            Constant::Class { name } => self.utf8(name),
            _ => Err(Malformed::new("this constant should be a class", usize::from(index))),
        }
    }

    pub fn name_and_type(&self, index: u16) -> Result<(&[u8], &[u8])> {
        match self.get(index)? {
            Constant::NameAndType { name, descriptor } => Ok((self.utf8(name)?, self.utf8(descriptor)?)),
            _ => Err(Malformed::new("this constant should be a name with a type", usize::from(index))),
        }
    }

    /// What a field or invoke instruction names. A dynamic call has no class: an empty name.
    pub fn reference(&self, index: u16) -> Result<Reference<'_>> {
        let (class, name_and_type) = match self.get(index)? {
            Constant::Field { class, name_and_type }
            | Constant::Method { class, name_and_type }
            | Constant::InterfaceMethod { class, name_and_type } => (self.class_name(class)?, name_and_type),
            Constant::InvokeDynamic { name_and_type, .. } | Constant::Dynamic { name_and_type, .. } => {
                (&[][..], name_and_type)
            }
            _ => return Err(Malformed::new("this constant should be a field or method", usize::from(index))),
        };
        let (name, descriptor) = self.name_and_type(name_and_type)?;
        Ok(Reference { class, name, descriptor })
    }

    fn append(&mut self, bytes: &[u8]) -> Result<u16> {
        let index = u16::try_from(self.starts.len()).ok().filter(|index| *index < u16::MAX);
        let index = index.ok_or(Malformed::too_large("the constant pool"))?;
        self.starts.push(self.byte_len() as u32);
        self.added.extend_from_slice(bytes);
        Ok(index)
    }

    fn intern(&mut self, bytes: &[u8]) -> Result<u16> {
        if let Some(index) = self.known.get(bytes) {
            return Ok(*index);
        }
        let index = self.append(bytes)?;
        self.known.insert(bytes.to_vec(), index);
        Ok(index)
    }

    fn pair(&mut self, tag: u8, a: u16, b: u16) -> Result<u16> {
        let [a, b] = [a.to_be_bytes(), b.to_be_bytes()];
        self.intern(&[tag, a[0], a[1], b[0], b[1]])
    }

    /// A new constant every time: callers have one number once.
    pub fn add_integer(&mut self, value: i32) -> Result<u16> {
        let [a, b, c, d] = value.to_be_bytes();
        self.append(&[tag::INTEGER, a, b, c, d])
    }

    pub fn add_long(&mut self, value: i64) -> Result<u16> {
        let mut bytes = vec![tag::LONG];
        bytes.extend_from_slice(&value.to_be_bytes());
        let index = self.append(&bytes)?;
        self.starts.push(NO_CONSTANT);
        if self.starts.len() > usize::from(u16::MAX) {
            return Err(Malformed::too_large("the constant pool"));
        }
        Ok(index)
    }

    pub fn add_utf8(&mut self, text: &[u8]) -> Result<u16> {
        let len = u16::try_from(text.len()).map_err(|_| Malformed::too_large("a text constant"))?;
        let mut bytes = vec![tag::UTF8];
        bytes.extend_from_slice(&len.to_be_bytes());
        bytes.extend_from_slice(text);
        self.intern(&bytes)
    }

    pub fn add_class(&mut self, name: &[u8]) -> Result<u16> {
        let [a, b] = self.add_utf8(name)?.to_be_bytes();
        self.intern(&[tag::CLASS, a, b])
    }

    pub fn add_method(&mut self, class: &[u8], name: &[u8], descriptor: &[u8]) -> Result<u16> {
        self.add_reference(tag::METHOD, class, name, descriptor)
    }

    pub fn add_method_handle(&mut self, kind: u8, reference: u16) -> Result<u16> {
        let [a, b] = reference.to_be_bytes();
        self.intern(&[tag::METHOD_HANDLE, kind, a, b])
    }

    pub fn add_field(&mut self, class: &[u8], name: &[u8], descriptor: &[u8]) -> Result<u16> {
        self.add_reference(tag::FIELD, class, name, descriptor)
    }

    fn add_reference(&mut self, tag: u8, class: &[u8], name: &[u8], descriptor: &[u8]) -> Result<u16> {
        let class = self.add_class(class)?;
        let (name, descriptor) = (self.add_utf8(name)?, self.add_utf8(descriptor)?);
        let name_and_type = self.pair(tag::NAME_AND_TYPE, name, descriptor)?;
        self.pair(tag, class, name_and_type)
    }
}

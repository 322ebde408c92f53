//! Class files, read and written ("The Java Virtual Machine Specification", chapter 4; up to class version 69).
//!
//! Guarantee: a class that was read and not changed is written byte for byte as it was, and no input makes the reader
//! panic. What is not understood (attributes, above all) is kept as bytes. Deliberately absent: verification. A class
//! that can be read may still be one that no machine accepts.

mod bytes;
pub mod code;
pub mod descriptor;
pub mod frames;
pub mod opcode;
pub mod pool;
mod text;

pub use bytes::{Malformed, Reader, Result};
pub use code::{Code, Handler, Instruction};
pub use pool::{Constant, Pool};
pub use text::decode_text;

use std::borrow::Cow;

/// Bits of `access_flags` that are looked at here.
pub mod access {
    pub const PUBLIC: u16 = 0x0001;
    pub const PRIVATE: u16 = 0x0002;
    pub const PROTECTED: u16 = 0x0004;
    pub const STATIC: u16 = 0x0008;
    pub const FINAL: u16 = 0x0010;
    pub const SYNCHRONIZED: u16 = 0x0020;
    pub const VOLATILE: u16 = 0x0040;
    pub const TRANSIENT: u16 = 0x0080;
    pub const NATIVE: u16 = 0x0100;
    pub const INTERFACE: u16 = 0x0200;
    pub const ABSTRACT: u16 = 0x0400;
    pub const STRICT: u16 = 0x0800;
    pub const SYNTHETIC: u16 = 0x1000;
    pub const ENUM: u16 = 0x4000;
    pub const MODULE: u16 = 0x8000;
}

/// The first class version whose methods have stack map frames, and the first that may load a class as a constant.
pub const FIRST_WITH_FRAMES: u16 = 50;
pub const FIRST_WITH_CLASS_CONSTANTS: u16 = 49;
/// The newest class version that this reader was made for (JDK 25).
pub const NEWEST: u16 = 69;

/// A class, an interface or a module description.
#[derive(Clone, Debug)]
pub struct ClassFile<'a> {
    pub minor: u16,
    pub major: u16,
    pub pool: Pool<'a>,
    pub access: u16,
    /// Index of the class's own `Class` constant.
    pub this_class: u16,
    /// The same for its superclass; 0 for `java/lang/Object` and modules.
    pub super_class: u16,
    pub interfaces: Vec<u16>,
    pub fields: Vec<Member<'a>>,
    pub methods: Vec<Member<'a>>,
    pub attributes: Vec<Attribute<'a>>,
}

/// A field or a method.
#[derive(Clone, Debug)]
pub struct Member<'a> {
    pub access: u16,
    pub name: u16,
    pub descriptor: u16,
    pub attributes: Vec<Attribute<'a>>,
}

#[derive(Clone, Debug)]
pub struct Attribute<'a> {
    pub name: u16,
    pub bytes: Cow<'a, [u8]>,
}

const MAGIC: u32 = 0xcafe_babe;

impl<'a> ClassFile<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        if reader.u4()? != MAGIC {
            return Err(reader.malformed("no class file: the magic number is missing"));
        }
        let (minor, major) = (reader.u2()?, reader.u2()?);
        let pool = Pool::parse(&mut reader)?;
        let (access, this_class, super_class) = (reader.u2()?, reader.u2()?, reader.u2()?);
        let interfaces = (0..reader.u2()?).map(|_| reader.u2()).collect::<Result<_>>()?;
        let fields = members(&mut reader)?;
        let methods = members(&mut reader)?;
        let attributes = attributes(&mut reader)?;
        if !reader.is_at_end() {
            return Err(reader.malformed("bytes follow the end of the class"));
        }
        Ok(Self { minor, major, pool, access, this_class, super_class, interfaces, fields, methods, attributes })
    }

    pub fn write(&self) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(self.pool.byte_len() + 4096);
        put_u4(&mut out, MAGIC);
        put_u2(&mut out, self.minor);
        put_u2(&mut out, self.major);
        self.pool.write(&mut out)?;
        put_u2(&mut out, self.access);
        put_u2(&mut out, self.this_class);
        put_u2(&mut out, self.super_class);
        put_count(&mut out, self.interfaces.len())?;
        for interface in &self.interfaces {
            put_u2(&mut out, *interface);
        }
        for members in [&self.fields, &self.methods] {
            put_count(&mut out, members.len())?;
            for member in members {
                put_u2(&mut out, member.access);
                put_u2(&mut out, member.name);
                put_u2(&mut out, member.descriptor);
                write_attributes(&mut out, &member.attributes)?;
            }
        }
        write_attributes(&mut out, &self.attributes)?;
        Ok(out)
    }

    /// The name as class files spell it: `java/lang/Object`.
    pub fn name(&self) -> Result<&[u8]> {
        self.pool.class_name(self.this_class)
    }

    pub fn super_name(&self) -> Result<Option<&[u8]>> {
        if self.super_class == 0 { Ok(None) } else { self.pool.class_name(self.super_class).map(Some) }
    }

    pub const fn is(&self, flags: u16) -> bool {
        self.access & flags != 0
    }

    /// The attribute of that name, if the class has it.
    pub fn attribute(&self, name: &[u8]) -> Option<&Attribute<'a>> {
        find(&self.pool, &self.attributes, name)
    }

    /// The name of the source file, as the compiler left it.
    pub fn source_file(&self) -> Option<&[u8]> {
        let attribute = self.attribute(b"SourceFile")?;
        self.pool.utf8(Reader::new(&attribute.bytes).u2().ok()?).ok()
    }
}

impl Member<'_> {
    pub const fn is(&self, flags: u16) -> bool {
        self.access & flags != 0
    }
}

/// The attribute of that name in a list.
pub fn find<'l, 'a>(pool: &Pool<'_>, attributes: &'l [Attribute<'a>], name: &[u8]) -> Option<&'l Attribute<'a>> {
    attributes.iter().find(|attribute| pool.utf8(attribute.name).is_ok_and(|own| own == name))
}

fn members<'a>(reader: &mut Reader<'a>) -> Result<Vec<Member<'a>>> {
    let count = reader.u2()?;
    (0..count)
        .map(|_| {
            Ok(Member {
                access: reader.u2()?,
                name: reader.u2()?,
                descriptor: reader.u2()?,
                attributes: attributes(reader)?,
            })
        })
        .collect()
}

pub(crate) fn attributes<'a>(reader: &mut Reader<'a>) -> Result<Vec<Attribute<'a>>> {
    let count = reader.u2()?;
    (0..count)
        .map(|_| {
            let name = reader.u2()?;
            let len = reader.u4()? as usize;
            Ok(Attribute { name, bytes: Cow::Borrowed(reader.take(len)?) })
        })
        .collect()
}

pub(crate) fn write_attributes(out: &mut Vec<u8>, attributes: &[Attribute<'_>]) -> Result<()> {
    put_count(out, attributes.len())?;
    for attribute in attributes {
        put_u2(out, attribute.name);
        let len = u32::try_from(attribute.bytes.len()).map_err(|_| Malformed::too_large("an attribute"))?;
        put_u4(out, len);
        out.extend_from_slice(&attribute.bytes);
    }
    Ok(())
}

pub(crate) fn put_u2(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(crate) fn put_u4(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes());
}

pub(crate) fn put_count(out: &mut Vec<u8>, count: usize) -> Result<()> {
    put_u2(out, u16::try_from(count).map_err(|_| Malformed::too_large("a table"))?);
    Ok(())
}

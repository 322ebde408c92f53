//! Symbols as bytes: unsigned LEB128 numbers and length-prefixed strings, in the order of the fields. Addresses and
//! lines are stored as differences, which LZ4 then shrinks further.

use reweave_model::Pc;

use super::data::Data;
use super::locals::Locals;
use super::types::Types;
use super::{Facts, Module, StoredFrame, Symbols, Variable};

/// Grows when fields are added; readers take what they know.
const VERSION: u64 = 4;

#[derive(Default)]
pub(super) struct Put(Vec<u8>);

impl Put {
    pub fn int(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// Small numbers of either sign stay short.
    pub fn signed(&mut self, value: i64) {
        self.int((value << 1 ^ value >> 63).cast_unsigned());
    }

    #[cfg(test)]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.int(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}

pub(super) struct Take<'a>(&'a [u8]);

type Malformation = &'static str;

impl<'a> Take<'a> {
    #[cfg(test)]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn int(&mut self) -> Result<u64, Malformation> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first().ok_or("cut short")?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("number too long")
    }

    pub fn signed(&mut self) -> Result<i64, Malformation> {
        let value = self.int()?;
        Ok((value >> 1).cast_signed() ^ -(value & 1).cast_signed())
    }

    pub fn int32(&mut self) -> Result<u32, Malformation> {
        self.int()?.try_into().map_err(|_| "number too large")
    }

    /// A count of things of at least one byte each: bounded by what is left.
    pub fn count(&mut self) -> Result<usize, Malformation> {
        let count = self.int()?;
        if count > self.0.len() as u64 { Err("count too large") } else { Ok(count as usize) }
    }

    pub fn text(&mut self) -> Result<String, Malformation> {
        Ok(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    pub fn bytes(&mut self) -> Result<&[u8], Malformation> {
        let len = self.count()?;
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        Ok(bytes)
    }
}

impl Symbols {
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut put = Put(Vec::new());
        put.int(VERSION);
        put.int(self.modules.len() as u64);
        for module in &self.modules {
            put.text(&module.path);
            put.int(module.base);
            put.int(module.size);
            put.int(module.bias);
        }
        put.int(self.strings.len() as u64);
        for string in &self.strings {
            put.text(string);
        }
        put.int(self.pcs.len() as u64);
        let (mut last, mut start) = (0, 0);
        for (pc, &end) in self.pcs.iter().zip(&self.ends) {
            put.int(pc.0 - last);
            last = pc.0;
            put.int(u64::from(end) - start as u64);
            for frame in &self.frames[start..end as usize] {
                for number in [frame.function, frame.file, frame.line, frame.column] {
                    put.int(number.into());
                }
            }
            start = end as usize;
        }
        put.int(self.variables.len() as u64);
        last = 0;
        for variable in &self.variables {
            put.int(variable.address - last);
            last = variable.address;
            put.int(variable.size);
            put.int(variable.name.into());
        }
        self.facts.store(&mut put);
        self.data.store(&mut put);
        self.types.store(&mut put);
        put.int(self.accessed.len() as u64);
        last = 0;
        for (pc, name) in &self.accessed {
            put.int(pc.0 - last);
            last = pc.0;
            put.int((*name).into());
        }
        self.locals.store(&mut put);
        put.0
    }

    /// # Errors
    /// What is wrong with the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Malformation> {
        let mut take = Take(bytes);
        let version = take.int()?;
        if version == 0 {
            return Err("version 0 does not exist");
        }
        let mut symbols = Self::default();
        for _ in 0..take.count()? {
            let path = take.text()?;
            symbols.modules.push(Module { path, base: take.int()?, size: take.int()?, bias: take.int()? });
        }
        for _ in 0..take.count()? {
            let string = take.text()?;
            symbols.strings.push(string);
        }
        let mut last = 0u64;
        for _ in 0..take.count()? {
            let delta = take.int()?;
            if delta == 0 && !symbols.pcs.is_empty() {
                return Err("addresses out of order");
            }
            last = last.checked_add(delta).ok_or("address too large")?;
            for _ in 0..take.count()? {
                let (function, file) = (take.int32()?, take.int32()?);
                let (line, column) = (take.int32()?, take.int32()?);
                symbols.frames.push(StoredFrame { function, file, line, column });
            }
            symbols.pcs.push(Pc(last));
            symbols.ends.push(symbols.frames.len() as u32);
        }
        last = 0;
        for _ in 0..take.count()? {
            last = last.checked_add(take.int()?).ok_or("address too large")?;
            symbols.variables.push(Variable { address: last, size: take.int()?, name: take.int32()? });
        }
        symbols.facts = Facts::load(&mut take)?;
        if version >= 2 {
            symbols.data = Data::load(&mut take)?;
        }
        if version >= 3 {
            symbols.types = Types::load(&mut take)?;
            last = 0;
            for _ in 0..take.count()? {
                last = last.checked_add(take.int()?).ok_or("address too large")?;
                symbols.accessed.push((Pc(last), take.int32()?));
            }
        }
        if version >= 4 {
            symbols.locals = Locals::load(&mut take)?;
        }
        Ok(symbols)
    }
}

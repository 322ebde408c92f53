//! Writes the instructions that are put into a method.

use super::hook_names::{Hook, HookConstants};
use crate::classfile::opcode::*;
use crate::classfile::{Pool, Result};

/// A site's number as code: a small constant, or one of the pool.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    Small(i16),
    Constant(u16),
}

impl Number {
    pub fn new(value: u32, pool: &mut Pool<'_>) -> Result<Self> {
        match i16::try_from(value) {
            Ok(small) => Ok(Self::Small(small)),
            Err(_) => pool.add_integer(value as i32).map(Self::Constant),
        }
    }
}

/// A piece of code under construction.
pub struct Emitter<'e, 'a> {
    pub out: &'e mut Vec<u8>,
    pub pool: &'e mut Pool<'a>,
    pub hooks: &'e mut HookConstants,
}

impl Emitter<'_, '_> {
    pub fn op(&mut self, op: u8) -> &mut Self {
        self.out.push(op);
        self
    }

    /// A load or store (`iload` … `astore`, not the short forms) of a local variable.
    pub fn local(&mut self, op: u8, local: u16) -> &mut Self {
        match u8::try_from(local) {
            Ok(local) => self.out.extend_from_slice(&[op, local]),
            Err(_) => {
                self.out.extend_from_slice(&[WIDE, op]);
                self.out.extend_from_slice(&local.to_be_bytes());
            }
        }
        self
    }

    pub fn number(&mut self, number: Number) -> &mut Self {
        match number {
            Number::Small(value @ 0..=5) => self.out.push(ICONST_0 + value as u8),
            Number::Small(value) => match i8::try_from(value) {
                Ok(value) => self.out.extend_from_slice(&[BIPUSH, value as u8]),
                Err(_) => {
                    self.out.push(SIPUSH);
                    self.out.extend_from_slice(&value.to_be_bytes());
                }
            },
            Number::Constant(index) => {
                self.constant(index);
            }
        }
        self
    }

    pub fn constant(&mut self, index: u16) -> &mut Self {
        match u8::try_from(index) {
            Ok(index) => self.out.extend_from_slice(&[LDC, index]),
            Err(_) => {
                self.out.push(LDC_W);
                self.out.extend_from_slice(&index.to_be_bytes());
            }
        }
        self
    }

    pub fn call(&mut self, method: u16) -> &mut Self {
        self.out.push(INVOKESTATIC);
        self.out.extend_from_slice(&method.to_be_bytes());
        self
    }

    pub fn hook(&mut self, hook: Hook) -> Result<&mut Self> {
        let method = self.hooks.get(hook, self.pool)?;
        Ok(self.call(method))
    }
}

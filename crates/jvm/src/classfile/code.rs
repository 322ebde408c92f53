//! The `Code` attribute of a method and its instructions.

use super::bytes::{Malformed, Reader, Result};
use super::opcode::*;
use super::{Attribute, attributes, put_count, put_u2, put_u4, write_attributes};

#[derive(Clone, Debug)]
pub struct Code<'a> {
    pub max_stack: u16,
    pub max_locals: u16,
    pub bytes: &'a [u8],
    pub handlers: Vec<Handler>,
    pub attributes: Vec<Attribute<'a>>,
}

/// An entry of the exception table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handler {
    pub start: u16,
    /// The first instruction that is no longer covered.
    pub end: u16,
    pub target: u16,
    /// The class that is caught; 0 for any.
    pub caught: u16,
}

impl<'a> Code<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let (max_stack, max_locals) = (reader.u2()?, reader.u2()?);
        let len = reader.u4()? as usize;
        if len == 0 || len > usize::from(u16::MAX) {
            return Err(reader.malformed("a method is empty or too long"));
        }
        let code = reader.take(len)?;
        let handlers = (0..reader.u2()?)
            .map(|_| Ok(Handler { start: reader.u2()?, end: reader.u2()?, target: reader.u2()?, caught: reader.u2()? }))
            .collect::<Result<_>>()?;
        let attributes = attributes(&mut reader)?;
        if !reader.is_at_end() {
            return Err(reader.malformed("bytes follow the end of a method"));
        }
        Ok(Self { max_stack, max_locals, bytes: code, handlers, attributes })
    }

    pub fn write(&self) -> Result<Vec<u8>> {
        if self.bytes.len() > usize::from(u16::MAX) {
            return Err(Malformed::too_large("a method"));
        }
        let mut out = Vec::with_capacity(self.bytes.len() + 256);
        put_u2(&mut out, self.max_stack);
        put_u2(&mut out, self.max_locals);
        put_u4(&mut out, self.bytes.len() as u32);
        out.extend_from_slice(self.bytes);
        put_count(&mut out, self.handlers.len())?;
        for handler in &self.handlers {
            for value in [handler.start, handler.end, handler.target, handler.caught] {
                put_u2(&mut out, value);
            }
        }
        write_attributes(&mut out, &self.attributes)?;
        Ok(out)
    }

    pub fn instructions(&self) -> Instructions<'a> {
        Instructions { code: self.bytes, at: 0 }
    }
}

/// One instruction where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    pub pc: u32,
    /// Of a widened instruction (`wide iload`), the instruction that is widened.
    pub op: u8,
    pub bytes: &'a [u8],
}

impl<'a> Instruction<'a> {
    pub fn decode(code: &'a [u8], pc: usize) -> Result<Self> {
        let rest = code.get(pc..).unwrap_or_default();
        let bad = |what| Malformed::new(what, pc);
        let first = *rest.first().ok_or(bad("code ends within an instruction"))?;
        let mut op = first;
        let len = match first {
            TABLESWITCH | LOOKUPSWITCH => switch_length(code, pc, first)?,
            WIDE => {
                op = *rest.get(1).ok_or(bad("code ends within an instruction"))?;
                match op {
                    IINC => 6,
                    ILOAD..=ALOAD | ISTORE..=ASTORE | RET => 4,
                    _ => return Err(bad("an instruction that cannot be widened")),
                }
            }
            other => fixed_length(other),
        };
        if len == 0 {
            return Err(bad("unknown instruction"));
        }
        let bytes = rest.get(..len).ok_or(bad("code ends within an instruction"))?;
        Ok(Self { pc: pc as u32, op, bytes })
    }

    pub const fn next_pc(&self) -> u32 {
        self.pc + self.bytes.len() as u32
    }

    /// The two bytes after the opcode: an index into the pool, mostly.
    pub fn index(&self) -> u16 {
        match self.bytes {
            [_, a, b, ..] => u16::from_be_bytes([*a, *b]),
            [_, a] => u16::from(*a),
            _ => 0,
        }
    }

    /// The local variable that a load, a store, `iinc` or `ret` names.
    pub fn local(&self) -> Option<u16> {
        match self.op {
            ILOAD..=ALOAD | ISTORE..=ASTORE | RET | IINC => Some(match self.bytes {
                [WIDE, _, a, b, ..] => u16::from_be_bytes([*a, *b]),
                [_, a, ..] => u16::from(*a),
                _ => 0,
            }),
            ILOAD_0..=ALOAD_3 => Some(u16::from((self.op - ILOAD_0) % 4)),
            ISTORE_0..=ASTORE_3 => Some(u16::from((self.op - ISTORE_0) % 4)),
            _ => None,
        }
    }

    /// Where a jump (no switch) leads.
    pub fn target(&self) -> Option<i64> {
        let offset = match (self.op, self.bytes) {
            (op, [_, a, b]) if is_short_jump(op) => i16::from_be_bytes([*a, *b]).into(),
            (GOTO_W | JSR_W, [_, a, b, c, d]) => i32::from_be_bytes([*a, *b, *c, *d]),
            _ => return None,
        };
        Some(i64::from(self.pc) + i64::from(offset))
    }

    /// The operands of a switch, behind the padding: 32-bit words.
    pub fn switch_words(&self) -> impl Iterator<Item = i32> + 'a {
        let skipped = 1 + padding(self.pc as usize);
        let words = self.bytes.get(skipped..).unwrap_or_default();
        words.chunks_exact(4).map(|word| i32::from_be_bytes([word[0], word[1], word[2], word[3]]))
    }

    /// Which of [`Self::switch_words`] are offsets.
    pub const fn is_switch_offset(&self, word: usize) -> bool {
        match self.op {
            TABLESWITCH => word == 0 || word >= 3,
            _ => word == 0 || word >= 3 && word % 2 == 1,
        }
    }

    /// Calls `visit` with every place that the instruction may jump to.
    pub fn each_target(&self, mut visit: impl FnMut(i64)) {
        if let Some(target) = self.target() {
            visit(target);
        } else if matches!(self.op, TABLESWITCH | LOOKUPSWITCH) {
            for (i, word) in self.switch_words().enumerate() {
                if self.is_switch_offset(i) {
                    visit(i64::from(self.pc) + i64::from(word));
                }
            }
        }
    }
}

/// Bytes between the opcode of a switch at `pc` and its operands.
pub const fn padding(pc: usize) -> usize {
    3 - pc % 4
}

fn switch_length(code: &[u8], pc: usize, op: u8) -> Result<usize> {
    let mut reader = Reader::new(code);
    reader.take(pc + 1 + padding(pc))?;
    reader.i4()?;
    let words = if op == TABLESWITCH {
        let (low, high) = (i64::from(reader.i4()?), i64::from(reader.i4()?));
        high - low + 1
    } else {
        i64::from(reader.i4()?) * 2
    };
    // More than the code can hold is found out by the caller.
    let words = usize::try_from(words).ok().filter(|words| *words <= code.len());
    let words = words.ok_or(Malformed::new("a switch with an impossible number of cases", pc))?;
    Ok(reader.position() - pc + words * 4)
}

/// Instructions in the order they stand in; ends at the first that cannot be read.
#[derive(Clone, Debug)]
pub struct Instructions<'a> {
    code: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.code.len() {
            return None;
        }
        let instruction = Instruction::decode(self.code, self.at);
        self.at = instruction.as_ref().map_or(self.code.len(), |instruction| instruction.next_pc() as usize);
        Some(instruction)
    }
}

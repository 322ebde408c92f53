//! Puts bytes between the instructions of a method and moves everything that names a place in it: jumps, switches,
//! handlers, frames, line and variable tables.
//!
//! A jump whose target moved out of reach of 16 bits becomes a wide one. A condition has no wide form: with frames, it
//! jumps to a wide jump that stands behind a nearby instruction that never goes on (which takes the target's own
//! frame); without frames, the opposite condition jumps over a wide jump.

use crate::classfile::code::padding;
use crate::classfile::frames::{Frames, Type};
use crate::classfile::opcode::*;
use crate::classfile::{Attribute, Code, Handler, Instruction, Malformed, Pool, Reader, Result};
use std::borrow::Cow;

/// What is done at one instruction. Ranges lie in [`Edits::inserted`].
#[derive(Clone, Copy, Default, Debug)]
pub struct Edit {
    /// In front: whoever jumps to the instruction runs it, too.
    pub before: (u32, u32),
    /// Instead of it, if not empty.
    pub instead: (u32, u32),
    /// Behind: run when it has not thrown.
    pub after: (u32, u32),
}

impl Edit {
    /// Whether the instruction stays as it is.
    pub const fn is_empty(&self) -> bool {
        length(self.before) + length(self.instead) + length(self.after) == 0
    }
}

/// What is done to a method.
#[derive(Default, Debug)]
pub struct Edits {
    pub inserted: Vec<u8>,
    // invariant: one for each instruction
    pub edits: Vec<Edit>,
    /// Once, at the start.
    pub entry: Vec<u8>,
    pub bracket: Option<Bracket>,
    /// Types of new locals that hold a value from the start to the end, right behind the method's own.
    pub locals: Vec<Type>,
    /// How much the method's stack and locals grow.
    pub more_stack: u16,
    pub more_locals: u16,
}

/// What is done whichever way the method is left.
#[derive(Debug)]
pub struct Bracket {
    /// Inserted in front of every return, as the last thing before it.
    pub exit: Vec<u8>,
    /// What handles exceptions: ends with `athrow`.
    pub handler: Vec<u8>,
    /// Class constant of `java/lang/Throwable`, for the handler's frame.
    pub throwable: u16,
}

/// A method after the edits. `code` holds no attributes but the given ones.
pub struct Spliced<'a> {
    pub code: Vec<u8>,
    pub handlers: Vec<Handler>,
    pub attributes: Vec<Attribute<'a>>,
    pub max_stack: u16,
    pub max_locals: u16,
}

const fn length(range: (u32, u32)) -> u32 {
    range.1 - range.0
}

/// How a jump of 16 bits is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reach {
    Short,
    /// As the wide form, or as the opposite condition over it.
    Wide,
    /// By way of the wide jump with that number.
    Through(u32),
}

/// A wide jump that others go through.
#[derive(Clone, Copy, Debug)]
struct Stepping {
    /// The instruction behind which it stands.
    host: u32,
    target: u32,
    position: u32,
}

struct Layout<'l, 'a> {
    instructions: &'l [Instruction<'a>],
    index_of: &'l [u32],
    edits: &'l Edits,
    has_frames: bool,
    reach: Vec<Reach>,
    stepping: Vec<Stepping>,
    /// Where each instruction's part starts, where itself, and where what follows it.
    start: Vec<u32>,
    itself: Vec<u32>,
    behind: Vec<u32>,
    end: u32,
}

/// Applies the edits. `frames` are the method's own, in full form; `entry` what it starts with.
pub fn splice<'a>(
    code: &Code<'a>,
    instructions: &[Instruction<'a>],
    index_of: &[u32],
    edits: &Edits,
    frames: Option<(&Frames, &[Type])>,
    pool: &mut Pool<'_>,
) -> Result<Spliced<'a>> {
    let count = instructions.len();
    let mut layout = Layout {
        instructions,
        index_of,
        edits,
        has_frames: frames.is_some(),
        reach: vec![Reach::Short; count],
        stepping: Vec::new(),
        start: vec![0; count + 1],
        itself: vec![0; count + 1],
        behind: vec![0; count + 1],
        end: 0,
    };
    layout.settle()?;
    let bytes = layout.emit()?;
    if bytes.len() > usize::from(u16::MAX) {
        return Err(Malformed::too_large("a method"));
    }
    let handlers = layout.handlers(code)?;
    let mut attributes = Vec::with_capacity(code.attributes.len());
    let mut has_table = false;
    for attribute in &code.attributes {
        let name = pool.utf8(attribute.name)?;
        let moved = match name {
            b"StackMapTable" | b"StackMap" => {
                has_table = name == b"StackMapTable";
                match frames {
                    Some((frames, entry)) if has_table => layout.frames(code, frames).write(entry)?,
                    _ => continue,
                }
            }
            b"LineNumberTable" => layout.lines(&attribute.bytes)?,
            b"LocalVariableTable" | b"LocalVariableTypeTable" => layout.variables(&attribute.bytes)?,
            // They name places in the code, and nothing can ask for them once the class is loaded.
            b"RuntimeVisibleTypeAnnotations" | b"RuntimeInvisibleTypeAnnotations" => continue,
            _ => {
                attributes.push(attribute.clone());
                continue;
            }
        };
        attributes.push(Attribute { name: attribute.name, bytes: Cow::Owned(moved) });
    }
    if let Some((frames, entry)) = frames
        && !has_table
        && edits.bracket.is_some()
    {
        let name = pool.add_utf8(b"StackMapTable")?;
        attributes.push(Attribute { name, bytes: Cow::Owned(layout.frames(code, frames).write(entry)?) });
    }
    let grown = |own: u16, more: u16| own.checked_add(more).ok_or(Malformed::too_large("a method's frame"));
    Ok(Spliced {
        code: bytes,
        handlers,
        attributes,
        max_stack: grown(code.max_stack, edits.more_stack)?,
        max_locals: grown(code.max_locals, edits.more_locals)?,
    })
}

impl Layout<'_, '_> {
    fn target_of(&self, pc: i64) -> Result<u32> {
        let index = usize::try_from(pc).ok().and_then(|pc| self.index_of.get(pc)).copied();
        index.filter(|index| *index != u32::MAX).ok_or(Malformed::new("a jump leads between instructions", 0))
    }

    /// The exit of a bracket, in front of a return.
    fn exit_length(&self, op: u8) -> u32 {
        match &self.edits.bracket {
            Some(bracket) if matches!(op, IRETURN..=RETURN) => bracket.exit.len() as u32,
            _ => 0,
        }
    }

    /// Finds places for everything, widening jumps until all reach.
    fn settle(&mut self) -> Result<()> {
        loop {
            self.place();
            let mut changed = false;
            for (i, instruction) in self.instructions.iter().enumerate() {
                let Some(target) = instruction.target().filter(|_| is_short_jump(instruction.op)) else {
                    continue;
                };
                let target = self.target_of(target)?;
                let (from, to) = match self.reach[i] {
                    Reach::Short => (self.itself[i], self.start[target as usize]),
                    Reach::Wide => continue,
                    Reach::Through(step) => (self.itself[i], self.stepping[step as usize].position),
                };
                if i16::try_from(i64::from(to) - i64::from(from)).is_err() {
                    changed = true;
                    self.widen(i, target)?;
                }
            }
            if !changed {
                return Ok(());
            }
        }
    }

    fn widen(&mut self, i: usize, target: u32) -> Result<()> {
        let op = self.instructions[i].op;
        if !self.has_frames || matches!(op, GOTO | JSR) {
            self.reach[i] = Reach::Wide;
            return Ok(());
        }
        if matches!(self.reach[i], Reach::Through(_)) {
            // The place next to it has moved away, which takes a method that is too long anyway.
            return Err(Malformed::too_large("a method"));
        }
        let distance = |j: usize| self.itself[i].abs_diff(self.behind[j]);
        let hosts = self.instructions.iter().enumerate().filter(|(_, other)| ends_flow(other.op));
        let host = hosts.map(|(j, _)| j).min_by_key(|j| distance(*j)).ok_or(Malformed::too_large("a method"))? as u32;
        let known = self.stepping.iter().position(|step| step.host == host && step.target == target);
        let step = known.unwrap_or_else(|| {
            self.stepping.push(Stepping { host, target, position: 0 });
            self.stepping.len() - 1
        });
        self.reach[i] = Reach::Through(step as u32);
        Ok(())
    }

    fn place(&mut self) {
        let mut at = self.edits.entry.len() as u32;
        for (i, instruction) in self.instructions.iter().enumerate() {
            let edit = &self.edits.edits[i];
            self.start[i] = at;
            at += length(edit.before) + self.exit_length(instruction.op);
            self.itself[i] = at;
            at += self.size(i, instruction, at);
            self.behind[i] = at;
            at += length(edit.after);
            for step in self.stepping.iter_mut().filter(|step| step.host as usize == i) {
                step.position = at;
                at += 5;
            }
        }
        let count = self.instructions.len();
        (self.start[count], self.itself[count], self.behind[count]) = (at, at, at);
        self.end = at;
    }

    fn size(&self, i: usize, instruction: &Instruction<'_>, at: u32) -> u32 {
        let instead = length(self.edits.edits[i].instead);
        if instead != 0 {
            return instead;
        }
        let own = instruction.bytes.len() as u32;
        match (instruction.op, self.reach[i]) {
            (TABLESWITCH | LOOKUPSWITCH, _) => {
                own - padding(instruction.pc as usize) as u32 + padding(at as usize) as u32
            }
            (GOTO | JSR, Reach::Wide) => 5,
            (_, Reach::Wide) => 8,
            _ => own,
        }
    }

    fn emit(&self) -> Result<Vec<u8>> {
        let edits = self.edits;
        let mut out = Vec::with_capacity(self.end as usize + 64);
        out.extend_from_slice(&edits.entry);
        let inserted = |range: (u32, u32)| &edits.inserted[range.0 as usize..range.1 as usize];
        for (i, instruction) in self.instructions.iter().enumerate() {
            let edit = &edits.edits[i];
            out.extend_from_slice(inserted(edit.before));
            if let Some(bracket) = &edits.bracket
                && self.exit_length(instruction.op) != 0
            {
                out.extend_from_slice(&bracket.exit);
            }
            debug_assert_eq!(out.len() as u32, self.itself[i]);
            if length(edit.instead) == 0 {
                self.emit_instruction(i, instruction, &mut out)?;
            } else {
                out.extend_from_slice(inserted(edit.instead));
            }
            out.extend_from_slice(inserted(edit.after));
            for step in self.stepping.iter().filter(|step| step.host as usize == i) {
                out.push(GOTO_W);
                let offset = self.start[step.target as usize].wrapping_sub(step.position);
                out.extend_from_slice(&offset.to_be_bytes());
            }
        }
        if let Some(bracket) = &edits.bracket {
            out.extend_from_slice(&bracket.handler);
        }
        Ok(out)
    }

    fn emit_instruction(&self, i: usize, instruction: &Instruction<'_>, out: &mut Vec<u8>) -> Result<()> {
        let at = self.itself[i];
        let offset = |pc: i64| Ok(self.start[self.target_of(pc)? as usize].wrapping_sub(at));
        if let Some(target) = instruction.target() {
            let wide = offset(target)?;
            match (instruction.op, self.reach[i]) {
                (GOTO_W | JSR_W, _) => {
                    out.push(instruction.op);
                    out.extend_from_slice(&wide.to_be_bytes());
                }
                (op @ (GOTO | JSR), Reach::Wide) => {
                    out.push(op + (GOTO_W - GOTO));
                    out.extend_from_slice(&wide.to_be_bytes());
                }
                (op, Reach::Wide) => {
                    out.extend_from_slice(&[opposite(op), 0, 8, GOTO_W]);
                    out.extend_from_slice(&wide.wrapping_sub(3).to_be_bytes());
                }
                (op, reach) => {
                    let offset = match reach {
                        Reach::Through(step) => self.stepping[step as usize].position.wrapping_sub(at),
                        _ => wide,
                    };
                    out.push(op);
                    out.extend_from_slice(&(offset as u16).to_be_bytes());
                }
            }
        } else if matches!(instruction.op, TABLESWITCH | LOOKUPSWITCH) {
            out.push(instruction.op);
            out.extend(std::iter::repeat_n(0, padding(at as usize)));
            for (word, value) in instruction.switch_words().enumerate() {
                let value = if instruction.is_switch_offset(word) {
                    offset(i64::from(instruction.pc) + i64::from(value))?
                } else {
                    value as u32
                };
                out.extend_from_slice(&value.to_be_bytes());
            }
        } else {
            out.extend_from_slice(instruction.bytes);
        }
        Ok(())
    }

    /// Where the instruction at an old place starts now; the end of the code for the old end.
    fn moved(&self, pc: u16) -> Result<u32> {
        Ok(self.start[self.target_of(pc.into())? as usize])
    }

    /// Where a covered range ends now. What follows the exit of a monitor is left out: a handler that would exit it a
    /// second time must not cover it, or the machine takes the method for one with unbalanced monitors and never
    /// compiles it.
    fn moved_end(&self, pc: u16) -> Result<u32> {
        let index = self.target_of(pc.into())? as usize;
        let last = index.checked_sub(1).filter(|last| self.instructions[*last].op == MONITOREXIT);
        Ok(last.map_or(self.start[index], |last| self.behind[last]))
    }

    fn handlers(&self, code: &Code<'_>) -> Result<Vec<Handler>> {
        let mut handlers = Vec::with_capacity(code.handlers.len() + 1);
        for handler in &code.handlers {
            handlers.push(Handler {
                start: self.moved(handler.start)? as u16,
                end: self.moved_end(handler.end)? as u16,
                target: self.moved(handler.target)? as u16,
                caught: handler.caught,
            });
        }
        if self.edits.bracket.is_some() {
            let mut from = self.edits.entry.len() as u32;
            let mut cover = |from: u32, to: u32| {
                if from < to {
                    handlers.push(Handler { start: from as u16, end: to as u16, target: self.end as u16, caught: 0 });
                }
            };
            for (i, instruction) in self.instructions.iter().enumerate() {
                let exit = self.exit_length(instruction.op);
                if exit != 0 {
                    cover(from, self.itself[i] - exit);
                    from = self.behind[i];
                }
            }
            cover(from, self.end);
        }
        Ok(handlers)
    }

    /// The frames, each at its new place and with the new locals.
    fn frames(&self, code: &Code<'_>, own: &Frames) -> Frames {
        let mut places: Vec<(u32, u32)> = Vec::with_capacity(own.frames.len() + self.stepping.len());
        for frame in &own.frames {
            if let Ok(index) = self.target_of(frame.pc.into()) {
                places.push((self.start[index as usize], frame.pc));
            }
        }
        for step in &self.stepping {
            places.push((step.position, self.instructions[step.target as usize].pc));
        }
        places.sort_unstable();
        let mut frames = Frames::default();
        let (mut locals, mut stack) = (Vec::new(), Vec::new());
        for (position, pc) in places {
            let Some(frame) = own.at(pc) else { continue };
            locals.clear();
            locals.extend(own.locals(frame).iter().map(|own| self.moved_type(*own)));
            self.add_locals(code, &mut locals);
            stack.clear();
            stack.extend(own.stack(frame).iter().map(|own| self.moved_type(*own)));
            frames.push(position, &locals, &stack);
        }
        if let Some(bracket) = &self.edits.bracket {
            locals.clear();
            self.add_locals(code, &mut locals);
            frames.push(self.end, &locals, &[Type::Object(bracket.throwable)]);
        }
        frames
    }

    fn moved_type(&self, own: Type) -> Type {
        match own {
            Type::Uninitialized(pc) => match self.target_of(pc.into()) {
                Ok(index) => Type::Uninitialized(self.itself[index as usize] as u16),
                Err(_) => own,
            },
            other => other,
        }
    }

    fn add_locals(&self, code: &Code<'_>, locals: &mut Vec<Type>) {
        if self.edits.locals.is_empty() {
            return;
        }
        let used: usize = locals.iter().map(|own| own.slots()).sum();
        let free = usize::from(code.max_locals).saturating_sub(used);
        locals.extend(std::iter::repeat_n(Type::Top, free));
        locals.extend_from_slice(&self.edits.locals);
    }

    fn lines(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut reader = Reader::new(bytes);
        let mut out = bytes.to_vec();
        for i in 0..usize::from(reader.u2()?) {
            let pc = reader.u2()?;
            reader.u2()?;
            // What runs at the start belongs to the first line.
            let moved = if pc == 0 { 0 } else { self.moved(pc).unwrap_or(self.end) };
            out[2 + 4 * i..][..2].copy_from_slice(&(moved as u16).to_be_bytes());
        }
        Ok(out)
    }

    fn variables(&self, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut reader = Reader::new(bytes);
        let mut out = bytes.to_vec();
        for i in 0..usize::from(reader.u2()?) {
            let (pc, len) = (reader.u2()?, reader.u2()?);
            reader.take(6)?;
            let start = if pc == 0 { 0 } else { self.moved(pc).unwrap_or(self.end) };
            let end = pc.checked_add(len).and_then(|end| self.moved(end).ok()).unwrap_or(self.end);
            let row = &mut out[2 + 10 * i..];
            row[..2].copy_from_slice(&(start as u16).to_be_bytes());
            row[2..4].copy_from_slice(&(end.saturating_sub(start) as u16).to_be_bytes());
        }
        Ok(out)
    }
}

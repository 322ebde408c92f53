//! Stack map frames: the types of locals and operands where flow comes together.
//!
//! Frames are read into full form and written in the shortest one, as javac does.

use super::bytes::{Malformed, Reader, Result};
use super::descriptor::MethodDescriptor;
use super::{put_count, put_u2};

/// The type of a local or an operand. A long or double is one entry here and two slots in the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    Top,
    Integer,
    Float,
    Double,
    Long,
    Null,
    UninitializedThis,
    /// Index of the class in the pool.
    Object(u16),
    /// Made by the `new` instruction there, constructor not yet run.
    Uninitialized(u16),
}

impl Type {
    pub const fn slots(self) -> usize {
        match self {
            Self::Double | Self::Long => 2,
            _ => 1,
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(match reader.u1()? {
            0 => Self::Top,
            1 => Self::Integer,
            2 => Self::Float,
            3 => Self::Double,
            4 => Self::Long,
            5 => Self::Null,
            6 => Self::UninitializedThis,
            7 => Self::Object(reader.u2()?),
            8 => Self::Uninitialized(reader.u2()?),
            _ => return Err(reader.malformed("unknown type in a stack map frame")),
        })
    }

    fn write(self, out: &mut Vec<u8>) {
        let (tag, operand) = match self {
            Self::Top => (0, None),
            Self::Integer => (1, None),
            Self::Float => (2, None),
            Self::Double => (3, None),
            Self::Long => (4, None),
            Self::Null => (5, None),
            Self::UninitializedThis => (6, None),
            Self::Object(class) => (7, Some(class)),
            Self::Uninitialized(pc) => (8, Some(pc)),
        };
        out.push(tag);
        if let Some(operand) = operand {
            put_u2(out, operand);
        }
    }
}

/// All frames of a method, in full form.
#[derive(Clone, Default, Debug)]
pub struct Frames {
    // invariant: sorted by pc, no two alike
    pub frames: Vec<Frame>,
    types: Vec<Type>,
}

#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub pc: u32,
    start: u32,
    locals: u32,
    stack: u32,
}

/// What a method starts with: the receiver and the parameters. Classes of parameters do not matter for reading and
/// writing: they are entered as they stand in the frames, so `class` is asked only for the receiver and `0` stands for
/// the rest.
pub fn entry_locals(descriptor: &MethodDescriptor<'_>, receiver: Option<Type>) -> Vec<Type> {
    let mut locals: Vec<Type> = receiver.into_iter().collect();
    locals.extend(descriptor.parameters().map(|parameter| match parameter[0] {
        b'J' => Type::Long,
        b'D' => Type::Double,
        b'F' => Type::Float,
        b'L' | b'[' => Type::Object(0),
        _ => Type::Integer,
    }));
    locals
}

impl Frames {
    pub fn locals(&self, frame: &Frame) -> &[Type] {
        &self.types[frame.start as usize..][..frame.locals as usize]
    }

    pub fn stack(&self, frame: &Frame) -> &[Type] {
        &self.types[(frame.start + frame.locals) as usize..][..frame.stack as usize]
    }

    pub fn at(&self, pc: u32) -> Option<&Frame> {
        self.frames.binary_search_by_key(&pc, |frame| frame.pc).ok().map(|i| &self.frames[i])
    }

    /// Adds a frame; the caller keeps them in order.
    pub fn push(&mut self, pc: u32, locals: &[Type], stack: &[Type]) {
        let start = self.types.len() as u32;
        self.types.extend_from_slice(locals);
        self.types.extend_from_slice(stack);
        self.frames.push(Frame { pc, start, locals: locals.len() as u32, stack: stack.len() as u32 });
    }

    /// Reads the `StackMapTable` attribute of a method that starts with these locals.
    pub fn parse(bytes: &[u8], entry: &[Type]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let mut frames = Self::default();
        let mut locals = entry.to_vec();
        let mut stack = Vec::new();
        let mut pc: i64 = -1;
        for _ in 0..reader.u2()? {
            let kind = reader.u1()?;
            stack.clear();
            let delta = match kind {
                0..=63 => u16::from(kind),
                64..=127 => {
                    stack.push(Type::read(&mut reader)?);
                    u16::from(kind - 64)
                }
                247 => {
                    let delta = reader.u2()?;
                    stack.push(Type::read(&mut reader)?);
                    delta
                }
                248..=250 => {
                    let delta = reader.u2()?;
                    let kept = locals.len().checked_sub(usize::from(251 - kind));
                    locals.truncate(kept.ok_or(reader.malformed("a frame drops locals that are not there"))?);
                    delta
                }
                251 => reader.u2()?,
                252..=254 => {
                    let delta = reader.u2()?;
                    for _ in 0..kind - 251 {
                        locals.push(Type::read(&mut reader)?);
                    }
                    delta
                }
                255 => {
                    let delta = reader.u2()?;
                    read_types(&mut reader, &mut locals)?;
                    read_types(&mut reader, &mut stack)?;
                    delta
                }
                128..=246 => return Err(reader.malformed("unknown kind of stack map frame")),
            };
            pc += i64::from(delta) + 1;
            if frames.types.len() > 1 << 24 {
                return Err(reader.malformed("stack map frames of an absurd size"));
            }
            frames.push(pc as u32, &locals, &stack);
        }
        if !reader.is_at_end() {
            return Err(reader.malformed("bytes follow the last stack map frame"));
        }
        Ok(frames)
    }

    /// Writes the attribute.
    pub fn write(&self, entry: &[Type]) -> Result<Vec<u8>> {
        let mut out = Vec::with_capacity(2 + 4 * self.frames.len());
        put_count(&mut out, self.frames.len())?;
        let mut before = entry;
        let mut last: i64 = -1;
        for frame in &self.frames {
            let delta = i64::from(frame.pc) - last - 1;
            last = frame.pc.into();
            let delta =
                u16::try_from(delta).map_err(|_| Malformed::new("frames are not in order", frame.pc as usize))?;
            let (locals, stack) = (self.locals(frame), self.stack(frame));
            write_frame(&mut out, delta, before, locals, stack)?;
            before = locals;
        }
        Ok(out)
    }
}

fn read_types(reader: &mut Reader<'_>, types: &mut Vec<Type>) -> Result<()> {
    types.clear();
    for _ in 0..reader.u2()? {
        types.push(Type::read(reader)?);
    }
    Ok(())
}

fn write_frame(out: &mut Vec<u8>, delta: u16, before: &[Type], locals: &[Type], stack: &[Type]) -> Result<()> {
    let short = u8::try_from(delta).ok().filter(|delta| *delta < 64);
    let common = before.iter().zip(locals).take_while(|(a, b)| a == b).count();
    match (stack, before.len() - common, locals.len() - common) {
        ([], 0, 0) => {
            if let Some(delta) = short {
                out.push(delta);
            } else {
                out.push(251);
                put_u2(out, delta);
            }
        }
        ([one], 0, 0) => {
            if let Some(delta) = short {
                out.push(64 + delta);
            } else {
                out.push(247);
                put_u2(out, delta);
            }
            one.write(out);
        }
        ([], dropped @ 1..=3, 0) => {
            out.push(251 - dropped as u8);
            put_u2(out, delta);
        }
        ([], 0, added @ 1..=3) => {
            out.push(251 + added as u8);
            put_u2(out, delta);
            for local in &locals[common..] {
                local.write(out);
            }
        }
        _ => {
            out.push(255);
            put_u2(out, delta);
            for types in [locals, stack] {
                put_count(out, types.len())?;
                for own in types {
                    own.write(out);
                }
            }
        }
    }
    Ok(())
}

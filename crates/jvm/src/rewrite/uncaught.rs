//! `java.lang.Thread` tells a hook of exceptions that nobody catches: in other threads than the main one they leave no
//! trace in how the program ends.

use super::emit::Emitter;
use super::hook_names::{Hook, HookConstants};
use super::splice::{Edit, Edits, splice};
use crate::classfile::descriptor::MethodDescriptor;
use crate::classfile::frames::{Frames, Type, entry_locals};
use crate::classfile::opcode::ALOAD_0;
use crate::classfile::{ClassFile, Code, Malformed, Result, find};
use std::borrow::Cow;

/// The class with a call of the hook as the first thing of the method that the machine calls for such an exception.
///
/// # Errors
/// If the class has no such method: another JDK than we know.
pub fn report_uncaught(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut class = ClassFile::parse(bytes)?;
    let is_wanted = |name: &[u8], descriptor: &[u8]| {
        name == b"dispatchUncaughtException" && descriptor == b"(Ljava/lang/Throwable;)V"
    };
    let missing = Malformed::new("no method `dispatchUncaughtException`", 0);
    let at = class.methods.iter().position(|method| {
        let text = |index| class.pool.utf8(index).unwrap_or_default();
        is_wanted(text(method.name), text(method.descriptor))
    });
    let at = at.ok_or(missing)?;
    let attributes = std::mem::take(&mut class.methods[at].attributes);
    let code_at = attributes.iter().position(|own| class.pool.utf8(own.name) == Ok(b"Code")).ok_or(missing)?;
    let Cow::Borrowed(bytes) = attributes[code_at].bytes else { return Err(missing) };
    let code = Code::parse(bytes)?;
    let instructions = code.instructions().collect::<Result<Vec<_>>>()?;
    let mut index_of = vec![u32::MAX; code.bytes.len() + 1];
    for (i, instruction) in instructions.iter().enumerate() {
        index_of[instruction.pc as usize] = i as u32;
    }
    index_of[code.bytes.len()] = instructions.len() as u32;
    let mut entry = Vec::new();
    let mut hooks = HookConstants::default();
    // The exception is the first parameter.
    Emitter { out: &mut entry, pool: &mut class.pool, hooks: &mut hooks }.op(ALOAD_0 + 1).hook(Hook::Uncaught)?;
    let edits = Edits { edits: vec![Edit::default(); instructions.len()], entry, more_stack: 1, ..Edits::default() };
    let receiver = Some(Type::Object(class.this_class));
    let locals = entry_locals(&MethodDescriptor::parse(b"(Ljava/lang/Throwable;)V")?, receiver);
    let frames = match find(&class.pool, &code.attributes, b"StackMapTable") {
        Some(table) => Frames::parse(&table.bytes, &locals)?,
        None => Frames::default(),
    };
    let spliced = splice(&code, &instructions, &index_of, &edits, Some((&frames, &locals)), &mut class.pool)?;
    let code = Code {
        max_stack: spliced.max_stack,
        max_locals: spliced.max_locals,
        bytes: &spliced.code,
        handlers: spliced.handlers,
        attributes: spliced.attributes,
    };
    let written = code.write()?;
    class.methods[at].attributes = attributes;
    class.methods[at].attributes[code_at].bytes = Cow::Owned(written);
    class.write()
}

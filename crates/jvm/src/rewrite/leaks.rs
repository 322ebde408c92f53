//! Constructors that hand out the object before it is done: others may then see its final fields change, which they
//! never do otherwise.

use crate::classfile::opcode::*;
use crate::classfile::{Code, Pool, Result};

/// What makes another thread run something, in the JDK's words.
const STARTS: [&[u8]; 4] = [b"start", b"execute", b"submit", b"schedule"];

/// Whether a constructor puts the object into a static field, or makes another thread run after it was given the object
/// (`start()` of a thread that is the object, was made of it, or of a lambda that knows it). What else it may do with
/// the object (give it to a part of itself, say) does not count: who gets it may be as new.
///
/// # Errors
/// If the code is malformed.
pub fn hands_out_this(code: &Code<'_>, pool: &Pool<'_>, this_class: &[u8]) -> Result<bool> {
    let own = [b"L", this_class, b";"].concat();
    let (mut after_this, mut given) = (false, false);
    for instruction in code.instructions() {
        let instruction = instruction?;
        let op = instruction.op;
        match op {
            PUTSTATIC if after_this => return Ok(true),
            INVOKEDYNAMIC => {
                let descriptor = pool.reference(instruction.index())?.descriptor;
                let parameters = descriptor.split(|byte| *byte == b')').next().unwrap_or_default();
                given |= parameters.windows(own.len()).any(|word| word == own);
            }
            INVOKESPECIAL => {
                let method = pool.reference(instruction.index())?;
                given |= after_this && method.name == b"<init>" && !method.descriptor.starts_with(b"()");
            }
            INVOKEVIRTUAL | INVOKEINTERFACE => {
                let name = pool.reference(instruction.index())?.name;
                if STARTS.contains(&name) && (given || after_this && name == STARTS[0]) {
                    return Ok(true);
                }
            }
            _ => {}
        }
        after_this = op == ALOAD_0;
    }
    Ok(false)
}

//! Constructors that hand out the object before it is done: others may then see its final fields change, which they
//! never do otherwise.

use crate::classfile::opcode::*;
use crate::classfile::{Code, Result};

/// Whether a constructor puts the object into a static field. Guarantee: one that does not is never taken for one that
/// does. What else it may do with the object (give it to a listener, say) does not count: who gets it may be as new.
///
/// # Errors
/// If the code is malformed.
pub fn hands_out_this(code: &Code<'_>) -> Result<bool> {
    let mut after_this = false;
    for instruction in code.instructions() {
        let op = instruction?.op;
        if after_this && op == PUTSTATIC {
            return Ok(true);
        }
        after_this = op == ALOAD_0;
    }
    Ok(false)
}

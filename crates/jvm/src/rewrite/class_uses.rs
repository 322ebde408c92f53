//! Places where a class of the program may have to be initialized first: a hook stands in front of them, so that it is
//! seen who waits for whose initializer.

use super::facts::SiteKind;
use super::flow::Note;
use super::hook_names::Hook;
use super::method::Pass;
use crate::classfile::opcode::*;
use crate::classfile::{Instruction, Result};

/// Packages whose initializers are the JDK's own business.
const JDK: [&[u8]; 5] = [b"java/", b"javax/", b"jdk/", b"sun/", b"com/sun/"];

impl Pass<'_, '_, '_> {
    /// What stands in front of an instruction that initializes another class.
    pub(super) fn class_use(&mut self, instruction: &Instruction<'_>) -> Result<Vec<u8>> {
        let pool = &self.class.pool;
        let name = match instruction.op {
            _ if !self.class.options.scope.is_everything() => return Ok(Vec::new()),
            NEW => pool.class_name(instruction.index())?,
            GETSTATIC | PUTSTATIC | INVOKESTATIC => pool.reference(instruction.index())?.class,
            _ => return Ok(Vec::new()),
        };
        let is_own = name == pool.class_name(self.class.this_class)?;
        if is_own || JDK.iter().any(|prefix| name.starts_with(prefix)) {
            return Ok(Vec::new());
        }
        let site = self.site(instruction.pc, SiteKind::UseClass, Some(instruction.index()), &Note::default())?;
        let mut before = Vec::new();
        self.emitter(&mut before).number(site).hook(Hook::UsingClass)?;
        Ok(before)
    }

    /// These hooks alone, in a class initializer.
    pub(super) fn class_uses(&mut self) -> Result<()> {
        for (i, instruction) in self.instructions.iter().enumerate() {
            let before = self.class_use(instruction)?;
            let start = self.edits.inserted.len() as u32;
            self.edits.inserted.extend_from_slice(&before);
            self.edits.edits[i].before = (start, self.edits.inserted.len() as u32);
        }
        Ok(())
    }
}

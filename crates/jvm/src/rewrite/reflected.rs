//! Calls of `java.lang.reflect.Field` that read or write a field: accesses like any other. The call itself stays, since
//! what it may do depends on who makes it.

use super::facts::SiteKind;
use super::flow::Note;
use super::hook_names::Hook;
use super::method::{Pass, moves};
use crate::classfile::opcode::*;
use crate::classfile::pool::Reference;
use crate::classfile::{Instruction, Result};

/// Such a call; the letter is the type of the value as the call has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FieldCall {
    Get(u8),
    Set(u8),
}

impl FieldCall {
    pub(super) fn of(op: u8, method: &Reference<'_>) -> Option<Self> {
        if op != INVOKEVIRTUAL || method.class != b"java/lang/reflect/Field" {
            return None;
        }
        let letter = |text: &[u8]| match text {
            [letter @ (b'Z' | b'B' | b'C' | b'S' | b'I' | b'J' | b'F' | b'D')] => Some(*letter),
            b"Ljava/lang/Object;" => Some(b'L'),
            _ => None,
        };
        let arguments = method.descriptor.strip_prefix(b"(Ljava/lang/Object;")?;
        match arguments.strip_prefix(b")") {
            Some(result) if method.name.starts_with(b"get") => letter(result).map(Self::Get),
            None if method.name.starts_with(b"set") => letter(arguments.strip_suffix(b")V")?).map(Self::Set),
            _ => None,
        }
    }
}

impl Pass<'_, '_, '_> {
    /// The field and the object stay below the call, for the hook behind it.
    pub(super) fn reflected(
        &mut self,
        call: FieldCall,
        instruction: &Instruction<'_>,
        note: &Note,
        before: &mut Vec<u8>,
        after: &mut Vec<u8>,
    ) -> Result<()> {
        let rest = self.rest;
        let site = self.site(instruction.pc, SiteKind::Reflected, None, note)?;
        let mut announce = |pass: &mut Self, write: u8| -> Result<()> {
            let mut emitter = pass.emitter(before);
            emitter.op(DUP2).op(ICONST_0 + write).number(site).hook(Hook::BeforeReflected).map(|_| ())
        };
        match call {
            FieldCall::Get(letter) => {
                announce(self, 0)?;
                before.push(DUP2);
                self.emitter(after).number(site).hook(Hook::GotReflected(letter))?;
            }
            FieldCall::Set(letter) => {
                let (load, store) = moves(letter);
                let mut put_aside = Vec::new();
                self.emitter(&mut put_aside).local(store, rest);
                announce(self, 1)?;
                before.splice(0..0, put_aside);
                self.emitter(before).op(DUP2).local(load, rest);
                self.emitter(after).local(load, rest).number(site).hook(Hook::SetReflected(letter))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn getters_and_setters_of_fields() {
        let of = |name: &[u8], descriptor: &[u8]| {
            FieldCall::of(INVOKEVIRTUAL, &Reference { class: b"java/lang/reflect/Field", name, descriptor })
        };
        assert_eq!(of(b"getInt", b"(Ljava/lang/Object;)I"), Some(FieldCall::Get(b'I')));
        assert_eq!(of(b"set", b"(Ljava/lang/Object;Ljava/lang/Object;)V"), Some(FieldCall::Set(b'L')));
        assert_eq!(of(b"setDouble", b"(Ljava/lang/Object;D)V"), Some(FieldCall::Set(b'D')));
        assert_eq!(of(b"getName", b"()Ljava/lang/String;"), None);
        assert_eq!(of(b"equals", b"(Ljava/lang/Object;)Z"), None);
        assert_eq!(of(b"setAccessible", b"(Z)V"), None);
    }
}

//! Calls: those that are replaced, those that make objects, and those that tell of threads.

use super::collections;
use super::facts::SiteKind;
use super::fences::Fence;
use super::flow::Note;
use super::hook_names::{ATOMICS_CLASS, Hook};
use super::method::Pass;
use super::reflected::FieldCall;
use super::unsafe_calls::UnsafeCall;
use crate::classfile::opcode::*;
use crate::classfile::pool::Reference;
use crate::classfile::{Instruction, Result};

/// Whether a call leads into a collection of the JDK.
fn into_collection(op: u8, method: &Reference<'_>) -> bool {
    let makes = op == INVOKESTATIC && collections::makes_by_static_methods(method.class);
    collections::leads_to(method.class) && !makes
}

/// The package of locks and conditions.
const LOCKS: &[u8] = b"java/util/concurrent/locks/";

impl Pass<'_, '_, '_> {
    pub(super) fn call(
        &mut self,
        i: usize,
        instruction: &Instruction<'_>,
        note: &Note,
        before: &mut Vec<u8>,
        instead: &mut Vec<u8>,
        after: &mut Vec<u8>,
    ) -> Result<()> {
        let index = instruction.index();
        let method = self.class.pool.reference(index)?;
        let constructs = note.uninitialized_this && note.this_in_local && self.class.adds_address_field;
        // A call of another constructor of the same class has done it already.
        let made = constructs && method.class != self.class.pool.class_name(self.class.this_class)?;
        let clones =
            instruction.op == INVOKESPECIAL && method.name == b"clone" && method.descriptor == b"()Ljava/lang/Object;";
        if let Some(call) = UnsafeCall::recognise(&method) {
            let site = self.site(instruction.pc, SiteKind::Unsafe(call), None, note)?;
            let (name, descriptor) = call.hook();
            let hook = self.class.pool.add_method(ATOMICS_CLASS.as_bytes(), name.as_bytes(), descriptor.as_bytes())?;
            self.emitter(instead).number(site).call(hook);
            return Ok(());
        }
        if !self.class.options.scope.is_everything() {
            return self.call_within_jdk(instruction, note, before, instead, after);
        }
        if instruction.op == INVOKESTATIC && method.class == b"java/lang/System" && method.name == b"arraycopy" {
            let site = self.site(instruction.pc, SiteKind::CopiedArray, None, note)?;
            self.emitter(instead).number(site).hook(Hook::CopiedArray)?;
            return Ok(());
        }
        if instruction.op == INVOKEVIRTUAL && method.class.starts_with(b"[") && method.name == b"clone" {
            let site = self.site(instruction.pc, SiteKind::CopiedArray, None, note)?;
            self.emitter(instead).number(site).hook(Hook::ClonedArray)?;
            return Ok(());
        }
        if let Some(call) = FieldCall::of(instruction.op, &method) {
            return self.reflected(call, instruction, note, before, after);
        }
        if let Some(fence) = Fence::recognise(&method) {
            let site = self.site(instruction.pc, SiteKind::Fence(fence), None, note)?;
            self.emitter(after).number(site).hook(Hook::Fenced)?;
            return Ok(());
        }
        let ending = Ending::of(instruction.op, &method);
        let into_collection = into_collection(instruction.op, &method);
        let into = into_collection || method.class.starts_with(LOCKS);
        if clones {
            before.push(DUP);
        }
        let (rest, interrupts) = (self.rest, is_about_interruption(instruction.op, &method));
        match ending {
            Some(Ending::TimedJoin) => {
                self.emitter(before).local(LSTORE, rest).op(DUP).local(LLOAD, rest);
            }
            Some(Ending::Join | Ending::Alive | Ending::Interrupted) => before.push(DUP),
            Some(Ending::OwnInterruption) | None => {}
        }
        if interrupts {
            self.emitter(before).hook(Hook::Interrupting)?;
        }
        if let Some(stack) = self.stack.filter(|_| self.calls[i]) {
            let kind = if into_collection { SiteKind::CallCollection } else { SiteKind::Call };
            let hook = if into { Hook::CallingInto } else { Hook::Calling };
            let site = self.site(instruction.pc, kind, Some(index), note)?;
            self.emitter(before).local(ILOAD, stack).number(site).hook(hook)?;
        }
        if self.makes_foreign(instruction)? {
            let site = self.site(instruction.pc, SiteKind::MadeArray, None, note)?;
            self.emitter(after).op(DUP).number(site).hook(Hook::MadeArray)?;
        }
        if made {
            let site = self.site(instruction.pc, SiteKind::MadeObject, None, note)?;
            self.emitter(after).op(ALOAD_0).number(site).hook(Hook::MadeObject)?;
        }
        if let Some(ending) = ending {
            let site = self.site(instruction.pc, SiteKind::Joined, None, note)?;
            let hook = match ending {
                Ending::Join | Ending::TimedJoin => Hook::Joined,
                Ending::Alive => Hook::CheckedAlive,
                Ending::Interrupted => Hook::CheckedInterrupted,
                Ending::OwnInterruption => Hook::CheckedOwnInterruption,
            };
            self.emitter(after).number(site).hook(hook)?;
        }
        if clones {
            let site = self.site(instruction.pc, SiteKind::Cloned, None, note)?;
            self.emitter(after).op(DUP_X1).number(site).hook(Hook::Cloned)?;
        }
        Ok(())
    }

    /// Whether the class is of the packages that programs synchronize by.
    pub(super) fn is_of_jdk(&self) -> bool {
        self.class.facts.name.starts_with("java/")
    }

    /// Whether what the call leads to counts as done here as long as it lasts: a collection or a lock of the JDK.
    pub(super) fn leads_inside(&self, i: usize) -> Result<bool> {
        let instruction = &self.instructions[i];
        if instruction.op == INVOKEDYNAMIC {
            return Ok(false);
        }
        let method = self.class.pool.reference(instruction.index())?;
        Ok(into_collection(instruction.op, &method) || method.class.starts_with(LOCKS))
    }

    /// Objects of synchronizing classes get their address from whoever makes them, too, not from whoever comes first.
    fn call_within_jdk(
        &mut self,
        instruction: &Instruction<'_>,
        note: &Note,
        before: &mut Vec<u8>,
        instead: &mut Vec<u8>,
        after: &mut Vec<u8>,
    ) -> Result<()> {
        if self.class.options.scope.is_collections() {
            let method = self.class.pool.reference(instruction.index())?;
            if method.class == b"java/lang/System" && method.name == b"arraycopy" {
                let site = self.site(instruction.pc, SiteKind::CopiedArray, None, note)?;
                self.emitter(instead).number(site).hook(Hook::CopiedWithin)?;
            }
            return Ok(());
        }
        self.condition_call(instruction, before, after)?;
        let method = self.class.pool.reference(instruction.index())?;
        let interrupts = is_about_interruption(instruction.op, &method);
        let clears = Ending::of(instruction.op, &method) == Some(Ending::OwnInterruption);
        if interrupts {
            self.emitter(before).hook(Hook::Interrupting)?;
        }
        if clears {
            let site = self.site(instruction.pc, SiteKind::Joined, None, note)?;
            self.emitter(after).number(site).hook(Hook::CheckedOwnInterruption)?;
        }
        if note.uninitialized_this && note.this_in_local {
            let site = self.site(instruction.pc, SiteKind::MadeArray, None, note)?;
            self.emitter(after).op(ALOAD_0).number(site).hook(Hook::MadeArray)?;
        }
        Ok(())
    }

    /// Whether the call is that of a constructor which leaves a new object of a class of the JDK on the stack: such
    /// objects have no field for their address.
    fn makes_foreign(&mut self, instruction: &Instruction<'_>) -> Result<bool> {
        let method = self.class.pool.reference(instruction.index())?;
        if instruction.op != INVOKESPECIAL || method.name != b"<init>" {
            return Ok(false);
        }
        let Some(&(class, stays)) = self.making.last() else { return Ok(false) };
        if self.class.pool.class_name(class)? != method.class {
            return Ok(false);
        }
        self.making.pop();
        let is_foreign = [&b"java/"[..], b"javax/", b"jdk/"].iter().any(|prefix| method.class.starts_with(prefix));
        let seldom_shared = method.class.ends_with(b"Exception")
            || method.class.ends_with(b"Error")
            || method.class == b"java/lang/String";
        Ok(stays && is_foreign && !seldom_shared && self.class.options.array_births)
    }
}

/// Whether a call sets, asks for or clears the mark of an interruption.
fn is_about_interruption(op: u8, method: &Reference<'_>) -> bool {
    let interrupts = op == INVOKEVIRTUAL && method.name == b"interrupt" && method.descriptor == b"()V";
    interrupts || matches!(Ending::of(op, method), Some(Ending::Interrupted | Ending::OwnInterruption))
}

/// Calls that tell whether a thread has ended or was interrupted. Of which class the object is does not show in the code: the hook looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Join,
    TimedJoin,
    Alive,
    Interrupted,
    OwnInterruption,
}

impl Ending {
    fn of(op: u8, method: &Reference<'_>) -> Option<Self> {
        match (op, method.name, method.descriptor) {
            (INVOKEVIRTUAL, b"join", b"()V") => Some(Self::Join),
            (INVOKEVIRTUAL, b"join", b"(J)V") => Some(Self::TimedJoin),
            (INVOKEVIRTUAL, b"isAlive", b"()Z") => Some(Self::Alive),
            (INVOKEVIRTUAL, b"isInterrupted", b"()Z") => Some(Self::Interrupted),
            (INVOKESTATIC, b"interrupted", b"()Z") if method.class == b"java/lang/Thread" => {
                Some(Self::OwnInterruption)
            }
            _ => None,
        }
    }
}

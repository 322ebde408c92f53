//! What surrounds a method's body: the monitor of a `synchronized` method, the begin and end of a class initializer,
//! and the stack of calls, which is set right again after calls and in handlers.

use super::facts::SiteKind;
use super::flow::{Flow, Note};
use super::hook_names::Hook;
use super::method::{Class, Pass};
use super::splice::Bracket;
use super::unsafe_calls::UnsafeCall;
use crate::classfile::frames::Type;
use crate::classfile::opcode::*;
use crate::classfile::{FIRST_WITH_CLASS_CONSTANTS, Instruction, Result};

impl Pass<'_, '_, '_> {
    /// Inside a class initializer, and where the machine loads classes, nothing is recorded and nobody is preempted, so
    /// the method gets no other hooks.
    pub(super) fn quiet(&mut self) -> Result<()> {
        let note = Note::default();
        let begin = self.site(0, SiteKind::BeginInitializer, None, &note)?;
        let end = self.site(self.last_pc(), SiteKind::EndInitializer, None, &note)?;
        let mut entry = Vec::new();
        self.emitter(&mut entry).number(begin).hook(Hook::BeginInitializer)?;
        self.edits.entry = entry;
        let mut exit = Vec::new();
        self.emitter(&mut exit).number(end).hook(Hook::EndInitializer)?;
        let handler = [&exit[..], &[ATHROW]].concat();
        self.bracket(exit, handler)
    }

    pub(super) fn last_pc(&self) -> u32 {
        self.instructions.last().map_or(0, |last| last.pc)
    }

    pub(super) fn bracket(&mut self, exit: Vec<u8>, handler: Vec<u8>) -> Result<()> {
        let throwable = self.class.pool.add_class(b"java/lang/Throwable")?;
        self.edits.bracket = Some(Bracket { exit, handler, throwable });
        Ok(())
    }

    /// Model first, then really enter: the flag is taken off and the body takes the monitor itself. Of a class that was
    /// loaded before us the flag stays, and the hooks are the first and the last thing in the body.
    pub(super) fn synchronized(&mut self) -> Result<()> {
        let note = Note::default();
        let (lock, stack, preloaded) = (self.lock, self.stack, self.class.options.preloaded);
        let enter = self.site(0, SiteKind::EnterMethod, None, &note)?;
        let leave = self.site(self.last_pc(), SiteKind::ExitMethod, None, &note)?;
        let mut entry = std::mem::take(&mut self.edits.entry);
        if !self.form.is_static {
            entry.push(ALOAD_0);
        } else if self.class.major >= FIRST_WITH_CLASS_CONSTANTS {
            let this_class = self.class.this_class;
            self.emitter(&mut entry).constant(this_class);
        } else {
            self.emitter(&mut entry).number(enter).hook(Hook::ClassOfSite)?;
        }
        let mut exit = Vec::new();
        let mut emitter = self.emitter(&mut entry);
        emitter.op(DUP).local(ASTORE, lock).number(enter);
        if preloaded {
            emitter.hook(Hook::EnteredMethod)?;
            self.emitter(&mut exit).local(ALOAD, lock).number(leave).hook(Hook::LeavingMethod)?;
        } else {
            emitter.hook(Hook::EnteringMonitor)?.local(ALOAD, lock).op(MONITORENTER);
            let mut emitter = self.emitter(&mut exit);
            emitter.local(ALOAD, lock).op(MONITOREXIT);
            emitter.local(ALOAD, lock).number(leave).hook(Hook::LeftMonitor)?;
        }
        self.edits.entry = entry;
        let mut handler = Vec::new();
        if let Some(stack) = stack {
            self.emitter(&mut handler).local(ILOAD, stack).hook(Hook::Returned)?;
        }
        handler.extend_from_slice(&exit);
        handler.push(ATHROW);
        let object = self.class.pool.add_class(b"java/lang/Object")?;
        self.edits.locals.push(Type::Object(object));
        self.bracket(exit, handler)
    }

    /// Sets the stack right after each call and at the start of each handler, unless nothing asks for it before the
    /// next call sets it anyway. What leads into a collection is over at once: whoever called this method may be none
    /// of ours, and what it does with collections is its own.
    pub(super) fn restore_stack(
        &mut self,
        stack: u16,
        handlers: &[u16],
        index_of: &[u32],
        flow: &Flow<'_>,
    ) -> Result<()> {
        let mut bytes = Vec::new();
        self.emitter(&mut bytes).local(ILOAD, stack).hook(Hook::Returned)?;
        for i in 0..self.instructions.len() {
            let old = self.edits.edits[i].after;
            if self.calls[i] && (old.0 != old.1 || self.asks_for_stack(i + 1, flow) || self.leads_inside(i)?) {
                self.edits.edits[i].after = self.append(&bytes, old);
            }
        }
        for target in handlers {
            let index = index_of.get(usize::from(*target)).map_or(usize::MAX, |index| *index as usize);
            if index < self.instructions.len() && self.asks_for_stack(index, flow) {
                let old = self.edits.edits[index].before;
                // Two entries of the table may share a handler.
                if !self.inserted(old).starts_with(&bytes) {
                    self.edits.edits[index].before = self.append(&bytes, old);
                }
            }
        }
        Ok(())
    }

    fn inserted(&self, range: (u32, u32)) -> &[u8] {
        &self.edits.inserted[range.0 as usize..range.1 as usize]
    }

    /// A new piece: these bytes, then the old piece.
    fn append(&mut self, bytes: &[u8], old: (u32, u32)) -> (u32, u32) {
        let start = self.edits.inserted.len() as u32;
        self.edits.inserted.extend_from_slice(bytes);
        self.edits.inserted.extend_from_within(old.0 as usize..old.1 as usize);
        (start, self.edits.inserted.len() as u32)
    }

    /// Whether a hook may run from here on that shows the stack of calls, before the next call or the end of the
    /// method.
    fn asks_for_stack(&self, from: usize, flow: &Flow<'_>) -> bool {
        for (i, instruction) in self.instructions.iter().enumerate().skip(from) {
            if i > from && flow.is_target(i) || instruction.target().is_some() {
                return true;
            }
            let edit = &self.edits.edits[i];
            if self.calls[i] {
                return false;
            }
            if !edit.is_empty() {
                return true;
            }
            match instruction.op {
                IRETURN..=RETURN => return self.form.synchronized || self.form.called_back,
                ATHROW => return false,
                TABLESWITCH | LOOKUPSWITCH | RET => return true,
                _ => {}
            }
        }
        true
    }
}

/// Classes whose methods neither access what threads share nor call back: calls of them are not on the stacks.
const LEAVES: [&[u8]; 13] = [
    b"java/lang/String",
    b"java/lang/Math",
    b"java/lang/StrictMath",
    b"java/lang/Integer",
    b"java/lang/Long",
    b"java/lang/Boolean",
    b"java/lang/Character",
    b"java/lang/Byte",
    b"java/lang/Short",
    b"java/lang/Float",
    b"java/lang/Double",
    b"jdk/internal/misc/Unsafe",
    b"sun/misc/Unsafe",
];

/// Methods of those classes that do call back or block after all.
const NO_LEAVES: [&[u8]; 6] = [b"valueOf", b"join", b"format", b"wait", b"notify", b"notifyAll"];

/// Whether a call is put on the stack.
pub(super) fn is_recorded_call(class: &Class<'_, '_>, instruction: &Instruction<'_>) -> bool {
    if !matches!(instruction.op, INVOKEVIRTUAL..=INVOKEDYNAMIC) {
        return false;
    }
    let Ok(method) = class.pool.reference(instruction.index()) else { return false };
    let copies_array = method.class == b"java/lang/System" && method.name == b"arraycopy";
    if copies_array || UnsafeCall::recognise(&method).is_some() || method.class.starts_with(b"[") {
        return false;
    }
    // Methods of `Object` may be overridden; its constructor does nothing.
    if method.class == b"java/lang/Object" {
        return method.name != b"<init>";
    }
    !LEAVES.contains(&method.class) || NO_LEAVES.contains(&method.name)
}

//! Locks of `java.util.concurrent` whose methods are seen as a whole: as a lock that is taken and given back, not as
//! the atomic operations it is made of.

use super::facts::SiteKind;
use super::flow::Note;
use super::hook_names::Hook;
use super::method::Pass;
use crate::classfile::frames::Type;
use crate::classfile::opcode::*;
use crate::classfile::{Instruction, Result};

/// What a method of a lock does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockCall {
    Lock,
    TryLock,
    /// Takes it, unless it is interrupted.
    TakeOrGiveUp,
    /// Takes it, unless the time is up.
    TimedLock,
    Unlock,
}

const LOCK: &[u8] = b"java/util/concurrent/locks/ReentrantLock";
const CONDITION: &[u8] = b"java/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject";

impl LockCall {
    pub fn of(class: &[u8], name: &[u8], descriptor: &[u8]) -> Option<Self> {
        if class != LOCK {
            return None;
        }
        match (name, descriptor) {
            (b"lock", b"()V") => Some(Self::Lock),
            (b"lockInterruptibly", b"()V") => Some(Self::TakeOrGiveUp),
            (b"tryLock", b"(JLjava/util/concurrent/TimeUnit;)Z") => Some(Self::TimedLock),
            (b"tryLock", b"()Z") => Some(Self::TryLock),
            (b"unlock", b"()V") => Some(Self::Unlock),
            _ => None,
        }
    }
}

impl Pass<'_, '_, '_> {
    /// The method gets a hook where it begins and one where it ends, and no other.
    pub(super) fn lock_method(&mut self, call: LockCall, returns_value: bool) -> Result<()> {
        let (note, local) = (Note::default(), self.lock);
        let enter = self.site(0, SiteKind::Lock(call), None, &note)?;
        let leave = self.site(self.last_pc(), SiteKind::Lock(call), None, &note)?;
        let mut entry = Vec::new();
        self.emitter(&mut entry).op(ALOAD_0).number(enter).hook(Hook::EnteringLock)?.local(ASTORE, local);
        self.edits.entry = entry;
        let (mut exit, mut handler) = (Vec::new(), Vec::new());
        let done = if returns_value { DUP } else { ICONST_0 + 1 };
        self.emitter(&mut exit).op(done).local(ALOAD, local).number(leave).hook(Hook::LeftLock)?;
        self.emitter(&mut handler).op(ICONST_0).local(ALOAD, local).number(leave).hook(Hook::LeftLock)?.op(ATHROW);
        let object = self.class.pool.add_class(b"java/lang/Object")?;
        self.edits.locals.push(Type::Object(object));
        self.bracket(exit, handler)
    }

    /// A wait for a condition gives the lock up and takes it back.
    pub(super) fn condition_call(
        &mut self,
        instruction: &Instruction<'_>,
        before: &mut Vec<u8>,
        after: &mut Vec<u8>,
    ) -> Result<()> {
        if self.class.pool.class_name(self.class.this_class)? != CONDITION {
            return Ok(());
        }
        let method = self.class.pool.reference(instruction.index())?;
        let node = b"(Ljava/util/concurrent/locks/AbstractQueuedSynchronizer$Node;";
        // The second one since JDK 21.
        let takes_back = matches!(method.name, b"acquire" | b"reacquire") && method.descriptor.starts_with(node);
        if method.name == b"enableWait" {
            let site = self.site(instruction.pc, SiteKind::ConditionWait, None, &Note::default())?;
            self.emitter(before).op(ALOAD_0).number(site).hook(Hook::GivingLockUp)?;
            self.emitter(after).op(ALOAD_0).number(site).hook(Hook::GaveLockUp)?;
        } else if takes_back {
            let site = self.site(instruction.pc, SiteKind::ConditionWait, None, &Note::default())?;
            self.emitter(before).op(ALOAD_0).number(site).hook(Hook::TakingLockBack)?;
            self.emitter(after).op(ALOAD_0).number(site).hook(Hook::TookLockBack)?;
        }
        Ok(())
    }
}

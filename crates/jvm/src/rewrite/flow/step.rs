//! One instruction: what it does to the stack and the locals.

use super::{Note, Slot, State, forget};
use crate::classfile::descriptor::{MethodDescriptor, slots};
use crate::classfile::opcode::*;
use crate::classfile::{Instruction, Malformed, Pool, Result};
use std::collections::HashSet;

/// One instruction at work on the state.
pub(super) struct Step<'s> {
    pub(super) state: &'s mut State,
    pub(super) locals: &'s mut Vec<Slot>,
    pub(super) note: &'s mut Note,
    pub(super) ends_block: bool,
    pub(super) constants: &'s HashSet<u16>,
}

impl Step<'_> {
    /// Below what is known there may be more: ordinary slots.
    fn pop(&mut self) -> Slot {
        self.state.stack.pop().unwrap_or_default()
    }

    fn push(&mut self, slot: Slot) {
        self.state.stack.push(slot);
    }

    /// Takes slots that leave the operand stack for good; says whether one depends on a read.
    fn consume(&mut self, count: usize) -> bool {
        let mut depends = false;
        for _ in 0..count {
            let slot = self.pop();
            depends |= slot.depends();
            self.escape(slot);
        }
        depends
    }

    /// An array that somebody else may know from now on.
    fn escape(&mut self, slot: Slot) {
        let fresh = slot.fresh();
        if fresh != 0 {
            for other in &mut self.state.stack {
                if other.fresh() == fresh {
                    *other = other.without(Slot::FRESH);
                }
            }
        }
    }

    fn produce(&mut self, count: usize, depends: bool) {
        let slot = Slot(if depends { Slot::READ } else { 0 });
        for _ in 0..count {
            self.push(slot);
        }
    }

    /// The usual case: so many slots are replaced by so many.
    fn simple(&mut self, popped: usize, pushed: usize) -> bool {
        let depends = self.consume(popped);
        self.produce(pushed, depends);
        depends
    }

    fn load(&mut self, local: u16, count: usize) {
        for i in 0..count {
            let slot = self.locals.get(usize::from(local) + i).copied().unwrap_or_default();
            self.push(slot);
        }
    }

    fn store(&mut self, local: u16, count: usize) {
        for i in (0..count).rev() {
            let slot = self.pop();
            self.escape(slot);
            if let Some(own) = self.locals.get_mut(usize::from(local) + i) {
                *own = slot.without(Slot::FRESH);
            }
        }
        if local == 0 {
            self.state.this_uninitialized = self.locals.first().is_some_and(|slot| slot.is_uninitialized_this());
        }
    }

    pub(super) fn execute(&mut self, index: usize, instruction: &Instruction<'_>, pool: &Pool<'_>) -> Result<()> {
        let op = instruction.op;
        match op {
            // What `iinc` leaves depends on what was there, as before.
            NOP | IINC | RET | GOTO | GOTO_W | JSR | JSR_W | RETURN => {}
            LCONST_0 | LCONST_1 | DCONST_0 | DCONST_1 | LDC2_W => self.produce(2, false),
            ACONST_NULL..=LDC_W => self.produce(1, false),
            ILOAD..=SALOAD => self.load_or_element(op, instruction),
            ISTORE..=SASTORE => self.store_or_element(op, instruction),
            POP..=SWAP => self.shuffle(op),
            IADD..=LXOR | I2L..=DCMPG => self.arithmetic(op),
            IFEQ..=IFLE | IFNULL | IFNONNULL | TABLESWITCH | LOOKUPSWITCH => {
                self.consume(1);
            }
            IF_ICMPEQ..=IF_ACMPNE => {
                self.consume(2);
            }
            IRETURN | FRETURN | ARETURN | ATHROW => {
                self.consume(1);
            }
            LRETURN | DRETURN => {
                self.consume(2);
            }
            GETSTATIC..=PUTFIELD => self.field(op, instruction, pool)?,
            INVOKEVIRTUAL..=INVOKEDYNAMIC => self.call(op, instruction, pool)?,
            NEW => self.produce(1, false),
            NEWARRAY | ANEWARRAY => {
                self.ends_block |= self.consume(1);
                self.push(Slot(index as u32 + 1));
            }
            MULTIANEWARRAY => {
                let dimensions = instruction.bytes.get(3).copied().unwrap_or(1);
                self.ends_block |= self.consume(dimensions.into());
                self.produce(1, false);
            }
            CHECKCAST => {
                // Stays the same object; whether it throws may depend on a read.
                let depends = self.state.stack.last().is_some_and(|slot| slot.depends());
                self.ends_block |= depends;
            }
            ARRAYLENGTH => {
                let slot = self.pop();
                self.ends_block |= slot.depends();
                self.produce(1, slot.depends());
            }
            INSTANCEOF => {
                self.simple(1, 1);
            }
            MONITORENTER | MONITOREXIT => self.note.depends = self.consume(1),
            _ => return Err(Malformed::new("unknown instruction", instruction.pc as usize)),
        }
        Ok(())
    }

    fn load_or_element(&mut self, op: u8, instruction: &Instruction<'_>) {
        if let Some(local) = instruction.local() {
            let kind = if op >= ILOAD_0 { (op - ILOAD_0) / 4 } else { op - ILOAD };
            return self.load(local, if matches!(kind, 1 | 3) { 2 } else { 1 });
        }
        let (index, array) = (self.pop(), self.pop());
        self.note.depends = index.depends() || array.depends();
        self.produce(if matches!(op, LALOAD | DALOAD) { 2 } else { 1 }, true);
    }

    fn store_or_element(&mut self, op: u8, instruction: &Instruction<'_>) {
        if let Some(local) = instruction.local() {
            let kind = if op >= ISTORE_0 { (op - ISTORE_0) / 4 } else { op - ISTORE };
            return self.store(local, if matches!(kind, 1 | 3) { 2 } else { 1 });
        }
        let value = self.consume(if matches!(op, LASTORE | DASTORE) { 2 } else { 1 });
        let (index, array) = (self.pop(), self.pop());
        // Whether a reference may be stored depends on its class, too.
        self.note.depends = index.depends() || array.depends() || op == AASTORE && value;
        self.note.fills_fresh = array.fresh() != 0;
        self.note.leaves_fresh =
            self.note.fills_fresh && self.state.stack.last().is_some_and(|top| top.fresh() == array.fresh());
    }

    /// Instructions that only move slots about: all work on slots, so it does not matter which of them belong together.
    fn shuffle(&mut self, op: u8) {
        let a = self.pop();
        match op {
            POP => {}
            POP2 => {
                self.pop();
            }
            DUP => self.push_all(&[a, a]),
            SWAP => {
                let b = self.pop();
                self.push_all(&[a, b]);
            }
            DUP_X1 | DUP2 => {
                let b = self.pop();
                if op == DUP2 { self.push_all(&[b, a, b, a]) } else { self.push_all(&[a, b, a]) }
            }
            DUP_X2 | DUP2_X1 => {
                let (b, c) = (self.pop(), self.pop());
                if op == DUP_X2 { self.push_all(&[a, c, b, a]) } else { self.push_all(&[b, a, c, b, a]) }
            }
            _ => {
                let (b, c, d) = (self.pop(), self.pop(), self.pop());
                self.push_all(&[b, a, d, c, b, a]);
            }
        }
    }

    fn push_all(&mut self, slots: &[Slot]) {
        self.state.stack.extend_from_slice(slots);
    }

    fn arithmetic(&mut self, op: u8) {
        // Types go round in the order int, long, float, double.
        let wide = |op: u8, first: u8| (op - first) % 4 % 2 == 1;
        let (popped, pushed) = match op {
            IADD..=115 => {
                let width = if wide(op, IADD) { 2 } else { 1 };
                (2 * width, width)
            }
            116..=DNEG => {
                let width = if wide(op, 116) { 2 } else { 1 };
                (width, width)
            }
            ISHL..=LXOR => {
                let width = if (op - ISHL) % 2 == 1 { 2 } else { 1 };
                (if op < 126 { width + 1 } else { 2 * width }, width)
            }
            I2L..=I2S => conversion(op),
            LCMP | DCMPL | DCMPG => (4, 1),
            _ => (2, 1),
        };
        let divisor = match op {
            IDIV | IREM | LDIV | LREM => self.state.stack.last().copied(),
            _ => None,
        };
        self.ends_block |= divisor.is_some_and(Slot::depends);
        self.simple(popped, pushed);
    }

    fn field(&mut self, op: u8, instruction: &Instruction<'_>, pool: &Pool<'_>) -> Result<()> {
        let reference = pool.reference(instruction.index())?;
        let width = slots(*reference.descriptor.first().unwrap_or(&b'I'));
        if matches!(op, PUTSTATIC | PUTFIELD) {
            self.consume(width);
        }
        if matches!(op, GETFIELD | PUTFIELD) {
            let object = self.pop();
            self.note.depends = object.depends();
            self.note.uninitialized_this = object.is_uninitialized_this();
        }
        if matches!(op, GETSTATIC | GETFIELD) {
            self.produce(width, !self.constants.contains(&instruction.index()));
        }
        Ok(())
    }

    fn call(&mut self, op: u8, instruction: &Instruction<'_>, pool: &Pool<'_>) -> Result<()> {
        let reference = pool.reference(instruction.index())?;
        let method = MethodDescriptor::parse(reference.descriptor)?;
        self.consume(method.parameter_slots());
        if !matches!(op, INVOKESTATIC | INVOKEDYNAMIC) {
            let object = self.pop();
            self.escape(object);
            if reference.name == b"<init>" && object.is_uninitialized_this() {
                self.note.uninitialized_this = true;
                self.state.this_uninitialized = false;
                forget(&mut self.state.stack, Slot::UNINITIALIZED_THIS);
                forget(self.locals, Slot::UNINITIALIZED_THIS);
            }
        }
        self.produce(method.result_slots(), false);
        self.ends_block = true;
        Ok(())
    }
}

/// Slots that a conversion takes and leaves.
const fn conversion(op: u8) -> (usize, usize) {
    match op - I2L {
        // i2l i2f i2d
        0 | 2 => (1, 2),
        1 => (1, 1),
        // l2i l2f l2d
        3 | 4 => (2, 1),
        5 => (2, 2),
        // f2i f2l f2d
        6 => (1, 1),
        7 | 8 => (1, 2),
        // d2i d2l d2f
        9 | 11 => (2, 1),
        10 => (2, 2),
        // i2b i2c i2s
        _ => (1, 1),
    }
}

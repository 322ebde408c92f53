//! What the rewriter must know about the operands of a method: which are arrays that nobody else can know yet, which are
//! `this` before its constructor has called another one, and which depend on a read of the same block.
//!
//! One pass in the order of the code. Where a jump leads back, or no state is known, everything is taken to be ordinary: an
//! array is then recorded that need not be, never the other way round. Blocks end at jumps, at their targets, at calls, and
//! where an instruction throws or not depending on a read: what follows happened because reads returned what they returned.

use crate::classfile::descriptor::{MethodDescriptor, slots};
use crate::classfile::frames::{Frames, Type};
use crate::classfile::opcode::*;
use crate::classfile::{Code, Instruction, Malformed, Pool, Result};

/// What is known about one slot of the operand stack or one local variable.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Slot(u32);

impl Slot {
    /// Depends on a read of the block.
    const READ: u32 = 1 << 20;
    const UNINITIALIZED_THIS: u32 = 1 << 21;
    /// Number of the instruction that made the array, and one.
    const FRESH: u32 = (1 << 17) - 1;

    const fn fresh(self) -> u32 {
        self.0 & Self::FRESH
    }

    const fn depends(self) -> bool {
        self.0 & Self::READ != 0
    }

    const fn is_uninitialized_this(self) -> bool {
        self.0 & Self::UNINITIALIZED_THIS != 0
    }

    const fn without(self, bits: u32) -> Self {
        Self(self.0 & !bits)
    }
}

/// What the pass found out about one instruction.
#[derive(Clone, Copy, Default, Debug)]
pub struct Note {
    /// The block that the instruction belongs to.
    pub block: u32,
    /// Its operand (object, array, index) can depend on a read of the same block.
    pub depends: bool,
    /// It stores into an array that only the operand stack knows.
    pub fills_fresh: bool,
    /// The same, and what is on top of the stack afterwards is that array.
    pub leaves_fresh: bool,
    /// Its object is `this` before the constructor has called another one.
    pub uninitialized_this: bool,
    /// The same, and local variable 0 is `this`.
    pub this_in_local: bool,
}

/// How flow reaches an instruction other than from the one before it.
#[derive(Clone, Copy, Default)]
struct Arrival {
    forward: bool,
    backward: bool,
    handler: bool,
}

pub struct Flow<'c> {
    frames: Option<&'c Frames>,
    arrivals: Vec<Arrival>,
    /// States that forward jumps bring to their targets; absent if there is nothing to know.
    brought: Vec<(u32, State)>,
    /// `None` behind an instruction that never goes on.
    state: Option<State>,
    locals: Vec<Slot>,
    block: u32,
}

#[derive(Clone, Default, Debug)]
struct State {
    stack: Vec<Slot>,
    this_uninitialized: bool,
}

impl<'c> Flow<'c> {
    /// `index_of` is the number of the instruction at a pc, `u32::MAX` where none starts.
    pub fn new(
        code: &Code<'_>,
        instructions: &[Instruction<'_>],
        index_of: &[u32],
        frames: Option<&'c Frames>,
        constructor: bool,
    ) -> Result<Self> {
        let mut arrivals = vec![Arrival::default(); instructions.len()];
        let at = |pc: i64| -> Result<usize> {
            let index = usize::try_from(pc).ok().and_then(|pc| index_of.get(pc)).copied();
            let index = index.filter(|index| (*index as usize) < instructions.len());
            Ok(index.ok_or(Malformed::new("a jump leads between instructions", 0))? as usize)
        };
        for instruction in instructions {
            let mut outcome = Ok(());
            instruction.each_target(|target| match at(target) {
                Ok(index) if target > i64::from(instruction.pc) => arrivals[index].forward = true,
                Ok(index) => arrivals[index].backward = true,
                Err(error) => outcome = Err(error),
            });
            outcome?;
        }
        for handler in &code.handlers {
            arrivals[at(handler.target.into())?].handler = true;
        }
        let mut locals = vec![Slot::default(); code.max_locals.into()];
        if constructor && let Some(this) = locals.first_mut() {
            *this = Slot(Slot::UNINITIALIZED_THIS);
        }
        let state = Some(State { stack: Vec::new(), this_uninitialized: constructor });
        Ok(Self { frames, arrivals, brought: Vec::new(), state, locals, block: 0 })
    }

    /// Whether flow can reach the instruction other than from the one before it.
    pub fn is_target(&self, index: usize) -> bool {
        self.arrivals.get(index).is_some_and(|arrival| arrival.forward || arrival.backward || arrival.handler)
    }

    /// Steps over the instruction with that number.
    pub fn step(&mut self, index: usize, instruction: &Instruction<'_>, pool: &Pool<'_>) -> Result<Note> {
        self.arrive(index, instruction.pc);
        let mut note = Note { block: self.block, ..Note::default() };
        let state = self.state.get_or_insert_default();
        note.this_in_local = state.this_uninitialized && self.locals.first().is_some_and(|s| s.is_uninitialized_this());
        let mut step = Step { state, locals: &mut self.locals, note: &mut note, ends_block: false };
        step.execute(index, instruction, pool)?;
        let ends_block = step.ends_block;
        self.leave(instruction, ends_block);
        Ok(note)
    }

    fn arrive(&mut self, index: usize, pc: u32) {
        let arrival = self.arrivals[index];
        if !self.is_target(index) {
            if self.state.is_none() {
                // Nothing leads here.
                self.state = Some(self.assumed(pc, false));
            }
            return;
        }
        self.new_block();
        while let Some(i) = self.brought.iter().position(|(target, _)| *target == pc) {
            let (_, other) = self.brought.swap_remove(i);
            self.state = Some(match self.state.take() {
                Some(own) => merge(own, &other),
                None => other,
            });
        }
        if arrival.handler {
            self.state = Some(self.assumed(pc, true));
        }
        let mut state = self.state.take().unwrap_or_else(|| self.assumed(pc, false));
        if arrival.backward {
            forget(&mut state.stack, Slot::FRESH);
        }
        self.set_locals(state.this_uninitialized);
        self.state = Some(state);
    }

    /// What the method's own frame says about this place, or that nothing is known.
    fn assumed(&self, pc: u32, handler: bool) -> State {
        let Some((frames, frame)) = self.frames.and_then(|frames| Some((frames, frames.at(pc)?))) else {
            let depth = usize::from(handler);
            return State { stack: vec![Slot::default(); depth], this_uninitialized: false };
        };
        let mut stack = Vec::new();
        for own in frames.stack(frame) {
            let bits = if *own == Type::UninitializedThis { Slot::UNINITIALIZED_THIS } else { 0 };
            stack.extend(std::iter::repeat_n(Slot(bits), own.slots()));
        }
        State { stack, this_uninitialized: frames.locals(frame).first() == Some(&Type::UninitializedThis) }
    }

    fn set_locals(&mut self, this_uninitialized: bool) {
        self.locals.fill(Slot::default());
        if this_uninitialized && let Some(this) = self.locals.first_mut() {
            *this = Slot(Slot::UNINITIALIZED_THIS);
        }
    }

    fn new_block(&mut self) {
        self.block += 1;
        forget(&mut self.locals, Slot::READ);
        if let Some(state) = &mut self.state {
            forget(&mut state.stack, Slot::READ);
        }
    }

    fn leave(&mut self, instruction: &Instruction<'_>, ends_block: bool) {
        let op = instruction.op;
        let jumps = instruction.target().is_some() || matches!(op, TABLESWITCH | LOOKUPSWITCH);
        if jumps || ends_block {
            self.new_block();
        }
        if jumps && let Some(state) = &mut self.state {
            if matches!(op, JSR | JSR_W) {
                state.stack.push(Slot::default());
            }
            if !state.stack.is_empty() || state.this_uninitialized {
                let brought = &mut self.brought;
                instruction.each_target(|target| {
                    if target <= i64::from(instruction.pc) {
                        return;
                    }
                    let target = target as u32;
                    match brought.iter_mut().find(|(other, _)| *other == target) {
                        Some((_, other)) => *other = merge(std::mem::take(other), state),
                        None => brought.push((target, state.clone())),
                    }
                });
            }
            if matches!(op, JSR | JSR_W) {
                state.stack.pop();
            }
        }
        if ends_flow(op) {
            self.state = None;
        }
    }
}

fn forget(slots: &mut [Slot], bits: u32) {
    for slot in slots {
        *slot = slot.without(bits);
    }
}

fn merge(mut own: State, other: &State) -> State {
    if own.stack.len() != other.stack.len() {
        forget(&mut own.stack, Slot::FRESH);
        return own;
    }
    for (a, b) in own.stack.iter_mut().zip(&other.stack) {
        if a.fresh() != b.fresh() {
            *a = a.without(Slot::FRESH);
        }
        a.0 |= b.0 & !Slot::FRESH;
    }
    own.this_uninitialized |= other.this_uninitialized;
    own
}

/// One instruction at work on the state.
struct Step<'s> {
    state: &'s mut State,
    locals: &'s mut Vec<Slot>,
    note: &'s mut Note,
    ends_block: bool,
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

    fn execute(&mut self, index: usize, instruction: &Instruction<'_>, pool: &Pool<'_>) -> Result<()> {
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
            self.produce(width, true);
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

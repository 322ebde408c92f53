//! What the rewriter must know about the operands of a method: which are arrays that nobody else can know yet, which
//! are `this` before its constructor has called another one, and which depend on a read of the same block.
//!
//! One pass in the order of the code. Where a jump leads back, or no state is known, everything is taken to be
//! ordinary: an array is then recorded that need not be, never the other way round. Blocks end at jumps, at their
//! targets, at calls, and where an instruction throws or not depending on a read: what follows happened because reads
//! returned what they returned.

mod step;

use crate::classfile::frames::{Frames, Type};
use crate::classfile::opcode::*;
use crate::classfile::{Code, Instruction, Malformed, Pool, Result};
use std::collections::HashSet;
use step::Step;

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
    /// Jumps from before it.
    jumps: u32,
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
    last_block: u32,
    /// Blocks that go on at the target of a jump which is always taken, by that place.
    goes_on: Vec<(u32, u32)>,
    /// Static fields that never change, as the code names them.
    constants: HashSet<u16>,
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
        constants: HashSet<u16>,
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
                Ok(index) if target > i64::from(instruction.pc) => {
                    arrivals[index].forward = true;
                    arrivals[index].jumps += 1;
                }
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
        Ok(Self {
            frames,
            arrivals,
            brought: Vec::new(),
            state,
            locals,
            block: 0,
            last_block: 0,
            goes_on: Vec::new(),
            constants,
        })
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
        let (locals, constants) = (&mut self.locals, &self.constants);
        let mut step = Step { state, locals, note: &mut note, ends_block: false, constants };
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
        let goes_on = self.goes_on.iter().position(|(target, _)| *target == pc).map(|i| self.goes_on.swap_remove(i).1);
        let only_way = arrival.jumps == 1 && !arrival.backward && !arrival.handler && self.state.is_none();
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
        if let Some(block) = goes_on.filter(|_| only_way) {
            // Whatever is there may have been read in the first part of the block.
            self.block = block;
            state.stack.iter_mut().chain(&mut self.locals).for_each(|slot| slot.0 |= Slot::READ);
        }
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
        self.last_block += 1;
        self.block = self.last_block;
        forget(&mut self.locals, Slot::READ);
        if let Some(state) = &mut self.state {
            forget(&mut state.stack, Slot::READ);
        }
    }

    fn leave(&mut self, instruction: &Instruction<'_>, ends_block: bool) {
        let op = instruction.op;
        let jumps = instruction.target().is_some() || matches!(op, TABLESWITCH | LOOKUPSWITCH);
        if matches!(op, GOTO | GOTO_W) && !ends_block {
            let target = instruction.target().filter(|target| *target > i64::from(instruction.pc));
            self.goes_on.extend(target.map(|target| (target as u32, self.block)));
        }
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

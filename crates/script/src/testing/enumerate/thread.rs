//! One thread of a state: where it is, what its registers hold, what it has read.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::language::{
    BlockId, Function, FunctionId, Operand, Program, Register, Statement, StatementId, Type, arithmetic,
};

use super::Path;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    pub function: FunctionId,
    pub block: BlockId,
    pub at: usize,
    pub registers: Vec<u64>,
    /// Where the caller wants the result.
    pub result: Option<Register>,
}

impl Frame {
    pub fn new(program: &Program, function: FunctionId, arguments: &[u64], result: Option<Register>) -> Self {
        let mut registers = vec![0; program.function(function).registers.len()];
        registers[..arguments.len()].copy_from_slice(arguments);
        Self { function, block: BlockId(0), at: 0, registers, result }
    }

    pub fn code<'p>(&self, program: &'p Program) -> &'p Function {
        program.function(self.function)
    }

    pub fn statement<'p>(&self, program: &'p Program) -> &'p Statement {
        &self.code(program).block(self.block).statements[self.at]
    }

    pub fn operand(&self, operand: Operand, kind: Type) -> u64 {
        match operand {
            Operand::Register(register) => self.registers[register.index()],
            Operand::Literal(literal) => arithmetic::literal(kind, literal),
        }
    }

    pub fn jump(&mut self, block: BlockId) {
        (self.block, self.at) = (block, 0);
    }
}

/// What a thread does next, apart from what its statement says.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    /// It has been started and has done nothing yet.
    Begins,
    /// Its next statement.
    Runs,
    /// It waits at a condition for a notify, or for the lock after one.
    Sleeps {
        woken: bool,
    },
    /// It waits at a barrier.
    Arrived {
        full: bool,
        last: bool,
    },
    /// Its function has returned.
    Returned {
        status: i32,
    },
    Over,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Thread {
    pub path: Path,
    pub frames: Vec<Frame>,
    pub phase: Phase,
    /// Hash of all that it has read, in order. 0: nothing.
    pub history: u64,
    pub children: u32,
    pub allocations: u32,
}

impl Thread {
    pub fn new(program: &Program, path: Path, function: FunctionId, arguments: &[u64]) -> Self {
        let frame = Frame::new(program, function, arguments, None);
        let (history, children, allocations) = (0, 0, 0);
        Self { path, frames: vec![frame], phase: Phase::Begins, history, children, allocations }
    }

    /// The thread has learned something.
    pub fn learns(&mut self, what: Learned, at: StatementId, value: u64) {
        let mut hasher = DefaultHasher::new();
        (self.history, what, at, value).hash(&mut hasher);
        self.history = hasher.finish();
    }

    /// The innermost call.
    pub fn frame(&self) -> &Frame {
        &self.frames[self.frames.len() - 1]
    }

    pub fn frame_mut(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }
}

/// What a thread is told by other threads' doings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Learned {
    Value,
    Refused,
    Taken,
    Woken,
    Last,
    Ended,
    Stuck,
}

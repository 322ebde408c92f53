//! One thread of a program: its calls, its registers, and what its statements do.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reweave_model::{Op, ThreadId};

use super::control::Control;
use super::{Shared, lock};
use crate::language::{
    BlockId, Function, FunctionId, Operand, Part, Register, Statement, StatementKind, Type, arithmetic,
};
use crate::layout::code_address;

/// Calls within each other.
const DEEPEST: usize = 10_000;
const SIGABRT: u32 = 6;

struct Frame {
    function: FunctionId,
    block: BlockId,
    at: usize,
    registers: Vec<u64>,
    /// Where the caller wants the result.
    result: Option<Register>,
}

/// Why a program fails.
type Failure = String;
pub(super) type StepResult<T = ()> = Result<T, Failure>;

/// Whether the thread goes on.
enum Flow {
    GoesOn,
    /// Its function has returned.
    Over(i32),
}

pub struct Executor {
    pub(super) shared: Arc<Shared>,
    pub(super) control: Control,
    frames: Vec<Frame>,
    /// Name of this thread that does not depend on who started first.
    handle: u64,
    children: u64,
}

impl Executor {
    pub fn new(shared: Arc<Shared>, control: Control, function: FunctionId, arguments: &[u64], handle: u64) -> Self {
        let mut executor = Self { shared, control, frames: Vec::new(), handle, children: 0 };
        executor.push(function, arguments, None);
        executor
    }

    fn push(&mut self, function: FunctionId, arguments: &[u64], result: Option<Register>) {
        let mut registers = vec![0; self.shared.program.function(function).registers.len()];
        registers[..arguments.len()].copy_from_slice(arguments);
        self.frames.push(Frame { function, block: BlockId(0), at: 0, registers, result });
    }

    /// Until the function of the thread returns.
    pub fn run(&mut self) -> i32 {
        let shared = self.shared.clone();
        loop {
            let frame = self.frame();
            let function = shared.program.function(frame.function);
            let statement = &function.block(frame.block).statements[frame.at];
            self.frame_mut().at += 1;
            match self.statement(function, statement) {
                Ok(Flow::GoesOn) => {}
                Ok(Flow::Over(status)) => return status,
                Err(why) => self.fail(function, statement, &why),
            }
        }
    }

    /// The end of a thread that is not the main one.
    pub fn end(self) {
        self.control.end(0);
    }

    /// The end of the program.
    pub fn exit(mut self, status: i32) -> ! {
        self.control.exit(0, status);
        let _ = io::stdout().flush();
        std::process::exit(status)
    }

    /// As a failed assertion of a native program: a message, and SIGABRT.
    fn fail(&mut self, function: &Function, statement: &Statement, why: &str) -> ! {
        let program = &self.shared.program;
        let (file, line) = match statement.position.source {
            Some(source) => (&program.files[source.file.index()], source.line),
            None => (&program.file, statement.position.line),
        };
        let _ = io::stdout().flush();
        eprintln!("{file}:{line}: {}: {why}", function.name);
        self.control.fatal(code_address(statement.id), SIGABRT);
        std::process::abort()
    }

    fn frame(&self) -> &Frame {
        &self.frames[self.frames.len() - 1]
    }

    fn frame_mut(&mut self) -> &mut Frame {
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    pub(super) fn get(&self, register: Register) -> u64 {
        self.frame().registers[register.index()]
    }

    pub(super) fn set(&mut self, register: Register, value: u64) {
        self.frame_mut().registers[register.index()] = value;
    }

    pub(super) fn operand(&self, operand: Operand, kind: Type) -> u64 {
        match operand {
            Operand::Register(register) => self.get(register),
            Operand::Literal(literal) => arithmetic::literal(kind, literal),
        }
    }

    /// A whole number, whatever its width.
    pub(super) fn integer(&self, function: &Function, operand: Operand) -> i64 {
        match operand {
            Operand::Register(register) => arithmetic::signed(function.kind_of(register), self.get(register)),
            Operand::Literal(literal) => arithmetic::literal(Type::I64, literal) as i64,
        }
    }

    /// The type that the operands share.
    fn kind_of(function: &Function, operands: &[Operand]) -> Type {
        let registers = operands.iter().find_map(|operand| match operand {
            Operand::Register(register) => Some(function.kind_of(*register)),
            Operand::Literal(_) => None,
        });
        registers.unwrap_or(Type::I64)
    }

    fn statement(&mut self, function: &Function, statement: &Statement) -> StepResult<Flow> {
        let pc = code_address(statement.id);
        match &statement.kind {
            StatementKind::Load { .. }
            | StatementKind::Store { .. }
            | StatementKind::Update { .. }
            | StatementKind::CompareExchange { .. }
            | StatementKind::Alloc { .. }
            | StatementKind::Fence { .. } => self.access(function, pc, &statement.kind)?,
            StatementKind::Enter { .. }
            | StatementKind::TryEnter { .. }
            | StatementKind::Exit { .. }
            | StatementKind::Wait { .. }
            | StatementKind::TimedWait { .. }
            | StatementKind::Notify { .. }
            | StatementKind::Barrier { .. }
            | StatementKind::Post { .. }
            | StatementKind::Take { .. }
            | StatementKind::TryTake { .. } => self.sync(function, pc, &statement.kind)?,
            StatementKind::Start { .. } | StatementKind::Join { .. } | StatementKind::Detach { .. } => {
                self.threads(pc, &statement.kind)?;
            }
            StatementKind::Jump { .. }
            | StatementKind::Branch { .. }
            | StatementKind::Switch { .. }
            | StatementKind::Call { .. }
            | StatementKind::Return { .. } => return self.flow(function, pc, &statement.kind),
            StatementKind::Assert { condition, message } => {
                if self.operand(*condition, Type::Bool) == 0 {
                    return Err(format!("assertion failed: {message}"));
                }
            }
            StatementKind::Unreachable => return Err("this is not to be reached".into()),
            StatementKind::Opaque { reason, .. } => return Err(format!("code that cannot be run: {reason}")),
            StatementKind::Output { parts } => self.output(function, parts),
            StatementKind::Input { to } => {
                let value = self.input(pc)?;
                self.set(*to, value as u64);
            }
            kind => self.compute(function, kind)?,
        }
        Ok(Flow::GoesOn)
    }

    /// What touches registers only.
    fn compute(&mut self, function: &Function, kind: &StatementKind) -> StepResult {
        match *kind {
            StatementKind::Const { to, value } => self.set(to, arithmetic::literal(function.kind_of(to), value)),
            StatementKind::Move { to, from } => self.set(to, self.operand(from, function.kind_of(to))),
            StatementKind::Unary { to, op, value } => {
                let kind = function.kind_of(to);
                self.set(to, arithmetic::unary(op, kind, self.operand(value, kind)));
            }
            StatementKind::Binary { to, op, left, right } => {
                let kind = function.kind_of(to);
                let value = arithmetic::binary(op, kind, self.operand(left, kind), self.operand(right, kind));
                self.set(to, value.map_err(|_| "division by zero".to_owned())?);
            }
            StatementKind::Compare { to, test, left, right } => {
                let kind = Self::kind_of(function, &[left, right]);
                let holds = arithmetic::compare(test, kind, self.operand(left, kind), self.operand(right, kind));
                self.set(to, holds.into());
            }
            StatementKind::Convert { to, from, unsigned } => {
                let (source, target) = (function.kind_of(from), function.kind_of(to));
                self.set(to, arithmetic::convert(source, target, unsigned, self.get(from)));
            }
            _ => {}
        }
        Ok(())
    }

    fn arguments(&self, function: FunctionId, arguments: &[Operand]) -> Vec<u64> {
        let parameters = &self.shared.program.function(function).registers;
        arguments.iter().zip(parameters).map(|(argument, known)| self.operand(*argument, known.kind)).collect()
    }

    fn threads(&mut self, pc: u64, kind: &StatementKind) -> StepResult {
        match kind {
            StatementKind::Start { to, function, arguments } => {
                let arguments = self.arguments(*function, arguments);
                self.children += 1;
                let handle = child_handle(self.handle, self.children);
                let (shared, function) = (self.shared.clone(), *function);
                let started = self.control.fork(pc, |new| {
                    lock(&shared.threads).insert(handle, new.id());
                    let shared = shared.clone();
                    let body = move || {
                        let first = shared.program.function(function).blocks[0].statements[0].id;
                        let control = Control::take_over(new, code_address(first));
                        let mut executor = Self::new(shared, control, function, &arguments, handle);
                        executor.run();
                        executor.end();
                    };
                    std::thread::Builder::new().spawn(body).map(drop)
                });
                started.map_err(|error| format!("no thread could be started: {error}"))?;
                self.set(*to, handle);
            }
            StatementKind::Join { thread } => {
                let child = self.thread(*thread)?;
                self.control.join(pc, child);
            }
            StatementKind::Detach { thread } => {
                let child = self.thread(*thread)?;
                self.control.sync_step(pc, Op::Detach { child: ThreadId(child) });
            }
            _ => {}
        }
        Ok(())
    }

    fn thread(&self, register: Register) -> StepResult<u32> {
        let known = lock(&self.shared.threads).get(&self.get(register)).copied();
        known.ok_or_else(|| "there is no such thread".to_owned())
    }

    fn flow(&mut self, function: &Function, pc: u64, kind: &StatementKind) -> StepResult<Flow> {
        match *kind {
            StatementKind::Jump { to } => self.jump(to),
            StatementKind::Branch { condition, then, otherwise } => {
                let taken = self.operand(condition, Type::Bool) != 0;
                self.jump(if taken { then } else { otherwise });
            }
            StatementKind::Switch { value, ref cases, otherwise } => {
                let value = arithmetic::signed(function.kind_of(value), self.get(value));
                let to = cases.iter().find(|(case, _)| *case == value).map_or(otherwise, |(_, to)| *to);
                self.jump(to);
            }
            StatementKind::Call { to, function, ref arguments } => {
                if self.frames.len() == DEEPEST {
                    return Err(format!("more than {DEEPEST} calls within each other"));
                }
                let arguments = self.arguments(function, arguments);
                self.control.call(pc);
                self.push(function, &arguments, to);
            }
            StatementKind::Return { value } => {
                let value = value.zip(function.result).map(|(value, kind)| self.operand(value, kind));
                let to = self.frame().result;
                if self.frames.len() == 1 {
                    return Ok(Flow::Over(value.unwrap_or(0) as i32));
                }
                self.frames.pop();
                self.control.returns();
                if let Some((to, value)) = to.zip(value) {
                    self.set(to, value);
                }
            }
            _ => {}
        }
        Ok(Flow::GoesOn)
    }

    fn jump(&mut self, to: BlockId) {
        let frame = self.frame_mut();
        (frame.block, frame.at) = (to, 0);
    }

    fn output(&self, function: &Function, parts: &[Part]) {
        let mut line = String::new();
        for part in parts {
            match *part {
                Part::Text(ref text) => line.push_str(text),
                Part::Value(operand) => {
                    let kind = Self::kind_of(function, &[operand]);
                    line.push_str(&arithmetic::shown(kind, self.operand(operand, kind)));
                }
            }
        }
        line.push('\n');
        let _ = io::stdout().write_all(line.as_bytes());
    }

    fn input(&mut self, pc: u64) -> StepResult<i64> {
        static ENDED: AtomicBool = AtomicBool::new(false);
        self.control.input(pc, || {
            let mut line = String::new();
            if !ENDED.load(Ordering::Relaxed) {
                let read = io::stdin().lock().read_line(&mut line);
                ENDED.store(read.is_ok_and(|bytes| bytes == 0), Ordering::Relaxed);
            }
            line.trim().parse().map_err(|_| format!("expected a number as input, found {:?}", line.trim()))
        })
    }
}

/// FNV-1a over parent and number: what a thread is known by is the same in every run.
fn child_handle(parent: u64, nth: u64) -> u64 {
    let bytes = parent.to_le_bytes().into_iter().chain(nth.to_le_bytes());
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    hash | 1
}

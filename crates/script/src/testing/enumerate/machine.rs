//! The meaning of programs, one step at a time. A step is what other threads can come between: an access to memory, an
//! operation on a synchronization object, the begin and the end of a thread. What touches registers only goes with the
//! step before it.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::memory::{Cell, HEAP, Memory, Shape};
use super::thread::{Frame, Learned, Phase, Thread};
use super::{Path, Waiting};
use crate::language::{
    Allocation, Base, Mode, Operand, Place, Program, Register, Slot, StatementId, StatementKind, Type, arithmetic,
};

/// How a run ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct End {
    /// The line of the failure.
    pub failed_at: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    // invariant: in the order in which they were started; threads that are over stay
    pub(super) threads: Vec<Thread>,
    pub(super) memory: Memory,
    pub output: Vec<String>,
    pub end: Option<End>,
}

/// A failure of the program, at the statement it is about to do.
pub(super) struct Failure;

pub(super) type StepResult<T = ()> = Result<T, Failure>;

/// An access that is next.
struct NextAccess {
    cell: Cell,
    line: u32,
    writes: bool,
    atomic: bool,
}

impl State {
    /// The main thread is about to begin.
    pub fn new(program: &Program) -> Self {
        let main = program.main().expect("a checked program has a main function");
        let threads = vec![Thread::new(program, Path::new(), main, &[])];
        Self { threads, memory: Memory::new(program), output: Vec::new(), end: None }
    }

    /// Threads that can do their next step.
    pub fn enabled(&self, program: &Program) -> Vec<usize> {
        (0..self.threads.len()).filter(|&who| self.can_step(program, who)).collect()
    }

    fn can_step(&self, program: &Program, who: usize) -> bool {
        let thread = &self.threads[who];
        match thread.phase {
            Phase::Over => return false,
            Phase::Begins | Phase::Returned { .. } => return true,
            Phase::Arrived { full, .. } => return full,
            Phase::Runs | Phase::Sleeps { .. } => {}
        }
        let frame = thread.frame();
        let free = |lock: &Place, shared: bool| {
            // A place that is not there fails, and that is a step, too.
            self.object(program, frame, lock).is_none_or(|cell| {
                let lock_state = self.memory.lock(cell);
                let again = matches!(lock, Place::Object(_)) && lock_state.owner == Some(who);
                again || lock_state.is_free(shared)
            })
        };
        match &frame.statement(program).kind {
            StatementKind::Enter { lock, shared } => free(lock, *shared),
            StatementKind::Wait { lock, .. } => match thread.phase {
                Phase::Sleeps { woken } => woken && free(lock, false),
                _ => true,
            },
            StatementKind::TimedWait { lock, .. } => match thread.phase {
                Phase::Sleeps { .. } => free(lock, false),
                _ => true,
            },
            StatementKind::Take { semaphore } => {
                let cell = self.object(program, frame, semaphore);
                cell.is_none_or(|cell| self.memory.count(program, cell) > 0)
            }
            StatementKind::Join { thread } => self.joined(frame, *thread).is_none_or(|over| over),
            _ => true,
        }
    }

    /// Whether the thread behind a handle is over; `None`: there is no such thread.
    fn joined(&self, frame: &Frame, handle: Register) -> Option<bool> {
        let at = (frame.registers[handle.index()] as usize).checked_sub(1)?;
        let path = self.handle_path(at)?;
        self.threads.iter().find(|thread| thread.path == path).map(|thread| thread.phase == Phase::Over)
    }

    /// Handles name paths in a way that does not depend on who started first: digits in base 32, from 1.
    fn handle(path: &[u32]) -> u64 {
        path.iter().fold(0, |handle, child| handle * 32 + u64::from(*child) + 1) + 1
    }

    fn handle_path(&self, mut rest: usize) -> Option<Path> {
        let mut path = Path::new();
        while rest > 0 {
            path.push((rest % 32).checked_sub(1)? as u32);
            rest /= 32;
        }
        path.reverse();
        Some(path)
    }

    /// Pairs of lines with accesses that are both next and race. Some execution has both: a pair of which each access
    /// would end the program at once, because an assertion fails right after it, is none.
    pub fn races(&self, program: &Program, enabled: &[usize]) -> BTreeSet<(u32, u32)> {
        let accesses = enabled.iter().filter_map(|&who| Some((who, self.access(program, who)?)));
        let next: Vec<(usize, NextAccess)> = accesses.collect();
        let goes_on = |who: usize| {
            let mut after = self.clone();
            after.step(program, who);
            after.end.is_none()
        };
        let mut races = BTreeSet::new();
        for (at, (who, one)) in next.iter().enumerate() {
            for (other_who, other) in &next[at + 1..] {
                let conflict = one.cell == other.cell && (one.writes || other.writes);
                if conflict && !(one.atomic && other.atomic) && (goes_on(*who) || goes_on(*other_who)) {
                    races.insert((one.line.min(other.line), one.line.max(other.line)));
                }
            }
        }
        races
    }

    /// The access that a thread does next.
    fn access(&self, program: &Program, who: usize) -> Option<NextAccess> {
        let thread = &self.threads[who];
        if thread.phase != Phase::Runs {
            return None;
        }
        let frame = thread.frame();
        let statement = frame.statement(program);
        let is_atomic = |mode: Mode| matches!(mode, Mode::Atomic(_));
        let (place, writes, atomic) = match &statement.kind {
            StatementKind::Load { from, mode, .. } => (from, false, is_atomic(*mode)),
            StatementKind::Store { to, mode, .. } => (to, true, is_atomic(*mode)),
            StatementKind::Update { at, .. } => (at, true, true),
            StatementKind::CompareExchange { to, at, expected, .. } => {
                // One that fails only reads.
                let kind = frame.code(program).kind_of(*to);
                let there = self.object(program, frame, at).map(|cell| self.memory.read(cell));
                (at, there == Some(frame.operand(*expected, kind)), true)
            }
            _ => return None,
        };
        let cell = self.object(program, frame, place)?;
        Some(NextAccess { cell, line: statement.position.line, writes, atomic })
    }

    /// Who waits for what, if nobody can go on.
    pub fn waiting(&self, program: &Program) -> BTreeSet<Waiting> {
        let waits = self.threads.iter().filter(|thread| thread.phase != Phase::Over);
        waits
            .map(|thread| {
                let statement = thread.frame().statement(program);
                let what = match (&statement.kind, thread.phase) {
                    (_, Phase::Sleeps { woken: false }) => "a notify",
                    (StatementKind::Join { .. }, _) => "the end of a thread",
                    (StatementKind::Barrier { .. }, _) => "a barrier",
                    (StatementKind::Take { .. }, _) => "a semaphore",
                    _ => "a lock",
                };
                Waiting { thread: thread.path.clone(), line: statement.position.line, what }
            })
            .collect()
    }

    /// What all threads have read, and where they wait if this is where nobody can go on.
    pub fn class(&self, program: &Program) -> u64 {
        let mut threads: Vec<Thread> = self.threads.clone();
        if self.end.is_none() {
            for thread in threads.iter_mut().filter(|thread| thread.phase != Phase::Over) {
                let at = thread.frame().statement(program).id;
                thread.learns(Learned::Stuck, at, 0);
            }
        }
        let mut read: Vec<(Path, u64)> = threads
            .into_iter()
            .filter(|thread| thread.history != 0)
            .map(|thread| (thread.path, thread.history))
            .collect();
        read.sort();
        let mut hasher = DefaultHasher::new();
        read.hash(&mut hasher);
        hasher.finish()
    }

    /// A thread that can does its next step, and what follows from it alone.
    pub fn step(&mut self, program: &Program, who: usize) {
        let failed = self.one_step(program, who).and_then(|()| self.run_private_steps(program, who));
        if failed.is_err() {
            let statement = self.threads[who].frame().statement(program);
            let (id, line) = (statement.id, statement.position.line);
            self.threads[who].learns(Learned::Ended, id, 1);
            self.end = Some(End { failed_at: Some(line) });
        }
    }

    fn object(&self, program: &Program, frame: &Frame, place: &Place) -> Option<Cell> {
        let base = |base: Base| match base {
            Base::Register(register) => frame.registers[register.index()],
            Base::Global(global) => u64::from(global.0),
        };
        let of_heap = |from: Base, base: u64| matches!(from, Base::Global(_)) || base >= HEAP;
        match *place {
            Place::Global(global) => Some(Cell { base: u64::from(global.0), index: 0 }),
            Place::Object(register) => {
                let base = frame.registers[register.index()];
                (base >= HEAP).then_some(Cell { base, index: Cell::WHOLE })
            }
            Place::Field { base: from, kind, field } => {
                let base = base(from);
                let of_its_type = self.memory.heap.get(&base).is_none_or(|shape| *shape == Shape::Object(kind));
                (of_heap(from, base) && of_its_type).then_some(Cell { base, index: field })
            }
            Place::Element { base: from, index } => {
                let base = base(from);
                let index = match index {
                    Operand::Register(register) => {
                        let kind = frame.code(program).kind_of(register);
                        arithmetic::signed(kind, frame.registers[register.index()])
                    }
                    Operand::Literal(_) => frame.operand(index, Type::I64) as i64,
                };
                let cell = Cell { base, index: u32::try_from(index).ok()? };
                (of_heap(from, base) && self.memory.slot(program, cell).is_some()).then_some(cell)
            }
        }
    }

    pub(super) fn cell(&self, program: &Program, who: usize, place: &Place) -> StepResult<Cell> {
        self.object(program, self.threads[who].frame(), place).ok_or(Failure)
    }

    /// A cell that holds values of this type.
    fn value_cell(&self, program: &Program, who: usize, place: &Place, kind: Type) -> StepResult<Cell> {
        let cell = self.cell(program, who, place)?;
        match self.memory.slot(program, cell) {
            Some(Slot::Value(known)) if known == kind => Ok(cell),
            _ => Err(Failure),
        }
    }

    pub(super) fn set(&mut self, who: usize, register: Register, value: u64) {
        self.threads[who].frame_mut().registers[register.index()] = value;
    }

    pub(super) fn operand(&self, who: usize, operand: Operand, kind: Type) -> u64 {
        self.threads[who].frame().operand(operand, kind)
    }

    pub(super) fn kind(&self, program: &Program, who: usize, register: Register) -> Type {
        self.threads[who].frame().code(program).kind_of(register)
    }

    /// What the operand of a place, a comparison or an output is of.
    pub(super) fn kind_of(&self, program: &Program, who: usize, operands: &[Operand]) -> Type {
        let registers = operands.iter().find_map(|operand| match operand {
            Operand::Register(register) => Some(self.kind(program, who, *register)),
            Operand::Literal(_) => None,
        });
        registers.unwrap_or(Type::I64)
    }

    pub(super) fn advance(&mut self, who: usize) {
        self.threads[who].frame_mut().at += 1;
    }

    fn one_step(&mut self, program: &Program, who: usize) -> StepResult {
        match self.threads[who].phase {
            Phase::Begins => {
                self.threads[who].phase = Phase::Runs;
                return Ok(());
            }
            Phase::Returned { status } => {
                self.threads[who].phase = Phase::Over;
                if who == 0 {
                    self.threads[who].learns(Learned::Ended, StatementId(0), status as u64);
                    self.end = Some(End { failed_at: None });
                }
                return Ok(());
            }
            Phase::Arrived { last, .. } => {
                let statement = self.threads[who].frame().statement(program);
                self.threads[who].learns(Learned::Last, statement.id, last.into());
                if let StatementKind::Barrier { to: Some(to), .. } = statement.kind {
                    self.set(who, to, last.into());
                }
                self.threads[who].phase = Phase::Runs;
                self.advance(who);
                return Ok(());
            }
            Phase::Runs | Phase::Sleeps { .. } | Phase::Over => {}
        }
        let statement = self.threads[who].frame().statement(program);
        match &statement.kind {
            StatementKind::Load { .. }
            | StatementKind::Store { .. }
            | StatementKind::Update { .. }
            | StatementKind::CompareExchange { .. } => self.access_step(program, who, statement.id, &statement.kind)?,
            StatementKind::Alloc { to, what } => {
                let length = match what {
                    Allocation::Array { length, .. } => {
                        let kind = self.kind_of(program, who, &[*length]);
                        arithmetic::signed(kind, self.operand(who, *length, kind)) as u64
                    }
                    Allocation::Object(_) => 0,
                };
                let shape = Memory::shape_of(*what, length).ok_or(Failure)?;
                let thread = &mut self.threads[who];
                thread.allocations += 1;
                let base = Self::handle(&thread.path) * HEAP + u64::from(thread.allocations);
                self.memory.heap.insert(base, shape);
                self.set(who, *to, base);
            }
            StatementKind::Fence { .. } | StatementKind::Detach { .. } => {}
            StatementKind::Start { to, function, arguments } => {
                let kinds: Vec<Type> = program.function(*function).registers.iter().map(|known| known.kind).collect();
                let arguments: Vec<u64> =
                    arguments.iter().zip(kinds).map(|(argument, kind)| self.operand(who, *argument, kind)).collect();
                let mut path = self.threads[who].path.clone();
                path.push(self.threads[who].children);
                self.threads[who].children += 1;
                self.set(who, *to, Self::handle(&path));
                self.threads.push(Thread::new(program, path, *function, &arguments));
            }
            StatementKind::Join { thread } => {
                self.joined(self.threads[who].frame(), *thread).ok_or(Failure)?;
            }
            _ => return self.sync_step(program, who, statement.id, &statement.kind),
        }
        self.advance(who);
        Ok(())
    }

    fn access_step(&mut self, program: &Program, who: usize, id: StatementId, kind: &StatementKind) -> StepResult {
        match *kind {
            StatementKind::Load { to, ref from, .. } => {
                let cell = self.value_cell(program, who, from, self.kind(program, who, to))?;
                let value = self.memory.read(cell);
                self.threads[who].learns(Learned::Value, id, value);
                self.set(who, to, value);
            }
            StatementKind::Store { ref to, value, .. } => {
                let cell = self.cell(program, who, to)?;
                let Some(Slot::Value(kind)) = self.memory.slot(program, cell) else { return Err(Failure) };
                if let Operand::Register(register) = value
                    && self.kind(program, who, register) != kind
                {
                    return Err(Failure);
                }
                let value = self.operand(who, value, kind);
                self.memory.write(cell, value);
            }
            StatementKind::Update { to, op, ref at, value, .. } => {
                let kind = self.kind(program, who, to);
                let cell = self.value_cell(program, who, at, kind)?;
                let (there, operand) = (self.memory.read(cell), self.operand(who, value, kind));
                self.memory.write(cell, arithmetic::updated(op, kind, there, operand));
                self.threads[who].learns(Learned::Value, id, there);
                self.set(who, to, there);
            }
            StatementKind::CompareExchange { to, ref at, expected, new, .. } => {
                let kind = self.kind(program, who, to);
                let cell = self.value_cell(program, who, at, kind)?;
                let there = self.memory.read(cell);
                if there == self.operand(who, expected, kind) {
                    let new = self.operand(who, new, kind);
                    self.memory.write(cell, new);
                }
                self.threads[who].learns(Learned::Value, id, there);
                self.set(who, to, there);
            }
            _ => {}
        }
        Ok(())
    }
}

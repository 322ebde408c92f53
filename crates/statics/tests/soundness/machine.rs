//! All executions of a small program for one input, with the source of every read. It shares no code with the
//! analysis, nor with the interpreter that runs programs; only the names of frames are the analysis's, so that both
//! sides speak of the same points.

mod steps;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use reweave_script::language::{
    Allocation, Base, BlockId, FunctionId, Literal, Operand, Part, Place, Program, Register, Slot, StatementId,
    StatementKind, Type, TypeId, arithmetic,
};
use reweave_statics::frames::{FrameId, Point, Skeleton};

/// A thread by descent: each start on the way, and its how manieth execution by the thread before.
pub type Name = Vec<(Point, u32)>;

/// An access: by which thread, where, and its how manieth execution there.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Instance {
    pub thread: Name,
    pub point: Point,
    pub nth: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Cell {
    pub base: u64,
    pub index: u32,
}

const WHOLE: u32 = u32::MAX;
const HEAP: u64 = 1 << 32;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Shape {
    Object(TypeId),
    Array(Type, u32),
}

/// An object on the heap, with where it was made.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Made {
    pub shape: Shape,
    pub by: Instance,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Call {
    pub frame: FrameId,
    function: FunctionId,
    block: BlockId,
    at: usize,
    pub registers: Vec<u64>,
    result: Option<Register>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Phase {
    Runs,
    Sleeps { woken: bool },
    Arrived { full: bool, last: bool },
    Over,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Thread {
    pub name: Name,
    pub calls: Vec<Call>,
    pub phase: Phase,
    pub visits: BTreeMap<Point, u32>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Lock {
    owner: Option<usize>,
    depth: u32,
    readers: Vec<usize>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State {
    pub threads: Vec<Thread>,
    pub memory: BTreeMap<Cell, (u64, Option<Instance>)>,
    pub heap: BTreeMap<u64, Made>,
    locks: BTreeMap<Cell, Lock>,
    queues: BTreeMap<Cell, Vec<usize>>,
    counts: BTreeMap<Cell, u32>,
    pub output: Vec<(Instance, String)>,
    /// Main returned with this, or something failed.
    pub ended: Option<Result<u64, StatementId>>,
}

/// What a step did that somebody may want to know.
pub enum Event {
    Read { by: Instance, cell: Cell, value: u64, source: Option<Instance> },
    Wrote { by: Instance, cell: Cell },
}

pub struct Failed;
type Done<T = ()> = Result<T, Failed>;

pub struct Machine<'a, 'p> {
    pub skeleton: &'a Skeleton<'p>,
    pub program: &'p Program,
    /// What inputs give.
    pub input: i64,
}

impl Machine<'_, '_> {
    pub fn first(&self) -> State {
        let main = self.program.main().unwrap();
        let mut memory = BTreeMap::new();
        for (at, global) in self.program.globals.iter().enumerate() {
            if let Slot::Value(kind) = global.slot {
                for (index, literal) in global.initial.iter().enumerate() {
                    let cell = Cell { base: at as u64, index: index as u32 };
                    memory.insert(cell, (arithmetic::literal(kind, *literal), None));
                }
            }
        }
        let call = self.call(self.skeleton.threads[0].entry, main, &[], None);
        let thread = Thread { name: Vec::new(), calls: vec![call], phase: Phase::Runs, visits: BTreeMap::new() };
        State {
            threads: vec![thread],
            memory,
            heap: BTreeMap::new(),
            locks: BTreeMap::new(),
            queues: BTreeMap::new(),
            counts: BTreeMap::new(),
            output: Vec::new(),
            ended: None,
        }
    }

    fn call(&self, frame: FrameId, function: FunctionId, arguments: &[u64], result: Option<Register>) -> Call {
        let mut registers = vec![0; self.program.function(function).registers.len()];
        registers[..arguments.len()].copy_from_slice(arguments);
        Call { frame, function, block: BlockId(0), at: 0, registers, result }
    }

    /// The statement a thread is at.
    pub fn next(&self, thread: &Thread) -> (Point, &StatementKind) {
        let call = thread.calls.last().unwrap();
        let statement = &self.program.function(call.function).block(call.block).statements[call.at];
        (Point { frame: call.frame, statement: statement.id }, &statement.kind)
    }

    fn kind(&self, thread: &Thread, register: Register) -> Type {
        self.program.function(thread.calls.last().unwrap().function).kind_of(register)
    }

    fn operand(&self, thread: &Thread, operand: Operand, kind: Type) -> u64 {
        match operand {
            Operand::Register(register) => thread.calls.last().unwrap().registers[register.index()],
            Operand::Literal(literal) => arithmetic::literal(kind, literal),
        }
    }

    fn typed(&self, thread: &Thread, operands: &[Operand]) -> Type {
        let register = operands.iter().find_map(|operand| match operand {
            Operand::Register(register) => Some(self.kind(thread, *register)),
            Operand::Literal(_) => None,
        });
        register.unwrap_or(Type::I64)
    }

    fn slot(&self, state: &State, cell: Cell) -> Option<Slot> {
        let field = |kind: TypeId| Some(self.program.types[kind.index()].fields.get(cell.index as usize)?.1);
        match state.heap.get(&cell.base).map(|made| &made.shape) {
            Some(Shape::Object(kind)) => field(*kind),
            Some(Shape::Array(element, length)) => (cell.index < *length).then_some(Slot::Value(*element)),
            None => {
                let global = self.program.globals.get(cell.base as usize)?;
                match global.slot {
                    Slot::Object(kind) => field(kind),
                    slot => (cell.index < global.length.unwrap_or(1)).then_some(slot),
                }
            }
        }
    }

    pub fn cell(&self, state: &State, who: usize, place: &Place) -> Option<Cell> {
        let thread = &state.threads[who];
        let registers = &thread.calls.last().unwrap().registers;
        let base = |base: Base| match base {
            Base::Register(register) => Some(registers[register.index()]).filter(|base| *base >= HEAP),
            Base::Global(global) => Some(u64::from(global.0)),
        };
        match *place {
            Place::Global(global) => Some(Cell { base: u64::from(global.0), index: 0 }),
            Place::Object(register) => base(Base::Register(register)).map(|base| Cell { base, index: WHOLE }),
            Place::Field { base: from, kind, field } => {
                let base = base(from)?;
                let fits = state.heap.get(&base).is_none_or(|made| made.shape == Shape::Object(kind));
                fits.then_some(Cell { base, index: field })
            }
            Place::Element { base: from, index } => {
                let base = base(from)?;
                let index = match index {
                    Operand::Register(register) => {
                        arithmetic::signed(self.kind(thread, register), registers[register.index()])
                    }
                    Operand::Literal(Literal::Integer(index)) => index,
                    Operand::Literal(_) => return None,
                };
                let cell = Cell { base, index: u32::try_from(index).ok()? };
                self.slot(state, cell).map(|_| cell)
            }
        }
    }

    fn free(&self, state: &State, who: usize, place: &Place, shared: bool) -> bool {
        self.cell(state, who, place).is_none_or(|cell| {
            let lock = state.locks.get(&cell).cloned().unwrap_or_default();
            let again = matches!(place, Place::Object(_)) && lock.owner == Some(who);
            again || (lock.owner.is_none() && (shared || lock.readers.is_empty()))
        })
    }

    fn count(&self, state: &State, cell: Cell) -> u32 {
        state.counts.get(&cell).copied().unwrap_or_else(|| match self.slot(state, cell) {
            Some(Slot::Semaphore(count)) => count,
            _ => 0,
        })
    }

    pub fn can_step(&self, state: &State, who: usize) -> bool {
        let thread = &state.threads[who];
        match thread.phase {
            Phase::Over => return false,
            Phase::Arrived { full, .. } => return full,
            _ => {}
        }
        match self.next(thread).1 {
            StatementKind::Enter { lock, shared } => self.free(state, who, lock, *shared),
            StatementKind::Wait { lock, .. } => match thread.phase {
                Phase::Sleeps { woken } => woken && self.free(state, who, lock, false),
                _ => true,
            },
            StatementKind::TimedWait { lock, .. } => match thread.phase {
                Phase::Sleeps { .. } => self.free(state, who, lock, false),
                _ => true,
            },
            StatementKind::Take { semaphore } => {
                self.cell(state, who, semaphore).is_none_or(|cell| self.count(state, cell) > 0)
            }
            StatementKind::Join { thread: handle } => {
                let at = thread.calls.last().unwrap().registers[handle.index()];
                at == 0 || Self::by_handle(state, at).phase == Phase::Over
            }
            _ => true,
        }
    }

    /// Whether others can come before this in a way that matters.
    fn is_step(kind: &StatementKind) -> bool {
        !matches!(
            kind,
            StatementKind::Const { .. }
                | StatementKind::Move { .. }
                | StatementKind::Unary { .. }
                | StatementKind::Binary { .. }
                | StatementKind::Compare { .. }
                | StatementKind::Convert { .. }
                | StatementKind::Assert { .. }
                | StatementKind::Jump { .. }
                | StatementKind::Branch { .. }
                | StatementKind::Switch { .. }
                | StatementKind::Call { .. }
                | StatementKind::Input { .. }
                | StatementKind::Unreachable
        ) && !matches!(kind, StatementKind::Return { .. })
    }

    /// One step of a thread and what only touches its registers after it. `see` is shown each statement before it is
    /// done.
    pub fn step(&self, state: &mut State, who: usize, see: &mut dyn FnMut(&State, usize, Option<Event>)) {
        let mut first = true;
        while state.ended.is_none() {
            let thread = &state.threads[who];
            if thread.phase == Phase::Over {
                return;
            }
            let (point, kind) = self.next(thread);
            let ends_thread = matches!(kind, StatementKind::Return { .. }) && thread.calls.len() == 1;
            let pauses = Self::is_step(kind) || ends_thread || thread.phase != Phase::Runs;
            if pauses && !first {
                return;
            }
            first = false;
            if thread.phase == Phase::Runs {
                see(state, who, None);
            }
            if self.perform(state, who, point, kind, see).is_err() {
                state.ended = Some(Err(point.statement));
            }
            if pauses && state.threads[who].phase != Phase::Runs {
                return;
            }
        }
    }

    fn by_handle(state: &State, handle: u64) -> &Thread {
        state.threads.iter().find(|thread| handle_of(&thread.name) == handle).expect("handles are of threads")
    }

    fn instance(&self, state: &mut State, who: usize, point: Point) -> Instance {
        let thread = &mut state.threads[who];
        let nth = thread.visits.entry(point).or_insert(0);
        *nth += 1;
        Instance { thread: thread.name.clone(), point, nth: *nth }
    }

    fn set(&self, state: &mut State, who: usize, register: Register, value: u64) {
        state.threads[who].calls.last_mut().unwrap().registers[register.index()] = value;
    }

    fn advance(state: &mut State, who: usize) {
        state.threads[who].calls.last_mut().unwrap().at += 1;
    }

    fn perform(
        &self,
        state: &mut State,
        who: usize,
        point: Point,
        kind: &StatementKind,
        see: &mut dyn FnMut(&State, usize, Option<Event>),
    ) -> Done {
        let thread = state.threads[who].clone();
        let value = |operand: Operand, kind: Type| self.operand(&thread, operand, kind);
        match kind {
            StatementKind::Load { .. }
            | StatementKind::Store { .. }
            | StatementKind::Update { .. }
            | StatementKind::CompareExchange { .. } => self.access(state, who, point, kind, see)?,
            StatementKind::Const { to, value } => {
                let bits = arithmetic::literal(self.kind(&thread, *to), *value);
                self.set(state, who, *to, bits);
            }
            StatementKind::Move { to, from } => self.set(state, who, *to, value(*from, self.kind(&thread, *to))),
            StatementKind::Unary { to, op, value: operand } => {
                let kind = self.kind(&thread, *to);
                self.set(state, who, *to, arithmetic::unary(*op, kind, value(*operand, kind)));
            }
            StatementKind::Binary { to, op, left, right } => {
                let kind = self.kind(&thread, *to);
                let bits =
                    arithmetic::binary(*op, kind, value(*left, kind), value(*right, kind)).map_err(|_| Failed)?;
                self.set(state, who, *to, bits);
            }
            StatementKind::Compare { to, test, left, right } => {
                let kind = self.typed(&thread, &[*left, *right]);
                let holds = arithmetic::compare(*test, kind, value(*left, kind), value(*right, kind));
                self.set(state, who, *to, holds.into());
            }
            StatementKind::Convert { to, from, unsigned } => {
                let (source, target) = (self.kind(&thread, *from), self.kind(&thread, *to));
                let bits = value(Operand::Register(*from), source);
                self.set(state, who, *to, arithmetic::convert(source, target, *unsigned, bits));
            }
            StatementKind::Input { to } => {
                let by = self.instance(state, who, point);
                // Another number each time, the same in all executions.
                self.set(state, who, *to, (self.input + i64::from(by.nth) - 1) as u64);
            }
            StatementKind::Assert { condition, .. } => {
                if value(*condition, Type::Bool) == 0 {
                    return Err(Failed);
                }
            }
            StatementKind::Output { parts } => {
                let text = parts.iter().map(|part| match part {
                    Part::Text(text) => text.clone(),
                    Part::Value(operand) => {
                        let kind = self.typed(&thread, &[*operand]);
                        arithmetic::shown(kind, value(*operand, kind))
                    }
                });
                let text = text.collect();
                let by = self.instance(state, who, point);
                state.output.push((by, text));
            }
            StatementKind::Alloc { to, what } => {
                let shape = match what {
                    Allocation::Object(kind) => Shape::Object(*kind),
                    Allocation::Array { element, length } => {
                        let kind = self.typed(&thread, &[*length]);
                        let length = arithmetic::signed(kind, value(*length, kind));
                        Shape::Array(*element, u32::try_from(length).map_err(|_| Failed)?)
                    }
                };
                let by = self.instance(state, who, point);
                // Named by who made it, not by when: equal states have equal names.
                let base = HEAP + name_hash(&by);
                state.heap.insert(base, Made { shape, by });
                self.set(state, who, *to, base);
            }
            StatementKind::Fence { .. } | StatementKind::Detach { .. } => {}
            StatementKind::Start { to, function, arguments } => {
                let kinds = self.program.function(*function).registers.iter().map(|info| info.kind);
                let arguments: Vec<u64> = arguments.iter().zip(kinds).map(|(one, kind)| value(*one, kind)).collect();
                let by = self.instance(state, who, point);
                let child = self.skeleton.started[&point];
                let call = self.call(self.skeleton.threads[child.index()].entry, *function, &arguments, None);
                let mut name = thread.name.clone();
                name.push((point, by.nth));
                state.threads.push(Thread { name, calls: vec![call], phase: Phase::Runs, visits: BTreeMap::new() });
                let handle = handle_of(&state.threads[state.threads.len() - 1].name);
                self.set(state, who, *to, handle);
            }
            StatementKind::Join { thread: handle } => {
                if value(Operand::Register(*handle), Type::Thread) == 0 {
                    return Err(Failed);
                }
            }
            StatementKind::Unreachable | StatementKind::Opaque { .. } => return Err(Failed),
            StatementKind::Jump { .. }
            | StatementKind::Branch { .. }
            | StatementKind::Switch { .. }
            | StatementKind::Call { .. }
            | StatementKind::Return { .. } => return self.control(state, who, point, kind),
            _ => return self.synchronise(state, who, kind),
        }
        Self::advance(state, who);
        Ok(())
    }

    fn access(
        &self,
        state: &mut State,
        who: usize,
        point: Point,
        kind: &StatementKind,
        see: &mut dyn FnMut(&State, usize, Option<Event>),
    ) -> Done {
        let thread = state.threads[who].clone();
        let value = |operand: Operand, kind: Type| self.operand(&thread, operand, kind);
        let (place, wanted) = match kind {
            StatementKind::Load { to, from, .. } => (from, Some(self.kind(&thread, *to))),
            StatementKind::Store { to, value: Operand::Register(register), .. } => {
                (to, Some(self.kind(&thread, *register)))
            }
            StatementKind::Store { to, .. } => (to, None),
            StatementKind::Update { to, at, .. } | StatementKind::CompareExchange { to, at, .. } => {
                (at, Some(self.kind(&thread, *to)))
            }
            _ => unreachable!(),
        };
        let cell = self.cell(state, who, place).ok_or(Failed)?;
        let Some(Slot::Value(kind_there)) = self.slot(state, cell) else { return Err(Failed) };
        if wanted.is_some_and(|wanted| wanted != kind_there) {
            return Err(Failed);
        }
        let by = self.instance(state, who, point);
        let initial = state.heap.get(&cell.base).map(|made| made.by.clone());
        let (there, source) = state.memory.get(&cell).cloned().unwrap_or((0, initial));
        let new = match kind {
            StatementKind::Load { .. } => None,
            StatementKind::Store { value: operand, .. } => Some(value(*operand, kind_there)),
            StatementKind::Update { op, value: operand, .. } => {
                Some(arithmetic::updated(*op, kind_there, there, value(*operand, kind_there)))
            }
            StatementKind::CompareExchange { expected, new, .. } => {
                (there == value(*expected, kind_there)).then(|| value(*new, kind_there))
            }
            _ => unreachable!(),
        };
        if let Some(to) = kind.target() {
            see(state, who, Some(Event::Read { by: by.clone(), cell, value: there, source }));
            self.set(state, who, to, there);
        }
        if let Some(new) = new {
            see(state, who, Some(Event::Wrote { by: by.clone(), cell }));
            state.memory.insert(cell, (new, Some(by)));
        }
        Ok(())
    }
}

/// By name: the same in all executions.
fn handle_of(name: &Name) -> u64 {
    hash_of(name) | 1
}

fn name_hash(by: &Instance) -> u64 {
    hash_of(by) >> 2
}

fn hash_of(name: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

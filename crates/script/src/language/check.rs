//! What a program must be beyond its grammar: types fit, blocks end, what is used as a lock is one.

use super::error::Error;
use super::ir::{
    Allocation, Base, Function, FunctionId, Global, Literal, Mode, Operand, Part, Place, Program, Register, Slot,
    Statement, StatementKind,
};
use super::words::{BinaryOp, Order, Test, Type, UpdateOp};

type Checked = Result<(), String>;

/// The first mistake, with its place.
pub fn check(program: &Program) -> Result<(), Error> {
    let error = |line: u32, message: String| Error { file: program.file.clone(), line, column: 0, message };
    for global in &program.globals {
        check_global(global).map_err(|message| error(global.line, message))?;
    }
    for function in &program.functions {
        if function.blocks.is_empty() {
            return Err(error(function.line, "a function has at least one block (`NAME:`)".into()));
        }
        for block in &function.blocks {
            let ended = block.statements.last().is_some_and(|last| last.kind.ends_block());
            if !ended {
                let line = block.statements.last().map_or(block.line, |last| last.position.line);
                let message = "does not end: `jump`, `branch`, `switch`, `return` or `unreachable` is missing";
                return Err(error(line, format!("the block `{}` {message}", block.label)));
            }
            for statement in &block.statements {
                let checker = Checker { program, function };
                checker.statement(statement).map_err(|message| error(statement.position.line, message))?;
            }
        }
    }
    match program.main().map(|main| program.function(main)) {
        None => Err(error(1, "there is no function `main`: the program begins there".into())),
        Some(main) if main.parameters != 0 => Err(error(main.line, "`main` takes no arguments".into())),
        Some(main) if !matches!(main.result, None | Some(Type::I32)) => {
            Err(error(main.line, "`main` returns nothing, or an i32: the exit status".into()))
        }
        Some(_) => Ok(()),
    }
}

fn check_global(global: &Global) -> Checked {
    let room = global.length.unwrap_or(1) as usize;
    if global.length == Some(0) {
        return Err("an array has at least one element".into());
    }
    if matches!(global.slot, Slot::Object(_)) && global.length.is_some() {
        return Err("an array of objects is an array of `ref`".into());
    }
    if global.initial.len() > room {
        return Err(format!("there is room for {room} values, not {}", global.initial.len()));
    }
    for literal in &global.initial {
        match global.slot {
            Slot::Value(kind) => fits(*literal, kind)?,
            _ => return Err("only values are written there at first: leave out what follows `=`".into()),
        }
    }
    Ok(())
}

/// Whether a constant can be of this type.
fn fits(literal: Literal, kind: Type) -> Checked {
    let fits = match (literal, kind) {
        (Literal::Integer(value), Type::I8) => i8::try_from(value).is_ok() || u8::try_from(value).is_ok(),
        (Literal::Integer(value), Type::I16) => i16::try_from(value).is_ok() || u16::try_from(value).is_ok(),
        (Literal::Integer(value), Type::I32) => i32::try_from(value).is_ok() || u32::try_from(value).is_ok(),
        (Literal::Integer(_), Type::I64) => true,
        (Literal::Float(_), kind) => kind.is_float(),
        (Literal::Bool(_), kind) => kind == Type::Bool,
        (Literal::Null, kind) => matches!(kind, Type::Ref | Type::Thread),
        (Literal::Integer(_), _) => false,
    };
    let shown = match literal {
        Literal::Integer(value) => value.to_string(),
        Literal::Float(value) => format!("{value:?}"),
        Literal::Bool(value) => value.to_string(),
        Literal::Null => "null".into(),
    };
    if fits { Ok(()) } else { Err(format!("{shown} is no value of type {kind}")) }
}

#[derive(Clone, Copy)]
struct Checker<'p> {
    program: &'p Program,
    function: &'p Function,
}

impl Checker<'_> {
    fn kind(self, register: Register) -> Type {
        self.function.kind_of(register)
    }

    fn is(self, operand: Operand, kind: Type) -> Checked {
        match operand {
            Operand::Literal(literal) => fits(literal, kind),
            Operand::Register(register) if self.kind(register) == kind => Ok(()),
            Operand::Register(register) => {
                let info = &self.function.registers[register.index()];
                Err(format!("`%{}` is of type {}, not {kind}", info.name, info.kind))
            }
        }
    }

    fn need(self, right: bool, message: &str) -> Checked {
        if right { Ok(()) } else { Err(message.into()) }
    }

    /// What a place is, if that shows without running the program.
    fn slot(self, place: &Place) -> Result<Option<Slot>, String> {
        match *place {
            Place::Global(global) => {
                let global = self.program.global(global);
                if global.length.is_some() {
                    return Err(format!("`{}` is an array: name an element, element({0}, INDEX)", global.name));
                }
                Ok(Some(global.slot))
            }
            Place::Object(register) => {
                self.is(Operand::Register(register), Type::Ref)?;
                Ok(None)
            }
            Place::Field { base, kind, field } => {
                if let Base::Global(global) = base
                    && self.program.global(global).slot != Slot::Object(kind)
                {
                    let (global, kind) = (&self.program.global(global).name, &self.program.types[kind.index()].name);
                    return Err(format!("`{global}` is not of type {kind}"));
                }
                self.base(base)?;
                Ok(Some(self.program.types[kind.index()].fields[field as usize].1))
            }
            Place::Element { base, index } => {
                let whole = |operand| self.is(operand, Type::I32).or_else(|_| self.is(operand, Type::I64));
                whole(index).map_err(|_| "an index is of type i32 or i64".to_owned())?;
                self.base(base)?;
                let Base::Global(global) = base else { return Ok(None) };
                let global = self.program.global(global);
                self.need(global.length.is_some(), &format!("`{}` is no array", global.name))?;
                Ok(Some(global.slot))
            }
        }
    }

    fn base(self, base: Base) -> Checked {
        match base {
            Base::Register(register) => self.is(Operand::Register(register), Type::Ref),
            Base::Global(_) => Ok(()),
        }
    }

    /// A place that holds values of this type.
    fn holds(self, place: &Place, kind: Type) -> Checked {
        match self.slot(place)? {
            _ if matches!(place, Place::Object(_)) => {
                Err("an object is no place of values: name its field, field(BASE, TYPE.FIELD)".into())
            }
            None => Ok(()),
            Some(Slot::Value(known)) if known == kind => Ok(()),
            Some(Slot::Value(known)) => Err(format!("the place holds {known}, not {kind}")),
            Some(_) => Err("the place holds no value".into()),
        }
    }

    /// A place that is a lock, or an object that has one.
    fn lock(self, place: &Place, shared: bool) -> Checked {
        match self.slot(place)? {
            Some(Slot::Lock) => Ok(()),
            None if matches!(place, Place::Object(_)) => {
                self.need(!shared, "an object's monitor is never shared: use a lock")
            }
            _ => Err("expected a lock: a global or field of type `lock`, or an object".into()),
        }
    }

    fn condition(self, place: &Place) -> Checked {
        match self.slot(place)? {
            Some(Slot::Condition) => Ok(()),
            None if matches!(place, Place::Object(_)) => Ok(()),
            _ => Err("expected a condition: a global or field of type `condition`, or an object".into()),
        }
    }

    fn semaphore(self, place: &Place) -> Checked {
        match self.slot(place)? {
            Some(Slot::Semaphore(_)) => Ok(()),
            _ => Err("expected a semaphore: a global or field of type `semaphore(N)`".into()),
        }
    }

    fn load_mode(self, mode: Mode) -> Checked {
        let wrong = matches!(mode, Mode::Atomic(Order::Release | Order::AcqRel));
        self.need(!wrong, "a load is relaxed, consume, acquire or seq_cst")
    }

    fn store_mode(self, mode: Mode) -> Checked {
        let wrong = matches!(mode, Mode::Atomic(Order::Acquire | Order::Consume | Order::AcqRel));
        self.need(!wrong, "a store is relaxed, release or seq_cst")
    }

    fn updated(self, at: &Place, to: Register, float: bool) -> Checked {
        let kind = self.kind(to);
        self.need(float || !kind.is_float(), "atomic arithmetic is on integers")?;
        self.holds(at, kind)
    }

    fn call(self, to: Option<Register>, function: FunctionId, arguments: &[Operand], starts: bool) -> Checked {
        let called = self.program.function(function);
        for (argument, parameter) in arguments.iter().zip(&called.registers) {
            self.is(*argument, parameter.kind)?;
        }
        match (to.map(|to| self.kind(to)), called.result) {
            (Some(Type::Thread), _) if starts => Ok(()),
            (Some(_), _) if starts => Err("`start` gives a value of type thread".into()),
            (None, _) => Ok(()),
            (Some(kind), Some(result)) if kind == result => Ok(()),
            (Some(kind), Some(result)) => Err(format!("`{}` returns {result}, not {kind}", called.name)),
            (Some(_), None) => Err(format!("`{}` returns nothing", called.name)),
        }
    }

    fn binary(self, to: Register, op: BinaryOp, left: Operand, right: Operand) -> Checked {
        let kind = self.kind(to);
        let right_kind = match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => kind.is_number(),
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => kind.is_integer() || kind == Type::Bool,
            BinaryOp::UDiv | BinaryOp::URem | BinaryOp::Shl | BinaryOp::Shr | BinaryOp::UShr => kind.is_integer(),
        };
        self.need(right_kind, &format!("`{op}` is not for {kind}"))?;
        self.is(left, kind)?;
        self.is(right, kind)
    }

    fn compare(self, test: Test, left: Operand, right: Operand) -> Checked {
        let register = [left, right].into_iter().find_map(|operand| match operand {
            Operand::Register(register) => Some(register),
            Operand::Literal(_) => None,
        });
        let Some(register) = register else { return Err("at least one side is a register".into()) };
        let kind = self.kind(register);
        let right_kind = match test {
            Test::Eq | Test::Ne => true,
            Test::Lt | Test::Le | Test::Gt | Test::Ge => kind.is_number(),
            Test::ULt | Test::ULe | Test::UGt | Test::UGe => kind.is_integer(),
        };
        self.need(right_kind, &format!("`cmp {test}` is not for {kind}"))?;
        self.is(left, kind)?;
        self.is(right, kind)
    }

    fn bool(self, to: Register) -> Checked {
        self.need(self.kind(to) == Type::Bool, "the result is of type bool")
    }

    fn statement(self, statement: &Statement) -> Checked {
        match statement.kind {
            StatementKind::Const { to, value } => fits(value, self.kind(to)),
            StatementKind::Move { to, from } => self.is(from, self.kind(to)),
            StatementKind::Unary { to, op: _, value } => {
                let kind = self.kind(to);
                self.need(kind.is_number() || kind == Type::Bool, "`neg` and `not` are for numbers and bool")?;
                self.is(value, kind)
            }
            StatementKind::Binary { to, op, left, right } => self.binary(to, op, left, right),
            StatementKind::Compare { to, test, left, right } => {
                self.bool(to)?;
                self.compare(test, left, right)
            }
            StatementKind::Convert { to, from, .. } => {
                let number = |register| self.kind(register).is_number() || self.kind(register) == Type::Bool;
                self.need(number(to) && number(from), "`conv` is between numbers and bool")
            }
            StatementKind::Alloc { to, what } => {
                self.need(self.kind(to) == Type::Ref, "`alloc` gives a value of type ref")?;
                match what {
                    Allocation::Array { length, .. } => {
                        self.is(length, Type::I32).or_else(|_| self.is(length, Type::I64))
                    }
                    Allocation::Object(_) => Ok(()),
                }
            }
            StatementKind::Load { to, ref from, mode } => {
                self.load_mode(mode)?;
                self.holds(from, self.kind(to))
            }
            StatementKind::Store { ref to, value, mode } => {
                self.store_mode(mode)?;
                match (value, self.slot(to)?) {
                    (_, Some(Slot::Value(kind))) => self.is(value, kind),
                    (Operand::Register(register), _) => self.holds(to, self.kind(register)),
                    (Operand::Literal(_), _) => {
                        Err("the type of the place does not show here: store a register".into())
                    }
                }
            }
            StatementKind::Update { to, op, ref at, value, .. } => {
                self.updated(at, to, op == UpdateOp::Exchange)?;
                let kind = self.kind(to);
                self.need(op == UpdateOp::Exchange || kind.is_integer(), "atomic arithmetic is on integers")?;
                self.is(value, kind)
            }
            StatementKind::CompareExchange { to, ref at, expected, new, .. } => {
                self.updated(at, to, true)?;
                self.is(expected, self.kind(to))?;
                self.is(new, self.kind(to))
            }
            StatementKind::Enter { ref lock, shared } => self.lock(lock, shared),
            StatementKind::TryEnter { to, ref lock, shared } => {
                self.bool(to)?;
                self.lock(lock, shared)
            }
            StatementKind::Exit { ref lock } => self.lock(lock, false),
            StatementKind::Wait { ref condition, ref lock } => {
                self.condition(condition)?;
                self.lock(lock, false)
            }
            StatementKind::TimedWait { to, ref condition, ref lock } => {
                self.bool(to)?;
                self.condition(condition)?;
                self.lock(lock, false)
            }
            StatementKind::Notify { ref condition, .. } => self.condition(condition),
            StatementKind::Start { to, function, ref arguments } => self.call(Some(to), function, arguments, true),
            StatementKind::Join { thread } | StatementKind::Detach { thread } => {
                self.is(Operand::Register(thread), Type::Thread)
            }
            StatementKind::Barrier { to, ref barrier } => {
                to.map_or(Ok(()), |to| self.bool(to))?;
                match self.slot(barrier)? {
                    Some(Slot::Barrier(_)) => Ok(()),
                    _ => Err("expected a barrier: a global or field of type `barrier(N)`".into()),
                }
            }
            StatementKind::Post { ref semaphore } | StatementKind::Take { ref semaphore } => self.semaphore(semaphore),
            StatementKind::TryTake { to, ref semaphore } => {
                self.bool(to)?;
                self.semaphore(semaphore)
            }
            StatementKind::Call { to, function, ref arguments } => self.call(to, function, arguments, false),
            StatementKind::Branch { condition, .. } | StatementKind::Assert { condition, .. } => {
                self.is(condition, Type::Bool)
            }
            StatementKind::Switch { value, ref cases, .. } => {
                let kind = self.kind(value);
                self.need(kind.is_integer(), "`switch` is on an integer")?;
                cases.iter().try_for_each(|(case, _)| fits(Literal::Integer(*case), kind))
            }
            StatementKind::Return { value } => match (value, self.function.result) {
                (Some(value), Some(kind)) => self.is(value, kind),
                (None, None) => Ok(()),
                (None, Some(kind)) => Err(format!("`{}` returns a value of type {kind}", self.function.name)),
                (Some(_), None) => Err(format!("`{}` returns nothing", self.function.name)),
            },
            StatementKind::Output { ref parts } => parts.iter().try_for_each(|part| match part {
                Part::Value(Operand::Register(register)) => {
                    let is_address = matches!(self.kind(*register), Type::Ref | Type::Thread);
                    self.need(!is_address, "references differ from run to run: they are not printed")
                }
                _ => Ok(()),
            }),
            StatementKind::Input { to } => self.need(self.kind(to) == Type::I64, "`input` gives a value of type i64"),
            StatementKind::Opaque { ref reads, ref writes, .. } => {
                reads.iter().chain(writes).try_for_each(|place| self.slot(place).map(drop))
            }
            StatementKind::Fence { .. } | StatementKind::Jump { .. } | StatementKind::Unreachable => Ok(()),
        }
    }
}

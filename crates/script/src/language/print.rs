//! A [`Program`] as text, which [`parse`](super::parse) reads as the same program.

use std::fmt::{self, Display, Write};

use super::ir::{
    Allocation, Base, BlockId, Function, FunctionId, Literal, Mode, Operand, Part, Place, Program, Register, Slot,
    Statement, StatementKind,
};
use super::lex::{begins_name, goes_on_name};

/// The whole program.
pub fn print(program: &Program) -> String {
    let mut text = String::new();
    for object in &program.types {
        let fields: Vec<String> =
            object.fields.iter().map(|(name, slot)| format!("{}: {}", Name(name), slot_text(program, *slot))).collect();
        let _ = writeln!(text, "type {} {{ {} }}", Name(&object.name), fields.join(", "));
    }
    for global in &program.globals {
        let _ = write!(text, "global {}: {}", Name(&global.name), slot_text(program, global.slot));
        if let Some(length) = global.length {
            let _ = write!(text, "[{length}]");
        }
        let initial: Vec<String> = global.initial.iter().map(|value| Value(*value).to_string()).collect();
        if !initial.is_empty() {
            let _ = write!(text, " = {}", initial.join(", "));
        }
        text.push('\n');
    }
    for function in &program.functions {
        if !text.is_empty() {
            text.push('\n');
        }
        print_function(program, function, &mut text);
    }
    text
}

/// One statement, without its place in the source.
pub fn print_statement(program: &Program, function: &Function, statement: &Statement) -> String {
    Printer { program, function, written: Vec::new() }.statement(&statement.kind)
}

fn print_function(program: &Program, function: &Function, text: &mut String) {
    let parameters: Vec<String> = function.registers[..function.parameters as usize]
        .iter()
        .map(|register| format!("%{}: {}", register.name, register.kind))
        .collect();
    let _ = write!(text, "func {}({})", Name(&function.name), parameters.join(", "));
    if let Some(result) = function.result {
        let _ = write!(text, " -> {result}");
    }
    text.push_str(" {\n");
    let mut written = vec![false; function.registers.len()];
    written[..function.parameters as usize].fill(true);
    let mut printer = Printer { program, function, written };
    for block in &function.blocks {
        let _ = writeln!(text, "{}:", Name(&block.label));
        for statement in &block.statements {
            let _ = write!(text, "  {}", printer.statement(&statement.kind));
            if let Some(source) = statement.position.source {
                let file = &program.files[source.file.index()];
                let _ = write!(text, " @ {}:{}", Quoted(file), source.line);
                if source.column != 0 {
                    let _ = write!(text, ":{}", source.column);
                }
            }
            text.push('\n');
        }
    }
    text.push_str("}\n");
}

fn slot_text(program: &Program, slot: Slot) -> String {
    match slot {
        Slot::Value(kind) => kind.to_string(),
        Slot::Lock => "lock".into(),
        Slot::Condition => "condition".into(),
        Slot::Semaphore(count) => format!("semaphore({count})"),
        Slot::Barrier(count) => format!("barrier({count})"),
        Slot::Object(id) => Name(&program.types[id.index()].name).to_string(),
    }
}

/// A name, in quotes if it needs them.
struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.starts_with(begins_name) && self.0.chars().all(goes_on_name) {
            f.write_str(self.0)
        } else {
            Quoted(self.0).fmt(f)
        }
    }
}

struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '\n' => f.write_str("\\n")?,
                '\t' => f.write_str("\\t")?,
                '\r' => f.write_str("\\r")?,
                '"' | '\\' => write!(f, "\\{c}")?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

struct Value(Literal);

impl Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Literal::Integer(value) => write!(f, "{value}"),
            Literal::Float(value) if value.is_nan() => f.write_str("nan"),
            Literal::Float(value) => write!(f, "{value:?}"),
            Literal::Bool(value) => write!(f, "{value}"),
            Literal::Null => f.write_str("null"),
        }
    }
}

struct Printer<'p> {
    program: &'p Program,
    function: &'p Function,
    /// Registers whose type has been said.
    written: Vec<bool>,
}

impl Printer<'_> {
    fn register(&self, register: Register) -> String {
        format!("%{}", self.function.registers[register.index()].name)
    }

    fn operand(&self, operand: Operand) -> String {
        match operand {
            Operand::Register(register) => self.register(register),
            Operand::Literal(literal) => Value(literal).to_string(),
        }
    }

    fn base(&self, base: Base) -> String {
        match base {
            Base::Register(register) => self.register(register),
            Base::Global(global) => Name(&self.program.global(global).name).to_string(),
        }
    }

    fn place(&self, place: &Place) -> String {
        match *place {
            Place::Global(global) => self.base(Base::Global(global)),
            Place::Object(register) => self.register(register),
            Place::Field { base, kind, field } => {
                let object = &self.program.types[kind.index()];
                let name = format!("{}.{}", object.name, object.fields[field as usize].0);
                format!("field({}, {})", self.base(base), Name(&name))
            }
            Place::Element { base, index } => format!("element({}, {})", self.base(base), self.operand(index)),
        }
    }

    fn places(&self, places: &[Place]) -> String {
        places.iter().map(|place| self.place(place)).collect::<Vec<_>>().join(", ")
    }

    fn mode(mode: Mode) -> String {
        match mode {
            Mode::Plain => String::new(),
            Mode::Volatile => " [volatile]".into(),
            Mode::Atomic(order) => format!(" [atomic {order}]"),
        }
    }

    fn shared(shared: bool) -> &'static str {
        if shared { " shared" } else { "" }
    }

    fn call(&self, function: FunctionId, arguments: &[Operand]) -> String {
        let arguments: Vec<String> = arguments.iter().map(|argument| self.operand(*argument)).collect();
        format!("{}({})", Name(&self.program.function(function).name), arguments.join(", "))
    }

    fn label(&self, block: BlockId) -> String {
        Name(&self.function.block(block).label).to_string()
    }

    fn statement(&mut self, kind: &StatementKind) -> String {
        let right = self.right(kind);
        let Some(to) = kind.target() else { return right };
        let name = self.register(to);
        let known = self.written.get_mut(to.index()).is_none_or(|written| std::mem::replace(written, true));
        match known {
            true => format!("{name} = {right}"),
            false => format!("{name}: {} = {right}", self.function.kind_of(to)),
        }
    }

    /// What stands right of the `=`, or all of it.
    fn right(&self, kind: &StatementKind) -> String {
        match kind {
            StatementKind::Const { value, .. } => format!("const {}", Value(*value)),
            StatementKind::Move { from, .. } => format!("move {}", self.operand(*from)),
            StatementKind::Unary { op, value, .. } => format!("{op} {}", self.operand(*value)),
            StatementKind::Binary { op, left, right, .. } => {
                format!("{op} {}, {}", self.operand(*left), self.operand(*right))
            }
            StatementKind::Compare { test, left, right, .. } => {
                format!("cmp {test} {}, {}", self.operand(*left), self.operand(*right))
            }
            StatementKind::Convert { from, unsigned, .. } => {
                format!("conv {}{}", if *unsigned { "unsigned " } else { "" }, self.register(*from))
            }
            StatementKind::Alloc { what: Allocation::Object(id), .. } => {
                format!("alloc {}", Name(&self.program.types[id.index()].name))
            }
            StatementKind::Alloc { what: Allocation::Array { element, length }, .. } => {
                format!("alloc {element}[{}]", self.operand(*length))
            }
            StatementKind::Load { from, mode, .. } => format!("load {}{}", self.place(from), Self::mode(*mode)),
            StatementKind::Store { to, value, mode } => {
                format!("store {}, {}{}", self.place(to), self.operand(*value), Self::mode(*mode))
            }
            StatementKind::Update { op, at, value, order, .. } => {
                format!("rmw {op} {}, {} [{order}]", self.place(at), self.operand(*value))
            }
            StatementKind::CompareExchange { at, expected, new, order, .. } => {
                let (expected, new) = (self.operand(*expected), self.operand(*new));
                format!("rmw cas {}, {expected}, {new} [{order}]", self.place(at))
            }
            StatementKind::Fence { order } => format!("fence {order}"),
            StatementKind::Enter { lock, shared } => format!("enter {}{}", self.place(lock), Self::shared(*shared)),
            StatementKind::TryEnter { lock, shared, .. } => {
                format!("try enter {}{}", self.place(lock), Self::shared(*shared))
            }
            StatementKind::Exit { lock } => format!("exit {}", self.place(lock)),
            StatementKind::Wait { condition, lock } => {
                format!("wait {}, {}", self.place(condition), self.place(lock))
            }
            StatementKind::TimedWait { condition, lock, .. } => {
                format!("try wait {}, {}", self.place(condition), self.place(lock))
            }
            StatementKind::Notify { condition, all } => {
                format!("notify {} {}", if *all { "all" } else { "one" }, self.place(condition))
            }
            StatementKind::Start { function, arguments, .. } => format!("start {}", self.call(*function, arguments)),
            StatementKind::Join { thread } => format!("join {}", self.register(*thread)),
            StatementKind::Detach { thread } => format!("detach {}", self.register(*thread)),
            StatementKind::Barrier { barrier, .. } => format!("barrier {}", self.place(barrier)),
            StatementKind::Post { semaphore } => format!("post {}", self.place(semaphore)),
            StatementKind::Take { semaphore } => format!("take {}", self.place(semaphore)),
            StatementKind::TryTake { semaphore, .. } => format!("try take {}", self.place(semaphore)),
            StatementKind::Call { function, arguments, .. } => format!("call {}", self.call(*function, arguments)),
            StatementKind::Jump { to } => format!("jump {}", self.label(*to)),
            StatementKind::Branch { condition, then, otherwise } => {
                let (then, otherwise) = (self.label(*then), self.label(*otherwise));
                format!("branch {}, {then}, {otherwise}", self.operand(*condition))
            }
            StatementKind::Switch { value, cases, otherwise } => {
                let cases: String = cases.iter().map(|(case, to)| format!(", {case}: {}", self.label(*to))).collect();
                format!("switch {}{cases}, default: {}", self.register(*value), self.label(*otherwise))
            }
            StatementKind::Return { value: None } => "return".into(),
            StatementKind::Return { value: Some(value) } => format!("return {}", self.operand(*value)),
            StatementKind::Unreachable => "unreachable".into(),
            StatementKind::Assert { condition, message } if message.is_empty() => {
                format!("assert {}", self.operand(*condition))
            }
            StatementKind::Assert { condition, message } => {
                format!("assert {}, {}", self.operand(*condition), Quoted(message))
            }
            StatementKind::Output { parts } => {
                let parts: Vec<String> = parts.iter().map(|part| self.part(part)).collect();
                format!("output {}", parts.join(", "))
            }
            StatementKind::Input { .. } => "input".into(),
            StatementKind::Opaque { reason, reads, writes } => {
                let mut text = format!("opaque {}", Quoted(reason));
                for (word, places) in [("reads", reads), ("writes", writes)] {
                    if !places.is_empty() {
                        let _ = write!(text, " {word}({})", self.places(places));
                    }
                }
                text
            }
        }
    }

    fn part(&self, part: &Part) -> String {
        match part {
            Part::Text(text) => Quoted(text).to_string(),
            Part::Value(operand) => self.operand(*operand),
        }
    }
}

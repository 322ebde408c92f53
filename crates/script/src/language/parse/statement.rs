//! One statement: `[%to [: TYPE] =] WORD …  [@ "FILE":LINE[:COLUMN]]`.

use std::collections::HashMap;

use super::super::error::Error;
use super::super::ir::{
    Allocation, Base, BlockId, FileId, Function, FunctionId, GlobalId, Mode, Operand, Part, Place, Position, Register,
    RegisterInfo, Source, StatementKind,
};
use super::super::lex::Token;
use super::super::words::{BinaryOp, Order, Test, Type, UnaryOp, UpdateOp};
use super::Parser;
use super::cursor::Cursor;

type Parsed<T> = Result<T, Error>;

/// Words that the language keeps for what is not there yet, and what to write meanwhile.
const LATER: &[(&str, &str)] = &[
    ("throw", "write the failure as `assert false, \"…\"`"),
    ("park", "use a semaphore: `take s`"),
    ("unpark", "use a semaphore: `post s`"),
    ("once", "use a lock and a flag"),
    ("free", "leave it out: memory is not used again"),
];

/// A function's body while it is read.
pub struct Body<'p> {
    pub parser: &'p Parser,
    pub labels: &'p HashMap<String, BlockId>,
    pub registers: Vec<RegisterInfo>,
    pub names: HashMap<String, Register>,
    pub files: Vec<String>,
}

impl Body<'_> {
    pub fn statement(&mut self, cursor: &mut Cursor<'_>) -> Parsed<(StatementKind, Position)> {
        let kind = match cursor.peek() {
            Some(Token::Register(_)) => {
                let to = self.target(cursor)?;
                cursor.sign("=")?;
                self.result(cursor, to)?
            }
            _ => self.effect(cursor)?,
        };
        let source = if cursor.accept("@") { Some(self.source(cursor)?) } else { None };
        cursor.end()?;
        Ok((kind, Position { line: cursor.line(), source }))
    }

    fn source(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Source> {
        let file = cursor.text("the source file in quotes")?;
        let at = self.files.iter().position(|known| *known == file).unwrap_or_else(|| {
            self.files.push(file);
            self.files.len() - 1
        });
        cursor.sign(":")?;
        let line = cursor.count()?;
        let column = if cursor.accept(":") { cursor.count()? } else { 0 };
        Ok(Source { file: FileId(at as u32), line, column })
    }

    /// The register on the left. Its type stands where it is written first.
    fn target(&mut self, cursor: &mut Cursor<'_>) -> Parsed<Register> {
        let name = cursor.register()?;
        let known = self.names.get(&name).copied();
        let kind = if cursor.accept(":") { Some(cursor.kind()?) } else { None };
        match (known, kind) {
            (Some(register), None) => Ok(register),
            (Some(register), Some(kind)) if self.registers[register.index()].kind == kind => Ok(register),
            (Some(register), Some(_)) => {
                let kind = self.registers[register.index()].kind;
                Err(cursor.before(format!("`%{name}` is of type {kind}: use another register")))
            }
            (None, Some(kind)) => {
                let register = Register(self.registers.len() as u32);
                self.registers.push(RegisterInfo { name: name.clone(), kind });
                self.names.insert(name, register);
                Ok(register)
            }
            (None, None) => Err(cursor.before(format!("`%{name}` has no type yet: write `%{name}: TYPE = …`"))),
        }
    }

    fn register(&self, cursor: &mut Cursor<'_>) -> Parsed<Register> {
        let name = cursor.register()?;
        let known = self.names.get(&name).copied();
        known.ok_or_else(|| cursor.before(format!("nothing has been written to `%{name}` above")))
    }

    fn operand(&self, cursor: &mut Cursor<'_>) -> Parsed<Operand> {
        match cursor.peek() {
            Some(Token::Register(_)) => Ok(Operand::Register(self.register(cursor)?)),
            _ if cursor.is_literal() => Ok(Operand::Literal(cursor.literal()?)),
            _ => Err(cursor.expected("a register (`%name`) or a constant")),
        }
    }

    fn pair(&self, cursor: &mut Cursor<'_>) -> Parsed<(Operand, Operand)> {
        let left = self.operand(cursor)?;
        cursor.sign(",")?;
        Ok((left, self.operand(cursor)?))
    }

    fn label(&self, cursor: &mut Cursor<'_>) -> Parsed<BlockId> {
        let name = cursor.name("the label of a block")?;
        let known = self.labels.get(&name).copied();
        known.ok_or_else(|| cursor.before(format!("this function has no block `{name}`")))
    }

    fn global(&self, cursor: &mut Cursor<'_>) -> Parsed<GlobalId> {
        let name = cursor.name("a global")?;
        let known = self.parser.globals.get(&name).copied();
        known.ok_or_else(|| cursor.before(format!("there is no global `{name}`")))
    }

    fn base(&self, cursor: &mut Cursor<'_>) -> Parsed<Base> {
        match cursor.peek() {
            Some(Token::Register(_)) => Ok(Base::Register(self.register(cursor)?)),
            Some(Token::Name(_) | Token::Text(_)) => Ok(Base::Global(self.global(cursor)?)),
            _ => Err(cursor.expected("a register or a global that the place lies in")),
        }
    }

    fn place(&self, cursor: &mut Cursor<'_>) -> Parsed<Place> {
        let is_call = matches!(cursor.second(), Some(Token::Sign("(")));
        match cursor.peek() {
            Some(Token::Register(_)) => Ok(Place::Object(self.register(cursor)?)),
            Some(Token::Name(word)) if is_call && word == "field" => {
                cursor.advance();
                cursor.sign("(")?;
                let base = self.base(cursor)?;
                cursor.sign(",")?;
                let name = cursor.name("TYPE.FIELD")?;
                let wrong = |message: String| Err(cursor.before(message));
                let Some((kind, field)) = name.rsplit_once('.') else {
                    return wrong(format!("expected TYPE.FIELD, found `{name}`"));
                };
                let Some((id, object)) = self.parser.type_named(kind) else {
                    return wrong(format!("there is no type `{kind}`"));
                };
                let Some(at) = object.fields.iter().position(|(known, _)| known == field) else {
                    return wrong(format!("type `{kind}` has no field `{field}`"));
                };
                cursor.sign(")")?;
                Ok(Place::Field { base, kind: id, field: at as u32 })
            }
            Some(Token::Name(word)) if is_call && word == "element" => {
                cursor.advance();
                cursor.sign("(")?;
                let base = self.base(cursor)?;
                cursor.sign(",")?;
                let index = self.operand(cursor)?;
                cursor.sign(")")?;
                Ok(Place::Element { base, index })
            }
            Some(Token::Name(word)) if is_call && word == "raw" => Err(cursor.expected(
                "field(…) or element(…): `raw` is not supported by the interpreter yet, name the field or the element",
            )),
            Some(Token::Name(_) | Token::Text(_)) => Ok(Place::Global(self.global(cursor)?)),
            _ => Err(cursor.expected("a place: a global, field(BASE, TYPE.FIELD) or element(BASE, INDEX)")),
        }
    }

    fn mode(&self, cursor: &mut Cursor<'_>) -> Parsed<Mode> {
        if !cursor.accept("[") {
            return Ok(Mode::Plain);
        }
        let mode = if cursor.accept_word("volatile") {
            Mode::Volatile
        } else if cursor.accept_word("atomic") {
            Mode::Atomic(cursor.order()?)
        } else {
            return Err(cursor.expected("`volatile` or `atomic ORDER`"));
        };
        cursor.sign("]")?;
        Ok(mode)
    }

    /// Of an update: the strongest, unless it says otherwise.
    fn order(&self, cursor: &mut Cursor<'_>) -> Parsed<Order> {
        if !cursor.accept("[") {
            return Ok(Order::SeqCst);
        }
        let order = cursor.order()?;
        cursor.sign("]")?;
        Ok(order)
    }

    fn called(&self, cursor: &mut Cursor<'_>) -> Parsed<(FunctionId, Vec<Operand>)> {
        if matches!(cursor.peek(), Some(Token::Name(word)) if word == "virtual" || word == "indirect")
            && !matches!(cursor.second(), Some(Token::Sign("(")))
        {
            return Err(cursor.expected(
                "the name of a function: virtual and indirect calls are not supported by the interpreter yet, \
                 choose the function with `switch`",
            ));
        }
        let name = cursor.name("the name of a function")?;
        let Some(&id) = self.parser.functions.get(&name) else {
            return Err(cursor.before(format!("there is no function `{name}`")));
        };
        cursor.sign("(")?;
        let mut arguments = Vec::new();
        while !cursor.is_sign(")") {
            arguments.push(self.operand(cursor)?);
            if !cursor.accept(",") {
                break;
            }
        }
        cursor.sign(")")?;
        if cursor.accept_word("unwind") {
            return Err(cursor.before("`unwind` is not supported by the interpreter yet: a failure ends the program"));
        }
        let function: &Function = self.parser.program.function(id);
        if arguments.len() != function.parameters as usize {
            let wanted = function.parameters;
            return Err(cursor.before(format!("`{name}` takes {wanted} arguments, not {}", arguments.len())));
        }
        Ok((id, arguments))
    }

    /// A statement that writes a register.
    fn result(&mut self, cursor: &mut Cursor<'_>, to: Register) -> Parsed<StatementKind> {
        let word = cursor.name("an operation")?;
        if let Some(op) = BinaryOp::from_word(&word) {
            let (left, right) = self.pair(cursor)?;
            return Ok(StatementKind::Binary { to, op, left, right });
        }
        if let Some(op) = UnaryOp::from_word(&word) {
            return Ok(StatementKind::Unary { to, op, value: self.operand(cursor)? });
        }
        Ok(match word.as_str() {
            "const" => StatementKind::Const { to, value: cursor.literal()? },
            "move" => StatementKind::Move { to, from: self.operand(cursor)? },
            "cmp" => {
                let what = "a comparison: eq, ne, lt, le, gt, ge, ult, ule, ugt or uge";
                let word = cursor.name(what)?;
                let Some(test) = Test::from_word(&word) else {
                    return Err(cursor.before(format!("`{word}` is not {what}")));
                };
                let (left, right) = self.pair(cursor)?;
                StatementKind::Compare { to, test, left, right }
            }
            "conv" => {
                let unsigned = cursor.accept_word("unsigned");
                StatementKind::Convert { to, from: self.register(cursor)?, unsigned }
            }
            "alloc" => StatementKind::Alloc { to, what: self.allocation(cursor)? },
            "load" => {
                let from = self.place(cursor)?;
                StatementKind::Load { to, from, mode: self.mode(cursor)? }
            }
            "rmw" => self.update(cursor, to)?,
            "try" => self.tried(cursor, to)?,
            "start" => {
                let (function, arguments) = self.called(cursor)?;
                StatementKind::Start { to, function, arguments }
            }
            "barrier" => StatementKind::Barrier { to: Some(to), barrier: self.place(cursor)? },
            "call" => {
                let (function, arguments) = self.called(cursor)?;
                StatementKind::Call { to: Some(to), function, arguments }
            }
            "input" => StatementKind::Input { to },
            word => return Err(cursor.before(unknown(word, "gives a value"))),
        })
    }

    fn allocation(&self, cursor: &mut Cursor<'_>) -> Parsed<Allocation> {
        let name = cursor.name("the type of the object, or TYPE[LENGTH]")?;
        if let Some(element) = Type::from_word(&name) {
            cursor.sign("[")?;
            let length = self.operand(cursor)?;
            cursor.sign("]")?;
            return Ok(Allocation::Array { element, length });
        }
        let known = self.parser.type_named(&name).map(|(id, _)| Allocation::Object(id));
        known.ok_or_else(|| cursor.before(format!("there is no type `{name}`")))
    }

    fn update(&self, cursor: &mut Cursor<'_>, to: Register) -> Parsed<StatementKind> {
        let what = "what to do there: add, sub, and, or, xor, exchange or cas";
        let word = cursor.name(what)?;
        if word == "cas" {
            let at = self.place(cursor)?;
            cursor.sign(",")?;
            let (expected, new) = self.pair(cursor)?;
            return Ok(StatementKind::CompareExchange { to, at, expected, new, order: self.order(cursor)? });
        }
        let Some(op) = UpdateOp::from_word(&word) else {
            return Err(cursor.before(format!("`{word}` is not {what}")));
        };
        let at = self.place(cursor)?;
        cursor.sign(",")?;
        let value = self.operand(cursor)?;
        Ok(StatementKind::Update { to, op, at, value, order: self.order(cursor)? })
    }

    fn tried(&self, cursor: &mut Cursor<'_>, to: Register) -> Parsed<StatementKind> {
        if cursor.accept_word("enter") {
            let lock = self.place(cursor)?;
            return Ok(StatementKind::TryEnter { to, lock, shared: cursor.accept_word("shared") });
        }
        if cursor.accept_word("take") {
            return Ok(StatementKind::TryTake { to, semaphore: self.place(cursor)? });
        }
        if cursor.accept_word("wait") {
            let condition = self.place(cursor)?;
            cursor.sign(",")?;
            return Ok(StatementKind::TimedWait { to, condition, lock: self.place(cursor)? });
        }
        Err(cursor.expected("`enter`, `take` or `wait`"))
    }

    /// A statement that writes no register.
    fn effect(&mut self, cursor: &mut Cursor<'_>) -> Parsed<StatementKind> {
        let word = cursor.name("a statement")?;
        Ok(match word.as_str() {
            "store" => {
                let to = self.place(cursor)?;
                cursor.sign(",")?;
                let value = self.operand(cursor)?;
                StatementKind::Store { to, value, mode: self.mode(cursor)? }
            }
            "fence" => StatementKind::Fence { order: cursor.order()? },
            "enter" => {
                let lock = self.place(cursor)?;
                StatementKind::Enter { lock, shared: cursor.accept_word("shared") }
            }
            "exit" => StatementKind::Exit { lock: self.place(cursor)? },
            "wait" => {
                let condition = self.place(cursor)?;
                cursor.sign(",")?;
                StatementKind::Wait { condition, lock: self.place(cursor)? }
            }
            "notify" => {
                let all = cursor.accept_word("all");
                if !all && !cursor.accept_word("one") {
                    return Err(cursor.expected("`one` or `all`"));
                }
                StatementKind::Notify { condition: self.place(cursor)?, all }
            }
            "join" => StatementKind::Join { thread: self.register(cursor)? },
            "detach" => StatementKind::Detach { thread: self.register(cursor)? },
            "barrier" => StatementKind::Barrier { to: None, barrier: self.place(cursor)? },
            "post" => StatementKind::Post { semaphore: self.place(cursor)? },
            "take" => StatementKind::Take { semaphore: self.place(cursor)? },
            "call" => {
                let (function, arguments) = self.called(cursor)?;
                StatementKind::Call { to: None, function, arguments }
            }
            "jump" => StatementKind::Jump { to: self.label(cursor)? },
            "branch" => {
                let condition = self.operand(cursor)?;
                cursor.sign(",")?;
                let then = self.label(cursor)?;
                cursor.sign(",")?;
                StatementKind::Branch { condition, then, otherwise: self.label(cursor)? }
            }
            "switch" => self.switch(cursor)?,
            "return" => {
                let value = matches!(cursor.peek(), Some(Token::Register(_))) || cursor.is_literal();
                StatementKind::Return { value: if value { Some(self.operand(cursor)?) } else { None } }
            }
            "unreachable" => StatementKind::Unreachable,
            "assert" => {
                let condition = self.operand(cursor)?;
                let message = if cursor.accept(",") { cursor.text("a message in quotes")? } else { String::new() };
                StatementKind::Assert { condition, message }
            }
            "output" => StatementKind::Output { parts: self.parts(cursor)? },
            "opaque" => {
                let reason = cursor.text("the reason in quotes")?;
                let reads = self.touched(cursor, "reads")?;
                StatementKind::Opaque { reason, reads, writes: self.touched(cursor, "writes")? }
            }
            word => return Err(cursor.before(unknown(word, "stands alone"))),
        })
    }

    fn switch(&self, cursor: &mut Cursor<'_>) -> Parsed<StatementKind> {
        let value = self.register(cursor)?;
        let mut cases: Vec<(i64, BlockId)> = Vec::new();
        loop {
            cursor.sign(",")?;
            if cursor.accept_word("default") {
                cursor.sign(":")?;
                return Ok(StatementKind::Switch { value, cases, otherwise: self.label(cursor)? });
            }
            let case = cursor.integer()?;
            if cases.iter().any(|(known, _)| *known == case) {
                return Err(cursor.before(format!("there is a case {case} already")));
            }
            cursor.sign(":")?;
            cases.push((case, self.label(cursor)?));
        }
    }

    fn parts(&self, cursor: &mut Cursor<'_>) -> Parsed<Vec<Part>> {
        let mut parts = Vec::new();
        loop {
            parts.push(match cursor.peek() {
                Some(Token::Text(text)) => {
                    cursor.advance();
                    Part::Text(text.clone())
                }
                _ => Part::Value(self.operand(cursor)?),
            });
            if !cursor.accept(",") {
                return Ok(parts);
            }
        }
    }

    /// `reads(PLACE, …)` or `writes(…)`, if it is there.
    fn touched(&self, cursor: &mut Cursor<'_>, word: &str) -> Parsed<Vec<Place>> {
        let mut places = Vec::new();
        if cursor.accept_word(word) {
            cursor.sign("(")?;
            while !cursor.is_sign(")") {
                places.push(self.place(cursor)?);
                if !cursor.accept(",") {
                    break;
                }
            }
            cursor.sign(")")?;
        }
        Ok(places)
    }
}

fn unknown(word: &str, what: &str) -> String {
    match LATER.iter().find(|(later, _)| *later == word) {
        Some((_, instead)) => format!("`{word}` is not supported by the interpreter yet: {instead}"),
        None => format!("`{word}` is no statement that {what}"),
    }
}

//! Tokens to a [`Program`]. The first mistake ends it.

mod cursor;
mod statement;

use std::collections::HashMap;

use super::check::check;
use super::error::Error;
use super::ir::{
    Block, BlockId, Function, FunctionId, Global, GlobalId, Literal, Object, Program, Register, RegisterInfo, Slot,
    Statement, StatementId, TypeId,
};
use super::lex::{Line, Token, lines};
use super::words::Type;
use cursor::Cursor;
use statement::Body;

/// Reads a program and checks it. `file` is what messages call it.
///
/// # Errors
/// The first mistake, with its place.
pub fn parse(file: &str, text: &str) -> Result<Program, Error> {
    let lines = lines(file, text)?;
    let mut parser = Parser { program: Program { file: file.to_owned(), ..Program::default() }, ..Parser::default() };
    let bodies = parser.items(&lines)?;
    for (at, body) in bodies.into_iter().enumerate() {
        parser.body(FunctionId(at as u32), body)?;
    }
    parser.program.renumber();
    check(&parser.program)?;
    Ok(parser.program)
}

/// What is known while a program is read: everything but the bodies, then these.
#[derive(Default)]
struct Parser {
    program: Program,
    types: HashMap<String, TypeId>,
    globals: HashMap<String, GlobalId>,
    functions: HashMap<String, FunctionId>,
}

impl Parser {
    fn cursor<'l>(&self, line: &'l Line) -> Cursor<'l> {
        Cursor::new(&self.program.file, line)
    }

    fn error(&self, line: &Line, message: impl Into<String>) -> Error {
        Error { file: self.program.file.clone(), line: line.number, column: 0, message: message.into() }
    }

    /// Declarations, and the lines of each function's body.
    fn items<'l>(&mut self, lines: &'l [Line]) -> Result<Vec<&'l [Line]>, Error> {
        let mut bodies = Vec::new();
        let mut at = 0;
        while at < lines.len() {
            let line = &lines[at];
            at += 1;
            let mut cursor = self.cursor(line);
            match &line.tokens[0].0 {
                Token::Name(word) if word == "type" => self.object(&mut cursor)?,
                Token::Name(word) if word == "global" => self.global(&mut cursor)?,
                Token::Name(word) if word == "func" => {
                    self.function(&mut cursor)?;
                    let is_end = |line: &Line| line.tokens.len() == 1 && line.tokens[0].0 == Token::Sign("}");
                    let Some(length) = lines[at..].iter().position(is_end) else {
                        return Err(self.error(line, "the function does not end: a line with `}` is missing"));
                    };
                    bodies.push(&lines[at..at + length]);
                    at += length + 1;
                }
                _ => return Err(cursor.expected("`type`, `global` or `func`")),
            }
        }
        Ok(bodies)
    }

    fn object(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        cursor.word("type")?;
        let name = cursor.name("the name of the type")?;
        cursor.sign("{")?;
        let mut fields: Vec<(String, Slot)> = Vec::new();
        while !cursor.is_sign("}") {
            let field = cursor.name("the name of a field")?;
            if fields.iter().any(|(known, _)| *known == field) {
                return Err(cursor.before(format!("`{name}` has a field `{field}` already")));
            }
            cursor.sign(":")?;
            let slot = self.slot(cursor)?;
            if matches!(slot, Slot::Object(_)) {
                return Err(cursor.before("a field holds a value or a `ref`, not another object"));
            }
            fields.push((field, slot));
            if !cursor.accept(",") {
                break;
            }
        }
        cursor.sign("}")?;
        cursor.end()?;
        let id = TypeId(self.program.types.len() as u32);
        if self.types.insert(name.clone(), id).is_some() {
            return Err(cursor.line_error(format!("there is a type `{name}` already")));
        }
        self.program.types.push(Object { name, fields, line: cursor.line() });
        Ok(())
    }

    fn slot(&self, cursor: &mut Cursor<'_>) -> Result<Slot, Error> {
        let expected = "a type: bool, i8, i16, i32, i64, f32, f64, ref, thread, lock, condition, semaphore(N), barrier(N), or the name of an object's type";
        let name = cursor.name(expected)?;
        let counted = |cursor: &mut Cursor<'_>| {
            cursor.sign("(")?;
            let count = cursor.count()?;
            cursor.sign(")")?;
            Ok(count)
        };
        Ok(match name.as_str() {
            "lock" => Slot::Lock,
            "condition" => Slot::Condition,
            "semaphore" => Slot::Semaphore(counted(cursor)?),
            "barrier" => match counted(cursor)? {
                0 => return Err(cursor.before("a barrier is for at least one thread")),
                count => Slot::Barrier(count),
            },
            word => match (Type::from_word(word), self.types.get(word)) {
                (Some(kind), _) => Slot::Value(kind),
                (None, Some(id)) => Slot::Object(*id),
                (None, None) => return Err(cursor.before(format!("`{word}` is not {expected}"))),
            },
        })
    }

    fn global(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        cursor.word("global")?;
        let name = cursor.name("the name of the global")?;
        cursor.sign(":")?;
        let slot = self.slot(cursor)?;
        let mut length = None;
        if cursor.accept("[") {
            length = Some(cursor.count()?);
            cursor.sign("]")?;
        }
        let mut initial = Vec::new();
        if cursor.accept("=") {
            initial.push(cursor.literal()?);
            while cursor.accept(",") {
                initial.push(cursor.literal()?);
            }
        }
        cursor.end()?;
        let id = GlobalId(self.program.globals.len() as u32);
        if self.globals.insert(name.clone(), id).is_some() {
            return Err(cursor.line_error(format!("there is a global `{name}` already")));
        }
        self.program.globals.push(Global { name, slot, length, initial, line: cursor.line() });
        Ok(())
    }

    /// The head of a function.
    fn function(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Error> {
        cursor.word("func")?;
        let name = cursor.name("the name of the function")?;
        cursor.sign("(")?;
        let mut registers: Vec<RegisterInfo> = Vec::new();
        while !cursor.is_sign(")") {
            let parameter = cursor.register()?;
            if registers.iter().any(|known| known.name == parameter) {
                return Err(cursor.before(format!("there is a parameter `%{parameter}` already")));
            }
            cursor.sign(":")?;
            registers.push(RegisterInfo { name: parameter, kind: cursor.kind()? });
            if !cursor.accept(",") {
                break;
            }
        }
        cursor.sign(")")?;
        let result = if cursor.accept("->") { Some(cursor.kind()?) } else { None };
        cursor.sign("{")?;
        cursor.end()?;
        let id = FunctionId(self.program.functions.len() as u32);
        if self.functions.insert(name.clone(), id).is_some() {
            return Err(cursor.line_error(format!("there is a function `{name}` already")));
        }
        let parameters = registers.len() as u32;
        let line = cursor.line();
        self.program.functions.push(Function { name, parameters, result, registers, blocks: Vec::new(), line });
        Ok(())
    }

    fn body(&mut self, id: FunctionId, lines: &[Line]) -> Result<(), Error> {
        let label_of = |line: &Line| match &line.tokens[..] {
            [(Token::Name(label) | Token::Text(label), _), (Token::Sign(":"), _)] => Some(label.clone()),
            _ => None,
        };
        let mut labels: HashMap<String, BlockId> = HashMap::new();
        for line in lines {
            if let Some(label) = label_of(line) {
                let next = BlockId(labels.len() as u32);
                if labels.insert(label.clone(), next).is_some() {
                    return Err(self.error(line, format!("there is a block `{label}` already in this function")));
                }
            }
        }
        let function = &self.program.functions[id.index()];
        let registers = function.registers.clone();
        let names = registers.iter().enumerate().map(|(at, known)| (known.name.clone(), Register(at as u32))).collect();
        let mut body = Body { parser: self, labels: &labels, registers, names, files: Vec::new() };
        body.files.clone_from(&body.parser.program.files);
        let mut blocks: Vec<Block> = Vec::new();
        for line in lines {
            if let Some(label) = label_of(line) {
                blocks.push(Block { label, statements: Vec::new(), line: line.number });
                continue;
            }
            let mut cursor = body.parser.cursor(line);
            let Some(block) = blocks.last_mut() else {
                return Err(cursor.expected("the label of the first block (`NAME:`)"));
            };
            if block.statements.last().is_some_and(|last| last.kind.ends_block()) {
                let message = "the block has ended: a label (`NAME:`) comes before the next statement";
                return Err(cursor.line_error(message));
            }
            let (kind, position) = body.statement(&mut cursor)?;
            block.statements.push(Statement { id: StatementId(0), position, kind });
        }
        let (registers, files) = (body.registers, body.files);
        let function = &mut self.program.functions[id.index()];
        (function.registers, function.blocks) = (registers, blocks);
        self.program.files = files;
        Ok(())
    }

    fn type_named(&self, name: &str) -> Option<(TypeId, &Object)> {
        let id = *self.types.get(name)?;
        Some((id, &self.program.types[id.index()]))
    }
}

/// The value that a word stands for.
fn literal_word(word: &str) -> Option<Literal> {
    Some(match word {
        "true" => Literal::Bool(true),
        "false" => Literal::Bool(false),
        "null" => Literal::Null,
        "nan" => Literal::Float(f64::NAN),
        "inf" => Literal::Float(f64::INFINITY),
        _ => return None,
    })
}

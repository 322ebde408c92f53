//! The tokens of one line, taken one after the other.

use super::super::error::Error;
use super::super::ir::Literal;
use super::super::lex::{Line, Token};
use super::super::words::{Order, Type};
use super::literal_word;

pub struct Cursor<'l> {
    file: String,
    line: &'l Line,
    at: usize,
}

impl<'l> Cursor<'l> {
    pub fn new(file: &str, line: &'l Line) -> Self {
        Self { file: file.to_owned(), line, at: 0 }
    }

    pub const fn line(&self) -> u32 {
        self.line.number
    }

    fn error(&self, column: u32, message: String) -> Error {
        Error { file: self.file.clone(), line: self.line.number, column, message }
    }

    fn column(&self, at: usize) -> u32 {
        self.line.tokens.get(at).map_or(self.line.end, |(_, column)| *column)
    }

    /// About the whole line.
    pub fn line_error(&self, message: impl Into<String>) -> Error {
        self.error(0, message.into())
    }

    /// About the token before.
    pub fn before(&self, message: impl Into<String>) -> Error {
        self.error(self.column(self.at.saturating_sub(1)), message.into())
    }

    /// Something else stands here.
    pub fn expected(&self, what: &str) -> Error {
        let found = self.peek().map_or_else(|| "the end of the line".to_owned(), Token::shown);
        self.error(self.column(self.at), format!("expected {what}, found {found}"))
    }

    pub fn peek(&self) -> Option<&'l Token> {
        self.line.tokens.get(self.at).map(|(token, _)| token)
    }

    pub fn second(&self) -> Option<&'l Token> {
        self.line.tokens.get(self.at + 1).map(|(token, _)| token)
    }

    pub fn advance(&mut self) {
        self.at += 1;
    }

    pub fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(found)) if *found == sign)
    }

    /// Takes the sign if it is there.
    pub fn accept(&mut self, sign: &str) -> bool {
        let there = self.is_sign(sign);
        self.at += usize::from(there);
        there
    }

    pub fn sign(&mut self, sign: &str) -> Result<(), Error> {
        if self.accept(sign) { Ok(()) } else { Err(self.expected(&format!("`{sign}`"))) }
    }

    /// Takes the word if it is there.
    pub fn accept_word(&mut self, word: &str) -> bool {
        let there = matches!(self.peek(), Some(Token::Name(found)) if found == word);
        self.at += usize::from(there);
        there
    }

    pub fn word(&mut self, word: &str) -> Result<(), Error> {
        if self.accept_word(word) { Ok(()) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// A name, bare or in quotes.
    pub fn name(&mut self, what: &str) -> Result<String, Error> {
        match self.peek() {
            Some(Token::Name(name) | Token::Text(name)) => {
                self.at += 1;
                Ok(name.clone())
            }
            _ => Err(self.expected(what)),
        }
    }

    pub fn text(&mut self, what: &str) -> Result<String, Error> {
        match self.peek() {
            Some(Token::Text(text)) => {
                self.at += 1;
                Ok(text.clone())
            }
            _ => Err(self.expected(what)),
        }
    }

    pub fn register(&mut self) -> Result<String, Error> {
        match self.peek() {
            Some(Token::Register(name)) => {
                self.at += 1;
                Ok(name.clone())
            }
            _ => Err(self.expected("a register (`%name`)")),
        }
    }

    pub fn kind(&mut self) -> Result<Type, Error> {
        let what = "a type of values: bool, i8, i16, i32, i64, f32, f64, ref or thread";
        match self.peek() {
            Some(Token::Name(word)) if Type::from_word(word).is_some() => {
                self.at += 1;
                Ok(Type::from_word(word).unwrap_or(Type::I32))
            }
            _ => Err(self.expected(what)),
        }
    }

    pub fn order(&mut self) -> Result<Order, Error> {
        let what = "a memory order: relaxed, consume, acquire, release, acq_rel or seq_cst";
        match self.peek() {
            Some(Token::Name(word)) if Order::from_word(word).is_some() => {
                self.at += 1;
                Ok(Order::from_word(word).unwrap_or(Order::SeqCst))
            }
            _ => Err(self.expected(what)),
        }
    }

    pub fn integer(&mut self) -> Result<i64, Error> {
        match self.peek() {
            Some(Token::Integer(value)) => {
                self.at += 1;
                Ok(*value)
            }
            _ => Err(self.expected("a number")),
        }
    }

    /// A number that counts something.
    pub fn count(&mut self) -> Result<u32, Error> {
        let value = self.integer()?;
        u32::try_from(value).map_err(|_| self.before(format!("`{value}` is no count (0 to {})", u32::MAX)))
    }

    pub fn is_literal(&self) -> bool {
        match self.peek() {
            Some(Token::Integer(_) | Token::Float(_)) => true,
            Some(Token::Name(word)) => literal_word(word).is_some(),
            _ => false,
        }
    }

    pub fn literal(&mut self) -> Result<Literal, Error> {
        let literal = match self.peek() {
            Some(Token::Integer(value)) => Some(Literal::Integer(*value)),
            Some(Token::Float(value)) => Some(Literal::Float(*value)),
            Some(Token::Name(word)) => literal_word(word),
            _ => None,
        };
        match literal {
            Some(literal) => {
                self.at += 1;
                Ok(literal)
            }
            None => Err(self.expected("a constant: a number, true, false or null")),
        }
    }

    /// Nothing more on this line.
    pub fn end(&mut self) -> Result<(), Error> {
        if self.peek().is_none() { Ok(()) } else { Err(self.expected("the end of the line")) }
    }
}

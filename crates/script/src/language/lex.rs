//! Text to tokens, a line at a time: a statement is one line.

use super::error::Error;

#[derive(Clone, PartialEq, Debug)]
pub enum Token {
    /// `%name`
    Register(String),
    /// A bare name or word; dots belong to it.
    Name(String),
    /// In double quotes. Names that are no bare ones are written like this, too.
    Text(String),
    Integer(i64),
    Float(f64),
    /// `: , ( ) { } [ ] = @` or `->`
    Sign(&'static str),
}

impl Token {
    /// For messages.
    pub fn shown(&self) -> String {
        match self {
            Self::Register(name) => format!("`%{name}`"),
            Self::Name(name) => format!("`{name}`"),
            Self::Text(text) => format!("\"{text}\""),
            Self::Integer(value) => format!("`{value}`"),
            Self::Float(value) => format!("`{value:?}`"),
            Self::Sign(sign) => format!("`{sign}`"),
        }
    }
}

/// A line that says something.
#[derive(Clone, Debug)]
pub struct Line {
    pub number: u32,
    /// With the column that each begins in, from 1.
    pub tokens: Vec<(Token, u32)>,
    /// The column after the last one.
    pub end: u32,
}

const SIGNS: [&str; 11] = ["->", ":", ",", "(", ")", "{", "}", "[", "]", "=", "@"];

pub const fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '$'
}

pub const fn goes_on_name(c: char) -> bool {
    begins_name(c) || c.is_ascii_digit() || c == '.'
}

/// Lines without tokens are left out.
pub fn lines(file: &str, text: &str) -> Result<Vec<Line>, Error> {
    let mut lines = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let number = at as u32 + 1;
        let line = line_of(line, number).map_err(|(column, message)| Error {
            file: file.to_owned(),
            line: number,
            column,
            message,
        })?;
        if !line.tokens.is_empty() {
            lines.push(line);
        }
    }
    Ok(lines)
}

fn line_of(text: &str, number: u32) -> Result<Line, (u32, String)> {
    let mut reader = Reader { rest: text, column: 1 };
    let mut tokens = Vec::new();
    while let Some(token) = reader.token()? {
        tokens.push(token);
    }
    Ok(Line { number, tokens, end: reader.column })
}

struct Reader<'t> {
    rest: &'t str,
    column: u32,
}

impl<'t> Reader<'t> {
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.column += taken.chars().count() as u32;
        taken
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> &'t str {
        let end = self.rest.find(|c| !accept(c)).unwrap_or(self.rest.len());
        self.take(end)
    }

    fn token(&mut self) -> Result<Option<(Token, u32)>, (u32, String)> {
        self.take_while(char::is_whitespace);
        let column = self.column;
        let Some(first) = self.rest.chars().next().filter(|c| *c != '#') else { return Ok(None) };
        let token = match first {
            '%' => {
                self.take(1);
                match self.take_while(goes_on_name) {
                    "" => return Err((column, "expected the name of a register after `%`".into())),
                    name => Token::Register(name.to_owned()),
                }
            }
            '"' => Token::Text(self.text()?),
            c if begins_name(c) => Token::Name(self.take_while(goes_on_name).to_owned()),
            c if c.is_ascii_digit() => self.number(column)?,
            '-' if self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) => self.number(column)?,
            '-' if self.rest[1..].starts_with("inf") => {
                self.take(4);
                Token::Float(f64::NEG_INFINITY)
            }
            c => match SIGNS.iter().find(|sign| self.rest.starts_with(**sign)) {
                Some(sign) => {
                    self.take(sign.len());
                    Token::Sign(sign)
                }
                None => return Err((column, format!("`{c}` means nothing here"))),
            },
        };
        Ok(Some((token, column)))
    }

    fn text(&mut self) -> Result<String, (u32, String)> {
        let column = self.column;
        self.take(1);
        let mut text = String::new();
        loop {
            let Some(c) = self.rest.chars().next() else {
                return Err((column, "the text does not end on its line: a `\"` is missing".into()));
            };
            let at = self.column;
            self.take(c.len_utf8());
            match c {
                '"' => return Ok(text),
                '\\' => {
                    let escaped = self.rest.chars().next();
                    self.take(escaped.map_or(0, char::len_utf8));
                    text.push(match escaped {
                        Some('n') => '\n',
                        Some('t') => '\t',
                        Some('r') => '\r',
                        Some(c @ ('"' | '\\')) => c,
                        _ => return Err((at, "after `\\` comes one of n, t, r, \" and \\".into())),
                    });
                }
                c => text.push(c),
            }
        }
    }

    fn number(&mut self, column: u32) -> Result<Token, (u32, String)> {
        let sign = if self.rest.starts_with('-') { self.take(1) } else { "" };
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
        // `1e-7`
        let more = if word.ends_with(['e', 'E']) && !word.starts_with("0x") && self.rest.starts_with(['-', '+']) {
            let sign = self.take(1);
            format!("{sign}{}", self.take_while(|c| c.is_ascii_digit()))
        } else {
            String::new()
        };
        let word = format!("{sign}{word}{more}").replace('_', "");
        let wrong = || (column, format!("`{word}` is no number that fits into 64 bits"));
        if let Some(digits) = word.strip_prefix("0x") {
            return u64::from_str_radix(digits, 16).map(|value| Token::Integer(value as i64)).map_err(|_| wrong());
        }
        if word.contains(['.', 'e', 'E']) {
            return word.parse().map(Token::Float).map_err(|_| wrong());
        }
        word.parse().map(Token::Integer).map_err(|_| wrong())
    }
}

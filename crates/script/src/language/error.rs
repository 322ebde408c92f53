//! What is wrong with a text, and where.

use std::fmt;

/// One mistake. Its text names file, line and column, what is wrong, and what to write instead where that is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    pub file: String,
    pub line: u32,
    /// From 1; 0 if the whole line is meant.
    pub column: u32,
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            0 => write!(f, "{}:{}: {}", self.file, self.line, self.message),
            column => write!(f, "{}:{}:{column}: {}", self.file, self.line, self.message),
        }
    }
}

impl std::error::Error for Error {}

//! Operations and locks of an item. In memory they are values; reports have words for them, which are read back here
//! and nowhere else.

use std::fmt;

use reweave_model::OpName;
use serde::{Deserialize, Serialize};

/// What a thread does at an access.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Operation {
    Named(OpName),
    /// By the name of the lock.
    WaitForLock(String),
    /// For something else.
    WaitFor(String),
    /// The name of the signal that ended the run, or what a newer build writes.
    Other(String),
}

const WAIT: &str = "wait for ";
const LOCK: &str = "lock ";

impl Operation {
    /// What it waits for, in words: `lock account`.
    pub fn awaited(&self) -> Option<String> {
        match self {
            Self::WaitForLock(lock) => Some(format!("{LOCK}{lock}")),
            Self::WaitFor(what) => Some(what.clone()),
            Self::Named(_) | Self::Other(_) => None,
        }
    }

    /// The same with other names.
    #[must_use]
    pub(crate) fn map(&self, name: impl Fn(&String) -> String) -> Self {
        match self {
            Self::Named(op) => Self::Named(*op),
            Self::WaitForLock(lock) => Self::WaitForLock(name(lock)),
            Self::WaitFor(what) => Self::WaitFor(name(what)),
            Self::Other(text) => Self::Other(name(text)),
        }
    }
}

impl Default for Operation {
    fn default() -> Self {
        Self::Named(OpName::Unnamed)
    }
}

impl From<OpName> for Operation {
    fn from(name: OpName) -> Self {
        Self::Named(name)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name.name()),
            Self::WaitForLock(lock) => write!(f, "{WAIT}{LOCK}{lock}"),
            Self::WaitFor(what) => write!(f, "{WAIT}{what}"),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl From<Operation> for String {
    fn from(operation: Operation) -> Self {
        operation.to_string()
    }
}

impl From<String> for Operation {
    fn from(text: String) -> Self {
        match OpName::from_name(&text) {
            Some(name) => Self::Named(name),
            None => match text.strip_prefix(WAIT) {
                Some(what) => Self::waiting(what),
                None => Self::Other(text),
            },
        }
    }
}

impl Operation {
    fn waiting(what: &str) -> Self {
        match what.strip_prefix(LOCK) {
            Some(lock) => Self::WaitForLock(lock.into()),
            None => Self::WaitFor(what.into()),
        }
    }
}

/// A lock that a thread holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct HeldLock {
    pub name: String,
    /// Where it was taken: `bank.c:21 deposit`.
    pub taken: Option<String>,
    /// Others may hold it, too.
    pub shared: bool,
}

const TAKEN: &str = " (taken at ";
const TAKEN_SHARED: &str = " (shared, taken at ";

impl fmt::Display for HeldLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.taken {
            Some(place) if self.shared => write!(f, "{}{TAKEN_SHARED}{place})", self.name),
            Some(place) => write!(f, "{}{TAKEN}{place})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl From<HeldLock> for String {
    fn from(lock: HeldLock) -> Self {
        lock.to_string()
    }
}

impl From<String> for HeldLock {
    fn from(text: String) -> Self {
        for (words, shared) in [(TAKEN_SHARED, true), (TAKEN, false)] {
            let parts = text.split_once(words).and_then(|(name, place)| Some((name, place.strip_suffix(')')?)));
            if let Some((name, place)) = parts {
                return Self { name: name.into(), taken: Some(place.into()), shared };
            }
        }
        Self { name: text, taken: None, shared: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_back_as_they_were_written() {
        let all = OpName::ALL.iter().map(|&name| Operation::Named(name));
        let waits = [
            Operation::WaitForLock("account".into()),
            Operation::WaitForLock("account (shared)".into()),
            Operation::WaitFor("the end of thread 2".into()),
            Operation::Other("SIGABRT".into()),
        ];
        for operation in all.chain(waits) {
            assert_eq!(Operation::from(operation.to_string()), operation);
        }
        assert_eq!(Operation::from("wait".to_owned()), Operation::Named(OpName::Wait));
    }

    #[test]
    fn whatever_stands_in_a_report_stays() {
        for text in
            ["", "wait for ", "wait for lock ", "lock (taken at ", "a (taken at b) (taken at c)", "x) (taken at )"]
        {
            assert_eq!(Operation::from(text.to_owned()).to_string(), text);
            assert_eq!(HeldLock::from(text.to_owned()).to_string(), text);
        }
        let held = HeldLock::from("account (taken at bank.c:21 deposit)".to_owned());
        assert_eq!((held.name.as_str(), held.taken.as_deref()), ("account", Some("bank.c:21 deposit")));
        let shared = HeldLock::from("table (shared, taken at map.cpp:9 find)".to_owned());
        assert_eq!((shared.name.as_str(), shared.shared), ("table", true));
        assert_eq!(shared.to_string(), "table (shared, taken at map.cpp:9 find)");
    }
}

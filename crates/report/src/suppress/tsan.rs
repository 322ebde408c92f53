//! Suppression files of ThreadSanitizer, as its documentation describes them: `type:pattern`, where the pattern is
//! found anywhere in the name of a function or a file of a stack, or of the global variable that a race is on; `*`
//! stands for anything, `^` and `$` for the ends. `thread` is about threads that are never joined, `mutex` about other
//! misuse; `signal` and `called_from_lib` are about what has no counterpart here and cover nothing.

use reweave_model::Kind;

use super::pattern::glob;
use super::{Condition, Suppression};
use crate::data::{Item, Location};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Template {
    kind: Kind,
    /// Only the innermost frame counts.
    top: bool,
    /// Threads that are never joined.
    thread: bool,
    pattern: String,
    text: String,
}

/// The line, if it is one of ThreadSanitizer's; `Some(None)` for those without a counterpart.
pub fn template(line: &str) -> Option<Option<Template>> {
    let (kind, pattern) = line.split_once(':')?;
    let (kind, top, thread) = match kind {
        "race" => (Kind::Race, false, false),
        "race_top" => (Kind::Race, true, false),
        "deadlock" => (Kind::Deadlock, false, false),
        "thread" => (Kind::Misuse, false, true),
        "mutex" => (Kind::Misuse, false, false),
        "signal" | "called_from_lib" => return Some(None),
        _ => return None,
    };
    // `race: because` is one of ours that forgot what it is about.
    if pattern.is_empty() || pattern.starts_with(char::is_whitespace) {
        return None;
    }
    Some(Some(Template { kind, top, thread, pattern: pattern.to_owned(), text: line.to_owned() }))
}

impl Template {
    pub fn suppression(self, file: &str, line: usize) -> Suppression {
        let reason = format!("`{}` in {file}:{line}", self.text);
        Suppression { kind: Some(self.kind), conditions: vec![Condition::Tsan(self)], reason }
    }

    pub fn covers(&self, item: &Item) -> bool {
        if self.kind == Kind::Misuse && self.thread != item.facts.unjoined {
            return false;
        }
        let matches = |frame: &Location| self.matches(&frame.function) || self.matches(&frame.file);
        if self.kind == Kind::Race && item.facts.variable.as_ref().is_some_and(|name| self.matches(name)) {
            return true;
        }
        item.accesses.iter().any(|access| matches(access.innermost()) || !self.top && access.frames().any(matches))
    }

    fn matches(&self, name: &str) -> bool {
        let (from_start, pattern) = match self.pattern.strip_prefix('^') {
            Some(rest) => (true, rest),
            None => (false, self.pattern.as_str()),
        };
        let (to_end, pattern) = match pattern.strip_suffix('$') {
            Some(rest) => (true, rest),
            None => (false, pattern),
        };
        !name.is_empty() && glob(pattern, name, from_start, to_end)
    }
}

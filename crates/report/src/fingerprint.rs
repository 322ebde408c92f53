//! What makes two findings the same bug, in another run, in another build, and after lines were added above it: the
//! kind, and for each access the file's name, the function, what it does (and in which function of a library) and the
//! *text* of the source line. Line numbers count only where the source cannot be read.
//!
//! A line that stands several times in a function is told apart by its number among them. Changing the text of the
//! line, or renaming the function or the file, makes it another finding.

use reweave_model::Kind;

use crate::data::{AccessItem, Location};
use crate::describe::file_name;
use crate::source::Sources;

thread_local! {
    // Many findings are in few files.
    static SOURCES: Sources = Sources::default();
}

/// The identity of a finding, in no order of its accesses.
pub fn fingerprint(kind: Kind, accesses: &[AccessItem]) -> String {
    SOURCES.with(|sources| fingerprint_in(kind, accesses, sources))
}

pub fn fingerprint_in(kind: Kind, accesses: &[AccessItem], sources: &Sources) -> String {
    let part = |access: &AccessItem| {
        let Location { file, function, .. } = &access.location;
        // Which thread it is about is another one from run to run.
        let op = access.op.to_string();
        let op = op.trim_end_matches(|c: char| c.is_ascii_digit());
        // A line may call several functions of a library.
        let called = access.library_function().map_or(String::new(), |name| format!(":{}", base_name(name)));
        format!("{}:{}:{function}:{op}{called}", file_name(file), line_identity(&access.location, sources))
    };
    let mut parts: Vec<String> = accesses.iter().map(part).collect();
    parts.sort();
    if kind == Kind::Failure {
        // How many threads wait at the same place does not matter.
        parts.dedup();
    }
    hash(&format!("{kind}|{}", parts.join("|")))
}

/// The text of a line and its number among the equal ones of its function, or its number in the file.
fn line_identity(location: &Location, sources: &Sources) -> String {
    let lines = sources.lines(&location.file);
    let index = (location.line as usize).wrapping_sub(1);
    let text =
        lines.as_ref().and_then(|lines| lines.get(index)).map(|line| normal(line)).filter(|text| !text.is_empty());
    let (Some(text), Some(lines)) = (text, lines) else { return location.line.to_string() };
    let name = base_name(&location.function);
    let begins = |line: &String| !name.is_empty() && calls(line, name);
    let start = lines[..index].iter().rposition(begins).unwrap_or(0);
    let nth = lines[start..index].iter().filter(|line| normal(line) == text).count();
    format!("{text}#{nth}")
}

/// Without the white space and the comments that formatting changes.
fn normal(line: &str) -> String {
    let code = line.split_once("//").map_or(line, |(code, _)| code);
    let code = if code.trim().is_empty() { line } else { code };
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `pop` for `Queue<int>::pop(int) const`
fn base_name(function: &str) -> &str {
    let (mut depth, mut start, mut end) = (0u32, 0, function.len());
    for (at, c) in function.char_indices() {
        match c {
            '<' => {
                // The arguments of a template function end its name.
                end = if depth == 0 { at } else { end };
                depth += 1;
            }
            '>' => depth = depth.saturating_sub(1),
            ':' | ' ' | '~' if depth == 0 => (start, end) = (at + 1, function.len()),
            '(' if depth == 0 => {
                end = end.min(at);
                break;
            }
            _ => {}
        }
    }
    function.get(start..end).unwrap_or(function)
}

/// Whether `name(` stands in the line as a word of its own: the head of the function, most of the time.
fn calls(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + name.len()..].trim_start();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_') && after.starts_with('(')
    })
}

/// FNV-1a: the same in every build.
fn hash(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BANK: &str = "int balance;\n\nvoid deposit(int n) {\n    balance += n; // (1)\n    balance += n;\n}\n";

    fn of(source: &'static str, lines: [u32; 2]) -> String {
        let sources = Sources::new(move |path| (path == "/src/bank.c").then(|| source.to_owned()));
        let access = |line| AccessItem {
            thread: 1,
            op: reweave_model::OpName::Write.into(),
            location: Location { file: "/src/bank.c".into(), line, function: "deposit".into() },
            ..AccessItem::default()
        };
        fingerprint_in(Kind::Race, &lines.map(access), &sources)
    }

    #[test]
    fn lines_above_do_not_matter() {
        let shifted = "// a new comment\n#include <stdio.h>\nint balance;\n\nvoid deposit(int n) {\n  balance  += n;\n  balance += n;\n}\n";
        assert_eq!(of(BANK, [4, 5]), of(shifted, [6, 7]));
    }

    #[test]
    fn equal_lines_of_a_function_are_distinguished() {
        assert_ne!(of(BANK, [4, 4]), of(BANK, [4, 5]));
        assert_ne!(of(BANK, [4, 4]), of(BANK, [5, 5]));
        assert_eq!(of(BANK, [4, 5]), of(BANK, [5, 4]), "in no order");
    }

    #[test]
    fn another_text_is_another_finding() {
        assert_ne!(of(BANK, [4, 4]), of("int balance;\n\nvoid deposit(int n) {\n    balance -= n;\n}\n", [4, 4]));
    }

    #[test]
    fn without_the_source_the_line_counts() {
        let none = "";
        assert_ne!(of(none, [4, 4]), of(none, [5, 5]));
        assert_eq!(of(none, [4, 5]), of(none, [5, 4]));
    }

    #[test]
    fn names_of_functions() {
        assert_eq!(base_name("Queue<int>::pop(int) const"), "pop");
        assert_eq!(base_name("void twice<int>(int)"), "twice");
        assert_eq!(base_name("ns::Queue::pop(int)"), "pop");
        assert_eq!(base_name("main"), "main");
        assert!(calls("static void *withdraw (void *unused) {", "withdraw"));
        assert!(!calls("rewithdraw(1)", "withdraw"));
    }
}

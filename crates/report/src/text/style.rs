//! How text is set: colours, width, and how much is told.

use std::io::{self, IsTerminal};

/// How much is told.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Detail {
    /// Only how many.
    Quiet,
    /// Confirmed findings in full, predicted ones in a line.
    Normal,
    /// Every finding, with every caller.
    Full,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Style {
    pub colour: bool,
    /// Columns of the terminal; none where nobody looks at columns.
    pub width: Option<usize>,
    pub detail: Detail,
}

/// Narrower terminals get lines that are too long rather than unreadable ones.
const NARROWEST: usize = 40;

impl Style {
    /// For files and pipes.
    pub const PLAIN: Self = Self { colour: false, width: None, detail: Detail::Normal };

    /// Colours and width if stderr is a terminal; no colours if NO_COLOR is set or the terminal has none.
    pub fn for_stderr() -> Self {
        Self::of_terminal(io::stderr().is_terminal(), terminal_size::terminal_size_of(io::stderr()))
    }

    /// The same for stdout.
    pub fn for_stdout() -> Self {
        Self::of_terminal(io::stdout().is_terminal(), terminal_size::terminal_size_of(io::stdout()))
    }

    fn of_terminal(terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> Self {
        let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_none_or(|terminal| terminal.is_empty() || terminal == "dumb");
        let width = size.filter(|_| terminal).map(|(width, _)| usize::from(width.0).max(NARROWEST));
        Self { colour: terminal && !no_colour, width, detail: Detail::Normal }
    }

    #[must_use]
    pub const fn with_detail(mut self, detail: Detail) -> Self {
        self.detail = detail;
        self
    }

    pub(super) fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Cuts what would not fit behind `indent` columns.
    pub(super) fn cut(self, text: &str, indent: usize) -> String {
        let Some(width) = self.width else { return text.to_owned() };
        let room = width.saturating_sub(indent).max(10);
        match text.char_indices().nth(room) {
            Some(_) => text.chars().take(room - 1).chain(['…']).collect(),
            None => text.to_owned(),
        }
    }

    /// Breaks a line between words, further lines behind `indent` spaces.
    pub fn wrap(self, text: &str, indent: usize) -> String {
        let Some(width) = self.width else { return text.to_owned() };
        let (mut out, mut column) = (String::new(), 0);
        for (number, word) in text.split(' ').enumerate() {
            let length = shown_length(word);
            // What fits on no line is broken, a path or a name without spaces: colours are left alone.
            if length > width.saturating_sub(indent) && !word.contains('\x1b') {
                let room = width.saturating_sub(indent).max(1);
                for (part, letters) in word.chars().collect::<Vec<_>>().chunks(room).enumerate() {
                    if number + part > 0 {
                        out.push('\n');
                        out.push_str(&" ".repeat(indent));
                    }
                    out.extend(letters);
                    column = indent + letters.len();
                }
                continue;
            }
            if number > 0 && column + 1 + length > width && column > indent {
                out.push('\n');
                out.push_str(&" ".repeat(indent));
                column = indent;
            } else if number > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += length;
        }
        out
    }
}

/// Names longer than this are folded.
const LONG_NAME: usize = 60;

/// A long name without what stands in its brackets: `std::vector<…>::push_back`.
pub(crate) fn folded(name: &str) -> String {
    if name.chars().count() <= LONG_NAME || name.contains("operator") {
        return name.to_owned();
    }
    let (mut out, mut depth) = (String::new(), 0u32);
    for c in name.chars() {
        if c == '>' {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            out.push(c);
        }
        if c == '<' {
            if depth == 0 {
                out.push('…');
            }
            depth += 1;
        }
    }
    out
}

/// Characters that take a column: colours take none.
fn shown_length(word: &str) -> usize {
    let mut inside = false;
    let shown = word.chars().filter(|&c| {
        let counts = !inside && c != '\x1b';
        inside = c == '\x1b' || inside && c != 'm';
        counts
    });
    shown.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NARROW: Style = Style { colour: false, width: Some(40), detail: Detail::Normal };

    #[test]
    fn lines_are_wrapped_between_words_with_a_hanging_indent() {
        let text = "  (1) read by thread 2 at a/long/path/to/bank.c:15 in withdraw";
        let wrapped = NARROW.wrap(text, 8);
        assert!(wrapped.lines().all(|line| line.chars().count() <= 40), "{wrapped}");
        assert!(wrapped.lines().skip(1).all(|line| line.starts_with("        ") && !line.starts_with("         ")));
        assert_eq!(wrapped.split_whitespace().collect::<Vec<_>>(), text.split_whitespace().collect::<Vec<_>>());
        assert_eq!(Style::PLAIN.wrap(text, 8), text, "nobody looks at columns");
    }

    #[test]
    fn what_fits_on_no_line_is_broken() {
        let wrapped = NARROW.wrap(&format!("  at {}:12 in f", "a/very/long/path".repeat(6)), 8);
        assert!(wrapped.lines().all(|line| line.chars().count() <= 40), "{wrapped}");
    }

    #[test]
    fn long_names_are_folded() {
        let name = "std::_Hashtable<int, std::pair<const int, std::string>, std::allocator<int> >::find";
        assert_eq!(folded(name), "std::_Hashtable<…>::find");
        assert_eq!(folded("std::vector<int>::push_back"), "std::vector<int>::push_back", "short enough");
        let operator = format!("operator<< <{}>", "char, ".repeat(20));
        assert_eq!(folded(&operator), operator, "no brackets");
    }

    #[test]
    fn colours_take_no_columns() {
        assert_eq!(shown_length("\x1b[1;31mrace\x1b[0m"), 4);
    }

    #[test]
    fn long_source_lines_are_cut() {
        assert_eq!(NARROW.cut(&"x".repeat(100), 10).chars().count(), 30);
        assert_eq!(NARROW.cut("short", 10), "short");
    }
}

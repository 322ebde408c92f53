//! The lines of source files, read at most once each. A file that is gone, or no text, has no lines: everything works
//! without, and shows places by number.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Larger files are no source that people wrote.
const LARGEST: u64 = 16 << 20;

type Lines = Rc<[String]>;
/// Gives the text of a file, if there is one.
type Read = dyn Fn(&str) -> Option<String>;

/// Source files by path.
pub struct Sources {
    read: Box<Read>,
    files: RefCell<HashMap<String, Option<Lines>>>,
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").field("files", &self.files.borrow().len()).finish()
    }
}

impl Default for Sources {
    fn default() -> Self {
        Self::new(|path| {
            let size = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.len();
            // Sources in another encoding than UTF-8 still have lines.
            let bytes = (size <= LARGEST).then(|| std::fs::read(path).ok()).flatten()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        })
    }
}

impl Sources {
    /// Reads files in another way than from disk.
    pub fn new(read: impl Fn(&str) -> Option<String> + 'static) -> Self {
        Self { read: Box::new(read), files: RefCell::default() }
    }

    /// All lines of a file; none if it cannot be read.
    pub fn lines(&self, path: &str) -> Option<Lines> {
        if path.is_empty() {
            return None;
        }
        if let Some(known) = self.files.borrow().get(path) {
            return known.clone();
        }
        let lines = (self.read)(path).map(|text| text.lines().map(str::to_owned).collect::<Lines>());
        self.files.borrow_mut().insert(path.to_owned(), lines.clone());
        lines
    }

    /// One line, counted from 1.
    pub fn line(&self, path: &str, line: u32) -> Option<String> {
        let index = (line as usize).checked_sub(1)?;
        self.lines(path)?.get(index).cloned()
    }

    /// The lines around one, with their numbers.
    pub fn around(&self, path: &str, line: u32, context: u32) -> Vec<(u32, String)> {
        let Some(lines) = self.lines(path) else { return Vec::new() };
        let first = line.saturating_sub(context).max(1);
        let numbered = (first..=line.saturating_add(context)).map(|n| (n, lines.get(n as usize - 1)));
        numbered.filter_map(|(n, text)| Some((n, text?.clone()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_from_one_and_end_with_the_file() {
        let sources = Sources::new(|path| (path == "a.c").then(|| "one\ntwo\nthree".to_owned()));
        assert_eq!(sources.line("a.c", 1).as_deref(), Some("one"));
        assert_eq!(sources.line("a.c", 0), None);
        assert_eq!(sources.line("a.c", 4), None);
        assert_eq!(sources.line("b.c", 1), None);
        let around: Vec<u32> = sources.around("a.c", 3, 1).into_iter().map(|(n, _)| n).collect();
        assert_eq!(around, [2, 3]);
        assert_eq!(sources.around("a.c", u32::MAX, 2), []);
    }
}

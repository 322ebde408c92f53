//! Where something happens, for people: in the first code that is theirs. An access inside `std::vector::push_back` is
//! told at the line that calls it, with the library's own frames beside it, and a stack ends where the program's own
//! code does: neither what starts the program nor what starts a thread says anything about a bug.

use reweave_model::Pc;
use reweave_trace::{Language, Symbols};

use crate::data::Location;
use crate::describe::Describer;

/// Deeper stacks are cut: nobody reads them.
const DEEPEST: usize = 32;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placed {
    pub at: Location,
    /// The frames of libraries in which it really happens, innermost first.
    pub through: Vec<Location>,
    /// The callers, innermost first.
    pub stack: Vec<Location>,
}

impl Placed {
    /// From a code address and the return addresses of its callers. Without a frame of the user's it is the innermost
    /// one.
    pub fn new(pc: Pc, callers: impl Iterator<Item = Pc>, describer: Describer<'_>) -> Self {
        let mut frames = frames(pc, describer.symbols);
        frames.extend(Self::callers(callers, describer));
        Self::of(frames, describer.language)
    }

    /// The frames of return addresses.
    pub fn callers(callers: impl Iterator<Item = Pc>, describer: Describer<'_>) -> impl Iterator<Item = Location> {
        let Describer { symbols, language, .. } = describer;
        // Our runtime starts every thread, but is no part of the program.
        let ours = |pc: &Pc| {
            let module = symbols.module_of(pc.0);
            module.is_some_and(|module| language.runtime_modules.iter().any(|runtime| module.name() == runtime))
        };
        callers.filter(move |pc| !ours(pc)).take(DEEPEST).flat_map(|pc| frames(pc, symbols))
    }

    /// From all frames, innermost first.
    fn of(mut frames: Vec<Location>, language: &Language) -> Self {
        let own = |frame: &Location| frame.line != 0 && !language.is_library(&frame.file);
        let Some(first) = frames.iter().position(own) else {
            let at = if frames.is_empty() { Location::default() } else { frames.remove(0) };
            return Self { at, through: Vec::new(), stack: frames };
        };
        let last = frames.iter().rposition(own).unwrap_or(first);
        // What a library does before the entry can have source, too, where its debug information is installed.
        let last = frames.iter().position(|frame| own(frame) && frame.function == language.entry).unwrap_or(last);
        frames.truncate(last.max(first) + 1);
        let mut rest = frames.split_off(first);
        let at = rest.remove(0);
        Self { at, through: frames, stack: rest }
    }

    /// The function that the thread, or the program, began in.
    pub fn outermost(&self) -> &Location {
        self.stack.last().unwrap_or(&self.at)
    }
}

/// The inline chain at a code address, innermost first.
pub fn frames(pc: Pc, symbols: &Symbols) -> Vec<Location> {
    let frames = symbols.frames(pc);
    frames.map(|f| Location { file: f.file.into(), line: f.line, function: f.function.into() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(frames: Vec<Location>) -> Placed {
        Placed::of(frames, &Language::of_older_traces())
    }

    fn frame(file: &str, line: u32, function: &str) -> Location {
        Location { file: file.into(), line, function: function.into() }
    }

    #[test]
    fn the_users_line_is_the_place() {
        let placed = placed(vec![
            frame("/usr/include/c++/12/bits/vector.tcc", 516, "std::vector<int>::_M_realloc_insert"),
            frame("/usr/include/c++/12/bits/stl_vector.h", 1287, "std::vector<int>::push_back"),
            frame("/src/queue.cpp", 16, "Queue::put"),
            frame("/usr/include/c++/12/bits/stl_algo.h", 4, "std::for_each"),
            frame("/src/queue.cpp", 30, "fill"),
            frame("/usr/include/c++/12/bits/invoke.h", 61, "std::__invoke"),
            frame("", 0, "execute_native_thread_routine"),
        ]);
        assert_eq!((placed.at.line, placed.at.function.as_str()), (16, "Queue::put"));
        assert_eq!(placed.through.last().map(|frame| frame.function.as_str()), Some("std::vector<int>::push_back"));
        let stack: Vec<&str> = placed.stack.iter().map(|frame| frame.function.as_str()).collect();
        assert_eq!(stack, ["std::for_each", "fill"], "what lies between stays, what starts the thread goes");
        assert_eq!(placed.outermost().function, "fill");
    }

    #[test]
    fn nothing_below_main() {
        let placed = placed(vec![
            frame("/src/bank.c", 7, "pay"),
            frame("/src/bank.c", 20, "main"),
            frame("../start/call_main.h", 58, "call_main"),
            frame("", 0, "init_first"),
        ]);
        assert_eq!(placed.stack, [frame("/src/bank.c", 20, "main")]);
    }

    #[test]
    fn without_lines_the_innermost_is_the_place() {
        let placed = placed(vec![frame("", 0, "put"), frame("", 0, "main")]);
        assert_eq!((placed.at.function.as_str(), placed.stack.len()), ("put", 1));
        assert_eq!(Placed::of(Vec::new(), &Language::default()), Placed::default());
    }
}

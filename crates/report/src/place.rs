//! Where something happens, for people: in the first code that is theirs. An access inside `std::vector::push_back` is told at the
//! line that calls it, with the library's own frames beside it, and a stack ends where the program's own code does: neither what
//! starts `main` nor what starts a thread says anything about a bug.

use reweave_model::Pc;
use reweave_trace::Symbols;

use crate::data::Location;

/// Deeper stacks are cut: nobody reads them.
const DEEPEST: usize = 32;

/// Where compilers and distributions keep the headers that are not the user's.
const LIBRARIES: [&str; 4] = ["/usr/include/", "/usr/lib/", "/usr/local/include/", "/rustc/"];

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placed {
    pub at: Location,
    /// The frames of libraries in which it really happens, innermost first.
    pub through: Vec<Location>,
    /// The callers, innermost first.
    pub stack: Vec<Location>,
}

impl Placed {
    /// From a code address and the return addresses of its callers. Without a frame of the user's it is the innermost one.
    pub fn new(pc: Pc, callers: impl Iterator<Item = Pc>, symbols: &Symbols) -> Self {
        let mut frames = frames(pc, symbols);
        frames.extend(Self::callers(callers, symbols));
        Self::of(frames)
    }

    /// The frames of return addresses.
    pub fn callers(callers: impl Iterator<Item = Pc>, symbols: &Symbols) -> impl Iterator<Item = Location> {
        // Our runtime starts every thread, but is no part of the program.
        let ours = |pc: &Pc| symbols.module_of(pc.0).is_some_and(|module| module.name() == "libreweave_runtime.so");
        callers.filter(move |pc| !ours(pc)).take(DEEPEST).flat_map(|pc| frames(pc, symbols))
    }

    /// From all frames, innermost first.
    fn of(mut frames: Vec<Location>) -> Self {
        let own = |frame: &Location| frame.line != 0 && !is_library(&frame.file);
        let Some(first) = frames.iter().position(own) else {
            let at = if frames.is_empty() { Location::default() } else { frames.remove(0) };
            return Self { at, through: Vec::new(), stack: frames };
        };
        let last = frames.iter().rposition(own).unwrap_or(first);
        // What libc does before `main` can have source, too, where its debug information is installed.
        let last = frames.iter().position(|frame| own(frame) && frame.function == "main").unwrap_or(last);
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

/// Whether a file belongs to a library: a header of the compiler or the system, wherever the compiler is installed.
pub fn is_library(file: &str) -> bool {
    LIBRARIES.iter().any(|folder| file.starts_with(folder)) || file.contains("/include/c++/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(file: &str, line: u32, function: &str) -> Location {
        Location { file: file.into(), line, function: function.into() }
    }

    #[test]
    fn the_users_line_is_the_place() {
        let placed = Placed::of(vec![
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
        let placed = Placed::of(vec![
            frame("/src/bank.c", 7, "pay"),
            frame("/src/bank.c", 20, "main"),
            frame("../sysdeps/nptl/libc_start_call_main.h", 58, "__libc_start_call_main"),
            frame("", 0, "__libc_init_first"),
        ]);
        assert_eq!(placed.stack, [frame("/src/bank.c", 20, "main")]);
    }

    #[test]
    fn without_lines_the_innermost_is_the_place() {
        let placed = Placed::of(vec![frame("", 0, "put"), frame("", 0, "main")]);
        assert_eq!((placed.at.function.as_str(), placed.stack.len()), ("put", 1));
        assert_eq!(Placed::of(Vec::new()), Placed::default());
    }
}

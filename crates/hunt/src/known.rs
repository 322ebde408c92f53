//! What an analysis of the program's text says about reads, by lines: which to try first, and which cannot differ.

use std::collections::HashSet;

use reweave_model::Pc;
use reweave_report::describe;
use reweave_trace::Trace;

/// File (without folders) and line.
pub type Line = (String, u32);

#[derive(Clone, Debug, Default)]
pub struct KnownReads {
    /// May see another write: tried first.
    pub doubtful: HashSet<Line>,
    /// Every read there always sees the same write: no other one is looked for.
    pub fixed: HashSet<Line>,
}

impl KnownReads {
    pub fn is_empty(&self) -> bool {
        self.doubtful.is_empty() && self.fixed.is_empty()
    }

    fn has(lines: &HashSet<Line>, trace: &Trace, pc: Pc) -> bool {
        if lines.is_empty() {
            return false;
        }
        let place = trace.symbols().place(pc);
        lines.contains(&(describe::file_name(&place.file).to_owned(), place.line))
    }

    pub fn is_fixed(&self, trace: &Trace, pc: Pc) -> bool {
        Self::has(&self.fixed, trace, pc)
    }

    pub fn is_doubtful(&self, trace: &Trace, pc: Pc) -> bool {
        Self::has(&self.doubtful, trace, pc)
    }
}

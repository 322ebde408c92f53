//! What addresses mean: source positions of code, names of global variables, and facts about the code itself. Stored
//! with the trace, so that it can be analysed away from the program. A front end fills the tables ([`SymbolsBuilder`]);
//! where it has that from is nothing this crate knows.

mod build;
mod data;
mod facts;
mod locals;
mod store;
mod types;

use reweave_model::{Addr, Pc, Place};

pub use build::SymbolsBuilder;
pub use facts::Facts;
pub use locals::FrameAccess;
pub use types::{Shape, TypeId};

/// Code that was mapped during the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Module {
    pub path: String,
    pub base: u64,
    pub size: u64,
    /// Run-time address minus file address.
    pub bias: u64,
}

impl Module {
    pub fn contains(&self, address: u64) -> bool {
        address.wrapping_sub(self.base) < self.size
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// One frame of the inline chain at a code address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame<'a> {
    pub function: &'a str,
    /// Empty without debug information.
    pub file: &'a str,
    /// 0 if not known.
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct StoredFrame {
    function: u32,
    file: u32,
    line: u32,
    column: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Variable {
    address: u64,
    size: u64,
    name: u32,
}

/// A global variable and where in it an address lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VariableAt<'a> {
    pub name: &'a str,
    pub address: Addr,
    pub size: u64,
    pub offset: u64,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Symbols {
    modules: Vec<Module>,
    strings: Vec<String>,
    // invariant: sorted, no two equal; `ends` has one entry for each
    pcs: Vec<Pc>,
    /// Where the frames of each pc end in `frames`; they start where the ones before end.
    ends: Vec<u32>,
    /// Innermost first.
    frames: Vec<StoredFrame>,
    // invariant: sorted by address
    variables: Vec<Variable>,
    facts: Facts,
    data: data::Data,
    types: types::Types,
    // invariant: sorted by pc, no two equal
    accessed: Vec<(Pc, u32)>,
    locals: locals::Locals,
}

impl Symbols {
    pub fn is_empty(&self) -> bool {
        self.pcs.is_empty() && self.variables.is_empty()
    }

    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// The module a code address lies in; where several were mapped there over time, the last one.
    pub fn module_of(&self, address: u64) -> Option<&Module> {
        self.modules.iter().rev().find(|module| module.contains(address))
    }

    /// The inline chain at a code address as recorded (a return address), innermost first.
    pub fn frames(&self, pc: Pc) -> impl ExactSizeIterator<Item = Frame<'_>> + DoubleEndedIterator {
        let range = match self.pcs.binary_search(&pc) {
            Ok(i) => (if i == 0 { 0 } else { self.ends[i - 1] as usize })..self.ends[i] as usize,
            Err(_) => 0..0,
        };
        self.frames[range].iter().map(|frame| Frame {
            function: self.string(frame.function),
            file: self.string(frame.file),
            line: frame.line,
            column: frame.column,
        })
    }

    /// The innermost source position; a bare address if nothing is known.
    pub fn place(&self, pc: Pc) -> Place {
        match self.frames(pc).next() {
            Some(frame) => Place { file: frame.file.into(), line: frame.line, function: frame.function.into() },
            None => Place { function: format!("{:#x}", pc.0), ..Place::default() },
        }
    }

    /// The global variable that an address belongs to.
    pub fn variable(&self, addr: Addr) -> Option<VariableAt<'_>> {
        let end = self.variables.partition_point(|variable| variable.address <= addr.0);
        // Aliases and nested symbols share addresses: the last one that still reaches so far.
        let variable = self.variables[..end].iter().rev().take(8).find(|v| addr.0 - v.address < v.size.max(1))?;
        Some(VariableAt {
            name: self.string(variable.name),
            address: Addr(variable.address),
            size: variable.size,
            offset: addr.0 - variable.address,
        })
    }

    /// What lies that far from the beginning of a variable: `.queue.head`, `[3].id`.
    pub fn part_of_variable(&self, variable: &VariableAt<'_>) -> Option<String> {
        self.types.in_variable(variable.address, variable.offset)
    }

    /// The type of what is allocated at a code position, and what lies that far from the beginning of a block.
    pub fn part_of_block(&self, pc: Pc, size: u64, offset: u64) -> Option<(&str, String)> {
        self.types.in_block(pc, size, offset)
    }

    /// What the code at an address (a return address) reads or writes, for languages whose code says so.
    pub fn accessed(&self, pc: Pc) -> Option<&str> {
        let at = self.accessed.binary_search_by_key(&pc, |(own, _)| *own).ok()?;
        Some(self.string(self.accessed[at].1))
    }

    /// Where the code at an address (a return address) accesses the frame of its function.
    pub fn frame_access(&self, pc: Pc) -> Option<FrameAccess> {
        self.locals.at(pc)
    }

    /// The variable at a place of a frame, with its part: `main::bank.accounts[2]`.
    pub fn in_frame(&self, place: FrameAccess) -> Option<String> {
        let (name, of, offset) = self.locals.there(place.frame, place.offset)?;
        let part = self.types.path(of, offset)?;
        Some(format!("{}{part}", self.string(name)))
    }

    /// What the code itself tells about pairs of events and about accesses.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// What a global variable held before the program ran.
    pub fn initial(&self, addr: Addr, len: usize) -> Option<Vec<u8>> {
        self.data.at(addr.0, len)
    }

    /// Whether [`initial`](Self::initial) knows any of these bytes.
    pub fn has_initial(&self, addr: Addr, len: u64) -> bool {
        self.data.overlaps(addr.0, len)
    }

    fn string(&self, id: u32) -> &str {
        self.strings.get(id as usize).map_or("", String::as_str)
    }
}

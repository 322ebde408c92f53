//! Symbol tables are filled here, by whichever front end knows the program.

use std::collections::{BTreeMap, HashMap};

use reweave_model::{Addr, Pc, Place};

use super::locals::FrameAccess;
use super::types::{Shape, TypeId};
use super::{Frame, Module, StoredFrame, Symbols, Variable};

#[derive(Default)]
struct Strings {
    ids: HashMap<String, u32>,
    all: Vec<String>,
}

impl Strings {
    fn id(&mut self, string: &str) -> u32 {
        if let Some(&id) = self.ids.get(string) {
            return id;
        }
        let id = self.all.len() as u32;
        self.all.push(string.to_owned());
        self.ids.insert(string.to_owned(), id);
        id
    }
}

/// Symbols in the making. Everything may come in any order; what is left out is unknown, which is sound.
pub struct SymbolsBuilder {
    symbols: Symbols,
    strings: Strings,
    chains: BTreeMap<Pc, Vec<StoredFrame>>,
}

impl SymbolsBuilder {
    /// `modules`: the code of the process, as its trace has it.
    pub fn new(modules: &[Module]) -> Self {
        let mut strings = Strings::default();
        // Id 0 is the empty string.
        strings.id("");
        let symbols = Symbols { modules: modules.to_vec(), ..Symbols::default() };
        Self { symbols, strings, chains: BTreeMap::new() }
    }

    /// What a code address as recorded (a return address) stands for: the functions that were put into each other
    /// there, innermost first.
    pub fn frames<'f>(&mut self, pc: Pc, chain: impl IntoIterator<Item = Frame<'f>>) {
        let strings = &mut self.strings;
        let stored = chain.into_iter().map(|frame| StoredFrame {
            function: strings.id(frame.function),
            file: strings.id(frame.file),
            line: frame.line,
            column: frame.column,
        });
        self.chains.insert(pc, stored.collect());
    }

    /// A global variable.
    pub fn variable(&mut self, address: Addr, size: u64, name: &str) {
        let name = self.strings.id(name);
        self.symbols.variables.push(Variable { address: address.0, size, name });
    }

    /// A type whose parts were added before.
    pub fn data_type(&mut self, name: &str, size: u64, shape: Shape) -> TypeId {
        self.symbols.types.add(name, size, shape)
    }

    pub fn size_of_type(&self, of: TypeId) -> Option<u64> {
        self.symbols.types.size(of)
    }

    pub fn name_of_type(&self, of: TypeId) -> Option<&str> {
        self.symbols.types.name(of)
    }

    /// What lies that far from the beginning of something of a type: `.queue.head`, `[3].id`; empty: all of it.
    pub fn part_of_type(&self, of: TypeId, offset: u64) -> Option<String> {
        self.symbols.types.path(of, offset)
    }

    /// What the variable that begins there is made of.
    pub fn variable_type(&mut self, address: Addr, of: TypeId) {
        self.symbols.types.of_variable(address, of);
    }

    /// What is allocated by the code at an address: one of these, or several.
    pub fn allocated_type(&mut self, pc: Pc, of: TypeId) {
        self.symbols.types.of_allocation(pc, of);
    }

    /// What the code at an address (a return address) reads or writes, whichever object it does that to: `Account.balance`.
    pub fn accessed(&mut self, pc: Pc, name: &str) {
        let name = self.strings.id(name);
        self.symbols.accessed.push((pc, name));
    }

    /// A function whose frame has these variables as long as it is there: where they lie, from where the frame of the
    /// caller ends, what they take, how they are called, and their types. Returns the number of the frame.
    pub fn frame(&mut self, variables: impl IntoIterator<Item = (i64, u64, String, TypeId)>) -> u32 {
        let frame = self.symbols.locals.new_frame();
        for (offset, size, name, of) in variables {
            let name = self.strings.id(&name);
            self.symbols.locals.variable(frame, offset, size, name, of);
        }
        frame
    }

    /// Where the code at an address (a return address) accesses the frame of its function.
    pub fn frame_access(&mut self, pc: Pc, access: FrameAccess) {
        self.symbols.locals.access(pc, access);
    }

    /// What the code at an address tells: `block` numbers stretches of code, from 1, that control can leave only at
    /// their end; `constant`: the operand comes from the code alone. See [`Facts`](super::Facts).
    pub fn code(&mut self, pc: Pc, block: u32, constant: bool) {
        self.symbols.facts.add(pc, block, constant);
    }

    /// What some memory held before the program ran: these bytes, or zeros if there are none. No two pieces may
    /// overlap.
    pub fn initial_data(&mut self, start: Addr, size: u64, bytes: Vec<u8>) {
        assert!(bytes.is_empty() || bytes.len() as u64 == size, "zeros, or all of the bytes");
        self.symbols.data.add(start.0, size, bytes);
    }

    pub fn build(self) -> Symbols {
        let Self { mut symbols, strings, chains } = self;
        for (pc, chain) in chains {
            symbols.frames.extend_from_slice(&chain);
            symbols.pcs.push(pc);
            symbols.ends.push(symbols.frames.len() as u32);
        }
        symbols.variables.sort_by_key(|variable| (variable.address, std::cmp::Reverse(variable.size)));
        symbols.variables.dedup_by_key(|variable| (variable.address, variable.size));
        symbols.accessed.sort_unstable();
        symbols.accessed.dedup_by_key(|(pc, _)| *pc);
        symbols.locals.sort();
        symbols.data.sort();
        symbols.strings = strings.all;
        symbols
    }
}

impl Symbols {
    /// Symbols that are known already: for traces that come from elsewhere.
    pub fn from_places(places: impl IntoIterator<Item = (Pc, Place)>) -> Self {
        let mut symbols = SymbolsBuilder::new(&[]);
        for (pc, place) in places {
            symbols.frames(pc, [Frame { function: &place.function, file: &place.file, line: place.line, column: 0 }]);
        }
        symbols.build()
    }
}

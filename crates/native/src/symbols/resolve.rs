//! Symbols from the program's files: DWARF where there is some, the symbol table otherwise.

use std::collections::HashMap;
use std::path::Path;

use addr2line::Loader;
use object::{Object, ObjectSymbol, SymbolKind};
use reweave_model::{Addr, Pc};
use reweave_trace::{Frame, Module, Symbols, SymbolsBuilder, TypeId};

use crate::binary::Bytes;

use super::types::{self, Named};
use super::{code, data};

/// Inline chains longer than this are cut: nobody reads them.
const MAX_FRAMES: usize = 64;
/// Bytes of code in which a line is looked for where there is none.
const NEAR: u64 = 64;

/// One frame of an inline chain.
#[derive(Clone, Default)]
struct Inlined {
    function: String,
    file: String,
    line: u32,
    column: u32,
}

impl Inlined {
    /// A function of which only the name is known.
    fn named(function: String) -> Self {
        Self { function, ..Self::default() }
    }

    /// The body of a lambda gets the name of whose it is.
    fn name_lambda(&mut self, named: &Named) {
        const BODY: &str = "operator()";
        let is_body = self.function == BODY || self.function.contains("{lambda(") && self.function.contains(BODY);
        if !is_body {
            return;
        }
        if let Some(lambda) = named.lambda(&self.file, self.line) {
            self.function = lambda.name();
        }
    }

    fn frame(&self) -> Frame<'_> {
        Frame { function: &self.function, file: &self.file, line: self.line, column: self.column }
    }
}

/// Resolves code addresses (return addresses, sorted) and collects the global variables of the modules that were
/// built with our hooks. What cannot be found is named by module and offset; nothing here fails.
pub fn resolve(modules: &[Module], pcs: &[Pc]) -> Symbols {
    let mut symbols = SymbolsBuilder::new(modules);
    let mut blocks = 0;
    let mut by_module: Vec<Vec<Pc>> = vec![Vec::new(); modules.len()];
    for &pc in pcs {
        match modules.iter().rposition(|module| module.contains(pc.0 - 1)) {
            Some(i) => by_module[i].push(pc),
            None => symbols.frames(pc, [Inlined::named(format!("{:#x}", pc.0)).frame()]),
        }
    }
    for (module, pcs) in modules.iter().zip(&by_module) {
        if !pcs.is_empty() {
            resolve_module(module, pcs, &mut blocks, &mut symbols);
        }
    }
    symbols.build()
}

fn resolve_module(module: &Module, pcs: &[Pc], blocks: &mut u32, symbols: &mut SymbolsBuilder) {
    let loader = Loader::new(&module.path).ok();
    let bytes = Bytes::of(Path::new(&module.path));
    let file = object::File::parse(&*bytes).ok();
    let functions = Functions::of(file.as_ref());
    let mut chains: Vec<(Pc, Vec<Inlined>)> = Vec::new();
    for &pc in pcs {
        let probe = (pc.0 - 1).wrapping_sub(module.bias);
        let mut chain = loader.as_ref().map(|loader| near_chain(loader, probe, &functions)).unwrap_or_default();
        if chain.is_empty()
            && let Some(name) = functions.at(probe)
        {
            chain.push(Inlined::named(demangle(name)));
        }
        if chain.is_empty() {
            let offset = pc.0.wrapping_sub(module.bias);
            chain.push(Inlined::named(format!("{}+{offset:#x}", module.name())));
        }
        chains.push((pc, chain));
    }
    // Only modules with hooks record accesses, so only their variables can be asked for.
    let file = file.filter(|file| file.symbols().any(|symbol| symbol.name().is_ok_and(code::is_hook)));
    let named = file.as_ref().map(|file| types::add_module(file, module, symbols)).unwrap_or_default();
    for (pc, chain) in &mut chains {
        chain.iter_mut().for_each(|frame| frame.name_lambda(&named));
        symbols.frames(*pc, chain.iter().map(Inlined::frame));
    }
    let Some(file) = file else { return };
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.is_definition()) {
        if let Ok(name) = symbol.name()
            && !name.is_empty()
            && symbol.size() > 0
        {
            let address = Addr(symbol.address().wrapping_add(module.bias));
            symbols.variable(address, symbol.size(), &demangle(name));
        }
    }
    let mut sources = Sources::default();
    for (pc, chain) in &chains {
        if let Some(of) = sources.allocated(chain, &named, symbols) {
            symbols.allocated_type(*pc, of);
        }
    }
    code::add_module(&file, module, pcs, &named.locals, blocks, symbols);
    data::add_module(&file, module, symbols);
}

/// The text of source files.
#[derive(Default)]
struct Sources {
    files: HashMap<String, Vec<String>>,
}

impl Sources {
    /// What the code there allocates, if it allocates something that has a name.
    fn allocated(&mut self, chain: &[Inlined], named: &Named, symbols: &mut SymbolsBuilder) -> Option<TypeId> {
        let mut allocators = chain.iter().filter(|frame| frame.function.contains("new_allocator<"));
        let by_allocator =
            allocators.find_map(|frame| named.allocated(types::allocated(&frame.function)?, "", symbols));
        if by_allocator.is_some() {
            return by_allocator;
        }
        let frame = chain.first()?;
        named.allocated(types::allocated(self.line(&frame.file, frame.line)?)?, &frame.function, symbols)
    }

    fn line(&mut self, file: &str, line: u32) -> Option<&str> {
        if file.is_empty() || line == 0 {
            return None;
        }
        let read = || {
            let text = std::fs::read_to_string(file).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        };
        let lines = self.files.entry(file.to_owned()).or_insert_with(read);
        lines.get(line as usize - 1).map(String::as_str)
    }
}

/// Code that the optimiser put together from several lines has none; what stands before it in the function says where
/// it is about.
fn near_chain(loader: &Loader, probe: u64, functions: &Functions<'_>) -> Vec<Inlined> {
    let chain = inline_chain(loader, probe, functions);
    if chain.first().is_none_or(|frame| frame.line != 0) {
        return chain;
    }
    let mut before = (1..=NEAR).map(|back| inline_chain(loader, probe - back, functions));
    let same = |other: &Vec<Inlined>| {
        let function = |chain: &[Inlined]| chain.last().map(|frame| frame.function.clone());
        other.first().is_some_and(|frame| frame.line != 0) && function(other) == function(&chain)
    };
    before.find(same).unwrap_or(chain)
}

/// The functions of a module by its symbol tables, with their sizes: a library without its local symbols has gaps, and
/// the nearest symbol before a gap is another function.
struct Functions<'d> {
    // invariant: sorted by address
    all: Vec<(u64, u64, &'d str)>,
}

impl<'d> Functions<'d> {
    fn of(file: Option<&object::File<'d>>) -> Self {
        let symbols = file.into_iter().flat_map(|file| file.symbols().chain(file.dynamic_symbols()));
        let functions = symbols.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
        let named = functions.filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?)));
        let mut all: Vec<_> = named.filter(|(_, size, name)| *size > 0 && !name.is_empty()).collect();
        all.sort_unstable();
        Self { all }
    }

    fn at(&self, address: u64) -> Option<&'d str> {
        let after = self.all.partition_point(|(start, ..)| *start <= address);
        // Aliases share an address.
        let (start, ..) = *self.all[..after].last()?;
        let same = self.all[..after].iter().rev().take_while(|function| function.0 == start);
        same.filter(|(start, size, _)| address - start < *size).map(|(.., name)| *name).last()
    }
}

fn inline_chain(loader: &Loader, probe: u64, functions: &Functions<'_>) -> Vec<Inlined> {
    let mut chain = Vec::new();
    let Ok(mut found) = loader.find_frames(probe) else {
        return chain;
    };
    while let Ok(Some(frame)) = found.next() {
        if chain.len() == MAX_FRAMES {
            break;
        }
        let function = match frame.function.as_ref().and_then(|function| function.raw_name().ok()) {
            Some(name) => demangle(&name),
            None => functions.at(probe).map(demangle).unwrap_or_default(),
        };
        let location = frame.location.as_ref();
        let line = location.and_then(|location| location.line).unwrap_or(0);
        if !function.is_empty() || line != 0 {
            let file = location.and_then(|location| location.file).unwrap_or("").to_owned();
            let column = location.and_then(|location| location.column).unwrap_or(0);
            chain.push(Inlined { function, file, line, column });
        }
    }
    // Lambdas have no linkage name in debug information: the symbol says whose `operator()` it is.
    if let Some(outermost) = chain.last_mut()
        && outermost.function == "operator()"
        && let Some(name) = functions.at(probe)
    {
        outermost.function = demangle(name);
    }
    chain
}

/// C++ without parameters, Rust without the hash: names for people.
pub(crate) fn demangle(name: &str) -> String {
    if is_rust(name)
        && let Ok(name) = rustc_demangle::try_demangle(name)
    {
        return format!("{name:#}");
    }
    if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(name)
    {
        let options = cpp_demangle::DemangleOptions::default().no_params().no_return_type();
        if let Ok(name) = symbol.demangle(&options) {
            return name.replace("[abi:cxx11]", "");
        }
    }
    name.to_owned()
}

/// Rust's older names look like those of C++ variables, but for the hash that they end with.
fn is_rust(name: &str) -> bool {
    const HASH: usize = "17h0123456789abcdefE".len();
    let name = name.split('.').next().unwrap_or(name);
    let last = name.len().checked_sub(HASH).and_then(|at| name.get(at..));
    name.starts_with("_R") || last.is_some_and(|last| last.starts_with("17h") && last.ends_with('E'))
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn names_are_those_of_their_language() {
        for (mangled, name) in [
            ("_ZN12_GLOBAL__N_13sumE", "(anonymous namespace)::sum"),
            ("_ZN4bank7depositEi", "bank::deposit"),
            ("_ZN4bank7deposit17h0123456789abcdefE", "bank::deposit"),
            ("_ZN4bank7deposit17h0123456789abcdefE.llvm.77", "bank::deposit"),
            ("main", "main"),
        ] {
            assert_eq!(demangle(mangled), name, "{mangled}");
        }
    }
}

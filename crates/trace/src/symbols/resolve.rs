//! Symbols from the program's files: DWARF where there is some, the symbol table otherwise.

use std::collections::HashMap;

use addr2line::Loader;
use object::{Object, ObjectSymbol, SymbolKind};
use reweave_model::{Pc, Place};

use super::{Module, StoredFrame, Symbols, Variable, code};

/// Inline chains longer than this are cut: nobody reads them.
const MAX_FRAMES: usize = 64;
/// Bytes of code in which a line is looked for where there is none.
const NEAR: u64 = 64;

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

impl Symbols {
    /// Symbols that are known already, by growing code address: for traces that come from elsewhere.
    pub fn from_places(places: impl IntoIterator<Item = (Pc, Place)>) -> Self {
        let (mut symbols, mut strings) = (Self::default(), Strings::default());
        strings.id("");
        for (pc, place) in places {
            assert!(symbols.pcs.last() < Some(&pc), "places must come by growing code address");
            let (function, file) = (strings.id(&place.function), strings.id(&place.file));
            symbols.frames.push(StoredFrame { function, file, line: place.line, column: 0 });
            symbols.pcs.push(pc);
            symbols.ends.push(symbols.frames.len() as u32);
        }
        symbols.strings = strings.all;
        symbols
    }

    /// Resolves code addresses (return addresses, sorted) and collects the global variables of the modules that were
    /// built with our hooks. What cannot be found is named by module and offset; nothing here fails.
    pub fn resolve(modules: &[Module], pcs: &[Pc]) -> Self {
        let mut symbols = Self { modules: modules.to_vec(), ..Self::default() };
        let mut strings = Strings::default();
        // Id 0 is the empty string.
        strings.id("");
        let mut by_module: Vec<Vec<Pc>> = vec![Vec::new(); modules.len()];
        let mut frames: HashMap<Pc, Vec<StoredFrame>> = HashMap::new();
        for &pc in pcs {
            match modules.iter().rposition(|module| module.contains(pc.0 - 1)) {
                Some(i) => by_module[i].push(pc),
                None => {
                    let function = strings.id(&format!("{:#x}", pc.0));
                    frames.insert(pc, vec![StoredFrame { function, file: 0, line: 0, column: 0 }]);
                }
            }
        }
        for (module, pcs) in modules.iter().zip(&by_module) {
            if !pcs.is_empty() {
                resolve_module(module, pcs, &mut strings, &mut frames, &mut symbols);
            }
        }
        for &pc in pcs {
            let chain = frames.get(&pc).map_or(&[][..], Vec::as_slice);
            symbols.frames.extend_from_slice(chain);
            symbols.pcs.push(pc);
            symbols.ends.push(symbols.frames.len() as u32);
        }
        symbols.variables.sort_by_key(|variable| (variable.address, std::cmp::Reverse(variable.size)));
        symbols.variables.dedup_by_key(|variable| (variable.address, variable.size));
        symbols.strings = strings.all;
        symbols
    }
}

fn resolve_module(
    module: &Module,
    pcs: &[Pc],
    strings: &mut Strings,
    frames: &mut HashMap<Pc, Vec<StoredFrame>>,
    symbols: &mut Symbols,
) {
    let loader = Loader::new(&module.path).ok();
    let bytes = std::fs::read(&module.path).unwrap_or_default();
    let file = object::File::parse(&*bytes).ok();
    let functions = Functions::of(file.as_ref());
    for &pc in pcs {
        let probe = (pc.0 - 1).wrapping_sub(module.bias);
        let mut chain = Vec::new();
        if let Some(loader) = &loader {
            chain = inline_chain(loader, probe, &functions, strings);
            // Code that the optimiser put together from several lines has none; what stands before it in the function says
            // where it is about.
            if chain.first().is_some_and(|frame| frame.line == 0) {
                let mut before = (1..=NEAR).map(|back| inline_chain(loader, probe - back, &functions, strings));
                let same = |other: &Vec<StoredFrame>| {
                    let function = |chain: &[StoredFrame]| chain.last().map(|frame| frame.function);
                    other.first().is_some_and(|frame| frame.line != 0) && function(other) == function(&chain)
                };
                chain = before.find(same).unwrap_or(chain);
            }
        }
        if chain.is_empty()
            && let Some(name) = functions.at(probe)
        {
            let function = strings.id(&demangle(name));
            chain.push(StoredFrame { function, file: 0, line: 0, column: 0 });
        }
        if chain.is_empty() {
            let offset = pc.0.wrapping_sub(module.bias);
            let function = strings.id(&format!("{}+{offset:#x}", module.name()));
            chain.push(StoredFrame { function, file: 0, line: 0, column: 0 });
        }
        frames.insert(pc, chain);
    }
    let Some(file) = file else { return };
    // Only modules with hooks record accesses, so only their variables can be asked for.
    if !file.symbols().any(|symbol| symbol.name().is_ok_and(code::is_hook)) {
        return;
    }
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.is_definition()) {
        if let Ok(name) = symbol.name()
            && !name.is_empty()
            && symbol.size() > 0
        {
            let name = strings.id(&demangle(name));
            let address = symbol.address().wrapping_add(module.bias);
            symbols.variables.push(Variable { address, size: symbol.size(), name });
        }
    }
    symbols.facts.add_module(&file, module, pcs);
    symbols.data.add_module(&file, module);
}

/// The functions of a module by its symbol tables, with their sizes: a library without its local symbols has gaps, and the
/// nearest symbol before a gap is another function.
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

fn inline_chain(loader: &Loader, probe: u64, functions: &Functions<'_>, strings: &mut Strings) -> Vec<StoredFrame> {
    let mut chain = Vec::new();
    let Ok(mut found) = loader.find_frames(probe) else {
        return chain;
    };
    while let Ok(Some(frame)) = found.next() {
        if chain.len() == MAX_FRAMES {
            break;
        }
        let function = match frame.function.as_ref().and_then(|function| function.raw_name().ok()) {
            Some(name) => strings.id(&demangle(&name)),
            None => match functions.at(probe) {
                Some(name) => strings.id(&demangle(name)),
                None => 0,
            },
        };
        let (file, line, column) = frame.location.map_or((0, 0, 0), |location| {
            let file = strings.id(location.file.unwrap_or(""));
            (file, location.line.unwrap_or(0), location.column.unwrap_or(0))
        });
        if function != 0 || line != 0 {
            chain.push(StoredFrame { function, file, line, column });
        }
    }
    // Lambdas have no linkage name in debug information: the symbol says whose `operator()` it is.
    if let Some(outermost) = chain.last_mut()
        && strings.all[outermost.function as usize] == "operator()"
        && let Some(name) = functions.at(probe)
    {
        outermost.function = strings.id(&demangle(name));
    }
    chain
}

/// C++ without parameters, Rust without the hash: names for people.
fn demangle(name: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(name) {
        return format!("{name:#}");
    }
    if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(name)
    {
        let options = cpp_demangle::DemangleOptions::default().no_params().no_return_type();
        if let Ok(name) = symbol.demangle(&options) {
            return name;
        }
    }
    name.to_owned()
}

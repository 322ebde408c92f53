//! Symbols from the program's files: DWARF where there is some, the symbol table otherwise.

use std::collections::HashMap;

use addr2line::Loader;
use object::{Object, ObjectSymbol, SymbolKind};
use reweave_model::{Pc, Place};

use super::{Module, StoredFrame, Symbols, Variable, code};

/// Inline chains longer than this are cut: nobody reads them.
const MAX_FRAMES: usize = 64;

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
    for &pc in pcs {
        let probe = (pc.0 - 1).wrapping_sub(module.bias);
        let mut chain = Vec::new();
        if let Some(loader) = &loader {
            chain = inline_chain(loader, probe, strings);
            if chain.is_empty()
                && let Some(name) = loader.find_symbol(probe)
            {
                let function = strings.id(&demangle(name));
                chain.push(StoredFrame { function, file: 0, line: 0, column: 0 });
            }
        }
        if chain.is_empty() {
            let offset = pc.0.wrapping_sub(module.bias);
            let function = strings.id(&format!("{}+{offset:#x}", module.name()));
            chain.push(StoredFrame { function, file: 0, line: 0, column: 0 });
        }
        frames.insert(pc, chain);
    }
    let Ok(bytes) = std::fs::read(&module.path) else {
        return;
    };
    let Ok(file) = object::File::parse(&*bytes) else {
        return;
    };
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

fn inline_chain(loader: &Loader, probe: u64, strings: &mut Strings) -> Vec<StoredFrame> {
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
            None => match loader.find_symbol(probe) {
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

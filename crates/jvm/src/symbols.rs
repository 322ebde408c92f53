//! What code addresses of Java programs mean, as the agent has written it: one file for each class.
//!
//! ```text
//! class    NAME    SOURCE FILE
//! method   OFFSET  NAME  LINES (place:line …)
//! variable OFFSET  SIZE  NAME (a static field, or the class as a lock)
//! site     OFFSET  BLOCK  1 if the operand cannot depend on a read of the block  WHAT IT ACCESSES
//! ```
//!
//! Fields are separated by tabs; offsets are hexadecimal, from the start of the class's code. The writer is the
//! agent (`classes`).

use reweave_model::{Addr, Pc};
use reweave_trace::{Frame, Module, Symbols, SymbolsBuilder};
use std::fs;
use std::path::Path;

use crate::sources::Sources;

/// A class as its file has it.
#[derive(Default)]
struct Class {
    name: String,
    source: String,
    // invariant: sorted by offset
    methods: Vec<Method>,
    sites: Vec<Site>,
    /// Offset, size and name.
    variables: Vec<(u64, u64, String)>,
}

struct Site {
    offset: u64,
    block: u32,
    /// The operand is constant as far as the block goes.
    constant: bool,
    /// The field or the kind of memory that is accessed there; empty if nothing is.
    accessed: String,
}

struct Method {
    offset: u64,
    name: String,
    lines: Vec<(u64, u32)>,
}

/// How a block begins that is an object which a static field leads to.
const OBJECT: &str = "object ";

/// Reads what is known about these code addresses.
pub fn read(folder: &Path, modules: &[Module], pcs: &[Pc]) -> Symbols {
    let sources = Sources::new();
    let mut builder = SymbolsBuilder::new(modules);
    let mut first_block = 1;
    for module in modules {
        if let Some(name) = module.path.strip_prefix(OBJECT) {
            builder.variable(Addr(module.base), module.size, name);
            continue;
        }
        let Ok(text) = fs::read_to_string(folder.join(format!("{}.class.txt", module.path))) else { continue };
        let class = parse(&text);
        let file = sources.find(source_path(&class));
        let from = pcs.partition_point(|pc| pc.0 < module.base);
        for pc in pcs[from..].iter().take_while(|pc| module.contains(pc.0)) {
            // Addresses are one past the instruction.
            let at = (pc.0 - module.base).saturating_sub(1);
            if let Some((function, line)) = class.position(at) {
                builder.frames(*pc, [Frame { function: &function, file: &file, line, column: 0 }]);
            }
        }
        let mut last = 0;
        for site in &class.sites {
            let pc = Pc(module.base + site.offset);
            builder.code(pc, first_block + site.block, site.constant);
            last = last.max(site.block);
            if !site.accessed.is_empty() && pcs.binary_search(&pc).is_ok() {
                builder.accessed(pc, &site.accessed);
            }
        }
        for (offset, size, name) in &class.variables {
            builder.variable(Addr(module.base + offset), *size, name);
        }
        first_block += last + 1;
    }
    builder.build()
}

/// The source file with the folders of its package.
fn source_path(class: &Class) -> String {
    match class.name.rsplit_once('.') {
        Some((package, _)) => format!("{}/{}", package.replace('.', "/"), class.source),
        None => class.source.clone(),
    }
}

impl Class {
    /// Method and line at an offset.
    fn position(&self, at: u64) -> Option<(String, u32)> {
        let method = &self.methods[self.methods.partition_point(|method| method.offset <= at).checked_sub(1)?];
        let place = at - method.offset;
        let line = method.lines.iter().rev().find(|(start, _)| *start <= place).map_or(0, |(_, line)| *line);
        let class = self.name.rsplit('.').next().unwrap_or_default().replace('$', ".");
        let function = match method.name.strip_prefix("lambda$").and_then(|rest| rest.rsplit_once('$')) {
            Some((around, _)) => format!("lambda in {class}.{around}"),
            None => format!("{class}.{}", method.name),
        };
        Some((function, line))
    }
}

fn parse(text: &str) -> Class {
    let mut class = Class::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let offset = |field: &str| u64::from_str_radix(field, 16).unwrap_or(0);
        match fields[..] {
            ["class", name, source] => (class.name, class.source) = (name.to_owned(), source.to_owned()),
            ["method", at, name, lines] => {
                let pairs = lines.split(' ').filter_map(|pair| {
                    let (place, line) = pair.split_once(':')?;
                    Some((place.parse().ok()?, line.parse().ok()?))
                });
                class.methods.push(Method { offset: offset(at), name: name.to_owned(), lines: pairs.collect() });
            }
            ["site", at, block, constant, accessed] => class.sites.push(Site {
                offset: offset(at),
                block: block.parse().unwrap_or(0),
                constant: constant == "1",
                accessed: accessed.to_owned(),
            }),
            ["variable", at, size, name] => {
                class.variables.push((offset(at), size.parse().unwrap_or(8), name.to_owned()));
            }
            _ => {}
        }
    }
    class
}

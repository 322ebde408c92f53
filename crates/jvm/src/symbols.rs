//! What code addresses of Java programs mean, as the agent has written it: one file for each class.
//!
//! ```text
//! class    NAME    SOURCE FILE
//! method   OFFSET  NAME  LINES (place:line …)
//! site     OFFSET  BLOCK  1 if the operand cannot depend on a read of the block
//! ```
//!
//! Fields are separated by tabs; offsets are hexadecimal, from the start of the class's code. The writer is the
//! agent (`classes`).

use reweave_model::Pc;
use reweave_trace::{Frame, Module, Symbols, SymbolsBuilder};
use std::fs;
use std::path::Path;

/// A class as its file has it.
#[derive(Default)]
struct Class {
    name: String,
    source: String,
    // invariant: sorted by offset
    methods: Vec<Method>,
    /// Offset, block, whether the operand is constant as far as the block goes.
    sites: Vec<(u64, u32, bool)>,
}

struct Method {
    offset: u64,
    name: String,
    lines: Vec<(u64, u32)>,
}

/// Reads what is known about these code addresses.
pub fn read(folder: &Path, modules: &[Module], pcs: &[Pc]) -> Symbols {
    let mut builder = SymbolsBuilder::new(modules);
    let mut first_block = 1;
    for module in modules {
        let Ok(text) = fs::read_to_string(folder.join(format!("{}.class.txt", module.path))) else { continue };
        let class = parse(&text);
        let file = source_path(&class);
        let from = pcs.partition_point(|pc| pc.0 < module.base);
        for pc in pcs[from..].iter().take_while(|pc| module.contains(pc.0)) {
            // Addresses are one past the instruction.
            let at = (pc.0 - module.base).saturating_sub(1);
            if let Some((function, line)) = class.position(at) {
                builder.frames(*pc, [Frame { function: &function, file: &file, line, column: 0 }]);
            }
        }
        let mut last = 0;
        for (offset, block, constant) in &class.sites {
            builder.code(Pc(module.base + offset), first_block + block, *constant);
            last = last.max(*block);
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
            ["site", at, block, constant] => {
                class.sites.push((offset(at), block.parse().unwrap_or(0), constant == "1"));
            }
            _ => {}
        }
    }
    class
}

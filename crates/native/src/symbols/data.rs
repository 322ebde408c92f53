//! What global variables hold before the program runs, from its files. Left out: whatever the dynamic linker fills in, and
//! large initialised data.

use object::{Object, ObjectSection, RelocationFlags, SectionKind};
use reweave_model::Addr;
use reweave_trace::{Module, SymbolsBuilder};

/// Initialised data beyond this is not stored.
const MAX_STORED: u64 = 1 << 18;

pub(super) fn add_module(file: &object::File<'_>, module: &Module, symbols: &mut SymbolsBuilder) {
    let mut filled: Vec<(u64, u64)> = Vec::new();
    for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let copied = matches!(relocation.flags(), RelocationFlags::Elf { r_type: object::elf::R_X86_64_COPY });
        // How much is copied stands with the symbol, in another file perhaps: its whole page is unknown then.
        filled.push((address, address + if copied { 4096 } else { 8 }));
    }
    filled.sort_unstable();
    for section in file.sections() {
        let (start, size) = (section.address(), section.size());
        let bytes = match (section.kind(), section.name()) {
            (SectionKind::UninitializedData, _) => Vec::new(),
            (SectionKind::Data, Ok(name)) if name.starts_with(".data") && size <= MAX_STORED => {
                section.data().unwrap_or_default().to_vec()
            }
            _ => continue,
        };
        if size == 0 || (!bytes.is_empty() && bytes.len() as u64 != size) {
            continue;
        }
        let mut at = start;
        let inside = filled.iter().filter(|(from, to)| *from < start + size && *to > start);
        for (from, to) in inside.copied().chain([(start + size, start + size)]) {
            if from > at {
                let part = (at - start) as usize..(from - start) as usize;
                let bytes = if bytes.is_empty() { Vec::new() } else { bytes[part].to_vec() };
                symbols.initial_data(Addr(at.wrapping_add(module.bias)), from - at, bytes);
            }
            at = at.max(to);
        }
    }
}

//! What the machine code tells, so that no hook has to: where branches may lie, and which accesses always go to the
//! same place ([`Facts`](reweave_trace::Facts) says what both are good for).
//!
//! **Blocks.** A jump, a return, or a call of anything but a hook or a plain lock operation ends a block, and a jump
//! target starts a new one. Unsure means branch, which is sound.
//!
//! **Constant address.** The operand of the hook (in `rdi`) comes from the instruction stream alone: the address of a
//! global, an entry of the global offset table, a place in the frame, a thread-local. It then cannot depend on
//! data. Values that went through memory count as unknown.

use std::collections::{HashMap, HashSet};

use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, SymbolKind};
use reweave_model::Pc;
use reweave_trace::{FrameAccess, Module, SymbolsBuilder};

use super::disassemble::{Operand, Reader, jump_slot, operand_of};
use super::frames::{Frames, Unwind};
use super::scopes::Local;

/// Whether a symbol is one of our hooks (or stubs).
pub(super) fn is_hook(name: &str) -> bool {
    name.starts_with("__tsan_") || name.starts_with("__reweave_")
}

/// Looks at the functions of a module that these return addresses lie in. `blocks` is the last number given to a block,
/// over all modules.
pub(super) fn add_module(
    file: &object::File<'_>,
    module: &Module,
    pcs: &[Pc],
    locals: &[Local],
    blocks: &mut u32,
    symbols: &mut SymbolsBuilder,
) {
    if file.architecture() != object::Architecture::X86_64 {
        return;
    }
    let mut hooks = HashMap::new();
    let mut functions = Vec::new();
    let mut main = None;
    for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition()) {
        match symbol.name() {
            Ok(name) if is_hook(name) => drop(hooks.insert(symbol.address(), operand_of(name))),
            name if symbol.size() > 0 => {
                functions.push((symbol.address(), symbol.size()));
                if name == Ok("main") {
                    main = Some(symbol.address());
                }
            }
            _ => {}
        }
    }
    functions.sort_unstable();
    let accesses: HashSet<u64> =
        hooks.iter().filter(|(_, operand)| **operand != Operand::Other).map(|(address, _)| *address).collect();
    let unwind = Unwind::of(file).filter(|_| !locals.is_empty());
    hooks.extend(lock_calls(file).into_iter().map(|entry| (entry, operand_of("__tsan_read8"))));
    let wanted: HashSet<u64> = pcs.iter().map(|pc| pc.0.wrapping_sub(module.bias)).collect();
    let global_offsets = file.sections().filter(|section| section.name().is_ok_and(|name| name.starts_with(".got")));
    let global_offsets =
        global_offsets.map(|section| (section.address(), section.address() + section.size())).collect();
    let mut reader = Reader::new(hooks, global_offsets);
    let mut done = HashSet::new();
    for &pc in pcs {
        let probe = (pc.0 - 1).wrapping_sub(module.bias);
        let after = functions.partition_point(|&(address, _)| address <= probe);
        let Some(&(address, size)) = functions[..after].last() else {
            continue;
        };
        if probe - address >= size || !done.insert(address) {
            continue;
        }
        let Some(code) = code_at(file, address, size) else {
            continue;
        };
        *blocks = reader.function(file, code, address, *blocks, |pc, block, constant| {
            if wanted.contains(&pc) {
                symbols.code(Pc(pc.wrapping_add(module.bias)), block, constant);
            }
        });
        if let Some(unwind) = &unwind {
            let is_hook = |address| accesses.contains(&address);
            let frames = Frames { unwind, locals };
            let named = frames.function(code, address, &is_hook, symbols);
            // There is one frame of it, until the program ends.
            let frame = (main == Some(address)).then(|| symbols.frame(frames.lasting(address, address + size)));
            for (pc, (name, offset)) in named.iter().filter(|(pc, _)| wanted.contains(pc)) {
                let pc = Pc(pc.wrapping_add(module.bias));
                symbols.accessed(pc, name);
                if let Some((frame, &offset)) = frame.zip(offset.as_ref()) {
                    symbols.frame_access(pc, FrameAccess { frame, offset });
                }
            }
        }
    }
}

/// Lock operations that always come back the same way, with the lock in `rdi`: what follows does not depend on them.
const LOCK_CALLS: &[&str] = &[
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
    "pthread_spin_lock",
    "pthread_spin_unlock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock",
    "pthread_rwlock_unlock",
    "mtx_lock",
    "mtx_unlock",
];

/// The entries of the procedure linkage table that lead to lock operations.
fn lock_calls(file: &object::File<'_>) -> Vec<u64> {
    let Some(symbols) = file.dynamic_symbol_table() else { return Vec::new() };
    let mut slots = HashSet::new();
    for (address, relocation) in file.dynamic_relocations().into_iter().flatten() {
        if let object::RelocationTarget::Symbol(symbol) = relocation.target()
            && let Ok(symbol) = symbols.symbol_by_index(symbol)
            && symbol.name().is_ok_and(|name| LOCK_CALLS.contains(&name))
        {
            slots.insert(address);
        }
    }
    let mut entries = Vec::new();
    for section in file.sections().filter(|section| section.name().is_ok_and(|name| name.starts_with(".plt"))) {
        for (entry, code) in section.data().unwrap_or_default().chunks(PLT_ENTRY).enumerate() {
            let address = section.address() + (entry * PLT_ENTRY) as u64;
            if jump_slot(code, address).is_some_and(|slot| slots.contains(&slot)) {
                entries.push(address);
            }
        }
    }
    entries
}

const PLT_ENTRY: usize = 16;

fn code_at<'d>(file: &object::File<'d>, address: u64, size: u64) -> Option<&'d [u8]> {
    let section = file.sections().find(|section| address.wrapping_sub(section.address()) < section.size())?;
    section.data_range(address, size).ok().flatten()
}

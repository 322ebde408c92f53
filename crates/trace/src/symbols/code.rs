//! What the machine code tells, so that no hook has to: where branches may lie, and which accesses always go to the same
//! place.
//!
//! **Straight line.** A block is a run of instructions that control can leave only at its end: a jump, a return, or a call of
//! anything but a hook or a plain lock operation ends it (and a jump target starts a new one). From one hook of a block execution always
//! reaches the next, so between two consecutive events of a thread no branch was taken if both are in one block and the
//! second stands later. Unsure means branch, which is sound.
//!
//! **Constant address.** The operand of the hook (in `rdi`) comes from the instruction stream alone: the address of a
//! global, an entry of the global offset table, a place in the frame, a thread-local. It then cannot depend on
//! data. Values that went through memory count as unknown.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use object::{Object, ObjectSection, ObjectSymbol, ObjectSymbolTable, SymbolKind};
use reweave_model::Pc;

use super::Module;
use super::disassemble::{Reader, jump_slot, operand_of};
use super::store::{Put, Take};
use crate::format::pack::PcHasher;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Fact {
    /// Blocks are numbered from 1 over all modules.
    block: u32,
    constant: bool,
}

/// Facts by code address.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Facts {
    by_pc: HashMap<Pc, Fact, BuildHasherDefault<PcHasher>>,
    blocks: u32,
}

/// Whether a symbol is one of our hooks (or stubs).
pub(super) fn is_hook(name: &str) -> bool {
    name.starts_with("__tsan_") || name.starts_with("__reweave_")
}

impl Facts {
    pub fn is_empty(&self) -> bool {
        self.by_pc.is_empty()
    }

    /// Whether only straight-line code lies between two consecutive events of a thread at these code addresses.
    pub fn straight_line(&self, first: Pc, second: Pc) -> bool {
        first < second
            && match (self.by_pc.get(&first), self.by_pc.get(&second)) {
                (Some(first), Some(second)) => first.block == second.block,
                _ => false,
            }
    }

    /// Whether a branch may lie between two consecutive events of a thread at these code addresses.
    pub fn branch_between(&self, first: Pc, second: Pc) -> bool {
        !self.straight_line(first, second)
    }

    /// Whether the access at this code address always goes to the same place of its module, thread or frame.
    pub fn constant_address(&self, pc: Pc) -> bool {
        self.by_pc.get(&pc).is_some_and(|fact| fact.constant)
    }

    /// The block a code address lies in; `None` if nothing is known about it.
    pub fn block(&self, pc: Pc) -> Option<u32> {
        self.by_pc.get(&pc).map(|fact| fact.block)
    }

    /// Looks at the functions of a module that these return addresses lie in.
    pub(super) fn add_module(&mut self, file: &object::File<'_>, module: &Module, pcs: &[Pc]) {
        if file.architecture() != object::Architecture::X86_64 {
            return;
        }
        let mut hooks = HashMap::new();
        let mut functions = Vec::new();
        for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition()) {
            match symbol.name() {
                Ok(name) if is_hook(name) => drop(hooks.insert(symbol.address(), operand_of(name))),
                _ if symbol.size() > 0 => functions.push((symbol.address(), symbol.size())),
                _ => {}
            }
        }
        functions.sort_unstable();
        hooks.extend(lock_calls(file).into_iter().map(|entry| (entry, operand_of("__tsan_read8"))));
        let wanted: HashSet<u64> = pcs.iter().map(|pc| pc.0.wrapping_sub(module.bias)).collect();
        let global_offsets =
            file.sections().filter(|section| section.name().is_ok_and(|name| name.starts_with(".got")));
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
            self.blocks = reader.function(file, code, address, self.blocks, |pc, block, constant| {
                if wanted.contains(&pc) {
                    self.by_pc.insert(Pc(pc.wrapping_add(module.bias)), Fact { block, constant });
                }
            });
        }
    }

    pub(super) fn store(&self, put: &mut Put) {
        let mut all: Vec<_> = self.by_pc.iter().collect();
        all.sort_unstable_by_key(|(pc, _)| **pc);
        put.int(all.len() as u64);
        let mut last = 0;
        for (pc, fact) in all {
            put.int(pc.0 - last);
            put.int(u64::from(fact.block) << 1 | u64::from(fact.constant));
            last = pc.0;
        }
    }

    pub(super) fn load(take: &mut Take<'_>) -> Result<Self, &'static str> {
        let mut facts = Self::default();
        let mut last = 0u64;
        for _ in 0..take.count()? {
            last = last.checked_add(take.int()?).ok_or("address too large")?;
            let both = take.int()?;
            let block = u32::try_from(both >> 1).map_err(|_| "block number too large")?;
            facts.by_pc.insert(Pc(last), Fact { block, constant: both & 1 != 0 });
            facts.blocks = facts.blocks.max(block);
        }
        Ok(facts)
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

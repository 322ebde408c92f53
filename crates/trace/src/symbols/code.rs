//! What the machine code tells, so that no hook has to: where branches may lie, and which accesses always go to the same
//! place.
//!
//! **Straight line.** A block is a run of instructions that control can leave only at its end: a jump, a return, or a call of
//! anything but a hook ends it (and a jump target starts a new one). From one hook of a block execution always
//! reaches the next, so between two consecutive events of a thread no branch was taken if both are in one block and the
//! second stands later. Unsure means branch, which is sound.
//!
//! **Constant address.** The operand of the hook (in `rdi`) comes from the instruction stream alone: the address of a
//! global, an entry of the global offset table, a place in the frame, a thread-local. It then cannot depend on
//! data. Values that went through memory count as unknown.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::ops::Range;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use reweave_model::Pc;

use super::Module;
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

/// What the arguments of a hook must be for its access to be at a constant address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand {
    /// `rdi` is the address.
    Address,
    /// `rdi` is the address and `rsi` the size.
    Range,
    /// Something else.
    Other,
}

fn operand_of(name: &str) -> Operand {
    let name = name.strip_prefix("__tsan_").unwrap_or("");
    if matches!(name, "read_range" | "write_range") {
        return Operand::Range;
    }
    let accesses = ["read", "write", "unaligned_", "volatile_", "atomic", "vptr_"];
    let fence = name.ends_with("_fence");
    if accesses.iter().any(|prefix| name.starts_with(prefix)) && !fence { Operand::Address } else { Operand::Other }
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
        let wanted: HashSet<u64> = pcs.iter().map(|pc| pc.0.wrapping_sub(module.bias)).collect();
        let global_offsets =
            file.sections().filter(|section| section.name().is_ok_and(|name| name.starts_with(".got")));
        let global_offsets =
            global_offsets.map(|section| (section.address(), section.address() + section.size())).collect();
        let mut reader = Reader { hooks, global_offsets, info: InstructionInfoFactory::new() };
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

fn code_at<'d>(file: &object::File<'d>, address: u64, size: u64) -> Option<&'d [u8]> {
    let section = file.sections().find(|section| address.wrapping_sub(section.address()) < section.size())?;
    section.data_range(address, size).ok().flatten()
}

/// Which general registers hold something that comes from the instruction stream alone; bit n is register n.
#[derive(Clone, Copy)]
struct Constants(u16);

impl Constants {
    fn has(self, register: Register) -> bool {
        register.is_gpr() && self.0 & bit(register) != 0
    }

    fn set(&mut self, register: Register, constant: bool) {
        if register.is_gpr() {
            if constant {
                self.0 |= bit(register);
            } else {
                self.0 &= !bit(register);
            }
        }
    }
}

fn bit(register: Register) -> u16 {
    1 << number(register)
}

fn number(register: Register) -> usize {
    register.full_register() as usize - Register::RAX as usize
}

fn sets_frame_pointer(i: &Instruction) -> bool {
    i.mnemonic() == Mnemonic::Mov
        && i.op0_kind() == OpKind::Register
        && i.op0_register() == Register::RBP
        && i.op1_kind() == OpKind::Register
        && i.op1_register() == Register::RSP
}

/// Registers that a call may change.
const CALLER_SAVED: [Register; 9] = [
    Register::RAX,
    Register::RCX,
    Register::RDX,
    Register::RSI,
    Register::RDI,
    Register::R8,
    Register::R9,
    Register::R10,
    Register::R11,
];

/// Registers that keep their value over calls, the frame pointer included where it is used as one.
const CALLEE_SAVED: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

struct Reader {
    /// Hooks by file address.
    hooks: HashMap<u64, Operand>,
    /// Global offset tables: written by the loader only.
    global_offsets: Vec<(u64, u64)>,
    info: InstructionInfoFactory,
}

impl Reader {
    /// Reports every call of one function: its return address, block, and whether a hook's operand is constant. Returns the last
    /// block number used.
    fn function(
        &mut self,
        file: &object::File<'_>,
        code: &[u8],
        address: u64,
        mut block: u32,
        mut call: impl FnMut(u64, u32, bool),
    ) -> u32 {
        let mut decoder = Decoder::with_ip(64, code, address, DecoderOptions::NONE);
        let mut instructions = Vec::new();
        while decoder.can_decode() {
            let instruction = decoder.decode();
            if instruction.is_invalid() {
                break;
            }
            instructions.push(instruction);
        }
        let mut targets: HashSet<u64> = instructions
            .iter()
            .filter(|i| matches!(i.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch))
            .map(Instruction::near_branch_target)
            .collect();
        // Where an indirect jump leads is only known if its table is found; otherwise it may lead anywhere, with anything
        // in the registers. Blocks do not suffer: they are about how control leaves.
        let mut unsure = false;
        if instructions.iter().any(|i| i.flow_control() == FlowControl::IndirectBranch) {
            let found = table_targets(file, &instructions, address..address + code.len() as u64);
            unsure = found.is_empty();
            targets.extend(found);
        }
        let everywhere = self.constant_everywhere(&instructions);
        let mut constants = everywhere;
        block += 1;
        for instruction in &instructions {
            if targets.contains(&instruction.ip()) {
                block += 1;
                constants = everywhere;
            }
            let flow = instruction.flow_control();
            let hook = if flow == FlowControl::Call && instruction.is_call_near() {
                self.hooks.get(&instruction.near_branch_target()).copied()
            } else {
                None
            };
            if matches!(flow, FlowControl::Call | FlowControl::IndirectCall) {
                let constant = match hook {
                    Some(Operand::Address) => constants.has(Register::RDI),
                    Some(Operand::Range) => constants.has(Register::RDI) && constants.has(Register::RSI),
                    _ => false,
                };
                call(instruction.next_ip(), block, constant && !unsure);
            }
            match flow {
                FlowControl::Next => self.step(instruction, &mut constants),
                FlowControl::Call | FlowControl::IndirectCall => {
                    for register in CALLER_SAVED {
                        constants.set(register, false);
                    }
                    block += u32::from(hook.is_none());
                }
                // Who falls through comes from here only, unless it is a target as well.
                FlowControl::ConditionalBranch => block += 1,
                _ => {
                    block += 1;
                    constants = everywhere;
                }
            }
        }
        block
    }

    /// Registers that are constant in the whole function: the stack pointer (up to the frame), and a register that calls keep
    /// and that has one constant definition only. A use before that definition would use the caller's value, which no
    /// compiler does other than to save it.
    fn constant_everywhere(&mut self, instructions: &[Instruction]) -> Constants {
        let mut stack_pointer = Constants(0);
        stack_pointer.set(Register::RSP, true);
        let mut everywhere = stack_pointer;
        if !instructions.iter().all(|i| self.keeps_frame(i)) {
            // An array of variable length: what stands below the frame pointer depends on data.
            everywhere = Constants(0);
        }
        let mut definitions = [(0, false); 16];
        for instruction in instructions {
            // What restores the caller's value is no definition.
            if matches!(instruction.mnemonic(), Mnemonic::Pop | Mnemonic::Leave) {
                continue;
            }
            let known = if sets_frame_pointer(instruction) { stack_pointer } else { everywhere };
            let constant = self.defines_constant(instruction, known);
            for used in self.info.info(instruction).used_registers() {
                let register = used.register().full_register();
                if writes(used.access()) && register.is_gpr() {
                    let (count, is_constant) = &mut definitions[number(register)];
                    *count += 1;
                    *is_constant = constant == Some(register);
                }
            }
        }
        for register in CALLEE_SAVED {
            if definitions[number(register)] == (1, true) {
                everywhere.set(register, true);
            }
        }
        everywhere
    }

    /// Whether the instruction leaves the stack pointer at a fixed distance from the frame.
    fn keeps_frame(&mut self, i: &Instruction) -> bool {
        let by_constant = i.op_count() == 2 && is_immediate(i.op1_kind());
        match i.mnemonic() {
            Mnemonic::Push | Mnemonic::Pop | Mnemonic::Leave => true,
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::And if by_constant => true,
            // Back to the frame pointer.
            Mnemonic::Mov if i.op1_kind() == OpKind::Register && i.op1_register() == Register::RBP => true,
            Mnemonic::Lea if i.memory_base() == Register::RBP && i.memory_index() == Register::None => true,
            _ if i.flow_control() != FlowControl::Next => true,
            _ => {
                let used = self.info.info(i).used_registers();
                !used.iter().any(|used| writes(used.access()) && used.register().full_register() == Register::RSP)
            }
        }
    }

    /// The register that the instruction gives a value from the instruction stream (and constant registers) alone.
    fn defines_constant(&self, i: &Instruction, constants: Constants) -> Option<Register> {
        if i.op_count() == 0 || i.op0_kind() != OpKind::Register || !i.op0_register().is_gpr() {
            return None;
        }
        let target = i.op0_register();
        // Parts of registers keep the rest: only whole ones count (a 32-bit write clears the upper half).
        if !target.is_gpr64() && !target.is_gpr32() {
            return None;
        }
        let base_is_constant = || {
            let part = |register: Register| register == Register::None || constants.has(register);
            i.is_ip_rel_memory_operand() || (part(i.memory_base()) && part(i.memory_index()))
        };
        let constant = match (i.mnemonic(), i.op1_kind()) {
            (Mnemonic::Lea, OpKind::Memory) => base_is_constant(),
            (Mnemonic::Mov, OpKind::Register) => constants.has(i.op1_register()),
            (Mnemonic::Mov, OpKind::Memory) => {
                let thread_base = i.memory_segment() == Register::FS
                    && i.memory_base() == Register::None
                    && i.memory_index() == Register::None
                    && i.memory_displacement64() == 0;
                thread_base || (i.is_ip_rel_memory_operand() && self.is_global_offset(i.ip_rel_memory_address()))
            }
            (Mnemonic::Mov, kind) => is_immediate(kind),
            (Mnemonic::Add | Mnemonic::Sub, kind) => constants.has(target) && is_immediate(kind),
            (Mnemonic::Xor, OpKind::Register) => i.op1_register() == target,
            _ => false,
        };
        constant.then(|| target.full_register())
    }

    fn is_global_offset(&self, address: u64) -> bool {
        self.global_offsets.iter().any(|&(start, end)| (start..end).contains(&address))
    }

    fn step(&mut self, instruction: &Instruction, constants: &mut Constants) {
        let defined = self.defines_constant(instruction, *constants);
        for used in self.info.info(instruction).used_registers() {
            // The stack pointer stays a place in the frame, whatever moves it by.
            if writes(used.access()) && used.register().full_register() != Register::RSP {
                constants.set(used.register(), false);
            }
        }
        if let Some(register) = defined {
            constants.set(register, true);
        }
    }
}

/// Where the jump tables of a function may lead. Takes too many targets rather than too few: all words that its code could
/// take for a table, read on for a while as offsets and as addresses.
fn table_targets(file: &object::File<'_>, instructions: &[Instruction], function: Range<u64>) -> HashSet<u64> {
    const MAX_ENTRIES: usize = 1024;
    let mut targets = HashSet::new();
    for i in instructions {
        let indexed = i.memory_index() != Register::None;
        let table = if i.is_ip_rel_memory_operand() && i.mnemonic() == Mnemonic::Lea {
            i.ip_rel_memory_address()
        } else if indexed && i.memory_base() == Register::None && i.memory_displacement64() != 0 {
            i.memory_displacement64()
        } else {
            continue;
        };
        let section = file.sections().find(|section| table.wrapping_sub(section.address()) < section.size());
        let Some(data) = section.and_then(|section| {
            let left = section.address() + section.size() - table;
            section.data_range(table, left.min(8 * MAX_ENTRIES as u64)).ok().flatten()
        }) else {
            continue;
        };
        let offsets = data
            .chunks_exact(4)
            .map(|b| table.wrapping_add_signed(i32::from_le_bytes([b[0], b[1], b[2], b[3]]).into()));
        let addresses = data.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight")));
        targets.extend(offsets.take(MAX_ENTRIES).chain(addresses).filter(|target| function.contains(target)));
    }
    targets
}

fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn is_immediate(kind: OpKind) -> bool {
    matches!(
        kind,
        OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
    )
}

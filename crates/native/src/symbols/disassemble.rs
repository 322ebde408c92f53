//! Reads the machine code of one function: its blocks, and which operands come from the instruction stream alone.
//! See [`super::code`] for what that is good for.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};
use object::{Object, ObjectSection};

/// What the arguments of a hook must be for its access to be at a constant address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    /// `rdi` is the address.
    Address,
    /// `rdi` is the address and `rsi` the size.
    Range,
    /// Something else.
    Other,
}

pub(super) fn operand_of(name: &str) -> Operand {
    let name = name.strip_prefix("__tsan_").unwrap_or("");
    if matches!(name, "read_range" | "write_range") {
        return Operand::Range;
    }
    let accesses = ["read", "write", "unaligned_", "volatile_", "atomic", "vptr_"];
    let fence = name.ends_with("_fence");
    if accesses.iter().any(|prefix| name.starts_with(prefix)) && !fence { Operand::Address } else { Operand::Other }
}

/// Where a table entry jumps to: the slot of the global offset table that holds the address.
pub(super) fn jump_slot(code: &[u8], address: u64) -> Option<u64> {
    let instructions = Decoder::with_ip(64, code, address, DecoderOptions::NONE).into_iter();
    let jump = instructions.take(3).find(|i| i.flow_control() == FlowControl::IndirectBranch)?;
    jump.is_ip_rel_memory_operand().then(|| jump.ip_rel_memory_address())
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

pub(super) fn number(register: Register) -> usize {
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
pub(super) const CALLER_SAVED: [Register; 9] = [
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
pub(super) const CALLEE_SAVED: [Register; 6] =
    [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

pub(super) struct Reader {
    /// Hooks by file address.
    hooks: HashMap<u64, Operand>,
    /// Global offset tables: written by the loader only.
    global_offsets: Vec<(u64, u64)>,
    info: InstructionInfoFactory,
}

impl Reader {
    pub fn new(hooks: HashMap<u64, Operand>, global_offsets: Vec<(u64, u64)>) -> Self {
        Self { hooks, global_offsets, info: InstructionInfoFactory::new() }
    }

    /// Reports every call of one function: its return address, block, and whether a hook's operand is constant. Returns
    /// the last block number used.
    pub fn function(
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
        // Where an indirect jump leads is only known if its table is found; otherwise it may lead anywhere, with
        // anything in the registers. Blocks do not suffer: they are about how control leaves.
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

    /// Registers that are constant in the whole function: the stack pointer (up to the frame), and a register that
    /// calls keep and that has one constant definition only. A use before that definition would use the caller's value,
    /// which no compiler does other than to save it.
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

/// Where the jump tables of a function may lead. Takes too many targets rather than too few: all words that its code
/// could take for a table, read on for a while as offsets and as addresses.
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

pub(super) fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

pub(super) fn is_immediate(kind: OpKind) -> bool {
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

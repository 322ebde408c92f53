//! Which code accesses which variable of its own frame: the operand of a hook as a distance from the caller's frame,
//! which the unwind tables know at every instruction.

use std::collections::HashMap;

use addr2line::gimli::{self, BaseAddresses, CfaRule, EhFrame, EndianSlice, RunTimeEndian, UnwindSection};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};
use object::{Object, ObjectSection};
use reweave_trace::{SymbolsBuilder, TypeId};

use super::disassemble::{CALLEE_SAVED, CALLER_SAVED, is_immediate, number, writes};
use super::scopes::{Base, Local};

type Slice<'d> = EndianSlice<'d, RunTimeEndian>;

/// The unwind tables of a module.
pub(super) struct Unwind<'d> {
    section: EhFrame<Slice<'d>>,
    bases: BaseAddresses,
    // invariant: sorted by the address of the function
    functions: Vec<(u64, gimli::FrameDescriptionEntry<Slice<'d>>)>,
}

/// From an address on, the caller's frame ends so far from what a register holds.
#[derive(Clone, Copy, Debug)]
struct Row {
    from: u64,
    register: gimli::Register,
    offset: i64,
}

impl<'d> Unwind<'d> {
    pub fn of(file: &object::File<'d>) -> Option<Self> {
        let table = file.section_by_name(".eh_frame")?;
        let mut section = EhFrame::new(table.data().ok()?, RunTimeEndian::Little);
        section.set_address_size(8);
        let mut bases = BaseAddresses::default().set_eh_frame(table.address());
        if let Some(text) = file.section_by_name(".text") {
            bases = bases.set_text(text.address());
        }
        let mut functions = Vec::new();
        let mut entries = section.entries(&bases);
        while let Ok(Some(entry)) = entries.next() {
            if let gimli::CieOrFde::Fde(partial) = entry
                && let Ok(function) = partial.parse(EhFrame::cie_from_offset)
            {
                functions.push((function.initial_address(), function));
            }
        }
        functions.sort_by_key(|(address, _)| *address);
        Some(Self { section, bases, functions })
    }

    fn rows(&self, address: u64) -> Vec<Row> {
        let after = self.functions.partition_point(|(start, _)| *start <= address);
        let Some((_, function)) = self.functions[..after].last().filter(|(_, entry)| entry.contains(address)) else {
            return Vec::new();
        };
        let mut context = gimli::UnwindContext::new();
        let mut rows = Vec::new();
        if let Ok(mut table) = function.rows(&self.section, &self.bases, &mut context) {
            while let Ok(Some(row)) = table.next_row() {
                if let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() {
                    rows.push(Row { from: row.start_address(), register, offset });
                }
            }
        }
        rows
    }
}

fn row_at(rows: &[Row], address: u64) -> Option<Row> {
    let after = rows.partition_point(|row| row.from <= address);
    rows[..after].last().copied()
}

/// DWARF's number of a register that frames are counted from.
fn dwarf_register(register: Register) -> Option<gimli::Register> {
    match register {
        Register::RBP => Some(gimli::X86_64::RBP),
        Register::RSP => Some(gimli::X86_64::RSP),
        _ => None,
    }
}

/// A place that a register holds the address of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FrameSlot {
    /// The pointer that it is counted from, as a distance from the caller's frame; without one it is in the frame.
    through: Option<i64>,
    offset: i64,
}

impl FrameSlot {
    const fn in_frame(offset: i64) -> Self {
        Self { through: None, offset }
    }

    fn plus(self, distance: i64) -> Option<Self> {
        Some(Self { offset: self.offset.checked_add(distance)?, ..self })
    }

    /// Where the pointer in this place points to.
    fn pointee(self) -> Option<Self> {
        self.through.is_none().then_some(Self { through: Some(self.offset), offset: 0 })
    }
}

type Places = [Option<FrameSlot>; 16];

/// Reads functions.
pub(super) struct Frames<'a, 'd> {
    pub unwind: &'a Unwind<'d>,
    pub locals: &'a [Local],
}

impl Frames<'_, '_> {
    /// Names what the calls of hooks in a function are about, by their return addresses, and says where in the frame
    /// that is. `is_hook`: whether code at an address is a hook with its operand in the first argument.
    pub fn function(
        &self,
        code: &[u8],
        address: u64,
        is_hook: &dyn Fn(u64) -> bool,
        symbols: &mut SymbolsBuilder,
    ) -> HashMap<u64, (String, Option<i64>)> {
        let mut found = HashMap::new();
        let rows = self.unwind.rows(address);
        let end = address + code.len() as u64;
        let locals: Vec<&Local> =
            self.locals.iter().filter(|local| local.scope.start < end && local.scope.end > address).collect();
        if rows.is_empty() || locals.is_empty() {
            return found;
        }
        let mut info = InstructionInfoFactory::new();
        let instructions: Vec<Instruction> = Decoder::with_ip(64, code, address, DecoderOptions::NONE).iter().collect();
        let everywhere = kept(&instructions, &rows, &mut info);
        let mut places = everywhere;
        let targets: std::collections::HashSet<u64> = instructions
            .iter()
            .filter(|i| matches!(i.flow_control(), FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch))
            .map(Instruction::near_branch_target)
            .collect();
        for i in &instructions {
            if targets.contains(&i.ip()) {
                places = everywhere;
            }
            match i.flow_control() {
                FlowControl::Next => step(i, &rows, &mut places, &mut info),
                FlowControl::Call | FlowControl::IndirectCall => {
                    let hooked = i.is_call_near() && is_hook(i.near_branch_target());
                    if let Some(place) = places[number(Register::RDI)].filter(|_| hooked)
                        && let Some(name) = name_at(&locals, &rows, i.ip(), place, symbols)
                    {
                        let offset = place.through.is_none().then_some(place.offset);
                        found.insert(i.next_ip(), (name, offset));
                    }
                    CALLER_SAVED.iter().for_each(|register| places[number(*register)] = None);
                }
                FlowControl::ConditionalBranch => {}
                _ => places = everywhere,
            }
        }
        found
    }
}

impl Frames<'_, '_> {
    /// The variables that a function has as long as its frame is there, or nearly so if nothing else lies in their
    /// place: where they lie, from where the frame of the caller ends, what they take, how they are called, and their
    /// types.
    pub fn lasting(&self, address: u64, end: u64) -> Vec<(i64, u64, String, TypeId)> {
        let rows = self.unwind.rows(address);
        let own = self.locals.iter().filter(|local| local.scope.start < end && local.scope.end > address);
        let own: Vec<&Local> = own.filter(|local| local.through.is_none()).collect();
        let start = |local: &Local| match local.base {
            Base::Caller => Some(local.offset),
            // The same for all of the function.
            Base::Register(register) => {
                let mut offsets = rows.iter().filter(|row| row.register == register).map(|row| row.offset);
                let offset = offsets.next()?;
                offsets.all(|other| other == offset).then_some(local.offset - offset)
            }
        };
        let overlap = |one: &Local, two: &Local| match (start(one), start(two)) {
            (Some(a), Some(b)) => a < b.saturating_add_unsigned(two.size) && b < a.saturating_add_unsigned(one.size),
            _ => true,
        };
        let lasts = |local: &Local| {
            let covered = local.scope.end.min(end) - local.scope.start.max(address);
            let mut others = own.iter().filter(|other| !std::ptr::eq(**other, local));
            // A block of `main` that is all of it but for a line at its end, say.
            covered == end - address || covered > (end - address) / 4 * 3 && !others.any(|other| overlap(local, other))
        };
        let named =
            |local: &Local| Some((start(local)?, local.size, format!("{}::{}", local.function, local.name), local.of));
        own.iter().filter(|local| lasts(local)).filter_map(|local| named(local)).collect()
    }
}

/// The variable at a place of the frame that code at an address can see; where several lie there, the innermost.
fn name_at(locals: &[&Local], rows: &[Row], at: u64, place: FrameSlot, symbols: &SymbolsBuilder) -> Option<String> {
    let row = row_at(rows, at)?;
    let offset_in = |local: &Local| {
        let base = match local.base {
            Base::Caller => 0,
            Base::Register(register) if register == row.register => -row.offset,
            Base::Register(_) => return None,
        };
        let (through, start) = match local.through {
            Some(pointer) => (Some(base + pointer), local.offset),
            None => (None, base + local.offset),
        };
        let inside = u64::try_from(place.offset - start).ok().filter(|offset| *offset < local.size);
        inside.filter(|_| place.through == through)
    };
    let visible = locals.iter().filter(|local| local.scope.contains(&at));
    let there = visible.filter_map(|local| Some((local, offset_in(local)?)));
    let (local, offset) = there.min_by_key(|(local, _)| local.scope.end - local.scope.start)?;
    let part = symbols.part_of_type(local.of, offset).unwrap_or_default();
    Some(format!("{}::{}{part}", local.function, local.name))
}

/// What an instruction puts into a register, if that is the address of a place in the frame.
fn defines(i: &Instruction, rows: &[Row], places: &Places) -> Option<(Register, FrameSlot)> {
    if i.op_count() < 2 || i.op0_kind() != OpKind::Register || !i.op0_register().is_gpr64() {
        return None;
    }
    let target = i.op0_register();
    let own = |register: Register| {
        if let Some(base) = dwarf_register(register)
            && let Some(row) = row_at(rows, i.ip()).filter(|row| row.register == base)
        {
            return Some(FrameSlot::in_frame(-row.offset));
        }
        if register.is_gpr64() { places[number(register)] } else { None }
    };
    let place = match (i.mnemonic(), i.op1_kind()) {
        (Mnemonic::Lea, OpKind::Memory) if i.memory_index() == Register::None => {
            own(i.memory_base())?.plus(i.memory_displacement64().cast_signed())
        }
        (Mnemonic::Mov, OpKind::Memory) if i.memory_index() == Register::None => {
            own(i.memory_base())?.plus(i.memory_displacement64().cast_signed())?.pointee()
        }
        (Mnemonic::Mov, OpKind::Register) => own(i.op1_register()),
        (Mnemonic::Add, kind) if is_immediate(kind) => own(target)?.plus(i.immediate(1).cast_signed()),
        (Mnemonic::Sub, kind) if is_immediate(kind) => own(target)?.plus(i.immediate(1).cast_signed().checked_neg()?),
        _ => None,
    };
    place.map(|place| (target, place))
}

fn step(i: &Instruction, rows: &[Row], places: &mut Places, info: &mut InstructionInfoFactory) {
    let defined = defines(i, rows, places);
    for used in info.info(i).used_registers() {
        let register = used.register().full_register();
        if writes(used.access()) && register.is_gpr() {
            places[number(register)] = None;
        }
    }
    if let Some((register, place)) = defined {
        places[number(register)] = Some(place);
    }
}

/// What registers that calls keep hold in the whole function: those that are set once, to the address of a place.
fn kept(instructions: &[Instruction], rows: &[Row], info: &mut InstructionInfoFactory) -> Places {
    let mut definitions: [(u32, Option<FrameSlot>); 16] = [(0, None); 16];
    for i in instructions {
        // What restores the caller's value is no definition.
        if matches!(i.mnemonic(), Mnemonic::Pop | Mnemonic::Leave) {
            continue;
        }
        let defined = defines(i, rows, &[None; 16]);
        for used in info.info(i).used_registers() {
            let register = used.register().full_register();
            if writes(used.access()) && register.is_gpr() {
                let (count, place) = &mut definitions[number(register)];
                *count += 1;
                *place = defined.filter(|(own, _)| *own == register).map(|(_, place)| place);
            }
        }
    }
    let mut places = [None; 16];
    for register in CALLEE_SAVED {
        if let (1, place) = definitions[number(register)] {
            places[number(register)] = place;
        }
    }
    places
}

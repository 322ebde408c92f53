//! What code addresses of a program mean: its lines, or those of what it was made from, the names of its globals and
//! what they hold at first; and what its code tells about control flow, so that branches need no events.

use std::collections::HashMap;

use reweave_model::{Addr, Pc};
use reweave_trace::{Frame, Module, Symbols, SymbolsBuilder};

use crate::language::{
    Base, BinaryOp, Function, Literal, Operand, Place, Program, Register, Slot, StatementKind, arithmetic,
};
use crate::layout::{Layout, code_address, slot_size, statement_at};

/// The symbols of a program that runs as this module. `pcs` says which code addresses are of interest.
pub fn symbols(program: &Program, modules: &[Module], path: &str, pcs: &[Pc]) -> Symbols {
    let mut builder = SymbolsBuilder::new(modules);
    let statements: Vec<_> = program.statements().collect();
    for &pc in pcs {
        let Some((function, statement)) = statement_at(pc.0).and_then(|id| statements.get(id.index())) else {
            continue;
        };
        let function = &program.function(*function).name;
        let frame = match statement.position.source {
            Some(source) => {
                let file = &program.files[source.file.index()];
                Frame { function, file, line: source.line, column: source.column }
            }
            None => Frame { function, file: path, line: statement.position.line, column: 0 },
        };
        builder.frames(pc, [frame]);
    }
    let layout = Layout::new(program);
    for (global, &address) in program.globals.iter().zip(&layout.globals) {
        let size = match global.slot {
            Slot::Object(kind) => layout.object_size(kind),
            slot => slot_size(slot) * u64::from(global.length.unwrap_or(1)),
        };
        builder.variable(Addr(address), size, &global.name);
        if let Slot::Value(kind) = global.slot {
            let mut bytes = vec![0; size as usize];
            for (literal, to) in global.initial.iter().zip(bytes.chunks_mut(kind.size() as usize)) {
                to.copy_from_slice(&arithmetic::literal(kind, *literal).to_le_bytes()[..kind.size() as usize]);
            }
            builder.initial_data(Addr(address), size, bytes);
        } else {
            builder.initial_data(Addr(address), size, Vec::new());
        }
    }
    code_facts(program, &mut builder);
    builder.build()
}

/// Which statements follow each other without a choice, and which always use the same place.
fn code_facts(program: &Program, builder: &mut SymbolsBuilder) {
    let mut block = 0;
    for function in &program.functions {
        let threads = started_once(function);
        for code in &function.blocks {
            block += 1;
            for statement in &code.statements {
                let constant = is_constant(&statement.kind, &threads);
                builder.code(Pc(code_address(statement.id)), block, constant);
                if may_leave(&statement.kind) {
                    block += 1;
                }
            }
        }
    }
}

/// Whether what follows in the text may not be what follows in time, although the statement is not the last of its
/// block. Places that are not there fail too, but an event whose place depends on data needs the same data anyway.
const fn may_leave(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::Call { .. } | StatementKind::Assert { .. } | StatementKind::Opaque { .. } => true,
        StatementKind::Binary { op, right, .. } => {
            let divides = matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::UDiv | BinaryOp::URem);
            divides && !matches!(right, Operand::Literal(Literal::Integer(1..) | Literal::Float(_)))
        }
        _ => false,
    }
}

/// Registers that one `start` writes and nothing else: they always hold the same thread of this call.
fn started_once(function: &Function) -> Vec<Register> {
    let mut writes: HashMap<Register, (u32, bool)> = HashMap::new();
    for statement in function.blocks.iter().flat_map(|block| &block.statements) {
        if let Some(to) = statement.kind.target() {
            let (count, starts) = writes.entry(to).or_insert((0, true));
            *count += 1;
            *starts &= matches!(statement.kind, StatementKind::Start { .. });
        }
    }
    writes.into_iter().filter(|(_, (count, starts))| *count == 1 && *starts).map(|(register, _)| register).collect()
}

/// Whether what the statement uses is the same whatever was read before.
fn is_constant(kind: &StatementKind, threads: &[Register]) -> bool {
    let constant = |place: &Place| match place {
        Place::Global(_) => true,
        Place::Field { base, .. } => matches!(base, Base::Global(_)),
        Place::Element { base, index } => matches!((base, index), (Base::Global(_), Operand::Literal(_))),
        Place::Object(_) => false,
    };
    match kind {
        StatementKind::Wait { condition, lock } | StatementKind::TimedWait { condition, lock, .. } => {
            constant(condition) && constant(lock)
        }
        StatementKind::Start { .. } | StatementKind::Alloc { .. } | StatementKind::Fence { .. } => true,
        StatementKind::Join { thread } | StatementKind::Detach { thread } => threads.contains(thread),
        other => other.place().is_some_and(constant),
    }
}

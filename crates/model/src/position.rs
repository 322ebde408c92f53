//! Code positions that are the same in every run: addresses change, these names do not.

use crate::event::Op;
use crate::ids::{Pc, module_id};

/// A code position: which module ([`module_id`]), and the offset in it. Both are 0 for code outside of all modules.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CodePosition {
    pub module: u64,
    pub offset: u64,
}

impl CodePosition {
    pub const NOWHERE: Self = Self { module: 0, offset: 0 };
}

/// Code or data of a module, as it lies in one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Mapped {
    base: u64,
    end: u64,
    bias: u64,
    id: u64,
}

/// The modules of a run, as they come and go.
#[derive(Clone, Default, Debug)]
pub struct MappedModules {
    all: Vec<Mapped>,
}

impl MappedModules {
    /// Learns from an operation. A module that comes where another one lay takes its place.
    pub fn see(&mut self, op: &Op<'_>) {
        if let Op::Module { base, size, bias, path } = *op {
            let module = Mapped { base: base.0, end: base.0.saturating_add(size), bias, id: module_id(path) };
            self.all.retain(|old| old.end <= module.base || module.end <= old.base);
            self.all.push(module);
        }
    }

    /// The position of an address of code or data, if a module lies there.
    pub fn position(&self, addr: u64) -> Option<CodePosition> {
        let module = self.all.iter().find(|module| (module.base..module.end).contains(&addr))?;
        Some(CodePosition { module: module.id, offset: addr.wrapping_sub(module.bias) })
    }

    pub fn code(&self, pc: Pc) -> CodePosition {
        self.position(pc.0).unwrap_or(CodePosition::NOWHERE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Addr;

    #[test]
    fn a_module_takes_the_place_of_another() {
        let mut modules = MappedModules::default();
        let module = |base, size, path| Op::Module { base: Addr(base), size, bias: 0x1000, path };
        modules.see(&module(0x1000, 0x100, b"/lib/one.so"));
        modules.see(&module(0x2000, 0x100, b"/lib/two.so"));
        let one = modules.code(Pc(0x1010));
        assert_eq!(one, CodePosition { module: module_id(b"/usr/lib/one.so"), offset: 0x10 });
        assert_eq!(modules.code(Pc(0x1100)), CodePosition::NOWHERE);
        modules.see(&module(0x10f0, 0x100, b"three.so"));
        assert_eq!(modules.position(0x1010), None);
        assert_eq!(modules.code(Pc(0x1100)).module, module_id(b"three.so"));
    }
}

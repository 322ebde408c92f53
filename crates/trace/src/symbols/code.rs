//! Facts about the code (placeholder until the disassembler part lands): unsure means branch, which is sound.

use super::Module;
use super::store::{Put, Take};
use reweave_model::Pc;

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Facts {}

/// Whether a symbol is one of our hooks (or stubs).
pub(super) fn is_hook(name: &str) -> bool {
    name.starts_with("__tsan_") || name.starts_with("__reweave_")
}

impl Facts {
    pub(super) fn add_module(&mut self, _file: &object::File<'_>, _module: &Module, _pcs: &[Pc]) {}
    pub(super) fn store(&self, _put: &mut Put) {}
    pub(super) fn load(_take: &mut Take<'_>) -> Result<Self, &'static str> {
        Ok(Self {})
    }
    /// Whether only straight-line code lies between two consecutive events of a thread.
    pub fn straight_line(&self, _first: Pc, _second: Pc) -> bool {
        false
    }
    /// Whether a branch may lie between two consecutive events of a thread.
    pub fn branch_between(&self, first: Pc, second: Pc) -> bool {
        !self.straight_line(first, second)
    }
    /// Whether the access at this call site always goes to the same place of its module or frame.
    pub fn constant_address(&self, _pc: Pc) -> bool {
        false
    }
}

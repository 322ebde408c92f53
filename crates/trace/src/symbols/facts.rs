//! What the code of a program tells about its events, so that no event has to: where branches may lie, and which accesses always
//! go to the same place.
//!
//! **Straight line.** A block is a stretch of code that control can leave only at its end. From one event of a block execution
//! always reaches the next, so between two consecutive events of a thread no branch was taken if both are in one block and the
//! second stands later. What is not known counts as a branch, which is sound.
//!
//! **Constant address.** The operand of an access comes from the code alone, so it cannot depend on data.
//!
//! A front end finds both out ([`SymbolsBuilder::code`](super::SymbolsBuilder::code)).

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use reweave_model::Pc;

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

    /// What the code at an address tells: which block it lies in, and whether its operand is constant.
    pub(super) fn add(&mut self, pc: Pc, block: u32, constant: bool) {
        self.by_pc.insert(pc, Fact { block, constant });
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
        }
        Ok(facts)
    }
}

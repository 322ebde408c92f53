//! Call stacks: a tree of interned nodes, each its parent plus one call.

use std::collections::HashMap;

use reweave_model::wire::{self, Record};
use reweave_model::{Pc, StackId};

#[derive(Clone, Default, Debug)]
pub struct Stacks {
    nodes: HashMap<StackId, (StackId, Pc)>,
}

impl Stacks {
    pub fn define(&mut self, stack: StackId, parent: StackId, pc: Pc) {
        self.nodes.insert(stack, (parent, pc));
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The return addresses of the calls, innermost first. A stack whose definition was lost ends where it is missing.
    pub fn resolve(&self, stack: StackId) -> Vec<Pc> {
        self.walk(stack).collect()
    }

    /// As [`Self::resolve`], without allocating.
    pub fn walk(&self, mut stack: StackId) -> impl Iterator<Item = Pc> + '_ {
        // A file may claim anything, also a cycle: no true stack is longer than the number of nodes.
        let mut left = self.nodes.len();
        std::iter::from_fn(move || {
            let &(parent, pc) = self.nodes.get(&stack)?;
            left = left.checked_sub(1)?;
            stack = parent;
            Some(pc)
        })
    }

    /// All nodes as (stack, parent, pc), by number.
    pub fn sorted(&self) -> Vec<(StackId, StackId, Pc)> {
        let mut all: Vec<_> = self.nodes.iter().map(|(&stack, &(parent, pc))| (stack, parent, pc)).collect();
        all.sort_unstable();
        all
    }

    pub(crate) fn read(&mut self, mut words: &[u64]) {
        while let Ok((record, len)) = wire::decode(words) {
            if let Record::StackDef { stack, parent, pc } = record {
                self.define(stack, parent, pc);
            }
            words = &words[len..];
        }
    }
}

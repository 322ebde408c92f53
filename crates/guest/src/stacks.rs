//! Call stacks, interned as a tree: entering a function costs one table look-up, and records carry a small id.

use reweave_conductor::{Token, World};
use reweave_model::wire::Record;
use reweave_model::{Pc, StackId};

/// An open-addressing table from (parent, pc) to id.
pub struct StackTree {
    slots: Vec<(u64, u32, u32)>,
    next: u32,
}

impl StackTree {
    pub const fn new() -> Self {
        Self { slots: Vec::new(), next: 1 }
    }

    /// The stack below `parent` whose innermost call is at `pc`, and whether it is new.
    #[inline]
    pub fn child(&mut self, parent: u32, pc: u64) -> (u32, bool) {
        if self.slots.len() < 2 * self.next as usize {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash(parent, pc) & mask;
        loop {
            let (known_pc, known_parent, id) = self.slots[at];
            if id == 0 {
                self.slots[at] = (pc, parent, self.next);
                self.next += 1;
                return (self.next - 1, true);
            }
            if known_pc == pc && known_parent == parent {
                return (id, false);
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = (self.slots.len() * 2).max(4096);
        let old = std::mem::replace(&mut self.slots, vec![(0, 0, 0); size]);
        for (pc, parent, id) in old {
            if id != 0 {
                let mut at = hash(parent, pc) & (size - 1);
                while self.slots[at].2 != 0 {
                    at = (at + 1) & (size - 1);
                }
                self.slots[at] = (pc, parent, id);
            }
        }
    }
}

impl Default for StackTree {
    fn default() -> Self {
        Self::new()
    }
}

/// The record that defines a new stack.
pub fn define<W: World>(token: &mut Token<'_, W>, stack: u32, parent: u32, pc: u64) {
    token.record(&Record::StackDef { stack: StackId(stack), parent: StackId(parent), pc: Pc(pc) });
}

fn hash(parent: u32, pc: u64) -> usize {
    let mixed = (pc ^ u64::from(parent) << 40).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as usize
}

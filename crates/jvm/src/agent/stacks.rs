//! Stacks of calls: the tree that gives them numbers, and what the numbers mean.

use super::threads::Jvm;
use reweave_guest::Token;
use reweave_guest::stacks::{StackTree, define};

pub struct Stacks {
    tree: StackTree,
    /// Caller's stack and code address of each stack, by number.
    calls: Vec<(u32, u64)>,
}

impl Stacks {
    pub const fn new() -> Self {
        Self { tree: StackTree::new(), calls: Vec::new() }
    }

    /// The stack below `parent` whose innermost call is at `pc`, and whether it is new.
    fn child(&mut self, parent: u32, pc: u64) -> (u32, bool) {
        let (stack, new) = self.tree.child(parent, pc);
        if new {
            self.calls.resize(stack as usize + 1, (0, 0));
            self.calls[stack as usize] = (parent, pc);
        }
        (stack, new)
    }

    fn innermost(&self, stack: u32) -> (u32, u64) {
        self.calls.get(stack as usize).copied().unwrap_or((0, 0))
    }
}

/// The number of the stack that a call at `pc` leads to.
pub fn call(token: &mut Token<'_, Jvm>, parent: u32, pc: u64) -> u32 {
    let (stack, new) = super::agent().stacks.get(token).child(parent, pc);
    if new {
        define(token, stack, parent, pc);
    }
    stack
}

/// Runs an operation that a native method makes: for people it happens where the method was called.
pub fn at_call<R>(token: &mut Token<'_, Jvm>, code: impl FnOnce(&mut Token<'_, Jvm>, u64) -> R) -> R {
    let stack = token.me().own.stack();
    let (parent, pc) = super::agent().stacks.get(token).innermost(stack);
    token.set_stack(parent);
    let result = code(token, pc);
    token.set_stack(stack);
    result
}

//! What comparisons say about values in the blocks that they lead to.
//!
//! A comparison holds for a value wherever its way out dominates: values are defined once, so whoever gets there has
//! compared the very value that is used (an SSA value is not defined again between a branch that it dominates and a block
//! that the branch dominates).

use super::super::code::{Block, Code, Def, Kind, Test, Type, Value};
use super::super::flow_graph::FlowGraph;
use crate::domain::number::opposite;

/// Two values, or one and zero, of which a comparison holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Condition {
    pub test: Test,
    pub kind: Type,
    pub left: Value,
    pub right: Option<Value>,
}

/// Beyond so many the farthest are left out.
const MOST: usize = 24;

/// By block, the nearest first.
pub fn conditions(code: &Code, graph: &FlowGraph, kinds: &[Type]) -> Vec<Vec<Condition>> {
    (0..code.blocks.len() as Block)
        .map(|block| {
            let mut all = Vec::new();
            let mut at = Some(block);
            while let Some(inner) = at.filter(|_| all.len() < MOST) {
                // The only way in, and no handler.
                if let [from] = graph.predecessors[inner as usize][..] {
                    all.extend(on_edge(code, kinds, from as Block, inner));
                }
                at = graph.dominator(inner);
            }
            all
        })
        .collect()
}

/// What holds on the way from one block to another one.
pub fn on_edge(code: &Code, kinds: &[Type], from: Block, to: Block) -> Option<Condition> {
    let block = &code.blocks[from as usize];
    let &[holds, fails] = &block.next[..] else { return None };
    if holds == fails || block.caught_by().any(|handler| handler == to) {
        return None;
    }
    let Kind::Branch(test, left, right) = block.statements.last()?.kind else { return None };
    let test = match to {
        _ if to == holds => test,
        _ if to == fails => opposite(test),
        _ => return None,
    };
    match (code.def(left), right) {
        // `lcmp` and a comparison with zero; what is no number is compared otherwise.
        (Def::Compare { kind: Type::I64, left, right, .. }, None) => {
            Some(Condition { test, kind: Type::I64, left: *left, right: Some(*right) })
        }
        _ => Some(Condition { test, kind: kinds[left.index()], left, right }),
    }
}

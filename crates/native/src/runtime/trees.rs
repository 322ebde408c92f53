//! The trees behind `std::map` and `std::set`: their nodes are linked, recoloured and rotated inside libstdc++, which
//! is not instrumented, while everything else about them is compiled into the program.
//!
//! Before the library is called, the nodes that it can change are noted; afterwards each field that differs is recorded
//! as a write. Which nodes these are follows from how red-black trees are rebalanced (Cormen et al., chapter 13): no
//! more of the tree is visited than the library does itself, so noting costs about what rebalancing does. Its reads are
//! left out.

use super::{Token, enter, ranges};
use std::mem::offset_of;

/// `std::_Rb_tree_node_base`. The header of a tree is one too: its parent is the root, left and right are the first and
/// the last node.
#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
pub struct Node {
    /// 0 is red. An absent node counts as black.
    colour: i32,
    parent: *mut Node,
    left: *mut Node,
    right: *mut Node,
}

const _: () = assert!(size_of::<Node>() == 32);

const RED: i32 = 0;

/// Where the fields are, and their sizes.
const FIELDS: [(usize, usize); 4] = [
    (offset_of!(Node, colour), 4),
    (offset_of!(Node, parent), 8),
    (offset_of!(Node, left), 8),
    (offset_of!(Node, right), 8),
];

/// More levels than a tree has that fits into memory: only a broken one, whose parents go in circles, is higher.
const HEIGHT: usize = 128;

unsafe fn is_red(node: *mut Node) -> bool {
    // SAFETY: null or a node of the tree.
    unsafe { node.as_ref() }.is_some_and(|node| node.colour == RED)
}

/// The nodes as they were before the call. invariant: none is in here twice.
struct NodesBefore(Vec<(*mut Node, Node)>);

impl NodesBefore {
    /// Notes a node and `levels` of those below it.
    unsafe fn note(&mut self, node: *mut Node, levels: u32) {
        // SAFETY: null or a node of the tree.
        let Some(&now) = (unsafe { node.as_ref() }) else { return };
        if !self.0.iter().any(|&(known, _)| known == node) {
            self.0.push((node, now));
        }
        if levels > 0 {
            // SAFETY: the children of a node.
            unsafe {
                self.note(now.left, levels - 1);
                self.note(now.right, levels - 1);
            }
        }
    }

    /// What putting a node below `parent` can change: as long as the parent is red, it and its sibling are recoloured
    /// or it and the grandparent rotated, which gives their children other parents.
    unsafe fn insert(mut parent: *mut Node, header: *mut Node) -> Self {
        let mut before = Self(Vec::new());
        // SAFETY: nodes of the tree, as the library follows them.
        unsafe {
            before.note(header, 0);
            for _ in 0..HEIGHT {
                if parent == header || !is_red(parent) || (*parent).parent == header {
                    break;
                }
                let grandparent = (*parent).parent;
                before.note(parent, 1);
                before.note(grandparent, 1);
                let rotates = !is_red((*grandparent).left) || !is_red((*grandparent).right);
                parent = (*grandparent).parent;
                if rotates {
                    break;
                }
            }
            // Gets another child.
            before.note(parent, 0);
        }
        before
    }

    /// What taking a node out can change: it, its neighbours, the successor that takes its place if it has two
    /// children; and from where a node is missing then, upwards until the black ones are balanced.
    unsafe fn erase(node: *mut Node, header: *mut Node) -> Self {
        let mut before = Self(Vec::new());
        // SAFETY: nodes of the tree, as the library follows them.
        unsafe {
            before.note(header, 0);
            before.note((*node).parent, 0);
            before.note(node, 1);
            let mut missing = node;
            if !(*node).left.is_null() && !(*node).right.is_null() {
                missing = (*node).right;
                while !(*missing).left.is_null() {
                    missing = (*missing).left;
                }
                before.note(missing, 1);
                before.note((*missing).parent, 0);
            }
            // A red one is not missed, and the place of a black one can be taken by its red child.
            if is_red(missing) || is_red((*missing).left) || is_red((*missing).right) {
                return before;
            }
            for _ in 0..HEIGHT {
                let parent = (*missing).parent;
                if parent == header {
                    break;
                }
                let sibling = if missing == (*parent).left { (*parent).right } else { (*parent).left };
                before.note(parent, 0);
                let Some(&Node { left, right, .. }) = sibling.as_ref() else { break };
                if is_red(sibling) || is_red(left) || is_red(right) {
                    // Ends with rotations around the parent: of a red sibling, of its black child, of that one's red
                    // child.
                    before.note(sibling, 3);
                    before.note((*parent).parent, 0);
                    break;
                }
                before.note(sibling, 0);
                if is_red(parent) {
                    break;
                }
                missing = parent;
            }
        }
        before
    }

    /// Records what is different now.
    unsafe fn record(self, token: &mut Token<'_>, pc: u64) {
        for (node, before) in self.0 {
            let (node, before) = (node.cast::<u8>(), (&raw const before).cast::<u8>());
            for (offset, size) in FIELDS {
                // SAFETY: a field of a node and of its copy.
                let differs = unsafe {
                    let bytes = |of: *const u8| std::slice::from_raw_parts(of.add(offset), size);
                    bytes(node) != bytes(before)
                };
                if differs {
                    ranges::wrote(token, node.wrapping_add(offset), size, pc);
                }
            }
        }
    }
}

interpose! {
    /// `std::_Rb_tree_insert_and_rebalance`
    fn _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
        left: bool, node: *mut Node, parent: *mut Node, header: *mut Node; pc
    ) {
        type Insert = unsafe extern "C-unwind" fn(bool, *mut Node, *mut Node, *mut Node);
        let insert = real!(_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_: Insert);
        let Some(mut inside) = enter() else { return insert(left, node, parent, header) };
        let before = NodesBefore::insert(parent, header);
        insert(left, node, parent, header);
        // All of the new node is written, whatever was there.
        for (offset, size) in FIELDS {
            ranges::wrote(&mut inside, node.cast::<u8>().add(offset), size, pc);
        }
        before.record(&mut inside, pc);
    }

    /// `std::_Rb_tree_rebalance_for_erase`
    fn _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(node: *mut Node, header: *mut Node; pc) -> *mut Node {
        type Erase = unsafe extern "C-unwind" fn(*mut Node, *mut Node) -> *mut Node;
        let erase = real!(_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_: Erase);
        let Some(mut inside) = enter() else { return erase(node, header) };
        let before = NodesBefore::erase(node, header);
        let taken_out = erase(node, header);
        before.record(&mut inside, pc);
        taken_out
    }
}

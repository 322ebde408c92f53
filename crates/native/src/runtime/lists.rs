//! What libstdc++ changes in the program's containers by code of its own, beside the [trees](super::trees): the links of
//! `std::list`, and when a hash table grows next. Everything else about them is compiled into the program.
//!
//! Before the library is called, the nodes that it changes are noted; afterwards each link that differs is recorded as a
//! write.

use super::{Token, enter, ranges};

/// `std::__detail::_List_node_base`
#[repr(C)]
#[derive(Clone, Copy, PartialEq)]
pub struct Node {
    next: *mut Node,
    previous: *mut Node,
}

const LINK: usize = size_of::<*mut Node>();
/// Longer lists are not followed to their end: what is behind it is not seen.
const LONGEST: usize = 1 << 16;

/// Nodes as they were.
struct NodesBefore(Vec<(*mut Node, Node)>);

impl NodesBefore {
    /// # Safety
    /// Nodes of lists, or null.
    unsafe fn of(nodes: &[*mut Node]) -> Self {
        let mut before = Self(Vec::new());
        for &node in nodes {
            // SAFETY: by the contract.
            if let Some(&now) = unsafe { node.as_ref() }
                && !before.0.iter().any(|(known, _)| *known == node)
            {
                before.0.push((node, now));
            }
        }
        before
    }

    /// # Safety
    /// The nodes are still there.
    unsafe fn record(self, token: &mut Token<'_>, pc: u64) {
        for (node, before) in self.0 {
            // SAFETY: by the contract.
            let now = unsafe { *node };
            let links = [(0, now.next != before.next), (LINK, now.previous != before.previous)];
            for (offset, _) in links.into_iter().filter(|(_, differs)| *differs) {
                ranges::wrote(token, node.cast::<u8>().wrapping_add(offset), LINK, pc);
            }
        }
    }
}

/// All nodes of a list, its head included.
///
/// # Safety
/// A node of a list.
unsafe fn all(head: *mut Node) -> Vec<*mut Node> {
    let mut nodes = vec![head];
    // SAFETY: by the contract; a list is a circle.
    let mut node = unsafe { (*head).next };
    while node != head && !node.is_null() && nodes.len() < LONGEST {
        nodes.push(node);
        // SAFETY: as above.
        node = unsafe { (*node).next };
    }
    nodes
}

/// What `_M_need_rehash` returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Growth {
    needed: bool,
    buckets: usize,
}

interpose! {
    /// `_M_hook`: this node goes before that one.
    fn _ZNSt8__detail15_List_node_base7_M_hookEPS0_(node: *mut Node, position: *mut Node; pc) {
        type Hook = unsafe extern "C-unwind" fn(*mut Node, *mut Node);
        let hook = real!(_ZNSt8__detail15_List_node_base7_M_hookEPS0_: Hook);
        let Some(mut inside) = enter() else { return hook(node, position) };
        let before = NodesBefore::of(&[position, (*position).previous]);
        hook(node, position);
        // All of the new node is written, whatever was there.
        ranges::wrote(&mut inside, node.cast(), size_of::<Node>(), pc);
        before.record(&mut inside, pc);
    }

    /// `_M_unhook`: this node leaves its list.
    fn _ZNSt8__detail15_List_node_base9_M_unhookEv(node: *mut Node; pc) {
        let unhook = real!(_ZNSt8__detail15_List_node_base9_M_unhookEv: unsafe extern "C-unwind" fn(*mut Node));
        let Some(mut inside) = enter() else { return unhook(node) };
        let before = NodesBefore::of(&[(*node).next, (*node).previous]);
        unhook(node);
        before.record(&mut inside, pc);
    }

    /// `_M_transfer`: the nodes from `first` to before `last` go before this one.
    fn _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(node: *mut Node, first: *mut Node, last: *mut Node; pc) {
        type Transfer = unsafe extern "C-unwind" fn(*mut Node, *mut Node, *mut Node);
        let transfer = real!(_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_: Transfer);
        let Some(mut inside) = enter() else { return transfer(node, first, last) };
        let before =
            NodesBefore::of(&[node, (*node).previous, first, (*first).previous, last, (*last).previous]);
        transfer(node, first, last);
        before.record(&mut inside, pc);
    }

    /// `_M_reverse`
    fn _ZNSt8__detail15_List_node_base10_M_reverseEv(node: *mut Node; pc) {
        let reverse = real!(_ZNSt8__detail15_List_node_base10_M_reverseEv: unsafe extern "C-unwind" fn(*mut Node));
        let Some(mut inside) = enter() else { return reverse(node) };
        let before = NodesBefore::of(&all(node));
        reverse(node);
        before.record(&mut inside, pc);
    }

    /// `swap`: two lists exchange their nodes.
    fn _ZNSt8__detail15_List_node_base4swapERS0_S1_(one: *mut Node, two: *mut Node; pc) {
        type Swap = unsafe extern "C-unwind" fn(*mut Node, *mut Node);
        let swap = real!(_ZNSt8__detail15_List_node_base4swapERS0_S1_: Swap);
        let Some(mut inside) = enter() else { return swap(one, two) };
        let before =
            NodesBefore::of(&[one, two, (*one).next, (*one).previous, (*two).next, (*two).previous]);
        swap(one, two);
        before.record(&mut inside, pc);
    }

    /// `std::__detail::_Prime_rehash_policy::_M_need_rehash`: notes when the table grows next.
    fn _ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm(
        policy: *mut usize, buckets: usize, elements: usize, more: usize; pc
    ) -> Growth {
        type Need = unsafe extern "C-unwind" fn(*mut usize, usize, usize, usize) -> Growth;
        let need = real!(_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm: Need);
        let Some(mut inside) = enter() else { return need(policy, buckets, elements, more) };
        // The load factor comes first.
        let next = policy.add(1);
        ranges::reads(&mut inside, next.cast(), size_of::<usize>(), pc);
        let before = *next;
        let growth = need(policy, buckets, elements, more);
        if *next != before {
            ranges::wrote(&mut inside, next.cast(), size_of::<usize>(), pc);
        }
        growth
    }
}

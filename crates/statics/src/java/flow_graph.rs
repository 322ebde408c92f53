//! Control flow of one method: loops, dominators, and which blocks decide whether others are reached (control
//! dependence, Ferrante et al. 1987; dominators after Cooper, Harvey and Kennedy 2001).
//!
//! An exception that a handler catches is an edge from every block that the handler covers. Blocks that never end are
//! taken to end anywhere: more is decided then, never less. A handler that only leaves a monitor and throws again is no
//! way to go on.

use super::code::{Block, Code, Kind};

pub struct Loop {
    pub head: Block,
    // invariant: ascending
    pub blocks: Vec<Block>,
}

pub struct FlowGraph {
    pub reached: Vec<bool>,
    /// Lies on a cycle.
    pub in_loop: Vec<bool>,
    /// Natural loops, inner ones before those around them.
    pub loops: Vec<Loop>,
    /// Index of the innermost natural loop around each block.
    pub innermost: Vec<Option<usize>>,
    /// Blocks that are reached or not depending on how a block ends.
    pub decides: Vec<Vec<Block>>,
    dominator: Vec<Option<usize>>,
    pub predecessors: Vec<Vec<usize>>,
}

impl FlowGraph {
    pub fn new(code: &Code) -> Self {
        let count = code.blocks.len();
        let next: Vec<Vec<usize>> = code
            .blocks
            .iter()
            .map(|block| {
                let mut all: Vec<usize> =
                    block.next.iter().copied().chain(block.caught_by()).map(|to| to as usize).collect();
                all.sort_unstable();
                all.dedup();
                all
            })
            .collect();
        let order = reverse_postorder(&next, 0);
        let mut reached = vec![false; count];
        order.iter().for_each(|at| reached[*at] = true);
        let predecessors = reverse(&next, &reached);
        let dominator = dominators(&order, &predecessors, 0);
        let in_loop = cycles(&next, &order);
        let (loops, innermost) = loops(&next, &predecessors, &dominator, &reached);
        let decides = decided_by(code, &|_| false);
        Self { reached, in_loop, loops, innermost, decides, dominator, predecessors }
    }

    /// Every way to `other` goes through `one`.
    pub fn dominates(&self, one: Block, other: Block) -> bool {
        dominates(&self.dominator, one as usize, other as usize)
    }

    /// Whether control may get from the end of a block to the beginning of another one.
    pub fn leads_to(&self, from: Block, to: Block) -> bool {
        let mut seen = vec![false; self.predecessors.len()];
        let mut rest = vec![to as usize];
        while let Some(at) = rest.pop() {
            for before in &self.predecessors[at] {
                if *before == from as usize {
                    return true;
                }
                if !std::mem::replace(&mut seen[*before], true) {
                    rest.push(*before);
                }
            }
        }
        false
    }

    /// Whether whoever gets to a statement was at another one before, given as blocks and places in them.
    pub fn comes_first(&self, first: (Block, u32), then: (Block, u32)) -> bool {
        if first.0 == then.0 { first.1 < then.1 } else { self.dominates(first.0, then.0) }
    }

    /// The nearest block that every way to this one goes through.
    pub fn dominator(&self, block: Block) -> Option<Block> {
        self.dominator[block as usize].map(|above| above as Block)
    }

    /// In the same innermost loop, or both in none.
    pub fn same_loop(&self, one: Block, other: Block) -> bool {
        let (a, b) = (one as usize, other as usize);
        let known = |at: usize| self.innermost[at].is_some() || !self.in_loop[at];
        known(a) && known(b) && self.innermost[a] == self.innermost[b]
    }
}

/// Blocks that are reached or not depending on how each block ends, where some handlers do not count as ways to go on.
pub fn decided_by(code: &Code, is_left_out: &dyn Fn(Block) -> bool) -> Vec<Vec<Block>> {
    let normal: Vec<Vec<usize>> = (0..code.blocks.len())
        .map(|at| {
            let block = &code.blocks[at];
            let goes_on = |to: &Block| !only_rethrows(code, *to as usize) && !is_left_out(*to);
            let mut all: Vec<usize> =
                block.next.iter().copied().chain(block.caught_by().filter(goes_on)).map(|to| to as usize).collect();
            all.sort_unstable();
            all.dedup();
            all
        })
        .collect();
    let mut normally = vec![false; code.blocks.len()];
    reverse_postorder(&normal, 0).into_iter().for_each(|at| normally[at] = true);
    decides(&normal, &normally)
}

/// A handler that cleans up and throws again, which no handler of this method catches: what comes of it is up to the
/// callers.
fn only_rethrows(code: &Code, handler: usize) -> bool {
    let mut seen = vec![handler];
    let mut at = 0;
    while let Some(block) = seen.get(at).copied() {
        at += 1;
        let own = &code.blocks[block];
        let ends = matches!(own.statements.last().map(|last| &last.kind), Some(Kind::Return(_) | Kind::Switch(_)));
        let acts = own.statements.iter().any(|one| matches!(one.kind, Kind::Store(..) | Kind::Call(_)));
        if ends || acts || own.caught_by().any(|to| !seen.contains(&(to as usize))) || seen.len() > 4 {
            return false;
        }
        for to in &own.next {
            if seen.contains(&(*to as usize)) {
                return false;
            }
            seen.push(*to as usize);
        }
    }
    true
}

fn reverse(next: &[Vec<usize>], reached: &[bool]) -> Vec<Vec<usize>> {
    let mut back = vec![Vec::new(); next.len()];
    for (at, all) in next.iter().enumerate().filter(|(at, _)| reached[*at]) {
        all.iter().for_each(|to| back[*to].push(at));
    }
    back
}

fn reverse_postorder(next: &[Vec<usize>], root: usize) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; next.len()];
    let mut stack = vec![(root, 0)];
    if next.is_empty() {
        return order;
    }
    seen[root] = true;
    while let Some((at, index)) = stack.pop() {
        let Some(to) = next[at].get(index) else {
            order.push(at);
            continue;
        };
        stack.push((at, index + 1));
        if !std::mem::replace(&mut seen[*to], true) {
            stack.push((*to, 0));
        }
    }
    order.reverse();
    order
}

/// Immediate dominators; none of the root and of what is not reached.
fn dominators(order: &[usize], predecessors: &[Vec<usize>], root: usize) -> Vec<Option<usize>> {
    let mut rank = vec![usize::MAX; predecessors.len()];
    order.iter().enumerate().for_each(|(at, block)| rank[*block] = at);
    let mut idom: Vec<Option<usize>> = vec![None; predecessors.len()];
    if order.is_empty() {
        return idom;
    }
    idom[root] = Some(root);
    let mut changed = true;
    while changed {
        changed = false;
        for at in order.iter().copied().filter(|at| *at != root) {
            let mut new: Option<usize> = None;
            for from in predecessors[at].iter().copied().filter(|from| idom[*from].is_some()) {
                new = Some(match new {
                    None => from,
                    Some(other) => meet(&idom, &rank, from, other),
                });
            }
            if new.is_some() && idom[at] != new {
                idom[at] = new;
                changed = true;
            }
        }
    }
    idom[root] = None;
    idom
}

fn meet(idom: &[Option<usize>], rank: &[usize], mut one: usize, mut other: usize) -> usize {
    while one != other {
        while rank[one] > rank[other] {
            one = idom[one].unwrap_or(other);
        }
        while rank[other] > rank[one] {
            other = idom[other].unwrap_or(one);
        }
    }
    one
}

fn dominates(idom: &[Option<usize>], one: usize, mut other: usize) -> bool {
    loop {
        if one == other {
            return true;
        }
        match idom[other] {
            Some(above) => other = above,
            None => return false,
        }
    }
}

/// Blocks on cycles: strongly connected components (Tarjan 1972, without recursion).
fn cycles(next: &[Vec<usize>], order: &[usize]) -> Vec<bool> {
    let count = next.len();
    let (mut index, mut low) = (vec![usize::MAX; count], vec![0; count]);
    let (mut on_stack, mut in_loop) = (vec![false; count], vec![false; count]);
    let (mut stack, mut counter) = (Vec::new(), 0);
    for root in order.iter().copied() {
        if index[root] != usize::MAX {
            continue;
        }
        let mut work = vec![(root, 0)];
        while let Some((at, edge)) = work.pop() {
            if edge == 0 {
                (index[at], low[at]) = (counter, counter);
                counter += 1;
                stack.push(at);
                on_stack[at] = true;
            }
            if edge > 0 {
                let child = next[at][edge - 1];
                if on_stack[child] {
                    low[at] = low[at].min(low[child]);
                }
            }
            if let Some(to) = next[at].get(edge).copied() {
                work.push((at, edge + 1));
                if index[to] == usize::MAX {
                    work.push((to, 0));
                }
                continue;
            }
            if low[at] == index[at] {
                let from = stack.iter().rposition(|block| *block == at).unwrap_or(0);
                let component = stack.split_off(from);
                let cyclic = component.len() > 1 || next[at].contains(&at);
                for block in component {
                    on_stack[block] = false;
                    in_loop[block] = cyclic;
                }
            }
        }
    }
    in_loop
}

fn loops(
    next: &[Vec<usize>],
    predecessors: &[Vec<usize>],
    idom: &[Option<usize>],
    reached: &[bool],
) -> (Vec<Loop>, Vec<Option<usize>>) {
    let mut bodies: std::collections::BTreeMap<usize, std::collections::BTreeSet<usize>> = Default::default();
    for (at, all) in next.iter().enumerate().filter(|(at, _)| reached[*at]) {
        for head in all.iter().copied().filter(|head| dominates(idom, *head, at)) {
            let body = bodies.entry(head).or_insert_with(|| [head].into());
            let mut rest = vec![at];
            while let Some(block) = rest.pop() {
                if body.insert(block) {
                    rest.extend(&predecessors[block]);
                }
            }
        }
    }
    let mut loops: Vec<Loop> = bodies
        .into_iter()
        .map(|(head, blocks)| Loop { head: head as Block, blocks: blocks.into_iter().map(|at| at as Block).collect() })
        .collect();
    loops.sort_by_key(|one| one.blocks.len());
    let mut innermost = vec![None; next.len()];
    for (index, one) in loops.iter().enumerate() {
        for block in &one.blocks {
            innermost[*block as usize].get_or_insert(index);
        }
    }
    (loops, innermost)
}

/// `a` decides what is reached on some ways out of it but not on all.
fn decides(next: &[Vec<usize>], reached: &[bool]) -> Vec<Vec<Block>> {
    let count = next.len();
    let end = count;
    // Backwards: from the end to everything that reaches it; what does not ends where it stands.
    let mut forward: Vec<Vec<usize>> = next.to_vec();
    forward.push(Vec::new());
    let mut alive: Vec<bool> = reached.to_vec();
    alive.push(true);
    let mut ends = vec![false; count + 1];
    loop {
        for at in 0..count {
            if reached[at] && forward[at].is_empty() {
                forward[at].push(end);
            }
        }
        let back = reverse(&forward, &alive);
        ends.iter_mut().for_each(|ends| *ends = false);
        let mut rest = vec![end];
        ends[end] = true;
        while let Some(at) = rest.pop() {
            for from in &back[at] {
                if !std::mem::replace(&mut ends[*from], true) {
                    rest.push(*from);
                }
            }
        }
        let endless: Vec<usize> = (0..count).filter(|at| reached[*at] && !ends[*at]).collect();
        if endless.is_empty() {
            break;
        }
        endless.into_iter().for_each(|at| forward[at].push(end));
    }
    let back = reverse(&forward, &alive);
    let order = reverse_postorder(&back, end);
    let after: Vec<Vec<usize>> = forward.clone();
    let ipdom = dominators(&order, &after, end);
    let mut decides = vec![Vec::new(); count];
    for at in (0..count).filter(|at| reached[*at] && forward[*at].len() > 1) {
        for to in &forward[at] {
            let mut block = *to;
            while Some(block) != ipdom[at] && block != end {
                if !decides[at].contains(&(block as Block)) {
                    decides[at].push(block as Block);
                }
                match ipdom[block] {
                    Some(above) => block = above,
                    None => break,
                }
            }
        }
    }
    decides
}

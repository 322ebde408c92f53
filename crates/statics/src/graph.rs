//! The control flow of one function: the order in which to look at its blocks, its loops, and which branches decide
//! whether a block is reached (control dependence, Ferrante et al. 1987).
//!
//! A failure ends the whole program, so statements that may fail are no branches here: what is said holds for
//! executions that do not fail.

use reweave_script::language::{BlockId, Function};

pub struct Graph {
    pub predecessors: Vec<Vec<BlockId>>,
    pub successors: Vec<Vec<BlockId>>,
    /// Position of each block in reverse postorder; blocks that nothing leads to come last.
    pub rank: Vec<u32>,
    pub is_loop_head: Vec<bool>,
    /// Lies on a cycle.
    pub in_loop: Vec<bool>,
    /// For each block, the blocks that are reached or not depending on how it ends.
    pub decides: Vec<Vec<BlockId>>,
}

impl Graph {
    pub fn new(function: &Function) -> Self {
        let count = function.blocks.len();
        let mut successors = vec![Vec::new(); count];
        let mut predecessors = vec![Vec::new(); count];
        for (at, block) in function.blocks.iter().enumerate() {
            let mut next = block.statements.last().map(|last| last.kind.successors()).unwrap_or_default();
            next.sort_unstable();
            next.dedup();
            for to in &next {
                predecessors[to.index()].push(BlockId(at as u32));
            }
            successors[at] = next;
        }
        let order = reverse_postorder(&successors, &[0]);
        let mut rank = vec![u32::MAX; count];
        for (at, block) in order.iter().enumerate() {
            rank[*block] = at as u32;
        }
        let is_loop_head =
            (0..count).map(|at| predecessors[at].iter().any(|from| rank[from.index()] >= rank[at])).collect();
        let in_loop = (0..count).map(|at| reaches(&successors, at, at)).collect();
        let decides = control_dependence(&successors);
        Self { predecessors, successors, rank, is_loop_head, in_loop, decides }
    }
}

fn reverse_postorder(successors: &[Vec<BlockId>], roots: &[usize]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; successors.len()];
    for root in roots {
        let mut stack = vec![(*root, 0)];
        if std::mem::replace(&mut seen[*root], true) {
            continue;
        }
        while let Some((at, next)) = stack.pop() {
            let Some(to) = successors[at].get(next) else {
                order.push(at);
                continue;
            };
            stack.push((at, next + 1));
            if !std::mem::replace(&mut seen[to.index()], true) {
                stack.push((to.index(), 0));
            }
        }
    }
    order.reverse();
    order
}

/// Whether one or more edges lead from one block to another.
fn reaches(successors: &[Vec<BlockId>], from: usize, to: usize) -> bool {
    let mut seen = vec![false; successors.len()];
    let mut rest = vec![from];
    while let Some(at) = rest.pop() {
        for next in &successors[at] {
            if next.index() == to {
                return true;
            }
            if !std::mem::replace(&mut seen[next.index()], true) {
                rest.push(next.index());
            }
        }
    }
    false
}

/// By postdominators: `a` decides `b` if `b` postdominates a successor of `a`, but not `a` itself (or is `a`).
fn control_dependence(successors: &[Vec<BlockId>]) -> Vec<Vec<BlockId>> {
    let count = successors.len();
    let end = count;
    let mut backward: Vec<Vec<usize>> = vec![Vec::new(); count + 1];
    for (at, next) in successors.iter().enumerate() {
        next.iter().for_each(|to| backward[to.index()].push(at));
        if next.is_empty() {
            backward[end].push(at);
        }
    }
    // Blocks that never end are taken to end anywhere: more is decided then, never less.
    let mut ends = vec![false; count + 1];
    let mut rest = vec![end];
    ends[end] = true;
    while let Some(at) = rest.pop() {
        for from in &backward[at] {
            if !std::mem::replace(&mut ends[*from], true) {
                rest.push(*from);
            }
        }
    }
    let mut forward: Vec<Vec<usize>> =
        successors.iter().map(|next| next.iter().map(|to| to.index()).collect()).collect();
    for at in 0..count {
        if !ends[at] || forward[at].is_empty() {
            forward[at].push(end);
        }
    }
    forward.push(Vec::new());
    let postdominates = postdominators(&forward, end);
    let mut decides = vec![Vec::new(); count];
    for (at, decides) in decides.iter_mut().enumerate() {
        let is_decided = |&to: &usize| {
            let after_one = forward[at].iter().any(|next| *next == to || postdominates[*next][to]);
            let strictly = to != at && postdominates[at][to];
            forward[at].len() > 1 && after_one && !strictly
        };
        decides.extend((0..count).filter(is_decided).map(|to| BlockId(to as u32)));
    }
    decides
}

/// `result[a][b]`: every way from `a` to the end goes through `b`.
fn postdominators(forward: &[Vec<usize>], end: usize) -> Vec<Vec<bool>> {
    let count = forward.len();
    let mut all = vec![vec![true; count]; count];
    all[end] = vec![false; count];
    all[end][end] = true;
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..count).rev().filter(|at| *at != end) {
            let mut meet = vec![true; count];
            for next in &forward[at] {
                meet.iter_mut().zip(&all[*next]).for_each(|(one, other)| *one &= other);
            }
            meet[at] = true;
            if meet != all[at] {
                all[at] = meet;
                changed = true;
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use reweave_script::language::parse;

    fn graph(body: &str) -> Graph {
        let text = format!("func main() {{\n{body}\n}}\n");
        let program = parse("graph.rwi", &text).unwrap_or_else(|error| panic!("{error}"));
        Graph::new(&program.functions[0])
    }

    #[test]
    fn a_branch_decides_its_arms_and_not_what_follows() {
        let graph = graph(
            "a:\n %c: bool = const true\n branch %c, b, c\nb:\n jump d\nc:\n jump d\nd:\n return\nunused:\n jump d",
        );
        assert_eq!(graph.decides[0], [BlockId(1), BlockId(2)]);
        assert!(graph.decides[3].is_empty());
        assert!(graph.in_loop.iter().all(|looped| !looped));
        assert_eq!(graph.rank[4], u32::MAX);
    }

    #[test]
    fn a_loop_decides_its_body_and_its_own_head() {
        let graph = graph(
            "a:\n %c: bool = const true\n jump head\nhead:\n branch %c, body, out\nbody:\n jump head\nout:\n return",
        );
        assert_eq!(graph.decides[1], [BlockId(1), BlockId(2)]);
        assert!(graph.is_loop_head[1] && graph.in_loop[1] && graph.in_loop[2] && !graph.in_loop[3]);
    }

    #[test]
    fn what_comes_after_an_early_return_is_decided() {
        let graph = graph("a:\n %c: bool = const true\n branch %c, b, c\nb:\n return\nc:\n return");
        assert_eq!(graph.decides[0], [BlockId(1), BlockId(2)]);
    }
}

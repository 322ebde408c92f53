//! What each node of a [`Tree`] can still lead to, and so which operations cannot matter to anybody else: those are
//! done at once, in one order only (ample sets of one thread; the state space has no cycles).
//!
//! Trees of which nodes were [merged](super::merge) have cycles: there anything that a thread ever does may come after
//! any of its nodes, and what is done at once has to be bounded by who does it.
//!
//! Sound for what is asked here (which nodes are reached, and in which combinations threads end): an operation is done
//! alone only if nothing that other threads can do before it, by all that is known, depends on it.

use std::ops::Range;

use super::state::State;
use super::tree::{NodeId, Request, Thing, ThreadNumber, ThreadSet, Tree};

/// How an operation uses a thing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Looks,
    Changes,
    /// Changes what others wait for, and only ever lets them go on.
    Frees,
    Tries,
}

/// What can still happen after each node. What takes the place of a list for every node: nodes are numbered so that those
/// after one are a range, and for every thing it is known at which of these numbers it is used. So all of it takes as much
/// as the tree does, however many things there are.
pub struct Futures {
    /// Dense numbers of the things that several threads use.
    number: Vec<u32>,
    /// By node: the places of what comes after it, and its own.
    after: Vec<Range<u32>>,
    threads: Vec<Threads>,
    used: Places,
    changed: Places,
    /// Locks, semaphores and objects that may be refused.
    tried: Places,
}

/// What is still to come from one node on, as far as it is about threads.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Threads {
    /// Those that may be forked, and those that these may fork.
    forked: ThreadSet,
    /// Those that are certainly joined before the process is ended here.
    joined: ThreadSet,
    /// Those whose end somebody asks for without waiting.
    asked: ThreadSet,
}

/// Where things are used.
struct Places {
    /// By number of the thing. invariant: ascending
    at: Vec<Vec<u32>>,
    /// The threads that do so anywhere.
    by: Vec<ThreadSet>,
}

impl Places {
    fn new(things: usize) -> Self {
        Self { at: vec![Vec::new(); things], by: vec![0; things] }
    }

    fn add(&mut self, thing: u32, at: u32, who: ThreadNumber) {
        self.at[thing as usize].push(at);
        self.by[thing as usize] |= 1 << who;
    }

    fn sort(&mut self) {
        for places in &mut self.at {
            places.sort_unstable();
            places.dedup();
            places.shrink_to_fit();
        }
    }

    fn is_within(&self, thing: u32, range: &Range<u32>) -> bool {
        let places = &self.at[thing as usize];
        places.get(places.partition_point(|&at| at < range.start)).is_some_and(|&at| at < range.end)
    }
}

const ALONE: u32 = u32::MAX;
/// After so many nodes it is asked whether there is still time and memory.
const ASK_EVERY: usize = 1 << 14;

fn uses(tree: &Tree, ask: &Request, mut each: impl FnMut(Thing, Use)) {
    match *ask {
        Request::Access { ref parts, writes, .. } => {
            let kind = if writes { Use::Changes } else { Use::Looks };
            parts.iter().for_each(|part| each(part.word, kind));
        }
        Request::Free { ref words, block } => {
            words.iter().for_each(|&word| each(word, Use::Changes));
            tree.within(block).iter().for_each(|&object| each(object, Use::Tries));
        }
        Request::Acquire { lock, tried, .. } => each(lock, if tried { Use::Tries } else { Use::Changes }),
        Request::Release { lock, .. } => each(lock, Use::Frees),
        Request::Wait { condition, lock } => {
            each(condition, Use::Changes);
            each(lock, Use::Frees);
        }
        Request::Wake { condition, lock, timed } => {
            each(condition, if timed { Use::Tries } else { Use::Changes });
            each(lock, Use::Changes);
        }
        Request::Notify { condition, .. } => each(condition, Use::Changes),
        Request::Arrive { barrier, .. } => each(barrier, Use::Changes),
        Request::Post { semaphore } => each(semaphore, Use::Frees),
        Request::Take { semaphore, tried } => each(semaphore, if tried { Use::Tries } else { Use::Changes }),
        // Even what only frees depends on it.
        Request::Create { object, .. } | Request::Destroy { object } => each(object, Use::Tries),
        Request::Once { object } | Request::OnceEnd { object } => each(object, Use::Changes),
        Request::Leave { .. } | Request::Fork { .. } | Request::Join { .. } | Request::End | Request::Exit => {}
    }
}

impl Futures {
    /// `None`: there was no time for it, or no memory.
    pub fn new(tree: &Tree, is_over: impl Fn() -> bool) -> Option<Self> {
        let mut futures = Self::uses_of(tree, ranges(tree), &owners(tree), &is_over)?;
        // A child's future is its parent's too, until it is forked. First every thread by itself, then with its
        // children.
        let mut children = vec![Threads { forked: 0, joined: ThreadSet::MAX, asked: 0 }; tree.threads.len()];
        loop {
            futures.threads = threads(tree, &children);
            let now: Vec<Threads> = tree.roots.iter().map(|&root| futures.threads[root as usize]).collect();
            if now == children {
                return Some(futures);
            }
            if is_over() {
                return None;
            }
            children = now;
        }
    }

    /// The same for nodes that may come after themselves.
    pub fn of_graph(tree: &Tree, is_over: impl Fn() -> bool) -> Option<Self> {
        let owners = owners(tree);
        let after = owners.iter().map(|&owner| u32::from(owner)..u32::from(owner) + 1).collect();
        let mut futures = Self::uses_of(tree, after, &owners, &is_over)?;
        let none = Threads { forked: 0, joined: ThreadSet::MAX, asked: 0 };
        let mut children = vec![none; tree.threads.len()];
        for (id, node) in tree.nodes.iter().enumerate() {
            let own = &mut children[usize::from(owners[id])];
            match node.ask {
                Some(Request::Fork { child }) => own.forked |= 1 << child,
                Some(Request::Join { child, tried: true }) => own.asked |= 1 << child,
                _ => {}
            }
        }
        // A thread has a higher number than who made it.
        for who in (0..children.len()).rev() {
            for child in who + 1..children.len() {
                if children[who].forked >> child & 1 == 1 {
                    let (forked, asked) = (children[child].forked, children[child].asked);
                    children[who].forked |= forked;
                    children[who].asked |= asked;
                }
            }
        }
        futures.threads = owners.iter().map(|&owner| children[usize::from(owner)]).collect();
        Some(futures)
    }

    /// Who uses what, where.
    fn uses_of(
        tree: &Tree,
        after: Vec<Range<u32>>,
        owners: &[ThreadNumber],
        is_over: &impl Fn() -> bool,
    ) -> Option<Self> {
        let number = shared(tree, owners);
        let things = number.iter().filter(|number| **number != ALONE).count();
        let mut futures = Self {
            number,
            after,
            threads: Vec::new(),
            used: Places::new(things),
            changed: Places::new(things),
            tried: Places::new(things),
        };
        for (id, node) in tree.nodes.iter().enumerate() {
            if id % ASK_EVERY == 0 && is_over() {
                return None;
            }
            let Some(ask) = &node.ask else { continue };
            let (at, who) = (futures.after[id].start, owners[id]);
            uses(tree, ask, |thing, kind| {
                let number = futures.number[thing as usize];
                if number == ALONE {
                    return;
                }
                futures.used.add(number, at, who);
                if kind != Use::Looks {
                    futures.changed.add(number, at, who);
                }
                if kind == Use::Tries {
                    futures.tried.add(number, at, who);
                }
            });
        }
        [&mut futures.used, &mut futures.changed, &mut futures.tried].into_iter().for_each(Places::sort);
        Some(futures)
    }

    /// Whether something after a node uses a thing in that way.
    fn comes(&self, places: &Places, node: NodeId, thing: u32) -> bool {
        let node = node as usize;
        places.by[thing as usize] & self.threads[node].forked != 0 || places.is_within(thing, &self.after[node])
    }

    pub fn is_shared(&self, thing: Thing) -> bool {
        self.number[thing as usize] != ALONE
    }

    /// Whether nothing that others can still do before it depends on the next operation of this thread.
    pub fn is_alone(&self, tree: &Tree, state: &State, who: ThreadNumber, node: NodeId) -> bool {
        let mut shared = Vec::new();
        let mut ends = false;
        let mut next = Some(node);
        while let Some(node) = next.map(|id| tree.node(id)) {
            match &node.ask {
                None | Some(Request::Exit | Request::Wake { timed: true, .. } | Request::Join { tried: true, .. }) => {
                    return false;
                }
                Some(ask) => {
                    uses(tree, ask, |thing, kind| {
                        let number = self.number[thing as usize];
                        if number != ALONE {
                            shared.push((number, kind));
                        }
                    });
                    ends |= *ask == Request::End;
                }
            }
            // What cannot be held up goes with it.
            next = node.edges.iter().map(|edge| edge.to).find(|&to| tree.node(to).fused);
        }
        let mut others = state.threads().filter(|(other, _)| *other != who && !state.is_over(*other));
        others.all(|(_, other)| {
            let threads = &self.threads[other as usize];
            let cut_off = threads.joined >> who & 1 == 0;
            let end = ends && threads.asked >> who & 1 == 1;
            let depends = |&(thing, kind): &(u32, Use)| {
                let places = match kind {
                    Use::Looks => &self.changed,
                    Use::Frees => &self.tried,
                    Use::Changes | Use::Tries => &self.used,
                };
                self.comes(places, other, thing)
            };
            !cut_off && !end && !shared.iter().any(depends)
        })
    }
}

/// By node: what comes after it on its thread, as far as it is about other threads. `children`: what is known of the
/// beginning of each.
fn threads(tree: &Tree, children: &[Threads]) -> Vec<Threads> {
    let mut all = vec![Threads { forked: 0, joined: ThreadSet::MAX, asked: 0 }; tree.nodes.len()];
    // What comes after a node has higher numbers.
    for (id, node) in tree.nodes.iter().enumerate().rev() {
        let mut own = all[id];
        for next in node.edges.iter().map(|edge| all[edge.to as usize]) {
            own.forked |= next.forked;
            own.joined &= next.joined;
            own.asked |= next.asked;
        }
        match node.ask {
            Some(Request::Fork { child }) => {
                let next = children[usize::from(child)];
                own.forked |= next.forked | 1 << child;
                own.asked |= next.asked;
                // Who ends the process there does so without joining anybody else, for all we know.
                own.joined &= next.joined;
            }
            Some(Request::Join { child, tried: true }) => own.asked |= 1 << child,
            Some(Request::Join { child, tried: false }) => own.joined |= 1 << child,
            Some(Request::Exit) => own.joined = 0,
            _ => {}
        }
        all[id] = own;
    }
    all
}

/// Numbers the nodes so that each is followed by all that come after it.
fn ranges(tree: &Tree) -> Vec<Range<u32>> {
    let mut sizes = vec![1u32; tree.nodes.len()];
    for (id, node) in tree.nodes.iter().enumerate().rev() {
        sizes[id] += node.edges.iter().map(|edge| sizes[edge.to as usize]).sum::<u32>();
    }
    let mut ranges = vec![0..0; tree.nodes.len()];
    let mut free = 0;
    for &root in &tree.roots {
        ranges[root as usize].start = free;
        free += sizes[root as usize];
    }
    for (id, node) in tree.nodes.iter().enumerate() {
        let start = ranges[id].start;
        ranges[id].end = start + sizes[id];
        let mut next = start + 1;
        for edge in &node.edges {
            ranges[edge.to as usize].start = next;
            next += sizes[edge.to as usize];
        }
    }
    ranges
}

/// The thread of each node.
fn owners(tree: &Tree) -> Vec<ThreadNumber> {
    let mut owners = vec![0; tree.nodes.len()];
    for (who, &root) in tree.roots.iter().enumerate() {
        owners[root as usize] = who as ThreadNumber;
    }
    for (id, node) in tree.nodes.iter().enumerate() {
        for edge in &node.edges {
            owners[edge.to as usize] = owners[id];
        }
    }
    owners
}

/// Numbers of the things that several threads use and somebody changes.
fn shared(tree: &Tree, owners: &[ThreadNumber]) -> Vec<u32> {
    let (mut users, mut changes): (Vec<ThreadSet>, Vec<bool>) = (vec![0; tree.things()], vec![false; tree.things()]);
    for (id, node) in tree.nodes.iter().enumerate() {
        if let Some(ask) = &node.ask {
            uses(tree, ask, |thing, kind| {
                users[thing as usize] |= 1 << owners[id];
                changes[thing as usize] |= kind != Use::Looks;
            });
        }
    }
    let mut things = 0;
    let number = |(users, changes): (ThreadSet, bool)| {
        let is_shared = users.count_ones() > 1 && changes;
        things += u32::from(is_shared);
        if is_shared { things - 1 } else { ALONE }
    };
    users.into_iter().zip(changes).map(number).collect()
}

#[cfg(test)]
mod tests {
    use reweave_model::ThreadName;

    use super::*;
    use crate::classes::Digest;
    use crate::explore::tree::{Base, Edge, Part, StepResult};

    const WORDS: i64 = 20_000;

    /// Two threads that write every word once.
    fn everything_is_shared() -> Tree {
        let mut tree = Tree::default();
        for nth in 0..2 {
            let name = if nth == 0 { ThreadName::MAIN } else { ThreadName { parent: 0, nth } };
            let who = tree.thread_number(name).expect("a thread");
            let mut node = tree.roots[usize::from(who)];
            for at in 0..WORDS {
                let word = tree.thing(Base::Global(0), at, false);
                let parts = Box::new([Part { word, mask: 0xff }]);
                tree.ask(node, Request::Access { parts, reads: false, writes: true, atomic: false });
                let to = tree.add(Digest::NEW);
                tree.connect(node, Edge { answer: StepResult::Done, steps: 1, writes: Box::new([]), to });
                node = to;
            }
        }
        tree
    }

    /// What this process takes, in bytes.
    fn taken() -> usize {
        let text = std::fs::read_to_string("/proc/self/statm").expect("statm");
        text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("pages") << 12
    }

    #[test]
    fn what_is_to_come_takes_no_more_than_the_tree_itself() {
        let tree = everything_is_shared();
        let before = taken();
        let futures = Futures::new(&tree, || false).expect("there is time");
        let more = taken().saturating_sub(before);
        // A bit for each word at each node would be a hundred megabytes.
        assert!(more < 4 * tree.bytes() && tree.bytes() < 16 << 20, "{more} bytes for a tree of {}", tree.bytes());
        let (first, last) = (tree.roots[1], tree.roots[1] + WORDS as NodeId - 1);
        let number = |at: i64| futures.number[at as usize];
        assert!(
            futures.comes(&futures.used, first, number(0)) && futures.comes(&futures.changed, last, number(WORDS - 1))
        );
        assert!(!futures.comes(&futures.used, last, number(0)) && !futures.comes(&futures.tried, first, number(0)));
        assert!(Futures::new(&tree, || true).is_none(), "it asks whether there is time");
    }
}

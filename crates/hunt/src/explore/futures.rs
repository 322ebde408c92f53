//! What each node of a [`Tree`] can still lead to, and so which operations cannot matter to anybody else: those are
//! done at once, in one order only (ample sets of one thread; the state space has no cycles).
//!
//! Sound for what is asked here (which nodes are reached, and in which combinations threads end): an operation is done
//! alone only if nothing that other threads can do before it, by all that is known, depends on it.

use super::state::State;
use super::tree::{NodeId, Request, Thing, ThreadNumber, ThreadSet, Tree};

#[derive(Clone, PartialEq, Eq, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(len: usize) -> Self {
        Self(vec![0; len.div_ceil(64)])
    }

    fn set(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }
}

/// What is still to come, from one node on.
#[derive(Clone)]
struct Future {
    /// Things used, things changed, locks and semaphores that may be refused.
    used: Bits,
    changed: Bits,
    tried: Bits,
    /// Threads that are certainly joined before the process is ended here.
    joined: ThreadSet,
    /// Threads whose end somebody asks for without waiting.
    asked: ThreadSet,
}

/// How an operation uses a thing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Looks,
    Changes,
    /// Changes what others wait for, and only ever lets them go on.
    Frees,
    Tries,
}

pub struct Futures {
    of: Vec<Future>,
    /// Dense numbers of the things that several threads use.
    number: Vec<u32>,
}

const ALONE: u32 = u32::MAX;

fn uses(tree: &Tree, ask: &Request) -> Vec<(Thing, Use)> {
    match *ask {
        Request::Access { ref parts, writes, .. } => {
            let kind = if writes { Use::Changes } else { Use::Looks };
            parts.iter().map(|part| (part.word, kind)).collect()
        }
        Request::Free { ref words, block } => {
            let words = words.iter().map(|&word| (word, Use::Changes));
            words.chain(tree.within(block).iter().map(|&object| (object, Use::Tries))).collect()
        }
        Request::Acquire { lock, tried, .. } => vec![(lock, if tried { Use::Tries } else { Use::Changes })],
        Request::Release { lock, .. } => vec![(lock, Use::Frees)],
        Request::Wait { condition, lock } => vec![(condition, Use::Changes), (lock, Use::Frees)],
        Request::Wake { condition, lock, timed } => {
            let condition = (condition, if timed { Use::Tries } else { Use::Changes });
            vec![condition, (lock, Use::Changes)]
        }
        Request::Notify { condition, .. } => vec![(condition, Use::Changes)],
        Request::Arrive { barrier, .. } => vec![(barrier, Use::Changes)],
        Request::Leave { .. } => Vec::new(),
        Request::Post { semaphore } => vec![(semaphore, Use::Frees)],
        Request::Take { semaphore, tried } => vec![(semaphore, if tried { Use::Tries } else { Use::Changes })],
        // Even what only frees depends on it.
        Request::Create { object, .. } | Request::Destroy { object } => vec![(object, Use::Tries)],
        Request::Once { object } | Request::OnceEnd { object } => vec![(object, Use::Changes)],
        Request::Fork { .. } | Request::Join { .. } | Request::End | Request::Exit => Vec::new(),
    }
}

impl Futures {
    pub fn new(tree: &Tree) -> Self {
        let owners = owners(tree);
        let (users, changers) = users(tree, &owners);
        let mut number = vec![ALONE; tree.things()];
        let mut things = 0;
        for thing in 0..tree.things() {
            if users[thing].count_ones() > 1 && changers[thing] {
                number[thing] = things;
                things += 1;
            }
        }
        let mut futures = Self { of: Vec::new(), number };
        let none = Bits::new(things as usize);
        let nothing =
            Future { used: none.clone(), changed: none.clone(), tried: none, joined: ThreadSet::MAX, asked: 0 };
        // A child's future is its parent's too, until it is forked. First every thread by itself, then with its
        // children.
        let mut children: Vec<Future> = vec![nothing.clone(); tree.threads.len()];
        loop {
            futures.of = vec![nothing.clone(); tree.nodes.len()];
            for id in (0..tree.nodes.len()).rev() {
                futures.of[id] = futures.future(tree, id, &nothing, &children);
            }
            let mut changed = false;
            for (child, root) in children.iter_mut().zip(&tree.roots) {
                let new = &futures.of[*root as usize];
                if (&child.used, &child.changed, &child.tried, child.asked, child.joined)
                    != (&new.used, &new.changed, &new.tried, new.asked, new.joined)
                {
                    *child = new.clone();
                    changed = true;
                }
            }
            if !changed {
                return futures;
            }
        }
    }

    /// From what comes after it: children have higher numbers.
    fn future(&self, tree: &Tree, id: usize, nothing: &Future, children: &[Future]) -> Future {
        let node = &tree.nodes[id];
        let mut future = nothing.clone();
        for edge in &node.edges {
            let next = &self.of[edge.to as usize];
            future.used.join(&next.used);
            future.changed.join(&next.changed);
            future.tried.join(&next.tried);
            future.joined &= next.joined;
            future.asked |= next.asked;
        }
        let Some(ask) = &node.ask else { return future };
        for (thing, kind) in uses(tree, ask) {
            let number = self.number[thing as usize];
            if number == ALONE {
                continue;
            }
            future.used.set(number as usize);
            if kind != Use::Looks {
                future.changed.set(number as usize);
            }
            if kind == Use::Tries {
                future.tried.set(number as usize);
            }
        }
        match *ask {
            Request::Fork { child } => {
                let child = &children[usize::from(child)];
                future.used.join(&child.used);
                future.changed.join(&child.changed);
                future.tried.join(&child.tried);
                future.asked |= child.asked;
                // Who ends the process there does so without joining anybody else, for all we know.
                future.joined &= child.joined;
            }
            Request::Join { child, tried } => {
                if tried {
                    future.asked |= 1 << child;
                } else {
                    future.joined |= 1 << child;
                }
            }
            Request::Exit => future.joined = 0,
            _ => {}
        }
        future
    }

    pub fn is_shared(&self, thing: Thing) -> bool {
        self.number[thing as usize] != ALONE
    }

    /// Whether nothing that others can still do before it depends on the next operation of this thread.
    pub fn is_alone(&self, tree: &Tree, state: &State, who: ThreadNumber, node: NodeId) -> bool {
        let mut uses = Vec::new();
        let mut ends = false;
        let mut next = Some(node);
        while let Some(node) = next.map(|id| tree.node(id)) {
            match &node.ask {
                None | Some(Request::Exit | Request::Wake { timed: true, .. } | Request::Join { tried: true, .. }) => {
                    return false;
                }
                Some(ask) => {
                    uses.extend(self::uses(tree, ask));
                    ends |= *ask == Request::End;
                }
            }
            // What cannot be held up goes with it.
            next = node.edges.iter().map(|edge| edge.to).find(|&to| tree.node(to).fused);
        }
        let mut others = state.threads().filter(|(other, _)| *other != who && !state.is_over(*other));
        others.all(|(_, other)| {
            let future = &self.of[other as usize];
            let cut_off = future.joined >> who & 1 == 0;
            let end = ends && future.asked >> who & 1 == 1;
            let depends = |&(thing, kind): &(Thing, Use)| {
                let number = self.number[thing as usize];
                number != ALONE
                    && match kind {
                        Use::Looks => &future.changed,
                        Use::Frees => &future.tried,
                        Use::Changes | Use::Tries => &future.used,
                    }
                    .has(number as usize)
            };
            !cut_off && !end && !uses.iter().any(depends)
        })
    }
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

/// For each thing the threads that use it, a bit each, and whether anybody changes it.
fn users(tree: &Tree, owners: &[ThreadNumber]) -> (Vec<ThreadSet>, Vec<bool>) {
    let (mut users, mut changers) = (vec![0; tree.things()], vec![false; tree.things()]);
    for (id, node) in tree.nodes.iter().enumerate() {
        for (thing, kind) in node.ask.iter().flat_map(|ask| uses(tree, ask)) {
            users[thing as usize] |= 1 << owners[id];
            changers[thing as usize] |= kind != Use::Looks;
        }
    }
    (users, changers)
}

//! Serializability of the observed order in one pass against the graph over transactions, with every edge drawn.
//! `REWEAVE_AERODROME=N` looks at N random traces instead of a few thousand.

use reweave_model::{EventId, LockMode, Pc};
use reweave_predict::analyses::serializability::Serializability;
use reweave_predict::linear::{
    Access, AccessKind, BlockEdge, Candidates, Channel, Linear, Lock, Sync, Thread, Touch, Word, run,
};
use reweave_trace::Trace;

use super::random::{self, ALLOCS, ATOMICS, BLOCKS, JOINS, LOCKS, SHARED};

/// What an event does, one entry per edge it can have.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Does {
    Touch(Word, u8, AccessKind),
    Acquire(Lock, LockMode),
    Release(Lock, LockMode),
    Fork(Thread),
    Join(Thread),
    Publish(Channel),
    Observe(Channel),
    /// The word is another one from here on.
    Forget(Word),
}

#[derive(Default)]
struct Graph {
    /// Event, thread, transaction.
    does: Vec<(EventId, Thread, usize, Does)>,
    transactions: usize,
    depth: Vec<u32>,
    open: Vec<Option<usize>>,
}

impl Graph {
    fn grow(&mut self, thread: Thread) {
        let len = self.depth.len().max(thread.index() + 1);
        self.depth.resize(len, 0);
        self.open.resize(len, None);
    }

    fn add(&mut self, event: EventId, thread: Thread, does: Does) {
        self.grow(thread);
        let transaction = self.open[thread.index()].unwrap_or_else(|| {
            // One event, several edges: still one transaction.
            match self.does.last() {
                Some(&(last, _, transaction, _)) if last == event => transaction,
                _ => {
                    self.transactions += 1;
                    self.transactions - 1
                }
            }
        });
        self.does.push((event, thread, transaction, does));
    }

    /// Whether the graph of the events up to this one has a cycle.
    fn has_cycle(&self, until: EventId) -> bool {
        let mut edges = vec![Vec::new(); self.transactions];
        let seen: Vec<_> = self.does.iter().filter(|(event, ..)| *event <= until).collect();
        for (j, (_, thread, to, does)) in seen.iter().enumerate() {
            for (i, (_, other, from, earlier)) in seen[..j].iter().enumerate() {
                let edge = match (earlier, does) {
                    _ if thread == other => true,
                    (Does::Touch(word, mask, kind), Does::Touch(other, other_mask, other_kind)) => {
                        let lives = |(_, _, _, does): &&(EventId, Thread, usize, Does)| *does == Does::Forget(*word);
                        word == other
                            && mask & other_mask != 0
                            && (kind.writes() || other_kind.writes())
                            && !seen[i..j].iter().any(lives)
                    }
                    (Does::Release(lock, mode), Does::Acquire(other, other_mode)) => {
                        lock == other && (*mode, *other_mode) != (LockMode::Shared, LockMode::Shared)
                    }
                    (Does::Fork(child), _) => child == thread,
                    (_, Does::Join(child)) => child == other,
                    (Does::Publish(channel), Does::Observe(other)) => channel == other,
                    _ => false,
                };
                if edge && from != to {
                    edges[*from].push(*to);
                }
            }
        }
        let reach = |from: usize| {
            let mut reached = vec![false; edges.len()];
            let mut open = vec![from];
            while let Some(node) = open.pop() {
                for &next in &edges[node] {
                    if !std::mem::replace(&mut reached[next], true) {
                        open.push(next);
                    }
                }
            }
            reached[from]
        };
        (0..edges.len()).any(reach)
    }
}

impl Linear for Graph {
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        for touch in touched {
            self.add(access.event, access.thread, Does::Touch(touch.word, touch.mask, access.kind));
        }
    }
    fn left_out(&mut self, _: u64) {}
    fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        let does = match sync {
            Sync::Fork { child } => Does::Fork(child),
            Sync::Join { child } => Does::Join(child),
            Sync::Acquire { lock, mode } => Does::Acquire(lock, mode),
            Sync::Release { lock, mode } => Does::Release(lock, mode),
            Sync::Publish { channel, firm: true, .. } => Does::Publish(channel),
            Sync::Observe { channel, firm: true } => Does::Observe(channel),
            _ => return,
        };
        self.add(event, thread, does);
    }
    fn block(&mut self, _: EventId, thread: Thread, _: Pc, edge: BlockEdge) {
        self.grow(thread);
        let depth = &mut self.depth[thread.index()];
        match edge {
            BlockEdge::Enter => {
                *depth += 1;
                if *depth == 1 {
                    self.open[thread.index()] = Some(self.transactions);
                    self.transactions += 1;
                }
            }
            BlockEdge::Exit => {
                *depth -= 1;
                if *depth == 0 {
                    self.open[thread.index()] = None;
                }
            }
            BlockEdge::Wait => self.open[thread.index()] = None,
            BlockEdge::Lock | BlockEdge::Unlock => {}
        }
    }
    fn forget(&mut self, word: Word) {
        // By nobody in particular: no edge of its own.
        let (event, thread, transaction) =
            self.does.last().map_or((EventId(0), Thread(0), 0), |&(e, t, x, _)| (e, t, x));
        self.does.push((event, thread, transaction, Does::Forget(word)));
    }
    fn finish(&mut self) -> Candidates {
        Candidates::default()
    }
}

fn found(trace: &Trace) -> Candidates {
    let [found, collecting] = [Serializability::default(), Serializability::collecting_from(4)].map(|mut analysis| {
        run(trace, &mut analysis, &mut |_| true).expect("a sound trace");
        analysis.finish()
    });
    // When it is told, and what more after the first one, may differ.
    assert_eq!(found.pairs.is_empty(), collecting.pairs.is_empty(), "what nobody remembers does not matter");
    found
}

fn graph(trace: &Trace) -> Graph {
    let mut graph = Graph::default();
    run(trace, &mut graph, &mut |_| true).expect("a sound trace");
    graph
}

const MIXES: [u32; 5] =
    [BLOCKS, BLOCKS | LOCKS, BLOCKS | LOCKS | SHARED, BLOCKS | LOCKS | ATOMICS, BLOCKS | LOCKS | ALLOCS];

#[test]
fn one_pass_is_the_graph() {
    let traces = std::env::var("REWEAVE_AERODROME").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000u64);
    let (mut cyclic, mut late) = (0, 0);
    for seed in 0..traces {
        let mix = MIXES[seed as usize % MIXES.len()];
        let trace = random::trace(seed, mix, 8 + seed % 40);
        let graph = graph(&trace);
        let found = found(&trace);
        let expected = graph.has_cycle(EventId(u64::MAX));
        assert_eq!(!found.pairs.is_empty(), expected, "seed {seed}, mix {mix}");
        cyclic += u64::from(expected);
        // What it names happened by then.
        for pair in &found.pairs {
            assert!(graph.has_cycle(pair.second), "seed {seed}, mix {mix}: {pair:?}");
            late += u64::from(pair.second == EventId(u64::MAX));
        }
    }
    println!("serializability: {traces} traces, {cyclic} with a cycle, {late} told at the end of the trace");
    assert!(cyclic > traces / 10 && cyclic < traces * 9 / 10, "{cyclic} of {traces}");
}

/// A wait ends a block, and nothing is said of it; forks and joins order transactions.
#[test]
fn blocks_that_wait_are_not_atomic() {
    let mut cyclic = 0;
    for seed in 0..300 {
        let trace = random::trace(seed, BLOCKS | LOCKS | JOINS, 40);
        let (graph, found) = (graph(&trace), found(&trace));
        assert!(found.pairs.is_empty() || graph.has_cycle(EventId(u64::MAX)), "seed {seed}");
        cyclic += u32::from(!found.pairs.is_empty());
    }
    assert!(cyclic > 30, "{cyclic}");
}

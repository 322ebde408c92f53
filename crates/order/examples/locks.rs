//! `locks NODES CHAINS LOCKS CELLS READS QUESTIONS`: how long questions about a random lock-style history take.
//!
//! Chains take locks, read and write cells, some of them outside their locks. Each question: can these two conflicting
//! accesses come in the other order, with every read after the same write and no two critical sections of a lock at
//! once? Locks and interfering writes are instantiated lazily. READS: percent of accesses that are reads and have to
//! keep their write.

#[path = "../tests/common/mod.rs"]
mod common;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use common::Random;
use reweave_order::{
    Budget, Chain, Clauses, Lazy, Literal, Node, Order, Problem, Solution, Stage, solve, solve_by_search,
};

#[derive(Default)]
struct History {
    chains: Vec<Chain>,
    /// Acquire and release, by lock, in observed order.
    sections: Vec<Vec<(Node, Node)>>,
    /// Each read and the write it returns, by cell.
    reads: Vec<Vec<(Node, Option<Node>)>>,
    writes: Vec<Vec<Node>>,
}

/// Runs the chains at random, each through sections of a few accesses.
fn history(nodes: usize, chains: usize, locks: usize, cells: usize, reads: usize) -> History {
    let mut random = Random::new(7);
    let mut history = History {
        sections: vec![Vec::new(); locks],
        reads: vec![Vec::new(); cells],
        writes: vec![Vec::new(); cells],
        ..History::default()
    };
    let mut held: Vec<Option<(usize, Node, usize)>> = vec![None; chains];
    let mut holder: Vec<Option<usize>> = vec![None; locks];
    let mut chain = 0;
    while history.chains.len() < nodes {
        if random.chance(30) {
            chain = random.below(chains);
        }
        let node = Node(history.chains.len() as u32);
        match held[chain] {
            Some((lock, acquire, 0)) => {
                history.sections[lock].push((acquire, node));
                (held[chain], holder[lock]) = (None, None);
            }
            None if random.chance(60) => {
                let lock = random.below(locks);
                if holder[lock].is_some() {
                    chain = random.below(chains);
                    continue;
                }
                holder[lock] = Some(chain);
                held[chain] = Some((lock, node, 1 + random.below(4)));
            }
            inside => {
                let cell = match inside {
                    // Mostly what the lock protects.
                    Some((lock, ..)) if random.chance(90) => {
                        lock * cells / locks + random.below((cells / locks).max(1))
                    }
                    _ => random.below(cells),
                };
                if let Some((_, _, left)) = &mut held[chain] {
                    *left -= 1;
                }
                if !random.chance(reads) {
                    history.writes[cell].push(node);
                } else {
                    let write = history.writes[cell].last().copied();
                    history.reads[cell].push((node, write));
                }
            }
        }
        history.chains.push(Chain(chain as u32));
    }
    for (lock, holder) in holder.iter().enumerate() {
        if let Some((_, acquire, _)) = holder.and_then(|chain| held[chain]) {
            // Never released: to the end of the chain.
            let chain = history.chains[acquire.index()];
            let last = (0..nodes).rev().find(|&node| history.chains[node] == chain).unwrap_or(acquire.index());
            history.sections[lock].push((acquire, Node(last as u32)));
        }
    }
    history
}

impl Lazy for &History {
    fn refine(&mut self, candidate: &Order, add: &mut Clauses) {
        for sections in &self.sections {
            let mut sorted = sections.clone();
            sorted.sort_unstable_by_key(|&(acquire, _)| candidate.position(acquire));
            for pair in sorted.windows(2) {
                let ((acquire, release), (next, end)) = (pair[0], pair[1]);
                if !candidate.before(release, next) {
                    add.clause([Literal::Before(release, next), Literal::Before(end, acquire)]);
                }
            }
        }
        for (reads, writes) in self.reads.iter().zip(&self.writes) {
            let mut sorted = writes.clone();
            sorted.sort_unstable_by_key(|&write| candidate.position(write));
            for &(read, write) in reads {
                let after = sorted.partition_point(|&other| candidate.before(other, read));
                let Some(&last) = after.checked_sub(1).and_then(|last| sorted.get(last)) else { continue };
                match write {
                    Some(write) if last != write => {
                        add.clause([Literal::Before(last, write), Literal::Before(read, last)]);
                    }
                    None => add.clause([Literal::Before(read, last)]),
                    Some(_) => {}
                }
            }
        }
    }
}

fn main() {
    let arguments: Vec<usize> = std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let [nodes, chains, locks, cells, reads, questions] = arguments[..] else {
        eprintln!("usage: locks NODES CHAINS LOCKS CELLS READS QUESTIONS");
        return;
    };
    let by = if std::env::var_os("SEARCH_ONLY").is_some() { solve_by_search } else { solve };
    let history = history(nodes, chains, locks, cells, reads);
    let mut random = Random::new(3);
    let mut seen: HashMap<(&str, Stage), (u32, Duration, Duration)> = HashMap::new();
    let (mut asked, mut conflicts, mut candidates, mut lazy, mut building) = (0, 0, 0, 0, Duration::ZERO);
    let mut worst = (Duration::ZERO, None);
    while asked < questions {
        let writes = &history.writes[random.below(cells)];
        if writes.is_empty() {
            continue;
        }
        let first = random.below(writes.len());
        let Some(&b) = writes.get(first + 1 + random.below(4)) else { continue };
        let a = writes[first];
        if history.chains[a.index()] == history.chains[b.index()] {
            continue;
        }
        asked += 1;
        let start = Instant::now();
        let mut problem = Problem::new();
        for &chain in &history.chains {
            problem.add_node(chain);
        }
        for &(read, write) in history.reads.iter().flatten() {
            if let Some(write) = write {
                problem.edge(write, read);
            }
        }
        problem.clause([Literal::Before(b, a)]);
        building += start.elapsed();
        let budget = Budget { deadline: Some(start + Duration::from_secs(10)), ..Budget::default() };
        let (answer, stats) = by(&mut problem, &mut &history, budget);
        let took = start.elapsed();
        let word = match answer {
            Solution::Sat(_) => "sat",
            Solution::Unsat => "unsat",
            Solution::Unknown(_) => "unknown",
        };
        let entry = seen.entry((word, stats.stage)).or_default();
        *entry = (entry.0 + 1, entry.1 + took, entry.2.max(took));
        conflicts += stats.conflicts;
        candidates += stats.candidates;
        lazy += stats.lazy_clauses;
        if took > worst.0 {
            worst = (took, Some(stats));
        }
    }
    for ((word, stage), (count, total, longest)) in &seen {
        println!("{count:5} {word:7} by {stage:?}: mean {:?}, longest {longest:?}", *total / *count);
    }
    println!(
        "{questions} questions: {candidates} candidates, {lazy} lazy clauses, {conflicts} conflicts, {building:?} building"
    );
    println!("longest: {worst:?}");
}

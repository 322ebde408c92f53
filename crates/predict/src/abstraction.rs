//! Names of threads and objects by where the program made them, so that they can be recognised in another run, where
//! addresses and numbers differ (Park's thesis, §5.2): light-weight execution indexing and k-object-sensitivity.
//!
//! An [`Indexer`] is the paper's: it is told of every call, return and new object of a thread. A trace knows calls only
//! by the call stacks of its events, so [`of_trace`] moves from one stack to the next by the fewest returns and calls:
//! calls in which nothing was recorded, and a call that follows the return from the same site, are not told apart. The
//! name stays the same in every run that makes the same objects, which is all that is asked of it.
//!
//! k-object-sensitivity names an object by its site, the site of the object that made it, and so on. C has no objects
//! that make objects; there the sites of the call stack take their place.

use std::collections::{BTreeMap, HashMap};

use reweave_model::{ObjectId, Op, Pc, ThreadId};
use reweave_trace::{Result, Trace};

/// Sites and how often each was passed in its context, innermost first.
pub type Index = Vec<(u64, u32)>;

/// Follows the calls of one thread.
#[derive(Clone, Default)]
pub struct Indexer {
    /// Outermost first.
    calls: Vec<(u64, u32)>,
    /// By depth: how often each site was passed since the call that led there. invariant: one more than `calls`, or
    /// none yet
    counters: Vec<HashMap<u64, u32>>,
}

impl Indexer {
    fn pass(&mut self, site: u64) -> u32 {
        self.counters.resize_with(self.calls.len() + 1, HashMap::new);
        let count = self.counters[self.calls.len()].entry(site).or_default();
        *count += 1;
        *count
    }

    pub fn call(&mut self, site: u64) {
        let count = self.pass(site);
        self.calls.push((site, count));
    }

    pub fn ret(&mut self) {
        self.counters.truncate(self.calls.len());
        self.calls.pop();
    }

    /// The thread is in these calls now, outermost first.
    pub fn at(&mut self, sites: &[u64]) {
        let common = self.calls.iter().zip(sites).take_while(|((mine, _), site)| mine == *site).count();
        while self.calls.len() > common {
            self.ret();
        }
        sites[common..].iter().for_each(|&site| self.call(site));
    }

    /// The index of the object made here now: its site and at most `k` - 1 calls around it.
    pub fn object(&mut self, site: u64, k: usize) -> Index {
        let count = self.pass(site);
        std::iter::once((site, count)).chain(self.calls.iter().rev().copied()).take(k).collect()
    }
}

/// Which object made which, and where.
#[derive(Clone, Default)]
pub struct Creations<O> {
    makers: HashMap<O, (Option<O>, u64)>,
}

impl<O: Copy + Eq + std::hash::Hash> Creations<O> {
    /// `maker`: the object in whose method it was made, if any.
    pub fn add(&mut self, object: O, maker: Option<O>, site: u64) {
        self.makers.insert(object, (maker, site));
    }

    /// At most `k` sites: the object's own, its maker's, that one's maker's…
    pub fn sites(&self, object: O, k: usize) -> Vec<u64> {
        let mut sites = Vec::new();
        let mut next = Some(object);
        while let Some((maker, site)) = next.filter(|_| sites.len() < k).and_then(|object| self.makers.get(&object)) {
            sites.push(*site);
            next = *maker;
        }
        sites
    }
}

/// The names of a trace's threads and synchronization objects.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Abstractions {
    pub threads: BTreeMap<ThreadId, Index>,
    /// By object: each of its lives. Objects that are never initialised (static ones) are named by their address alone.
    pub objects: BTreeMap<ObjectId, Vec<Index>>,
}

/// Names with at most `k` sites.
pub fn of_trace(trace: &Trace, k: usize) -> Result<Abstractions> {
    let mut names = Abstractions::default();
    let mut indexers: HashMap<ThreadId, Indexer> = HashMap::new();
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if !matches!(event.op, Op::Fork { .. } | Op::Create { .. }) {
            continue;
        }
        let mut sites: Vec<u64> = trace.stacks().walk(event.stack).map(|Pc(pc)| pc).collect();
        sites.reverse();
        let indexer = indexers.entry(event.thread).or_default();
        indexer.at(&sites);
        let index = indexer.object(event.pc.0, k);
        match event.op {
            Op::Fork { child, .. } => drop(names.threads.insert(child, index)),
            Op::Create { object, .. } => names.objects.entry(object).or_default().push(index),
            _ => {}
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(index: &Index) -> Vec<u64> {
        index.iter().flat_map(|&(site, count)| [site, count.into()]).collect()
    }

    /// Program 5.1: main calls foo five times at 3, foo calls bar at 6 and at 7, bar makes three objects at 11.
    #[test]
    fn program_5_1() {
        let mut indexer = Indexer::default();
        let mut objects = Vec::new();
        for _ in 0..5 {
            indexer.call(3);
            for site in [6, 7] {
                indexer.call(site);
                objects.extend((0..3).map(|_| flat(&indexer.object(11, 3))));
                indexer.ret();
            }
            indexer.ret();
        }
        assert_eq!(objects.len(), 30);
        assert_eq!(objects[0], [11, 1, 6, 1, 3, 1]);
        assert_eq!(objects[29], [11, 3, 7, 1, 3, 5]);
        let different: std::collections::HashSet<_> = objects.iter().collect();
        assert_eq!(different.len(), 30, "each object has a name of its own");
    }

    /// The same program by the stacks of its objects: fewer calls are seen, but names still differ.
    #[test]
    fn by_stacks_alone() {
        let mut indexer = Indexer::default();
        let mut objects = Vec::new();
        for _ in 0..5 {
            for site in [6, 7] {
                for _ in 0..3 {
                    indexer.at(&[3, site]);
                    objects.push(flat(&indexer.object(11, 3)));
                }
            }
        }
        assert_eq!(objects[0], [11, 1, 6, 1, 3, 1]);
        assert_eq!(objects[29], [11, 3, 7, 5, 3, 1]);
        let different: std::collections::HashSet<_> = objects.iter().collect();
        assert_eq!(different.len(), 30);
    }

    #[test]
    fn sites_of_makers() {
        let mut creations = Creations::default();
        creations.add("pool", None, 1);
        creations.add("worker", Some("pool"), 2);
        creations.add("lock", Some("worker"), 3);
        assert_eq!(creations.sites("lock", 2), [3, 2]);
        assert_eq!(creations.sites("lock", 9), [3, 2, 1]);
        assert_eq!(creations.sites("pool", 3), [1]);
        assert!(creations.sites("other", 3).is_empty());
    }
}

//! What each thread does, learned from runs. A thread is deterministic but for what it is told: the values it reads and
//! how its synchronization ends. So its behaviour is a tree: a node is what it does next, an edge one answer to that.

use std::collections::{HashMap, HashSet};

use reweave_model::{LockMode, ThreadName};

use crate::classes::{Class, Digest, STUCK};
use crate::names::Code;

/// Index of a node.
pub type NodeId = u32;
/// A thread by descent: index into [`Tree::threads`].
pub type ThreadNumber = u8;
/// A word of memory or a synchronization object, by name.
pub type Thing = u32;

/// Threads, a bit each.
pub type ThreadSet = u128;
/// Threads of one program.
pub const THREADS: usize = ThreadSet::BITS as usize;
/// Bytes of the largest synchronization object.
const OBJECT: i64 = 56;
/// What something small takes of the memory beyond its size.
const ALLOCATION: usize = 16;
/// What a word takes in all lists of words.
const THING: usize = 128;

/// Some bytes of a word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Part {
    pub word: Thing,
    /// A bit for each byte.
    pub mask: u8,
}

/// What a thread does next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request {
    Access {
        parts: Box<[Part]>,
        reads: bool,
        writes: bool,
        atomic: bool,
    },
    /// The whole block is gone: nobody knows what it holds.
    Free {
        words: Box<[Thing]>,
        block: Base,
    },
    Acquire {
        lock: Thing,
        mode: LockMode,
        tried: bool,
    },
    Release {
        lock: Thing,
        mode: LockMode,
    },
    Wait {
        condition: Thing,
        lock: Thing,
    },
    Wake {
        condition: Thing,
        lock: Thing,
        timed: bool,
    },
    Notify {
        condition: Thing,
        all: bool,
    },
    Arrive {
        barrier: Thing,
        count: u32,
    },
    Leave {
        barrier: Thing,
    },
    Post {
        semaphore: Thing,
    },
    Take {
        semaphore: Thing,
        tried: bool,
    },
    /// A new object, of a semaphore with its count.
    Create {
        object: Thing,
        value: u32,
    },
    /// The end of an object: refused while somebody holds it or waits.
    Destroy {
        object: Thing,
    },
    Once {
        object: Thing,
    },
    OnceEnd {
        object: Thing,
    },
    Fork {
        child: ThreadNumber,
    },
    Join {
        child: ThreadNumber,
        tried: bool,
    },
    End,
    /// The process ends.
    Exit,
}

/// What it is told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum StepResult {
    Done,
    /// What it read, or a hash of that.
    Value(u64),
    /// Nobody can say without a run.
    Unknown,
    Refused,
    Notified,
    TimedOut,
    Serial(bool),
    /// Of [`Request::Once`]: it runs the initialiser, or finds it done.
    First(bool),
}

/// Bytes that are written: word, which bytes, and what.
pub type Written = (Thing, u8, u64);

#[derive(Clone, Debug)]
pub struct Edge {
    pub answer: StepResult,
    /// Of a schedule.
    pub steps: u32,
    pub writes: Box<[Written]>,
    pub to: NodeId,
}

#[derive(Clone, Debug)]
pub struct Node {
    /// `None`: no run went further.
    pub ask: Option<Request>,
    /// Steps before that only the thread itself takes notice of.
    pub lead: u32,
    pub edges: Vec<Edge>,
    /// No other thread can come in before it.
    pub fused: bool,
    /// What the thread was told so far.
    pub digest: Digest,
    pub code: Code,
    /// Answers the thread has had here round after round without doing anything, and how often.
    pub tiring: Vec<(StepResult, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Base {
    Global(u64),
    Heap(ThreadNumber, u32),
    Stack(ThreadNumber),
    /// Memory that nobody told us about goes by its address.
    Raw,
}

/// Why a tree does not say everything about its program.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ModelGaps {
    /// Signals, descriptors, processes, futexes: not modelled.
    pub outside: bool,
    /// The same thread did something else although it was told the same.
    pub unsteady: bool,
    /// Values came from where nobody looked.
    pub foreign: bool,
    /// A loop that waits was cut short.
    pub spins: bool,
    pub too_many_threads: bool,
}

#[derive(Default)]
pub struct Tree {
    pub nodes: Vec<Node>,
    pub threads: Vec<ThreadName>,
    /// The same, as numbers that do not depend on which thread was met with first.
    pub descent: Vec<u64>,
    pub roots: Vec<NodeId>,
    things: HashMap<(Base, i64, bool), Thing>,
    pub bases: Vec<Base>,
    /// Where in these: words by number, objects by byte.
    pub places: Vec<i64>,
    /// Synchronization objects, by what they lie in.
    pub objects: HashMap<Base, Vec<Thing>>,
    /// What those that are destroyed take.
    pub object_bytes: HashMap<Thing, i64>,
    /// What words hold before anybody writes them: known bytes and what they are.
    pub initial: Vec<(u8, u64)>,
    /// Counts of semaphores before anybody uses them.
    pub counts: HashMap<Thing, u32>,
    /// Words of stacks that held what no recorded write explains: arguments that are passed there come from registers.
    /// No harm as long as their thread alone uses them.
    pub unexplained: HashSet<Thing>,
    pub doubts: ModelGaps,
    bytes: usize,
}

impl Tree {
    pub fn things(&self) -> usize {
        self.initial.len()
    }

    /// The same threads and things, with other nodes.
    pub fn with_nodes(&self, nodes: Vec<Node>, roots: Vec<NodeId>) -> Self {
        Self {
            nodes,
            roots,
            things: HashMap::new(),
            threads: self.threads.clone(),
            descent: self.descent.clone(),
            bases: self.bases.clone(),
            places: self.places.clone(),
            objects: self.objects.clone(),
            object_bytes: self.object_bytes.clone(),
            initial: self.initial.clone(),
            counts: self.counts.clone(),
            unexplained: self.unexplained.clone(),
            doubts: self.doubts,
            bytes: self.bytes,
        }
    }

    /// What it takes of the memory, roughly.
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// What a node asks is known from here on.
    pub fn ask(&mut self, node: NodeId, ask: Request) {
        self.bytes += match &ask {
            Request::Access { parts, .. } => size_of_val(&parts[..]) + ALLOCATION,
            Request::Free { words, .. } => size_of_val(&words[..]) + ALLOCATION,
            _ => 0,
        };
        self.nodes[node as usize].ask = Some(ask);
    }

    /// After this answer to a node it is this one.
    pub fn connect(&mut self, node: NodeId, edge: Edge) {
        self.bytes += size_of::<Edge>() + size_of_val(&edge.writes[..]) + 2 * ALLOCATION;
        self.nodes[node as usize].edges.push(edge);
    }

    /// The class of a run in which threads came so far. `waits`: it goes no further because nobody can, and this thread
    /// is not over; where it waits is a part of the class then.
    pub fn class(&self, at: impl Iterator<Item = (ThreadNumber, NodeId, bool)>) -> Class {
        Class::of(at.map(|(who, node, waits)| {
            let node = self.node(node);
            let mut told = node.digest;
            if waits {
                told.add(STUCK, node.code, 0);
            }
            (self.descent[usize::from(who)], told)
        }))
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    pub fn add(&mut self, digest: Digest) -> NodeId {
        let code = Code::NOWHERE;
        let node = Node { ask: None, lead: 0, edges: Vec::new(), fused: false, digest, code, tiring: Vec::new() };
        self.nodes.push(node);
        self.bytes += size_of::<Node>();
        self.nodes.len() as NodeId - 1
    }

    pub fn thread_number(&mut self, name: ThreadName) -> Option<ThreadNumber> {
        if let Some(known) = self.threads.iter().position(|thread| *thread == name) {
            return Some(known as ThreadNumber);
        }
        if self.threads.len() >= THREADS {
            self.doubts.too_many_threads = true;
            return None;
        }
        self.threads.push(name);
        let mut descent = Digest::NEW;
        descent.word(self.descent.get(name.parent as usize).copied().unwrap_or(0));
        descent.word(name.nth.into());
        self.descent.push(descent.number());
        let root = self.add(Digest::NEW);
        self.roots.push(root);
        Some(self.threads.len() as ThreadNumber - 1)
    }

    pub fn thing(&mut self, base: Base, at: i64, object: bool) -> Thing {
        let next = self.initial.len() as Thing;
        let (initial, objects) = (&mut self.initial, &mut self.objects);
        let (bases, places) = (&mut self.bases, &mut self.places);
        let bytes = &mut self.bytes;
        *self.things.entry((base, at, object)).or_insert_with(|| {
            *bytes += THING;
            initial.push((0, 0));
            bases.push(base);
            places.push(at);
            if object {
                objects.entry(base).or_default().push(next);
            }
            next
        })
    }

    /// The synchronization objects in a block of memory.
    pub fn within(&self, block: Base) -> &[Thing] {
        match block {
            Base::Heap(..) => self.objects.get(&block).map_or(&[], Vec::as_slice),
            _ => &[],
        }
    }

    /// Whether a word may be one of an object's.
    pub fn is_of(&self, word: Thing, object: Thing) -> bool {
        let (word, object) = (word as usize, object as usize);
        let from = self.places[object];
        let bytes = self.object_bytes.get(&(object as Thing)).copied().unwrap_or(OBJECT);
        self.bases[word] == self.bases[object] && (from - 7..from + bytes).contains(&(self.places[word] * 8))
    }

    /// The edge with this answer.
    pub fn edge(&self, node: NodeId, answer: StepResult) -> Option<&Edge> {
        self.node(node).edges.iter().find(|edge| edge.answer == answer)
    }
}

/// All bits of some bytes.
pub fn bits(mask: u8) -> u64 {
    (0..8).filter(|byte| mask & 1 << byte != 0).fold(0, |bits, byte| bits | 0xff << (byte * 8))
}

/// Some bytes of a word change. `known`: which are known, and what they are.
pub fn write(known: &mut (u8, u64), mask: u8, value: u64) {
    known.0 |= mask;
    known.1 = known.1 & !bits(mask) | value & bits(mask);
}

/// What a read returned, as a number.
pub fn value_of(bytes: &[u8]) -> u64 {
    if bytes.len() <= 8 {
        return bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    }
    let mut digest = Digest::NEW;
    bytes.iter().for_each(|&byte| digest.word(byte.into()));
    digest.number()
}

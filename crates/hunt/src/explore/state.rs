//! What the threads of a [`Tree`] can do to each other: the state of a run, as far as it decides what comes next.
//!
//! The same rules as the runtime's: a notify wakes the thread that has waited longest, the last to arrive at a barrier
//! gets the serial return, a timeout can happen whenever nothing better does.

use std::hash::{Hash, Hasher};

use reweave_model::LockMode;

use super::tree::{NodeId, Part, Request, StepResult, Thing, ThreadNumber, ThreadSet, Tree, bits, value_of, write};
use super::words::{Word, Words};

/// Which words a state keeps: those that more than one thread can tell something by. What a thread finds in the others,
/// it put there itself.
pub struct Slots {
    of: Vec<u32>,
    initial: Vec<Word>,
}

const PRIVATE: u32 = u32::MAX;
/// What is known of a word in a block that is gone.
const FREED: Word = (0, u64::MAX);

impl Slots {
    pub fn new(tree: &Tree, is_shared: impl Fn(Thing) -> bool) -> Self {
        let mut slots = Self { of: vec![PRIVATE; tree.things()], initial: Vec::new() };
        let mut keep = |word: Thing| {
            let slot = &mut slots.of[word as usize];
            if *slot == PRIVATE {
                *slot = slots.initial.len() as u32;
                slots.initial.push(tree.initial[word as usize]);
            }
        };
        for node in &tree.nodes {
            match &node.ask {
                Some(Request::Access { parts, .. }) if parts.iter().any(|part| is_shared(part.word)) => {
                    parts.iter().for_each(|part| keep(part.word));
                }
                Some(Request::Free { words, .. }) => {
                    words.iter().filter(|word| is_shared(**word)).for_each(|&word| keep(word))
                }
                _ => {}
            }
        }
        slots
    }

    pub fn keeps(&self, word: Thing) -> bool {
        self.get(word).is_some()
    }

    /// Whether a thread ever found something else in what it alone uses, having been told the same before.
    pub fn private_reads_differ(&self, tree: &Tree) -> bool {
        tree.nodes.iter().any(|node| match &node.ask {
            Some(Request::Access { parts, reads: true, .. }) => {
                node.edges.len() > 1 && !parts.iter().any(|part| self.keeps(part.word))
            }
            _ => false,
        })
    }

    /// What a state takes, roughly.
    pub fn bytes(&self, tree: &Tree) -> usize {
        size_of::<State>() + tree.threads.len() * size_of::<NodeId>() + Words::bytes(self.initial.len())
    }

    fn get(&self, word: Thing) -> Option<usize> {
        Some(self.of[word as usize] as usize).filter(|slot| *slot != PRIVATE as usize)
    }
}

/// A thread that does not run: not yet forked, or over.
pub const NOWHERE: NodeId = NodeId::MAX;

#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
struct LockState {
    owner: Option<ThreadNumber>,
    readers: Vec<ThreadNumber>,
}

/// invariant: maps hold nothing that says the same as its absence, so that equal states are equal
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    /// Where each thread is.
    pub at: Vec<NodeId>,
    /// Threads that have ended, a bit each.
    pub ended: ThreadSet,
    /// Waiting threads that were notified, or whose barrier is full.
    woken: ThreadSet,
    /// Of barriers: those for whom it will be the serial one.
    serial: ThreadSet,
    pub exited: bool,
    memory: Words,
    locks: Vec<(Thing, LockState)>,
    /// Waiters of conditions and barriers, the longest waiting first.
    queues: Vec<(Thing, Vec<ThreadNumber>)>,
    counts: Vec<(Thing, u32)>,
    /// Once objects: who runs it; `None`: done.
    onces: Vec<(Thing, Option<ThreadNumber>)>,
    /// Objects that were destroyed. invariant: ascending
    gone: Vec<Thing>,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.at, self.ended, self.woken, self.serial, self.exited).hash(hasher);
        (&self.memory, &self.locks, &self.queues, &self.counts, &self.onces, &self.gone).hash(hasher);
    }
}

/// The entry of a thing in a sorted list.
fn entry<T: Default>(list: &mut Vec<(Thing, T)>, thing: Thing) -> &mut T {
    let at = match list.binary_search_by_key(&thing, |(thing, _)| *thing) {
        Ok(at) => at,
        Err(at) => {
            list.insert(at, (thing, T::default()));
            at
        }
    };
    &mut list[at].1
}

fn get<T>(list: &[(Thing, T)], thing: Thing) -> Option<&T> {
    list.binary_search_by_key(&thing, |(thing, _)| *thing).ok().map(|at| &list[at].1)
}

impl State {
    /// Only main is there.
    pub fn new(tree: &Tree, slots: &Slots) -> Self {
        let mut at = vec![NOWHERE; tree.threads.len()];
        if let (Some(main), Some(&root)) = (at.first_mut(), tree.roots.first()) {
            *main = root;
        }
        Self {
            at,
            ended: 0,
            woken: 0,
            serial: 0,
            exited: false,
            memory: Words::new(&slots.initial),
            locks: Vec::new(),
            queues: Vec::new(),
            counts: Vec::new(),
            onces: Vec::new(),
            gone: Vec::new(),
        }
    }

    pub fn node(&self, who: ThreadNumber) -> Option<NodeId> {
        self.at.get(usize::from(who)).copied().filter(|&node| node != NOWHERE)
    }

    pub fn threads(&self) -> impl Iterator<Item = (ThreadNumber, NodeId)> + '_ {
        self.at.iter().enumerate().filter(|(_, node)| **node != NOWHERE).map(|(who, &node)| (who as ThreadNumber, node))
    }

    fn is_free(&self, lock: Thing, mode: LockMode) -> bool {
        get(&self.locks, lock)
            .is_none_or(|state| state.owner.is_none() && (mode == LockMode::Shared || state.readers.is_empty()))
    }

    fn count(&self, tree: &Tree, semaphore: Thing) -> u32 {
        get(&self.counts, semaphore).or_else(|| tree.counts.get(&semaphore)).copied().unwrap_or(0)
    }

    /// What the next operation of a thread can be told now; empty if it cannot be done. An operation nobody knows yet
    /// can be told [`StepResult::Unknown`].
    pub fn answers(&self, tree: &Tree, slots: &Slots, who: ThreadNumber) -> Vec<StepResult> {
        let Some(node) = self.node(who).filter(|_| !self.is_over(who)).map(|node| tree.node(node)) else {
            return Vec::new();
        };
        let Some(ask) = &node.ask else { return vec![StepResult::Unknown] };
        let bit: ThreadSet = 1 << who;
        let when = |possible: bool| if possible { vec![StepResult::Done] } else { Vec::new() };
        match *ask {
            Request::Access { ref parts, reads: true, .. } => {
                let own = || node.edges.first().map_or(StepResult::Unknown, |edge| edge.answer);
                vec![self.read(slots, parts).unwrap_or_else(own)]
            }
            Request::Acquire { lock, mode, tried } => match self.is_free(lock, mode) {
                true => vec![StepResult::Done],
                false if tried => vec![StepResult::Refused],
                false => Vec::new(),
            },
            Request::Destroy { object } => {
                let idle = self.is_free(object, LockMode::Exclusive) && get(&self.queues, object).is_none();
                vec![if idle { StepResult::Done } else { StepResult::Refused }]
            }
            Request::Wake { lock, timed, .. } => match self.is_free(lock, LockMode::Exclusive) {
                true if self.woken & bit != 0 => vec![StepResult::Notified],
                true if timed => vec![StepResult::TimedOut],
                _ => Vec::new(),
            },
            Request::Leave { .. } if self.woken & bit != 0 => vec![StepResult::Serial(self.serial & bit != 0)],
            Request::Leave { .. } => Vec::new(),
            Request::Take { semaphore, tried } => match self.count(tree, semaphore) {
                0 if tried => vec![StepResult::Refused],
                0 => Vec::new(),
                _ => vec![StepResult::Done],
            },
            Request::Once { object } => match get(&self.onces, object) {
                None => vec![StepResult::First(true)],
                Some(None) => vec![StepResult::First(false)],
                Some(Some(_)) => Vec::new(),
            },
            Request::Join { child, tried } => match self.ended >> child & 1 == 1 {
                true => vec![StepResult::Done],
                false if tried => vec![StepResult::Refused],
                false => Vec::new(),
            },
            // How the process ends is the thread's own affair.
            Request::Exit => vec![node.edges.first().map_or(StepResult::Unknown, |edge| edge.answer)],
            _ => when(true),
        }
    }

    /// What a read would return; `None`: the only thing it ever can.
    fn read(&self, slots: &Slots, parts: &[Part]) -> Option<StepResult> {
        let mut bytes = Vec::with_capacity(8);
        for part in parts {
            let (known, value) = self.memory.get(slots.get(part.word)?);
            if known & part.mask != part.mask {
                return Some(StepResult::Unknown);
            }
            bytes.extend((0..8).filter(|byte| part.mask & 1 << byte != 0).map(|byte| (value >> (byte * 8)) as u8));
        }
        Some(StepResult::Value(value_of(&bytes)))
    }

    fn put(&mut self, slots: &Slots, word: Thing, mask: u8, value: u64) {
        let Some(slot) = slots.get(word) else { return };
        let mut now = self.memory.get(slot);
        match mask {
            0 => now = (0, 0),
            mask => write(&mut now, mask, value & bits(mask)),
        }
        self.memory.set(slot, now);
    }

    /// A thread does its next operation and is told this. `None`: no run has shown what it does then.
    pub fn step(&mut self, tree: &Tree, slots: &Slots, who: ThreadNumber, answer: StepResult) -> Option<u32> {
        let node = self.node(who)?;
        let edge = tree.edge(node, answer)?;
        let bit: ThreadSet = 1 << who;
        match tree.node(node).ask.as_ref()? {
            Request::Access { .. } => {
                for &(word, mask, value) in &edge.writes {
                    self.put(slots, word, mask, value);
                    // As a static initialiser does.
                    self.gone.retain(|object| !tree.is_of(word, *object));
                }
            }
            Request::Free { words, block } => {
                for slot in words.iter().filter_map(|&word| slots.get(word)) {
                    self.memory.set(slot, FREED);
                }
                tree.within(*block).iter().for_each(|&object| self.end(object));
            }
            &Request::Destroy { object } if answer == StepResult::Done => self.end(object),
            &Request::Acquire { lock, mode, .. } if answer == StepResult::Done => self.acquire(lock, mode, who),
            &Request::Release { lock, .. } => self.release(lock, who),
            &Request::Wait { condition, lock } => {
                self.release(lock, who);
                entry(&mut self.queues, condition).push(who);
                self.woken &= !bit;
            }
            &Request::Wake { condition, lock, .. } => {
                self.leave_queue(condition, who);
                self.woken &= !bit;
                self.acquire(lock, LockMode::Exclusive, who);
            }
            &Request::Notify { condition, all } => {
                let waiting = get(&self.queues, condition).cloned().unwrap_or_default();
                for other in waiting.into_iter().take(if all { usize::MAX } else { 1 }) {
                    self.woken |= 1 << other;
                    self.leave_queue(condition, other);
                }
            }
            &Request::Arrive { barrier, count } => {
                let queue = entry(&mut self.queues, barrier);
                queue.push(who);
                self.woken &= !bit;
                self.serial &= !bit;
                if queue.len() as u32 >= count {
                    for other in std::mem::take(queue) {
                        self.woken |= 1 << other;
                    }
                    self.serial |= bit;
                    self.queues.retain(|(_, queue)| !queue.is_empty());
                }
            }
            Request::Leave { .. } => {
                self.woken &= !bit;
                self.serial &= !bit;
            }
            &Request::Post { semaphore } => {
                let count = self.count(tree, semaphore) + 1;
                *entry(&mut self.counts, semaphore) = count;
            }
            &Request::Take { semaphore, .. } if answer == StepResult::Done => {
                let count = self.count(tree, semaphore) - 1;
                *entry(&mut self.counts, semaphore) = count;
            }
            &Request::Create { object, value } => {
                *entry(&mut self.counts, object) = value;
                self.onces.retain(|(once, _)| *once != object);
                self.gone.retain(|gone| *gone != object);
            }
            &Request::Once { object } if answer == StepResult::First(true) => {
                *entry(&mut self.onces, object) = Some(who)
            }
            &Request::OnceEnd { object } => *entry(&mut self.onces, object) = None,
            &Request::Fork { child } => self.at[usize::from(child)] = tree.roots[usize::from(child)],
            Request::End => self.ended |= bit,
            Request::Exit => self.exited = true,
            _ => {}
        }
        self.at[usize::from(who)] = edge.to;
        Some(tree.node(node).lead + edge.steps)
    }

    fn acquire(&mut self, lock: Thing, mode: LockMode, who: ThreadNumber) {
        let state = entry(&mut self.locks, lock);
        match mode {
            LockMode::Exclusive => state.owner = Some(who),
            LockMode::Shared => {
                state.readers.push(who);
                state.readers.sort_unstable();
            }
        }
    }

    fn release(&mut self, lock: Thing, who: ThreadNumber) {
        let state = entry(&mut self.locks, lock);
        state.owner = state.owner.filter(|owner| *owner != who);
        state.readers.retain(|reader| *reader != who);
        self.locks.retain(|(_, state)| *state != LockState::default());
    }

    fn leave_queue(&mut self, queue: Thing, who: ThreadNumber) {
        entry(&mut self.queues, queue).retain(|waiter| *waiter != who);
        self.queues.retain(|(_, queue)| !queue.is_empty());
    }

    fn end(&mut self, object: Thing) {
        if let Err(at) = self.gone.binary_search(&object) {
            self.gone.insert(at, object);
        }
    }

    /// Whether the next operation of a thread uses an object that has been destroyed. Who was woken, or passed a
    /// barrier, needs it no more.
    pub fn uses_gone(&self, tree: &Tree, who: ThreadNumber) -> bool {
        if self.gone.is_empty() {
            return false;
        }
        let is_gone = |object: Thing| self.gone.binary_search(&object).is_ok();
        match self.node(who).and_then(|node| tree.node(node).ask.as_ref()) {
            Some(&(Request::Acquire { lock, .. } | Request::Release { lock, .. } | Request::Wake { lock, .. })) => {
                is_gone(lock)
            }
            Some(&Request::Wait { condition, lock }) => is_gone(condition) || is_gone(lock),
            Some(&Request::Notify { condition: object, .. })
            | Some(&Request::Arrive { barrier: object, .. })
            | Some(&(Request::Post { semaphore: object } | Request::Take { semaphore: object, .. }))
            | Some(&Request::Destroy { object }) => is_gone(object),
            _ => false,
        }
    }

    /// Whether the next operation of a thread uses memory that has been freed.
    pub fn uses_freed(&self, tree: &Tree, slots: &Slots, who: ThreadNumber) -> bool {
        let is_freed = |word: Thing| slots.get(word).is_some_and(|slot| self.memory.get(slot) == FREED);
        match self.node(who).and_then(|node| tree.node(node).ask.as_ref()) {
            Some(Request::Access { parts, .. }) => parts.iter().any(|part| is_freed(part.word)),
            Some(Request::Free { words, .. }) => words.iter().any(|&word| is_freed(word)),
            _ => false,
        }
    }

    /// Whether a thread has ended: nothing comes after that.
    pub fn is_over(&self, who: ThreadNumber) -> bool {
        self.ended >> who & 1 == 1
    }
}

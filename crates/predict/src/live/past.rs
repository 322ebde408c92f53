//! The last chunks of a run, as they came, for telling how an access came about: its thread, stack and locks.
//!
//! Keeping them costs a copy of each chunk, and one more look at it when it goes; nothing per access while they are
//! analysed. Of what has gone the last access, or request for a lock, of each code position is known.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use reweave_model::{Addr, BlockedOn, Event, EventId, HeldLocks, ObjectId, Op, OpName, Pc, Sighted, StackId, ThreadId};
use reweave_trace::{Context, RawEvents, Stacks};

use crate::linear::FastMap;

/// Chunks that are kept: 32 MB.
const CHUNKS: usize = 32;
/// Calls of a stack that are told.
const DEPTH: usize = 64;

struct Chunk {
    words: Vec<u64>,
    first: EventId,
    thread: ThreadId,
}

/// The last access of a code position among what has gone. The stack is a number: most are never asked for.
#[derive(Clone)]
struct Gone {
    event: EventId,
    thread: ThreadId,
    stack: StackId,
    op: OpName,
    addr: Option<Addr>,
    awaits: Option<Awaited>,
    locks_held: Rc<[Taken]>,
}

/// A lock and where it was taken.
type Taken = (ObjectId, Pc);
/// What a thread waits for.
type Awaited = (BlockedOn, ObjectId);
type Held = HeldLocks<Pc>;

#[derive(Default)]
pub(super) struct Past {
    chunks: VecDeque<Chunk>,
    /// What is held before the oldest chunk.
    held: Held,
    gone: FastMap<Pc, Gone>,
    /// A buffer to be used again.
    spare: Option<Vec<u64>>,
}

/// Returns whether anything may have changed.
fn follow(held: &mut Held, event: &Event<'_>) -> bool {
    if event.op == Op::End {
        held.forget(event.thread);
        return true;
    }
    let changes = event.op.lock_change().is_some();
    held.follow(event.thread, &event.op, event.pc);
    changes
}

const fn address(op: &Op<'_>) -> Option<Addr> {
    match *op {
        Op::Read { addr, .. } | Op::Write { addr, .. } | Op::Atomic { addr, .. } | Op::Free { addr, .. } => Some(addr),
        _ => None,
    }
}

impl Past {
    /// A new chunk begins.
    pub fn start(&mut self, first: EventId, thread: ThreadId) {
        if self.chunks.len() == CHUNKS
            && let Some(oldest) = self.chunks.pop_front()
        {
            self.let_go(&oldest);
            self.spare = Some(oldest.words);
        }
        let mut words = self.spare.take().unwrap_or_default();
        words.clear();
        self.chunks.push_back(Chunk { words, first, thread });
    }

    /// Records of the newest chunk.
    pub fn keep(&mut self, words: &[u64]) {
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.words.extend_from_slice(words);
        }
    }

    /// Remembers the last access, or operation on a lock, of each code position.
    fn let_go(&mut self, chunk: &Chunk) {
        /// Most accesses are of a few places: these are found without hashing.
        const RECENT: usize = 1 << 10;
        let mut events = RawEvents::new(&chunk.words, Context::start(chunk.first, chunk.thread));
        let mut recent: Vec<Option<(Pc, Gone)>> = vec![None; RECENT];
        let Self { held, gone, .. } = self;
        // What the thread that acts holds, shared by all its accesses until that changes.
        let mut acting: Option<(ThreadId, Rc<[Taken]>)> = None;
        loop {
            let (event, op) = match events.next_access() {
                Some(access) => (access.event(), if access.is_write() { OpName::Write } else { OpName::Read }),
                None => match events.next() {
                    Some(event) => (event, OpName::of(&event.op)),
                    None => break,
                },
            };
            let (addr, awaits) = (address(&event.op), event.op.awaits());
            if addr.is_none() && awaits.is_none() {
                if follow(held, &event) {
                    acting = None;
                }
                continue;
            }
            let locks_held = match &acting {
                Some((thread, locks)) if *thread == event.thread => locks,
                _ => {
                    let locks = held.of(event.thread).into();
                    &acting.insert((event.thread, locks)).1
                }
            };
            let slot = &mut recent[(event.pc.0 ^ event.pc.0 >> 10) as usize % RECENT];
            match slot {
                Some((pc, known)) if *pc == event.pc => {
                    (known.event, known.thread, known.stack) = (event.id, event.thread, event.stack);
                    (known.op, known.addr, known.awaits) = (op, addr, awaits);
                    if !Rc::ptr_eq(&known.locks_held, locks_held) {
                        known.locks_held = Rc::clone(locks_held);
                    }
                }
                _ => {
                    let (id, thread, stack) = (event.id, event.thread, event.stack);
                    let new = Gone { event: id, thread, stack, op, addr, awaits, locks_held: Rc::clone(locks_held) };
                    if let Some((pc, old)) = slot.replace((event.pc, new)) {
                        gone.insert(pc, old);
                    }
                }
            }
            if awaits.is_some() && follow(held, &event) {
                acting = None;
            }
        }
        gone.extend(recent.into_iter().flatten());
    }

    /// Looks up events by id and code position. Asked for one that it was not given, the answer knows nothing.
    pub fn look_up(&self, mut wanted: Vec<(EventId, Pc)>, stacks: &Stacks) -> impl Fn(EventId, Pc) -> Sighted + use<> {
        wanted.sort_unstable();
        wanted.dedup();
        let mut found: HashMap<EventId, Sighted> = HashMap::new();
        let walk = |stack| stacks.walk(stack).take(DEPTH).collect();
        let oldest = self.chunks.front().map_or(EventId(u64::MAX), |chunk| chunk.first);
        let is_here = wanted.partition_point(|(event, _)| *event < oldest);
        for (event, pc) in wanted.drain(..is_here) {
            if let Some(gone) = self.gone.get(&pc) {
                let Gone { thread, stack, op, addr, awaits, locks_held, .. } = gone.clone();
                let (exact, locks_held, stack) = (gone.event == event, locks_held.to_vec(), walk(stack));
                found.insert(event, Sighted { event, thread, pc, stack, op, addr, awaits, locks_held, exact });
            }
        }
        if let Some(&(last, _)) = wanted.last() {
            let mut held = self.held.clone();
            let mut left = wanted.iter().peekable();
            for chunk in self.chunks.iter().take_while(|chunk| chunk.first <= last) {
                let mut events = RawEvents::new(&chunk.words, Context::start(chunk.first, chunk.thread));
                while let Some(event) = events.next() {
                    if let Some(&&(id, _)) = left.peek()
                        && id == event.id
                    {
                        while left.next_if(|(next, _)| *next == id).is_some() {}
                        let Event { thread, pc, op, stack, .. } = event;
                        let locks_held = held.of(thread).to_vec();
                        let (event, exact) = (id, true);
                        let (op, addr, awaits, stack) = (OpName::of(&op), address(&op), op.awaits(), walk(stack));
                        found.insert(id, Sighted { event, thread, pc, stack, op, addr, awaits, locks_held, exact });
                    }
                    follow(&mut held, &event);
                }
            }
        }
        move |event, pc| {
            found.get(&event).cloned().unwrap_or_else(|| Sighted {
                event,
                thread: ThreadId(0),
                pc,
                stack: Vec::new(),
                op: OpName::Access,
                addr: None,
                awaits: None,
                locks_held: Vec::new(),
                exact: false,
            })
        }
    }
}

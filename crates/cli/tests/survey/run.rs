//! A run, with what sentences about it can be compared with. It shares nothing with what makes the sentences but the
//! trace's own tables of code positions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use reweave_model::{AtomicKind, BlockedOn, Event, Misuse, Op, RefusedWhy, Value};
use reweave_trace::{Outcome, Trace};

/// A step of the run.
pub struct Seen {
    pub thread: u32,
    pub deed: Deed,
    /// `bank.c:24`, of the step itself and of the calls it is made in; the function where no line is known.
    pub places: BTreeSet<String>,
    pub functions: BTreeSet<String>,
    /// `u64::MAX`: it accesses no memory.
    pub address: u64,
    pub value: Option<Content>,
    /// Who holds which lock just before it, and of a wait while it waits.
    pub holders: BTreeMap<u64, BTreeMap<u32, Holds>>,
    /// What it is about if that is no memory, or what it waits for.
    pub object: u64,
    /// Of a notify how many it wakes, of a fork or join which thread, of the end the status.
    pub number: Option<u32>,
    pub is_step: bool,
}

impl Seen {
    /// The locks that its own thread holds, and since when.
    pub fn held(&self) -> impl Iterator<Item = (u64, usize)> + '_ {
        self.holders.iter().filter_map(|(lock, by)| Some((*lock, by.get(&self.thread)?.since)))
    }
}

/// A lock in somebody's hands.
#[derive(Clone, Copy)]
pub struct Holds {
    /// The step that took it.
    since: usize,
    /// Of one that is taken several times.
    depth: u32,
}

/// What was read or written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    Word(u64, u32),
    Bytes(Vec<u8>),
}

/// What a sentence can say that a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    Reads,
    Writes,
    Updates,
    Frees,
    Takes,
    Releases,
    Waits,
    /// It waits for a thread.
    WaitsForEnd,
    /// For a notify.
    Sleeps,
    Wakes,
    Notifies,
    Creates,
    Destroys,
    Begins,
    Ends,
    EndsProgram,
    Killed,
    Hangs,
    EntersBlock,
    LeavesBlock,
    Starts,
    Joins,
    Detaches,
    Misuses,
    Refused,
    Arrives,
    Leaves,
    Posts,
    Counts,
    Once,
    Sends,
    Receives,
    Fences,
    /// Inputs, signals, calls that nobody intercepts: said in the name of the operation.
    Other,
    Silent,
}

fn deed(op: &Op<'_>) -> Deed {
    match op {
        Op::Read { .. } | Op::Atomic { kind: AtomicKind::Load | AtomicKind::CasFailed, .. } => Deed::Reads,
        Op::Write { .. } | Op::Atomic { kind: AtomicKind::Store, .. } => Deed::Writes,
        Op::Atomic { .. } => Deed::Updates,
        Op::Free { .. } => Deed::Frees,
        Op::Acquire { .. } => Deed::Takes,
        Op::Release { .. } => Deed::Releases,
        Op::Blocked { on: BlockedOn::Join, .. } => Deed::WaitsForEnd,
        Op::Blocked { .. } => Deed::Waits,
        Op::Wait { .. } => Deed::Sleeps,
        Op::Woken { .. } => Deed::Wakes,
        Op::Notify { .. } => Deed::Notifies,
        Op::Create { .. } => Deed::Creates,
        Op::Destroy { .. } => Deed::Destroys,
        Op::Begin => Deed::Begins,
        Op::End => Deed::Ends,
        Op::Exit { .. } => Deed::EndsProgram,
        Op::Fatal { .. } => Deed::Killed,
        Op::Hang => Deed::Hangs,
        Op::AtomicEnter { .. } => Deed::EntersBlock,
        Op::AtomicExit => Deed::LeavesBlock,
        Op::Fork { .. } => Deed::Starts,
        Op::Join { .. } => Deed::Joins,
        Op::Detach { .. } => Deed::Detaches,
        Op::Misused { .. } => Deed::Misuses,
        Op::Refused { why, .. } if *why != RefusedWhy::Error => Deed::Refused,
        Op::BarrierArrive { .. } => Deed::Arrives,
        Op::BarrierLeave { .. } => Deed::Leaves,
        Op::SemaphorePost { .. } => Deed::Posts,
        Op::SemaphoreTake { .. } => Deed::Counts,
        Op::OnceBegin { .. } | Op::OnceEnd { .. } | Op::OnceDone { .. } => Deed::Once,
        Op::Send { .. } => Deed::Sends,
        Op::Receive { .. } => Deed::Receives,
        Op::Fence { .. } => Deed::Fences,
        Op::Module { .. } | Op::ClockJump { .. } | Op::Revoked | Op::Stopped | Op::ThreadName { .. } | Op::Branch => {
            Deed::Silent
        }
        _ => Deed::Other,
    }
}

pub struct Ran {
    pub steps: Vec<Seen>,
    pub outcome: Outcome,
}

impl Ran {
    pub fn of(trace: &Trace) -> Self {
        let mut held: BTreeMap<u64, BTreeMap<u32, Holds>> = BTreeMap::new();
        let mut known = HashMap::new();
        let mut steps: Vec<Seen> = Vec::new();
        let mut events = trace.events();
        while let Some(event) = events.next().expect("a whole trace") {
            let (places, functions) = places(trace, &event, &mut known);
            let (address, value) = accessed(&event.op);
            let (thread, at) = (event.thread.0, steps.len());
            let mut holders = held.clone();
            change(&event.op, thread, at, &mut held);
            if matches!(event.op, Op::Wait { .. }) {
                // Who waits has given its mutex back.
                holders.clone_from(&held);
            }
            steps.push(Seen {
                thread,
                deed: deed(&event.op),
                places,
                functions,
                address,
                value,
                holders,
                object: object(&event.op),
                number: match event.op {
                    Op::Notify { woken: number, .. } => Some(number),
                    Op::Fork { child, .. } | Op::Join { child } | Op::Detach { child } => Some(child.0),
                    Op::Exit { status } => Some(status as u32),
                    _ => None,
                },
                is_step: event.op.is_step(),
            });
        }
        let outcome = trace.footer().map(|footer| footer.outcome.clone()).unwrap_or_default();
        Self { steps, outcome }
    }

    /// Whether it has memory that is used after it was freed, or freed twice.
    pub fn uses_freed(&self, trace: &Trace) -> bool {
        let mut gone: Vec<(u64, u64)> = Vec::new();
        let mut events = trace.events();
        while let Some(event) = events.next().expect("a whole trace") {
            let is_gone = |addr: u64| gone.iter().any(|(from, size)| addr.wrapping_sub(*from) < *size);
            match event.op {
                Op::Free { addr, size } => {
                    if is_gone(addr.0) {
                        return true;
                    }
                    gone.push((addr.0, size.max(1)));
                }
                Op::Misused { what: Misuse::DoubleFree, .. } => return true,
                Op::Alloc { addr, size } => {
                    gone.retain(|(from, old)| addr.0 >= from + old || *from >= addr.0 + size.max(1));
                }
                Op::Read { addr, .. } | Op::Write { addr, .. } | Op::Atomic { addr, .. } if is_gone(addr.0) => {
                    return true;
                }
                Op::Acquire { object, .. } | Op::Release { object, .. } if is_gone(object.0) => return true,
                _ => {}
            }
        }
        false
    }
}

type Named = (BTreeSet<String>, BTreeSet<String>);

fn places(trace: &Trace, event: &Event<'_>, known: &mut HashMap<u64, Named>) -> Named {
    let (mut all, mut functions) = (BTreeSet::new(), BTreeSet::new());
    for pc in std::iter::once(event.pc).chain(trace.stacks().walk(event.stack)) {
        let (here, called) = known.entry(pc.0).or_insert_with(|| {
            let frames = || trace.symbols().frames(pc);
            let lines = frames().map(|frame| match frame.line {
                0 => frame.function.to_owned(),
                line => format!("{}:{line}", frame.file.rsplit('/').next().unwrap_or_default()),
            });
            (lines.collect(), frames().map(|frame| frame.function.to_owned()).collect())
        });
        all.extend(here.iter().cloned());
        functions.extend(called.iter().cloned());
    }
    (all, functions)
}

fn accessed(op: &Op<'_>) -> (u64, Option<Content>) {
    let content = |value: Value<'_>, size: u32| match value {
        Value::Word(word) => Some(Content::Word(word, size)),
        Value::Bytes(bytes) => Some(Content::Bytes(bytes.to_vec())),
        Value::Unknown => None,
    };
    match *op {
        Op::Read { addr, size, value, .. } | Op::Write { addr, size, value, .. } => (addr.0, content(value, size)),
        Op::Atomic { kind: AtomicKind::Load | AtomicKind::CasFailed, addr, size, read, .. } => {
            (addr.0, content(read, size))
        }
        Op::Atomic { addr, size, written, .. } => (addr.0, content(written, size)),
        Op::Free { addr, .. } => (addr.0, None),
        _ => (u64::MAX, None),
    }
}

fn object(op: &Op<'_>) -> u64 {
    match *op {
        Op::Blocked { object, .. }
        | Op::Refused { object, .. }
        | Op::Acquire { object, .. }
        | Op::Release { object, .. } => object.0,
        Op::Wait { condition, .. } | Op::Woken { condition, .. } | Op::Notify { condition, .. } => condition.0,
        _ => u64::MAX,
    }
}

fn change(op: &Op<'_>, thread: u32, at: usize, held: &mut BTreeMap<u64, BTreeMap<u32, Holds>>) {
    match *op {
        // Whoever waits for a word, or for a whole second, gives no lock back and takes none.
        Op::Wait { mutex: object, .. } | Op::Woken { mutex: object, .. } if object.0 == 0 => {}
        Op::Acquire { object, .. } | Op::Woken { mutex: object, .. } => {
            held.entry(object.0).or_default().entry(thread).or_insert(Holds { since: at, depth: 0 }).depth += 1;
        }
        Op::Release { object, .. } => {
            let holders = held.entry(object.0).or_default();
            if let Some(held) = holders.get_mut(&thread) {
                held.depth -= 1;
            }
            holders.retain(|_, held| held.depth > 0);
        }
        Op::Wait { mutex: object, .. } => drop(held.entry(object.0).or_default().remove(&thread)),
        Op::Misused { what: Misuse::UnlockByNonOwner, object } => drop(held.remove(&object.0)),
        _ => {}
    }
}

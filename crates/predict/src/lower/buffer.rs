//! Takes events out of the stream: keeps what matters, and remembers of the rest whether it guards what follows.

use reweave_model::{
    Addr, AtomicKind, BlockedOn, Event, EventId, InputSource, MemoryOrder, Misuse, Op, OpName, Pc, RefusedWhy, StackId,
    ThreadId, Value, WakeReason,
};
use reweave_trace::{Trace, WordAccess};

use super::sharing::Sharing;
use crate::history::AccessKind;
use crate::linear::at;

/// A value that outlives the chunk it was read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Data {
    Word(u64),
    Long(Box<[u8]>),
    Unknown,
}

impl Data {
    fn new(value: Value<'_>) -> Self {
        match value {
            Value::Word(word) => Data::Word(word),
            Value::Bytes(bytes) => Data::Long(bytes.into()),
            Value::Unknown => Data::Unknown,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum What {
    Access {
        addr: u64,
        size: u64,
        kind: AccessKind,
        order: MemoryOrder,
        read: Option<Data>,
        written: Option<Data>,
    },
    /// Writes its whole block.
    Free {
        addr: u64,
        size: u64,
    },
    Alloc {
        addr: u64,
        size: u64,
    },
    /// Synchronization, without payload.
    Sync(Op<'static>),
}

#[derive(Clone, PartialEq, Debug)]
pub(super) struct Kept {
    pub id: EventId,
    pub thread: ThreadId,
    pub pc: Pc,
    pub stack: StackId,
    /// Steps of its thread with this one.
    pub steps: u64,
    pub guarded: bool,
    pub doubtful: bool,
    /// What it is called.
    pub called: OpName,
    pub what: What,
}

#[derive(Default)]
struct ThreadSoFar {
    pc: Pc,
    steps: u64,
    /// Something left out since the last kept event was guarded.
    guarded: bool,
    /// Something that nobody sees may order what follows (the watchdog took the token, say).
    doubtful: bool,
    /// The last event was the return from a call that waited outside.
    returned: bool,
    /// A handler has just begun.
    signalled: bool,
    /// The last event: what it is blocked at.
    blocked: Option<Kept>,
}

pub(super) struct Buffer {
    /// By number.
    threads: Vec<ThreadSoFar>,
    facts: reweave_trace::Facts,
    /// Every event is guarded: nothing is known about branches.
    all_guarded: bool,
    explicit: bool,
}

impl Buffer {
    pub fn new(trace: &Trace) -> Self {
        let meta = trace.meta();
        let facts = trace.symbols().facts().clone();
        let all_guarded = meta.abstract_values || (facts.is_empty() && !meta.explicit_branches);
        Self { threads: Vec::new(), facts, all_guarded, explicit: meta.explicit_branches }
    }

    pub fn event(&mut self, event: &Event<'_>, sharing: &Sharing) -> Option<Kept> {
        let so_far = at(&mut self.threads, event.thread.index());
        so_far.steps += steps(&event.op);
        match event.op {
            Op::Branch => {
                so_far.guarded = true;
                return None;
            }
            Op::Revoked => {
                so_far.doubtful = true;
                return None;
            }
            ref op if !op.is_step() || matches!(op, Op::Exit { .. }) => return None,
            _ => {}
        }
        // What it acts on may depend on data.
        let has_operand = !matches!(event.op, Op::Begin | Op::End | Op::Fence { .. } | Op::Woken { .. });
        let guarded = so_far.guarded
            || self.all_guarded
            || !self.explicit
                && (self.facts.branch_between(so_far.pc, event.pc)
                    || has_operand && !self.facts.constant_address(event.pc));
        so_far.pc = event.pc;
        so_far.doubt(&event.op);
        so_far.blocked = None;
        let &Event { id, thread, pc, stack, .. } = event;
        let (steps, called) = (so_far.steps, OpName::of(&event.op));
        if let Op::Blocked { on, object } = event.op {
            let what = What::Sync(Op::Blocked { on, object });
            let doubtful = so_far.doubtful;
            so_far.blocked = Some(Kept { id, thread, pc, stack, steps: steps + 1, guarded, doubtful, called, what });
        }
        let Some(what) = what(&event.op, sharing) else {
            // An outcome left out steers what follows all the same.
            so_far.guarded = guarded || is_outcome(&event.op);
            return None;
        };
        so_far.guarded = false;
        let doubtful = std::mem::take(&mut so_far.doubtful);
        Some(Kept { id, thread, pc, stack, steps, guarded, doubtful, called, what })
    }

    /// As [`Buffer::event`], for accesses of up to eight bytes; also says whether it matters. One that nobody `wants`
    /// is passed by.
    pub fn access(&mut self, access: &WordAccess, sharing: &Sharing, wants: bool) -> (bool, Option<Kept>) {
        let so_far = at(&mut self.threads, access.thread.index());
        so_far.steps += 1;
        let (addr, size, pc) = (access.addr.0, u64::from(access.size()), access.pc());
        let matters = sharing.matters(addr, size);
        let guards = || {
            self.all_guarded
                || !self.explicit && (self.facts.branch_between(so_far.pc, pc) || !self.facts.constant_address(pc))
        };
        // What is passed by takes its guard with it.
        let guarded = matters && !wants || so_far.guarded || guards();
        so_far.pc = pc;
        if so_far.returned || so_far.signalled {
            so_far.doubt(&access.event().op);
        }
        so_far.blocked = None;
        if !matters {
            so_far.guarded = guarded;
            return (false, None);
        }
        so_far.guarded = false;
        let doubtful = std::mem::take(&mut so_far.doubtful);
        if !wants {
            return (true, None);
        }
        let value = Some(Data::Word(access.value()));
        let (read, written, called) =
            if access.is_write() { (None, value, OpName::Write) } else { (value, None, OpName::Read) };
        let (kind, order) = (AccessKind::Plain, MemoryOrder::Relaxed);
        let what = What::Access { addr, size, kind, order, read, written };
        let &WordAccess { id, thread, stack, .. } = access;
        (true, Some(Kept { id, thread, pc, stack, steps: so_far.steps, guarded, doubtful, called, what }))
    }

    /// Where threads were blocked at their last event, by thread.
    pub fn blocked(&self) -> Vec<Kept> {
        let mut blocked: Vec<Kept> = self.threads.iter().filter_map(|so_far| so_far.blocked.clone()).collect();
        blocked.sort_unstable_by_key(|kept| kept.thread);
        blocked
    }
}

impl ThreadSoFar {
    /// Outcomes and order that nothing here can explain: a reordering with them proves nothing.
    fn doubt(&mut self, op: &Op<'_>) {
        let returned = std::mem::take(&mut self.returned);
        // A signal that nobody here sent, and no timer of the program's: what made it come is not known.
        let signalled = std::mem::take(&mut self.signalled);
        self.doubtful |= signalled && !matches!(*op, Op::Receive { size: 1.., .. });
        self.signalled = matches!(*op, Op::Signal { .. });
        match *op {
            // What a call waited for outside is not known, unless something came in by it.
            Op::Return { .. } => self.returned = true,
            Op::Receive { .. } | Op::SemaphoreTake { .. } | Op::Input { value: 0.., .. } if returned => return,
            Op::Input { source: InputSource::Poll, .. } | Op::Input { source: InputSource::Read, value: ..0, .. } => {
                self.doubtful = true;
            }
            Op::Refused { on: BlockedOn::Descriptor | BlockedOn::Join | BlockedOn::Futex, .. }
            | Op::Woken { reason: WakeReason::Cancelled, .. } => self.doubtful = true,
            _ => {}
        }
        self.doubtful |= returned;
    }
}

/// Steps of a schedule that an operation takes in a reordering: a thread that had to wait for something need not, but
/// one that gave up has waited.
pub(crate) fn steps(op: &Op<'_>) -> u64 {
    let gave_up = matches!(
        op,
        Op::Refused {
            on: BlockedOn::LockExclusive | BlockedOn::LockShared | BlockedOn::Semaphore,
            why: RefusedWhy::TimedOut | RefusedWhy::Interrupted,
            ..
        }
    );
    let waited = matches!(
        op,
        Op::Blocked {
            on: BlockedOn::LockExclusive
                | BlockedOn::LockShared
                | BlockedOn::Semaphore
                | BlockedOn::Join
                | BlockedOn::Once
                | BlockedOn::Descriptor,
            ..
        }
    );
    u64::from(op.is_step() && !waited) + u64::from(gave_up)
}

fn is_outcome(op: &Op<'_>) -> bool {
    matches!(op, Op::Atomic { kind: AtomicKind::CasDone | AtomicKind::CasFailed, .. } | Op::Refused { .. })
}

fn what(op: &Op<'_>, sharing: &Sharing) -> Option<What> {
    let access = |addr: Addr, size: u32, kind, order, read, written| {
        let (addr, size) = (addr.0, u64::from(size));
        sharing.matters(addr, size).then_some(What::Access { addr, size, kind, order, read, written })
    };
    match *op {
        Op::Read { addr, size, value, .. } => {
            access(addr, size, AccessKind::Plain, MemoryOrder::Relaxed, Some(Data::new(value)), None)
        }
        Op::Write { addr, size, value, .. } => {
            access(addr, size, AccessKind::Plain, MemoryOrder::Relaxed, None, Some(Data::new(value)))
        }
        Op::Atomic { kind, order, addr, size, read, written } => {
            let as_access = match kind {
                AtomicKind::Load => AccessKind::Load,
                AtomicKind::Store => AccessKind::Store,
                AtomicKind::Exchange => AccessKind::Exchange,
                AtomicKind::Update => AccessKind::Update,
                AtomicKind::CasDone => AccessKind::CasDone,
                AtomicKind::CasFailed => AccessKind::CasFailed,
            };
            let read = kind.reads().then(|| Data::new(read));
            let written = kind.writes().then(|| Data::new(written));
            access(addr, size, as_access, order, read, written)
        }
        Op::Free { addr, size } => sharing.matters(addr.0, size).then_some(What::Free { addr: addr.0, size }),
        Op::Alloc { addr, size } => sharing.matters(addr.0, size).then_some(What::Alloc { addr: addr.0, size }),
        Op::Begin => Some(What::Sync(Op::Begin)),
        Op::End => Some(What::Sync(Op::End)),
        Op::Fork { child, nth } => Some(What::Sync(Op::Fork { child, nth })),
        Op::Join { child } => Some(What::Sync(Op::Join { child })),
        Op::Fence { order } => Some(What::Sync(Op::Fence { order })),
        Op::Acquire { object, mode, tried } => Some(What::Sync(Op::Acquire { object, mode, tried })),
        Op::Release { object, mode } => Some(What::Sync(Op::Release { object, mode })),
        Op::Refused { object, on, why } => {
            let told = matches!(on, BlockedOn::LockExclusive | BlockedOn::LockShared | BlockedOn::Semaphore)
                && matches!(why, RefusedWhy::Busy | RefusedWhy::TimedOut);
            told.then_some(What::Sync(Op::Refused { object, on, why }))
        }
        Op::Wait { condition, mutex, timed } => Some(What::Sync(Op::Wait { condition, mutex, timed })),
        Op::Woken { condition, mutex, reason, notify } => {
            Some(What::Sync(Op::Woken { condition, mutex, reason, notify }))
        }
        Op::Notify { condition, all, notify, woken } => Some(What::Sync(Op::Notify { condition, all, notify, woken })),
        Op::BarrierArrive { barrier, count } => Some(What::Sync(Op::BarrierArrive { barrier, count })),
        Op::BarrierLeave { barrier, serial } => Some(What::Sync(Op::BarrierLeave { barrier, serial })),
        Op::SemaphorePost { semaphore, value } => Some(What::Sync(Op::SemaphorePost { semaphore, value })),
        Op::SemaphoreTake { semaphore, value, tried } => {
            Some(What::Sync(Op::SemaphoreTake { semaphore, value, tried }))
        }
        Op::OnceBegin { object } => Some(What::Sync(Op::OnceBegin { object })),
        Op::OnceEnd { object } => Some(What::Sync(Op::OnceEnd { object })),
        Op::OnceDone { object } => Some(What::Sync(Op::OnceDone { object })),
        Op::Send { channel, position, size } => Some(What::Sync(Op::Send { channel, position, size })),
        Op::Receive { channel, position, size } => Some(What::Sync(Op::Receive { channel, position, size })),
        Op::Create { object, kind, value } => Some(What::Sync(Op::Create { object, kind, value })),
        Op::Destroy { object, kind } => Some(What::Sync(Op::Destroy { object, kind })),
        Op::Misused { what: what @ (Misuse::UnlockByNonOwner | Misuse::UnlockUnlocked), object } => {
            Some(What::Sync(Op::Misused { what, object }))
        }
        _ => None,
    }
}

//! A trace that means a given history: what lowering must turn back into the same questions with the same answers.

use std::collections::{BTreeMap, HashSet};

use reweave_model::{
    AccessFlags, Addr, AtomicKind, BlockedOn, LockMode, ObjectId, ObjectKind, Op, Pc, RefusedWhy, ThreadId, Value,
    WakeReason,
};
use reweave_trace::{Meta, Trace, TraceBuilder};

use super::constructs::FRESH;
use crate::history::{Access, AccessKind, Action, Condition, History, Pos, Step, Val, Waking};

/// The code position of the event at position 0; the next one's is one more, and so on. Whatever else a trace has is
/// below.
pub const FIRST_PC: u64 = 1000;

/// A trace of this history; `None` if there is none: an access to cells that do not lie side by side, or an edge from
/// the beginning or to the end of a wait (no event lies between the two).
///
/// A main thread writes what cells hold at first (some only if no read tells) and forks the threads that are not
/// forked by the history itself. An `after` edge is a message on a channel of its own, or fork to begin, or end to
/// join. Guards are branches; that the pair in question needs none ([`History::pair_unguarded`]) no trace can say.
pub fn trace_of(history: &History) -> Option<Trace> {
    let accesses = || history.steps.iter().filter_map(|step| step.action.access());
    let adjacent = |access: &Access| {
        [&access.reads, &access.writes].iter().all(|cells| cells.windows(2).all(|two| two[0].0.0 + 1 == two[1].0.0))
    };
    let waits = |pos: &Pos| matches!(history.step(*pos).action, Action::Wait { .. });
    let wakes = |step: &Step| matches!(step.action, Action::Woken { .. }) && !step.after.is_empty();
    let inside_wait = |step: &Step| step.after.iter().any(waits) || wakes(step);
    if !accesses().all(adjacent) || history.steps.iter().any(inside_wait) {
        return None;
    }
    // No trace has an atomic access of more than two words: then all cells share one.
    let wide = accesses().any(|access| access.kind != AccessKind::Plain && cells_of(access).len() > 1);
    let cell_size = if wide { 2 } else { 8 };
    if cell_size * history.initial.len() > 8 && wide {
        return None;
    }
    let meta = Meta { tool: "test".into(), instrumented: true, explicit_branches: true, ..Meta::default() };
    let mut teller = Teller {
        history,
        builder: TraceBuilder::new(&meta),
        cell_size,
        roles: roles(history),
        edges: BTreeMap::new(),
        semaphores: history.semaphores.clone(),
        waiting: vec![None; history.threads.len()],
        children: vec![0; history.threads.len()],
        notifies: 0,
    };
    teller.main();
    history.positions().for_each(|pos| teller.step(pos));
    Some(teller.builder.into_trace().expect("memory takes every write"))
}

/// What an event that does nothing is in the trace.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Fork(usize),
    Begin,
    End,
    Join(usize),
}

/// Forks and joins: threads that begin after an event, and events after the end of a thread.
fn roles(history: &History) -> BTreeMap<Pos, Role> {
    let mut roles = BTreeMap::new();
    let is_nothing = |pos: Pos| history.step(pos).action == Action::Nothing;
    for (thread, events) in history.threads.iter().enumerate() {
        let Some(&begin) = events.first().filter(|pos| is_nothing(**pos)) else { continue };
        if let &[fork] = history.step(begin).after.as_slice()
            && is_nothing(fork)
            && !roles.contains_key(&fork)
        {
            roles.insert(fork, Role::Fork(thread));
            roles.insert(begin, Role::Begin);
        }
    }
    for join in history.positions().filter(|pos| is_nothing(*pos)) {
        let &[end] = history.step(join).after.as_slice() else { continue };
        let thread = history.step(end).thread.index();
        let last = history.threads[thread].last() == Some(&end);
        let others = history.steps.iter().filter(|step| step.after.contains(&end)).count() > 1;
        if last && !others && is_nothing(end) && !roles.contains_key(&end) && !roles.contains_key(&join) {
            roles.insert(end, Role::End);
            roles.insert(join, Role::Join(thread));
        }
    }
    roles
}

fn cells_of(access: &Access) -> &[(crate::history::Cell, Val)] {
    if access.reads.len() > access.writes.len() { &access.reads } else { &access.writes }
}

struct Teller<'h> {
    history: &'h History,
    builder: TraceBuilder,
    cell_size: usize,
    roles: BTreeMap<Pos, Role>,
    /// Channels of messages by source and target.
    edges: BTreeMap<(Pos, Pos), u64>,
    semaphores: Vec<u32>,
    /// By thread: the condition it waits on, and the number of the notify that chose it.
    waiting: Vec<Option<(Condition, Option<u32>)>>,
    /// By thread: forked so far.
    children: Vec<u32>,
    /// So many so far; they are numbered from 1.
    notifies: u32,
}

const MAIN: ThreadId = ThreadId(0);

fn lock(lock: crate::history::Lock) -> ObjectId {
    ObjectId(0x1_0000 + u64::from(lock.0) * 64)
}
fn condition(condition: Condition) -> ObjectId {
    ObjectId(0x2_0000 + u64::from(condition.0) * 64)
}
fn barrier(barrier: crate::history::Barrier) -> ObjectId {
    ObjectId(0x3_0000 + u64::from(barrier.0) * 64)
}
fn semaphore(semaphore: usize) -> ObjectId {
    ObjectId(0x4_0000 + semaphore as u64 * 64)
}
fn message(channel: u64) -> ObjectId {
    ObjectId(0x5_0000 + channel * 64)
}
fn something(pos: Pos) -> ObjectId {
    ObjectId(0x6_0000 + u64::from(pos.0) * 64)
}

impl Teller<'_> {
    fn push(&mut self, thread: ThreadId, pc: u64, op: Op<'_>) {
        self.builder.push(thread, Pc(pc), op).expect("memory takes every write");
    }

    fn thread(pos: usize) -> ThreadId {
        ThreadId(pos as u32 + 1)
    }

    fn main(&mut self) {
        self.push(MAIN, 1, Op::Begin);
        for cell in 0..self.history.initial.len() {
            let mut users = self
                .history
                .steps
                .iter()
                .filter_map(|step| step.action.access())
                .filter(|access| access.reads.iter().chain(&access.writes).any(|(other, _)| other.index() == cell));
            let told = users.next().is_some_and(|first| first.reads.iter().any(|(other, _)| other.index() == cell));
            if !told || cell % 2 == 0 {
                let (addr, size) = (self.addr(cell), self.cell_size as u32);
                let value = Value::Word(u64::from(self.history.initial[cell].0));
                self.push(MAIN, 2 + cell as u64, Op::Write { addr, size, value, flags: AccessFlags::default() });
            }
        }
        for at in 0..self.semaphores.len() {
            let value = self.semaphores[at];
            self.push(MAIN, 100, Op::Create { object: semaphore(at), kind: ObjectKind::Semaphore, value });
        }
        let forked: HashSet<usize> = self
            .roles
            .values()
            .filter_map(|role| match role {
                Role::Fork(thread) => Some(*thread),
                _ => None,
            })
            .collect();
        let roots: Vec<usize> = (0..self.history.threads.len()).filter(|thread| !forked.contains(thread)).collect();
        for (nth, &root) in roots.iter().enumerate() {
            self.push(MAIN, 200 + nth as u64, Op::Fork { child: Self::thread(root), nth: nth as u32 });
        }
        for root in roots {
            self.push(Self::thread(root), 300, Op::Begin);
        }
    }

    fn addr(&self, cell: usize) -> Addr {
        Addr(0x1000 + (self.cell_size * cell) as u64)
    }

    fn step(&mut self, pos: Pos) {
        let history = self.history;
        let step = history.step(pos);
        let (thread, pc) = (Self::thread(step.thread.index()), FIRST_PC + u64::from(pos.0));
        let role = self.roles.get(&pos).copied();
        if !matches!(role, Some(Role::Begin | Role::Join(_))) {
            for &before in &step.after {
                let channel = message(self.edges[&(before, pos)]);
                self.push(thread, 400, Op::Receive { channel, position: 0, size: 1 });
            }
        }
        // Nothing depends on anything yet at a begin.
        if step.guarded && role != Some(Role::Begin) {
            self.push(thread, 500, Op::Branch);
        }
        match &step.action {
            Action::Access(access) => self.access(thread, pc, access),
            action => {
                let op = self.op(pos, step.thread.index(), action, role);
                self.push(thread, pc, op);
            }
        }
        if !matches!(role, Some(Role::Fork(_) | Role::End)) || !self.is_only_source(pos) {
            for target in history.positions().skip(pos.index()) {
                let by_role = matches!(self.roles.get(&target), Some(Role::Begin | Role::Join(_)));
                if history.step(target).after.contains(&pos) && !by_role {
                    let channel = self.edges.len() as u64;
                    self.edges.insert((pos, target), channel);
                    self.push(thread, 600, Op::Send { channel: message(channel), position: 0, size: 1 });
                }
            }
        }
    }

    /// Whether all that comes after it does so by its role.
    fn is_only_source(&self, pos: Pos) -> bool {
        self.history.steps.iter().filter(|step| step.after.contains(&pos)).count() <= 1
    }

    fn op(&mut self, pos: Pos, thread: usize, action: &Action, role: Option<Role>) -> Op<'static> {
        match *action {
            Action::Nothing => match role {
                Some(Role::Fork(child)) => {
                    let nth = self.children[thread];
                    self.children[thread] += 1;
                    Op::Fork { child: Self::thread(child), nth }
                }
                Some(Role::Begin) => Op::Begin,
                Some(Role::End) => Op::End,
                Some(Role::Join(child)) => Op::Join { child: Self::thread(child) },
                None => Op::Create { object: something(pos), kind: ObjectKind::Mutex, value: 0 },
            },
            Action::Access(_) => unreachable!("told elsewhere"),
            Action::Fence(order) => Op::Fence { order },
            Action::Acquire { lock: object, mode } => Op::Acquire { object: lock(object), mode, tried: false },
            Action::Release { lock: object, mode } => Op::Release { object: lock(object), mode },
            Action::AcquireFailed { lock: object, mode } => {
                let on = match mode {
                    LockMode::Exclusive => BlockedOn::LockExclusive,
                    LockMode::Shared => BlockedOn::LockShared,
                };
                Op::Refused { object: lock(object), on, why: RefusedWhy::Busy }
            }
            Action::Wait { condition: on, lock: mutex } => {
                self.waiting[thread] = Some((on, None));
                Op::Wait { condition: condition(on), mutex: lock(mutex), timed: false }
            }
            Action::Woken { condition: on, lock: mutex, how } => {
                let chosen_by = self.waiting[thread].take().and_then(|(_, by)| by);
                let reason = match how {
                    Waking::Notified => WakeReason::Notified,
                    Waking::TimedOut => WakeReason::TimedOut,
                    Waking::Spurious => WakeReason::Spurious,
                };
                let notify = chosen_by.filter(|_| how == Waking::Notified).unwrap_or(0);
                Op::Woken { condition: condition(on), mutex: lock(mutex), reason, notify }
            }
            Action::Notify { condition: on, all } => {
                self.notifies += 1;
                let woken = self.notify(pos, on, all);
                Op::Notify { condition: condition(on), all, notify: self.notifies, woken }
            }
            Action::Arrive { barrier: object, count } => Op::BarrierArrive { barrier: barrier(object), count },
            Action::Leave { barrier: object, serial } => Op::BarrierLeave { barrier: barrier(object), serial },
            Action::Post { semaphore: object } => {
                self.semaphores[object.index()] += 1;
                Op::SemaphorePost { semaphore: semaphore(object.index()), value: self.semaphores[object.index()] }
            }
            Action::Take { semaphore: object } => {
                self.semaphores[object.index()] -= 1;
                let (semaphore, value) = (semaphore(object.index()), self.semaphores[object.index()]);
                Op::SemaphoreTake { semaphore, value, tried: false }
            }
            Action::TakeFailed { semaphore: object } => {
                Op::Refused { object: semaphore(object.index()), on: BlockedOn::Semaphore, why: RefusedWhy::Busy }
            }
        }
    }

    /// Notifies who is chosen, and says how many that are: the one that needs it first, and one that will time out only
    /// if there is no other.
    fn notify(&mut self, pos: Pos, on: Condition, all: bool) -> u32 {
        let history = self.history;
        let need = |thread: usize| {
            let mut later = history.threads[thread].iter().filter(|later| **later > pos);
            let ending = later.find_map(|&later| match history.step(later).action {
                Action::Woken { how, .. } => Some((later, how)),
                _ => None,
            });
            match ending {
                Some((woken, Waking::Notified)) => (0, woken),
                Some((woken, Waking::Spurious)) => (1, woken),
                None => (2, Pos(u32::MAX)),
                Some((woken, Waking::TimedOut)) => (3, woken),
            }
        };
        let mut waiting: Vec<usize> =
            (0..self.waiting.len()).filter(|&thread| self.waiting[thread] == Some((on, None))).collect();
        if !all {
            waiting.sort_by_key(|&thread| need(thread));
            waiting.truncate(1);
        }
        waiting.iter().for_each(|&thread| self.waiting[thread] = Some((on, Some(self.notifies))));
        waiting.len() as u32
    }

    fn access(&mut self, thread: ThreadId, pc: u64, access: &Access) {
        let cells = cells_of(access);
        let (addr, size) = (self.addr(cells[0].0.index()), self.cell_size * cells.len());
        let bytes = |cells: &[(crate::history::Cell, Val)]| {
            let bytes =
                cells.iter().flat_map(|(_, val)| u64::from(val.0).to_le_bytes().into_iter().take(self.cell_size));
            bytes.collect::<Vec<u8>>()
        };
        let (read, written) = (bytes(&access.reads), bytes(&access.writes));
        let (flags, small) = (AccessFlags::default(), size as u32);
        let op = match (access.kind, access.reads.is_empty()) {
            (AccessKind::Plain, false) => Op::Read { addr, size: small, value: value(&read), flags },
            (AccessKind::Plain, true) if self.is_free(access) => Op::Free { addr, size: size as u64 },
            (AccessKind::Plain, true) => Op::Write { addr, size: small, value: value(&written), flags },
            (kind, _) => {
                let kind = match kind {
                    AccessKind::Plain | AccessKind::Load => AtomicKind::Load,
                    AccessKind::Store => AtomicKind::Store,
                    AccessKind::Exchange => AtomicKind::Exchange,
                    AccessKind::Update => AtomicKind::Update,
                    AccessKind::CasDone => AtomicKind::CasDone,
                    AccessKind::CasFailed => AtomicKind::CasFailed,
                };
                let (read, written) = (value(&read), value(&written));
                Op::Atomic { kind, order: access.order, addr, size: small, read, written }
            }
        };
        self.push(thread, pc, op);
    }

    /// A write of one value of its own to several cells that nobody reads.
    fn is_free(&self, access: &Access) -> bool {
        let val = access.writes[0].1;
        let reads =
            || self.history.steps.iter().filter_map(|step| step.action.access()).flat_map(|access| &access.reads);
        access.writes.len() > 1
            && val.0 >= FRESH
            && access.writes.iter().all(|(_, other)| *other == val)
            && reads().all(|(_, read)| *read != val)
    }
}

fn value(bytes: &[u8]) -> Value<'_> {
    if bytes.len() > 8 {
        return Value::Bytes(bytes);
    }
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    Value::Word(u64::from_le_bytes(word))
}

//! Random histories: small programs, made up while a random scheduler runs them, so that every outcome is a real one.
//!
//! Each history aims at some [`Construct`]s; the generator prefers events that bring the missing ones nearer. The same
//! seed and size give the same history on every machine.

use std::collections::BTreeSet;

use reweave_model::{LockMode, MemoryOrder};

use super::constructs::{Construct, FRESH};
use super::{Draft, Random};
use crate::history::{
    Access, AccessKind, Action, Barrier, Cell, Condition, History, Lock, Pos, Semaphore, Thread, Val, Waking,
};

/// A random history of at most `size` events.
pub fn generate(seed: u64, size: usize) -> History {
    run(Generator::new(seed), size)
}

/// A random history of at most `size` events that has these as often as it can, and the rest by chance.
pub fn generate_aimed(seed: u64, size: usize, aim: &[Construct]) -> History {
    let mut generator = Generator::new(seed);
    generator.wanted = aim.iter().copied().collect();
    generator.insists = true;
    run(generator, size)
}

fn run(mut generator: Generator, size: usize) -> History {
    while generator.events < size {
        let candidates = generator.candidates();
        let Some((thread, action)) = generator.choose(candidates) else { break };
        generator.perform(thread, action);
    }
    let mut history = generator.draft.history();
    history.initial = generator.initial;
    history
}

#[derive(Default)]
struct Row {
    begun: bool,
    /// Where it ended; it may be joined once.
    ended: Option<Pos>,
    forked: Option<Pos>,
    joined: bool,
    /// The locks it holds, in the order of acquisition.
    held: Vec<(Lock, LockMode)>,
    waits: Option<(Condition, Lock, bool)>,
    /// The round of the barrier that it is in.
    round: Option<u32>,
}

struct Generator {
    random: Random,
    draft: Draft,
    events: usize,
    /// What this history should have and has not yet.
    wanted: BTreeSet<Construct>,
    /// It is to have that again and again.
    insists: bool,
    initial: Vec<Val>,
    memory: Vec<Val>,
    locks: u32,
    rows: Vec<Row>,
    semaphore: u32,
    party: u32,
    arrivals: u32,
    /// For each round, who left it: serial, others.
    left: Vec<(u32, u32)>,
    guards: u32,
    all_guarded: bool,
    forks: bool,
    /// The last value that was written nowhere else.
    fresh: u32,
}

/// What a thread may do next, and what of it the history may still want.
struct Candidate {
    thread: u32,
    action: Action,
    weight: usize,
}

const ORDERS: [MemoryOrder; 6] = [
    MemoryOrder::Relaxed,
    MemoryOrder::Consume,
    MemoryOrder::Acquire,
    MemoryOrder::Release,
    MemoryOrder::AcqRel,
    MemoryOrder::SeqCst,
];

impl Generator {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let threads = 2 + random.below(3);
        let cells = 1 + random.below(4);
        let wanted: BTreeSet<_> = Construct::ALL.into_iter().filter(|one| random.percent(chance(*one))).collect();
        let two_locks = wanted.contains(&Construct::CrossedLocks) || wanted.contains(&Construct::NestedLocks);
        let forks = wanted.contains(&Construct::ForkJoin);
        let semaphore = random.below(2) as u32;
        let mut draft = Draft::new();
        draft.semaphore(0, semaphore);
        let row = |thread| Row { begun: !forks || thread == 0, ..Row::default() };
        let all_guarded = random.percent(28);
        Generator {
            locks: 1 + random.below(3) as u32 + u32::from(two_locks),
            party: 2 + random.below(threads - 1) as u32,
            guards: [0, 20, 50][random.below(3)],
            initial: vec![Val(0); cells],
            memory: vec![Val(0); cells],
            rows: (0..threads).map(row).collect(),
            events: 0,
            arrivals: 0,
            left: Vec::new(),
            fresh: FRESH,
            random,
            draft,
            wanted,
            insists: false,
            semaphore,
            all_guarded,
            forks,
        }
    }

    /// One random instance of each thing that each thread can do now.
    fn candidates(&mut self) -> Vec<Candidate> {
        let mut candidates = Vec::new();
        for thread in 0..self.rows.len() as u32 {
            let row = &self.rows[thread as usize];
            if row.ended.is_some() {
            } else if !row.begun {
                if row.forked.is_some() {
                    self.offer(&mut candidates, thread, Action::Nothing, 2, &[Construct::ForkJoin]);
                }
            } else if let Some((condition, lock, notified)) = row.waits {
                self.offer_waking(&mut candidates, thread, condition, lock, notified);
            } else if let Some(round) = row.round {
                self.offer_leave(&mut candidates, thread, round);
            } else {
                self.offer_accesses(&mut candidates, thread);
                self.offer_locks(&mut candidates, thread);
                self.offer_meetings(&mut candidates, thread);
                self.offer_forks(&mut candidates, thread);
            }
        }
        candidates
    }

    fn offer(&self, to: &mut Vec<Candidate>, thread: u32, action: Action, base: usize, brings: &[Construct]) {
        let wanted = brings.iter().filter(|construct| self.wanted.contains(construct)).count();
        to.push(Candidate { thread, action, weight: base + 24 * wanted });
    }

    fn choose(&mut self, mut candidates: Vec<Candidate>) -> Option<(u32, Action)> {
        let total: usize = candidates.iter().map(|candidate| candidate.weight).sum();
        if total == 0 {
            return None;
        }
        let mut ticket = self.random.below(total);
        let chosen = candidates.iter().position(|candidate| match ticket.checked_sub(candidate.weight) {
            Some(left) => {
                ticket = left;
                false
            }
            None => true,
        })?;
        let chosen = candidates.swap_remove(chosen);
        Some((chosen.thread, chosen.action))
    }

    fn offer_waking(&self, to: &mut Vec<Candidate>, thread: u32, condition: Condition, lock: Lock, notified: bool) {
        if self.rows.iter().any(|row| row.held.iter().any(|(held, _)| *held == lock)) {
            return;
        }
        let woken = |how| Action::Woken { condition, lock, how };
        self.offer(to, thread, woken(Waking::Spurious), 1, &[Construct::Spurious]);
        match notified {
            true => self.offer(to, thread, woken(Waking::Notified), 4, &[Construct::Notified, Construct::Notified]),
            false => self.offer(to, thread, woken(Waking::TimedOut), 1, &[Construct::TimedOut]),
        }
    }

    fn offer_leave(&self, to: &mut Vec<Candidate>, thread: u32, round: u32) {
        if self.arrivals < (round + 1) * self.party {
            return;
        }
        let (serials, others) = self.left.get(round as usize).copied().unwrap_or_default();
        let leave = |serial| Action::Leave { barrier: Barrier(0), serial };
        if serials == 0 {
            self.offer(to, thread, leave(true), 3, &[Construct::Barrier]);
        }
        if others + 1 < self.party {
            self.offer(to, thread, leave(false), 3, &[Construct::Barrier]);
        }
    }

    fn offer_accesses(&mut self, to: &mut Vec<Candidate>, thread: u32) {
        let plain = MemoryOrder::Relaxed;
        let wide = [Construct::WideAccess];
        for (kind, reads, writes, base, brings) in [
            (AccessKind::Plain, true, false, 8, None),
            (AccessKind::Plain, false, true, 8, None),
            (AccessKind::Load, true, false, 2, None),
            (AccessKind::Store, false, true, 2, None),
            (AccessKind::Exchange, true, true, 1, Some(Construct::Exchange)),
            (AccessKind::Update, true, true, 1, Some(Construct::Update)),
            (AccessKind::CasDone, true, true, 1, Some(Construct::CasDone)),
            (AccessKind::CasFailed, true, false, 1, Some(Construct::CasFailed)),
        ] {
            let access = self.random_access(kind, reads, writes);
            let mut brings: Vec<_> = brings.into_iter().collect();
            if access.reads.len().max(access.writes.len()) > 1 {
                brings.extend(wide);
            }
            if kind != AccessKind::Plain {
                brings.push(order_construct(access.order));
            }
            self.offer(to, thread, Action::Access(access), base, &brings);
        }
        let order = *self.random.pick(&ORDERS[2..]).unwrap_or(&plain);
        self.offer(to, thread, Action::Fence(order), 1, &[Construct::Fence]);
        if self.memory.len() > 1 {
            let writes = (0..self.memory.len() as u32).map(|cell| (Cell(cell), Val(self.fresh))).collect();
            let free = Access { kind: AccessKind::Plain, order: plain, reads: Vec::new(), writes };
            self.offer(to, thread, Action::Access(free), 1, &[Construct::Free]);
        }
    }

    fn random_access(&mut self, kind: AccessKind, reads: bool, writes: bool) -> Access {
        let cells = self.memory.len();
        let first = self.random.below(cells);
        let length = if self.random.percent(25) { 1 + self.random.below(cells - first) } else { 1 };
        let range = first..first + length;
        let reads =
            if reads { range.clone().map(|cell| (Cell(cell as u32), self.memory[cell])).collect() } else { Vec::new() };
        let mut written = Vec::new();
        if writes {
            for cell in range {
                // Few values, so that other writes can explain a read; or each its own, as where values are not
                // recorded.
                let val = if self.all_guarded { self.fresh + cell as u32 } else { self.random.below(3) as u32 };
                written.push((Cell(cell as u32), Val(val)));
            }
        }
        let order = if kind == AccessKind::Plain { MemoryOrder::Relaxed } else { ORDERS[self.random.below(6)] };
        Access { kind, order, reads, writes: written }
    }

    fn offer_locks(&mut self, to: &mut Vec<Candidate>, thread: u32) {
        let held = self.rows[thread as usize].held.clone();
        let lock = Lock(self.random.below(self.locks as usize) as u32);
        let mine = held.iter().any(|(held, _)| *held == lock);
        let others = |row: &Row, sharers_too: bool| {
            row.held.iter().any(|&(held, mode)| held == lock && (sharers_too || mode == LockMode::Exclusive))
        };
        for mode in [LockMode::Exclusive, LockMode::Shared] {
            let refused = self.rows.iter().any(|row| others(row, mode == LockMode::Exclusive));
            if !mine && refused {
                self.offer(to, thread, Action::AcquireFailed { lock, mode }, 1, &[Construct::FailedTry]);
            } else if !mine && held.len() < 3 {
                use Construct::{CrossedLocks, FailedTry, NestedLocks, Notified, SharedLock, Spurious, TimedOut};
                let brings: &[_] = match (mode, held.len()) {
                    (LockMode::Shared, _) => &[SharedLock],
                    (LockMode::Exclusive, 0) => &[CrossedLocks, FailedTry, NestedLocks, Notified, Spurious, TimedOut],
                    (LockMode::Exclusive, _) => &[CrossedLocks, CrossedLocks, NestedLocks],
                };
                let base = if mode == LockMode::Shared { 1 } else { 5 };
                // Scarce, or everybody would only collect locks.
                let brings = if held.len() > 1 || brings.is_empty() { &[] } else { &brings[..brings.len().min(3)] };
                self.offer(to, thread, Action::Acquire { lock, mode }, base, brings);
            }
        }
        for (at, &(lock, mode)) in held.iter().enumerate() {
            let last = at + 1 == held.len();
            let brings = match (last, at) {
                (false, _) => Some(Construct::CrossedLocks),
                (true, 1..) => Some(Construct::NestedLocks),
                (true, 0) => None,
            };
            let base = if last { 8 } else { 1 };
            self.offer(to, thread, Action::Release { lock, mode }, base, brings.as_slice());
            if mode == LockMode::Exclusive {
                let wait = Action::Wait { condition: Condition(0), lock };
                let brings = [Construct::Notified, Construct::TimedOut, Construct::Spurious, Construct::Blocked];
                self.offer(to, thread, wait, 1, &brings);
            }
        }
    }

    /// Notifies, barriers, semaphores.
    fn offer_meetings(&mut self, to: &mut Vec<Candidate>, thread: u32) {
        let condition = Condition(0);
        let awaited = self.rows.iter().any(|row| matches!(row.waits, Some((_, _, false))));
        for (all, brings) in [(false, Construct::NotifyOne), (true, Construct::NotifyAll)] {
            let brings = [brings, Construct::Notified, Construct::Notified];
            let notify = Action::Notify { condition, all };
            self.offer(to, thread, notify, usize::from(awaited), if awaited { &brings } else { &[] });
        }
        let semaphore = Semaphore(0);
        match self.semaphore {
            0 => self.offer(to, thread, Action::TakeFailed { semaphore }, 1, &[Construct::TakeFailed]),
            _ => self.offer(to, thread, Action::Take { semaphore }, 2, &[Construct::Take, Construct::TakeFailed]),
        }
        if self.semaphore < 2 {
            self.offer(
                to,
                thread,
                Action::Post { semaphore },
                1,
                if self.semaphore == 0 { &[Construct::Take] } else { &[] },
            );
        }
        let able = self.rows.iter().filter(|row| row.begun && row.ended.is_none() && row.waits.is_none()).count();
        let gathering = !self.arrivals.is_multiple_of(self.party);
        let arrive = Action::Arrive { barrier: Barrier(0), count: self.party };
        if able >= self.party as usize || gathering {
            let base = if gathering { 6 } else { 0 };
            self.offer(to, thread, arrive, base, &[Construct::Barrier]);
        }
    }

    /// Fork, end, join: which one a `Nothing` is, is settled when it is performed.
    fn offer_forks(&self, to: &mut Vec<Candidate>, thread: u32) {
        if !self.forks {
            return;
        }
        let child = self.rows.iter().any(|row| row.forked.is_none() && !row.begun);
        let joinable = self.joinable(thread).is_some();
        let may_end = thread > 0 && self.rows[thread as usize].held.is_empty();
        if child || joinable {
            self.offer(to, thread, Action::Nothing, 4, &[Construct::ForkJoin]);
        } else if may_end {
            self.offer(to, thread, Action::Nothing, if self.events > 8 { 4 } else { 0 }, &[]);
        }
    }

    fn joinable(&self, by: u32) -> Option<usize> {
        (0..self.rows.len()).find(|&at| at != by as usize && self.rows[at].ended.is_some() && !self.rows[at].joined)
    }

    /// Adds the event and does what it does.
    fn perform(&mut self, thread: u32, action: Action) {
        let me = thread as usize;
        let pos = self.draft.step(thread, action.clone());
        self.events += 1;
        match &action {
            Action::Nothing => self.perform_nothing(thread, pos),
            Action::Access(access) => {
                access.writes.iter().for_each(|&(cell, val)| self.memory[cell.index()] = val);
                self.fresh += self.memory.len() as u32;
            }
            Action::Acquire { lock, mode } => self.rows[me].held.push((*lock, *mode)),
            Action::Release { lock, .. } => self.rows[me].held.retain(|(held, _)| held != lock),
            Action::Wait { condition, lock } => {
                self.rows[me].held.retain(|(held, _)| held != lock);
                self.rows[me].waits = Some((*condition, *lock, false));
            }
            Action::Woken { lock, .. } => {
                self.rows[me].waits = None;
                self.rows[me].held.push((*lock, LockMode::Exclusive));
            }
            Action::Notify { all, .. } => {
                let waiting: Vec<_> =
                    (0..self.rows.len()).filter(|&at| matches!(self.rows[at].waits, Some((_, _, false)))).collect();
                let chosen = if *all { waiting } else { self.random.pick(&waiting).copied().into_iter().collect() };
                for at in chosen {
                    self.rows[at].waits.as_mut().expect("it waits").2 = true;
                }
            }
            Action::Arrive { .. } => {
                self.rows[me].round = Some(self.arrivals / self.party);
                self.arrivals += 1;
            }
            Action::Leave { serial, .. } => {
                let round = self.rows[me].round.take().expect("it arrived") as usize;
                self.left.resize(self.left.len().max(round + 1), (0, 0));
                *(if *serial { &mut self.left[round].0 } else { &mut self.left[round].1 }) += 1;
            }
            Action::Post { .. } => self.semaphore += 1,
            Action::Take { .. } => self.semaphore -= 1,
            Action::Fence(_) | Action::AcquireFailed { .. } | Action::TakeFailed { .. } => {}
        }
        self.dress(thread, pos, &action);
        let found = Construct::found_in(&self.draft.clone().history());
        let insists = self.insists;
        self.wanted.retain(|construct| insists || !found.contains(construct));
    }

    fn perform_nothing(&mut self, thread: u32, pos: Pos) {
        let me = thread as usize;
        if !self.rows[me].begun {
            self.rows[me].begun = true;
            let fork = self.rows[me].forked.expect("only what was forked is offered");
            self.draft.order(fork, pos);
        } else if let Some(child) = self.rows.iter().position(|row| !row.begun && row.forked.is_none()) {
            self.rows[child].forked = Some(pos);
        } else if let Some(child) = self.joinable(thread) {
            self.rows[child].joined = true;
            let end = self.rows[child].ended.expect("only what ended is joinable");
            self.draft.order(end, pos);
        } else {
            self.rows[me].ended = Some(pos);
        }
    }

    /// Guards and `after` edges.
    fn dress(&mut self, thread: u32, pos: Pos, action: &Action) {
        if self.random.percent(self.guards) {
            self.draft.guard(pos);
        }
        let chance = if self.wanted.contains(&Construct::AfterEdge) { 30 } else { 2 };
        let others: Vec<Pos> = self.draft.positions_except(Thread(thread));
        if *action != Action::Nothing
            && self.random.percent(chance)
            && let Some(&before) = self.random.pick(&others)
        {
            self.draft.order(before, pos);
        }
        if self.all_guarded {
            self.draft.guard_all();
        }
    }
}

/// How often a history aims at a construct, in percent: what takes several events to bring about needs more room and
/// more tries than what comes by itself.
fn chance(construct: Construct) -> u32 {
    match construct {
        Construct::NestedLocks | Construct::CrossedLocks | Construct::ForkJoin => 52,
        Construct::Notified => 48,
        Construct::TimedOut | Construct::Spurious => 40,
        Construct::NotifyOne | Construct::NotifyAll => 40,
        Construct::Barrier => 42,
        Construct::FailedTry | Construct::Free | Construct::TakeFailed => 35,
        _ => 15,
    }
}

fn order_construct(order: MemoryOrder) -> Construct {
    match order {
        MemoryOrder::Relaxed => Construct::Relaxed,
        MemoryOrder::Consume => Construct::Consume,
        MemoryOrder::Acquire => Construct::Acquire,
        MemoryOrder::Release => Construct::Release,
        MemoryOrder::AcqRel => Construct::AcqRel,
        MemoryOrder::SeqCst => Construct::SeqCst,
    }
}

//! Runs a proposed reordering by the rules of [`history`](crate::history) and tells every rule it breaks. It goes on as
//! if nothing were wrong, so that one proposal teaches much.

use reweave_model::LockMode;

use super::{Question, Rule};
use crate::history::*;
use crate::linear::FastMap;

/// A rule that an order breaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Broken {
    /// The second acquisition comes while the first one's holder still has the lock.
    Taken {
        holder: Pos,
        wanted: Pos,
    },
    /// A failed acquisition of a lock that nobody else holds.
    Free {
        failed: Pos,
    },
    /// A read does not return its value although it must; what it returned was written by `found` (`None`: initial).
    Read {
        read: Pos,
        cell: Cell,
        found: Option<Pos>,
        guard: Guard,
    },
    /// A waking without a notify.
    Unnotified {
        woken: Pos,
    },
    /// A wait that timed out although notified.
    Notified {
        woken: Pos,
    },
    Empty {
        take: Pos,
    },
    NotEmpty {
        failed: Pos,
    },
    /// Leaves a barrier too early, or as the serial one when there was one, or otherwise when there was none.
    Round {
        leave: Pos,
    },
    /// The goal asks for another last write than this one.
    Overwritten {
        by: Pos,
    },
}

/// Why a read must return its value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Guard {
    /// This event follows it in the reordering.
    Event(Pos),
    /// A goal follows it, or another required read takes the value of a write that does.
    Always,
}

#[derive(Clone, Copy)]
struct Now {
    value: Val,
    writer: Option<Pos>,
}

pub(super) struct Simulation<'q, 'i, 'h> {
    question: &'q Question<'i, 'h>,
    place_in_order: FastMap<Pos, u32>,
    memory: Vec<Now>,
    /// Reads of each thread that returned something else, with the cell and the writer found, since its last guard.
    changed: Vec<Vec<(Pos, Cell, Option<Pos>)>>,
    /// All such reads by thread, for writes that depend on them.
    unknown_because: FastMap<Pos, (Pos, Cell, Option<Pos>)>,
    holders: Vec<Vec<(Pos, LockMode)>>,
    /// Waits that have begun: condition, wait, whether notified.
    waiting: Vec<Option<(Condition, Pos, bool)>>,
    semaphores: Vec<i64>,
    rounds: Vec<Rounds>,
    pub broken: Vec<Broken>,
}

#[derive(Clone, Default)]
struct Rounds {
    arrivals: u32,
    last: FastMap<Thread, (u32, u32)>,
    left: FastMap<u32, (u32, u32)>,
}

impl<'q, 'i, 'h> Simulation<'q, 'i, 'h> {
    pub fn run(question: &'q Question<'i, 'h>, order: &[Pos]) -> Self {
        let history = question.index.history;
        let mut simulation = Self {
            question,
            place_in_order: FastMap::default(),
            memory: history.initial.iter().map(|&value| Now { value, writer: None }).collect(),
            changed: vec![Vec::new(); history.threads.len()],
            unknown_because: FastMap::default(),
            holders: vec![Vec::new(); history.locks as usize],
            waiting: vec![None; history.threads.len()],
            semaphores: history.semaphores.iter().map(|&count| i64::from(count)).collect(),
            rounds: vec![Rounds::default(); history.barriers as usize],
            broken: Vec::new(),
        };
        if history.conditions > 0 || !question.has(Rule::Release) {
            simulation.place_in_order = order.iter().enumerate().map(|(i, &pos)| (pos, i as u32)).collect();
        }
        for &pos in order {
            simulation.event(pos);
        }
        if question.mode != Mode::Said {
            for &next in &question.goal.next {
                if question.guards(next) {
                    simulation.demand(history.step(next).thread, Guard::Always);
                }
            }
        }
        if question.mode != Mode::Said || question.goal.ended {
            simulation.last_write();
        }
        simulation
    }

    fn event(&mut self, pos: Pos) {
        let step = self.question.index.step(pos);
        let thread = step.thread;
        let mode = self.question.mode;
        if mode == Mode::ControlFlow && self.question.needs_valid(step) {
            self.demand(thread, Guard::Event(pos));
        }
        match &step.action {
            Action::Nothing | Action::Fence(_) => {}
            Action::Access(access) => {
                if mode == Mode::Said && self.question.goal.next == [pos] {
                    self.last_write();
                }
                self.access(pos, thread, access);
                // Every read counts, or this one is an outcome.
                let kept = match mode {
                    Mode::Prefix | Mode::Said => self.question.has(Rule::KeptReads),
                    Mode::ControlFlow => {
                        step.action.is_outcome()
                            && self.question.has(Rule::CompareExchange)
                            && self.question.has(Rule::Outcomes)
                    }
                    Mode::DataAbstract => false,
                };
                if kept {
                    self.demand(thread, Guard::Event(pos));
                }
            }
            Action::Acquire { lock, mode } => self.acquire(pos, *lock, *mode),
            Action::Release { lock, .. } => self.release(thread, *lock),
            Action::AcquireFailed { lock, mode } => {
                let history = self.question.index.history;
                let against = |(holder, held): &(Pos, LockMode)| {
                    history.step(*holder).thread != thread
                        && (*mode == LockMode::Exclusive || *held == LockMode::Exclusive)
                };
                if !self.holders[lock.index()].iter().any(against) {
                    self.breaks(Rule::FailedTry, Broken::Free { failed: pos });
                }
            }
            Action::Wait { condition, lock } => {
                self.release(thread, *lock);
                self.waiting[thread.index()] = Some((*condition, pos, false));
            }
            Action::Woken { lock, how, .. } => {
                self.acquire(pos, *lock, LockMode::Exclusive);
                match (how, self.waiting[thread.index()].take()) {
                    (Waking::Notified, Some((_, _, false))) => {
                        self.breaks(Rule::Notify, Broken::Unnotified { woken: pos })
                    }
                    (Waking::TimedOut, Some((_, _, true))) => {
                        self.breaks(Rule::Timeout, Broken::Notified { woken: pos })
                    }
                    _ => {}
                }
            }
            Action::Notify { condition, all } => self.notify(*condition, *all),
            Action::Arrive { barrier, count } => {
                let rounds = &mut self.rounds[barrier.index()];
                rounds.last.insert(thread, (rounds.arrivals / count, *count));
                rounds.arrivals += 1;
            }
            Action::Leave { barrier, serial } => {
                let rounds = &mut self.rounds[barrier.index()];
                let (round, count) = rounds.last.get(&thread).copied().unwrap_or((0, 1));
                let left = rounds.left.entry(round).or_default();
                *(if *serial { &mut left.0 } else { &mut left.1 }) += 1;
                let crowded = left.0 > 1 || left.1 > count - 1;
                if rounds.arrivals < (round + 1) * count {
                    self.breaks(Rule::Rounds, Broken::Round { leave: pos });
                } else if crowded {
                    self.breaks(Rule::Serial, Broken::Round { leave: pos });
                }
            }
            Action::Post { semaphore } => self.semaphores[semaphore.index()] += 1,
            Action::Take { semaphore } => {
                let count = &mut self.semaphores[semaphore.index()];
                *count -= 1;
                if *count < 0 {
                    self.breaks(Rule::Count, Broken::Empty { take: pos });
                }
            }
            Action::TakeFailed { semaphore } => {
                if self.semaphores[semaphore.index()] > 0 {
                    self.breaks(Rule::FailedTake, Broken::NotEmpty { failed: pos });
                }
            }
        }
    }

    /// Whether the cell of the goal holds what it should, now that it counts.
    fn last_write(&mut self) {
        let Some(last) = self.question.goal.last_write else { return };
        match self.memory[last.cell.index()].writer {
            Some(by) if last.writer != Some(by) => self.breaks(Rule::LastWrite, Broken::Overwritten { by }),
            // The write itself is always there: it is required.
            _ => {}
        }
    }

    fn breaks(&mut self, rule: Rule, broken: Broken) {
        if self.question.has(rule) {
            self.broken.push(broken);
        }
    }

    /// All reads of the thread so far must have returned their values. Those that did not are told, and forgotten.
    fn demand(&mut self, thread: Thread, guard: Guard) {
        for (read, cell, found) in std::mem::take(&mut self.changed[thread.index()]) {
            self.broken.push(Broken::Read { read, cell, found, guard });
            // The value it found may be unknown because of a read of another thread: that one is the cause, too.
            let mut next = found;
            let mut depth = 0;
            while let Some(&(read, cell, found)) = next.and_then(|writer| self.unknown_because.get(&writer)) {
                self.broken.push(Broken::Read { read, cell, found, guard: Guard::Always });
                next = found;
                depth += 1;
                if depth > 64 {
                    break;
                }
            }
        }
    }

    fn access(&mut self, pos: Pos, thread: Thread, access: &Access) {
        if self.question.mode != Mode::DataAbstract {
            for &(cell, value) in &access.reads {
                let now = self.memory[cell.index()];
                if now.value != value {
                    self.changed[thread.index()].push((pos, cell, now.writer));
                }
            }
        }
        let mut unknown = self.changed[thread.index()].first().copied();
        if unknown.is_some_and(|(read, ..)| read == pos) && !self.question.depends_on_its_read(access.kind) {
            unknown = None;
        }
        if !self.question.has(Rule::UnknownValues) {
            unknown = None;
        }
        if !access.writes.is_empty()
            && let Some(because) = unknown
        {
            self.unknown_because.insert(pos, because);
        }
        for &(cell, value) in &access.writes {
            let value = if unknown.is_some() { Val::UNKNOWN } else { value };
            self.memory[cell.index()] = Now { value, writer: Some(pos) };
        }
    }

    fn acquire(&mut self, pos: Pos, lock: Lock, mode: LockMode) {
        let question = self.question;
        for &(holder, held) in &self.holders[lock.index()] {
            let excludes = mode == LockMode::Exclusive || held == LockMode::Exclusive || !question.has(Rule::Sharing);
            let stays = || question.index.release.get(&holder).is_none_or(|end| !self.place_in_order.contains_key(end));
            if excludes && question.has(Rule::Exclusion) && (question.has(Rule::Release) || !stays()) {
                self.broken.push(Broken::Taken { holder, wanted: pos });
            }
        }
        self.holders[lock.index()].push((pos, mode));
    }

    fn release(&mut self, thread: Thread, lock: Lock) {
        let history = self.question.index.history;
        self.holders[lock.index()].retain(|(holder, _)| history.step(*holder).thread != thread);
    }

    /// A single notify goes to the waiter who needs it first, and to one that must time out only if there is no other.
    fn notify(&mut self, condition: Condition, all: bool) {
        let index = self.question.index;
        let mut best: Option<((u8, u32), usize)> = None;
        for thread in 0..self.waiting.len() {
            let Some((at, wait, notified)) = &mut self.waiting[thread] else { continue };
            if *at != condition || *notified {
                continue;
            }
            if all {
                *notified = true;
                continue;
            }
            let woken = index.waits[condition.index()].iter().find(|span| span.wait == *wait).and_then(|s| s.woken);
            let woken = woken.and_then(|woken| Some((woken, *self.place_in_order.get(&woken)?)));
            let need = match woken {
                None => (1, u32::MAX),
                Some((woken, place)) => match index.step(woken).action {
                    Action::Woken { how: Waking::Notified, .. } => (0, place),
                    Action::Woken { how: Waking::TimedOut, .. } => (2, place),
                    _ => (1, place),
                },
            };
            if best.is_none_or(|(other, _)| need < other) {
                best = Some((need, thread));
            }
        }
        if let Some((_, thread)) = best
            && let Some((_, _, notified)) = &mut self.waiting[thread]
        {
            *notified = true;
        }
    }
}

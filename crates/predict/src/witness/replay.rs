//! Runs an order event by event, by the rules of [`history`](crate::history).

use std::collections::HashMap;

use reweave_model::LockMode;

use super::notifies::{Fate, Waits};
use super::{Rejection, Why};
use crate::history::{
    Access, AccessKind, Action, Barrier, Condition, History, Lock, Mode, Pos, Semaphore, Thread, Val, Waking,
};

/// Where an event that is not in the order stands.
const ABSENT: usize = usize::MAX;

#[derive(Clone, Default)]
struct Holding {
    exclusive: Option<Thread>,
    shared: Vec<Thread>,
}

#[derive(Clone, Copy, Default)]
struct Row {
    done: usize,
    /// The first read that did not return what it returned in the trace.
    misread: Option<Pos>,
    waits: Option<(Condition, Fate, usize)>,
}

#[derive(Default)]
struct Round {
    serial_left: bool,
    others_left: u32,
}

pub struct Replay<'h> {
    history: &'h History,
    mode: Mode,
    unnotified: Vec<Thread>,
    /// The place of each event in the order.
    places: Vec<usize>,
    /// How much of the order has happened.
    now: usize,
    rows: Vec<Row>,
    memory: Vec<Val>,
    locks: Vec<Holding>,
    conditions: Vec<Waits>,
    arrivals: Vec<u32>,
    /// Round and size of the last arrival.
    arrived: HashMap<(Barrier, Thread), (u32, u32)>,
    rounds: HashMap<(Barrier, u32), Round>,
    semaphores: Vec<u32>,
}

impl<'h> Replay<'h> {
    /// The state after the whole order, if all of it can happen.
    pub fn run(history: &'h History, mode: Mode, order: &[Pos]) -> Result<Self, Rejection> {
        Self::run_without_notifying(history, mode, order, &[])
    }

    /// As [`Self::run`], and the waits of these threads that do not end in the order are never notified.
    pub fn run_without_notifying(
        history: &'h History,
        mode: Mode,
        order: &[Pos],
        unnotified: &[Thread],
    ) -> Result<Self, Rejection> {
        let mut replay = Replay {
            history,
            mode,
            unnotified: unnotified.to_vec(),
            places: places(history, order)?,
            now: 0,
            rows: vec![Row::default(); history.threads.len()],
            memory: history.initial.clone(),
            locks: vec![Holding::default(); history.locks as usize],
            conditions: (0..history.conditions).map(|_| Waits::new()).collect(),
            arrivals: vec![0; history.barriers as usize],
            arrived: HashMap::new(),
            rounds: HashMap::new(),
            semaphores: history.semaphores.clone(),
        };
        for &pos in order {
            if let Action::Woken { condition, how: Waking::TimedOut, .. } = history.step(pos).action {
                replay.conditions[condition.index()].expect_wary();
            }
        }
        for &thread in unnotified {
            // The last event of its own that is in the order: its wait.
            let last = history.threads[thread.index()].iter().take_while(|&&pos| replay.contains(pos)).last();
            if let Some(Action::Wait { condition, .. }) = last.map(|&pos| &history.step(pos).action) {
                replay.conditions[condition.index()].expect_wary();
            }
        }
        for &pos in order {
            replay.step(pos).map_err(|why| Rejection { at: pos, why })?;
            replay.now += 1;
        }
        Ok(replay)
    }

    pub fn place_in_order(&self, pos: Pos) -> usize {
        self.places[pos.index()]
    }

    pub fn contains(&self, pos: Pos) -> bool {
        self.places[pos.index()] != ABSENT
    }

    /// In `Said`, whether the order holds the whole history.
    pub fn check_complete(&self) -> Result<(), Rejection> {
        match self.history.positions().find(|&pos| !self.contains(pos)) {
            Some(at) if self.mode == Mode::Said => Err(Rejection { at, why: Why::Missing }),
            _ => Ok(()),
        }
    }

    /// Whether an access, as one of the pair in question, is next after the order.
    pub fn check_next(&self, pos: Pos) -> Result<(), Rejection> {
        let because = |why| Rejection { at: pos, why };
        if self.contains(pos) {
            return Err(because(Why::AlreadyHappened));
        }
        self.due(pos).map_err(because)?;
        if self.history.pair_unguarded { Ok(()) } else { self.permitted(pos).map_err(because) }
    }

    /// The next event of a thread, if it has one.
    pub fn next_of(&self, thread: Thread) -> Option<Pos> {
        self.history.threads[thread.index()].get(self.rows[thread.index()].done).copied()
    }

    /// Rule 3.
    pub fn is_permitted(&self, pos: Pos) -> bool {
        self.permitted(pos).is_ok()
    }

    /// Whether the round of a barrier that the thread arrived for last is still to be filled.
    pub fn round_is_open(&self, thread: Thread, barrier: Barrier) -> bool {
        let arrived = self.arrived.get(&(barrier, thread));
        arrived.is_some_and(|(round, count)| self.arrivals[barrier.index()] < (round + 1) * count)
    }

    pub fn count(&self, semaphore: Semaphore) -> u32 {
        self.semaphores[semaphore.index()]
    }

    /// Who holds a lock against somebody who wants it like this.
    pub fn held_against(&self, lock: Lock, mode: LockMode) -> impl Iterator<Item = Thread> + '_ {
        let holding = &self.locks[lock.index()];
        let shared = if mode == LockMode::Exclusive { holding.shared.as_slice() } else { &[] };
        holding.exclusive.into_iter().chain(shared.iter().copied())
    }

    /// Rule 1.
    fn due(&self, pos: Pos) -> Result<(), Why> {
        let step = self.history.step(pos);
        let row = &self.rows[step.thread.index()];
        match self.history.threads[step.thread.index()].get(row.done) {
            Some(&next) if next == pos => {}
            Some(&next) => return Err(Why::ProgramOrder(next)),
            None => return Err(Why::NoSuchEvent),
        }
        if row.waits.is_some() && !matches!(step.action, Action::Woken { .. }) {
            return Err(Why::Waits);
        }
        match step.after.iter().find(|before| self.places[before.index()] >= self.now) {
            Some(&before) => Err(Why::NotAfter(before)),
            None => Ok(()),
        }
    }

    /// Rule 3.
    fn permitted(&self, pos: Pos) -> Result<(), Why> {
        let step = self.history.step(pos);
        match self.rows[step.thread.index()].misread {
            Some(read) if step.guarded || step.action.is_outcome() => Err(Why::Misread(read)),
            _ => Ok(()),
        }
    }

    /// Does one event.
    fn step(&mut self, pos: Pos) -> Result<(), Why> {
        self.due(pos)?;
        self.permitted(pos)?;
        let history = self.history;
        let me = history.step(pos).thread;
        match &history.step(pos).action {
            Action::Nothing | Action::Fence(_) => {}
            Action::Access(access) => self.access(pos, me, access)?,
            Action::Acquire { lock, mode } => self.acquire(me, *lock, *mode)?,
            Action::Release { lock, mode } => self.release(me, *lock, *mode)?,
            Action::AcquireFailed { lock, mode } => {
                let holding = &self.locks[lock.index()];
                let exclusively = holding.exclusive.is_some_and(|holder| holder != me);
                let shared = *mode == LockMode::Exclusive && holding.shared.iter().any(|&holder| holder != me);
                if !exclusively && !shared {
                    return Err(Why::NothingRefuses { lock: *lock });
                }
            }
            Action::Wait { condition, lock } => {
                self.release(me, *lock, LockMode::Exclusive)?;
                let (fate, end) = self.fate(pos, *condition);
                self.rows[me.index()].waits = Some((*condition, fate, end));
                self.conditions[condition.index()].begin(fate, (end, me));
            }
            Action::Woken { condition, lock, .. } => {
                match self.rows[me.index()].waits.take() {
                    Some((at, fate, end)) if at == *condition => {
                        if !self.conditions[condition.index()].end(fate, (end, me)) {
                            return Err(Why::NotNotified);
                        }
                    }
                    _ => return Err(Why::NotWaiting),
                }
                self.acquire(me, *lock, LockMode::Exclusive)?;
            }
            Action::Notify { condition, all } => {
                let waits = &mut self.conditions[condition.index()];
                if !(if *all { waits.notify_all() } else { waits.notify_one() }) {
                    return Err(Why::NotifiesTimedOut);
                }
            }
            Action::Arrive { barrier, count } => {
                let arrivals = &mut self.arrivals[barrier.index()];
                self.arrived.insert((*barrier, me), (*arrivals / count, *count));
                *arrivals += 1;
            }
            Action::Leave { barrier, serial } => self.leave(me, *barrier, *serial)?,
            Action::Post { semaphore } => self.semaphores[semaphore.index()] += 1,
            Action::Take { semaphore } => match self.semaphores[semaphore.index()].checked_sub(1) {
                Some(left) => self.semaphores[semaphore.index()] = left,
                None => return Err(Why::SemaphoreEmpty { semaphore: *semaphore }),
            },
            Action::TakeFailed { semaphore } => match self.semaphores[semaphore.index()] {
                0 => {}
                count => return Err(Why::SemaphoreNotEmpty { semaphore: *semaphore, count }),
            },
        }
        self.rows[me.index()].done += 1;
        Ok(())
    }

    fn access(&mut self, pos: Pos, me: Thread, access: &Access) -> Result<(), Why> {
        if self.mode == Mode::DataAbstract {
            return Ok(());
        }
        let misread = &mut self.rows[me.index()].misread;
        let valid_before = misread.is_none();
        let other = access.reads.iter().find(|(cell, observed)| self.memory[cell.index()] != *observed);
        if let Some(&(cell, observed)) = other {
            if self.mode != Mode::ControlFlow || matches!(access.kind, AccessKind::CasDone | AccessKind::CasFailed) {
                return Err(Why::ReadChanged { cell, observed, found: self.memory[cell.index()] });
            }
            misread.get_or_insert(pos);
        }
        let known = if access.kind == AccessKind::Update { misread.is_none() } else { valid_before };
        for &(cell, observed) in &access.writes {
            self.memory[cell.index()] = if known { observed } else { Val::UNKNOWN };
        }
        Ok(())
    }

    fn acquire(&mut self, me: Thread, lock: Lock, mode: LockMode) -> Result<(), Why> {
        let holding = &mut self.locks[lock.index()];
        let against = match mode {
            LockMode::Exclusive => holding.exclusive.or(holding.shared.first().copied()),
            LockMode::Shared => holding.exclusive.or(holding.shared.contains(&me).then_some(me)),
        };
        if let Some(by) = against {
            return Err(Why::Held { lock, by });
        }
        match mode {
            LockMode::Exclusive => holding.exclusive = Some(me),
            LockMode::Shared => holding.shared.push(me),
        }
        Ok(())
    }

    fn release(&mut self, me: Thread, lock: Lock, mode: LockMode) -> Result<(), Why> {
        let holding = &mut self.locks[lock.index()];
        match mode {
            LockMode::Exclusive if holding.exclusive == Some(me) => holding.exclusive = None,
            LockMode::Shared if holding.shared.contains(&me) => holding.shared.retain(|&holder| holder != me),
            _ => return Err(Why::NotHeld { lock }),
        }
        Ok(())
    }

    fn leave(&mut self, me: Thread, barrier: Barrier, serial: bool) -> Result<(), Why> {
        let Some(&(round, count)) = self.arrived.get(&(barrier, me)) else {
            return Err(Why::NeverArrived { barrier });
        };
        let full = (round + 1) * count;
        let arrivals = self.arrivals[barrier.index()];
        if arrivals < full {
            return Err(Why::RoundNotFull { barrier, missing: full - arrivals });
        }
        let left = self.rounds.entry((barrier, round)).or_default();
        if if serial { left.serial_left } else { left.others_left + 1 >= count } {
            return Err(Why::RoundLeft { barrier, serial });
        }
        match serial {
            true => left.serial_left = true,
            false => left.others_left += 1,
        }
        Ok(())
    }

    /// How and where the order ends the wait that begins at `wait`.
    fn fate(&self, wait: Pos, on: Condition) -> (Fate, usize) {
        let row = &self.rows[self.history.step(wait).thread.index()];
        let next = self.history.threads[self.history.step(wait).thread.index()].get(row.done + 1);
        let Some(&next) = next.filter(|next| self.contains(**next)) else {
            let wary = self.unnotified.contains(&self.history.step(wait).thread);
            return (if wary { Fate::Wary } else { Fate::Indifferent }, ABSENT);
        };
        match self.history.step(next).action {
            Action::Woken { condition, how, .. } if condition == on => {
                let fate = match how {
                    Waking::Notified => Fate::Needy,
                    Waking::TimedOut => Fate::Wary,
                    Waking::Spurious => Fate::Indifferent,
                };
                (fate, self.place_in_order(next))
            }
            _ => (Fate::Indifferent, ABSENT),
        }
    }
}

/// The place of each event in the order; each must exist and be there once at most.
fn places(history: &History, order: &[Pos]) -> Result<Vec<usize>, Rejection> {
    let mut places = vec![ABSENT; history.steps.len()];
    for (place, &at) in order.iter().enumerate() {
        match places.get_mut(at.index()) {
            Some(free) if *free == ABSENT => *free = place,
            Some(_) => return Err(Rejection { at, why: Why::Repeated }),
            None => return Err(Rejection { at, why: Why::NoSuchEvent }),
        }
    }
    Ok(places)
}

//! Steps on synchronization objects.

use super::machine::{Failure, State, StepResult};
use super::memory::Cell;
use super::thread::{Learned, Phase};
use crate::language::{Place, Program, Register, Slot, StatementId, StatementKind};

impl State {
    pub(super) fn sync_step(
        &mut self,
        program: &Program,
        who: usize,
        id: StatementId,
        kind: &StatementKind,
    ) -> StepResult {
        match kind {
            StatementKind::Enter { lock, shared } => {
                let cell = self.cell(program, who, lock)?;
                self.enter(cell, who, *shared);
            }
            StatementKind::TryEnter { to, lock, shared } => {
                let cell = self.cell(program, who, lock)?;
                let state = self.memory.lock(cell);
                let again = matches!(lock, Place::Object(_)) && state.owner == Some(who);
                let free = again || state.is_free(*shared);
                if free {
                    self.enter(cell, who, *shared);
                }
                self.threads[who].learns(if free { Learned::Taken } else { Learned::Refused }, id, 0);
                self.set(who, *to, free.into());
            }
            StatementKind::Exit { lock } => {
                let cell = self.cell(program, who, lock)?;
                self.exit(cell, who)?;
            }
            StatementKind::Wait { condition, lock } => return self.wait(program, who, (id, None), condition, lock),
            StatementKind::TimedWait { to, condition, lock } => {
                return self.wait(program, who, (id, Some(*to)), condition, lock);
            }
            StatementKind::Notify { condition, all } => {
                let cell = self.cell(program, who, condition)?;
                let mut queue = self.memory.queues.remove(&cell).unwrap_or_default();
                let count = if *all { queue.len() } else { queue.len().min(1) };
                for waiter in queue.drain(..count) {
                    self.threads[waiter].phase = Phase::Sleeps { woken: true };
                }
                if !queue.is_empty() {
                    self.memory.queues.insert(cell, queue);
                }
            }
            StatementKind::Barrier { barrier, .. } => return self.arrive(program, who, barrier),
            StatementKind::Post { semaphore } => {
                let cell = self.cell(program, who, semaphore)?;
                let count = self.memory.count(program, cell) + 1;
                self.memory.counts.insert(cell, count);
            }
            StatementKind::Take { semaphore } => {
                let cell = self.cell(program, who, semaphore)?;
                let count = self.memory.count(program, cell) - 1;
                self.memory.counts.insert(cell, count);
            }
            StatementKind::TryTake { to, semaphore } => {
                let cell = self.cell(program, who, semaphore)?;
                let count = self.memory.count(program, cell);
                if count > 0 {
                    self.memory.counts.insert(cell, count - 1);
                }
                self.threads[who].learns(if count > 0 { Learned::Taken } else { Learned::Refused }, id, 0);
                self.set(who, *to, u64::from(count > 0));
            }
            // What was not lowered cannot be run; neither is there anything to be read.
            _ => return Err(Failure),
        }
        self.advance(who);
        Ok(())
    }

    fn enter(&mut self, cell: Cell, who: usize, shared: bool) {
        let mut lock = self.memory.lock(cell);
        if shared {
            lock.readers.push(who);
            lock.readers.sort_unstable();
        } else {
            (lock.owner, lock.depth) = (Some(who), lock.depth + 1);
        }
        self.memory.set_lock(cell, lock);
    }

    fn exit(&mut self, cell: Cell, who: usize) -> StepResult {
        let mut lock = self.memory.lock(cell);
        if lock.owner == Some(who) {
            lock.depth -= 1;
            lock.owner = lock.owner.filter(|_| lock.depth > 0);
        } else {
            let at = lock.readers.iter().position(|reader| *reader == who).ok_or(Failure)?;
            lock.readers.remove(at);
        }
        self.memory.set_lock(cell, lock);
        Ok(())
    }

    /// Begins or ends a wait at a condition.
    fn wait(
        &mut self,
        program: &Program,
        who: usize,
        (id, to): (StatementId, Option<Register>),
        condition: &Place,
        lock: &Place,
    ) -> StepResult {
        let (condition, lock) = (self.cell(program, who, condition)?, self.cell(program, who, lock)?);
        let Phase::Sleeps { woken } = self.threads[who].phase else {
            let mut state = self.memory.lock(lock);
            if state.owner != Some(who) {
                return Err(Failure);
            }
            // invariant: nested monitors are left and entered again as deep as they were; here, one deep
            (state.owner, state.depth) = (None, 0);
            self.memory.set_lock(lock, state);
            self.memory.queues.entry(condition).or_default().push(who);
            self.threads[who].phase = Phase::Sleeps { woken: false };
            return Ok(());
        };
        if !woken {
            // Time ran out.
            let mut queue = self.memory.queues.remove(&condition).unwrap_or_default();
            queue.retain(|waiter| *waiter != who);
            if !queue.is_empty() {
                self.memory.queues.insert(condition, queue);
            }
        }
        self.enter(lock, who, false);
        self.threads[who].learns(Learned::Woken, id, woken.into());
        self.threads[who].phase = Phase::Runs;
        if let Some(to) = to {
            self.set(who, to, woken.into());
        }
        self.advance(who);
        Ok(())
    }

    fn arrive(&mut self, program: &Program, who: usize, barrier: &Place) -> StepResult {
        let cell = self.cell(program, who, barrier)?;
        let Some(Slot::Barrier(count)) = self.memory.slot(program, cell) else { return Err(Failure) };
        let mut queue = self.memory.queues.remove(&cell).unwrap_or_default();
        queue.push(who);
        if queue.len() < count as usize {
            self.memory.queues.insert(cell, queue);
            self.threads[who].phase = Phase::Arrived { full: false, last: false };
            return Ok(());
        }
        for other in queue {
            self.threads[other].phase = Phase::Arrived { full: true, last: other == who };
        }
        Ok(())
    }
}

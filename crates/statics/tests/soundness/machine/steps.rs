//! Jumps, calls and returns; locks, conditions, semaphores and barriers.

use reweave_script::language::{BlockId, Operand, Place, Slot, StatementKind, Type, arithmetic};

use super::{Cell, Done, Failed, Lock, Machine, Phase, State};
use reweave_statics::frames::Point;

impl Machine<'_, '_> {
    /// Locks that a thread holds, and whether only shared.
    pub fn held(&self, state: &State, who: usize) -> Vec<(Cell, bool)> {
        let held = state.locks.iter().filter_map(|(cell, lock)| {
            (lock.owner == Some(who)).then_some((*cell, false)).or(lock.readers.contains(&who).then_some((*cell, true)))
        });
        held.collect()
    }

    pub fn control(&self, state: &mut State, who: usize, point: Point, kind: &StatementKind) -> Done {
        let thread = state.threads[who].clone();
        let goes = |state: &mut State, to: BlockId| {
            let call = state.threads[who].calls.last_mut().unwrap();
            (call.block, call.at) = (to, 0);
        };
        match kind {
            StatementKind::Jump { to } => goes(state, *to),
            StatementKind::Branch { condition, then, otherwise } => {
                let taken = self.operand(&thread, *condition, Type::Bool) != 0;
                goes(state, if taken { *then } else { *otherwise });
            }
            StatementKind::Switch { value, cases, otherwise } => {
                let kind = self.kind(&thread, *value);
                let value = arithmetic::signed(kind, self.operand(&thread, Operand::Register(*value), kind));
                goes(state, cases.iter().find(|(case, _)| *case == value).map_or(*otherwise, |(_, to)| *to));
            }
            StatementKind::Call { to, function, arguments } => {
                let kinds = self.program.function(*function).registers.iter().map(|info| info.kind);
                let arguments: Vec<u64> =
                    arguments.iter().zip(kinds).map(|(one, kind)| self.operand(&thread, *one, kind)).collect();
                Self::advance(state, who);
                let call = self.call(self.skeleton.callees[&point], *function, &arguments, *to);
                state.threads[who].calls.push(call);
            }
            StatementKind::Return { value } => {
                let call = thread.calls.last().unwrap();
                let kind = self.program.function(call.function).result;
                let value = value.zip(kind).map(|(value, kind)| self.operand(&thread, value, kind));
                if thread.calls.len() == 1 {
                    state.threads[who].phase = Phase::Over;
                    if who == 0 {
                        state.ended = Some(Ok(value.unwrap_or(0)));
                    }
                    return Ok(());
                }
                state.threads[who].calls.pop();
                if let Some((to, value)) = call.result.zip(value) {
                    self.set(state, who, to, value);
                }
            }
            _ => unreachable!(),
        }
        Ok(())
    }

    fn enter(&self, state: &mut State, who: usize, cell: Cell, shared: bool) {
        let lock = state.locks.entry(cell).or_default();
        if shared {
            lock.readers.push(who);
            lock.readers.sort_unstable();
        } else {
            (lock.owner, lock.depth) = (Some(who), lock.depth + 1);
        }
    }

    pub fn synchronise(&self, state: &mut State, who: usize, kind: &StatementKind) -> Done {
        let cell = |state: &State, place: &Place| self.cell(state, who, place).ok_or(Failed);
        match kind {
            StatementKind::Enter { lock, shared } => {
                let cell = cell(state, lock)?;
                self.enter(state, who, cell, *shared);
            }
            StatementKind::TryEnter { to, lock, shared } => {
                let free = self.free(state, who, lock, *shared);
                let cell = cell(state, lock)?;
                if free {
                    self.enter(state, who, cell, *shared);
                }
                self.set(state, who, *to, free.into());
            }
            StatementKind::Exit { lock } => {
                let cell = cell(state, lock)?;
                let lock = state.locks.entry(cell).or_default();
                if lock.owner == Some(who) {
                    lock.depth -= 1;
                    lock.owner = lock.owner.filter(|_| lock.depth > 0);
                } else {
                    let at = lock.readers.iter().position(|reader| *reader == who).ok_or(Failed)?;
                    lock.readers.remove(at);
                }
                if *lock == Lock::default() {
                    state.locks.remove(&cell);
                }
            }
            StatementKind::Wait { condition, lock } | StatementKind::TimedWait { condition, lock, .. } => {
                let (condition, lock) = (cell(state, condition)?, cell(state, lock)?);
                let Phase::Sleeps { woken } = state.threads[who].phase else {
                    if state.locks.get(&lock).is_none_or(|lock| lock.owner != Some(who)) {
                        return Err(Failed);
                    }
                    state.locks.remove(&lock);
                    state.queues.entry(condition).or_default().push(who);
                    state.threads[who].phase = Phase::Sleeps { woken: false };
                    return Ok(());
                };
                if !woken {
                    state.queues.entry(condition).or_default().retain(|waiter| *waiter != who);
                }
                self.enter(state, who, lock, false);
                state.threads[who].phase = Phase::Runs;
                if let Some(to) = kind.target() {
                    self.set(state, who, to, woken.into());
                }
            }
            StatementKind::Notify { condition, all } => {
                let cell = cell(state, condition)?;
                let queue = state.queues.entry(cell).or_default();
                let count = if *all { queue.len() } else { queue.len().min(1) };
                let woken: Vec<usize> = queue.drain(..count).collect();
                woken.into_iter().for_each(|waiter| state.threads[waiter].phase = Phase::Sleeps { woken: true });
            }
            StatementKind::Post { semaphore } => {
                let cell = cell(state, semaphore)?;
                let count = self.count(state, cell) + 1;
                state.counts.insert(cell, count);
            }
            StatementKind::Take { semaphore } => {
                let cell = cell(state, semaphore)?;
                let count = self.count(state, cell) - 1;
                state.counts.insert(cell, count);
            }
            StatementKind::TryTake { to, semaphore } => {
                let cell = cell(state, semaphore)?;
                let count = self.count(state, cell);
                state.counts.insert(cell, count.saturating_sub(1));
                self.set(state, who, *to, (count > 0).into());
            }
            StatementKind::Barrier { to, barrier } => {
                if let Phase::Arrived { last, .. } = state.threads[who].phase {
                    state.threads[who].phase = Phase::Runs;
                    if let Some(to) = to {
                        self.set(state, who, *to, last.into());
                    }
                } else {
                    let cell = cell(state, barrier)?;
                    let Some(Slot::Barrier(count)) = self.slot(state, cell) else { return Err(Failed) };
                    let queue = state.queues.entry(cell).or_default();
                    queue.push(who);
                    state.threads[who].phase = Phase::Arrived { full: false, last: false };
                    if queue.len() as u32 == count {
                        for other in std::mem::take(queue) {
                            state.threads[other].phase = Phase::Arrived { full: true, last: other == who };
                        }
                    }
                    return Ok(());
                }
            }
            _ => return Err(Failed),
        }
        Self::advance(state, who);
        Ok(())
    }
}

//! A history written by hand, one event per line.

use reweave_model::{EventId, LockMode, MemoryOrder};

use crate::history::{Access, AccessKind, Action, Cell, History, Lock, Pos, Step, Thread, Val};

/// A history that grows. Objects come into being when they are first named; cells hold `Val(0)` at first.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    history: History,
}

impl Draft {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn history(self) -> History {
        self.history
    }

    /// Adds an event that is not guarded.
    pub fn step(&mut self, thread: u32, action: Action) -> Pos {
        let history = &mut self.history;
        let pos = Pos(history.steps.len() as u32);
        if history.threads.len() <= thread as usize {
            history.threads.resize(thread as usize + 1, Vec::new());
        }
        history.threads[thread as usize].push(pos);
        match &action {
            Action::Access(access) => {
                let last = access.reads.iter().chain(&access.writes).map(|(cell, _)| cell.index() + 1).max();
                let cells = last.unwrap_or(0).max(history.initial.len());
                history.initial.resize(cells, Val(0));
            }
            Action::Acquire { lock, .. } | Action::Release { lock, .. } | Action::AcquireFailed { lock, .. } => {
                history.locks = history.locks.max(lock.0 + 1);
            }
            Action::Wait { condition, .. } | Action::Woken { condition, .. } | Action::Notify { condition, .. } => {
                history.conditions = history.conditions.max(condition.0 + 1);
            }
            Action::Arrive { barrier, .. } | Action::Leave { barrier, .. } => {
                history.barriers = history.barriers.max(barrier.0 + 1);
            }
            Action::Post { semaphore } | Action::Take { semaphore } | Action::TakeFailed { semaphore } => {
                let semaphores = history.semaphores.len().max(semaphore.index() + 1);
                history.semaphores.resize(semaphores, 0);
            }
            Action::Nothing | Action::Fence(_) => {}
        }
        let event = Some(EventId(u64::from(pos.0)));
        history.steps.push(Step {
            thread: Thread(thread),
            action,
            guarded: false,
            after: Vec::new(),
            event,
            tried: false,
            doubtful: false,
        });
        pos
    }

    pub fn nothing(&mut self, thread: u32) -> Pos {
        self.step(thread, Action::Nothing)
    }

    pub fn read(&mut self, thread: u32, cell: u32, val: u32) -> Pos {
        self.step(thread, access(AccessKind::Plain, MemoryOrder::Relaxed, Some((cell, val)), None))
    }

    pub fn write(&mut self, thread: u32, cell: u32, val: u32) -> Pos {
        self.step(thread, access(AccessKind::Plain, MemoryOrder::Relaxed, None, Some((cell, val))))
    }

    pub fn load(&mut self, thread: u32, order: MemoryOrder, cell: u32, val: u32) -> Pos {
        self.step(thread, access(AccessKind::Load, order, Some((cell, val)), None))
    }

    pub fn store(&mut self, thread: u32, order: MemoryOrder, cell: u32, val: u32) -> Pos {
        self.step(thread, access(AccessKind::Store, order, None, Some((cell, val))))
    }

    /// An access of any kind that reads and writes one cell.
    pub fn modify(&mut self, thread: u32, kind: AccessKind, order: MemoryOrder, cell: u32, vals: (u32, u32)) -> Pos {
        self.step(thread, access(kind, order, Some((cell, vals.0)), Some((cell, vals.1))))
    }

    pub fn acquire(&mut self, thread: u32, lock: u32) -> Pos {
        self.step(thread, Action::Acquire { lock: Lock(lock), mode: LockMode::Exclusive })
    }

    pub fn release(&mut self, thread: u32, lock: u32) -> Pos {
        self.step(thread, Action::Release { lock: Lock(lock), mode: LockMode::Exclusive })
    }

    /// The events so far of all threads but one.
    pub fn positions_except(&self, thread: Thread) -> Vec<Pos> {
        self.history.positions().filter(|&pos| self.history.step(pos).thread != thread).collect()
    }

    /// A branch stands before the event.
    pub fn guard(&mut self, pos: Pos) {
        self.history.steps[pos.index()].guarded = true;
    }

    /// `pos` needs `before` to have happened.
    pub fn order(&mut self, before: Pos, pos: Pos) {
        self.history.steps[pos.index()].after.push(before);
    }

    pub fn semaphore(&mut self, semaphore: u32, count: u32) {
        let semaphores = self.history.semaphores.len().max(semaphore as usize + 1);
        self.history.semaphores.resize(semaphores, 0);
        self.history.semaphores[semaphore as usize] = count;
    }

    /// For traces without branches: every event is guarded, the pair in question excepted.
    pub fn guard_all(&mut self) {
        self.history.pair_unguarded = true;
        self.history.steps.iter_mut().for_each(|step| step.guarded = true);
    }
}

fn access(kind: AccessKind, order: MemoryOrder, read: Option<(u32, u32)>, write: Option<(u32, u32)>) -> Action {
    let cells = |access: Option<(u32, u32)>| access.map(|(cell, val)| (Cell(cell), Val(val))).into_iter().collect();
    Action::Access(Access { kind, order, reads: cells(read), writes: cells(write) })
}

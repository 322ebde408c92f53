//! Random histories full of nested locks: small programs written first and then run by a random scheduler, so that the
//! opposite orders that make deadlocks are frequent. A run that gets stuck is a history, too: it ends there.

use reweave_model::{LockMode, MemoryOrder};

use super::{Draft, Random};
use crate::history::{
    Access, AccessKind, Action, Barrier, Cell, Condition, History, Lock, Pos, Semaphore, Val, Waking,
};

/// What a program does next; outcomes show when it runs.
#[derive(Clone, Copy)]
enum Line {
    Acquire(u32, LockMode),
    Release(u32, LockMode),
    Read(u32),
    Write(u32, u32),
    /// On the condition, giving up this lock; whether it has a deadline.
    Wait(u32, bool),
    Notify(bool),
    Take,
    Post,
    Meet,
    Fork(u32),
    Join(u32),
}

#[derive(Default)]
struct Row {
    lines: Vec<Line>,
    at: usize,
    /// The begin must follow this.
    forked: Option<Pos>,
    begun: bool,
    end: Option<Pos>,
    waits: Option<bool>,
    round: Option<u32>,
}

const CELLS: usize = 2;
const PARTY: u32 = 2;

struct Run {
    random: Random,
    draft: Draft,
    rows: Vec<Row>,
    /// By lock: who holds it, and how.
    held: Vec<Vec<(u32, LockMode)>>,
    memory: [u32; CELLS],
    count: u32,
    arrivals: u32,
    left: Vec<(u32, u32)>,
    guards: u32,
}

/// A random history of at most `size` events with many nested locks; with `meetings`, also with waits, notifies, a
/// semaphore, a barrier and joins between them.
pub fn generate_locking(seed: u64, size: usize, meetings: bool) -> History {
    let mut random = Random::new(seed ^ 0x10c5);
    let threads = 2 + random.below(3) as u32;
    let locks = 2 + random.below(2) as u32;
    let forks = meetings && random.percent(50);
    let mut rows = Vec::new();
    for thread in 0..threads {
        let mut lines = program(&mut random, locks, size / threads as usize, meetings);
        if forks && thread == 0 {
            let at = random.below(lines.len() / 2 + 1);
            lines.splice(at..at, (1..threads).map(Line::Fork));
            let joins: Vec<Line> = (1..threads).filter(|_| random.percent(70)).map(Line::Join).collect();
            // At its end, or somewhere after the forks: also while it holds locks.
            let back = if random.percent(80) { 0 } else { random.below(lines.len() / 2) };
            let at = (lines.len() - back).max(at + threads as usize - 1);
            lines.splice(at..at, joins);
        }
        rows.push(Row { lines, begun: !forks || thread == 0, ..Row::default() });
    }
    let mut draft = Draft::new();
    let count = random.below(2) as u32;
    draft.semaphore(0, count);
    let guards = [0, 20, 60, 100][random.below(4)];
    let held = vec![Vec::new(); locks as usize];
    let mut run = Run { random, draft, rows, held, memory: [0; CELLS], count, arrivals: 0, left: Vec::new(), guards };
    for _ in 0..size {
        let able: Vec<u32> = (0..threads).filter(|&thread| run.is_able(thread)).collect();
        let Some(&thread) = run.random.pick(&able) else { break };
        run.step(thread);
    }
    let mut history = run.draft.history();
    history.initial.resize(CELLS, Val(0));
    history.locks = history.locks.max(locks);
    history.threads.resize(threads as usize, Vec::new());
    history
}

fn program(random: &mut Random, locks: u32, length: usize, meetings: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut held: Vec<(u32, LockMode)> = Vec::new();
    while lines.len() + held.len() < length.max(4) {
        let lock = random.below(locks as usize) as u32;
        let free = !held.iter().any(|(other, _)| *other == lock);
        // One lock is half of the way to two.
        let eager = held.len() == 1 && random.percent(60);
        match if eager { 0 } else { random.below(if meetings { 16 } else { 10 }) } {
            0..=3 if free && held.len() < 3 => {
                let mode = if random.percent(15) { LockMode::Shared } else { LockMode::Exclusive };
                held.push((lock, mode));
                lines.push(Line::Acquire(lock, mode));
            }
            4..=5 if !held.is_empty() => {
                let at = if random.percent(75) { held.len() - 1 } else { random.below(held.len()) };
                let (lock, mode) = held.remove(at);
                lines.push(Line::Release(lock, mode));
            }
            6..=7 => lines.push(Line::Read(random.below(CELLS) as u32)),
            8 => lines.push(Line::Write(random.below(CELLS) as u32, random.below(3) as u32)),
            10 | 11 => {
                if let Some(&(lock, LockMode::Exclusive)) = random.pick(&held) {
                    lines.push(Line::Wait(lock, random.percent(20)));
                }
            }
            12 => lines.push(Line::Notify(random.percent(40))),
            13 => lines.push(Line::Take),
            14 => lines.push(Line::Post),
            15 if random.percent(50) => lines.push(Line::Meet),
            _ => {}
        }
    }
    while let Some((lock, mode)) = held.pop() {
        lines.push(Line::Release(lock, mode));
    }
    lines
}

impl Run {
    fn free(&self, lock: u32, mode: LockMode) -> bool {
        let against = |how: LockMode| mode == LockMode::Exclusive || how == LockMode::Exclusive;
        !self.held[lock as usize].iter().any(|(_, how)| against(*how))
    }

    fn is_able(&self, thread: u32) -> bool {
        let row = &self.rows[thread as usize];
        if !row.begun {
            return row.forked.is_some();
        }
        match row.lines.get(row.at) {
            None => row.end.is_none(),
            Some(Line::Acquire(lock, mode)) => self.free(*lock, *mode),
            Some(Line::Wait(lock, timed)) => match row.waits {
                None => true,
                Some(notified) => (notified || *timed) && self.free(*lock, LockMode::Exclusive),
            },
            Some(Line::Take) => self.count > 0,
            Some(Line::Meet) => row.round.is_none_or(|round| self.arrivals >= (round + 1) * PARTY),
            Some(Line::Join(child)) => self.rows[*child as usize].end.is_some(),
            Some(_) => true,
        }
    }

    fn push(&mut self, thread: u32, action: Action) -> Pos {
        let pos = self.draft.step(thread, action);
        if self.random.percent(self.guards) {
            self.draft.guard(pos);
        }
        pos
    }

    /// Does the next thing of a thread that is able to.
    fn step(&mut self, thread: u32) {
        let me = thread as usize;
        if !self.rows[me].begun {
            let begin = self.push(thread, Action::Nothing);
            self.draft.order(self.rows[me].forked.expect("it is able"), begin);
            self.rows[me].begun = true;
            return;
        }
        let Some(&line) = self.rows[me].lines.get(self.rows[me].at) else {
            self.rows[me].end = Some(self.push(thread, Action::Nothing));
            return;
        };
        self.rows[me].at += 1;
        match line {
            Line::Acquire(lock, mode) => {
                self.held[lock as usize].push((thread, mode));
                self.push(thread, Action::Acquire { lock: Lock(lock), mode });
            }
            Line::Release(lock, mode) => {
                self.held[lock as usize].retain(|(holder, _)| *holder != thread);
                self.push(thread, Action::Release { lock: Lock(lock), mode });
            }
            Line::Read(cell) => {
                let val = self.memory[cell as usize];
                self.push(thread, access(vec![(Cell(cell), Val(val))], Vec::new()));
            }
            Line::Write(cell, val) => {
                self.memory[cell as usize] = val;
                self.push(thread, access(Vec::new(), vec![(Cell(cell), Val(val))]));
            }
            Line::Wait(lock, _) => self.wait(thread, lock),
            Line::Notify(all) => self.notify(thread, all),
            Line::Take => {
                self.count -= 1;
                self.push(thread, Action::Take { semaphore: Semaphore(0) });
            }
            Line::Post => {
                self.count += 1;
                self.push(thread, Action::Post { semaphore: Semaphore(0) });
            }
            Line::Meet => self.meet(thread),
            Line::Fork(child) => self.rows[child as usize].forked = Some(self.push(thread, Action::Nothing)),
            Line::Join(child) => {
                let join = self.push(thread, Action::Nothing);
                self.draft.order(self.rows[child as usize].end.expect("it is able"), join);
            }
        }
    }

    fn wait(&mut self, thread: u32, lock: u32) {
        let (condition, me) = (Condition(0), thread as usize);
        let Some(notified) = self.rows[me].waits.take() else {
            self.rows[me].at -= 1;
            self.rows[me].waits = Some(false);
            self.held[lock as usize].clear();
            self.push(thread, Action::Wait { condition, lock: Lock(lock) });
            return;
        };
        let how = if notified { Waking::Notified } else { Waking::TimedOut };
        self.held[lock as usize].push((thread, LockMode::Exclusive));
        self.push(thread, Action::Woken { condition, lock: Lock(lock), how });
    }

    fn notify(&mut self, thread: u32, all: bool) {
        let waiting: Vec<usize> = (0..self.rows.len()).filter(|&at| self.rows[at].waits == Some(false)).collect();
        let chosen = if all { waiting } else { self.random.pick(&waiting).copied().into_iter().collect() };
        chosen.into_iter().for_each(|at| self.rows[at].waits = Some(true));
        self.push(thread, Action::Notify { condition: Condition(0), all });
    }

    fn meet(&mut self, thread: u32) {
        let (barrier, me) = (Barrier(0), thread as usize);
        let Some(round) = self.rows[me].round.take() else {
            self.rows[me].at -= 1;
            self.rows[me].round = Some(self.arrivals / PARTY);
            self.arrivals += 1;
            self.push(thread, Action::Arrive { barrier, count: PARTY });
            return;
        };
        self.left.resize(self.left.len().max(round as usize + 1), (0, 0));
        let (serials, others) = &mut self.left[round as usize];
        let serial = *serials == 0 && (*others + 1 == PARTY || self.random.percent(50));
        *(if serial { serials } else { others }) += 1;
        self.push(thread, Action::Leave { barrier, serial });
    }
}

fn access(reads: Vec<(Cell, Val)>, writes: Vec<(Cell, Val)>) -> Action {
    Action::Access(Access { kind: AccessKind::Plain, order: MemoryOrder::Relaxed, reads, writes })
}

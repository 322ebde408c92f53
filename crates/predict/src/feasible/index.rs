//! What the engine looks up again and again in one history: made once, used by every question about it.

use reweave_model::LockMode;

use crate::history::*;
use crate::linear::{FastMap, FastSet};

/// A wait: where it begins, and where it ends if it does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WaitSpan {
    pub wait: Pos,
    pub woken: Option<Pos>,
}

pub struct Index<'h> {
    pub(super) history: &'h History,
    /// The place of each event in its thread.
    pub(super) place: Vec<u32>,
    /// What must come before each event besides its thread's events: `after`, and the arrivals of a barrier's round.
    pub(super) needs: Vec<Vec<Pos>>,
    /// For each acquisition (or waking): the release (or wait) that ends it.
    pub(super) release: FastMap<Pos, Pos>,
    pub(super) acquires: Vec<Vec<(Pos, LockMode)>>,
    /// All writers of each cell, and those of each value.
    pub(super) writers: Vec<Vec<Pos>>,
    pub(super) writers_of: FastMap<(Cell, Val), Vec<Pos>>,
    pub(super) notifies: Vec<Vec<Pos>>,
    pub(super) waits: Vec<Vec<WaitSpan>>,
    /// The wait that a waking ends.
    pub(super) wait_of: FastMap<Pos, Pos>,
    pub(super) posts: Vec<Vec<Pos>>,
    pub(super) takes: Vec<Vec<Pos>>,
    /// Barriers whose rounds are not fixed, because more or fewer threads than it counts use them.
    pub(super) loose_barriers: FastSet<Barrier>,
    /// All events of each barrier.
    pub(super) barrier_events: Vec<Vec<Pos>>,
}

impl<'h> Index<'h> {
    pub fn new(history: &'h History) -> Self {
        let cells = history.initial.len();
        let mut index = Self {
            history,
            place: vec![0; history.steps.len()],
            needs: history.steps.iter().map(|step| step.after.clone()).collect(),
            release: FastMap::default(),
            acquires: vec![Vec::new(); history.locks as usize],
            writers: vec![Vec::new(); cells],
            writers_of: FastMap::default(),
            notifies: vec![Vec::new(); history.conditions as usize],
            waits: vec![Vec::new(); history.conditions as usize],
            wait_of: FastMap::default(),
            posts: vec![Vec::new(); history.semaphores.len()],
            takes: vec![Vec::new(); history.semaphores.len()],
            loose_barriers: FastSet::default(),
            barrier_events: vec![Vec::new(); history.barriers as usize],
        };
        for events in &history.threads {
            index.thread(events);
        }
        // By thread so far: in observed order is what everybody expects.
        index.acquires.iter_mut().for_each(|all| all.sort_unstable_by_key(|(pos, _)| *pos));
        let lists = index.writers.iter_mut().chain(index.writers_of.values_mut());
        let lists = lists.chain(&mut index.notifies).chain(&mut index.posts).chain(&mut index.takes);
        lists.chain(&mut index.barrier_events).for_each(|all| all.sort_unstable());
        index.barriers();
        index
    }

    /// What must come before an event in every reordering, besides its thread's events.
    pub fn needs(&self, pos: Pos) -> &[Pos] {
        &self.needs[pos.index()]
    }

    pub(super) fn step(&self, pos: Pos) -> &'h Step {
        self.history.step(pos)
    }

    fn thread(&mut self, events: &[Pos]) {
        let mut open: FastMap<Lock, Pos> = FastMap::default();
        let mut waiting: Option<(Condition, Pos)> = None;
        for (place, &pos) in events.iter().enumerate() {
            self.place[pos.index()] = place as u32;
            match &self.history.step(pos).action {
                Action::Access(access) => {
                    for &(cell, value) in &access.writes {
                        self.writers[cell.index()].push(pos);
                        self.writers_of.entry((cell, value)).or_default().push(pos);
                    }
                }
                Action::Acquire { lock, mode } => {
                    open.insert(*lock, pos);
                    self.acquires[lock.index()].push((pos, *mode));
                }
                Action::Release { lock, .. } => {
                    open.remove(lock).and_then(|acquire| self.release.insert(acquire, pos));
                }
                Action::Wait { condition, lock } => {
                    open.remove(lock).and_then(|acquire| self.release.insert(acquire, pos));
                    self.waits[condition.index()].push(WaitSpan { wait: pos, woken: None });
                    waiting = Some((*condition, pos));
                }
                Action::Woken { condition, lock, .. } => {
                    open.insert(*lock, pos);
                    self.acquires[lock.index()].push((pos, LockMode::Exclusive));
                    if let Some((_, wait)) = waiting.take() {
                        self.wait_of.insert(pos, wait);
                        let spans = &mut self.waits[condition.index()];
                        if let Some(span) = spans.iter_mut().find(|span| span.wait == wait) {
                            span.woken = Some(pos);
                        }
                    }
                }
                Action::Notify { condition, .. } => self.notifies[condition.index()].push(pos),
                Action::Arrive { barrier, .. } | Action::Leave { barrier, .. } => {
                    self.barrier_events[barrier.index()].push(pos);
                }
                Action::Post { semaphore } => self.posts[semaphore.index()].push(pos),
                Action::Take { semaphore } => self.takes[semaphore.index()].push(pos),
                _ => {}
            }
        }
    }

    /// If exactly as many threads use a barrier as it counts, the n-th round has the n-th arrival of each of them.
    fn barriers(&mut self) {
        for barrier in 0..self.history.barriers {
            let mut arrivals: FastMap<Thread, Vec<Pos>> = FastMap::default();
            let mut counts = FastSet::default();
            let mut leaves = Vec::new();
            for &pos in &self.barrier_events[barrier as usize] {
                let step = self.history.step(pos);
                match step.action {
                    Action::Arrive { count, .. } => {
                        arrivals.entry(step.thread).or_default().push(pos);
                        counts.insert(count);
                    }
                    _ => leaves.push((step.thread, pos)),
                }
            }
            if counts.len() != 1 || !counts.contains(&(arrivals.len() as u32)) {
                self.loose_barriers.insert(Barrier(barrier));
                continue;
            }
            let mut left: FastMap<Thread, usize> = FastMap::default();
            for (thread, leave) in leaves {
                let round = left.entry(thread).or_default();
                for (other, arrivals) in &arrivals {
                    if *other != thread
                        && let Some(&arrival) = arrivals.get(*round)
                    {
                        self.needs[leave.index()].push(arrival);
                    }
                }
                *round += 1;
            }
        }
    }
}

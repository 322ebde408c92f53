//! Who depends on whom, looked up for candidates of cycles.

use std::collections::HashMap;

use reweave_model::LockMode;

use crate::history::*;

/// Accesses of one thread to one cell, by place in the thread. invariant: ascending
#[derive(Default)]
struct Accesses {
    all: Vec<u32>,
    writes: Vec<u32>,
}

/// Places in a thread where a lock is given up. invariant: ascending
#[derive(Default)]
struct Releases {
    all: Vec<u32>,
    exclusive: Vec<u32>,
}

pub(super) struct Depend<'h> {
    history: &'h History,
    /// The place of each event in its thread.
    pub place: Vec<u32>,
    accesses: HashMap<(Thread, Cell), Accesses>,
    releases: HashMap<(Thread, Lock), Releases>,
    /// Events by what others can depend on, in observed order: who reads or writes a cell, who gets a lock, who comes
    /// after.
    pub readers: Vec<Vec<Pos>>,
    pub writers: Vec<Vec<Pos>>,
    pub acquires: Vec<Vec<(Pos, LockMode)>>,
    pub followers: HashMap<Pos, Vec<Pos>>,
}

/// The first of an ascending list that is not below `from`.
fn first(list: &[u32], from: u32) -> Option<u32> {
    list.get(list.partition_point(|&place| place < from)).copied()
}

impl<'h> Depend<'h> {
    pub fn new(history: &'h History) -> Self {
        let mut depend = Self {
            history,
            place: vec![0; history.steps.len()],
            accesses: HashMap::new(),
            releases: HashMap::new(),
            readers: vec![Vec::new(); history.initial.len()],
            writers: vec![Vec::new(); history.initial.len()],
            acquires: vec![Vec::new(); history.locks as usize],
            followers: HashMap::new(),
        };
        for events in &history.threads {
            for (place, &pos) in events.iter().enumerate() {
                depend.place[pos.index()] = place as u32;
            }
        }
        for pos in history.positions() {
            depend.event(pos);
        }
        depend
    }

    fn event(&mut self, pos: Pos) {
        let history = self.history;
        let step = history.step(pos);
        let place = self.place[pos.index()];
        for &before in &step.after {
            self.followers.entry(before).or_default().push(pos);
        }
        match &step.action {
            Action::Access(access) => {
                for &(cell, _) in &access.reads {
                    self.readers[cell.index()].push(pos);
                    self.accesses.entry((step.thread, cell)).or_default().all.push(place);
                }
                for &(cell, _) in &access.writes {
                    self.writers[cell.index()].push(pos);
                    let places = self.accesses.entry((step.thread, cell)).or_default();
                    places.writes.push(place);
                    if places.all.last() != Some(&place) {
                        places.all.push(place);
                    }
                }
            }
            &Action::Acquire { lock, mode } => self.acquires[lock.index()].push((pos, mode)),
            &Action::Woken { lock, .. } => self.acquires[lock.index()].push((pos, LockMode::Exclusive)),
            &Action::Release { lock, mode } => self.release(step.thread, lock, mode, place),
            &Action::Wait { lock, .. } => self.release(step.thread, lock, LockMode::Exclusive, place),
            _ => {}
        }
    }

    fn release(&mut self, thread: Thread, lock: Lock, mode: LockMode, place: u32) {
        let places = self.releases.entry((thread, lock)).or_default();
        places.all.push(place);
        if mode == LockMode::Exclusive {
            places.exclusive.push(place);
        }
    }

    /// The first event of `thread`, from this place on, that `later`, of another thread, depends on if it comes after
    /// it.
    pub fn first_before(&self, thread: Thread, from: u32, later: Pos) -> Option<Pos> {
        let step = self.history.step(later);
        let mut best: Option<u32> = None;
        let mut offer = |place: Option<u32>| best = best.into_iter().chain(place).min();
        let released = |lock: Lock, mode: LockMode| {
            let places = self.releases.get(&(thread, lock))?;
            first(if mode == LockMode::Exclusive { &places.all } else { &places.exclusive }, from)
        };
        match &step.action {
            Action::Access(access) => {
                for (cells, writes) in [(&access.reads, false), (&access.writes, true)] {
                    for &(cell, _) in cells {
                        let places = self.accesses.get(&(thread, cell));
                        offer(places.and_then(|p| first(if writes { &p.all } else { &p.writes }, from)));
                    }
                }
            }
            &Action::Acquire { lock, mode } => offer(released(lock, mode)),
            &Action::Woken { lock, .. } => offer(released(lock, LockMode::Exclusive)),
            _ => {}
        }
        let after = step.after.iter().filter(|before| self.history.step(**before).thread == thread);
        offer(after.map(|before| self.place[before.index()]).filter(|&place| place >= from).min());
        best.map(|place| self.history.threads[thread.index()][place as usize])
    }

    /// Events that depend on this one if they come after it: each once, in observed order.
    pub fn later(&self, pos: Pos) -> Vec<Pos> {
        let step = self.history.step(pos);
        let mut found: Vec<Pos> = Vec::new();
        match &step.action {
            Action::Access(access) => {
                for &(cell, _) in &access.reads {
                    found.extend(&self.writers[cell.index()]);
                }
                for &(cell, _) in &access.writes {
                    found.extend(self.readers[cell.index()].iter().chain(&self.writers[cell.index()]));
                }
            }
            &Action::Release { lock, mode } => found.extend(self.takers(lock, mode)),
            &Action::Wait { lock, .. } => found.extend(self.takers(lock, LockMode::Exclusive)),
            _ => {}
        }
        found.extend(self.followers.get(&pos).into_iter().flatten());
        found.retain(|&other| self.history.step(other).thread != step.thread);
        found.sort_unstable();
        found.dedup();
        found
    }

    fn takers(&self, lock: Lock, mode: LockMode) -> impl Iterator<Item = &Pos> {
        let excluded =
            move |(_, other): &&(Pos, LockMode)| mode == LockMode::Exclusive || *other == LockMode::Exclusive;
        self.acquires[lock.index()].iter().filter(excluded).map(|(pos, _)| pos)
    }
}

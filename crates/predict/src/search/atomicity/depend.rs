//! Who depends on whom, looked up for candidates of cycles.

use reweave_model::LockMode;

use crate::history::*;
use crate::linear::FastMap;

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
    accesses: FastMap<(Thread, Cell), Accesses>,
    releases: FastMap<(Thread, Lock), Releases>,
    /// Events by what others can depend on, in observed order: who uses or writes a cell, who gets a lock (at all, or
    /// alone), who comes after.
    users: Vec<Vec<Pos>>,
    writers: Vec<Vec<Pos>>,
    acquires: Vec<Vec<Pos>>,
    exclusive: Vec<Vec<Pos>>,
    followers: FastMap<Pos, Vec<Pos>>,
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
            accesses: FastMap::default(),
            releases: FastMap::default(),
            users: vec![Vec::new(); history.initial.len()],
            writers: vec![Vec::new(); history.initial.len()],
            acquires: vec![Vec::new(); history.locks as usize],
            exclusive: vec![Vec::new(); history.locks as usize],
            followers: FastMap::default(),
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
                    self.users[cell.index()].push(pos);
                    self.accesses.entry((step.thread, cell)).or_default().all.push(place);
                }
                for &(cell, _) in &access.writes {
                    self.writers[cell.index()].push(pos);
                    let places = self.accesses.entry((step.thread, cell)).or_default();
                    places.writes.push(place);
                    if places.all.last() != Some(&place) {
                        places.all.push(place);
                        self.users[cell.index()].push(pos);
                    }
                }
            }
            &Action::Acquire { lock, mode } => self.acquire(lock, mode, pos),
            &Action::Woken { lock, .. } => self.acquire(lock, LockMode::Exclusive, pos),
            &Action::Release { lock, mode } => self.release(step.thread, lock, mode, place),
            &Action::Wait { lock, .. } => self.release(step.thread, lock, LockMode::Exclusive, place),
            _ => {}
        }
    }

    fn acquire(&mut self, lock: Lock, mode: LockMode, pos: Pos) {
        self.acquires[lock.index()].push(pos);
        if mode == LockMode::Exclusive {
            self.exclusive[lock.index()].push(pos);
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

    /// Events of other threads that depend on this one if they come after it: each once, the `most` nearest ones in
    /// observed order. The second result says that there are more.
    pub fn later(&self, pos: Pos, most: usize) -> (Vec<Pos>, bool) {
        let step = self.history.step(pos);
        let mut near = Nearest { to: pos, most, found: Vec::new(), more: false };
        let others = |other: Pos| self.history.step(other).thread != step.thread;
        match &step.action {
            Action::Access(access) => {
                access.reads.iter().for_each(|(cell, _)| near.add(&self.writers[cell.index()], others));
                access.writes.iter().for_each(|(cell, _)| near.add(&self.users[cell.index()], others));
            }
            &Action::Release { lock, mode } => near.add(self.takers(lock, mode), others),
            &Action::Wait { lock, .. } => near.add(self.takers(lock, LockMode::Exclusive), others),
            _ => {}
        }
        near.add(self.followers.get(&pos).map_or(&[], Vec::as_slice), others);
        near.all()
    }

    fn takers(&self, lock: Lock, mode: LockMode) -> &[Pos] {
        let all = if mode == LockMode::Exclusive { &self.acquires } else { &self.exclusive };
        &all[lock.index()]
    }
}

/// Collects those nearest to an event from ascending lists.
struct Nearest {
    to: Pos,
    most: usize,
    found: Vec<Pos>,
    more: bool,
}

impl Nearest {
    fn add(&mut self, list: &[Pos], counts: impl Fn(Pos) -> bool) {
        let (mut before, mut after) = (list.partition_point(|&pos| pos < self.to), 0);
        let later = &list[before..];
        let mut left = self.most;
        loop {
            let back = before.checked_sub(1).map(|at| list[at]);
            let forth = later.get(after).copied();
            let next = match (back, forth) {
                (None, None) => return,
                // Of two that are as near, the earlier one.
                (Some(back), Some(forth)) if self.to.0 - back.0 > forth.0 - self.to.0 => Err(forth),
                (Some(back), _) => Ok(back),
                (None, Some(forth)) => Err(forth),
            };
            match next {
                Ok(_) => before -= 1,
                Err(_) => after += 1,
            }
            let (Ok(pos) | Err(pos)) = next;
            if counts(pos) {
                if left == 0 {
                    self.more = true;
                    return;
                }
                left -= 1;
                self.found.push(pos);
            }
        }
    }

    /// In observed order, if that is all there are; otherwise the nearest first.
    fn all(mut self) -> (Vec<Pos>, bool) {
        self.found.sort_unstable();
        self.found.dedup();
        let more = self.more || self.found.len() > self.most;
        if more {
            let to = self.to;
            self.found.sort_by_key(|pos| pos.0.abs_diff(to.0));
            self.found.truncate(self.most);
        }
        (self.found, more)
    }
}

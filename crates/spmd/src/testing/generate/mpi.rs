//! What ranks of MPI programs do: operations, epochs, locks.

use crate::event::{Event, Through};
use crate::ids::{Rank, Request, Window};

use super::{Maker, RankState};

impl Maker {
    pub(super) fn mpi_step(&mut self) {
        let rank = self.rank();
        // A collective that somebody is inside is left soon.
        if !self.states[rank].inside.is_empty() && self.random.percent(60) {
            return self.leave(rank);
        }
        match self.random.below(100) {
            0..=24 => self.local(rank),
            25..=54 => self.mpi_operation(rank),
            55..=74 => self.epoch_step(rank),
            75..=79 => self.threads(rank),
            _ => self.order_step(rank),
        }
    }

    fn mpi_operation(&mut self, rank: usize) {
        let state = &self.states[rank];
        let target = match (&state.started, &state.locks[..], state.all.is_empty()) {
            (Some((_, targets)), _, _) => targets[self.random.below(targets.len())].0 as usize,
            (None, [], _) => self.rank(),
            (None, locks, _) => locks[self.random.below(locks.len())].1.0 as usize,
        };
        let window = self.window();
        let request = self.random.percent(20).then(|| Request(self.name()));
        self.states[rank].requests.extend(request);
        self.operation(rank, target, Through::Window { window, request });
    }

    fn epoch_step(&mut self, rank: usize) {
        let window = self.window();
        let strand = self.strand(rank);
        let free = |state: &RankState| {
            state.locks.is_empty() && state.all.is_empty() && state.started.is_none() && state.posted.is_none()
        };
        let state = self.states[rank].clone();
        match self.random.below(9) {
            0 if self.states.iter().all(free) => {
                let no_precede = self.random.percent(15);
                for rank in 0..self.ranks {
                    let members = self.ranks as u32;
                    self.log(rank, 0, Event::Fence { window, no_precede, members });
                }
                for rank in 0..self.ranks {
                    self.log(rank, 0, Event::FenceDone { window });
                }
            }
            1 if free(&state) => {
                let target = Rank(self.rank() as u32);
                self.states[rank].locks.push((window, target));
                let exclusive = self.random.percent(60);
                self.log(rank, strand, Event::Lock { window, target, exclusive });
            }
            2 if free(&state) => {
                self.states[rank].all.push(window);
                self.log(rank, strand, Event::LockAll { window });
            }
            3 | 4 => {
                if let Some((window, target)) = self.states[rank].locks.pop() {
                    self.log(rank, strand, Event::Unlock { window, target });
                } else if let Some(window) = self.states[rank].all.pop() {
                    self.log(rank, strand, Event::UnlockAll { window });
                }
            }
            5 if !state.locks.is_empty() || !state.all.is_empty() => {
                let target = self.random.percent(50).then(|| Rank(self.rank() as u32));
                let local = self.random.percent(40);
                self.log(rank, strand, Event::Flush { window, target, local });
            }
            6 if free(&state) => self.exposure(rank, window),
            7 => self.close_exposure(rank),
            _ => {
                if !state.requests.is_empty() {
                    let request = state.requests[0];
                    self.states[rank].requests.remove(0);
                    self.log(rank, strand, Event::RequestDone { request });
                }
            }
        }
    }

    fn exposure(&mut self, target: usize, window: Window) {
        let free = |state: &RankState| state.locks.is_empty() && state.all.is_empty() && state.started.is_none();
        let origins: Vec<usize> = (0..self.ranks).filter(|&rank| rank != target && free(&self.states[rank])).collect();
        if origins.is_empty() {
            return;
        }
        let chosen = if self.random.percent(30) { origins } else { vec![*self.random.pick(&origins)] };
        let ranks: Vec<Rank> = chosen.iter().map(|&origin| Rank(origin as u32)).collect();
        self.states[target].posted = Some((window, ranks.clone(), chosen.len()));
        let post = Event::Post { window, origins: ranks };
        let early = self.random.percent(50);
        if early {
            self.log(target, 0, post.clone());
        }
        for &origin in &chosen {
            let targets = vec![Rank(target as u32)];
            self.states[origin].started = Some((window, targets.clone()));
            self.log(origin, 0, Event::Start { window, targets });
        }
        if !early {
            self.log(target, 0, post);
        }
    }

    fn close_exposure(&mut self, rank: usize) {
        if let Some((window, targets)) = self.states[rank].started.take() {
            self.log(rank, 0, Event::Complete { window });
            self.completed.extend(targets.iter().map(|target| (window, rank, target.0 as usize)));
            return;
        }
        let Some((window, origins, _)) = self.states[rank].posted.clone() else { return };
        let done = |origin: &Rank| self.completed.contains(&(window, origin.0 as usize, rank));
        if origins.iter().all(done) {
            self.completed.retain(|(_, _, target)| *target != rank);
            self.states[rank].posted = None;
            self.log(rank, 0, Event::Waited { window });
        }
    }
}

//! The strands of one rank: their moments, their mutexes, and the order among them.
//!
//! The order inside a rank is needed at once (a completing call ends only what was issued before it),
//! so it is kept beside the log that goes into [`crate::order::Order`].

use std::collections::HashMap;

use crate::access::{Held, LockName};
use crate::ids::{Moment, Object, Rank, Strand};
use crate::order::{Channel, Sync};

pub(super) struct Threads {
    rank: Rank,
    strands: Vec<State>,
    objects: HashMap<Object, Vec<Released>>,
    releases: u32,
}

#[derive(Default)]
struct State {
    events: u32,
    /// The last moment of each other strand that comes before.
    clock: Vec<u32>,
    mutexes: Vec<Object>,
}

/// The last release of a strand on an object; an earlier one of the same strand says less.
struct Released {
    strand: u32,
    number: u32,
    clock: Vec<u32>,
}

impl Threads {
    pub(super) fn new(rank: Rank) -> Threads {
        Threads { rank, strands: Vec::new(), objects: HashMap::new(), releases: 0 }
    }

    fn state(&mut self, strand: u32) -> &mut State {
        let needed = strand as usize + 1;
        if self.strands.len() < needed {
            self.strands.resize_with(needed, State::default);
        }
        &mut self.strands[strand as usize]
    }

    /// The moment of the strand's next event.
    pub(super) fn step(&mut self, strand: u32) -> Moment {
        let state = self.state(strand);
        state.events += 1;
        let at = 2 * state.events;
        Moment { strand: super::strand(self.rank, strand), at }
    }

    /// The moment of a load or store.
    pub(super) fn between(&mut self, strand: u32) -> Moment {
        let at = 2 * self.state(strand).events + 1;
        Moment { strand: super::strand(self.rank, strand), at }
    }

    /// Does `first` come before `second`, which is where its strand stands now?
    pub(super) fn before_now(&self, first: Moment, second: Moment) -> bool {
        if first.strand == second.strand {
            return first.at <= second.at;
        }
        let clock = &self.strands[second.strand.number as usize].clock;
        clock.get(first.strand.number as usize).is_some_and(|&known| known >= first.at)
    }

    pub(super) fn release(&mut self, moment: Moment, object: Object) -> Sync {
        let strand = moment.strand.number;
        self.releases += 1;
        let number = self.releases;
        let mut clock = self.state(strand).clock.clone();
        raise(&mut clock, strand, moment.at);
        let released = self.objects.entry(object).or_default();
        released.retain(|earlier| earlier.strand != strand);
        released.push(Released { strand, number, clock });
        Sync { moment, brings: vec![Channel::Inside(self.rank, number)], awaits: Vec::new(), voids: None }
    }

    pub(super) fn acquire(&mut self, moment: Moment, object: Object) -> Sync {
        let mut awaits = Vec::new();
        self.state(moment.strand.number);
        if let Some(released) = self.objects.get(&object) {
            let clock = &mut self.strands[moment.strand.number as usize].clock;
            for release in released {
                awaits.push((Channel::Inside(self.rank, release.number), 1));
                for (strand, &at) in release.clock.iter().enumerate() {
                    raise(clock, strand as u32, at);
                }
            }
        }
        Sync { moment, brings: Vec::new(), awaits, voids: None }
    }

    pub(super) fn lock(&mut self, strand: u32, mutex: Object) {
        self.state(strand).mutexes.push(mutex);
    }

    pub(super) fn unlock(&mut self, strand: u32, mutex: Object) {
        let mutexes = &mut self.state(strand).mutexes;
        if let Some(held) = mutexes.iter().rposition(|held| *held == mutex) {
            mutexes.remove(held);
        }
    }

    pub(super) fn mutexes(&self, strand: Strand) -> Vec<Held> {
        let Some(state) = self.strands.get(strand.number as usize) else { return Vec::new() };
        let name = |mutex: &Object| Held { lock: LockName::Mutex(self.rank, mutex.0), exclusive: true };
        let mut held: Vec<Held> = state.mutexes.iter().map(name).collect();
        held.sort_unstable();
        held.dedup();
        held
    }
}

fn raise(clock: &mut Vec<u32>, strand: u32, at: u32) {
    let strand = strand as usize;
    if clock.len() <= strand {
        clock.resize(strand + 1, 0);
    }
    clock[strand] = clock[strand].max(at);
}

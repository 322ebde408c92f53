//! Candidates: what analyses return. Races are pairs of accesses, one for each pair of code positions.

use std::collections::hash_map::Entry;

use reweave_model::{EventId, Misuse, Pc};

use super::hash::FastMap;

/// A pair of conflicting accesses; what it is worth depends on the analysis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Candidate {
    /// The earlier one in the trace.
    pub first: EventId,
    pub second: EventId,
    pub first_pc: Pc,
    pub second_pc: Pc,
}

/// How two threads come to two accesses, by the events that matter: what lies between them goes with its thread, in the
/// observed order as far as these events allow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Way {
    pub before: Before,
    /// Events of the two threads, in order.
    pub steps: Vec<EventId>,
    /// The accesses, the earlier one in the trace first.
    pub last: (EventId, EventId),
}

/// What happens first, in the observed order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Before {
    /// Everything up to this event.
    Everything(EventId),
    /// What threads did up to an event. A thread is known by the event that forked it; without one it is the first
    /// thread.
    Of(Vec<(Option<EventId>, EventId)>),
}

/// Requests for locks, each for one that the thread of the next (of the last: the first) holds.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cycle {
    /// An acquisition, the end of a wait, or the last thing its thread did: being blocked.
    pub requests: Vec<EventId>,
    /// 0 where it is not known.
    pub pcs: Vec<Pc>,
}

impl Cycle {
    /// What cycles at the same places have in common.
    pub fn sorted_pcs(&self) -> Vec<Pc> {
        let mut pcs = self.pcs.clone();
        pcs.sort_unstable();
        pcs
    }
}

/// Something that is wrong wherever it happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misused {
    pub event: EventId,
    pub pc: Pc,
    /// `None`: a thread is created that ends, and is neither joined nor detached.
    pub what: Option<Misuse>,
    /// Of such threads: there are more and more of them.
    pub grows: bool,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Candidates {
    /// In order of the second access, then of the first; no two have the same pair of code positions, in either order.
    pub pairs: Vec<Candidate>,
    /// In the order in which they were found complete.
    pub cycles: Vec<Cycle>,
    pub misuses: Vec<Misused>,
    /// Pairs that an analysis inside this one lists and this one refutes.
    pub refuted: Vec<Candidate>,
    /// What may be missing: pairs found or accesses forgotten beyond the limits.
    pub dropped: u64,
}

impl Candidates {
    pub fn add(&mut self, other: Self) {
        let Self { pairs, cycles, misuses, refuted, dropped } = other;
        self.pairs.extend(pairs);
        self.cycles.extend(cycles);
        self.misuses.extend(misuses);
        self.refuted.extend(refuted);
        self.dropped += dropped;
    }

    /// The unordered pairs of code positions, ascending.
    pub fn pcs(&self) -> Vec<(Pc, Pc)> {
        let ordered = |c: &Candidate| (c.first_pc.min(c.second_pc), c.first_pc.max(c.second_pc));
        let mut pcs: Vec<_> = self.pairs.iter().map(ordered).collect();
        pcs.sort_unstable();
        pcs.dedup();
        pcs
    }
}

/// A code position, densely numbered.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PcId(pub u32);

/// Numbers code positions, and collects pairs of them.
pub struct Pcs {
    ids: FastMap<u64, PcId>,
    all: Vec<Pc>,
    /// The numbers of positions used lately, by the low bits of the position; `all` tells whether it is that one.
    recent: Box<[PcId; RECENT_PCS]>,
    /// The first events of each pair, smaller position first.
    pairs: FastMap<(u32, u32), (EventId, EventId)>,
    /// Pairs that [`Pcs::news`] has not told yet.
    fresh: Vec<(u32, u32)>,
    /// Pairs seen lately: a program that races there races there again and again.
    seen: Box<[(u32, u32); RECENT]>,
    limit: usize,
    pub dropped: u64,
}

const RECENT: usize = 1024;
const RECENT_PCS: usize = 4096;
/// Pairs beyond this are counted, not kept: where any two of hundreds of places race, a part of them shows it.
const LIMIT: usize = 1 << 16;

impl Default for Pcs {
    fn default() -> Self {
        Self {
            ids: FastMap::default(),
            all: Vec::new(),
            recent: Box::new([PcId(0); RECENT_PCS]),
            pairs: FastMap::default(),
            fresh: Vec::new(),
            seen: Box::new([(u32::MAX, u32::MAX); RECENT]),
            limit: LIMIT,
            dropped: 0,
        }
    }
}

impl Pcs {
    #[inline]
    pub fn id(&mut self, pc: Pc) -> PcId {
        let recent = &mut self.recent[recent_place(pc)];
        if self.all.get(recent.0 as usize) == Some(&pc) {
            return *recent;
        }
        let all = &mut self.all;
        let id = *self.ids.entry(pc.0).or_insert_with(|| {
            all.push(pc);
            PcId(all.len() as u32 - 1)
        });
        *recent = id;
        id
    }

    /// The number of a position that was used lately, if it is at hand.
    #[inline]
    pub fn recent(&self, pc: Pc) -> Option<PcId> {
        let recent = self.recent[recent_place(pc)];
        (self.all.get(recent.0 as usize) == Some(&pc)).then_some(recent)
    }

    #[inline]
    pub fn has(&self, one: PcId, two: PcId) -> bool {
        let key = (one.0.min(two.0), one.0.max(two.0));
        self.seen[place(key)] == key || self.pairs.contains_key(&key)
    }

    /// Takes a pair; only the first one for its code positions is kept. Returns whether this is it.
    #[inline]
    pub fn add(&mut self, first: (EventId, PcId), second: (EventId, PcId)) -> bool {
        let key = (first.1.0.min(second.1.0), first.1.0.max(second.1.0));
        let seen = &mut self.seen[place(key)];
        if *seen == key {
            return false;
        }
        if self.pairs.len() >= self.limit && !self.pairs.contains_key(&key) {
            self.dropped += 1;
            return false;
        }
        *seen = key;
        let (one, two) = if first.1.0 == key.0 { (first.0, second.0) } else { (second.0, first.0) };
        let Entry::Vacant(place) = self.pairs.entry(key) else { return false };
        place.insert((one, two));
        self.fresh.push(key);
        true
    }

    /// Forgets that there was such a pair: the next one counts as the first.
    pub fn forget(&mut self, one: PcId, two: PcId) {
        let key = (one.0.min(two.0), one.0.max(two.0));
        self.pairs.remove(&key);
        self.fresh.retain(|fresh| *fresh != key);
        let seen = &mut self.seen[place(key)];
        if *seen == key {
            *seen = (u32::MAX, u32::MAX);
        }
    }

    /// The number of a position that has one.
    pub fn known(&self, pc: Pc) -> Option<PcId> {
        self.ids.get(&pc.0).copied()
    }

    pub fn pc(&self, id: PcId) -> Pc {
        self.all[id.0 as usize]
    }

    fn candidate(&self, (one, two): (u32, u32), (a, b): (EventId, EventId)) -> Candidate {
        let (one, two) = (self.all[one as usize], self.all[two as usize]);
        let (first, second, first_pc, second_pc) = if a <= b { (a, b, one, two) } else { (b, a, two, one) };
        Candidate { first, second, first_pc, second_pc }
    }

    /// The pairs that came since this was last asked.
    pub fn news(&mut self) -> Candidates {
        let fresh = std::mem::take(&mut self.fresh);
        let pairs = fresh.iter().filter_map(|key| Some(self.candidate(*key, *self.pairs.get(key)?))).collect();
        Candidates { pairs, ..Candidates::default() }
    }

    pub fn finish(&mut self) -> Candidates {
        let pairs = std::mem::take(&mut self.pairs);
        let mut pairs: Vec<_> = pairs.iter().map(|(key, events)| self.candidate(*key, *events)).collect();
        pairs.sort_unstable_by_key(|c| (c.second, c.first, c.first_pc, c.second_pc));
        Candidates { pairs, dropped: self.dropped, ..Candidates::default() }
    }
}

#[inline]
fn recent_place(pc: Pc) -> usize {
    (pc.0 ^ pc.0 >> 12) as usize % RECENT_PCS
}

#[inline]
fn place(key: (u32, u32)) -> usize {
    (key.0.wrapping_mul(0x9e37_79b9) ^ key.1).wrapping_mul(0x85eb_ca6b) as usize >> 10 & (RECENT - 1)
}

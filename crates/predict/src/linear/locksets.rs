//! Sets of held locks, numbered, and which of them exclude each other.

use reweave_model::LockMode;

use super::hash::FastMap;
use super::order::at;
use super::{Gone, Lock, Sync, Thread};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct LocksetId(pub u32);

/// A held lock: twice its number, and one more if shared.
type Held = u32;

pub struct Locksets {
    /// invariant: ascending; number 0 is the empty set
    sets: Vec<Vec<Held>>,
    ids: FastMap<Vec<Held>, LocksetId>,
    /// From a set and a change (a held lock, and one bit whether it goes) to the set after it.
    steps: FastMap<(u32, u64), LocksetId>,
    exclusions: FastMap<(u32, u32), bool>,
    /// The same for the first sets, quicker: a row of bits for each, which are known and which exclude each other.
    first: Vec<[u64; 2 * FIRST / 64]>,
    intersections: FastMap<(u32, u32), LocksetId>,
    current: Vec<LocksetId>,
}

impl Default for Locksets {
    fn default() -> Self {
        Self {
            sets: vec![Vec::new()],
            ids: std::iter::once((Vec::new(), LocksetId(0))).collect(),
            steps: FastMap::default(),
            exclusions: FastMap::default(),
            first: Vec::new(),
            intersections: FastMap::default(),
            current: Vec::new(),
        }
    }
}

impl Locksets {
    /// What the thread holds now.
    #[inline]
    pub fn held(&self, thread: Thread) -> LocksetId {
        self.current.get(thread.index()).copied().unwrap_or_default()
    }

    /// The locks of a set.
    pub fn locks(&self, set: LocksetId) -> impl Iterator<Item = (Lock, LockMode)> + '_ {
        let mode = |held: Held| if held & 1 != 0 { LockMode::Shared } else { LockMode::Exclusive };
        self.sets[set.0 as usize].iter().map(move |&held| (Lock(held >> 1), mode(held)))
    }

    pub fn sync(&mut self, thread: Thread, sync: Sync) {
        match sync {
            Sync::Acquire { lock, mode } => self.step(thread, lock, mode, false),
            Sync::Release { lock, mode } => self.step(thread, lock, mode, true),
            _ => {}
        }
    }

    fn step(&mut self, thread: Thread, lock: Lock, mode: LockMode, goes: bool) {
        let held = lock.0 << 1 | u32::from(mode == LockMode::Shared);
        let before = self.held(thread);
        let key = (before.0, u64::from(held) << 1 | u64::from(goes));
        let after = match self.steps.get(&key) {
            Some(&after) => after,
            None => {
                let mut set = self.sets[before.0 as usize].clone();
                match set.binary_search(&held) {
                    Ok(place) if goes => drop(set.remove(place)),
                    Err(place) if !goes => set.insert(place, held),
                    _ => {}
                }
                let after = self.number(set);
                self.steps.insert(key, after);
                after
            }
        };
        *at(&mut self.current, thread.index()) = after;
    }

    fn number(&mut self, set: Vec<Held>) -> LocksetId {
        let next = LocksetId(self.sets.len() as u32);
        let id = *self.ids.entry(set.clone()).or_insert(next);
        if id == next {
            self.sets.push(set);
        }
        id
    }

    /// What is in both sets.
    pub fn common(&mut self, one: LocksetId, two: LocksetId) -> LocksetId {
        if one == two {
            return one;
        }
        let key = (one.0.min(two.0), one.0.max(two.0));
        if let Some(&common) = self.intersections.get(&key) {
            return common;
        }
        let in_both = self.sets[key.0 as usize].iter().filter(|held| self.sets[key.1 as usize].contains(held));
        let common: Vec<Held> = in_both.copied().collect();
        let common = self.number(common);
        self.intersections.insert(key, common);
        common
    }

    /// Whether two threads can never hold these at the same time: a common lock, exclusive on at least one side.
    #[inline]
    pub fn exclude(&mut self, one: LocksetId, two: LocksetId) -> bool {
        if one.0 == 0 || two.0 == 0 {
            return false;
        }
        let key = (one.0.min(two.0), one.0.max(two.0));
        if key.1 < FIRST as u32 {
            return self.exclude_first(key);
        }
        let sets = &self.sets;
        *self.exclusions.entry(key).or_insert_with(|| {
            let clash = |a: &Held, b: &Held| a >> 1 == b >> 1 && a & b & 1 == 0;
            sets[key.0 as usize].iter().any(|a| sets[key.1 as usize].iter().any(|b| clash(a, b)))
        })
    }

    #[inline]
    fn exclude_first(&mut self, (one, two): (u32, u32)) -> bool {
        let (place, bit) = (two as usize / 64, 1 << (two % 64));
        if let Some(row) = self.first.get(one as usize)
            && row[place] & bit != 0
        {
            return row[FIRST / 64 + place] & bit != 0;
        }
        let clash = |a: &Held, b: &Held| a >> 1 == b >> 1 && a & b & 1 == 0;
        let (these, those) = (&self.sets[one as usize], &self.sets[two as usize]);
        let excluded = these.iter().any(|a| those.iter().any(|b| clash(a, b)));
        if self.first.len() <= one as usize {
            self.first.resize(one as usize + 1, [0; 2 * FIRST / 64]);
        }
        let row = &mut self.first[one as usize];
        row[place] |= bit;
        row[FIRST / 64 + place] |= if excluded { bit } else { 0 };
        excluded
    }
}

/// Sets that a table is worth its place for.
const FIRST: usize = 1024;

/// Sets without locks that are gone, under new numbers. A lock nobody will ever take again excludes nothing that is
/// still to come, so that a set without it is as good.
pub struct Renumbered {
    sets: Locksets,
    /// From old numbers to new ones, as far as anybody asked.
    ids: Vec<Option<(LocksetId, bool)>>,
    old: Vec<Vec<Held>>,
    gone: Vec<bool>,
}

impl Locksets {
    /// Sets that are not asked for by [`Renumbered::id`] are forgotten.
    pub fn without(self, gone: Gone<'_>) -> Renumbered {
        let ids = vec![None; self.sets.len()];
        let mut renumbered = Renumbered { sets: Self::default(), ids, old: self.sets, gone: gone.0.to_vec() };
        let current = self.current.into_iter().map(|id| renumbered.id(id).0).collect();
        renumbered.sets.current = current;
        renumbered
    }
}

impl Renumbered {
    /// The new number, and whether the set has lost a lock.
    pub fn id(&mut self, old: LocksetId) -> (LocksetId, bool) {
        if let Some(id) = self.ids[old.0 as usize] {
            return id;
        }
        let gone = |held: &Held| self.gone.get((held >> 1) as usize).copied().unwrap_or(false);
        let set: Vec<Held> = self.old[old.0 as usize].iter().copied().filter(|held| !gone(held)).collect();
        let lost = set.len() < self.old[old.0 as usize].len();
        let next = LocksetId(self.sets.sets.len() as u32);
        let id = *self.sets.ids.entry(set.clone()).or_insert(next);
        if id == next {
            self.sets.sets.push(set);
        }
        self.ids[old.0 as usize] = Some((id, lost));
        (id, lost)
    }

    pub fn done(self) -> Locksets {
        self.sets
    }
}

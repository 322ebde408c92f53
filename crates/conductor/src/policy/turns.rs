//! Everybody in turn, for as many steps or writes: loops that do the same are taken through it hand in hand, which
//! chance would hardly do.
//!
//! One thread can be kept from running as long as anything else can happen: others run, deadlines pass, yields count
//! for nothing. So time limits expire that nobody expects to, and whoever must not be late is.
//!
//! Turns may begin only when a crowd has gathered: until so many threads have been made, whoever makes them goes first.
//! Otherwise short threads are over before the next one is there.

use std::collections::{BTreeMap, BTreeSet};

use super::{Candidate, Choice, Next, Policy, Runner, View};

/// Turns of the others after which they are taken to wait for the victim.
const PATIENCE: u32 = 400;
/// Turns of the others before whoever is about to end the process does so: some go round loops until it does.
const LAST: u32 = 20_000;
/// Steps of a turn that is measured in writes.
const READING: u32 = 300;
/// Steps after which a crowd is taken not to come.
const GATHERING: u32 = 20_000;

pub struct Turns {
    /// Steps of a turn, or writes: then it ends behind the last of them.
    length: u32,
    writes: bool,
    victim: Option<u32>,
    /// Turns since the victim last ran.
    waited: u32,
    /// Turns since somebody was about to end the process.
    ending: u32,
    /// What is left of the turn, in writes, and steps so far.
    left: u32,
    steps: u32,
    /// Threads that were stopped right before a write.
    before_write: BTreeSet<u32>,
    /// How many threads there are to be before turns begin, and steps that they may take until then.
    crowd: u32,
    gathering: u32,
    /// Locks that threads hold: a turn does not end inside a critical section, where nobody else could take one.
    held: BTreeMap<u32, u32>,
}

impl Turns {
    pub fn new(length: u32, writes: bool, victim: Option<u32>, crowd: u32) -> Self {
        Self {
            length: length.max(1),
            writes,
            victim,
            waited: 0,
            ending: 0,
            left: 0,
            steps: 0,
            before_write: BTreeSet::new(),
            crowd,
            gathering: GATHERING,
            held: BTreeMap::new(),
        }
    }

    /// Who goes on until the crowd is there.
    fn gather(&mut self, view: &View<'_>) -> Option<Choice> {
        self.gathering = self.gathering.saturating_sub(1);
        // Numbers are given in the order of making.
        if self.gathering == 0 || view.candidates.iter().any(|c| c.id + 1 >= self.crowd) {
            self.gathering = 0;
            return None;
        }
        let first = view.candidates.iter().find(|c| (c.enabled || c.timed) && !c.exiting)?;
        Some(Choice::Run { thread: first.id, steps: 1 })
    }

    fn turn(&mut self, thread: u32) -> Choice {
        // Its first step is not asked about again.
        self.left = self.length - u32::from(self.before_write.remove(&thread));
        self.steps = 0;
        Choice::Run { thread, steps: if self.writes { 1 } else { self.length } }
    }
}

impl Policy for Turns {
    fn pick(&mut self, view: &View<'_>) -> Choice {
        if self.gathering > 0
            && let Some(choice) = self.gather(view)
        {
            return choice;
        }
        // Whoever is about to end the process comes last of all, but not never.
        if let Some(last) = view.enabled().find(|c| c.exiting).map(|c| c.id) {
            self.ending += 1;
            if self.ending > LAST {
                return self.turn(last);
            }
        }
        let is_victim = |c: &&Candidate| Some(c.id) == self.victim && !c.exiting;
        let victim = view.enabled().find(is_victim).map(|c| c.id);
        let others = || view.candidates.iter().filter(|c| !is_victim(c) && !c.exiting);
        let awake = || others().filter(|c| c.enabled && !(view.yielded && c.id == view.current));
        let next = awake().find(|c| c.id > view.current).or_else(|| awake().next());
        let next = next.or_else(|| others().find(|c| c.enabled));
        // Nobody but the victim: a deadline may pass before it is its turn.
        let next = next.or_else(|| others().find(|c| c.timed && victim.is_some())).map(|c| c.id);
        if let Some(next) = next.filter(|_| victim.is_none() || self.waited < PATIENCE) {
            self.waited += u32::from(victim.is_some());
            return self.turn(next);
        }
        self.waited = 0;
        let last = victim.or_else(|| view.enabled().next().map(|c| c.id));
        last.map_or(Choice::Nobody, |last| self.turn(last))
    }

    fn passes(&mut self, who: Runner, next: &Next) -> bool {
        if self.gathering > 0 {
            return false;
        }
        self.steps += 1;
        let counts = next.writes && !next.local;
        if self.writes && self.left == 0 && self.steps <= READING && self.held.contains_key(&who.id) {
            return true;
        }
        // One that only reads waits for somebody.
        if !self.writes || self.left == 0 || self.steps > READING {
            if counts {
                self.before_write.insert(who.id);
            }
            return false;
        }
        self.left -= u32::from(counts);
        true
    }

    fn takes(&mut self, who: Runner, _: u64, _: u64) {
        *self.held.entry(who.id).or_default() += 1;
    }

    fn gives(&mut self, who: Runner, _: u64) {
        if let Some(held) = self.held.get_mut(&who.id) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(&who.id);
            }
        }
    }
}

//! Active testing (Sen, PLDI 2008; Joshi, Park, Sen, Naik, PLDI 2009; Park and Sen, FSE 2008): a random scheduler that pauses
//! threads at chosen code positions until they meet as wanted.
//!
//! A thread that comes to a *target* is paused, others run. When paused threads **meet** (as [`Meeting`] says), they go on
//! one right after the other and from then on everybody runs. No guarantee: it raises probabilities.
//!
//! From the papers: when all enabled threads are paused, one of them is let go (a *thrash*); the probability to pause at a
//! target falls each time that was in vain; a thread can yield at a place ([`YIELDS`]; nobody asks for that yet). Ours: a timeout is
//! let happen before a paused thread is let go, and a thread that is paused for very long is let go, so that one that spins for
//! its sake does not spin for ever.

use super::{Candidate, Choice, Dice, Policy, Random, View};
use crate::shared::Region;
use reweave_model::module_id;
use std::sync::atomic::Ordering;

/// What a thread is about to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Next {
    /// 0: unknown.
    pub pc: u64,
    /// Address or object.
    pub at: u64,
    /// Bytes; 0 for an object.
    pub size: u64,
    pub writes: bool,
}

impl Next {
    pub const UNKNOWN: Self = Self { pc: 0, at: 0, size: 0, writes: false };

    pub const fn access(pc: u64, at: u64, size: u64, writes: bool) -> Self {
        Self { pc, at, size, writes }
    }

    pub const fn object(pc: u64, at: u64) -> Self {
        Self { pc, at, size: 0, writes: false }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.at < other.at + other.size.max(1) && other.at < self.at + self.size.max(1)
    }
}

/// When paused threads meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Meeting {
    /// Two threads at the two places, about to access overlapping bytes, one of them writing. Either goes first.
    Race = 0,
    /// As `Race`, and the one at place 0 goes first.
    InOrder = 1,
    /// One thread at each place. All go.
    Together = 2,
}

impl Meeting {
    const fn from_bits(bits: u32) -> Self {
        match bits {
            0 => Self::Race,
            1 => Self::InOrder,
            _ => Self::Together,
        }
    }
}

/// A thread that comes there yields to all others once, instead of being paused.
pub const YIELDS: u32 = u32::MAX;
/// Places of a meeting.
pub const PLACES: u32 = 32;

/// A code position by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    pub module: u64,
    pub offset: u64,
    /// Which place of the meeting, or [`YIELDS`].
    pub place: u32,
}

/// What the launcher asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    pub meeting: Meeting,
    pub targets: Vec<Target>,
}

impl Wish {
    /// Bytes as [`Wish::read`] takes them.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.extend_from_slice(&(self.meeting as u32).to_le_bytes());
        out.extend_from_slice(&(self.targets.len() as u32).to_le_bytes());
        for target in &self.targets {
            out.extend_from_slice(&target.module.to_le_bytes());
            out.extend_from_slice(&target.offset.to_le_bytes());
            out.extend_from_slice(&u64::from(target.place).to_le_bytes());
        }
        out
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let mut targets = Vec::new();
        for i in 0..word(4)? as usize {
            let at = 8 + i * 24;
            targets.push(Target { module: long(at)?, offset: long(at + 8)?, place: long(at + 16)? as u32 });
        }
        Some(Self { meeting: Meeting::from_bits(word(0)?), targets })
    }
}

/// A thread paused at a target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Paused {
    thread: u32,
    place: u32,
    next: Next,
    /// Decisions since.
    age: u32,
}

/// What a pause in vain does to the probability of the next one there, in percent.
const BACK_OFF: u64 = 90;
/// One in so many steps is a chance for others.
const SWITCH: u64 = 64;
/// Decisions after which a paused thread is let go.
const PATIENCE: u32 = 4000;
/// Timeouts that are let happen rather than let a paused thread go.
const TIMEOUTS: u32 = 100;

pub struct Active {
    region: Region,
    dice: Dice,
    rest: Random,
    wish: Wish,
    /// Targets in the modules that are loaded: where, and which of the wish.
    // invariant: ascending
    places: Vec<(u64, u32)>,
    paused: Vec<Paused>,
    /// Per mille, by place.
    probability: [u64; PLACES as usize],
    /// The thread that has just come to where it yields.
    yielding: Option<u32>,
    /// Threads that have met and go now, last first.
    going: Vec<u32>,
    met: bool,
    timeouts: u32,
}

impl Active {
    /// `wish`: as encoded by the launcher.
    pub fn new(region: Region, wish: &[u8]) -> Self {
        let seed = region.header().seed;
        Self {
            region,
            dice: Dice::new(seed),
            rest: Random::new(seed ^ 1),
            wish: Wish::read(wish).unwrap_or(Wish { meeting: Meeting::Together, targets: Vec::new() }),
            places: Vec::new(),
            paused: Vec::new(),
            probability: [1000; PLACES as usize],
            yielding: None,
            going: Vec::new(),
            met: false,
            timeouts: 0,
        }
    }

    /// The places of a code position: several threads can be wanted at the same one. The first that nobody stands at.
    fn place(&self, pc: u64) -> Option<u32> {
        let from = self.places.partition_point(|(other, _)| *other < pc);
        let here = || self.places[from..].iter().take_while(|(other, _)| *other == pc).map(|(_, place)| *place);
        let is_free = |place: &u32| !self.paused.iter().any(|paused| paused.place == *place);
        here().find(is_free).or_else(|| here().next())
    }

    /// Threads that meet if `thread` stands at a place, in the order in which they go.
    fn meeting(&mut self, one: &Paused) -> Option<Vec<u32>> {
        match self.wish.meeting {
            Meeting::Race | Meeting::InOrder => {
                let fits = |other: &&Paused| {
                    other.thread != one.thread
                        && other.place != one.place
                        && (other.next.writes || one.next.writes)
                        && other.next.overlaps(&one.next)
                };
                let other = *self.paused.iter().find(fits)?;
                let first = match self.wish.meeting {
                    Meeting::InOrder => one.place == 0,
                    _ => self.dice.below(2) == 0,
                };
                Some(if first { vec![one.thread, other.thread] } else { vec![other.thread, one.thread] })
            }
            Meeting::Together => {
                let places = self.wish.targets.iter().map(|target| target.place).filter(|place| *place != YIELDS);
                let places: std::collections::BTreeSet<u32> = places.collect();
                let mut going = vec![one.thread];
                for place in places.into_iter().filter(|place| *place != one.place) {
                    let fits = |other: &&Paused| other.place == place && !going.contains(&other.thread);
                    let other = self.paused.iter().find(fits)?;
                    going.push(other.thread);
                }
                Some(going)
            }
        }
    }

    /// Decides about a thread that has come to a target. True: it goes on.
    fn arrives(&mut self, thread: u32, place: u32, next: Next) -> bool {
        let header = self.region.header();
        let one = Paused { thread, place, next, age: 0 };
        if place == YIELDS {
            self.yielding = Some(thread);
            return false;
        }
        if let Some(mut going) = self.meeting(&one) {
            header.met.fetch_add(1, Ordering::Relaxed);
            self.met = true;
            self.paused.clear();
            going.reverse();
            self.going = going;
            return false;
        }
        let probability = self.probability[(place % PLACES) as usize];
        if self.dice.below(1000) >= probability {
            return true;
        }
        header.pauses.fetch_add(1, Ordering::Relaxed);
        self.paused.push(one);
        false
    }

    /// Lets a paused thread go: that it was paused was in vain.
    fn let_go(&mut self, at: usize) -> u32 {
        let Paused { thread, place, .. } = self.paused.remove(at);
        let probability = &mut self.probability[(place % PLACES) as usize];
        *probability = *probability * BACK_OFF / 100;
        self.region.header().thrashes.fetch_add(1, Ordering::Relaxed);
        thread
    }

    fn choose(&mut self, view: &View<'_>) -> Option<u32> {
        while let Some(thread) = self.going.pop() {
            if view.enabled().any(|c| c.id == thread) {
                return Some(thread);
            }
        }
        if self.met {
            return None;
        }
        self.paused.retain(|paused| view.candidates.iter().any(|c| c.id == paused.thread));
        self.paused.iter_mut().for_each(|paused| paused.age += 1);
        if let Some(old) = self.paused.iter().position(|paused| paused.age > PATIENCE) {
            return Some(self.let_go(old));
        }
        let yielding = self.yielding.take().or(view.yielded.then_some(view.current));
        let is_paused = |c: &&Candidate| self.paused.iter().any(|paused| paused.thread == c.id);
        let free = view.enabled().filter(|c| !is_paused(c) && Some(c.id) != yielding);
        let others: Vec<u32> = free.map(|c| c.id).collect();
        if !others.is_empty() {
            return Some(others[self.dice.below(others.len() as u64) as usize]);
        }
        // Only the one that yields, or nobody but paused ones.
        if let Some(alone) = view.enabled().find(|c| !is_paused(c)) {
            return Some(alone.id);
        }
        if let Some(timed) = view.candidates.iter().find(|c| c.timed && !c.enabled && self.timeouts < TIMEOUTS) {
            self.timeouts += 1;
            return Some(timed.id);
        }
        let enabled: Vec<usize> =
            (0..self.paused.len()).filter(|&at| view.enabled().any(|c| c.id == self.paused[at].thread)).collect();
        let at = *enabled.get(self.dice.below(enabled.len().max(1) as u64) as usize)?;
        Some(self.let_go(at))
    }
}

impl Policy for Active {
    fn pick(&mut self, view: &View<'_>) -> Choice {
        if view.enabled().next().is_none() && self.met {
            return self.rest.pick(view);
        }
        match self.choose(view) {
            Some(thread) => Choice::Run { thread, steps: 1 },
            None => self.rest.pick(view),
        }
    }

    fn preempt_at_sync(&mut self) -> bool {
        self.met && self.rest.preempt_at_sync()
    }

    fn passes(&mut self, thread: u32, next: &Next) -> bool {
        if self.met {
            return false;
        }
        match self.place(next.pc).filter(|_| next.pc != 0) {
            Some(place) => self.arrives(thread, place, *next),
            None => self.dice.below(SWITCH) != 0,
        }
    }

    fn module(&mut self, base: u64, size: u64, bias: u64, path: &[u8]) {
        let module = module_id(path);
        // It may have been there before, or another one in its place.
        self.places.retain(|(pc, _)| !(base..base + size).contains(pc));
        for target in self.wish.targets.iter().filter(|target| target.module == module) {
            let pc = target.offset.wrapping_add(bias);
            if (base..base + size).contains(&pc) {
                self.places.push((pc, target.place));
            }
        }
        self.places.sort_unstable();
    }
}

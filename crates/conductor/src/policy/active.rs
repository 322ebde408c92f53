//! Active testing (Sen, PLDI 2008; Joshi, Park, Sen, Naik, PLDI 2009; Park and Sen, FSE 2008): a random scheduler that
//! pauses threads at chosen code positions until they meet as wanted.
//!
//! A thread that comes to a *target* is paused, others run. When paused threads **meet** (as [`Meeting`] says), they go
//! on one right after the other and from then on everybody runs. No guarantee: it raises probabilities.
//!
//! From the papers: when all enabled threads are paused, one of them is let go (a *thrash*); the probability to pause
//! at a target falls each time that was in vain; a thread yields before it takes the first lock of a cycle
//! ([`YIELDS`]); threads, locks and the locks held meanwhile can be told apart (the launcher decides which ones are
//! meant, see [`Target`]). Ours: one that yields waits until nobody else can go on; a timeout is let happen, and the
//! world outside is waited for, before a paused thread is let go; and a thread that is paused for very long is let go,
//! so that one that spins for its sake does not spin for ever.

use super::meeting::{Meeting, MeetingPlan, Object, PLACES, Position, Target, YIELDS};
use super::{Candidate, Choice, Dice, Policy, Random, Runner, View};
use crate::shared::Region;
use reweave_model::module_id;
use std::collections::BTreeMap;
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
    /// In the thread's own frames, most likely.
    pub local: bool,
}

impl Next {
    pub const UNKNOWN: Self = Self { pc: 0, at: 0, size: 0, writes: false, local: false };

    pub const fn access(pc: u64, at: u64, size: u64, writes: bool) -> Self {
        Self { pc, at, size, writes, local: false }
    }

    pub const fn object(pc: u64, at: u64) -> Self {
        Self { pc, at, size: 0, writes: false, local: false }
    }

    fn overlaps(&self, other: &Self) -> bool {
        self.at < other.at + other.size.max(1) && other.at < self.at + self.size.max(1)
    }
}

/// A thread paused at a target, or yielding there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Paused {
    thread: u32,
    place: u32,
    /// Of a sequence.
    number: u32,
    next: Next,
    /// Decisions since.
    age: u32,
}

/// Code that is loaded.
#[derive(Clone, Copy, Debug)]
struct Module {
    base: u64,
    end: u64,
    bias: u64,
    id: u64,
}

/// What a pause in vain does to the probability of the next one there, in percent.
const BACK_OFF: u64 = 90;
/// One in so many steps is a chance for others.
const SWITCH: u64 = 64;
/// Decisions after which a paused thread is let go.
const PATIENCE: u32 = 4000;
/// Timeouts that are let happen rather than let a paused thread go: for one, and in a run. Where one thread sleeps
/// again and again, the first that is paused must not use them all up.
const TIMEOUTS: [u32; 2] = [50, 1000];
/// Looks at the world outside, some milliseconds apart, likewise.
const LOOKS: [u32; 2] = [50, 200];

pub struct Active {
    region: Region,
    dice: Dice,
    rest: Random,
    plan: MeetingPlan,
    modules: Vec<Module>,
    /// Objects by who initialised them, and how many each thread has initialised.
    created: BTreeMap<u64, Object>,
    creations: BTreeMap<u32, u32>,
    /// Locks held: by whom, and where they were taken.
    held: Vec<(u32, u64, Position)>,
    paused: Vec<Paused>,
    /// Threads that yield.
    yielding: Vec<Paused>,
    /// Per mille, by place.
    probability: [u64; PLACES as usize],
    /// Of a sequence: places that are passed, and the threads that passed them, by number.
    passed: u32,
    cast: Vec<Option<u32>>,
    /// Threads that have met and go now, last first.
    going: Vec<u32>,
    met: bool,
    /// Since a thread was last let go, and in all.
    timeouts: [u32; 2],
    looks: [u32; 2],
}

impl Active {
    /// `plan`: as encoded by the launcher.
    pub fn new(region: Region, plan: &[u8]) -> Self {
        let seed = region.header().seed;
        Self {
            region,
            dice: Dice::new(seed),
            rest: Random::new(seed ^ 1),
            plan: MeetingPlan::read(plan).unwrap_or(MeetingPlan { meeting: Meeting::Together, targets: Vec::new() }),
            modules: Vec::new(),
            created: BTreeMap::new(),
            creations: BTreeMap::new(),
            held: Vec::new(),
            paused: Vec::new(),
            yielding: Vec::new(),
            probability: [1000; PLACES as usize],
            passed: 0,
            cast: vec![None; PLACES as usize],
            going: Vec::new(),
            met: false,
            timeouts: [0; 2],
            looks: [0; 2],
        }
    }

    fn position(&self, address: u64) -> Position {
        let here = |module: &&Module| (module.base..module.end).contains(&address);
        match self.modules.iter().find(here) {
            Some(module) => Position { module: module.id, offset: address.wrapping_sub(module.bias) },
            None => Position { module: 0, offset: address },
        }
    }

    /// Whether this thread, about to do this, is meant by a target.
    fn is_meant(&self, target: &Target, who: Runner, next: &Next, at: Position) -> bool {
        let holds = |site: &Position| self.held.iter().any(|(thread, _, taken)| *thread == who.id && taken == site);
        let object = || {
            let Position { module, offset } = self.position(next.at);
            self.created.get(&next.at).copied().unwrap_or(Object::Global { module, offset })
        };
        target.at == at
            && (target.threads.is_empty() || target.threads.contains(&who.scheduled_as))
            && target.context.iter().all(holds)
            && (target.objects.is_empty() || target.objects.contains(&object()))
    }

    /// The target that a thread has come to: several threads can be wanted at the same place. The first that nobody
    /// stands at; of a sequence the first that is still to be passed.
    fn target(&self, who: Runner, next: &Next) -> Option<(u32, u32)> {
        if next.pc == 0 {
            return None;
        }
        let at = self.position(next.pc);
        let here = || self.plan.targets.iter().filter(|target| self.is_meant(target, who, next, at));
        let is_free = |target: &&Target| match self.plan.meeting {
            Meeting::Sequence => target.place >= self.passed && self.may_play(who.id, target.number),
            _ => !self.paused.iter().any(|paused| paused.place == target.place),
        };
        here().find(is_free).or_else(|| here().next()).map(|target| (target.place, target.number))
    }

    /// Whether a thread is, or may become, this one of a sequence.
    fn may_play(&self, thread: u32, number: u32) -> bool {
        match self.cast[(number % PLACES) as usize] {
            Some(known) => known == thread,
            None => !self.cast.contains(&Some(thread)),
        }
    }

    /// Threads that meet if `one` stands at its place, in the order in which they go.
    fn meeting(&mut self, one: &Paused) -> Option<Vec<u32>> {
        match self.plan.meeting {
            Meeting::Race => {
                let fits = |other: &&Paused| {
                    other.thread != one.thread
                        && other.place != one.place
                        && (other.next.writes || one.next.writes)
                        && other.next.overlaps(&one.next)
                };
                let other = *self.paused.iter().find(fits)?;
                let first = self.dice.below(2) == 0;
                Some(if first { vec![one.thread, other.thread] } else { vec![other.thread, one.thread] })
            }
            Meeting::Together => {
                let places = self.plan.targets.iter().map(|target| target.place).filter(|place| *place != YIELDS);
                let places: std::collections::BTreeSet<u32> = places.collect();
                let mut going = vec![one.thread];
                for place in places.into_iter().filter(|place| *place != one.place) {
                    let fits = |other: &&Paused| other.place == place && !going.contains(&other.thread);
                    let other = self.paused.iter().find(fits)?;
                    going.push(other.thread);
                }
                Some(going)
            }
            Meeting::Sequence => None,
        }
    }

    /// The next place of a sequence is passed.
    fn pass(&mut self, one: &Paused) {
        self.cast[(one.number % PLACES) as usize] = Some(one.thread);
        self.passed = one.place + 1;
        if self.plan.targets.iter().all(|target| target.place < self.passed || target.place == YIELDS) {
            self.meet(Vec::new());
        }
    }

    fn meet(&mut self, mut going: Vec<u32>) {
        self.region.header().met.fetch_add(1, Ordering::Relaxed);
        self.met = true;
        self.paused.clear();
        self.yielding.clear();
        going.reverse();
        self.going = going;
    }

    /// Decides about a thread that has come to a target. True: it goes on.
    fn arrives(&mut self, thread: u32, (place, number): (u32, u32), next: Next) -> bool {
        let one = Paused { thread, place, number, next, age: 0 };
        if place == YIELDS {
            self.yielding.push(one);
            return false;
        }
        if let Some(going) = self.meeting(&one) {
            self.meet(going);
            return false;
        }
        if self.plan.meeting == Meeting::Sequence {
            let whose = self.cast[(number % PLACES) as usize];
            if place == self.passed && self.may_play(thread, number) {
                self.pass(&one);
                return true;
            }
            if place < self.passed && whose == Some(thread) {
                // It begins anew.
                (self.passed, self.cast) = (0, vec![None; PLACES as usize]);
                if place == 0 {
                    self.pass(&one);
                }
                return true;
            }
        }
        let probability = self.probability[(place % PLACES) as usize];
        if self.dice.below(1000) >= probability {
            return true;
        }
        self.region.header().pauses.fetch_add(1, Ordering::Relaxed);
        self.paused.push(one);
        false
    }

    /// Lets a paused thread go: that it was paused was in vain.
    fn let_go(&mut self, at: usize) -> u32 {
        let Paused { thread, place, .. } = self.paused.remove(at);
        (self.timeouts[0], self.looks[0]) = (0, 0);
        let probability = &mut self.probability[(place % PLACES) as usize];
        *probability = *probability * BACK_OFF / 100;
        self.region.header().thrashes.fetch_add(1, Ordering::Relaxed);
        if self.cast.contains(&Some(thread)) {
            // A sequence that it was part of will not be completed.
            (self.passed, self.cast) = (0, vec![None; PLACES as usize]);
        }
        thread
    }

    /// `None`: as if no meeting were planned.
    fn choose(&mut self, view: &View<'_>) -> Option<Choice> {
        let run = |thread| Some(Choice::Run { thread, steps: 1 });
        while let Some(thread) = self.going.pop() {
            if view.enabled().any(|c| c.id == thread) {
                return run(thread);
            }
        }
        if self.met {
            return None;
        }
        let is_there = |paused: &Paused| view.candidates.iter().any(|c| c.id == paused.thread);
        self.paused.retain(is_there);
        self.yielding.retain(is_there);
        self.paused.iter_mut().chain(&mut self.yielding).for_each(|paused| paused.age += 1);
        if self.plan.meeting == Meeting::Sequence
            && let Some(due) =
                self.paused.iter().position(|one| one.place == self.passed && self.may_play(one.thread, one.number))
        {
            let one = self.paused.remove(due);
            self.pass(&one);
            return run(one.thread);
        }
        if let Some(old) = self.paused.iter().position(|paused| paused.age > PATIENCE) {
            return run(self.let_go(old));
        }
        let rested = self.yielding.iter().position(|one| one.age > PATIENCE);
        if let Some(rested) = rested {
            return run(self.yielding.remove(rested).thread);
        }
        let is_paused = |c: &&Candidate| self.paused.iter().any(|paused| paused.thread == c.id);
        let yields = |c: &&Candidate| self.yielding.iter().any(|one| one.thread == c.id);
        let gives_way = view.yielded.then_some(view.current);
        let free: Vec<u32> = view.enabled().filter(|c| !is_paused(c) && !yields(c)).map(|c| c.id).collect();
        let others: Vec<u32> = free.iter().copied().filter(|id| Some(*id) != gives_way).collect();
        if !others.is_empty() {
            return run(others[self.dice.below(others.len() as u64) as usize]);
        }
        // Only one that gives way, or nobody but those that yield or are paused.
        if let Some(alone) = free.first() {
            return run(*alone);
        }
        let enabled = |list: &[Paused]| -> Vec<usize> {
            (0..list.len()).filter(|&at| view.enabled().any(|c| c.id == list[at].thread)).collect()
        };
        let resting = enabled(&self.yielding);
        if !resting.is_empty() {
            let at = resting[self.dice.below(resting.len() as u64) as usize];
            return run(self.yielding.remove(at).thread);
        }
        let stuck = enabled(&self.paused);
        if stuck.is_empty() {
            // Nobody is kept from running: time passes as it does otherwise.
            return None;
        }
        let timed: Vec<u32> = view.candidates.iter().filter(|c| c.timed && !c.enabled).map(|c| c.id).collect();
        if !timed.is_empty() && count(&mut self.timeouts, TIMEOUTS) {
            return run(timed[self.dice.below(timed.len() as u64) as usize]);
        }
        if view.candidates.iter().any(|c| c.outside && !c.enabled) && count(&mut self.looks, LOOKS) {
            return Some(Choice::Nobody);
        }
        let at = stuck[self.dice.below(stuck.len() as u64) as usize];
        run(self.let_go(at))
    }
}

/// One more, if there may be one.
fn count(counts: &mut [u32; 2], limits: [u32; 2]) -> bool {
    let within = counts[0] < limits[0] && counts[1] < limits[1];
    if within {
        counts.iter_mut().for_each(|count| *count += 1);
    }
    within
}

impl Policy for Active {
    fn pick(&mut self, view: &View<'_>) -> Choice {
        if view.enabled().next().is_none() && self.met {
            return self.rest.pick(view);
        }
        self.choose(view).unwrap_or_else(|| self.rest.pick(view))
    }

    fn preempt_at_sync(&mut self) -> bool {
        self.met && self.rest.preempt_at_sync()
    }

    fn passes(&mut self, who: Runner, next: &Next) -> bool {
        if self.met {
            return false;
        }
        match self.target(who, next) {
            Some(target) => self.arrives(who.id, target, *next),
            None => self.dice.below(SWITCH) != 0,
        }
    }

    fn creates(&mut self, who: Runner, object: u64) {
        let nth = self.creations.entry(who.id).or_default();
        self.created.insert(object, Object::Created { thread: who.scheduled_as, nth: *nth });
        *nth += 1;
    }

    fn takes(&mut self, who: Runner, lock: u64, pc: u64) {
        self.held.push((who.id, lock, self.position(pc)));
    }

    fn gives(&mut self, who: Runner, lock: u64) {
        self.held.retain(|(thread, held, _)| (*thread, *held) != (who.id, lock));
    }

    fn module(&mut self, base: u64, size: u64, bias: u64, path: &[u8]) {
        // It may have been there before, or another one in its place.
        self.modules.retain(|module| module.end <= base || base + size <= module.base);
        self.modules.push(Module { base, end: base + size, bias, id: module_id(path) });
    }
}

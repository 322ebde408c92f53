//! The streaming analyses while the program runs: chunks of records in, sightings out, no trace in between.
//!
//! What a sighting is worth is what the analysis behind it is worth without a witness: it is `potential`. Of happens-before the
//! first one of a run is a race all the same (see [`hb`](crate::analyses::hb)); `shb` lists only races. Neither goes through the
//! witness checker here, since there is no trace to make a witness of.
//!
//! Memory follows what is alive: locks, threads and blocks that are over are forgotten ([`Bounds`]), and of the events
//! themselves only the last few chunks are kept ([`past`]), for telling how an access came about. What still grows (a
//! program that touches ever more memory) is cut by [`Live::start_over`], which the caller asks for.

mod past;
mod sample;

pub use sample::{Sampler, Skipped};

use std::collections::HashSet;
use std::path::PathBuf;

use reweave_model::{EventId, Kind, Op, Pc, Sighted, Sighting, Strength, ThreadId};
use reweave_trace::{Context, Module, RawEvents, Result, Stacks};

use crate::analyses::{goodlock::Goodlock, lock_history::LockHistoryRaces};
use crate::driver::streaming;
use crate::linear::{Bounds, Candidate, Candidates, Cycle, Front, Linear};
use crate::lock_history::Limits;
use past::Past;

/// Analyses that [`Sampler`] does not harm: `shb` and those above it need every write.
pub const SAMPLED: [&str; 4] = ["hb", "lockset", "lock-history", "goodlock"];

/// Call stacks that are told apart; a program that recurses in ever new ways has no end of them.
const MAX_STACKS: usize = 1 << 20;

/// Threads count their epochs in 32 bits, and one event ends at most two: so many may end them before everything starts over.
const MAX_EPOCH_ENDS: u64 = u32::MAX as u64 / 2;

#[derive(Clone, Debug, Default)]
pub struct Options {
    /// By name; each one is [`streaming`].
    pub analyses: Vec<&'static str>,
    pub sample: bool,
    /// Also analyse without sampling, to see what it lost.
    pub check: bool,
}

/// What there is to say beside the sightings.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    pub events: u64,
    pub threads: u64,
    /// Accesses that were left out, and why.
    pub skipped: Skipped,
    /// Pairs of code positions without sampling, and those of them that sampling lost (only with [`Options::check`]).
    pub checked_pairs: u64,
    pub lost_pairs: u64,
    /// How often everything that was kept of earlier accesses was forgotten.
    pub restarts: u64,
    /// Threads taken for the continuation of others that ended long ago.
    pub recycled_threads: u64,
    /// Accesses and pairs beyond the limits of the analyses.
    pub dropped: u64,
    /// Lock operations and requests for locks that are kept no more, as too old or of locks that are gone.
    pub forgotten: u64,
    /// Call stacks beyond the limit.
    pub nameless_stacks: u64,
}

impl Totals {
    pub fn add(&mut self, other: &Self) {
        self.events += other.events;
        self.threads += other.threads;
        self.skipped.weaker += other.skipped.weaker;
        self.skipped.sampled += other.skipped.sampled;
        self.checked_pairs += other.checked_pairs;
        self.lost_pairs += other.lost_pairs;
        self.restarts += other.restarts;
        self.recycled_threads += other.recycled_threads;
        self.dropped += other.dropped;
        self.forgotten += other.forgotten;
        self.nameless_stacks += other.nameless_stacks;
    }
}

/// One pass: the front end and what it feeds.
struct Pass {
    front: Front,
    // invariant: one for each of the analyses
    names: Vec<&'static str>,
    analyses: Vec<Box<dyn Linear>>,
    /// `lockset` is asked for and runs inside `lock-history`, so that what that one refutes is for it to tell.
    lockset_within: bool,
}

/// What analyses found, by name.
#[derive(Default)]
struct Found {
    races: Vec<(&'static str, Candidate)>,
    deadlocks: Vec<(&'static str, Cycle)>,
    dropped: u64,
    /// Lock operations and requests for locks that are kept no more.
    forgotten: u64,
}

/// A new analysis whose memory does not grow with the run.
fn bounded(name: &str) -> Option<Box<dyn Linear>> {
    Some(match name {
        "lock-history" => Box::new(LockHistoryRaces::new(Limits::LIVE)),
        "goodlock" => Box::new(Goodlock::bounded()),
        _ => return streaming(name),
    })
}

impl Pass {
    fn new(names: &[&'static str]) -> Self {
        let mut pass = Self {
            front: Front::bounded(PathBuf::from("the running program"), Bounds::default()),
            names: names.to_vec(),
            analyses: Vec::new(),
            lockset_within: names.contains(&"lockset") && names.contains(&"lock-history"),
        };
        if pass.lockset_within {
            pass.names.retain(|name| *name != "lockset");
        }
        pass.analyses = pass.fresh();
        pass
    }

    fn fresh(&self) -> Vec<Box<dyn Linear>> {
        let all =
            self.names.iter().map(|name| bounded(name).unwrap_or_else(|| panic!("`{name}` is no streaming analysis")));
        all.collect()
    }

    /// What is new.
    fn news(&mut self) -> Found {
        self.front.catch_up(&mut self.analyses);
        let (mut all, lockset_within) = (Found::default(), self.lockset_within);
        for (&name, analysis) in self.names.iter().zip(&mut self.analyses) {
            all.add(name, analysis.news(), lockset_within);
        }
        all
    }

    /// Everything, told before or not.
    fn finish(&mut self) -> Found {
        let mut all = self.news();
        self.front.finish(&mut self.analyses);
        for (&name, analysis) in self.names.iter().zip(&mut self.analyses) {
            let found = analysis.finish();
            all.dropped += found.dropped;
            all.add(name, found, self.lockset_within);
            let forgotten = analysis.stats().into_iter().filter(|(name, _)| name.starts_with("forgotten"));
            all.forgotten += forgotten.map(|(_, count)| count).sum::<u64>();
        }
        all
    }

    /// Forgets what was found and kept.
    fn start_over(&mut self) -> Found {
        let last = self.finish();
        self.analyses = self.fresh();
        self.front.start_over(&mut self.analyses);
        last
    }
}

impl Found {
    fn add(&mut self, name: &'static str, found: Candidates, lockset_within: bool) {
        self.races.extend(found.pairs.into_iter().map(|candidate| (name, candidate)));
        self.deadlocks.extend(found.cycles.into_iter().map(|cycle| (name, cycle)));
        if lockset_within {
            self.races.extend(found.refuted.into_iter().map(|candidate| ("lockset", candidate)));
        }
    }

    fn pairs(&self) -> impl Iterator<Item = Pair> {
        self.races.iter().map(|(_, candidate)| pair(candidate))
    }
}

/// A pair of code positions, in no order.
type Pair = (Pc, Pc);

fn pair(candidate: &Candidate) -> Pair {
    let Candidate { first_pc, second_pc, .. } = *candidate;
    (first_pc.min(second_pc), first_pc.max(second_pc))
}

pub struct Live {
    pass: Pass,
    sampler: Option<Sampler>,
    /// The same without sampling, and the pairs it found.
    check: Option<(Pass, HashSet<Pair>)>,
    past: Past,
    stacks: Stacks,
    modules: Vec<Module>,
    next: EventId,
    /// After the last record.
    context: Context,
    /// Events since the start that may have ended an epoch.
    epoch_ends: u64,
    /// Pairs told, with the analysis.
    told: HashSet<(Pair, &'static str)>,
    /// Code positions of the deadlocks told, ascending, with the analysis.
    told_deadlocks: HashSet<(Vec<Pc>, &'static str)>,
    /// Happens-before has found something.
    raced: bool,
    last_words: bool,
    totals: Totals,
}

/// A program may load and unload a library again and again: each is kept once, the last that came at the end.
fn came(modules: &mut Vec<Module>, module: Option<Module>) {
    let Some(module) = module else { return };
    modules.retain(|known| *known != module);
    modules.push(module);
}

impl Live {
    /// # Panics
    /// If a name is not that of a streaming analysis.
    pub fn new(options: &Options) -> Self {
        Self {
            pass: Pass::new(&options.analyses),
            sampler: options.sample.then(Sampler::default),
            check: (options.sample && options.check).then(|| (Pass::new(&options.analyses), HashSet::new())),
            past: Past::default(),
            stacks: Stacks::default(),
            modules: Vec::new(),
            next: EventId(0),
            context: Context::default(),
            epoch_ends: 0,
            told: HashSet::new(),
            told_deadlocks: HashSet::new(),
            raced: false,
            last_words: false,
            totals: Totals::default(),
        }
    }

    /// Takes the records of a chunk, the first ones performed by `thread`, and tells what is new since the last time.
    ///
    /// # Errors
    /// If the events cannot have happened. Nothing more is to be had from them then.
    pub fn chunk(&mut self, words: &[u64], thread: ThreadId) -> Result<Vec<Sighting>> {
        self.context = Context::start(self.next, thread);
        self.past.start(self.next, thread);
        self.more(words)
    }

    /// Takes further records of the same chunk.
    ///
    /// # Errors
    /// As [`Live::chunk`].
    pub fn more(&mut self, words: &[u64]) -> Result<Vec<Sighting>> {
        let mut before = Vec::new();
        if self.epoch_ends >= MAX_EPOCH_ENDS {
            before = self.start_over();
        }
        let first = self.next;
        let mut others = 0;
        let mut events = RawEvents::new(words, std::mem::take(&mut self.context));
        let Self { pass, sampler, check, modules, totals, last_words, .. } = self;
        loop {
            if let Some(access) = events.next_access() {
                if let Some((check, _)) = check {
                    check.front.access(&access, &mut check.analyses)?;
                }
                if sampler.as_mut().is_some_and(|sampler| sampler.skips(&access)) {
                    pass.front.pass_over(&access);
                } else {
                    pass.front.access(&access, &mut pass.analyses)?;
                }
            } else if let Some(event) = events.next() {
                others += 1;
                match event.op {
                    Op::Begin => totals.threads += 1,
                    Op::Exit { .. } | Op::Fatal { .. } => *last_words = true,
                    Op::Module { .. } => came(modules, Module::from_op(&event.op)),
                    _ => {}
                }
                if let Some((check, _)) = check {
                    check.front.event(&event, &mut check.analyses)?;
                }
                if let Some(sampler) = sampler {
                    sampler.event(&event);
                }
                pass.front.event(&event, &mut pass.analyses)?;
            } else {
                break;
            }
        }
        self.next = events.next_id();
        // Only `shb` ends an epoch with each write.
        let by_accesses = self.pass.names.contains(&"shb");
        self.epoch_ends += if by_accesses { self.next.0 - first.0 } else { others };
        self.totals.events = self.next.0;
        for (stack, parent, pc) in events.definitions() {
            if self.stacks.len() < MAX_STACKS {
                self.stacks.define(stack, parent, pc);
            } else {
                self.totals.nameless_stacks += 1;
            }
        }
        self.context = events.context();
        self.past.keep(words);
        if let Some((check, pairs)) = &mut self.check {
            pairs.extend(check.news().pairs());
        }
        let news = self.pass.news();
        before.extend(self.tell(news));
        Ok(before)
    }

    /// The code that has been mapped so far, in order of appearance.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// The process has said how it ends.
    pub fn has_last_words(&self) -> bool {
        self.last_words
    }

    pub fn events(&self) -> u64 {
        self.next.0
    }

    /// Forgets all that is kept of earlier accesses, but not what is held and who is alive: from here on, pairs with what was
    /// before are missed.
    pub fn start_over(&mut self) -> Vec<Sighting> {
        let found = self.pass.start_over();
        if let Some((check, pairs)) = &mut self.check {
            pairs.extend(check.start_over().pairs());
        }
        self.epoch_ends = 0;
        self.totals.restarts += 1;
        self.tell(found)
    }

    /// What only the end brings.
    pub fn finish(&mut self) -> Vec<Sighting> {
        let found = self.pass.finish();
        let sightings = self.tell(found);
        if let Some((check, pairs)) = &mut self.check {
            pairs.extend(check.finish().pairs());
            let told: HashSet<Pair> = self.told.iter().map(|(pair, _)| *pair).collect();
            self.totals.checked_pairs = pairs.len() as u64;
            self.totals.lost_pairs = pairs.difference(&told).count() as u64;
        }
        sightings
    }

    pub fn totals(&self) -> Totals {
        let skipped = self.sampler.as_ref().map(Sampler::skipped).unwrap_or_default();
        Totals { skipped, recycled_threads: self.pass.front.recycled_threads(), ..self.totals }
    }

    /// Pairs of code positions found so far.
    pub fn pairs(&self) -> impl Iterator<Item = (Pc, Pc, &'static str)> {
        self.told.iter().map(|&((one, two), analysis)| (one, two, analysis))
    }

    /// The second access of the first happens-before race of the run, if it is among these and nothing was left out before.
    fn first_race(&mut self, fresh: &[(&'static str, Candidate)]) -> Option<EventId> {
        let first = fresh.iter().filter(|(name, _)| *name == "hb").map(|(_, found)| found.second).min()?;
        let totals = self.totals();
        let complete = totals.restarts + totals.recycled_threads + totals.dropped == 0 && self.sampler.is_none();
        (!std::mem::replace(&mut self.raced, true) && complete).then_some(first)
    }

    fn tell(&mut self, found: Found) -> Vec<Sighting> {
        let Found { mut races, mut deadlocks, dropped, forgotten } = found;
        self.totals.dropped += dropped;
        self.totals.forgotten += forgotten;
        races.retain(|(name, found)| self.told.insert((pair(found), name)));
        deadlocks.retain(|(name, cycle)| !self.told_deadlocks.contains(&(cycle.sorted_pcs(), name)));
        if races.is_empty() && deadlocks.is_empty() {
            return Vec::new();
        }
        let accesses = races.iter().flat_map(|(_, pair)| [(pair.first, pair.first_pc), (pair.second, pair.second_pc)]);
        let requests = deadlocks.iter().flat_map(|(_, cycle)| cycle.requests.iter().copied().zip(cycle.pcs.clone()));
        let known = self.past.look_up(accesses.chain(requests).collect(), &self.stacks);
        let mut sightings = self.races(races, &known);
        sightings.extend(self.deadlocks(deadlocks, &known));
        sightings
    }

    /// Cycles whose code positions have not been told. Those without one, of events too long ago, are dropped.
    fn deadlocks(
        &mut self,
        found: Vec<(&'static str, Cycle)>,
        known: &impl Fn(EventId, Pc) -> Sighted,
    ) -> Vec<Sighting> {
        let mut sightings = Vec::new();
        for (analysis, cycle) in found {
            let requests = cycle.requests.iter().zip(&cycle.pcs);
            let accesses: Vec<Sighted> = requests.map(|(&event, &pc)| known(event, pc)).collect();
            let mut pcs: Vec<Pc> = accesses.iter().map(|access| access.pc).collect();
            pcs.sort_unstable();
            if accesses.iter().any(|access| !access.exact && access.pc == Pc(0)) {
                self.totals.dropped += 1;
            } else if self.told_deadlocks.insert((pcs, analysis)) {
                let (kind, strength) = (Kind::Deadlock, Strength::Potential);
                sightings.push(Sighting { kind, strength, analysis, certain: false, accesses });
            }
        }
        sightings
    }

    fn races(
        &mut self,
        fresh: Vec<(&'static str, Candidate)>,
        known: &impl Fn(EventId, Pc) -> Sighted,
    ) -> Vec<Sighting> {
        let first = self.first_race(&fresh);
        let sighting = |(analysis, found): (&'static str, Candidate)| Sighting {
            kind: Kind::Race,
            strength: Strength::Potential,
            analysis,
            certain: analysis == "shb" || analysis == "hb" && first == Some(found.second),
            accesses: vec![known(found.first, found.first_pc), known(found.second, found.second_pc)],
        };
        fresh.into_iter().map(sighting).collect()
    }
}

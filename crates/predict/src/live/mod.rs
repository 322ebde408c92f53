//! The streaming analyses while the program runs: chunks of records in, sightings out, no trace in between.
//!
//! What a sighting is worth is what the analysis behind it is worth without a witness: it is `potential`. Of
//! happens-before the first one of a run is a race all the same (see [`hb`](crate::analyses::hb)); `shb` lists only
//! races. Neither goes through the witness checker here, since there is no trace to make a witness of.
//!
//! Memory follows what is alive: locks, threads and blocks that are over are forgotten ([`Bounds`]), and of the events
//! themselves only the last few chunks are kept ([`past`]), for telling how an access came about. What still grows (a
//! program that touches ever more memory) is cut by [`Live::start_over`], which the caller asks for.

mod past;
mod sample;

pub use sample::{Sampler, Skipped};

use std::collections::HashSet;
use std::path::PathBuf;

use reweave_model::{AnalysisId, EventId, Kind, Op, Pc, Sighted, Sighting, Strength, ThreadId};
use reweave_trace::{Context, Module, RawEvents, Result, Stacks};

use crate::analysis::{AnalysisRef, Guarantee, Watching};
use crate::linear::{Bounds, Candidate, Candidates, Cycle, Front, Linear};
use past::Past;

/// Call stacks that are told apart; a program that recurses in ever new ways has no end of them.
const MAX_STACKS: usize = 1 << 20;

/// Threads count their epochs in 32 bits, and one event ends at most two: so many may end them before everything starts
/// over.
const MAX_EPOCH_ENDS: u64 = u32::MAX as u64 / 2;

#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Each one can [watch](crate::Analysis::watching).
    pub analyses: Vec<AnalysisRef>,
    /// Leave accesses out; only for analyses that allow it ([`Watching::allows_sampling`]).
    pub sample: bool,
    /// Also analyse without sampling, to see what it lost.
    pub check: bool,
    /// Take accesses that only repeat others, too, although no analysis needs them.
    pub every_access: bool,
}

impl Options {
    /// Whether accesses that only repeat what their thread did are nothing new to any of the analyses. Sampling counts
    /// them.
    pub fn allows_skipping_repeats(&self) -> bool {
        let ignores = |analysis: &AnalysisRef| analysis.watching().is_some_and(|watching| watching.ignores_repeats);
        !self.every_access && !self.sample && self.analyses.iter().all(ignores)
    }
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
    running: Vec<Running>,
    // invariant: one for each that is running
    passes: Vec<Box<dyn Linear>>,
}

/// An analysis of a pass.
#[derive(Clone, Copy)]
struct Running {
    analysis: AnalysisRef,
    watching: Watching,
    /// Another one that is asked for and runs inside it, so that what this one refutes is for that one to report.
    inside: Option<AnalysisRef>,
}

/// What analyses found.
#[derive(Default)]
struct News {
    races: Vec<(AnalysisRef, Candidate)>,
    deadlocks: Vec<(AnalysisRef, Cycle)>,
    dropped: u64,
    /// Lock operations and requests for locks that are kept no more.
    forgotten: u64,
}

impl Pass {
    fn new(analyses: &[AnalysisRef]) -> Self {
        let running = |&analysis: &AnalysisRef| {
            let watching = analysis.watching().unwrap_or_else(|| panic!("{analysis:?} cannot watch"));
            let is_wanted = |inside: &AnalysisRef| analyses.iter().any(|other| other.id() == inside.id());
            Running { analysis, watching, inside: watching.inside.filter(is_wanted) }
        };
        let mut running: Vec<Running> = analyses.iter().map(running).collect();
        let inside: Vec<_> = running.iter().filter_map(|one| Some(one.inside?.id())).collect();
        running.retain(|one| !inside.contains(&one.analysis.id()));
        let front = Front::bounded(PathBuf::from("the running program"), Bounds::default());
        let passes = running.iter().map(|one| (one.watching.start)()).collect();
        Self { front, running, passes }
    }

    /// What is new.
    fn news(&mut self) -> News {
        self.front.catch_up(&mut self.passes);
        let mut all = News::default();
        for (one, pass) in self.running.iter().zip(&mut self.passes) {
            all.add(one, pass.news());
        }
        all
    }

    /// Everything, reported before or not.
    fn finish(&mut self) -> News {
        let mut all = self.news();
        self.front.finish(&mut self.passes);
        for (one, pass) in self.running.iter().zip(&mut self.passes) {
            let found = pass.finish();
            all.dropped += found.dropped;
            all.add(one, found);
            let forgotten = pass.stats().into_iter().filter(|(name, _)| name.starts_with("forgotten"));
            all.forgotten += forgotten.map(|(_, count)| count).sum::<u64>();
        }
        all
    }

    /// Forgets what was found and kept.
    fn start_over(&mut self) -> News {
        let last = self.finish();
        self.passes = self.running.iter().map(|one| (one.watching.start)()).collect();
        self.front.start_over(&mut self.passes);
        last
    }
}

impl News {
    fn add(&mut self, Running { analysis, inside, .. }: &Running, found: Candidates) {
        self.races.extend(found.pairs.into_iter().map(|candidate| (*analysis, candidate)));
        self.deadlocks.extend(found.cycles.into_iter().map(|cycle| (*analysis, cycle)));
        if let Some(inside) = inside {
            self.races.extend(found.refuted.into_iter().map(|candidate| (*inside, candidate)));
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
    /// Pairs reported, with the analysis.
    reported: HashSet<(Pair, AnalysisId)>,
    /// Code positions of the deadlocks reported, ascending, with the analysis.
    reported_deadlocks: HashSet<(Vec<Pc>, AnalysisId)>,
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
    /// If an analysis cannot watch.
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
            reported: HashSet::new(),
            reported_deadlocks: HashSet::new(),
            raced: false,
            last_words: false,
            totals: Totals::default(),
        }
    }

    /// Takes the records of a chunk, the first ones performed by `thread`, and returns what is new since the last time.
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
                    check.front.access(&access, &mut check.passes)?;
                }
                if sampler.as_mut().is_some_and(|sampler| sampler.skips(&access)) {
                    pass.front.pass_over(&access);
                } else {
                    pass.front.access(&access, &mut pass.passes)?;
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
                    check.front.event(&event, &mut check.passes)?;
                }
                if let Some(sampler) = sampler {
                    sampler.event(&event);
                }
                pass.front.event(&event, &mut pass.passes)?;
            } else {
                break;
            }
        }
        self.next = events.next_id();
        let by_accesses = self.pass.running.iter().any(|one| one.watching.ends_epochs_by_writes);
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
        before.extend(self.report(news));
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

    /// Forgets all that is kept of earlier accesses, but not what is held and who is alive: from here on, pairs with
    /// what was before are missed.
    pub fn start_over(&mut self) -> Vec<Sighting> {
        let found = self.pass.start_over();
        if let Some((check, pairs)) = &mut self.check {
            pairs.extend(check.start_over().pairs());
        }
        self.epoch_ends = 0;
        self.totals.restarts += 1;
        self.report(found)
    }

    /// What only the end brings.
    pub fn finish(&mut self) -> Vec<Sighting> {
        let found = self.pass.finish();
        let sightings = self.report(found);
        if let Some((check, pairs)) = &mut self.check {
            pairs.extend(check.finish().pairs());
            let reported: HashSet<Pair> = self.reported.iter().map(|(pair, _)| *pair).collect();
            self.totals.checked_pairs = pairs.len() as u64;
            self.totals.lost_pairs = pairs.difference(&reported).count() as u64;
        }
        sightings
    }

    pub fn totals(&self) -> Totals {
        let skipped = self.sampler.as_ref().map(Sampler::skipped).unwrap_or_default();
        Totals { skipped, recycled_threads: self.pass.front.recycled_threads(), ..self.totals }
    }

    /// Pairs of code positions found so far.
    pub fn pairs(&self) -> impl Iterator<Item = (Pc, Pc, AnalysisId)> {
        self.reported.iter().map(|&((one, two), analysis)| (one, two, analysis))
    }

    /// The second access of the first happens-before race of the run, if it is among these and nothing was left out
    /// before.
    fn first_race(&mut self, fresh: &[(AnalysisRef, Candidate)]) -> Option<EventId> {
        let is_hb = |analysis: AnalysisRef| analysis.about().guarantee == Guarantee::FirstIsReal;
        let first = fresh.iter().filter(|(analysis, _)| is_hb(*analysis)).map(|(_, found)| found.second).min()?;
        let totals = self.totals();
        let complete = totals.restarts + totals.recycled_threads + totals.dropped == 0 && self.sampler.is_none();
        (!std::mem::replace(&mut self.raced, true) && complete).then_some(first)
    }

    fn report(&mut self, found: News) -> Vec<Sighting> {
        let News { mut races, mut deadlocks, dropped, forgotten } = found;
        self.totals.dropped += dropped;
        self.totals.forgotten += forgotten;
        races.retain(|(analysis, found)| self.reported.insert((pair(found), analysis.id())));
        deadlocks.retain(|(analysis, cycle)| !self.reported_deadlocks.contains(&(cycle.sorted_pcs(), analysis.id())));
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

    /// Cycles whose code positions have not been reported. Those without one, of events too long ago, are dropped.
    fn deadlocks(
        &mut self,
        found: Vec<(AnalysisRef, Cycle)>,
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
            } else if self.reported_deadlocks.insert((pcs, analysis.id())) {
                let (kind, strength) = (Kind::Deadlock, Strength::Potential);
                let analysis = analysis.id();
                sightings.push(Sighting { kind, strength, analysis, certain: false, accesses });
            }
        }
        sightings
    }

    fn races(
        &mut self,
        fresh: Vec<(AnalysisRef, Candidate)>,
        known: &impl Fn(EventId, Pc) -> Sighted,
    ) -> Vec<Sighting> {
        let first = self.first_race(&fresh);
        let sighting = |(analysis, found): (AnalysisRef, Candidate)| Sighting {
            kind: Kind::Race,
            strength: Strength::Potential,
            analysis: analysis.id(),
            certain: match analysis.about().guarantee {
                Guarantee::FirstIsReal => first == Some(found.second),
                guarantee => guarantee.is_sound(),
            },
            accesses: vec![known(found.first, found.first_pc), known(found.second, found.second_pc)],
        };
        fresh.into_iter().map(sighting).collect()
    }
}

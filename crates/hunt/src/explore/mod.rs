//! Exploration: all that other schedules can do to a program, as far as the budget goes.
//!
//! Every run teaches what its threads do when they are told what they were told ([`tree`]). All runs together are a
//! model of the program, and a [`search`] through what its threads can do to each other ([`state`]) finds the next
//! thing that no run has shown: a thread that is told something new, or a state in which nobody can move. A run along
//! the way to it shows it, and teaches more. So does a run in which two accesses race, or one uses freed memory or an
//! object that was destroyed. When the search finds nothing new, every class of executions (see
//! [`classes`](crate::classes)) has been accounted for, and every failure that one thread can come to has been run
//! into.
//!
//! Source: the idea of covering executions by what reads return is that of maximal causality reduction (Huang, PLDI
//! 2015). Different here: runs are not searched one by one for reads that could return something else; what they taught
//! is put together. So the number of runs goes with what single threads can do, not with the combinations; and which
//! values meet is answered by the model, exactly, locks, conditions, barriers, semaphores, tries and timeouts included.
//! States are looked at in the order of preemptions, so that a search that does not come to its end has seen the
//! simplest ones. Such a search goes on through a model in which rounds of a loop are one ([`merge`]): what it finds
//! there is a guess until a run has shown it.
//!
//! Guarantee: if [`Explored::complete`], every execution that the runtime's scheduler can produce is of one of the
//! classes counted, provided that threads are deterministic and share nothing but what was recorded. What speaks
//! against that is told ([`Explored::why_not`]), but for values on a thread's own stack that no recorded write
//! explains: they are taken for its own doing (arguments come from registers) as long as it finds the same there in
//! every run. Loops that wait are followed for a few rounds only.

mod futures;
mod learn;
mod merge;
mod search;
mod state;
mod tree;
mod walk;
mod words;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use reweave_conductor::policy::Dice;
use reweave_model::{InputSource, MemoryOrder, Op, Schedule, ThreadId};
use reweave_predict::analyses::destroyed::recorded::late_uses;
use reweave_predict::endings::Freed;
use reweave_trace::{Outcome, Trace};

use crate::budget::{self, Bounds};
use crate::classes::Class;
use crate::confirm;
use crate::jobs::side_by_side;
use crate::replay::{base_options, is_failure, script};
use merge::Merged;
use reweave_launch::folder::PrivateFolder;
use reweave_launch::session::{self, Run};
use reweave_launch::target::Output;
use reweave_launch::{FrontEnds, Result, interrupt, memory};
use search::{Goal, Search, SearchBounds, SearchResult, Target};
use tree::Tree;
use walk::WalkBounds;

/// Equal rounds of a loop, with no effect in between, after which a thread is taken to spin: first few, so that the
/// search does not drown in loops that wait; when nothing else is left, more, as some loops are not endless.
const IMPATIENT: usize = 2;
const PATIENT: usize = 5;

/// How far it came.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Explored {
    pub runs: u64,
    pub classes: u64,
    pub states: u64,
    pub complete: bool,
    /// Why there may be more.
    pub why_not: Option<Incomplete>,
    /// The program uses memory orders that allow more than any schedule does.
    pub weak_orders: bool,
}

/// Why there may be more than exploration has shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Incomplete {
    Memory,
    Threads,
    Outside,
    Unsteady,
    Foreign,
    MoreToRun,
    States,
    Unfollowed,
    Spins,
}

impl Incomplete {
    /// Whether it could go on if it had more time.
    pub const fn is_for_lack_of_time(self) -> bool {
        matches!(self, Self::MoreToRun | Self::States)
    }
}

impl fmt::Display for Incomplete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "what its runs showed takes more memory than it may",
            Self::Threads => "it has too many threads",
            Self::Outside => {
                "it does what is not modelled (signals, files, other processes, bare futexes, or steps while the process ends)"
            }
            Self::Unsteady => "its threads do not always do the same when they read the same",
            Self::Foreign => "some values come from code that was not recorded",
            Self::MoreToRun => "more runs are needed",
            Self::States => "there are too many states",
            Self::Unfollowed => "some schedules could not be followed",
            Self::Spins => "waiting loops were followed for a few rounds only",
        })
    }
}

/// What is known of a program.
struct Explorer {
    tree: Tree,
    tried: HashSet<Goal>,
    /// How often each guess was tried.
    guesses: HashMap<Goal, u8>,
    /// Those that a run has shown.
    shown: HashSet<Goal>,
    runs: u64,
    dice: Dice,
    patience: usize,
    weak_orders: bool,
    /// The last search did not come to its end.
    is_deep: bool,
    /// What was learned takes as much memory as it may.
    is_full: bool,
}

impl Explorer {
    fn new(seed: u64) -> Self {
        Self {
            tree: Tree::default(),
            tried: HashSet::new(),
            guesses: HashMap::new(),
            shown: HashSet::new(),
            runs: 0,
            dice: Dice::new(seed),
            patience: IMPATIENT,
            weak_orders: false,
            is_deep: false,
            is_full: false,
        }
    }

    /// Learns from a run.
    fn learn(&mut self, trace: &Trace) -> Result<()> {
        self.tree.learn(trace)?;
        self.runs += 1;
        self.is_full |= self.tree.bytes() > budget::MODEL_BYTES || memory::is_over();
        Ok(())
    }

    /// Learns from a run that was made to show something.
    fn learn_of(&mut self, goal: &Goal, outcome: &Outcome, trace: &Trace) -> Result<()> {
        self.learn(trace)?;
        let shown = match goal {
            Goal::Hang { .. } => *outcome == Outcome::Hung,
            Goal::Freed { .. } => Freed::of(trace)?.is_some(),
            Goal::Gone { .. } => !late_uses(trace)?.is_empty(),
            Goal::Race { .. } => true,
            Goal::Learn { .. } | Goal::Guess { .. } => false,
        };
        if shown {
            self.shown.insert(goal.clone());
        }
        Ok(())
    }

    /// What to run next, until nothing new is to be expected: then an empty list.
    fn next(&mut self, deadline: Instant) -> (Vec<Target>, Explored) {
        let targets = budget::SEARCH_TARGETS.max(self.runs as usize / 2);
        let mut found = self.search(targets, deadline);
        if found.targets.is_empty() && found.spins && self.patience < PATIENT {
            self.patience = PATIENT;
            found = self.search(targets, deadline);
        }
        for Target { goal, .. } in &found.targets {
            match goal {
                Goal::Guess { goal, .. } => *self.guesses.entry((**goal).clone()).or_insert(0) += 1,
                goal => drop(self.tried.insert(goal.clone())),
            }
        }
        let explored = self.explored(&found);
        (found.targets, explored)
    }

    fn search(&mut self, targets: usize, deadline: Instant) -> SearchResult {
        let limits = SearchBounds { states: budget::SEARCH_STATES, targets, deadline, patience: self.patience };
        if self.is_full {
            return SearchResult::default();
        }
        // What a search in order could not come to the end of, it will not the next time.
        let guesses = if self.is_deep { self.guess(limits).unwrap_or_default() } else { Vec::new() };
        let some = SearchBounds { targets: (guesses.len() / 8).max(budget::SEARCH_TARGETS), ..limits };
        let limits = if guesses.is_empty() { limits } else { some };
        let Some(mut search) = Search::new(&self.tree, &self.tried, limits) else { return SearchResult::default() };
        search.run();
        if guesses.is_empty() && !search.found.complete {
            search.walk(&mut self.dice, targets * 2, WalkBounds::TREE);
        }
        self.is_deep = !search.found.complete;
        let mut found = search.found;
        found.targets.splice(..0, guesses);
        found
    }

    /// Where to learn something if threads that were not seen to differ are the same: beyond what the search comes to.
    fn guess(&mut self, limits: SearchBounds) -> Option<Vec<Target>> {
        let limits =
            SearchBounds { targets: limits.targets.min(budget::GUESSES), states: budget::GUESSED_STATES, ..limits };
        let merged = Merged::new(&self.tree, || search::is_over(limits.deadline))?;
        let in_vain = self.guesses.iter().filter(|(_, attempts)| **attempts >= budget::GUESS_ATTEMPTS);
        let shown = self.tried.iter().filter(|goal| matches!(goal, Goal::Race { .. } | Goal::Hang { .. }));
        let tried = shown.chain(in_vain.map(|(goal, _)| goal)).filter_map(|goal| merged.here(goal)).collect();
        let mut search = Search::of_graph(&merged.tree, &tried, limits)?;
        search.run();
        if !search.found.complete && search.found.targets.len() < limits.targets {
            search.walk(&mut self.dice, limits.targets, WalkBounds::GRAPH);
        }
        let targets = search.found.targets.into_iter().map(|Target { goal, schedule }| {
            let goal = Box::new(merged.original(&goal));
            let attempt = self.guesses.get(&goal).copied().unwrap_or(0);
            Target { goal: Goal::Guess { goal, attempt }, schedule }
        });
        Some(targets.collect())
    }

    fn explored(&self, found: &SearchResult) -> Explored {
        let doubts = self.tree.doubts;
        // A hang that was run into stays one.
        let unreached = found.unreached.iter().any(|goal| !self.shown.contains(goal));
        let why_not = match () {
            () if self.is_full => Some(Incomplete::Memory),
            () if doubts.too_many_threads => Some(Incomplete::Threads),
            () if doubts.outside => Some(Incomplete::Outside),
            () if doubts.unsteady => Some(Incomplete::Unsteady),
            () if doubts.foreign || found.foreign => Some(Incomplete::Foreign),
            () if !found.targets.is_empty() => Some(Incomplete::MoreToRun),
            () if !found.complete => Some(Incomplete::States),
            () if unreached => Some(Incomplete::Unfollowed),
            () if found.spins => Some(Incomplete::Spins),
            () => None,
        };
        Explored {
            runs: self.runs,
            classes: found.classes.len() as u64,
            states: found.states as u64,
            complete: why_not.is_none(),
            why_not,
            weak_orders: self.weak_orders,
        }
    }
}

/// The class of a run, as exploration counts them: by names, not by addresses.
pub fn class_of(trace: &Trace) -> Result<Option<Class>> {
    Ok(Tree::default().learn(trace)?)
}

/// Whether a run is short enough to be learned from.
pub const fn is_short(events: u64) -> bool {
    events <= budget::EXPLORED_EVENTS
}

/// How long it may take.
#[derive(Clone, Copy, Debug)]
pub struct ExploreLimits {
    pub front_ends: FrontEnds,
    pub until: Instant,
    /// What a run took.
    pub took: Duration,
    /// Of a run: more and it is ended.
    pub events: u64,
    pub seed: u64,
    /// Runs at a time.
    pub jobs: usize,
    /// Each in a copy of the program's folder.
    pub isolate: bool,
    /// Steps of a thread at a stretch once a run has shown what it was made for, if they are to be few.
    pub quantum: Option<u32>,
}

/// Hears of every run, whether it was made to show something that does not depend on what was read, and how far it is;
/// after each search, without a run. It may say that this is enough.
pub type Visit<'v> = dyn FnMut(Option<(&Run, bool)>, &Explored) -> Result<ControlFlow<()>> + 'v;

/// Explores from a recorded run on.
pub fn explore(trace: &Trace, limits: &ExploreLimits, visit: &mut Visit<'_>) -> Result<Explored> {
    let mut explorer = Explorer::new(limits.seed);
    explorer.weak_orders = has_weak_orders(trace)?;
    explorer.learn(trace)?;
    loop {
        let (targets, mut explored) = explorer.next(limits.until);
        if visit(None, &explored)?.is_break() || targets.is_empty() {
            return Ok(explored);
        }
        // A few at a time: whoever hears of a run may have enough.
        for some in targets.chunks(limits.jobs.max(1) * budget::RUNS_BEFORE_LOOKING) {
            if explorer.run(trace, some, limits, &mut explored, visit)?.is_break() {
                return Ok(explored);
            }
        }
    }
}

impl Explorer {
    /// Runs the program to these targets, and learns from what it does.
    fn run(
        &mut self,
        trace: &Trace,
        targets: &[Target],
        limits: &ExploreLimits,
        explored: &mut Explored,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<()>> {
        let runs = side_by_side(
            limits.jobs,
            targets,
            |target| -> Result<Option<(Run, PrivateFolder)>> {
                if Instant::now() + limits.took >= limits.until || interrupt::asked() {
                    return Ok(None);
                }
                let folder = PrivateFolder::new()?;
                let limits = &ExploreLimits { quantum: self.is_deep.then_some(budget::DEEP_QUANTUM), ..*limits };
                let run = follow(trace, target.schedule.clone(), limits, &folder)?;
                Ok(Some((run, folder)))
            },
            &mut |_| {},
        );
        let (mut over, mut told) = (false, false);
        for (target, run) in targets.iter().zip(runs) {
            let Some((run, _folder)) = run? else {
                over = true;
                continue;
            };
            // The first that failed is told all the same; where one does, most may.
            if Instant::now() >= limits.until {
                over = true;
                if told || !run.processes.iter().any(|process| is_failure(&process.outcome)) {
                    continue;
                }
                told = true;
            }
            if !self.is_full
                && let Some((process, new)) = confirm::same_program(&run, trace)?
                && is_short(process.events)
            {
                self.learn_of(&target.goal, &process.outcome, &new)?;
            }
            explored.runs += 1;
            over |=
                visit(Some((&run, matches!(target.goal, Goal::Race { .. } | Goal::Gone { .. }))), explored)?.is_break();
        }
        Ok(if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// Whether some atomics ask for less than one order of all of them.
fn has_weak_orders(trace: &Trace) -> Result<bool> {
    let mut events = trace.events();
    while let Some(event) = events.next()? {
        if let Op::Atomic { order, .. } = event.op
            && order != MemoryOrder::SeqCst
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Runs the program of a trace along a schedule.
pub fn follow(trace: &Trace, schedule: Schedule, limits: &ExploreLimits, folder: &PrivateFolder) -> Result<Run> {
    let mut options = base_options(limits.front_ends, trace.meta(), folder.path().join(confirm::TRACE));
    let lengths = schedule.lengths();
    let within = |thread: ThreadId, step, source| {
        source != InputSource::Clock && lengths.get(thread.index()).is_some_and(|length| step <= *length)
    };
    options.scripts.push(script(trace, schedule, None, within)?);
    options.isolate = limits.isolate;
    options.quantum = limits.quantum.unwrap_or(options.quantum);
    options.output = Output::File(folder.path().join(confirm::OUTPUT));
    let left = limits.until.saturating_duration_since(Instant::now());
    Bounds { time: (limits.took * 10).max(budget::LEAST_EXPLORED_RUN), events: limits.events }.set(&mut options, left);
    session::run(&options)
}

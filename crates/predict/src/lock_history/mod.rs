//! Pairwise reachability on time-stamped lock histories: can two threads be at two given points at the same time?
//!
//! Source: M. K. Ganai, *Efficient Data Race Prediction with Incremental Reasoning on Time-Stamped Lock History*, ASE
//! 2013 (iPA). A thread's history is the list of its acquisitions and releases with vector clocks. A search walks
//! through pairs of places in the histories of two threads, pruned by seventeen [checks], and keeps what it found for
//! the next question ([search]). [`LockHistories::reachable`] is the call for other analyses.
//!
//! **Guarantee**, under data abstraction (reads may return anything, [`Mode::DataAbstract`](crate::history::Mode)):
//! - [`Strategy::One`] never says *unreachable* of what some reordering reaches. It looks at the two threads alone.
//! - [`Strategy::Two`] never says *reachable* of what no reordering reaches; there is a [`Witness`]. All other threads
//!   stand still.
//! - With two threads, and locks and firm order as their only synchronization, both are exact.
//!
//! *Unknown* is for points and starts that are kept no more ([`HistoryLimits`]) and for searches that took too long.
//!
//! **The trace has more than the paper.** Fork, join, send to receive and barriers that only ever see as many threads
//! as they count are firm order for both strategies. Everything else differs:
//! - wait, notify, semaphores, other barriers, once: the paper fixes who wakes whom, the definition does not. Strategy
//!   I ignores them (a wait still releases and acquires its mutex), so it stays complete. Strategy II keeps all
//!   operations on one object in their observed order, so that each comes out as it did; that is more than any of them
//!   needs, and loses pairs.
//! - A failed try needs somebody who holds the lock. Ignored by I; II gives up on a way with one.
//! - Shared locks: as they are, exactly; see [checks].
//! - Atomics and fences: values, hence no order for either strategy.
//! - An unlock by somebody who does not hold the lock counts as a release by who does; neither guarantee covers that.
//!
//! **Starts.** The paper starts at the last matching unblock and block between the two threads, since there they meet.
//! A semaphore, a message or a fork is no meeting: who posts goes on without waiting, and a start behind it loses
//! pairs. So strategy I starts where both threads begin, and strategy II at the last snapshot before both points first
//! (the paper's choice) and then where both begin; what it reaches from either is reachable. Snapshots are moments,
//! since the state of every thread can be read off its history.

pub mod checks;
mod record;
pub mod search;
mod starts;
mod thread;
mod versions;

#[cfg(feature = "testing")]
pub use checks::Check;
pub use checks::Pair;
pub use record::Record;
#[cfg(feature = "testing")]
pub use record::Snapshot;
pub use search::{Counts, SearchOutcome};
pub use starts::Start;
pub use thread::{LockEvent, ThreadHistory};
#[cfg(feature = "testing")]
pub use thread::{Place, Time};

use std::collections::BTreeSet;

use reweave_model::EventId;

use crate::linear::{FastMap, Gone, Meeting, Sync, Thread};
#[cfg(feature = "testing")]
use checks::{Question, Side, Step};
use search::Search;
use starts::{Known, Sides};
use versions::Versions;

/// A point of a thread: right before one of its events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Point {
    pub thread: Thread,
    pub event: EventId,
}

/// What the answer is worth.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strategy {
    /// No false negative.
    One,
    /// No false positive.
    Two,
}

impl Strategy {
    /// What precedes the events of a thread, as far as this strategy cares.
    fn order(self, history: &ThreadHistory) -> &Versions {
        match self {
            Self::One => &history.firm,
            Self::Two => &history.kept,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Strategy I: perhaps. Strategy II: for sure, under data abstraction.
    Reachable,
    /// Strategy I: for sure. Strategy II: perhaps.
    Unreachable,
    Unknown,
}

/// How much is kept and how long is searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryLimits {
    /// Lock events (and clocks, and snapshots) per thread.
    pub history: usize,
    /// Calls for one question.
    pub steps: u64,
    /// Visited pairs in all searches.
    pub visited: usize,
}

impl HistoryLimits {
    /// For a trace: as much as a machine has room for.
    pub const WHOLE: Self = Self { history: 1 << 20, steps: 1 << 20, visited: 1 << 22 };
    /// For a program that runs for hours: a few MiB for ten threads.
    pub const LIVE: Self = Self { history: 1 << 13, steps: 1 << 13, visited: 1 << 16 };
}

/// Deadlock states that are kept.
const MAX_DEADLOCKS: usize = 1 << 12;

/// Who stands where, then who does which lock event: a run after which both threads are at their points.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    pub before: Before,
    /// Lock events, in order; each thread also does what lies between them.
    pub steps: Vec<(Thread, EventId)>,
}

/// What happens first, in the observed order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Before {
    /// Everything up to this event.
    Everything(EventId),
    /// What each of these threads did up to its event.
    Of(Vec<(Thread, EventId)>),
}

#[cfg(feature = "testing")]
/// What becomes of two threads at a pair of places, as far as their histories go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// They can come to the end of both.
    Free,
    /// They can still move, but always end in a deadlock.
    Doomed,
    /// Each waits for the other.
    Deadlock,
    /// One waits for a lock that the other still holds at the end of its history.
    Open,
}

/// The lock histories of a run, and what has been found out about them.
pub struct LockHistories {
    record: Record,
    known: FastMap<(u32, u32), Vec<Known>>,
    limits: HistoryLimits,
    /// Visited pairs in all of `known`.
    visited: usize,
    /// Also ask each question without what is known, to count the difference.
    compares: bool,
    /// By strategy; a question that goes on from what is known, and one that starts anew.
    counts: [(Counts, Counts); 2],
    /// invariant: the earlier one first
    deadlocks: BTreeSet<(EventId, EventId)>,
    /// Those of them that nobody has taken yet.
    fresh_deadlocks: Vec<(EventId, EventId)>,
}

impl Default for LockHistories {
    fn default() -> Self {
        Self::new(HistoryLimits::WHOLE)
    }
}

impl LockHistories {
    pub fn new(limits: HistoryLimits) -> Self {
        Self {
            record: Record::new(limits),
            known: FastMap::default(),
            limits,
            visited: 0,
            compares: false,
            counts: Default::default(),
            deadlocks: BTreeSet::new(),
            fresh_deadlocks: Vec::new(),
        }
    }

    /// Asks each question twice, with and without what is known, and counts the steps of both.
    pub fn comparing(mut self) -> Self {
        self.compares = true;
        self
    }

    #[inline]
    pub fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        self.record.sync(event, thread, sync);
    }

    pub fn meet(&mut self, event: EventId, thread: Thread, meeting: Meeting) {
        self.record.meet(event, thread, meeting);
    }

    /// Forgets every history up to where it last mentions a lock that is gone. Returns how many lock events went.
    pub fn retire(&mut self, gone: Gone<'_>) -> u64 {
        // Searches know locks that others held where they started.
        self.known.clear();
        self.visited = 0;
        self.record.retire(gone)
    }

    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Steps of all searches with a strategy: with what was known, and (if compared) without.
    pub fn counts(&self, strategy: Strategy) -> (Counts, Counts) {
        self.counts[strategy as usize]
    }

    /// Acquisitions that wait for each other, in states that strategy II (hence some reordering) reaches. The earlier
    /// one first.
    pub fn deadlocks(&self) -> &BTreeSet<(EventId, EventId)> {
        &self.deadlocks
    }

    /// Those of [`LockHistories::deadlocks`] that came since this was last asked.
    pub fn take_fresh_deadlocks(&mut self) -> Vec<(EventId, EventId)> {
        std::mem::take(&mut self.fresh_deadlocks)
    }

    /// Whether the two threads can be at these points at the same time, whatever the reads return.
    pub fn reachable(&mut self, one: Point, two: Point, strategy: Strategy) -> Reach {
        let (a, b) = sorted(one, two);
        self.answer(a, b, strategy)
    }

    #[cfg(feature = "testing")]
    /// The question behind [`LockHistories::reachable`], as if there were no other threads, and the pairs from which
    /// the answer is searched: for those who want to see the steps.
    pub fn question(&mut self, one: Point, two: Point, strategy: Strategy) -> (Question<'_>, Vec<Pair>) {
        let (a, b) = sorted(one, two);
        self.record.catch_up([a.thread, b.thread]);
        let Sides { a: first, b: second } = Sides::of(&self.record, a, b, strategy);
        let pair = |start: Start| start.pair((a.thread, first.history), (b.thread, second.history));
        let starts = Start::of(&self.record, a, b, strategy).into_iter().map(pair).collect();
        (Question { a: first, b: second, needs_others: false }, starts)
    }

    #[cfg(feature = "testing")]
    /// How to get there, if strategy II knows.
    pub fn witness(&mut self, one: Point, two: Point) -> Option<Witness> {
        match self.reachable(one, two, Strategy::Two) {
            Reach::Reachable => self.way_just_found(one, two),
            _ => None,
        }
    }

    /// How to get there, right after strategy II has said that it is reachable: nothing is searched or counted again.
    pub fn way_just_found(&self, one: Point, two: Point) -> Option<Witness> {
        let (a, b) = sorted(one, two);
        let known = self.known.get(&(a.thread.0, b.thread.0))?.last()?;
        let record = &self.record;
        let (first, second) = (record.thread(a.thread)?, record.thread(b.thread)?);
        let target = Pair { a: first.place_before(a.event), b: second.place_before(b.event) };
        let mut steps = Vec::new();
        for pairs in known.search.path(target)?.windows(2) {
            // Of two releases either may come first.
            if pairs[0].a != pairs[1].a {
                steps.push((a.thread, first.at(pairs[0].a)?.event));
            }
            if pairs[0].b != pairs[1].b {
                steps.push((b.thread, second.at(pairs[0].b)?.event));
            }
        }
        Some(Witness { before: known.start.before(record), steps })
    }

    #[cfg(feature = "testing")]
    /// What becomes of the two threads at these places if all but locks keeps its order.
    pub fn fate(&mut self, one: Thread, two: Thread, at: Pair) -> Fate {
        self.record.catch_up([one, two]);
        let side = |thread: Thread| {
            let history = &self.record.threads()[thread.index()];
            let target = history.end();
            Side { thread, history, order: &history.kept, target, event: EventId(u64::MAX) }
        };
        let question = Question { a: side(one), b: side(two), needs_others: false };
        if question.check(at) == (Check::Deadlock, Step::Fail) {
            return Fate::Deadlock;
        }
        let mut stalls = false;
        let found = Search::new(at).ask_and_tell(&question, self.limits.steps, &mut |_, check| {
            stalls |= check == Check::Stall;
        });
        match found {
            SearchOutcome::Reached => Fate::Free,
            SearchOutcome::Unreachable if !stalls => Fate::Doomed,
            _ => Fate::Open,
        }
    }

    /// The answer; the search that reached the points is then the last of those known.
    fn answer(&mut self, a: Point, b: Point, strategy: Strategy) -> Reach {
        self.record.catch_up([a.thread, b.thread]);
        let Self { record, known, limits, visited, counts, compares, deadlocks, fresh_deadlocks } = self;
        let sides = Sides::of(record, a, b, strategy);
        if a.thread == b.thread {
            return Reach::Unreachable;
        }
        if !sides.a.history.reaches_back_to(a.event) || !sides.b.history.reaches_back_to(b.event) {
            return Reach::Unknown;
        }
        if sides.are_ordered() || sides.exclude() {
            return Reach::Unreachable;
        }
        if *visited > limits.visited {
            known.clear();
            *visited = 0;
        }
        let all = known.entry((a.thread.0, b.thread.0)).or_default();
        let starts = Start::of(record, a, b, strategy);
        let mut answer = if starts.is_empty() { Reach::Unknown } else { Reach::Unreachable };
        for start in starts {
            let known = Known::find(all, start, strategy, record, &sides);
            let question = known.question(&sides);
            let (before, size) = (known.search.counts, known.search.size());
            let found = known.search.ask(&question, limits.steps);
            *visited += known.search.size() - size;
            let counts = &mut counts[strategy as usize];
            counts.0 += since(known.search.counts, before);
            if *compares {
                let mut anew = Search::new(known.search.start());
                anew.ask(&question, limits.steps);
                counts.1 += anew.counts;
            }
            if strategy == Strategy::Two && deadlocks.len() < MAX_DEADLOCKS {
                let acquires = |event: &&LockEvent| !event.is_release();
                let waits = |pair: &Pair| {
                    let one = sides.a.history.at(pair.a).filter(acquires)?.event;
                    let two = sides.b.history.at(pair.b).filter(acquires)?.event;
                    Some((one.min(two), one.max(two)))
                };
                for pair in known.search.deadlocks().iter().filter_map(waits) {
                    if deadlocks.insert(pair) {
                        fresh_deadlocks.push(pair);
                    }
                }
            }
            match found {
                SearchOutcome::Reached => return Reach::Reachable,
                SearchOutcome::Unreachable => {}
                SearchOutcome::OutOfSteps => answer = Reach::Unknown,
            }
        }
        answer
    }
}

fn sorted(one: Point, two: Point) -> (Point, Point) {
    (one.min(two), one.max(two))
}

fn since(after: Counts, before: Counts) -> Counts {
    Counts {
        calls: after.calls - before.calls,
        potential_calls: after.potential_calls - before.potential_calls,
        both: after.both - before.both,
        lcc: after.lcc - before.lcc,
        rc: after.rc - before.rc,
    }
}

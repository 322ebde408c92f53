//! Races by lock histories (iPA, M. K. Ganai, ASE 2013): what happens-before and locksets leave and lock histories do
//! not refute.
//!
//! A pair of accesses comes here if it conflicts, if no chain of firm edges orders it and if no common lock keeps it
//! apart (all that by [`lockset`](super::lockset), which runs inside). Then [`lock_history`](crate::lock_history) says
//! whether the two threads can be there at the same time.
//!
//! Candidates are the pairs of code positions that strategy I does not refute: no race of those pairs of accesses that
//! were asked about is missed. Which of them strategy II shows to be reachable, whatever the reads return, is in the
//! statistics, and its way there can be had ([`Linear::ways`]), for runs to be steered along. Under data abstraction
//! neither is a prediction.
//!
//! Deviations from the paper:
//! - It asks about every pair of accesses; this, until one pair of accesses of a pair of code positions is not refuted,
//!   and at most [`TRIES`] times, at accesses further and further apart. A pair of code positions may thus be refuted
//!   although a pair of accesses nobody asked about is reachable: `unasked` counts those that ran out of tries.
//! - What happens-before leaves is counted by code positions too.
//!
//! Cost: lock operations are appended, other synchronization costs as much as in `hb`, and accesses cost nothing unless
//! there is a new pair of code positions. Memory: [`HistoryLimits`]; a pair that needs more stays a candidate, and is
//! counted.

use reweave_model::{Claim, EventId, Kind, Pc};
use reweave_trace::Result;

use super::lockset::{Lockset, LocksetRaces, UnlockedPair};
use crate::analysis::{About, Analysis, Guarantee, Watching};
use crate::linear::{
    Access, Before, Candidate, Candidates, Cycle, FastMap, Gone, Linear, Meeting, PcId, Sync, Thread, Touch, Way, Word,
};
use crate::lock_history::{self, Counts, HistoryLimits, LockHistories, Point, Reach, Strategy};
use crate::prediction::{Prediction, Shows};

/// The analysis `lock-history`.
pub struct LockHistory;

impl Analysis for LockHistory {
    fn about(&self) -> About {
        let summary = "those that the histories of locks do not refute (iPA): patterns, may be false";
        About::new("lock-history", Kind::Race, Guarantee::Complete, summary).claiming(Claim::LocksAllowIt)
    }

    fn pass(&self) -> Option<Box<dyn Linear>> {
        Some(Box::new(LockHistoryRaces::comparing()))
    }
    fn watching(&self) -> Option<Watching> {
        let watching = Watching::new(|| Box::new(LockHistoryRaces::new(HistoryLimits::LIVE)));
        // Patterns: for who asks for them.
        // What was refuted is looked for again at later accesses, repeated or not.
        Some(Watching { inside: Some(&Lockset), is_default: false, ignores_repeats: false, ..watching })
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.races(self.id(), Shows::ByName)
    }
}

/// Pairs of accesses asked about for one pair of code positions.
const TRIES: u32 = 16;
/// Lock operations until refuted pairs are looked for again; each time twice as many.
const FIRST_LOOK: u64 = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Verdict {
    /// By strategy I, each time.
    Refuted,
    /// Neither strategy settles it.
    Open,
    /// By strategy II.
    Shown,
    /// Strategy I would have had to know or search more.
    Unknown,
}

struct Asked {
    verdict: Verdict,
    tries: u32,
    /// The first pair of accesses, as the smaller and the larger code position.
    events: (EventId, EventId),
}

pub struct LockHistoryRaces {
    lockset: LocksetRaces,
    histories: LockHistories,
    /// By pair of code positions, the smaller number first.
    asked: FastMap<(u32, u32), Asked>,
    questions: u64,
    /// Lock operations until accesses are compared again; none if nothing is refuted.
    until_look: u64,
    next_look: u64,
    after_hb: Option<u64>,
    all: Vec<Candidate>,
    /// Refuted pairs of code positions that [`Linear::news`] has not told yet.
    fresh_refuted: Vec<(u32, u32)>,
    /// Lock operations forgotten with the locks they were of.
    retired: u64,
    /// How strategy II comes to what it shows, if that is to be kept.
    ways: Option<Ways>,
}

#[derive(Default)]
struct Ways {
    all: Vec<Way>,
    /// Who was forked where. A number stands for several threads if each is joined before the next.
    forks: Vec<(Thread, EventId)>,
}

impl Ways {
    fn add(&mut self, witness: lock_history::Witness, last: (EventId, EventId)) {
        let users = |(thread, until): (Thread, EventId)| {
            let first = (thread == Thread(0)).then_some((None, until));
            let forks = self.forks.iter().filter(move |(child, fork)| *child == thread && *fork < until);
            first.into_iter().chain(forks.map(move |(_, fork)| (Some(*fork), until))).collect::<Vec<_>>()
        };
        let before = match witness.before {
            lock_history::Before::Everything(until) => Before::Everything(until),
            lock_history::Before::Of(each) => Before::Of(each.into_iter().flat_map(users).collect()),
        };
        let steps = witness.steps.into_iter().map(|(_, event)| event).collect();
        self.all.push(Way { before, steps, last: (last.0.min(last.1), last.0.max(last.1)) });
    }
}

impl Default for LockHistoryRaces {
    fn default() -> Self {
        Self::new(HistoryLimits::WHOLE)
    }
}

impl LockHistoryRaces {
    pub fn new(limits: HistoryLimits) -> Self {
        let mut lockset = LocksetRaces::default();
        lockset.found = Some(Vec::new());
        Self {
            lockset,
            histories: LockHistories::new(limits),
            asked: FastMap::default(),
            questions: 0,
            until_look: u64::MAX,
            next_look: FIRST_LOOK,
            after_hb: None,
            all: Vec::new(),
            fresh_refuted: Vec::new(),
            retired: 0,
            ways: None,
        }
    }

    /// Asks each question twice, with and without what is known, and counts what locks protect: for the statistics.
    /// Keeps how strategy II comes to what it shows.
    pub fn comparing() -> Self {
        let mut races = Self::default();
        races.histories = races.histories.comparing();
        races.lockset.protected = Some(FastMap::default());
        races.ways = Some(Ways::default());
        races
    }

    /// What locksets leave, refuted or not. After [`Linear::finish`].
    pub fn lockset_candidates(&self) -> &[Candidate] {
        &self.all
    }

    /// The candidate for a pair of code positions, with the events there.
    fn candidate(&self, key: (u32, u32), (a, b): (EventId, EventId)) -> Candidate {
        let (one, two) = (self.lockset.pcs.pc(PcId(key.0)), self.lockset.pcs.pc(PcId(key.1)));
        let (first, second, first_pc, second_pc) = if a <= b { (a, b, one, two) } else { (b, a, two, one) };
        Candidate { first, second, first_pc, second_pc }
    }

    fn is_refuted(&self, pair: &Candidate) -> bool {
        let known = |pc| self.lockset.pcs.known(pc);
        let (Some(one), Some(two)) = (known(pair.first_pc), known(pair.second_pc)) else { return false };
        let asked = self.asked.get(&(one.0.min(two.0), one.0.max(two.0)));
        asked.is_some_and(|asked| asked.verdict == Verdict::Refuted)
    }

    fn ask_about_found(&mut self) {
        let Some(found) = &mut self.lockset.found else { return };
        for pair in std::mem::take(found) {
            self.ask(pair);
        }
    }

    #[cold]
    fn ask(&mut self, UnlockedPair { first, second }: UnlockedPair) {
        let point = |(thread, event, _): (Thread, EventId, PcId)| Point { thread, event };
        let (one, two) = (point(first), point(second));
        let verdict = match self.histories.reachable(one, two, Strategy::One) {
            Reach::Unreachable => Verdict::Refuted,
            may_be => match (self.histories.reachable(one, two, Strategy::Two), may_be) {
                (Reach::Reachable, _) => Verdict::Shown,
                (_, Reach::Unknown) => Verdict::Unknown,
                _ => Verdict::Open,
            },
        };
        self.questions += 1;
        if verdict == Verdict::Shown
            && let Some(ways) = &mut self.ways
            && let Some(witness) = self.histories.way_just_found(one, two)
        {
            ways.add(witness, (one.event, two.event));
        }
        let (a, b) = (first.2, second.2);
        let (key, events) = if a <= b { ((a.0, b.0), (first.1, second.1)) } else { ((b.0, a.0), (second.1, first.1)) };
        let asked = self.asked.entry(key).or_insert(Asked { verdict, tries: 0, events });
        asked.tries += 1;
        asked.verdict = verdict;
        if verdict == Verdict::Refuted && asked.tries == 1 {
            self.fresh_refuted.push(key);
        }
        if verdict == Verdict::Refuted && asked.tries < TRIES {
            self.lockset.pcs.forget(a, b);
            if self.until_look == u64::MAX {
                self.until_look = self.next_look;
            }
        }
    }

    /// Another pair of accesses of what was refuted may be reachable.
    #[cold]
    fn look_again(&mut self) {
        self.lockset.compare_again();
        self.next_look = self.next_look.saturating_mul(2);
        let open = self.asked.values().any(|asked| asked.verdict == Verdict::Refuted && asked.tries < TRIES);
        self.until_look = if open { self.next_look } else { u64::MAX };
    }
}

impl Linear for LockHistoryRaces {
    #[inline]
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        self.lockset.access(access, touched);
        self.ask_about_found();
    }

    fn accesses(&mut self, batch: &[(Access, Touch)]) {
        self.lockset.accesses(batch);
        if self.lockset.found.as_ref().is_some_and(|found| !found.is_empty()) {
            self.ask_about_found();
        }
    }

    fn left_out(&mut self, words: u64) {
        self.lockset.left_out(words);
    }

    fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        if let (Sync::Fork { child }, Some(ways)) = (sync, &mut self.ways) {
            ways.forks.push((child, event));
        }
        self.lockset.sync(event, thread, sync);
        self.histories.sync(event, thread, sync);
        self.until_look -= 1;
        if self.until_look == 0 {
            self.look_again();
        }
    }

    fn meet(&mut self, event: EventId, thread: Thread, meeting: Meeting) {
        self.histories.meet(event, thread, meeting);
    }

    fn forget(&mut self, word: Word) {
        self.lockset.forget(word);
    }

    /// The histories end behind the last operation on a lock that is gone: what is left of them would say too much.
    fn retire(&mut self, gone: Gone<'_>) -> bool {
        self.retired += self.histories.retire(gone);
        self.lockset.retire(gone)
    }

    fn news(&mut self) -> Candidates {
        let mut news = self.lockset.news();
        // Those that ran out of tries still count as found there.
        news.pairs.retain(|pair| !self.is_refuted(pair));
        let refuted = std::mem::take(&mut self.fresh_refuted);
        news.refuted.extend(refuted.into_iter().filter_map(|key| {
            let asked = self.asked.get(&key).filter(|asked| asked.verdict == Verdict::Refuted)?;
            Some(self.candidate(key, asked.events))
        }));
        let cycle = |(one, two)| Cycle { requests: vec![one, two], pcs: vec![Pc(0); 2] };
        news.cycles.extend(self.histories.take_fresh_deadlocks().into_iter().map(cycle));
        news
    }

    fn finish(&mut self) -> Candidates {
        let protected = self.lockset.protected.take();
        let mut found = self.lockset.finish();
        found.pairs.retain(|pair| !self.is_refuted(pair));
        let refuted = self.asked.iter().filter(|(_, asked)| asked.verdict == Verdict::Refuted);
        found.refuted = refuted.map(|(&key, asked)| self.candidate(key, asked.events)).collect();
        self.all = [found.pairs.as_slice(), found.refuted.as_slice()].concat();
        self.all.sort_unstable_by_key(|c| (c.second, c.first, c.first_pc, c.second_pc));
        let apart =
            |protected: FastMap<(u32, u32), ()>| protected.keys().filter(|key| !self.asked.contains_key(key)).count();
        self.after_hb = protected.map(|protected| (self.asked.len() + apart(protected)) as u64);
        found
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        let count = |verdict| self.asked.values().filter(|asked| asked.verdict == verdict).count() as u64;
        let unasked = |asked: &&Asked| asked.verdict == Verdict::Refuted && asked.tries >= TRIES;
        let ((one, one_anew), (two, two_anew)) =
            (self.histories.counts(Strategy::One), self.histories.counts(Strategy::Two));
        let mut stats: Vec<(&'static str, u64)> = self.after_hb.iter().map(|&count| ("after_hb", count)).collect();
        stats.extend([
            ("after_lockset", self.asked.len() as u64),
            ("after_one", self.asked.len() as u64 - count(Verdict::Refuted)),
            ("after_two", count(Verdict::Shown)),
            ("unknown", count(Verdict::Unknown)),
            ("unasked", self.asked.values().filter(unasked).count() as u64),
            ("questions", self.questions),
            ("forgotten_events", self.histories.record().dropped + self.retired),
            ("deadlocks", self.histories.deadlocks().len() as u64),
        ]);
        for (names, counts) in [(ONE, one), (ONE_ANEW, one_anew), (TWO, two), (TWO_ANEW, two_anew)] {
            let Counts { calls, potential_calls, both, lcc, rc } = counts;
            stats.extend(names.into_iter().zip([calls, potential_calls, both, lcc, rc]));
        }
        stats
    }

    fn deadlocks(&self) -> Vec<(EventId, EventId)> {
        self.histories.deadlocks().iter().copied().collect()
    }

    fn ways(&self) -> Vec<Way> {
        self.ways.as_ref().map_or_else(Vec::new, |ways| ways.all.clone())
    }
}

/// The columns of the paper's Table VI, for each strategy and without what is known from earlier questions.
const ONE: [&str; 5] = ["one_calls", "one_potential_calls", "one_both", "one_lcc", "one_rc"];
const ONE_ANEW: [&str; 5] =
    ["one_anew_calls", "one_anew_potential_calls", "one_anew_both", "one_anew_lcc", "one_anew_rc"];
const TWO: [&str; 5] = ["two_calls", "two_potential_calls", "two_both", "two_lcc", "two_rc"];
const TWO_ANEW: [&str; 5] =
    ["two_anew_calls", "two_anew_potential_calls", "two_anew_both", "two_anew_lcc", "two_anew_rc"];

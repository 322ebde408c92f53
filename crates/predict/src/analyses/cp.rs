//! Causally-precedes (Smaragdakis, Evans, Sadowski, Yi, Flanagan: Sound Predictive Race Detection in Polynomial Time,
//! POPL 2012).
//!
//! The smallest order ≺ such that, for critical sections of one lock that exclude each other, the release of the first
//! ≺ the acquisition of the second if (a) they hold conflicting events or (b) an event of the first ≼ an event of the
//! second; and (c) ≺ followed or preceded by happens-before is ≺. `≼` is ≺ or hard: program order and all
//! synchronization but locks, in observed order. Candidates are conflicting pairs that ≼ does not order; the first of a
//! trace is a race or comes with a deadlock.
//!
//! Unlike weak causal precedence this needs the future (an edge into an acquisition shows only at what follows it), so
//! that it goes through windows of the trace until nothing changes. Deviation: an order that rests on events beyond the
//! window is not seen, unless weak causal precedence has it too; and of pairs further apart only those that
//! happens-before leaves unordered are candidates. So what is found lies between those two in any case.

use std::collections::HashSet;

use reweave_model::{EventId, Kind, LockMode};
use reweave_trace::Result;

use super::hb::HbRaces;
use super::wcp::WcpRaces;
use crate::analysis::{About, Analysis, Guarantee};
use crate::linear::{
    Access, AccessKind, Candidate, Candidates, Edges, FastMap, Linear, Lock, Order, Races, Sync, Thread, Touch,
    VectorClock, Word,
};
use crate::prediction::{Prediction, Shows};

/// The analysis `cp`.
pub struct Cp;

impl Analysis for Cp {
    fn about(&self) -> About {
        let summary = "causally-precedes, in windows";
        About::new("cp", Kind::Race, Guarantee::FirstIsReal, summary)
    }

    fn pass(&self) -> Option<Box<dyn Linear>> {
        Some(Box::<CpRaces>::default())
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.races(self.id(), Shows::ByName)
    }
}

/// Steps of a window unless told.
const WINDOW: usize = 4096;

enum Step {
    Access { access: Access, touched: Vec<Touch> },
    Sync { thread: Thread, sync: Sync, section: Option<usize> },
    Forget(Word),
}

/// A critical section. Positions are steps of the window; `None` if outside.
struct Section {
    lock: Lock,
    mode: LockMode,
    thread: Thread,
    acquired: Option<usize>,
    released: Option<usize>,
    acquired_epoch: u32,
    touched: Vec<(Touch, AccessKind)>,
    /// The clock of happens-before at the release.
    past: VectorClock,
    /// Sections whose release ≺ this acquisition.
    after: Vec<usize>,
}

/// A section that touches a word: which, the bytes, how.
type Entry = (usize, u8, AccessKind);

/// Clocks in the course of a pass.
#[derive(Clone)]
struct State {
    happens_before: Order,
    hard: Order,
}

impl State {
    fn start(&mut self, thread: Thread) -> u32 {
        let epoch = self.happens_before.epoch(thread);
        self.hard.thread(thread).set(thread, epoch);
        epoch
    }

    fn sync(&mut self, thread: Thread, sync: Sync) {
        self.start(thread);
        self.happens_before.sync(thread, sync);
        self.hard.sync(thread, sync);
        self.happens_before.end_epochs(thread, sync);
        self.start(thread);
        if let Sync::Join { child } = sync {
            self.start(child);
        }
    }
}

pub struct CpRaces {
    window: usize,
    steps: Vec<Step>,
    sections: Vec<Section>,
    /// Sections that are open, by thread.
    open: Vec<Vec<usize>>,
    at_start: State,
    races: Races,
    hb: HbRaces,
    wcp: WcpRaces,
}

impl Default for CpRaces {
    fn default() -> Self {
        Self::with_window(WINDOW)
    }
}

impl CpRaces {
    /// Windows of so many steps.
    pub fn with_window(window: usize) -> Self {
        let at_start = State { happens_before: Order::along(Edges::All), hard: Order::along(Edges::NoLocks) };
        Self {
            window: window.max(1),
            steps: Vec::new(),
            sections: Vec::new(),
            open: Vec::new(),
            at_start,
            races: Races::default(),
            hb: HbRaces::default(),
            wcp: WcpRaces::default(),
        }
    }

    fn open(&mut self, thread: Thread) -> &mut Vec<usize> {
        if self.open.len() <= thread.index() {
            self.open.resize_with(thread.index() + 1, Vec::new);
        }
        &mut self.open[thread.index()]
    }

    fn push(&mut self, step: Step) {
        self.steps.push(step);
        if self.steps.len() >= self.window {
            self.close_window();
        }
    }

    fn close_window(&mut self) {
        self.conflicts();
        while self.pass(false).1 {}
        let (state, _) = self.pass(true);
        self.at_start = state;
        for step in std::mem::take(&mut self.steps) {
            if let Step::Access { touched, .. } = step {
                touched.iter().for_each(|touch| self.races.forget(touch.word));
            }
        }
        // Sections that go on: their past counts, their acquisition is out of the window.
        let mut kept = Vec::new();
        for (index, mut section) in std::mem::take(&mut self.sections).into_iter().enumerate() {
            if section.released.is_none() {
                let place = self.open[section.thread.index()].iter_mut().find(|open| **open == index);
                if let Some(place) = place {
                    *place = kept.len();
                    section.acquired = None;
                    section.after.clear();
                    kept.push(section);
                }
            }
        }
        self.sections = kept;
    }

    /// Rule (a).
    fn conflicts(&mut self) {
        let mut at: FastMap<(Lock, Word), Vec<Entry>> = FastMap::default();
        for (index, section) in self.sections.iter().enumerate() {
            for (touch, kind) in &section.touched {
                at.entry((section.lock, touch.word)).or_default().push((index, touch.mask, *kind));
            }
        }
        for index in 0..self.sections.len() {
            let mut after = Vec::new();
            let section = &self.sections[index];
            for (touch, kind) in &section.touched {
                for &(other, mask, other_kind) in &at[&(section.lock, touch.word)] {
                    let clash = mask & touch.mask != 0 && (kind.writes() || other_kind.writes());
                    if clash && comes_before(&self.sections[other], section) {
                        after.push(other);
                    }
                }
            }
            after.sort_unstable();
            after.dedup();
            self.sections[index].after = after;
        }
    }

    /// One pass over the window, with the edges known so far. Returns the clocks at its end and whether there are more.
    fn pass(&mut self, last: bool) -> (State, bool) {
        let mut state = self.at_start.clone();
        let mut precedes = Order::along(Edges::All);
        let mut changed = false;
        for at in 0..self.steps.len() {
            match &self.steps[at] {
                Step::Access { access, touched } => {
                    let epoch = state.start(access.thread);
                    if last {
                        let known = known(&mut state, &mut precedes, access.thread);
                        self.races.access(access, touched, epoch, &known);
                    }
                }
                Step::Forget(word) => {
                    if last {
                        self.races.forget(*word);
                    }
                }
                &Step::Sync { thread, sync, section } => {
                    let epoch = state.start(thread);
                    if let (Sync::Release { .. }, Some(section)) = (sync, section) {
                        self.sections[section].past.copy_from(state.happens_before.clock(thread));
                        let known = known(&mut state, &mut precedes, thread);
                        changed |= self.nested(section, &known);
                    }
                    state.sync(thread, sync);
                    precedes.sync(thread, sync);
                    if let (Sync::Acquire { .. }, Some(section)) = (sync, section) {
                        self.sections[section].acquired_epoch = epoch;
                        for &before in &self.sections[section].after {
                            precedes.thread(thread).join(&self.sections[before].past);
                        }
                    }
                }
            }
        }
        for section in 0..self.sections.len() {
            let Section { thread, released: None, .. } = self.sections[section] else { continue };
            let known = known(&mut state, &mut precedes, thread);
            changed |= self.nested(section, &known);
        }
        (state, changed)
    }

    /// Rule (b), for a section at whose end this much is known.
    fn nested(&mut self, index: usize, known: &VectorClock) -> bool {
        let section = &self.sections[index];
        let mut more = Vec::new();
        for (other, before) in self.sections.iter().enumerate() {
            if comes_before(before, section)
                && before.acquired_epoch <= known.get(before.thread)
                && !section.after.contains(&other)
            {
                more.push(other);
            }
        }
        let changed = !more.is_empty();
        self.sections[index].after.append(&mut more);
        changed
    }
}

/// Whether the sections exclude each other, are of different threads, and the first ends before the second begins.
fn comes_before(first: &Section, second: &Section) -> bool {
    let in_window = matches!((first.released, second.acquired), (Some(end), Some(start)) if end < start);
    in_window
        && first.lock == second.lock
        && first.thread != second.thread
        && (first.mode == LockMode::Exclusive || second.mode == LockMode::Exclusive)
}

fn known(state: &mut State, precedes: &mut Order, thread: Thread) -> VectorClock {
    let mut known = state.hard.thread(thread).clone();
    known.join(precedes.thread(thread));
    known
}

impl Linear for CpRaces {
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        self.hb.access(access, touched);
        self.wcp.access(access, touched);
        for index in self.open(access.thread).clone() {
            let section = &mut self.sections[index];
            for touch in touched {
                let new = (*touch, access.kind);
                if !section.touched.contains(&new) {
                    section.touched.push(new);
                }
            }
        }
        self.push(Step::Access { access: *access, touched: touched.to_vec() });
    }

    fn left_out(&mut self, words: u64) {
        self.races.pcs.dropped += words;
    }

    fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        self.hb.sync(event, thread, sync);
        self.wcp.sync(event, thread, sync);
        let at = self.steps.len();
        let section = match sync {
            Sync::Acquire { lock, mode } => {
                let index = self.sections.len();
                self.sections.push(Section {
                    lock,
                    mode,
                    thread,
                    acquired: Some(at),
                    released: None,
                    acquired_epoch: 0,
                    touched: Vec::new(),
                    past: VectorClock::default(),
                    after: Vec::new(),
                });
                self.open(thread).push(index);
                Some(index)
            }
            Sync::Release { lock, mode } => {
                let open = self.open(thread).clone();
                let is = |&&index: &&usize| (self.sections[index].lock, self.sections[index].mode) == (lock, mode);
                let found = open.iter().rev().find(is).copied();
                if let Some(index) = found {
                    self.sections[index].released = Some(at);
                    self.open(thread).retain(|&open| open != index);
                }
                found
            }
            _ => None,
        };
        self.push(Step::Sync { thread, sync, section });
    }

    fn forget(&mut self, word: Word) {
        self.hb.forget(word);
        self.wcp.forget(word);
        for open in &self.open {
            for &index in open {
                self.sections[index].touched.retain(|(touch, _)| touch.word != word);
            }
        }
        self.push(Step::Forget(word));
    }

    fn finish(&mut self) -> Candidates {
        self.close_window();
        let key = |c: &Candidate| (c.first_pc.min(c.second_pc), c.first_pc.max(c.second_pc));
        let mut found = self.races.pcs.finish();
        let possible: HashSet<_> = self.wcp.finish().pcs().into_iter().collect();
        found.pairs.retain(|candidate| possible.contains(&key(candidate)));
        let known: HashSet<_> = found.pairs.iter().map(key).collect();
        let further = self.hb.finish();
        found.dropped += further.dropped;
        found.pairs.extend(further.pairs.into_iter().filter(|candidate| !known.contains(&key(candidate))));
        found.pairs.sort_unstable_by_key(|c| (c.second, c.first, c.first_pc, c.second_pc));
        found
    }
}

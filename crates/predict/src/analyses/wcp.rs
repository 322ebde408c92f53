//! Weak causal precedence (Kini, Mathur, Viswanathan: Dynamic Race Prediction in Linear Time, PLDI 2017).
//!
//! The smallest order ≺ such that, for critical sections of one lock that exclude each other,
//! (a) the release of the first ≺ an event of the second that conflicts with an event of the first,
//! (b) the release of the first ≺ the release of the second, if an event of the first ≼ an event of the second,
//! (c) ≺ followed or preceded by happens-before is ≺.
//! `≼` is ≺ or hard: program order and all synchronization but locks, in observed order. Candidates are conflicting
//! pairs that ≼ does not order. The first of a trace is a race or comes with a deadlock; later ones may be false.
//!
//! Deviations: hard edges between threads (the paper has none but fork and join); shared locks; every pair of code
//! positions is reported. The paper's two queues of clocks per lock and thread are one list of sections per lock and
//! thread and a cursor for each reader: by epochs, knowing a clock is knowing one number of it.
//!
//! Memory: sections stay until every thread has passed them, as in the paper linear in the worst case.

use std::collections::VecDeque;
use std::rc::Rc;

use reweave_model::{EventId, Kind, LockMode};
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee};
use crate::linear::{
    Access, AccessKind, Candidates, Edges, FastMap, Linear, Lock, Order, Races, Sync, Thread, Touch, VectorClock, Word,
};
use crate::prediction::{Prediction, Shows};

/// The analysis `wcp`.
pub struct Wcp;

impl Analysis for Wcp {
    fn about(&self) -> About {
        let summary = "weak causally-precedes";
        About::new("wcp", Kind::Race, Guarantee::FirstIsReal, summary).by_default().costly()
    }

    fn pass(&self) -> Option<Box<dyn Linear>> {
        Some(Box::<WcpRaces>::default())
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.races(self.id(), Shows::ByName)
    }
}

/// A clock at a release, shared by all that remember it.
type Past = Rc<[u32]>;

/// The last section of a thread on a lock that touched these bytes so.
struct Conflict {
    thread: Thread,
    mode: LockMode,
    mask: u8,
    kind: AccessKind,
    /// Of the release.
    epoch: u32,
    past: Past,
}

/// A finished critical section.
struct Section {
    mode: LockMode,
    acquired: u32,
    released: u32,
    past: Past,
}

/// Sections of one thread on one lock; `gone` of them have been dropped.
#[derive(Default)]
struct Sections {
    list: VecDeque<Section>,
    gone: usize,
    /// By reading thread: how many it has passed.
    passed: Vec<usize>,
}

/// A critical section that is open.
struct Open {
    lock: Lock,
    mode: LockMode,
    acquired: u32,
    touched: Touched,
}

/// A word touched in a section: the bytes, how, and the life it was in.
type Trodden = (Word, u8, AccessKind, u32);

/// What a section touched, each once. Most sections are short: only longer ones need more than a glance.
#[derive(Default)]
struct Touched {
    list: Vec<Trodden>,
    /// The same, once there are many.
    set: FastMap<(Word, u8, AccessKind), u32>,
}

const FEW: usize = 12;

impl Touched {
    #[inline]
    fn insert(&mut self, new: Trodden) {
        if self.list.len() < FEW {
            if !self.list.contains(&new) {
                self.list.push(new);
            }
            return;
        }
        let (word, mask, kind, life) = new;
        if self.set.insert((word, mask, kind), life) != Some(life) && !self.list[..FEW].contains(&new) {
            self.list.push(new);
        }
    }

    fn clear(&mut self) {
        self.list.clear();
        self.set.clear();
    }
}

#[derive(Default)]
struct AtWord {
    life: u32,
    locks: Vec<(Lock, Vec<Conflict>)>,
}

pub struct WcpRaces {
    happens_before: Order,
    /// What is ≺ the next event of each thread; travels along happens-before.
    precedes: Order,
    hard: Order,
    /// The join of `precedes` and `hard`, for each thread.
    known: Vec<VectorClock>,
    races: Races,
    open: Vec<Vec<Open>>,
    words: Vec<AtWord>,
    locks: Vec<Vec<Sections>>,
    spare: Vec<Touched>,
}

impl Default for WcpRaces {
    fn default() -> Self {
        Self {
            happens_before: Order::along(Edges::All),
            precedes: Order::along(Edges::All),
            hard: Order::along(Edges::NoLocks),
            known: Vec::new(),
            races: Races::default(),
            open: Vec::new(),
            words: Vec::new(),
            locks: Vec::new(),
            spare: Vec::new(),
        }
    }
}

fn grow<T: Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize_with(index + 1, T::default);
    }
    &mut list[index]
}

fn exclude(one: LockMode, two: LockMode) -> bool {
    one == LockMode::Exclusive || two == LockMode::Exclusive
}

impl WcpRaces {
    fn start(&mut self, thread: Thread) -> u32 {
        let epoch = self.happens_before.epoch(thread);
        if self.open.len() <= thread.index() || self.hard.epoch(thread) != epoch {
            self.hard.thread(thread).set(thread, epoch);
            self.refresh(thread);
            grow(&mut self.open, thread.index());
        }
        epoch
    }

    fn refresh(&mut self, thread: Thread) {
        let known = grow(&mut self.known, thread.index());
        known.join(self.hard.thread(thread));
        known.join(self.precedes.thread(thread));
    }

    /// Something is ≺ what the thread does from now on.
    fn precede(&mut self, thread: Thread, past: &[u32]) {
        self.precedes.thread(thread).join_slice(past);
        self.known[thread.index()].join_slice(past);
    }

    /// Rule (a), and what this access will mean for others.
    fn touch(&mut self, access: &Access, touch: Touch) {
        let thread = access.thread;
        let at = grow(&mut self.words, touch.word.index());
        let known = &mut self.known[thread.index()];
        for open in &mut self.open[thread.index()] {
            open.touched.insert((touch.word, touch.mask, access.kind, at.life));
            let Some((_, conflicts)) = at.locks.iter().find(|(lock, _)| *lock == open.lock) else { continue };
            let precedes = self.precedes.thread(thread);
            // The latest stand last, and often know what the earlier ones tell.
            for conflict in conflicts.iter().rev() {
                if conflict.thread != thread
                    && conflict.epoch > precedes.get(conflict.thread)
                    && conflict.mask & touch.mask != 0
                    && (conflict.kind.writes() || access.kind.writes())
                    && exclude(conflict.mode, open.mode)
                {
                    precedes.join_slice(&conflict.past);
                    known.join_slice(&conflict.past);
                }
            }
        }
    }

    fn acquire(&mut self, thread: Thread, lock: Lock, mode: LockMode) {
        let acquired = self.happens_before.epoch(thread);
        let touched = self.spare.pop().unwrap_or_default();
        self.open[thread.index()].push(Open { lock, mode, acquired, touched });
    }

    /// Rule (b): everything that follows an acquisition follows that section's release too.
    fn before_release(&mut self, thread: Thread, lock: Lock, mode: LockMode) {
        grow(&mut self.locks, lock.index());
        loop {
            let mut latest: Vec<Past> = Vec::new();
            let known = &self.known[thread.index()];
            for (other, sections) in self.locks[lock.index()].iter_mut().enumerate() {
                if other == thread.index() || sections.list.is_empty() {
                    continue;
                }
                let Sections { list, gone, passed } = sections;
                let cursor = grow(passed, thread.index());
                *cursor = (*cursor).max(*gone);
                let until = known.get(Thread(other as u32));
                // Those of one thread follow each other: the last one tells what the others do.
                let mut last = None;
                while let Some(section) = list.get(*cursor - *gone).filter(|section| section.acquired <= until) {
                    *cursor += 1;
                    if exclude(section.mode, mode) {
                        last = Some(section);
                    }
                }
                latest.extend(last.map(|section| Rc::clone(&section.past)));
                if mode == LockMode::Exclusive {
                    // A shared one that a shared release has passed by.
                    let missed = (*cursor - *gone).checked_sub(1).and_then(|last| list.get(last));
                    let precedes = self.precedes.thread(thread);
                    if let Some(missed) = missed.filter(|s| s.released > precedes.get(Thread(other as u32))) {
                        latest.push(Rc::clone(&missed.past));
                    }
                }
            }
            if latest.is_empty() {
                return;
            }
            for past in latest {
                self.precede(thread, &past);
            }
        }
    }

    fn after_release(&mut self, thread: Thread, lock: Lock, mode: LockMode, past: &Past) {
        let opens = &mut self.open[thread.index()];
        let Some(place) = opens.iter().rposition(|open| open.lock == lock && open.mode == mode) else { return };
        let mut open = opens.remove(place);
        let released = past[thread.index()];
        for &(word, mask, kind, life) in &open.touched.list {
            let at = grow(&mut self.words, word.index());
            if at.life != life {
                continue;
            }
            let found = at.locks.iter().position(|(at, _)| *at == lock);
            let place = found.unwrap_or_else(|| {
                at.locks.push((lock, Vec::new()));
                at.locks.len() - 1
            });
            let conflicts = &mut at.locks[place].1;
            let same = |c: &Conflict| (c.thread, c.mode, c.mask, c.kind) == (thread, mode, mask, kind);
            if let Some(place) = conflicts.iter().rposition(same) {
                conflicts.remove(place);
            }
            conflicts.push(Conflict { thread, mode, mask, kind, epoch: released, past: Rc::clone(past) });
            if mode == LockMode::Exclusive && conflicts.len() > 3 {
                prune(conflicts);
            }
        }
        open.touched.clear();
        self.spare.push(open.touched);
        let sections = grow(&mut self.locks[lock.index()], thread.index());
        let past = Rc::clone(past);
        sections.list.push_back(Section { mode, acquired: open.acquired, released, past });
        if sections.list.len().is_power_of_two() && sections.list.len() > 32 {
            sections.drop_passed(thread, self.known.len());
        }
    }
}

/// Drops what two later ones of different threads tell as well: at least one of them is not the reader's own. What
/// follows an exclusive section follows everything before it on that lock.
fn prune(conflicts: &mut Vec<Conflict>) {
    let mut at = conflicts.len().saturating_sub(2);
    while at > 0 {
        at -= 1;
        let old = &conflicts[at];
        let tells = |new: &&Conflict| {
            new.mode == LockMode::Exclusive && old.mask & !new.mask == 0 && (new.kind.writes() || !old.kind.writes())
        };
        let mut later = conflicts[at + 1..].iter().filter(tells);
        if let Some(first) = later.next()
            && later.any(|second| second.thread != first.thread)
        {
            conflicts.remove(at);
        }
    }
}

impl Sections {
    /// Drops what every other thread has passed, but for the last one.
    fn drop_passed(&mut self, owner: Thread, threads: usize) {
        let others = (0..threads).filter(|&other| other != owner.index());
        let least = others.map(|other| self.passed.get(other).copied().unwrap_or(0)).min().unwrap_or(0);
        let drop = least.saturating_sub(self.gone).min(self.list.len()).saturating_sub(1);
        self.list.drain(..drop);
        self.gone += drop;
    }
}

impl Linear for WcpRaces {
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        let thread = access.thread;
        let epoch = self.start(thread);
        if !self.open[thread.index()].is_empty() {
            touched.iter().for_each(|&touch| self.touch(access, touch));
        }
        self.races.access(access, touched, epoch, &self.known[thread.index()]);
    }

    #[inline]
    fn expect(&self, access: &Access, touch: Touch) {
        self.races.expect(access.thread, touch.word);
    }

    #[inline]
    fn expect_more(&self, access: &Access, touch: Touch) {
        self.races.expect_more(access, touch);
    }

    fn left_out(&mut self, words: u64) {
        self.races.pcs.dropped += words;
    }

    fn sync(&mut self, _: EventId, thread: Thread, sync: Sync) {
        self.start(thread);
        let mut past = None;
        if let Sync::Release { lock, mode } = sync {
            self.before_release(thread, lock, mode);
            past = Some(Past::from(self.happens_before.clock(thread).as_slice()));
        }
        self.happens_before.sync(thread, sync);
        self.precedes.sync(thread, sync);
        self.hard.sync(thread, sync);
        match (sync, past) {
            (Sync::Release { lock, mode }, Some(past)) => self.after_release(thread, lock, mode, &past),
            (Sync::Acquire { lock, mode }, _) => {
                self.acquire(thread, lock, mode);
                self.refresh(thread);
            }
            (Sync::Fork { child }, _) => self.refresh(child),
            (Sync::Join { .. } | Sync::Observe { .. }, _) => self.refresh(thread),
            _ => {}
        }
        self.happens_before.end_epochs(thread, sync);
        self.start(thread);
        if let Sync::Join { child } = sync {
            self.start(child);
        }
    }

    fn forget(&mut self, word: Word) {
        self.races.forget(word);
        if let Some(at) = self.words.get_mut(word.index()) {
            at.life += 1;
            at.locks.clear();
        }
    }

    fn finish(&mut self) -> Candidates {
        self.races.pcs.finish()
    }
}

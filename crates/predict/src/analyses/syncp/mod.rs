//! Sync-preserving races (Mathur, Pavlogiannis, Viswanathan: Optimal Prediction of Synchronization-Preserving Races,
//! POPL 2021). Sound; misses races that need critical sections of one lock reversed.
//!
//! A pair is a race if neither of it is in its [ideal](ideal); the witness is the ideal in trace order, then the two.
//!
//! The accesses of a word are listed by thread, code position, locks, kind and bytes. Two lists are searched with one
//! pass over both, since ideals only grow along them: an access that is in the ideal of a pair is in those of all later
//! pairs. Lists whose locks exclude each other, or whose pair of code positions is a race already, are not searched.
//!
//! Deviations: a read of bytes of several writes has all of them as sources; shared locks; hard edges. The paper
//! reports every second access with a race; this, every pair of code positions. Memory is linear in the trace.
//!
//! Known wrong: beside a wait that timed out while a notify chose another waiter, a candidate may be none, because its
//! witness leaves the timed-out one as the only choice; and a compare-exchange beside a read may fail there, so that
//! both only read. The engine refutes them.

mod ideal;

use reweave_model::{EventId, Kind};
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee};
use crate::linear::{
    Access, AccessKind, Candidates, Linear, LocksetId, Locksets, PcId, Pcs, Sync, Thread, Touch, Word,
};
use crate::prediction::{Prediction, Shows};
use ideal::grow;
pub(crate) use ideal::{Recorder, Stamp};

/// The analysis `syncp`.
pub struct Syncp;

impl Analysis for Syncp {
    fn about(&self) -> About {
        let summary = "races that keep the order of critical sections";
        About::new("syncp", Kind::Race, Guarantee::Sound, summary)
    }

    fn pass(&self) -> Option<Box<dyn Linear>> {
        Some(Box::<SyncpRaces>::default())
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.races(self.id(), Shows::ByName)
    }
}

#[derive(Clone, Copy)]
struct Point {
    event: EventId,
    /// Of what precedes it: `count` does not include the access itself.
    before: Stamp,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    thread: Thread,
    pc: PcId,
    locks: LocksetId,
    mask: u8,
    kind: AccessKind,
}

struct List {
    key: Key,
    // invariant: ascending
    points: Vec<Point>,
}

#[derive(Default)]
pub struct SyncpRaces {
    recorder: Recorder,
    locksets: Locksets,
    words: Vec<Vec<List>>,
    /// Lists of words whose life is over.
    old: Vec<Vec<List>>,
    pcs: Pcs,
}

impl SyncpRaces {
    fn list(&mut self, access: &Access, touch: Touch, pc: PcId, before: Stamp) {
        let key = Key {
            thread: access.thread,
            pc,
            locks: self.locksets.held(access.thread),
            mask: touch.mask,
            kind: access.kind,
        };
        let point = Point { event: access.event, before };
        let lists = grow(&mut self.words, touch.word.index());
        match lists.iter_mut().find(|list| list.key == key) {
            Some(list) => list.points.push(point),
            None => lists.push(List { key, points: vec![point] }),
        }
    }

    /// Searches the lists of one word.
    fn search(&mut self, lists: &[List]) {
        for (i, one) in lists.iter().enumerate() {
            for two in &lists[i + 1..] {
                if one.key.thread == two.key.thread
                    || one.key.mask & two.key.mask == 0
                    || !one.key.kind.conflicts(two.key.kind)
                    || self.pcs.has(one.key.pc, two.key.pc)
                    || self.locksets.exclude(one.key.locks, two.key.locks)
                {
                    continue;
                }
                for (firsts, seconds) in [(one, two), (two, one)] {
                    if let Some((first, second)) = self.pair(firsts, seconds) {
                        self.pcs.add((first.event, firsts.key.pc), (second.event, seconds.key.pc));
                        break;
                    }
                }
            }
        }
    }

    /// A race of an access in `firsts` with a later one in `seconds`.
    fn pair(&self, firsts: &List, seconds: &List) -> Option<(Point, Point)> {
        let mut ideal = self.recorder.ideal();
        let mut at = 0;
        for second in &seconds.points {
            while let Some(first) = firsts.points.get(at).filter(|first| first.event < second.event) {
                ideal.add(first.before);
                ideal.add(second.before);
                if !ideal.close() {
                    return None;
                }
                if ideal.has(second.before) {
                    break;
                }
                if !ideal.has(first.before) {
                    return Some((*first, *second));
                }
                at += 1;
                // All that are in the ideal already are out for good.
                let known = ideal.known(firsts.key.thread);
                at += firsts.points[at..].partition_point(|point| point.before.count < known);
            }
        }
        None
    }
}

impl Linear for SyncpRaces {
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        let thread = access.thread;
        let before = self.recorder.stamp(thread);
        let pc = self.pcs.id(access.pc);
        for &touch in touched {
            self.list(access, touch, pc, before);
        }
        self.recorder.access(access, touched);
    }

    fn left_out(&mut self, words: u64) {
        self.pcs.dropped += words;
    }

    fn sync(&mut self, event: EventId, thread: Thread, sync: Sync) {
        self.recorder.sync(event, thread, sync);
        self.locksets.sync(thread, sync);
    }

    fn forget(&mut self, word: Word) {
        self.recorder.forget(word);
        if let Some(lists) = self.words.get_mut(word.index()).filter(|lists| lists.len() > 1) {
            self.old.push(std::mem::take(lists));
        }
        if let Some(lists) = self.words.get_mut(word.index()) {
            lists.clear();
        }
    }

    fn finish(&mut self) -> Candidates {
        let words = std::mem::take(&mut self.words);
        let old = std::mem::take(&mut self.old);
        words.iter().chain(&old).for_each(|lists| self.search(lists));
        self.pcs.finish()
    }
}

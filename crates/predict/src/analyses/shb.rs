//! Schedulable happens-before (Mathur, Kini, Viswanathan: What Happens-After the First Race?, OOPSLA 2018).
//!
//! Happens-before and an edge from the last write of each byte to every read of it. A read is compared before its own
//! edge counts. Every candidate is a race: the past of the two accesses, in trace order, then the two. Misses what
//! happens-before misses, and the unsound part of what that finds.
//!
//! Deviations: every pair of code positions is reported, not only pairs with the last access of a thread; a read of
//! bytes of several writes follows all of them.
//!
//! Known wrong: beside a wait that timed out while a notify chose another waiter, a candidate may be none, because its
//! witness leaves the timed-out one as the only choice; and a compare-exchange beside a read may fail there, so that
//! both only read. The engine refutes them.

use std::rc::Rc;

use reweave_model::{Claim, EventId, Kind};
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee, Watching};
use crate::linear::{Access, Candidates, Edges, Gone, LastWrites, Linear, Order, Races, Sync, Thread, Touch, Word};
use crate::prediction::{Prediction, Shows};

/// The analysis `shb`.
pub struct Shb;

impl Analysis for Shb {
    fn about(&self) -> About {
        let summary = "schedulable happens-before: every pair it lists is a race";
        About::new("shb", Kind::Race, Guarantee::Sound, summary).claiming(Claim::Unordered).by_default()
    }

    fn pass(&self) -> Option<Box<dyn Linear>> {
        Some(Box::<ShbRaces>::default())
    }
    fn watching(&self) -> Option<Watching> {
        // Every write counts: those that follow may have read it.
        let watching = Watching::new(|| Box::<ShbRaces>::default());
        Some(Watching {
            is_default: false,
            allows_sampling: false,
            ignores_repeats: false,
            ends_epochs_by_writes: true,
            ..watching
        })
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.races(self.id(), Shows::ForTrial)
    }
}

/// A write: its epoch, and the clock of its thread before.
struct Write {
    thread: Thread,
    epoch: u32,
    /// Shared by all writes of the thread since its clock last grew by others. Its own entry is not up to date.
    past: Rc<[u32]>,
}

pub struct ShbRaces {
    order: Order,
    races: Races,
    writes: LastWrites<Write>,
    pasts: Vec<Option<Rc<[u32]>>>,
    sources: Vec<(Thread, u32, Rc<[u32]>)>,
}

impl Default for ShbRaces {
    fn default() -> Self {
        Self {
            order: Order::along(Edges::All),
            races: Races::default(),
            writes: LastWrites::default(),
            pasts: Vec::new(),
            sources: Vec::new(),
        }
    }
}

impl ShbRaces {
    fn past(&mut self, thread: Thread) -> &mut Option<Rc<[u32]>> {
        if self.pasts.len() <= thread.index() {
            self.pasts.resize(thread.index() + 1, None);
        }
        &mut self.pasts[thread.index()]
    }

    fn read(&mut self, thread: Thread, touched: &[Touch]) {
        let clock = self.order.clock(thread);
        for &touch in touched {
            for write in self.writes.sources(touch) {
                if write.epoch > clock.get(write.thread) {
                    self.sources.push((write.thread, write.epoch, Rc::clone(&write.past)));
                }
            }
        }
        if self.sources.is_empty() {
            return;
        }
        *self.past(thread) = None;
        let clock = self.order.thread(thread);
        for (source, epoch, past) in self.sources.drain(..) {
            clock.join_slice(&past);
            clock.set(source, clock.get(source).max(epoch));
        }
    }
}

impl Linear for ShbRaces {
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        let thread = access.thread;
        let epoch = self.order.epoch(thread);
        self.races.access(access, touched, epoch, self.order.clock(thread));
        if access.kind.reads() {
            self.read(thread, touched);
        }
        if access.kind.writes() {
            let past = match self.past(thread) {
                Some(past) => Rc::clone(past),
                None => {
                    let past: Rc<[u32]> = self.order.clock(thread).as_slice().into();
                    *self.past(thread) = Some(Rc::clone(&past));
                    past
                }
            };
            for &touch in touched {
                self.writes.write(touch, Write { thread, epoch, past: Rc::clone(&past) });
            }
            // Who reads it learns of this thread up to here and no further.
            self.order.tick(thread);
        }
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
        self.order.epoch(thread);
        self.order.sync(thread, sync);
        match sync {
            Sync::Fork { child } => *self.past(child) = None,
            Sync::Join { .. } | Sync::Acquire { .. } | Sync::Observe { .. } => *self.past(thread) = None,
            Sync::Release { .. } | Sync::Publish { .. } | Sync::Copy { .. } | Sync::Clear { .. } => {}
        }
        self.order.end_epochs(thread, sync);
    }

    fn forget(&mut self, word: Word) {
        self.races.forget(word);
        self.writes.forget(word);
    }

    fn retire(&mut self, gone: Gone<'_>) -> bool {
        self.order.retire(gone);
        true
    }

    fn news(&mut self) -> Candidates {
        self.races.pcs.news()
    }

    fn finish(&mut self) -> Candidates {
        self.races.pcs.finish()
    }
}

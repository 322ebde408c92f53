//! Happens-before races (Lamport 1978; epochs after Flanagan and Freund's FastTrack, 2009), over all synchronization,
//! C11 atomics and fences included. A pair of conflicting accesses that no chain of synchronization orders in this
//! trace. The witness is their causal past in trace order with the two accesses at its end; it is feasible as long as
//! no access in that past races itself. Misses races hidden by an order that happened to be observed.
//!
//! Deviations: every pair of code positions is reported rather than only the first race of a location (see
//! [`Races`]); sequential consistency counts as acquire and release.

use reweave_model::{Claim, EventId, Kind};
use reweave_trace::Result;

use crate::analysis::{About, Analysis, Guarantee, Watching};
use crate::linear::{Access, Candidates, Edges, Gone, Linear, Order, Races, Sync, Thread, Touch, Word};
use crate::prediction::{Prediction, Shows};

/// The analysis `hb`.
pub struct Hb;

impl Analysis for Hb {
    fn about(&self) -> About {
        let summary = "happens-before, C11-aware: the trace's own races";
        About::new("hb", Kind::Race, Guarantee::FirstIsReal, summary).claiming(Claim::UnorderedUnlessRaced).by_default()
    }

    fn pass(&self) -> Option<Box<dyn Linear>> {
        Some(Box::<HbRaces>::default())
    }
    fn watching(&self) -> Option<Watching> {
        Some(Watching::new(|| Box::<HbRaces>::default()))
    }
    fn run(&self, prediction: &mut Prediction<'_>) -> Result<()> {
        prediction.races(self.id(), Shows::ForTrial)
    }
}

/// Happens-before in one pass. The candidates are exactly the pairs of code positions with a pair of conflicting
/// accesses that no chain of synchronization orders. The first of a trace (by its second access) is a race; later ones
/// may follow from it.
pub struct HbRaces {
    order: Order,
    races: Races,
}

impl Default for HbRaces {
    fn default() -> Self {
        Self { order: Order::along(Edges::All), races: Races::default() }
    }
}

impl Linear for HbRaces {
    #[inline]
    fn access(&mut self, access: &Access, touched: &[Touch]) {
        let epoch = self.order.epoch(access.thread);
        self.races.access(access, touched, epoch, self.order.clock(access.thread));
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
        self.order.end_epochs(thread, sync);
    }

    fn forget(&mut self, word: Word) {
        self.races.forget(word);
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

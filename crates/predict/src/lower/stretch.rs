//! A few events out of a window, taken along to be lowered elsewhere.

use reweave_model::EventId;
use reweave_trace::Trace;

use super::buffer::Kept;
use super::world::World;
use super::{Lowered, build, initial};

/// Kept events, and what was so before them.
pub struct Stretch<'t> {
    pub(super) trace: &'t Trace,
    pub(super) kept: Vec<Kept>,
    pub(super) world: World,
    /// Whether it begins, and whether it ends, where the trace does.
    pub(super) first: bool,
    pub(super) last: bool,
}

impl Stretch<'_> {
    /// Its history from this event on.
    pub fn lower(&self, from: EventId) -> Lowered {
        let from = self.kept.partition_point(|kept| kept.id < from);
        let first = self.first && from == 0;
        let initial = initial(self.trace).filter(|_| first);
        let mut lowered = if from == 0 {
            build::build(&self.kept, &[], &self.world, initial)
        } else {
            let mut world = self.world.clone();
            self.kept[..from].iter().for_each(|kept| world.event(kept));
            build::build(&self.kept[from..], &[], &world, initial)
        };
        (lowered.first, lowered.last) = (first, self.last);
        lowered
    }
}

//! What precedes the events of a thread: its clock, kept anew only where it grew by others.

use std::collections::VecDeque;

use reweave_model::EventId;

use super::thread::Time;
use crate::linear::{Thread, VectorClock};

/// Clocks of one thread over time. Entry `t` of a clock is the time up to which thread `t` precedes.
#[derive(Default)]
pub struct Versions {
    // invariant: ascending
    list: VecDeque<(EventId, VectorClock)>,
}

impl Versions {
    /// From this event (included) on, the clock is as given.
    pub fn push(&mut self, from: EventId, clock: &VectorClock) {
        match self.list.back_mut() {
            Some((last, old)) if *last == from => old.copy_from(clock),
            _ => self.list.push_back((from, clock.clone())),
        }
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Up to when the other thread precedes this event.
    pub fn known(&self, event: EventId, other: Thread) -> Time {
        Time(self.at(event).map_or(0, |clock| clock.get(other)))
    }

    pub fn at(&self, event: EventId) -> Option<&VectorClock> {
        let after = self.list.partition_point(|(from, _)| *from <= event);
        Some(&self.list.get(after.checked_sub(1)?)?.1)
    }

    /// The oldest one.
    pub fn first(&self) -> Option<&VectorClock> {
        self.list.front().map(|(_, clock)| clock)
    }

    /// Drops what no event after the given one needs.
    pub fn forget_before(&mut self, event: EventId) {
        let needed = self.list.partition_point(|(from, _)| *from <= event).saturating_sub(1);
        self.list.drain(..needed);
    }

    /// The event at which the clock in the middle of the list came to be.
    pub fn middle(&self) -> Option<EventId> {
        self.list.get(self.list.len() / 2).map(|(from, _)| *from)
    }
}

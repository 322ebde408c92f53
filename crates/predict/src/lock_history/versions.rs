//! What precedes the events of a thread: its clock, kept anew only where it grew by others; and where others learn of
//! it.

use std::collections::VecDeque;

use reweave_model::EventId;

use super::thread::Time;
use crate::linear::{Thread, VectorClock};

/// One order as a thread sees it. Entry `t` of a clock is the time up to which thread `t` precedes.
#[derive(Default)]
pub struct Versions {
    // invariant: ascending
    clocks: VecDeque<(EventId, VectorClock)>,
    /// Where others may learn of this thread: events and their times. invariant: ascending
    published: VecDeque<(EventId, Time)>,
}

impl Versions {
    /// From this event (included) on, the clock is as given.
    pub fn learns(&mut self, from: EventId, clock: &VectorClock) {
        match self.clocks.back_mut() {
            Some((last, old)) if *last == from => old.copy_from(clock),
            _ => self.clocks.push_back((from, clock.clone())),
        }
    }

    /// Others may learn what the thread did before this event.
    pub fn publishes(&mut self, event: EventId, time: Time) {
        self.published.push_back((event, time));
    }

    pub fn is_empty(&self) -> bool {
        self.clocks.is_empty() && self.published.is_empty()
    }

    /// How much is kept.
    pub fn len(&self) -> usize {
        self.clocks.len().max(self.published.len())
    }

    /// Up to when the other thread precedes this event.
    pub fn known(&self, event: EventId, other: Thread) -> Time {
        Time(self.at(event).map_or(0, |clock| clock.get(other)))
    }

    pub fn at(&self, event: EventId) -> Option<&VectorClock> {
        let after = self.clocks.partition_point(|(from, _)| *from <= event);
        Some(&self.clocks.get(after.checked_sub(1)?)?.1)
    }

    /// The oldest clock.
    pub fn first(&self) -> Option<&VectorClock> {
        self.clocks.front().map(|(_, clock)| clock)
    }

    /// Whether who knows the thread up to this time knows what it did at this event.
    pub fn is_known_at(&self, event: EventId, time: Time) -> bool {
        let after = self.published.partition_point(|(published, _)| *published <= event);
        self.published.get(after).is_some_and(|&(_, published)| published <= time)
    }

    /// The event by which others know the thread up to this time.
    pub fn published_by(&self, time: Time) -> Option<EventId> {
        let after = self.published.partition_point(|(_, published)| *published <= time);
        Some(self.published.get(after.checked_sub(1)?)?.0)
    }

    /// Drops what no event from the given one on needs.
    pub fn forget_before(&mut self, event: EventId) {
        let needed = self.clocks.partition_point(|(from, _)| *from <= event).saturating_sub(1);
        self.clocks.drain(..needed);
        let old = self.published.partition_point(|(published, _)| *published < event);
        self.published.drain(..old);
    }

    /// The event in the middle of what is kept.
    pub fn middle(&self) -> Option<EventId> {
        if self.clocks.len() >= self.published.len() {
            self.clocks.get(self.clocks.len() / 2).map(|(from, _)| *from)
        } else {
            self.published.get(self.published.len() / 2).map(|(event, _)| *event)
        }
    }
}
